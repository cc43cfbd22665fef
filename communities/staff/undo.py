"""Messages about deletions, with a button that restores the objects."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest

_MARK = "undo:"


def offer(request: HttpRequest, text: str, *, address: str) -> None:
    """Show a message on the next page, with a button that posts to this address."""
    messages.success(request, text, extra_tags=f"{_MARK}{address}")


def address_in(tags: str) -> str:
    """The address of the button of a message with these extra tags; empty if it has none."""
    return tags.removeprefix(_MARK) if tags.startswith(_MARK) else ""
