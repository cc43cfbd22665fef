"""The one form of texts (decisions 17.2)."""

from __future__ import annotations

import pytest

from communities.sent_text import appearance, sent_text


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("Yes ", "Yes"),
        ("\N{NO-BREAK SPACE}\tYes\r\n", "Yes"),
        ("two  words\n\non lines", "two  words\n\non lines"),
        ("Zoe\N{COMBINING DIAERESIS}", "Zoë"),
        ("\u1112\u1161\u11ab", "한"),
        ("\N{ANGSTROM SIGN}", "Å"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\u202bשלום\u202c", "\u202bשלום\u202c"),
        ("ﬁ", "ﬁ"),  # another letter in NFKC, not in NFC
        *((blank, "") for blank in ("", " ", "\x1f", "\u00ad", "\u200b", "\ufeff", "\u2028\u2029")),
        *((filler, "") for filler in ("\u115f", "\u1160", "\u2800", "\u3164", "\uffa0", "\u200d \u3164")),
        ("\u3164x", "\u3164x"),
    ],
)
def test_a_text_has_one_form(sent: str, stored: str) -> None:
    assert sent_text(sent) == stored
    assert sent_text(stored) == stored


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("two words", "two  words"),
        ("two words", "two\N{NO-BREAK SPACE}words"),
        ("two words", "two\N{IDEOGRAPHIC SPACE}\nwords"),
        ("two words", "two\u2800words"),
        ("two words", "two \u200b words"),
        *(("Yes", f"Y{sign}es") for sign in "\u00ad\u034f\u061c\u200b\u200c\u200d\u200e\u2060\ufe0f\ufeff"),
        *(("Yes", f"Yes{sign}") for sign in "\u115f\u1160\u3164\uffa0\u202c\u2069\x07\U000e0041"),
        ("é", "e\u034f\N{COMBINING ACUTE ACCENT}"),
        ("3", "3\u200d"),
        ("❤", "❤\ufe0f"),
    ],
)
def test_texts_that_look_the_same(text: str, other: str) -> None:
    assert text != other
    assert appearance(text) == appearance(other) == text
    assert appearance(appearance(other)) == appearance(other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Yes", "yes"),
        ("two words", "twowords"),
        ("A", "\N{CYRILLIC CAPITAL LETTER A}"),
        ("ﬁ", "fi"),
        ("👨\u200d👩\u200d👧", "👨👩👧"),
        ("👩🏽\u200d🚀", "👩🏽🚀"),
        ("می\u200cخواهم", "میخواهم"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\U0001f3f4"),
        ("ね", "ね\N{COMBINING KATAKANA-HIRAGANA VOICED SOUND MARK}"),
    ],
)
def test_texts_that_do_not_look_the_same(text: str, other: str) -> None:
    assert appearance(text) != appearance(other)
