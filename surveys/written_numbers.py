"""Numbers as people type them, in the manner of their language: `12,500` in English, `12.500,5` in German."""

from __future__ import annotations

import re

from django.utils.formats import get_format

_SIGNS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{FIGURE DASH}": "-", "\N{EN DASH}": "-"})
_SPACED = re.compile(r"(?<=\d)[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}'’](?=\d{3}(?!\d))")
_OTHER = {",": ".", ".": ","}


def plain(text: str, *, language: str) -> str:
    """The number in `text` with plain digits and a decimal point (`12500.5`); other texts as they are.

    `language` is a tag such as `en` or `pt-BR`. What groups thousands there is taken out: the language's own
    sign, spaces and apostrophes, each only between groups of three digits. The other language's decimal sign
    is read too, where it cannot be meant to group (`4,5` in English), so that no number changes its size.
    """
    written = _SPACED.sub("", text.strip().translate(_SIGNS))
    decimal = _decimal_sign(language)
    group = _OTHER[decimal]
    d, g = re.escape(decimal), re.escape(group)
    if re.fullmatch(rf"[+-]?\d{{1,3}}({g}\d{{3}})+({d}\d+)?", written):
        return written.replace(group, "").replace(decimal, ".")
    if re.fullmatch(rf"[+-]?(\d+({d}\d+)?|{d}\d+)", written):
        return written.replace(decimal, ".")
    if re.fullmatch(rf"[+-]?\d+{g}\d+", written):
        return written.replace(group, ".")
    return text


def written(number: str, *, language: str) -> str:
    """A number with plain digits and a decimal point as it is typed in a language: `plain` reads it."""
    return number.replace(".", _decimal_sign(language))


def _decimal_sign(language: str) -> str:
    """The sign before decimals: `,` or `.` (what other signs there are, no keyboard types)."""
    sign = get_format("DECIMAL_SEPARATOR", lang=language, use_l10n=True)
    return sign if sign in _OTHER else "."
