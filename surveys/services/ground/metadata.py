"""Metadata: texts that a client sends when a conversation begins (rules 6.10 to 6.12 and 6.14).

A caller of the interface may send any names. A web address may contain the names that the project declares in
its `hidden_fields`. On anonymous projects a text could name the respondent, so a declaration lists the
allowed values of each field, and any other value is dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from django.conf.locale import LANG_INFO

from communities.ground.sent_text import sent_text
from communities.ground.statements import Part
from surveys.engine.language.names import is_page_parameter
from surveys.engine.script import Violation
from surveys.models import Project

MAX_FIELDS = 20
MAX_KEY = 40  # characters
MAX_VALUE = 500  # characters
MAX_VALUES = 20  # of a field on anonymous projects
MAX_COMBINATIONS = 500  # of the values of all fields there; with more, each respondent could have their own
MAX_DECLARED = 20_000  # characters of all names and values that a project declares
_KEY = re.compile(rf"[a-z0-9_]{{1,{MAX_KEY}}}").fullmatch
LANGUAGE_TAG = "[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8}){0,4}"
_LANGUAGE = re.compile(LANGUAGE_TAG).fullmatch


def language_of(project: Project, tag: str) -> str:
    """The language of a tag such as `de-AT`: `de`. Empty if it is no tag, and on anonymous projects, where a
    rare language could name the respondent.
    """
    is_kept = is_language(tag) and not project.is_anonymous
    return tag.replace("_", "-").partition("-")[0].lower() if is_kept else ""


def language_name(code: str) -> str:
    """The English name of a language, else its code."""
    return str(LANG_INFO.get(code, {}).get("name", code))


def is_language(tag: str) -> bool:
    """Whether this is the tag of a language."""
    return _LANGUAGE(tag) is not None


def is_key(name: str) -> bool:
    """Whether this is a valid field name."""
    return _KEY(name) is not None


def allowed(project: Project, sent: Mapping[str, str]) -> dict[str, str]:
    """The metadata that a project stores: all, but on anonymous projects only declared values."""
    if not project.is_anonymous:
        return dict(sent)
    values = project.hidden_fields if isinstance(project.hidden_fields, dict) else {}
    return {key: value for key, value in sent.items() if value in values.get(key, ())}


def declared(project: Project) -> Mapping[str, Sequence[str]]:
    """The declared fields with the allowed values of each; an empty list allows any value."""
    fields = project.hidden_fields
    return fields if project.is_anonymous and isinstance(fields, dict) else dict.fromkeys(fields, ())


def from_address(project: Project, query: Mapping[str, str]) -> dict[str, str]:
    """The declared fields in the address of a page, without blank ones. Longer values are cut."""
    found = {key: sent_text(query.get(key, ""))[:MAX_VALUE].rstrip() for key in project.hidden_fields}
    return allowed(project, {key: value for key, value in found.items() if value.isprintable() and value})


def condition(name: str, value: str, *, state: str) -> Part:
    """The condition that a field has exactly this value; an empty value means that the field was not given.

    `state` is the column with the state of a conversation.
    """
    return f"coalesce({state}->'fields'->>%s, '') = %s", [name, value]


def combinations(declared: Mapping[str, Sequence[str]]) -> int:
    """By how many kinds of fields responses could differ: each field has one of its values or none."""
    return math.prod(len(values) + 1 for values in declared.values())


def faults(project: Project) -> Iterator[Violation]:
    """The violations in the `hidden_fields` of a project under its privacy setting."""
    fields, path = project.hidden_fields, "settings.hidden_fields"
    if len(fields) > MAX_FIELDS:
        yield Violation(path, "too_many", f"`{path}` can hold at most {MAX_FIELDS} names.")
    texts = (
        [*fields, *(value for values in fields.values() for value in values)]
        if isinstance(fields, dict)
        else []
    )
    if sum(map(len, texts)) > MAX_DECLARED:
        message = f"`{path}` can hold at most {MAX_DECLARED:,} characters of names and values together."
        yield Violation(path, "too_long", message)
    for name in fields:
        if not is_key(name):
            yield Violation(
                path, "invalid", f"`{path}` has names of 1 to {MAX_KEY} of a-z, 0-9 and _; {name!r} is none."
            )
        elif is_page_parameter(name):
            message = f"The page's address uses the word `{name}` itself: please give the field another name."
            yield Violation(path, "not_allowed", message)
    if project.is_anonymous and fields and not isinstance(fields, dict):
        yield Violation(
            path,
            "invalid_type",
            f"On anonymous projects `{path}` is an object of names with their allowed values, such as "
            '`{"campaign": ["mail", "poster"]}`: any other text could name the respondent.',
        )
    if isinstance(fields, dict):
        if project.is_anonymous and combinations(fields) > MAX_COMBINATIONS:
            message = (
                f"On anonymous projects the values of `{path}` have at most {MAX_COMBINATIONS} combinations "
                f"(a value or none of each), not {combinations(fields):,}: with more, an address of their "
                "own could name each respondent."
            )
            yield Violation(path, "too_many", message)
        for name, values in fields.items():
            if not 1 <= len(values) <= MAX_VALUES:
                yield Violation(
                    f"{path}.{name}", "invalid", f"`{path}.{name}` lists 1 to {MAX_VALUES} values."
                )
