"""The one form of texts (rules 1.6 and 1.7)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from communities.ground import sent_text as module
from communities.ground.sent_text import appearance, compatible, composed, sent_text
from tests.support.cases import try_each

ROOT = Path(__file__).parent.parent.parent
MARKS = [chr(code) for code in range(0x30000) if unicodedata.category(chr(code)).startswith("M")]
# Where texts are normalised beside `composed` and `compatible`, and why their accents are few. It is no
# reason that a text was composed when it was sent: in other forms, more characters become accents.
NORMALIZES = {
    "communities/gate/downloads.py": "Names of files, which our code makes.",
    "communities/ground/sent_text.py": "The function itself.",
    "communities/sign_in.py": "At most MAX_LOGIN characters.",
    "surveys/ai/local/drafts/bank.py": "At most MAX_INTENT characters.",
    "surveys/ai/local/drafts/stems.py": "At most MAX_INTENT characters.",
    "surveys/ai/local/texts/cleaning.py": "At most MAX_READ_LENGTH characters.",
    "surveys/services/exports/spss.py": "Names of blocks, fields and buckets, which are short.",
}


@try_each(
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


def test_every_character_that_python_sorts_is_one_of_the_marks_of_long_runs() -> None:
    for char in map(chr, range(0x110000)):
        is_sorted = any(map(unicodedata.combining, unicodedata.normalize("NFD", char)[:1]))
        assert not is_sorted or unicodedata.category(char).startswith("M"), hex(ord(char))


@given(st.lists(st.sampled_from(MARKS) | st.sampled_from("aé가\u1100각ﬁ２\uff9e"), max_size=120).map("".join))
def test_long_runs_of_accents_change_nothing_in_the_result(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", text)
    assert compatible(text) == unicodedata.normalize("NFKC", text)


def _exchanges(classes: list[int]) -> int:
    """The number of swaps of neighbours that sort the accents of each letter."""
    before: Counter[int] = Counter()
    exchanges = 0
    for each in classes:
        if each == 0:
            before.clear()
        exchanges += sum(count for other, count in before.items() if 0 < each < other)
        before[each] += 1
    return exchanges


@pytest.mark.parametrize(
    "run",
    [
        "\u0301" * 5_000 + "\u0316" * 5_000,
        "\u0301\u0316" * 5_000,
        "\u0f73" * 5_000,  # itself of class 0: its two parts are not
        "\uff9e\u0301\u0316" * 5_000,  # no mark, but one by compatibility
    ],
)
def test_python_has_little_to_sort_in_a_long_run_of_accents(
    run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 11.841."""

    class Watched:
        combining = staticmethod(unicodedata.combining)

        @staticmethod
        def normalize(form: Literal["NFC", "NFD", "NFKD"], text: str) -> str:
            apart = [part for char in text for part in unicodedata.normalize("NFD", char)]
            classes = [unicodedata.combining(part) for part in apart]
            assert _exchanges(classes) <= 100 * len(text)
            return unicodedata.normalize(form, text)

    monkeypatch.setattr(module, "unicodedata", Watched)

    assert sent_text(f"a{run}b") == sent_text(sent_text(f"a{run}b"))
    assert compatible(f"a{run}b") == compatible(sent_text(f"a{run}b"))


def test_texts_are_composed_by_one_function() -> None:
    found = {
        str(path.relative_to(ROOT))
        for app in ("communities", "config", "surveys", "webhooks", "xp")
        for path in (ROOT / app).rglob("*.py")
        if re.search(r"unicodedata\.normalize\(", path.read_text())
    }
    assert found == set(NORMALIZES)


@try_each(
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


@try_each(
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
