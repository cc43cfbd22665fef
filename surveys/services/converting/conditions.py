"""The logic of another system as the conditions of blocks.

    hidden_of(writer)                    for each item, when it is hidden: by its condition, and by jumps
    condition_fields(writer, item, …)    the same as one of a block's fields: rows, or an expression

Jumps become conditions of the blocks between: a block is hidden if a block before it is shown and continues
behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from surveys.engine.language import names
from surveys.engine.language.lexer import MAX_LENGTH, quoted
from surveys.engine.rules.script import MAX_LOGIC
from surveys.engine.script import SCALES, STATEMENTS, WITH_ITEMS
from surveys.services.converting.questionnaire import (
    MAX_QUOTED,
    Answered,
    Compare,
    Group,
    Item,
    Logic,
    Not,
    Questionnaire,
    Unsaid,
    UnsayableError,
    cut,
    field_of,
    negated,
    together,
)

Json = dict[str, Any]
MAX_RANKED = 20  # options of a ranking
TRUE, FALSE = Group("all", ()), Group("any", ())  # conditions that no answer decides
_NEGATED = {"eq": "ne", "ne": "eq"}
_OPERATORS = {"eq": "=", "ne": "!=", "lt": "<", "gt": ">", "gte": ">=", "lte": "<=", "in": "in"}


@dataclass
class Writer:
    """A questionnaire on its way to blocks."""

    questionnaire: Questionnaire
    items: list[Item] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)
    values: list[dict[str, str]] = field(default_factory=list)  # source's key of an option → its value here
    unreachable: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)  # on the condition that is being written
    logic: int = 0  # characters of all conditions so far
    at: int = 0  # the index of the block that is being written

    def miss(self, where: str, what: str) -> None:
        self.questionnaire.miss(where, what)


def hidden_of(writer: Writer) -> list[Logic | None]:
    """For each item, the condition under which it is hidden, by its own condition and by jumps over it."""
    hidden: list[Logic | None] = [negated(item.show) if item.show else None for item in writer.items]
    skipped: list[list[Logic]] = [[] for _ in writer.items]  # the reasons to continue behind each
    end = len(writer.items)
    for n, item in enumerate(writer.items):
        writer.questionnaire.spend(len(skipped[n]))
        hidden[n] = _any([*([hidden[n]] if hidden[n] else []), *skipped[n]], writer, item)  # type: ignore[list-item]
        for jump, when in _in_turn(writer, item):
            target = end if jump.target is None else writer.index.get(jump.target)
            source = jump.source or "A jump"
            if target is None or target <= n:
                why = "goes back" if target is not None else "leads to something that is not here"
                writer.miss(item.where, f"{_sentence(source)} {why}, which a script cannot say.")
                continue
            try:
                reason = _shown_and(when, hidden[n], item.key)
            except UnsayableError as error:
                writer.miss(item.where, f"{_sentence(source)} cannot be said here: {error}.")
                continue
            writer.questionnaire.spend(target - n)
            for between in range(n + 1, target):
                if reason is not None:
                    skipped[between].append(reason)
                elif between not in writer.unreachable:
                    writer.unreachable.add(between)
                    writer.miss(writer.items[between].where, "It is left out, because it is always skipped.")
    return hidden


def _sentence(source: str) -> str:
    return f"“{cut(source, MAX_QUOTED)}”"


def _in_turn(writer: Writer, item: Item) -> Iterator[tuple[Any, Logic | None]]:
    """The jumps of an item. The first jump with a true condition counts."""
    earlier: list[Logic] = []
    for jump in item.jumps:
        writer.questionnaire.spend(len(earlier))
        apart = jump.when is not None and all(_exclude(jump.when, each) for each in earlier)
        parts = [] if apart else [negated(each) for each in earlier]
        parts += [jump.when] if jump.when else []
        try:
            when = together("all", parts) if parts else None
        except UnsayableError as error:
            writer.miss(item.where, f"{_sentence(jump.source or 'A jump')} cannot be said here: {error}.")
            return
        yield jump, when
        if jump.when is None:
            return
        earlier.append(jump.when)


def _exclude(one: Logic, other: Logic) -> bool:
    """Whether two comparisons with different values cannot both be true."""
    return (
        isinstance(one, Compare)
        and isinstance(other, Compare)
        and one.op == other.op == "eq"
        and one.key == other.key
        and str(one.value) != str(other.value)
    )


def _shown_and(when: Logic | None, hidden: Logic | None, key: str) -> Logic | None:
    """The condition, and that the item with the jump is shown, without which its comparisons are false."""
    if hidden is None or (when is not None and _needs_answer(when, key)):
        return when
    return together("all", [when, negated(hidden)]) if when else negated(hidden)


def _needs_answer(logic: Logic, key: str) -> bool:
    match logic:
        case Compare(each, op):
            return each == key and op != "ne"
        case Answered(each):
            return each == key
        case Group("all", parts):
            return any(_needs_answer(part, key) for part in parts)
        case Group("any", parts):
            return all(_needs_answer(part, key) for part in parts)
    return False


def _any(parts: Iterable[Logic], writer: Writer, item: Item) -> Logic | None:
    try:
        unique = list({id(part): part for part in parts}.values())  # hashes of groups would take long
        return together("any", unique) if unique else None
    except UnsayableError as error:
        writer.miss(item.where, f"Its conditions cannot be said here: {error}. It is always shown.")
        return None


def condition_fields(writer: Writer, item: Item, hidden: Logic) -> Json:
    """The condition as one of a block's fields: rows where these can say it, else an expression."""
    writer.notes = []
    try:
        resolved = _resolved(writer, hidden)
    except UnsayableError as error:
        sayable = _sayable(writer, hidden)
        if sayable is None:
            writer.miss(item.where, f"Its condition cannot be said here: {error}. It is always shown.")
            return {}
        writer.miss(item.where, f"A part of its condition cannot be said here and is left out: {error}.")
        writer.notes = []
        resolved = _resolved(writer, sayable)
    notes, writer.notes = "; ".join(writer.notes), []
    if resolved == TRUE:
        writer.unreachable.add(writer.at)
        why = f": {notes}" if notes else ""
        writer.miss(item.where, f"It is left out, because its condition is never true{why}.")
    elif notes:
        writer.miss(item.where, f"A part of its condition is never true: {notes}.")
    if resolved in (TRUE, FALSE):
        return {}
    text = _expression(writer, resolved)
    writer.logic += len(text)
    if len(text) > MAX_LENGTH or writer.logic > MAX_LOGIC * 9 // 10:  # `NOT(())` is added to some
        writer.logic -= len(text)
        writer.miss(item.where, "Its condition is too long. It is always shown.")
        return {}
    if isinstance(resolved, Not):
        with_rows = _rows(resolved.part)
        if with_rows is not None:
            return {"show_when": with_rows}
    if (with_rows := _rows(resolved)) is not None:
        return {"hide_when": with_rows}
    return {"precondition": text}


