"""Keyset paging for the admin's lists: the millionth row costs as much as the first, and nothing is counted.

An order is a tuple of field names, each with `-` to descend; the last must be unique. No field may be null. A
cursor contains the values of the last row of a page.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from communities.ground.replica import from_replica

M = TypeVar("M", bound=Model)
Order = Sequence[str]


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Rows of one page, and the cursors of the pages before and after it; None if there is none."""

    rows: Sequence[M]
    next: str | None
    previous: str | None


@from_replica
def read_page(
    rows: QuerySet[M],
    order: Order,
    *,
    after: str,
    before: str,
    length: int,
    parts: Sequence[Q] = (),
    keys_first: bool = False,
) -> Page[M]:
    """The page after a cursor, or before one. Without a cursor, or with an invalid one, the first page.

    Pass `parts` if an index has the rows in this order only within each of several groups. They are the
    conditions of the groups, and each row must meet exactly one. The page then reads only the first rows of
    each group, instead of sorting all rows.

    With `keys_first` the keys of the page are read in a separate query, if an index contains all its columns.
    """
    cursor = _decode(after or before, order)
    is_backward = cursor is not None and not after
    walked = [_turned(name) for name in order] if is_backward else list(order)
    try:
        beyond = rows if cursor is None else rows.filter(_beyond(walked, cursor))
        if len(parts) > 1:
            beyond = beyond.filter(pk__in=_first_of_parts(beyond, walked, parts, length + 1))
        elif keys_first:
            beyond = beyond.filter(pk__in=_keys(beyond, walked, length + 1))
        page_rows = list(beyond.order_by(*walked)[: length + 1])
    # The cursor belongs to another list or order.
    except (ValidationError, ValueError, TypeError, OverflowError):
        return read_page(rows, order, after="", before="", length=length, parts=parts, keys_first=keys_first)
    has_more, page_rows = len(page_rows) > length, page_rows[:length]
    if is_backward:
        page_rows.reverse()
    has_next = has_more if not is_backward else True
    has_previous = has_more if is_backward else cursor is not None
    return Page(
        page_rows,
        _encode(page_rows[-1], order) if page_rows and has_next else None,
        _encode(page_rows[0], order) if page_rows and has_previous else None,
    )


@from_replica
def look_through(
    rows: QuerySet[M],
    order: Order,
    *,
    among: QuerySet[Any],
    most: int,
    after: str,
    before: str,
    length: int,
) -> tuple[Page[M], bool]:
    """The page of the matching rows among the next `most` of other rows, and whether the page ended at that
    limit.

    Use this for rows that no index finds, which may be few among very many. A page that ended at the limit
    continues from there.
    """
    cursor = _decode(after or before, order)
    is_backward = cursor is not None and not after
    walked = [_turned(name) for name in order] if is_backward else list(order)
    try:
        beyond = among if cursor is None else among.filter(_beyond(walked, cursor))
        names = [name.lstrip("-") for name in order]
        ends = list(beyond.order_by(*walked).values_list(*names)[most - 1 : most + 1])
    # The errors are the same as in `read_page`.
    except (ValidationError, ValueError, TypeError, OverflowError):
        return look_through(rows, order, among=among, most=most, after="", before="", length=length)
    if len(ends) < 2:
        return read_page(rows, order, after=after, before=before, length=length), False
    last, following = ends
    stretch = rows.filter(_beyond([_turned(name) for name in walked], following))
    page = read_page(stretch, order, after=after, before=before, length=length)
    if (page.previous if is_backward else page.next) is not None:
        return page, False
    end = _cursor(last)
    return replace(page, previous=end) if is_backward else replace(page, next=end), True


def _first_of_parts(rows: QuerySet[M], order: Order, parts: Sequence[Q], count: int) -> list[Any]:
    """The keys of the first rows of each part."""
    keys = [rows.filter(part).order_by(*order).values_list("pk")[:count] for part in parts]
    return [key for (key,) in keys[0].union(*keys[1:], all=True)]


def _keys(rows: QuerySet[M], order: Order, count: int) -> list[Any]:
    return list(rows.order_by(*order).values_list("pk", flat=True)[:count])


def _turned(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"


def _beyond(order: Order, values: Sequence[Any]) -> Q:
    """Rows after these values in the order."""
    beyond, equal = Q(), Q()
    for name, value in zip(order, values, strict=True):
        field, lookup = (name[1:], "lt") if name.startswith("-") else (name, "gt")
        beyond |= equal & Q(**{f"{field}__{lookup}": value})
        equal &= Q(**{field: value})
    first, lookup = (order[0][1:], "lte") if order[0].startswith("-") else (order[0], "gte")
    # The other condition implies it, but PostgreSQL starts reading an index only at a plain condition.
    return Q(**{f"{first}__{lookup}": values[0]}) & beyond


def _encode(row: Model, order: Order) -> str:
    return _cursor([_value(row, name.lstrip("-")) for name in order])


def _cursor(row: Sequence[Any]) -> str:
    values = [_plain(each) for each in row]
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def _value(row: Any, path: str) -> Any:
    for part in path.split("__"):
        row = getattr(row, part)
    return row


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, int | str) else str(value)


def _decode(cursor: str, order: Order) -> list[Any] | None:
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, UnicodeDecodeError, RecursionError):
        return None
    is_fitting = isinstance(values, list) and len(values) == len(order)
    return values if is_fitting and all(map(_is_plain, values)) else None


def _is_plain(value: object) -> bool:
    """Whether PostgreSQL can store the value: it has no text with a null character."""
    return isinstance(value, int) or (isinstance(value, str) and "\x00" not in value)
