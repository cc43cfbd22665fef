"""Numbers as people type them."""

from decimal import Decimal

import pytest
from django.conf import settings

from surveys import written_numbers
from surveys.written_numbers import UnclearNumber
from tests.support.cases import try_each


@try_each(
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
        ("xx", "12,500", "12,500"),
        ("zh-CN", "12,500", "12500"),
        ("no", "12,500", "12.500"),
        ("en", "0,500", "0.500"),
        ("de", "-0.125", "-0.125"),
        ("fr", "12.500", "12.500"),
    ],
)
def test_a_number_is_read_in_the_manner_of_its_language(language, text, expected):
    assert written_numbers.plain(text, language=language) == expected


@try_each(
    "text",
    ["1,23,456", "12,50,000", "1.2.3", "12,5.5", "12 50", "twelve", "", "1e3", "12,", "€", "12 apples"],
)
def test_what_is_no_such_number_stays_as_it_is(text):
    assert written_numbers.plain(text, language="en") == text


@try_each(
    ("language", "text", "readings"),
    [
        ("en", "12.500", "12.5 or 12500"),
        ("en", "€ 12.345", "12.3450 or 12345"),
        ("de", "-1,625", "-1,6250 or -1625"),
        ("fr", "12.500", "12,5 or 12500"),
        ("ky", "12,500", "12.5 or 12500"),
        ("en", "012,500", "12.5 or 12500"),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_refused_with_both(language, text, readings):
    """Rule 6.214."""
    with pytest.raises(UnclearNumber, match=f"This can be read as {readings}"):
        written_numbers.read(text, language=language)


BOTH = "two"  # 12.5 and 12500
NONE = "none"
IN_EVERY_LANGUAGE = {
    "0,500": "0.5",
    "0.500": "0.5",
    "-0,125": "-0.125",
    "-0.125": "-0.125",
    "0,500,000": NONE,
    "0.500,5": NONE,
    "0,500.5": NONE,
    "12,5": "12.5",
    "12.5": "12.5",
    "1234,567": "1234.567",
    "1234.567": "1234.567",
    "1,234,567": "1234567",
    "1.234.567": "1234567",
    "12,500.5": "12500.5",
    "12.500,5": "12500.5",
    "12 500": "12500",
    "012,500": BOTH,
    "012.500": BOTH,
}
# The readings of 12,500 and of 12.500. The languages after those of Django have other tags, or are unknown.
WITH_COMMAS = ("12500", BOTH)
WITH_POINTS = (BOTH, "12500")
WITH_SPACES = (BOTH, BOTH)
GROUPS = {
    WITH_COMMAS: "bn ckb cy en en-au en-gb es-mx es-ni fa fy ga gd he hi ig ja kn ko ml mn ms ta te th ug "
    "zh-hans zh-hant zh-CN zh-TW",
    WITH_POINTS: "ar ar-dz bs ca da de el es-ar es-co eu gl hr id is it km lt mk nl pt pt-br ro sl sq sr "
    "sr-latn tr vi",
    WITH_SPACES: "af ast az bg be br cs dsb eo es es-ve et fi fr hsb hu hy ia io ka kab kk ky lb lv mr my nb "
    "ne nn os pa pl ru sk sv sw tg tk tt udm uk ur uz de-CH fr-CA no sv-SE xx",
}


def reading(text: str, language: str) -> str:
    try:
        return f"{Decimal(written_numbers.read(text, language=language)).normalize():f}"
    except UnclearNumber as unclear:
        return BOTH if "can be read as" in str(unclear) else NONE


@try_each(
    ("language", "expected"),
    [(each, readings) for readings, each_of in GROUPS.items() for each in each_of.split()],
)
def test_no_language_reads_a_number_a_thousand_times_too_large(language, expected):
    """Rule 6.214."""
    table = {**IN_EVERY_LANGUAGE, "12,500": expected[0], "12.500": expected[1]}

    assert {text: reading(text, language) for text in table} == table


def test_every_language_of_django_is_in_the_table():
    languages = " ".join(GROUPS.values()).split()

    assert {code for code, _ in settings.LANGUAGES} <= set(languages)


@try_each(("language", "example"), [("en", "12.50"), ("de", "12,50")])
@try_each("text", ["twelve", "1.2.3", "1_0", "NaN", "€"])
def test_what_is_no_number_is_refused_with_an_example(language, example, text):
    """Rule 6.213."""
    with pytest.raises(UnclearNumber, match=f"not a number.*for example {example}"):
        written_numbers.read(text, language=language)


@try_each("language", ["en", "de", "fr", "ky", "xx"])
@try_each("number", ["1.625", "12500", "0.625", "-3", "1234.567", "12.5"])
def test_a_number_that_we_write_can_be_read(language, number):
    """Rule 6.214."""
    written = written_numbers.written(number, language=language)

    assert Decimal(written_numbers.read(written, language=language)) == Decimal(number)


@try_each("language", ["en", "de"])
def test_the_work_grows_with_the_length_alone(language: str) -> None:
    """With its square, this test would take an hour."""
    digits = "9" * 500_000 + "x"

    assert written_numbers.plain(digits, language=language) == digits
    assert written_numbers.plain(f"1{' ' * 500_000}x", language=language).endswith("x")
