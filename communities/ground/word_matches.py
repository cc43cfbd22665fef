"""Searching a long list by words: by an index, or by reading the list until a page is full.

An index of words reads every row with a word before it returns the first: 150 ms of CPU for a million. So
only rare words are looked up there; for frequent words the list is read in its order. PostgreSQL cannot
choose between the two, because it cannot estimate how many rows contain the beginning of a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import BooleanField, Case, Count, Q, QuerySet, Value, When

Rows = TypeVar("Rows", bound=QuerySet[Any])
SAMPLE = 1_000  # The newest rows of the list, which are counted.
FREQUENT = 200  # A word with this many matches in the sample is frequent.
MAX_LOOKED_UP = 5_000


def narrow(rows: Rows, *, has_words: Q, newest: Sequence[str]) -> Rows:
    """Return the rows that contain the words. First counts whether the matches are few.

    `newest` is an order of all rows that has an index. `has_words` is the condition for the index of words.
    """
    # No index matches a condition in this form, and PostgreSQL estimates it as true for every second row.
    row_by_row = Case(When(has_words, then=Value(True)), default=Value(False), output_field=BooleanField())
    sample = rows.order_by(*newest).values("pk").annotate(is_match=row_by_row)[:SAMPLE]
    if sample.aggregate(found=Count("pk", filter=Q(is_match=True)))["found"] < FREQUENT:
        keys = list(rows.filter(has_words).order_by().values_list("pk", flat=True)[: MAX_LOOKED_UP + 1])
        if len(keys) <= MAX_LOOKED_UP:
            return rows.filter(pk__in=keys)
    return rows.filter(row_by_row)
