"""The one form of texts (decisions 17.2)."""

from __future__ import annotations

import pytest

from communities.sent_text import sent_text


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
