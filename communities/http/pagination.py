"""page, per_page, total, has_more: the envelope of every list (decisions 1.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

DEFAULT_PER_PAGE = 25
MAX_PER_PAGE = 100
MAX_PAGE = 2**31  # far past any end, and its offset is still a 64-bit integer

Rows = QuerySet[Any, Any] | Sequence[Any] | Callable[[int, int], Sequence[Any]]
"""Ordered rows, or a function from offset and length to the rows of a page."""


class PageIn(serializers.Serializer[Any]):
    """Query parameters of a list; a list with filters adds them in a subclass."""

    page = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=1, help_text="From 1.")
    per_page = serializers.IntegerField(
        min_value=1, max_value=MAX_PER_PAGE, default=DEFAULT_PER_PAGE, help_text="1 to 100."
    )


def page_of(
    rows: Rows, query: Mapping[str, Any], *, total: int | None = None
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The rows of one page and the pagination object beside them; a page past the end is empty.

    Where `rows` is a function, `total` has to be given.
    """
    page, per_page = query["page"], query["per_page"]
    offset = (page - 1) * per_page
    if total is None:
        if callable(rows):
            raise TypeError("A function that loads rows cannot count them: give `total`.")
        total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    if offset >= total:
        here: Sequence[Any] = []
    elif isinstance(rows, QuerySet | Sequence):
        here = list(rows[offset : offset + per_page])
    else:
        here = rows(offset, per_page)
    more = offset + per_page < total
    return here, {"page": page, "per_page": per_page, "total": total, "has_more": more}
