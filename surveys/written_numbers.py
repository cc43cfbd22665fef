"""Numbers in the notation of a language: `12,500` in English, `12.500,5` in German."""

from __future__ import annotations

import re

from django.utils.formats import get_format

_SIGNS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{FIGURE DASH}": "-", "\N{EN DASH}": "-"})
_SPACED = re.compile(r"(?<=\d)[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}'’](?=\d{3}(?!\d))")
_OTHER = {",": ".", ".": ","}


def plain(text: str, *, language: str) -> str:
    """The number in `text` with plain digits and a decimal point (`12500.5`); other texts are returned
    unchanged.

    `language` is a tag such as `en` or `pt-BR`. Separators of thousands are removed: the language's own
    separator, spaces and apostrophes, each only between groups of three digits. The other language's decimal
    separator is accepted too, if it cannot separate thousands (`4,5` in English), so that no number changes
    its size.
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
    """A number with plain digits and a decimal point in the notation of a language; `plain` reads it."""
    return number.replace(".", _decimal_sign(language))


def _decimal_sign(language: str) -> str:
    """The decimal separator: `,` or `.`; keyboards have no other separators."""
    sign = get_format("DECIMAL_SEPARATOR", lang=language, use_l10n=True)
    return sign if sign in _OTHER else "."
