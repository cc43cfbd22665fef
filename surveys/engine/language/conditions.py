"""Conditions (`show_when`, `hide_when`) → the text of a precondition (rules 4.15 to 4.17)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal

from surveys.engine.language import names
from surveys.engine.language.expression_tree import Name
from surveys.engine.language.expressions import parse
from surveys.engine.language.lexer import MAX_LENGTH, MAX_NESTING, NAME_PATTERN, ParseError, quoted
from surveys.engine.language.values import Value
from surveys.engine.script import ENOUGH_VIOLATIONS

OPERATORS = {"eq": "=", "ne": "!=", "lt": "<", "gt": ">", "gte": ">=", "lte": "<=", "in": "in"}
CONNECTIVES = {"all": "AND", "any": "OR"}
LEAF_FIELDS = ("block", "variable", "op", "value")

# As many as fit into an expression of `MAX_LENGTH` characters.
MAX_PARTS = MAX_LENGTH // 8  # of `all` or `any`, and comparisons of a whole condition
MAX_VALUES = MAX_LENGTH // 2  # of `in`
MAX_NODES = MAX_PARTS * MAX_NESTING  # comparisons, and the groups around them
_MAX_BITS = 63  # of an integer; readers of JSON lose digits of a larger one
_MAX_DIGITS = 4096  # of another number; one with more exceeds the length of an expression


class ConditionError(ValueError):
    """A condition that cannot be compiled.

    `problems` are triples of a path (such as `any[1].value`; empty for the condition itself), a violation's
    code, and a message.
    """

    def __init__(self, problems: Sequence[tuple[str, str, str]]) -> None:
        super().__init__(problems[0][2])
        self.problems = list(problems)

    def __reduce__(self) -> tuple[type[ConditionError], tuple[list[tuple[str, str, str]]]]:
        return type(self), (self.problems,)


def compile(condition: Mapping[str, object], *, hide: bool) -> str:
    """The equivalent hide expression: the condition itself for hide_when, NOT((...)) for show_when.

    Only the form of names is checked, not whether a script contains them. Null fields count as absent;
    unknown fields are ignored. A block named `True` or `False` cannot be named, because these are literals in
    any case; `variable` can name its position. Raises ConditionError.
    """
    compiler = _Compiler()
    text = ""
    with suppress(_EnoughError):
        text = compiler.condition(condition, "", depth=1)[0]
    if compiler.problems:
        raise ConditionError(compiler.problems)
    text = text if hide else f"NOT(({text}))"
    try:
        parse(text)
    except ParseError as error:
        message = f"The condition is too large. {error.message}"
        raise ConditionError([("", error.code, message)]) from None
    return text


def leaves(condition: Mapping[str, object], path: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The comparisons of a condition that compiles, each with its path, such as `show_when.any[1]`."""
    for key in CONNECTIVES:
        parts = condition.get(key)
        if isinstance(parts, list | tuple):
            for n, part in enumerate(parts):
                yield from leaves(part, f"{path}.{key}[{n}]")
            return
    yield path, condition


def with_leaves(
    condition: Mapping[str, object], change: Callable[[Mapping[str, object]], dict[str, object]]
) -> dict[str, object]:
    """The condition with each of its comparisons changed."""
    groups = [key for key in CONNECTIVES if isinstance(condition.get(key), list | tuple)]
    if not groups:
        return change(condition)
    parts = {key: [with_leaves(part, change) for part in condition[key]] for key in groups}  # type: ignore[attr-defined]
    return {**condition, **parts}


def subject_of(leaf: Mapping[str, object]) -> str:
    """The name in a comparison of a valid condition, as an expression writes it."""
    block = leaf.get("block")
    name = names.expression_form(str(block)) if block is not None else str(leaf.get("variable"))
    return name.strip("()")


def value_of(raw: object) -> Value:
    """The value in a comparison of a valid condition, as skip logic compares it."""
    if isinstance(raw, list | tuple):
        return tuple(map(value_of, raw))
    if isinstance(raw, bool | str | Decimal):
        return raw
    return Decimal(repr(raw)) if isinstance(raw, int | float) else None


class _EnoughError(Exception):
    """The condition is too large, or has more violations than a refusal lists."""


