"""Pages of lists, with page, per_page, total and has_more (rules 11.3 and 11.4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework import serializers

from communities.gate.fields import UtcDateTimeField
from communities.ground.ids import MAX_ID
from communities.ground.replica import from_replica

DEFAULT_PER_PAGE = 25
MAX_PER_PAGE = 100
MAX_PAGE = 2**31  # This page is beyond the end of any list, and its offset still fits into 64 bits.

Rows = QuerySet[Any, Any] | Sequence[Any] | Callable[[int, int], Sequence[Any]]
"""Ordered rows, or a function that loads the rows from an offset, up to a length."""


class PerPageIn(serializers.Serializer[Any]):
    """The length of a page. A list whose pages start after an object adds the parameter `after`."""

    per_page = serializers.IntegerField(
        min_value=1, max_value=MAX_PER_PAGE, default=DEFAULT_PER_PAGE, help_text="1 to 100."
    )


class PageIn(PerPageIn):
    """Query parameters of a list with numbered pages. A list with filters adds them in a subclass."""

    page = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=1, help_text="From 1.")


class PageOrAfterIn(PageIn):
    """Query parameters of a list whose pages are also reached by `after`, a field that subclasses add."""

    page = serializers.IntegerField(
        min_value=1,
        max_value=MAX_PAGE,
        # There is no default, because generated clients would send the default beside `after`.
        required=False,
        help_text="From 1, the default. Not with `after`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "after" in attrs and "page" in self.initial_data:
            raise serializers.ValidationError(
                {"after": "`after` cannot be sent with `page`: it already says where the page starts."},
                code="conflicting",
            )
        return attrs


class KeysetIn(PageOrAfterIn):
    """Query parameters of a list of objects that may change while it is read (rule 1.16).

    Subclasses add `sort` with the default `id`: else a page after the last object of a first page without
    `sort` would leave out objects.
    """

    sorts_that_move: ClassVar[Collection[str]] = ()
    """In these orders, changes of other objects move an object. So no page can start after an object."""

    after = serializers.IntegerField(
        min_value=1,
        max_value=MAX_ID,
        required=False,
        help_text=(
            "An object's id: the page starts after this object. In another order than that of ids, changed "
            "objects may move while you read, and be missing on every page. Not with `page`."
        ),
    )
    updated_after = UtcDateTimeField(
        required=False, help_text="Changed at this time or later (`updated_at`)."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if "after" in attrs and attrs["sort"] in self.sorts_that_move:
            raise serializers.ValidationError(
                {"after": f"`after` cannot be sent with `sort={attrs['sort']}`: places change all the time."},
                code="conflicting",
            )
        return attrs


def page_after(
    rows: Sequence[Any], query: Mapping[str, Any], *, total: int
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The rows of a page that starts after an object, and the `pagination` object without a page number.

    `rows` contains one row more than the page if more rows follow.
    """
    per_page = query["per_page"]
    return rows[:per_page], {"per_page": per_page, "total": total, "has_more": len(rows) > per_page}


@from_replica
def paginate(
    rows: Rows, query: Mapping[str, Any], *, total: int | None = None
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the rows of one page and the `pagination` object. A page past the end is empty.

    If `rows` is a function, `total` is required.
    """
    page, per_page = query.get("page", 1), query["per_page"]
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
