"""Names typed on the command line."""

from django.core.management.base import CommandError

LONGEST_NAME = 200  # characters


def require_name(text: str) -> str:
    """The name without blanks around it. Refuses an empty one, and one that is too long."""
    name = text.strip()
    if not name:
        raise CommandError("--name must not be blank.")
    if len(name) > LONGEST_NAME:
        raise CommandError(f"--name must be at most {LONGEST_NAME} characters.")
    return name
