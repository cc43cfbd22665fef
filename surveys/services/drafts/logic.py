"""Converts conditions between rows and text while somebody edits a script. Nothing is stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from surveys.engine.language import conditions, names, rows
from surveys.engine.language.conditions import ConditionError
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.rows import NotRowsError
from surveys.engine.script import Violation, title_case

Json = dict[str, Any]

KINDS = ("show_when", "hide_when")


def rows_of(*, text: str, lists: Collection[str] = ()) -> Json:
    """The condition with the same meaning as a hide expression, and its `kind`: show_when or hide_when.

    `lists` are the names and positions of blocks whose answers are lists, as expressions write them. Without
    a condition, `violations` describe the faults of the text. Or `reason` says why rows cannot express the
    text, with the `column` from 1. References are not checked here.
    """
    nothing: Json = {"condition": None, "kind": None, "violations": [], "reason": None, "column": None}
    positions = frozenset(name for name in lists if names.is_position(name))
    titles = frozenset(title_case(name.strip("()")) for name in lists if name not in positions)

    def holds_list(name: str) -> bool:
        return name in positions if names.is_position(name) else title_case(name) in titles

    try:
        read = rows.read(text, holds_list=holds_list)
    except ParseError as error:
        message = f"`precondition`: {error.message}"
        violation = Violation("precondition", error.code, message, error.column)
        return {**nothing, "violations": [violation.as_json()]}
    except NotRowsError as error:
        return {**nothing, "reason": error.message, "column": error.column}
    return {**nothing, "condition": read.condition, "kind": read.field}


def text_of(*, condition: Mapping[str, object], kind: str) -> Json:
    """The hide expression to which a condition compiles; None if the condition is faulty or unfinished."""
    try:
        return {"text": conditions.compile(condition, hide=kind == "hide_when"), "violations": []}
    except ConditionError as error:
        violations = [
            Violation(f"{kind}.{path}" if path else kind, code, message).as_json()
            for path, code, message in error.problems
        ]
        return {"text": None, "violations": violations}
