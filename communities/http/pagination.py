"""Pages of lists, with page, per_page, total and has_more (decisions 1.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

DEFAULT_PER_PAGE = 25
MAX_PER_PAGE = 100
MAX_PAGE = 2**31  # past the end of any list, and its offset still fits into 64 bits

Rows = QuerySet[Any, Any] | Sequence[Any] | Callable[[int, int], Sequence[Any]]
"""Ordered rows, or a function that loads the rows at an offset, up to a length."""


class PerPageIn(serializers.Serializer[Any]):
    """How much a page holds. A list that is read on from a place adds that place in a subclass."""

    per_page = serializers.IntegerField(
        min_value=1, max_value=MAX_PER_PAGE, default=DEFAULT_PER_PAGE, help_text="1 to 100."
    )


class PageIn(PerPageIn):
    """Query parameters of a list with numbered pages. A list with filters adds them in a subclass."""

    page = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=1, help_text="From 1.")


def paginate(
    rows: Rows, query: Mapping[str, Any], *, total: int | None = None
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the rows of one page and the `pagination` object. A page past the end is empty.

    If `rows` is a function, `total` is required.
    """
    page, per_page = query["page"], query["per_page"]
    offset = (page - 1) * per_page
    if total is None:
        if callable(rows):
            raise TypeError("Pass `total` with a function that loads rows.")
        total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    if offset >= total:
        page_rows: Sequence[Any] = []
    elif isinstance(rows, QuerySet | Sequence):
        page_rows = list(rows[offset : offset + per_page])
    else:
        page_rows = rows(offset, per_page)
    has_more = offset + per_page < total
    return page_rows, {"page": page, "per_page": per_page, "total": total, "has_more": has_more}