def _sayable(writer: Writer, hidden: Logic) -> Logic | None:
    """Of the reasons to hide a block, those that can be said; None if none can.

    Without the others the block is shown more often, and never where a said reason hides it.
    """
    try:
        _resolved(writer, hidden)
    except UnsayableError:
        match hidden:
            case Group("any", parts):
                said = [each for part in parts if (each := _sayable(writer, part))]
                return together("any", said) if said else None
            case Not(Group("all", parts)):
                said = [negated(each) for part in parts if (each := _sayable(writer, negated(part)))]
                return negated(together("all", said)) if said else None
        return None
    return hidden


def _resolved(writer: Writer, logic: Logic) -> Logic:
    """The condition with the names and values of blocks, or TRUE or FALSE.

    No answer equals a value that is no option. Raises UnsayableError.
    """
    match logic:
        case Not(part):
            resolved = _resolved(writer, part)
            if resolved in (TRUE, FALSE):
                return FALSE if resolved == TRUE else TRUE
            return negated(resolved)
        case Group(op, parts):
            neutral, decisive = (TRUE, FALSE) if op == "all" else (FALSE, TRUE)
            kept = [each for each in (_resolved(writer, part) for part in parts) if each != neutral]
            if decisive in kept or not kept:
                return decisive if kept else neutral
            return kept[0] if len(kept) == 1 else Group(op, tuple(kept))
        case Unsaid(why):
            raise UnsayableError(why)
        case Answered(key) | Compare(key) if field := field_of(key):
            return replace(logic, key=field)
        case Answered(key):
            n = _index(writer, key)
            return Answered(writer.names[n])
        case Compare(key, op, value):
            n = _index(writer, key)
            named = value if op == "in" else [value]
            if op in ("eq", "ne", "in") and writer.items[n].kind in WITH_ITEMS:
                named = [each for each in named if str(each) in writer.values[n]]
            if not named:
                what = f"“{cut(str(value), 80)}” is no option of “{cut(writer.items[n].text, 80)}”"
                writer.notes.append(what)
                return TRUE if op == "ne" else FALSE
            values = tuple(_value(writer, n, each) for each in named)
            if op == "in" and (writer.items[n].kind not in ("multi_punch", "ranking") and len(values) == 1):
                op = "eq"
            return Compare(writer.names[n], op, values if op == "in" else values[0])
    raise TypeError(logic)


