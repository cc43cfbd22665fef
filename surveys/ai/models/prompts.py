"""Prompts: instructions from files, and data beside them that cannot be mistaken for instructions."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from django.utils.crypto import salted_hmac

FOLDER = Path(__file__).resolve().parent.parent / "prompts"
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The parts of a prompt, in order.

    `instructions` are the same in every request of a kind. `terms` apply to this work only. `shared` and
    `data` are the message of the user; `shared` is empty, or the same in all requests of one piece of work,
    as are its `terms`. So an API can cache `instructions` by themselves, or everything before `data`.
    """

    instructions: str
    terms: str
    data: str
    shared: str = ""


def build_prompt(
    name: str,
    data: Mapping[str, object],
    *,
    language: str,
    shared: Mapping[str, object] | None = None,
    additions: Sequence[str] = (),
) -> Prompt:
    """Build the prompt of this name, with the data between boundaries that occur nowhere in them.

    `language` is a sentence that says which language to write in. `shared` are data that further requests
    repeat. `additions` name further files of instructions.
    """
    text, shared_text = _encode(data), "" if shared is None else _encode(shared)
    boundary = _new_boundary(text, shared_text)
    terms = [_template(addition).template for addition in additions]
    terms.append(_template("data").substitute(boundary=boundary, language=language))
    return Prompt(
        instructions=_template(name).template,
        terms="\n\n".join(terms),
        data=_enclosed(text, boundary),
        shared=_enclosed(shared_text, boundary) if shared_text else "",
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


def _enclosed(text: str, boundary: str) -> str:
    return f"<{boundary}>\n{text}\n</{boundary}>"


def _new_boundary(text: str, shared: str) -> str:
    """A boundary that does not occur in the data, and that nobody can guess who does not know our secret.

    With shared data it follows from them, because an API reads only equal beginnings from its cache.
    """
    number = 0
    while True:
        known = salted_hmac("surveys.ai.boundary", f"{number}{shared}").hexdigest()[:24]
        boundary = f"data-{known if shared else secrets.token_hex(12)}"
        if boundary not in text and boundary not in shared:
            return boundary
        number += 1


@cache
def _template(name: str) -> Template:
    return Template((FOLDER / f"{name}.md").read_text(encoding="utf-8").strip())
