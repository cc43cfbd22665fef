"""What a password must not be, beside what Django's own validators refuse."""

from __future__ import annotations

import re
from typing import Any

from django.core.exceptions import ValidationError

# Words that suggest themselves here. Digits and signs round them, or any two of them, make nothing safe.
WORDS = (
    *("account", "admin", "administrator", "answer", "chat", "colloquy", "community", "conversation"),
    *("creator", "discord", "login", "member", "passphrase", "password", "patreon", "poll", "question"),
    *("response", "secret", "signin", "staff", "steam", "survey", "twitch", "welcome", "youtube"),
)
_OURS = re.compile(f"(?:(?:{'|'.join(WORDS)})s?)+")
_LETTERS = str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s"})


class NoWordsOfOurs:
    """Refuses a password that is nothing but words of this site, with digits and signs at will."""

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
