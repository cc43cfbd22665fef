"""Which words of respondents may be shown."""

from surveys.ai.quotes import is_quotable
from tests.support.cases import try_each


@try_each(
    "text",
    [
        "The queue was long.",
        "We waited 40 minutes, from 10:30 to 11:10, and paid 12.50 each!",
        "In 2026 it took 3 weeks",
        "10,000 people came on 27.11.2026",
        "It was quiet till 10 pm, and I will come back in May.",
        "My mark was good; the frank talk gave us hope and joy.",
        "Clear and simple, un sitio muy lindo",
        "Die Musik war zu laut, und Frauen zahlen weniger.",
        "Die Wände sind rosa, das Licht ist matt",
        "we use node.js and C#",
        "Mr and Mrs were confused",
        "😍 great",
        "",
    ],
)
def test_what_names_nobody_may_be_quoted(text):
    assert is_quotable(text)


@try_each(
    "text",
    [
        "call me at 0170 1234567",
        "+49 (170) 123-45-67",
        "my number is 555.123.4567",
        "IBAN DE89 3704 0044 0532 0130 00",
        "write to ada@example.org",
        "ada (at) example.org please",
        "see https://example.org/ada",
        "www.example.org",
        "it is on example.com",
        "<@123456789> knows",
        "thanks @ada_lovelace",
        "ada#1815 helped",
        "Jennifer was rude",
        "jennifer was rude",
        "JENNIFER WAS RUDE",
        "Jürgen an der Kasse",
        "ask Mr Smith",
        "Dr. Müller war unfreundlich",
        "Frau Schulze hat geholfen",
        "la señora García no responde",
        "my name is zorblax",
        "ich heiße Zorblax",
        "je m'appelle Zorblax",
        "Will Smith was at the door",
    ],
)
def test_numbers_addresses_handles_and_names_are_not_quoted(text):
    assert not is_quotable(text)


@try_each(
    ("text", "expected"),
    [
        ("a@" * 5_000, True),
        ("1 " * 5_000, False),
        ("mr " * 5_000, True),
        ("." * 10_000, True),
        ("1." * 3, True),
    ],
)
def test_long_near_misses_are_decided(text, expected):
    assert is_quotable(text) is expected
