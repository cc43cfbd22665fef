"""The option --name of commands."""

from django.core.management.base import CommandError

MAX_NAME_LENGTH = 200  # characters


def require_name(text: str) -> str:
    """Return the name without white space at its ends. Refuses an empty name, and one that is too long."""
    name = text.strip()
    if not name:
        raise CommandError("--name must not be blank.")
    if len(name) > MAX_NAME_LENGTH:
        raise CommandError(f"--name must be at most {MAX_NAME_LENGTH} characters.")
    return name
