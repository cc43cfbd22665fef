"""A community's connection with the chat platform: its server there, its people, and what is sent to it."""
