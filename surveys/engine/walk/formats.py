"""The formats of answers to open questions: a line, an address, a number or a date (rules 3.122, 6.132)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from communities.ground.translation import say
from surveys.engine.language.values import is_date

MAX_ADDRESS = 254  # characters of an e-mail address
MAX_LINK = 2_048
FEWEST_DIGITS, MOST_DIGITS = 5, 20  # of a telephone number
_LOCAL_PART = re.compile(r"[^\s@<>()\[\]\\,;:\"]+").fullmatch
_LABEL = re.compile(r"\w(?:[\w-]{0,61}\w)?").fullmatch
_NOT_IN_LINKS = re.compile(r"[\s<>\"\\^`{|}\x00-\x1f\x7f]").search
_TELEPHONE = re.compile(r"\(?\+?[0-9+().\- ]*").fullmatch
_DIGIT = re.compile(r"[0-9]")


@dataclass(frozen=True, slots=True)
class Format:
    """How an answer is written: the sentence under its question, that about another answer, an example, and
    whether a text is one.
    """

    help: str
    problem: str
    example: str
    fits: Callable[[str], bool]


def problem(name: str, text: str) -> str | None:
    """Why a text is no answer in this format; None if it is one."""
    if len(text.splitlines()) > 1:
        return say("Answer in one line, without line breaks.")
    written = FORMATS.get(name)
    if written is None or written.fits(text):
        return None
    return say(written.problem, example=written.example)


def help_of(name: str | None) -> str:
    """The sentence under a question in this format; empty if it needs none."""
    written = FORMATS.get(name or "")
    return say(written.help, example=written.example) if written else ""


def example_of(name: str | None) -> str:
    """An answer in this format; empty if any text is one."""
    return FORMATS[name].example if name is not None and name in FORMATS else ""


def _is_address(text: str) -> bool:
    local, _, host = text.rpartition("@")
    labels = host.split(".")
    return (
        len(text) <= MAX_ADDRESS
        and _LOCAL_PART(local) is not None
        and not (local.startswith(".") or local.endswith(".") or ".." in local)
        and len(labels) > 1
        and all(_LABEL(label) and "_" not in label for label in labels)
        and not labels[-1].isdigit()
    )


def _is_link(text: str) -> bool:
    if len(text) > MAX_LINK or _NOT_IN_LINKS(text):
        return False
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:  # such as `http://[` or `http://host:port`
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_telephone_number(text: str) -> bool:
    plain = "".join(map(_plain_sign, text))
    digits = len(_DIGIT.findall(plain))
    return (
        FEWEST_DIGITS <= digits <= MOST_DIGITS
        and _TELEPHONE(plain) is not None
        and "+" not in plain.lstrip("( ").removeprefix("+")
    )


def _plain_sign(sign: str) -> str:
    """A space or hyphen of any kind as the plain one: programs put others into numbers."""
    return {"Zs": " ", "Pd": "-"}.get(unicodedata.category(sign), sign)


FORMATS: Mapping[str, Format] = {
    "email": Format(
        "An e-mail address, such as {example}.",
        "Answer with an e-mail address, such as {example}.",
        "name@example.org",
        _is_address,
    ),
    "url": Format(
        "A link that begins with https:// or http://, such as {example}.",
        "Answer with a link that begins with https:// or http://, such as {example}.",
        "https://example.org",
        _is_link,
    ),
    "phone": Format(
        f"A telephone number of {FEWEST_DIGITS} to {MOST_DIGITS} digits, such as {{example}}.",
        f"Answer with a telephone number of {FEWEST_DIGITS} to {MOST_DIGITS} digits, such as {{example}}.",
        "+49 30 1234567",
        _is_telephone_number,
    ),
    "date": Format(
        "A date, such as {example}.", "Answer with a date, such as {example}.", "2026-01-31", is_date
    ),
}
