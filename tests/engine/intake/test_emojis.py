"""Sequences that readers see as one emoji, or as one character."""

from __future__ import annotations

from surveys.engine.intake.emojis import count_renderable, is_one_character
from tests.support.cases import try_each


@try_each(
    ("text", "expected"),
    [
        ("", 0),
        ("Yes, gladly", 0),
        ("a < b", 0),
        ("Größe 1 # * 2", 0),
        ("👍", 1),
        ("👍👍", 2),
        ("Yes 👍 and no 👎", 2),
        ("👍🏽", 1),  # skin tone
        ("👨‍👩‍👧‍👦", 1),  # a family, joined
        ("🧑🏻‍❤️‍💋‍🧑🏿", 1),
        ("🇫🇷", 1),
        ("🇫🇷🇩🇪", 2),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", 1),  # a flag of tags
        ("1️⃣", 1),  # keycaps
        ("#️⃣*️⃣", 2),
        ("❤", 1),
        ("❤️", 1),
        ("❤\ufe0e", 0),  # text presentation
        ("☎\ufe0e 👍", 1),
        ("Acme™ © 2026 ®", 0),
        ("©️®️™️", 3),  # asked to be pictures
        ("<:cat:123456789012345678>", 1),
        ("<a:cat_jam:123456789012345678> 👍", 2),
        ("<:cat:>", 0),
        ("<:cat:12x>", 0),
        ("<b:cat:12>", 0),
        ("<:👍:12>", 1),
    ],
)
def test_emoji_are_counted_as_they_are_drawn(text: str, expected: int) -> None:
    assert count_renderable(text) == expected


@try_each(
    "text",
    ["a", "█", "é", "e\u0301", "👍", "👍🏽", "👨‍👩‍👧‍👦", "🇫🇷", "1️⃣", "❤️", "©", "漢", "नि", "\U0001fae9"],
)
def test_one_visible_character_counts_as_one(text: str) -> None:
    assert is_one_character(text)


@try_each(
    "text",
    [
        "",
        " ",
        "\n",
        "\r\n",
        "\u200d",
        "\ufe0f",
        "\u0301",
        "\x00",
        "ab",
        "👍👍",
        "🇫🇷🇩🇪",
        "a ",
        "<:a:1>",
        "e" + "\u0301" * 16,
    ],
)
def test_empty_invisible_or_longer_text_is_not_one_character(text: str) -> None:
    assert not is_one_character(text)