class _Compiler:
    """Writes the expression and collects problems; the text is valid only if there are none."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str, str]] = []
        self.comparisons = 0

    def report(self, path: str, code: str, message: str) -> str:
        self.problems.append((path.lstrip("."), code, message))
        if len(self.problems) >= ENOUGH_VIOLATIONS:
            raise _EnoughError
        return ""

    def condition(self, raw: object, path: str, *, depth: int) -> tuple[str, bool]:
        """The text, and whether it needs parentheses inside a group."""
        if not isinstance(raw, Mapping):
            return self.report(path, "invalid_type", "A condition is an object."), False
        if depth > MAX_NESTING:
            message = f"Conditions nest at most {MAX_NESTING} deep."
            return self.report(path, "too_deep", message), False
        groups = [key for key in CONNECTIVES if raw.get(key) is not None]
        leaf = [key for key in LEAF_FIELDS if raw.get(key) is not None]
        if len(groups) == 2 or (groups and leaf):
            message = (
                "A condition has either all, or any, or block or variable with op and value; "
                f"here are {' and '.join(groups + leaf)}."
            )
            return self.report(path, "conflicting", message), False
        if groups:
            return self.group(raw[groups[0]], groups[0], path, depth=depth)
        if leaf:
            return self.leaf(raw, path), False
        message = "A condition needs all, or any, or block or variable with op and value."
        return self.report(path, "required", message), False

    def group(self, raw: object, key: str, path: str, *, depth: int) -> tuple[str, bool]:
        path = f"{path}.{key}"
        if not isinstance(raw, list | tuple):
            return self.report(path, "invalid_type", f"{key} is a list of conditions."), False
        if not raw:
            return self.report(path, "too_few", f"{key} needs at least one condition."), False
        if len(raw) > MAX_PARTS:
            return self.report(path, "too_many", f"{key} has at most {MAX_PARTS} conditions."), False
        parts = [self.condition(part, f"{path}[{n}]", depth=depth + 1) for n, part in enumerate(raw)]
        if len(parts) == 1:
            return parts[0]
        join = CONNECTIVES[key]
        return f" {join} ".join(f"({text})" if wrapped else text for text, wrapped in parts), True

    def leaf(self, raw: Mapping[str, object], path: str) -> str:
        self.comparisons += 1
        if self.comparisons > MAX_PARTS:
            self.report("", "too_long", f"A condition has at most {MAX_PARTS} comparisons.")
            raise _EnoughError
        subject = self.subject(raw.get("block"), raw.get("variable"), path)
        op = raw.get("op")
        if op is None:
            self.report(f"{path}.op", "required", "op is required.")
        elif not isinstance(op, str) or op not in OPERATORS:
            self.report(f"{path}.op", "invalid_choice", f"op is one of {', '.join(OPERATORS)}.")
        value = raw.get("value")
        if value is None:
            return self.report(f"{path}.value", "required", "value is required.")
        if op == "in" and not isinstance(value, list | tuple):
            return self.report(f"{path}.value", "invalid_type", "With op in, value is a list.")
        literal = self.value(value, f"{path}.value")
        return f"{subject} {OPERATORS.get(str(op))} {literal}"

    def subject(self, block: object, variable: object, path: str) -> str:
        if block is not None and variable is not None:
            message = "A condition names either a block or a variable, not both."
            return self.report(path, "conflicting", message)
        if block is not None:
            return self.block(block, f"{path}.block")
        if variable is not None:
            return self.variable(variable, f"{path}.variable")
        return self.report(path, "required", "A condition needs a block or a variable.")

    def block(self, name: object, path: str) -> str:
        if not isinstance(name, str):
            return self.report(path, "invalid_type", "block is the name of a block.")
        if not NAME_PATTERN.fullmatch(name.strip()):
            message = "block is not a valid name of a block. Fields and scores are sent as `variable`."
            return self.report(path, "invalid", message)
        if names.is_reserved(name):
            message = (
                f"A block named {name} cannot be named in a condition. "
                "Rename it, or use its position as variable, such as q3."
            )
            return self.report(path, "not_allowed", message)
        return names.expression_form(name)

    def variable(self, token: object, path: str) -> str:
        if not isinstance(token, str):
            return self.report(path, "invalid_type", "variable is the name of a variable, such as score.")
        try:
            tree = parse(token).tree
        except ParseError:
            tree = None
        if not isinstance(tree, Name) or token not in (tree.name, f"({tree.name})"):
            message = "variable is a single name as an expression writes it, such as score or q3."
            return self.report(path, "invalid", message)
        return token

    def value(self, value: object, path: str) -> str:
        if isinstance(value, list | tuple):
            if len(value) > MAX_VALUES:
                return self.report(path, "too_many", f"A list has at most {MAX_VALUES:,} values.")
            elements = [self.literal(element, f"{path}[{n}]") for n, element in enumerate(value)]
            return f"[{', '.join(elements)}]"
        return self.literal(value, path)

    def literal(self, value: object, path: str) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            if '"' in value:
                return self.report(
                    path,
                    "invalid",
                    "A string here cannot contain a double quote. In `precondition`, write it twice.",
                )
            return quoted(value)
        if isinstance(value, int | float | Decimal):
            return self.number(value, path)
        kinds = "a string, a number or a boolean"
        return self.report(path, "invalid_type", f"A value is {kinds}, or a list of these.")

    def number(self, value: float | Decimal, path: str) -> str:
        if isinstance(value, int):
            fits = value.bit_length() <= _MAX_BITS
        else:
            value = Decimal(repr(value)) if isinstance(value, float) else value
            if not value.is_finite():
                return self.report(path, "invalid", "A number must be finite.")
            fits = abs(value.adjusted()) <= _MAX_DIGITS
        if not fits:
            return self.report(path, "too_large", "This number has too many digits for an expression.")
        return format(value, "d" if isinstance(value, int) else "f")
