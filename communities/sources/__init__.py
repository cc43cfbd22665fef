"""Clients of the platforms that people sign in with. They know no database."""
