"""Emoji as people see them: the number of pictures in a text, and whether a text is a single character.

count_renderable(text)   how many pictures a chat client draws in `text`
is_one_character(text)   whether `text` is one visible character (a bar of a chart)
"""

from __future__ import annotations

import re

import emoji
import regex

# Custom emoji of the chat platform: `<:name:id>`, or `<a:name:id>` if animated.
_CUSTOM = re.compile(r"<a?:[A-Za-z0-9_]{1,32}:[0-9]{1,20}>")
# One grapheme that begins with a visible character. Unassigned code points match: they may be new emoji.
_CHARACTER = regex.compile(r"(?![\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Z}\p{M}])\X")
_SIGNS = frozenset("©®™")  # ordinary text unless U+FE0F selects the picture
_AS_TEXT = "\ufe0e"
# The longest emoji in use (a couple kissing, two skin tones) has 10 code points. Without a limit, a letter
# with a thousand accents would count as one character.
_LONGEST_CHARACTER = 16


def count_renderable(text: str) -> int:
    """How many emoji `text` shows: custom tokens, and each sequence (flag, family, keycap) as one.

    A character followed by the text selector U+FE0E is text, and so are ©, ® and ™ on their own.
    """
    if text.isascii() and "<" not in text:  # true for nearly every label
        return 0
    rest, custom = _CUSTOM.subn(" ", text)
    if rest.isascii():
        return custom
    return custom + sum(
        match["emoji"] not in _SIGNS
        and not match["emoji"].endswith(_AS_TEXT)
        and not rest.startswith(_AS_TEXT, match["match_end"])
        for match in emoji.emoji_list(rest)
    )


def is_one_character(text: str) -> bool:
    """Whether `text` is exactly one visible character: a letter, a sign, or one emoji of any length.

    A custom token is many characters; white space and control characters are invisible.
    """
    return len(text) <= _LONGEST_CHARACTER and _CHARACTER.fullmatch(text) is not None
