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

    `instructions` are the same in every request of a kind. `terms` apply to one piece of work only. `shared`
    and `data` are the message of the user. `terms` and `shared` are the same in all requests of one piece of
    work; `shared` may be empty. So an API can cache `instructions` alone, or everything before `data`.
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
    """Build the prompt of this name. Boundaries that occur nowhere in the data enclose the data.

    `language` is a sentence that says which language to write in. `shared` is data that further requests
    repeat. `additions` names further files of instructions.
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
    """Return a sentence that asks for the language of `source`, such as "the intent", or else of
    the locale.
    """
    sentence = f"Write in the language of {source}."
    # A locale comes from outside, so it could be an instruction.
    if locale is not None and _LANGUAGE_TAG.fullmatch(locale):
        sentence += f" Where that is hard to tell, and for its regional spelling, go by the locale {locale}."
    return sentence


def _encode(data: Mapping[str, object]) -> str:
    """JSON on one line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8")


def _enclosed(text: str, boundary: str) -> str:
    return f"<{boundary}>\n{text}\n</{boundary}>"


def _new_boundary(text: str, shared: str) -> str:
    """Return a boundary that does not occur in the data. Only somebody who knows our secret can guess the
    boundary.

    The boundary depends on the shared data, because an API caches only requests with equal beginnings.
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
