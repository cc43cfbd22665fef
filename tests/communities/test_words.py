"""Counts in English sentences."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from communities.ground.words import percents, plural
from tests.support.cases import try_each


@try_each(("count", "text"), [(0, "0 answers"), (1, "1 answer"), (2, "2 answers"), (1_200, "1,200 answers")])
def test_a_noun_agrees_with_its_count(count: int, text: str) -> None:
    assert plural(count, "answer") == text


def test_a_plural_may_be_irregular() -> None:
    assert [plural(count, "reply", "replies") for count in (1, 2)] == ["1 reply", "2 replies"]


@try_each(
    ("counts", "texts"),
    [
        ([1, 1, 1], ["34%", "33%", "33%"]),
        ([1, 2, 3], ["17%", "33%", "50%"]),
        ([2, 2, 2, 1, 0], ["29%", "29%", "28%", "14%", "0%"]),
        ([1, 999], ["<1%", ">99%"]),
        ([7, 993], ["1%", "99%"]),
        ([5], ["100%"]),
        ([0, 0], ["0%", "0%"]),
        ([], []),
    ],
)
def test_whole_shares_of_one_whole_add_up(counts: list[int], texts: list[str]) -> None:
    assert percents(counts) == texts


@given(counts=st.lists(st.integers(0, 10_000), min_size=1).filter(any))
@settings(database=None)
def test_whole_shares_add_up_to_100_and_each_is_less_than_one_off(counts: list[int]) -> None:
    cut = {"<1%": 0, ">99%": 100}
    wholes = [cut[text] if text in cut else int(text.strip("%")) for text in percents(counts)]

    assert sum(wholes) == 100
    for count, whole in zip(counts, wholes, strict=True):
        assert abs(whole - 100 * count / sum(counts)) < 1
    assert [text == "0%" for text in percents(counts)] == [not count for count in counts]
