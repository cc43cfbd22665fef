"""Numbers in sentences: which ones no figure bears out."""

import pytest

from surveys.ai.numbers import unfounded


@pytest.mark.parametrize(
    "text",
    [
        "No numbers at all, about half.",
        "41.27 % of 1,250 people",
        "41.3 % of 1250 people",
        "41 % of 1.250",
        "41,3 % of 1\u202f250",
        "41,3 % of 1’250",
        "The score is 12.",
        "b4 and v2.0.1 are words",
    ],
)
def test_numbers_that_are_figures_or_rounded_ones_are_founded(text: str) -> None:
    assert unfounded(text, ["41.27", "1250 of them", "-12"]) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("nearly 50 %", ["50"]),
        ("42 % of 1,250", ["42"]),
        ("41.2 %", ["41.2"]),
        ("1,251 people", ["1,251"]),
        ("12.5 of 41", ["12.5"]),
        ("2026", ["2026"]),
    ],
)
def test_other_numbers_are_not(text: str, wrong: list[str]) -> None:
    assert unfounded(text, ["41.27", "1250 of them", "-12"]) == wrong


def test_without_figures_no_number_is_founded() -> None:
    assert unfounded("1 of 2", []) == ["1", "2"]
