"""The option --name of commands."""

from django.core.management.base import CommandError

from communities.ground.sent_text import sent_text

MAX_NAME_LENGTH = 200  # A name has at most this many characters.


def require_name(text: str) -> str:
    """Return the name as `sent_text` returns it. Refuses a blank name, and one that is too long."""
    name = sent_text(text)
    if not name:
        raise CommandError("--name must not be blank.")
    if len(name) > MAX_NAME_LENGTH:
        raise CommandError(f"--name must be at most {MAX_NAME_LENGTH} characters.")
    return name
