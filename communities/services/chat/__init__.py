"""A community's connection to the chat platform: its server, its people, and the tasks for the platform."""
