"""Counts in English sentences."""

from __future__ import annotations

import pytest

from communities.words import plural


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 answers"), (1, "1 answer"), (2, "2 answers"), (1_200, "1,200 answers")]
)
def test_a_noun_agrees_with_its_count(count: int, text: str) -> None:
    assert plural(count, "answer") == text


def test_a_plural_may_be_irregular() -> None:
    assert [plural(count, "reply", "replies") for count in (1, 2)] == ["1 reply", "2 replies"]
