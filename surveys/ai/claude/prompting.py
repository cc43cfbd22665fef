"""Prompts out of files, and data put beside them so that nothing in the data is taken for an instruction."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

FOLDER = Path(__file__).resolve().parent.parent / "prompts"
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """`instructions` are always the same, for the provider to keep them; `terms` hold for one request."""

    instructions: str
    terms: str
    data: str


def written(name: str, data: Mapping[str, object], *, language: str, addition: str | None = None) -> Prompt:
    """The prompt of this name around the data, with the addition of that name.

    `language` is a sentence on which one to write in.
    """
    told = _encoded(data)
    boundary = _boundary(told)
    terms = [_template(addition).template] if addition else []
    terms.append(_template("data").substitute(boundary=boundary, language=language))
    return Prompt(
        instructions=_template(name).template,
        terms="\n\n".join(terms),
        data=f"<{boundary}>\n{told}\n</{boundary}>",
    )


def language_of(data: str, locale: str | None) -> str:
    """A sentence: the language of `data`, the intent or the answers; the locale where that is no help."""
    sentence = f"Write in the language of {data}."
    if locale is not None and _LANGUAGE_TAG.fullmatch(locale):  # it is somebody's text, too
        sentence += f" Where that is hard to tell, and for its regional spelling, go by the locale {locale}."
    return sentence


def _encoded(data: Mapping[str, object]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))  # on one line, whatever is in it
    return text.encode("utf-8", "replace").decode("utf-8")


def _boundary(text: str) -> str:
    """One that is not in the text."""
    while (boundary := f"data-{secrets.token_hex(12)}") in text:
        pass
    return boundary


@cache
def _template(name: str) -> Template:
    return Template((FOLDER / f"{name}.md").read_text(encoding="utf-8").strip())
