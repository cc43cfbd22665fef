"""Rules for passwords in addition to Django's own validators."""

from __future__ import annotations

import re
from typing import Any

from django.core.exceptions import ValidationError

# Words that are easy to guess here. Digits and symbols around them, or combinations of two, do not make a
# password safe.
WORDS = (
    *("account", "admin", "administrator", "answer", "chat", "colloquy", "community", "conversation"),
    *("creator", "discord", "login", "member", "passphrase", "password", "patreon", "poll", "question"),
    *("response", "secret", "signin", "staff", "steam", "survey", "twitch", "welcome", "youtube"),
)
_OURS = re.compile(f"(?:(?:{'|'.join(WORDS)})s?)+")
_LETTERS = str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s"})


class NoWordsOfOurs:
    """Refuses a password that consists only of words of this site, digits and symbols."""

    def validate(self, password: str, user: Any = None) -> None:
        plain = password.casefold()
        for text in (plain, plain.translate(_LETTERS)):
            if _OURS.fullmatch("".join(letter for letter in text if letter.isalpha())):
                raise ValidationError(
                    "This password is made of words of this site, which others would try.",
                    code="words_of_ours",
                )

    def get_help_text(self) -> str:
        return "Your password cannot be made of words of this site alone."
