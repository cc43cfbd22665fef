"""Numbers in the notation of a language: `12,500` in English, `12.500,5` in German."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from unicodedata import category

from django.utils.formats import get_format, get_format_modules

from communities.ground.translation import say

_SIGNS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{FIGURE DASH}": "-", "\N{EN DASH}": "-"})
_SPACED = re.compile(r"(?<=\d)[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}'’](?=\d{3}(?!\d))")
_OTHER = {",": ".", ".": ","}
_ONE_GROUP = re.compile(r"(?P<whole>[+-]?\d{1,3})(?P<sign>[.,])(?P<rest>\d{3})")
_KNOWN = {"no": "nb", "zh": "zh-hans"}
_CURRENCIES = ("EUR", "USD", "GBP", "CHF")
_EXAMPLE = "12.50"


class UnclearNumber(ValueError):
    """A text that is no number, or could be two. The message says what to write."""


def plain(text: str, *, language: str) -> str:
    """The number in `text` with plain digits and a decimal point (`12500.5`); other texts are returned
    unchanged.

    `language` is a tag such as `en` or `pt-BR`. Separators of thousands are removed: the language's own
    separator, spaces and apostrophes, each only between groups of three digits. The other language's notation
    is accepted too if it has one meaning (`4,5`, `0,500` and `12.500,00` in English, but not `12.500` in
    French), so that no number changes its size. A currency before or after the number is left out.
    """
    written = _cleaned(text)
    decimal = _decimal_sign(language)
    group = _OTHER[decimal]
    d, g = re.escape(decimal), re.escape(group)
    if decimal not in written and _is_ambiguous(written, language):
        return text
    if number := in_notation(written, decimal=decimal):
        return number
    if re.fullmatch(rf"[+-]?\d+{g}\d+", written):
        return written.replace(group, ".")
    if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}({d}\d{{3}})+({g}\d+|{d}\d{{3}})", written):
        return written.replace(decimal, "").replace(group, ".")
    return text


def in_notation(text: str, *, decimal: str, has_groups: bool = True) -> str:
    """The number with plain digits whose decimal sign is `decimal`; empty for a text that is none. The other
    sign may separate thousands if the notation `has_groups`.
    """
    written = _cleaned(text)
    d, g = re.escape(decimal), re.escape(_OTHER[decimal])
    if has_groups and re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}({g}\d{{3}})+({d}\d+)?", written):
        written = written.replace(_OTHER[decimal], "")
    return written.replace(decimal, ".") if re.fullmatch(rf"[+-]?(\d+({d}\d+)?|{d}\d+)", written) else ""


def read(text: str, *, language: str) -> str:
    """The number that a person wrote, as `plain` returns it; empty if there is none.

    Raises UnclearNumber for other texts, and where one sign may be meant as the decimal sign or to separate
    thousands, as in `12.500` in English and in French.
    """
    number = plain(text, language=language)
    if _is_ambiguous(cleaned := _cleaned(text), language):
        decimal = Decimal(cleaned.replace(",", "."))
        either, other = f"{decimal.normalize():f}", f"{decimal * 1000:.0f}"
        raise UnclearNumber(
            say(
                "This can be read as {either} or {other}. Please write one of these.",
                either=written(either, language=language),
                other=other,
            )
        )
    try:
        is_number = not number.strip() or Decimal(number).is_finite()
    except InvalidOperation:
        is_number = False
    if not is_number or "_" in number:
        raise UnclearNumber(
            say(
                "This is not a number. Please write it with digits, for example {example}.",
                example=written(_EXAMPLE, language=language),
            )
        )
    return number


def written(number: str, *, language: str) -> str:
    """A number with plain digits and a decimal point in the notation of a language; `read` reads it."""
    text = number.replace(".", _decimal_sign(language))
    return f"{text}0" if _is_ambiguous(text, language) else text


def _is_ambiguous(written: str, language: str) -> bool:
    """Whether the only sign may be the decimal sign, and may separate thousands.

    The language's separator of thousands may not be the decimal sign, and no group of thousands is zero.
    """
    found = _ONE_GROUP.fullmatch(written)
    if found is None or int(found["whole"]) == 0:
        return False
    return found["sign"] != _group_sign(language) or found["whole"].lstrip("+-").startswith("0")


def _cleaned(text: str) -> str:
    """The text without spaces between digits, signs of typography, and a currency."""
    text = text.strip().translate(_SIGNS)
    sign = text[:1] if text[:1] in ("+", "-") else ""
    text = text.removeprefix(sign).strip()
    for currency in (*_CURRENCIES, *(each for each in text[:1] + text[-1:] if category(each) == "Sc")):
        text = text.removeprefix(currency).removesuffix(currency).strip()
    return _SPACED.sub("", sign + text)


def _decimal_sign(language: str) -> str:
    """The decimal separator: `,` or `.`; keyboards have no other separators."""
    sign = get_format("DECIMAL_SEPARATOR", lang=_known(language), use_l10n=True)
    return sign if sign in _OTHER else "."


def _group_sign(language: str) -> str:
    """The separator of thousands if it is `,` or `.`; empty for another, and for an unknown language."""
    if not get_format_modules(known := _known(language)):
        return ""
    sign = get_format("THOUSAND_SEPARATOR", lang=known, use_l10n=True)
    other = _OTHER[_decimal_sign(language)]
    return other if sign in ("", other) else ""  # "" is Django's sign for Chinese


def _known(language: str) -> str:
    """The tag by which Django has the formats of a language, if there is one."""
    return language if get_format_modules(language) else _KNOWN.get(language.partition("-")[0], language)