def _index(writer: Writer, key: str) -> int:
    n = writer.index.get(key)
    if n is None:
        raise UnsayableError(f"“{cut(key, 80)}” is no question here")
    if n >= writer.at:
        raise UnsayableError(f"“{cut(key, 80)}” comes later")
    if writer.items[n].kind in STATEMENTS:
        raise UnsayableError(f"“{cut(key, 80)}” has no answer")
    return n


def _value(writer: Writer, n: int, value: Any) -> Any:
    item, text = writer.items[n], str(value)
    if item.kind in WITH_ITEMS:
        if text not in writer.values[n]:
            raise UnsayableError(f"“{cut(text, 80)}” is no option of “{cut(item.text, 80)}”")
        return writer.values[n][text]
    if item.kind in SCALES or item.kind == "open_numeric":
        try:
            found = float(text)
        except ValueError:
            raise UnsayableError(f"“{cut(text, 80)}” is no number") from None
        if math.isfinite(found):
            return int(found) if found.is_integer() else found
    return value


def _rows(logic: Logic) -> Json | None:
    """The condition as the interface's rows; None if these cannot say it."""
    match logic:
        case Compare(name, op, value):
            texts = [each for each in (value if op == "in" else (value,)) if isinstance(each, str)]
            if any('"' in text or not text for text in texts) or names.is_reserved(name):
                return None
            of = "block" if names.field_key(name) is None else "variable"
            return {of: name, "op": op, "value": list(value) if op == "in" else value}
        case Not(Compare(name, op, value)) if op in _NEGATED:
            return _rows(Compare(name, _NEGATED[op], value))
        case Not(Group(op, parts)):
            return _rows(Group("any" if op == "all" else "all", tuple(negated(part) for part in parts)))
        case Group(op, parts):
            rows = [_rows(part) for part in parts]
            return None if None in rows else {op: rows}
    return None


def _expression(writer: Writer, logic: Logic) -> str:
    match logic:
        case Compare(name, op, value):
            literal = _literals(value) if op == "in" else _literal(value)
            return f"{names.expression_form(name)} {_OPERATORS[op]} {literal}"
        case Answered(name) if names.field_key(name) is not None:
            return name
        case Answered(name):
            item = writer.items[writer.names.index(name)]
            form = names.expression_form(name)
            if item.kind in SCALES or item.kind == "open_numeric":  # a name alone is false for 0
                return f"({form} <= 0 OR {form} > 0)"
            values = tuple(writer.values[writer.names.index(name)].values())
            if item.kind == "single_punch" and {"0", "false"} & set(values) and len(values) <= MAX_RANKED:
                return f"{form} in {_literals(values)}"
            return form
        case Not(part):
            return f"NOT ({_expression(writer, part)})"
        case Group(op, parts):
            join = " AND " if op == "all" else " OR "
            return "(" + join.join(_expression(writer, part) for part in parts) + ")"
    raise TypeError(logic)


def _literals(values: Iterable[Any]) -> str:
    return "[" + ", ".join(map(_literal, values)) + "]"


def _literal(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else str(value)
