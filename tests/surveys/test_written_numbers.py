"""Numbers as people type them."""

from decimal import Decimal

import pytest

from surveys import written_numbers
from surveys.written_numbers import UnclearNumber


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
        ("en", "12.500,00", "12500.00"),
        ("en", "1.234.567", "1234567"),
        ("de", "12,500.00", "12500.00"),
        ("en", "€ 12 000", "12000"),
        ("en", "$12,500.50", "12500.50"),
        ("en", "-12.50 €", "-12.50"),
        ("de-CH", "CHF 12'500", "12500"),
        ("nb", "12 500,5", "12500.5"),
        ("fr", "12\N{NARROW NO-BREAK SPACE}500,5", "12500.5"),
        ("pt-BR", "1.234,5", "1234.5"),
        ("xx", "12,500", "12500"),
    ],
)
def test_a_number_is_read_in_the_manner_of_its_language(language, text, expected):
    assert written_numbers.plain(text, language=language) == expected


@pytest.mark.parametrize(
    "text",
    ["1,23,456", "12,50,000", "1.2.3", "12,5.5", "12 50", "twelve", "", "1e3", "12,", "€", "12 apples"],
)
def test_what_is_no_such_number_stays_as_it_is(text):
    assert written_numbers.plain(text, language="en") == text


@pytest.mark.parametrize(
    ("language", "text", "readings"),
    [
        ("en", "12.500", "12.5 or 12500"),
        ("en", "€ 12.345", "12.3450 or 12345"),
        ("de", "-1,625", "-1,6250 or -1625"),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_refused_with_both(language, text, readings):
    """Rule 6.214."""
    with pytest.raises(UnclearNumber, match=f"This can be read as {readings}"):
        written_numbers.read(text, language=language)


@pytest.mark.parametrize(("language", "example"), [("en", "12.50"), ("de", "12,50")])
@pytest.mark.parametrize("text", ["twelve", "1.2.3", "1_0", "NaN", "€"])
def test_what_is_no_number_is_refused_with_an_example(language, example, text):
    """Rule 6.213."""
    with pytest.raises(UnclearNumber, match=f"not a number.*for example {example}"):
        written_numbers.read(text, language=language)


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("number", ["1.625", "12500", "0.625", "-3", "1234.567", "12.5"])
def test_a_number_that_we_write_can_be_read(language, number):
    """Rule 6.214."""
    written = written_numbers.written(number, language=language)

    assert Decimal(written_numbers.read(written, language=language)) == Decimal(number)


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_work_grows_with_the_length_alone(language: str) -> None:
    """With its square, this test would take an hour."""
    digits = "9" * 500_000 + "x"

    assert written_numbers.plain(digits, language=language) == digits
    assert written_numbers.plain(f"1{' ' * 500_000}x", language=language).endswith("x")
