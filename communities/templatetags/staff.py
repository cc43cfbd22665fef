"""The filters of the admin's templates."""

from __future__ import annotations

from django import template

from communities.staff import texts, undo

register = template.Library()
register.filter(texts.moment)
register.filter(texts.number)


@register.filter
def undo_address(extra_tags: str | None) -> str:
    """The address that undoes what a message reports; empty if it cannot be undone."""
    return undo.address_in(extra_tags or "")


@register.filter
def absolute(value: int) -> int:
    """A number without its sign."""
    return abs(value)
