"""Numbers as people type them."""

import pytest

from surveys import written_numbers


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "12,500", "12500"),
        ("en", "1,234,567.89", "1234567.89"),
        ("en", "-12,500", "-12500"),
        ("en", "12.500", "12.500"),
        ("en", "4,5", "4.5"),
        ("en", "1234,567", "1234.567"),
        ("en", " 7 ", "7"),
        ("en", ".5", ".5"),
        ("en", "\N{MINUS SIGN}3", "-3"),
        ("en-GB", "12,500", "12500"),
        ("en", "12 500", "12500"),
        ("en", "12\N{NO-BREAK SPACE}500.25", "12500.25"),
        ("de", "12.500", "12500"),
        ("de", "12.500,75", "12500.75"),
        ("de", "12,500", "12.500"),
        ("de", "4.5", "4.5"),
        ("de-CH", "12'500", "12500"),
        ("nb", "12 500,5", "12500.5"),
        ("fr", "12\N{NARROW NO-BREAK SPACE}500,5", "12500.5"),
        ("pt-BR", "1.234,5", "1234.5"),
        ("xx", "12,500", "12500"),
    ],
)
def test_a_number_is_read_in_the_manner_of_its_language(language, text, expected):
    assert written_numbers.plain(text, language=language) == expected


@pytest.mark.parametrize(
    "text", ["1,23,456", "12,50,000", "1.2.3", "12,5.5", "12 50", "twelve", "", "1e3", "12,"]
)
def test_what_is_no_such_number_stays_as_it_is(text):
    assert written_numbers.plain(text, language="en") == text


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_work_grows_with_the_length_alone(language: str) -> None:
    """With its square, this test would take an hour."""
    digits = "9" * 500_000 + "x"

    assert written_numbers.plain(digits, language=language) == digits
