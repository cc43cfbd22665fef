"""Prompts: instructions from files, and data beside them that cannot be mistaken for instructions."""

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
    """The parts of a prompt.

    `instructions` are the same in every request of a kind, so that the API can cache them. `terms` apply to
    one request only. `data` is the message of the user.
    """

    instructions: str
    terms: str
    data: str


def build_prompt(
    name: str, data: Mapping[str, object], *, language: str, addition: str | None = None
) -> Prompt:
    """Build the prompt of this name, with the data between boundaries that occur nowhere in them.

    `language` is a sentence that says which language to write in. `addition` names a further file of
    instructions.
    """
    text = _encode(data)
    boundary = _new_boundary(text)
    terms = [_template(addition).template] if addition else []
    terms.append(_template("data").substitute(boundary=boundary, language=language))
    return Prompt(
        instructions=_template(name).template,
        terms="\n\n".join(terms),
        data=f"<{boundary}>\n{text}\n</{boundary}>",
    )


def language_instruction(source: str, locale: str | None) -> str:
    """Ask for the language of `source`, such as "the intent", and for the locale if that is unclear."""
    sentence = f"Write in the language of {source}."
    if locale is not None and _LANGUAGE_TAG.fullmatch(locale):  # a locale is text from outside, too
        sentence += f" Where that is hard to tell, and for its regional spelling, go by the locale {locale}."
    return sentence


def _encode(data: Mapping[str, object]) -> str:
    """JSON on one line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8")


def _new_boundary(text: str) -> str:
    """A random boundary that does not occur in the text."""
    while (boundary := f"data-{secrets.token_hex(12)}") in text:
        pass
    return boundary


@cache
def _template(name: str) -> Template:
    return Template((FOLDER / f"{name}.md").read_text(encoding="utf-8").strip())
