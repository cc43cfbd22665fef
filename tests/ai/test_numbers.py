"""Numbers in sentences: which ones no figure bears out (rules 10.29, 10.54, 10.95 and 10.96)."""

from surveys.ai.number_words import NUMBERS
from surveys.ai.numbers import unfounded, unfounded_words
from tests.support.cases import try_each

FIGURES = ["41.27 %", "1250 of them", "-12"]
VOTES = ["“Coffee”: yes", "6 of 7 (85.71 %)"]


@try_each(
    "text",
    [
        "No numbers at all, about half.",
        "41.27 % of 1,250 people",
        "41.3 percent of 1250 people",
        "41 % of 1.250",
        "41,3 % of 1\u202f250",
        "41,3 Prozent of 1’250",
        "between 41 and 41.3 %",
        "The score is 12.",
        "b4 and v2.0.1 are words",
    ],
)
def test_numbers_that_are_figures_or_rounded_ones_are_founded(text: str) -> None:
    assert unfounded(text, FIGURES) == []


@try_each(
    ("text", "wrong"),
    [
        ("nearly 50 %", ["50"]),
        ("42 % of 1,250", ["42"]),
        ("41.2 %", ["41.2"]),
        ("1,251 people", ["1,251"]),
        ("12.5 of 41", ["12.5", "41"]),
        ("2026", ["2026"]),
    ],
)
def test_other_numbers_are_not(text: str, wrong: list[str]) -> None:
    assert unfounded(text, FIGURES) == wrong


@try_each(
    ("text", "wrong"),
    [
        ("6 of 7 chose coffee, that is 86 %.", []),
        ("6 % chose coffee.", ["6"]),
        ("7 pour cent ont choisi le café.", ["7"]),
        ("86 chose coffee.", ["86"]),
    ],
)
def test_a_count_is_no_percentage_and_a_percentage_no_count(text: str, wrong: list[str]) -> None:
    assert unfounded(text, VOTES) == wrong


def test_an_average_counts_nobody() -> None:
    figures, averages = ["212"], ["3.82", "5"]

    assert unfounded("It is rated 3.8 on average, by 212 people, 4 at least.", figures, averages) == []
    assert unfounded("4 people, 5 Personen and 211 answers", figures, averages) == ["4", "5", "211"]


def test_percentages_in_json_are_percentages() -> None:
    figures = ['{"count":28,"percentage":46.67}']

    assert unfounded("28 people, or 47 %", figures) == []
    assert unfounded("28 %", figures) == ["28"]


@try_each(
    "text",
    [
        "Six of seven chose coffee.",
        "eighty-six percent",
        "The majority chose coffee, more than half.",
        "Die Mehrheit, sechs von sieben",
        "La majorité, six personnes",
        "La mayoría, seis personas",
        "A maioria dos participantes, seis pessoas",
        "Once again, one of the most frequent options",
    ],
)
def test_numbers_in_words_that_are_figures_are_founded(text: str) -> None:
    assert unfounded_words(text, VOTES) == []


@try_each(
    ("text", "wrong"),
    [
        ("Nobody chose coffee; ninety people chose tea.", ["nobody", "ninety"]),
        ("Two thirds of the people chose coffee.", ["two thirds"]),
        ("half", ["half"]),
        ("six percent", ["six"]),
        ("one person", ["one"]),
        ("die Hälfte, ein Drittel, einundneunzig", ["hälfte", "ein drittel", "einundneunzig"]),
        ("la moitié, quatre-vingt-dix-sept", ["moitié", "quatre-vingt-dix-sept"]),
        ("la mitad, treinta y dos, once personas", ["mitad", "treinta y dos", "once"]),
        ("metade, vinte e um", ["metade", "vinte e um"]),
    ],
)
def test_other_numbers_in_words_are_not(text: str, wrong: list[str]) -> None:
    assert unfounded_words(text, VOTES) == wrong


def test_each_number_in_words_is_read_as_a_whole() -> None:
    assert {words: read for words in NUMBERS if (read := unfounded_words(f"({words})", [])) != [words]} == {}
    assert [words for words in NUMBERS if unfounded_words(f"({words})", [f"{NUMBERS[words]} of 100"])] == []
