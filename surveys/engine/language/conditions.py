"""show_when and hide_when → the text of a precondition (decisions 6.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from surveys.engine.language import names
from surveys.engine.language.expression_grammar import MAX_NESTING, Name
from surveys.engine.language.expressions import parse
from surveys.engine.language.lexer import NAME_PATTERN, ParseError

OPERATORS = {"eq": "=", "ne": "!=", "lt": "<", "gt": ">", "gte": ">=", "lte": "<=", "in": "in"}
CONNECTIVES = {"all": "AND", "any": "OR"}
LEAF_FIELDS = ("block", "variable", "op", "value")

_MAX_BITS = 4096  # of an integer; more could not fit into an expression


class ConditionError(ValueError):
    """A condition that cannot be compiled, with all that is wrong with it.

    `faults` are triples of path (`any[1].value`; empty for the condition itself), code of the violation
    vocabulary, and sentence.
    """

    def __init__(self, faults: Sequence[tuple[str, str, str]]) -> None:
        super().__init__(faults[0][2])
        self.faults = list(faults)

    def __reduce__(self) -> tuple[type[ConditionError], tuple[list[tuple[str, str, str]]]]:
        return type(self), (self.faults,)


def compile(condition: Mapping[str, object], *, hide: bool) -> str:
    """The hide expression that says the same: the condition for hide_when, NOT((...)) for show_when.

    Names are checked for their form, not against a script. Null fields count as absent and unknown ones
    are ignored. Raises ConditionFault. A block named `True` or `False` cannot be meant by name, as these
    are literals in any case: its position, as `variable`, can.
    """
    compiler = _Compiler()
    text = compiler.condition(condition, "", depth=1)[0]
    if compiler.faults:
        raise ConditionError(compiler.faults)
    text = text if hide else f"NOT(({text}))"
    try:
        parse(text)
    except ParseError as fault:
        message = f"The condition is too large. {fault.message}"
        raise ConditionError([("", fault.code, message)]) from None
    return text


class _Compiler:
    """Collects faults while it writes; what it writes counts only where there are none."""

    def __init__(self) -> None:
        self.faults: list[tuple[str, str, str]] = []

    def fault(self, path: str, code: str, message: str) -> str:
        self.faults.append((path.lstrip("."), code, message))
        return ""

    def condition(self, given: object, path: str, *, depth: int) -> tuple[str, bool]:
        """The text, and whether it must be in parentheses within a group."""
        if not isinstance(given, Mapping):
            return self.fault(path, "invalid_type", "A condition is an object."), False
        if depth > MAX_NESTING:
            message = f"Conditions nest at most {MAX_NESTING} deep."
            return self.fault(path, "too_deep", message), False
        groups = [key for key in CONNECTIVES if given.get(key) is not None]
        leaf = [key for key in LEAF_FIELDS if given.get(key) is not None]
        if len(groups) == 2 or (groups and leaf):
            message = (
                "A condition has either all, or any, or block or variable with op and value; "
                f"here are {' and '.join(groups + leaf)}."
            )
            return self.fault(path, "conflicting", message), False
        if groups:
            return self.group(given[groups[0]], groups[0], path, depth=depth)
        if leaf:
            return self.leaf(given, path), False
        message = "A condition needs all, or any, or block or variable with op and value."
        return self.fault(path, "required", message), False

    def group(self, given: object, key: str, path: str, *, depth: int) -> tuple[str, bool]:
        path = f"{path}.{key}"
        if not isinstance(given, list | tuple):
            return self.fault(path, "invalid_type", f"{key} is a list of conditions."), False
        if not given:
            return self.fault(path, "too_few", f"{key} needs at least one condition."), False
        parts = [self.condition(part, f"{path}[{n}]", depth=depth + 1) for n, part in enumerate(given)]
        if len(parts) == 1:
            return parts[0]
        join = CONNECTIVES[key]
        return f" {join} ".join(f"({text})" if wrapped else text for text, wrapped in parts), True

    def leaf(self, given: Mapping[str, object], path: str) -> str:
        subject = self.subject(given.get("block"), given.get("variable"), path)
        op = given.get("op")
        if op is None:
            self.fault(f"{path}.op", "required", "op is required.")
        elif not isinstance(op, str) or op not in OPERATORS:
            self.fault(f"{path}.op", "invalid_choice", f"op is one of {', '.join(OPERATORS)}.")
        value = given.get("value")
        if value is None:
            return self.fault(f"{path}.value", "required", "value is required.")
        if op == "in" and not isinstance(value, list | tuple):
            return self.fault(f"{path}.value", "invalid_type", "With op in, value is a list.")
        written = self.value(value, f"{path}.value")
        return f"{subject} {OPERATORS.get(str(op))} {written}"

    def subject(self, block: object, variable: object, path: str) -> str:
        if block is not None and variable is not None:
            message = "A condition is about a block or about a variable, not both."
            return self.fault(path, "conflicting", message)
        if block is not None:
            return self.block(block, f"{path}.block")
        if variable is not None:
            return self.variable(variable, f"{path}.variable")
        return self.fault(path, "required", "A condition needs a block or a variable to be about.")

    def block(self, name: object, path: str) -> str:
        if not isinstance(name, str):
            return self.fault(path, "invalid_type", "block is the name of a block.")
        if not NAME_PATTERN.fullmatch(name.strip()):
            return self.fault(path, "invalid", "block is no name that a block can have.")
        if names.is_reserved(name):
            message = (
                f"A block named {name} cannot be meant by its name. "
                "Rename it, or give its position as variable, such as q3."
            )
            return self.fault(path, "not_allowed", message)
        return names.expression_form(name)

    def variable(self, token: object, path: str) -> str:
        if not isinstance(token, str):
            return self.fault(path, "invalid_type", "variable is the name of a variable, such as score.")
        try:
            tree = parse(token).tree
        except ParseError:
            tree = None
        if not isinstance(tree, Name) or token not in (tree.name, f"({tree.name})"):
            message = "variable is a single name as an expression writes it, such as score or q3."
            return self.fault(path, "invalid", message)
        return token

    def value(self, value: object, path: str) -> str:
        if isinstance(value, list | tuple):
            elements = [self.literal(element, f"{path}[{n}]") for n, element in enumerate(value)]
            return f"[{', '.join(elements)}]"
        return self.literal(value, path)

    def literal(self, value: object, path: str) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            if '"' in value:
                return self.fault(path, "invalid", "A string here cannot contain a double quote.")
            return f'"{value}"'
        if isinstance(value, int | float | Decimal):
            return self.number(value, path)
        kinds = "a string, a number or a boolean"
        return self.fault(path, "invalid_type", f"A value is {kinds}, or a list of these.")

    def number(self, value: float | Decimal, path: str) -> str:
        if isinstance(value, int):
            fits = value.bit_length() <= _MAX_BITS
        else:
            value = Decimal(repr(value)) if isinstance(value, float) else value
            if not value.is_finite():
                return self.fault(path, "invalid", "A number must be finite.")
            fits = abs(value.adjusted()) <= _MAX_BITS
        if not fits:
            return self.fault(path, "too_large", "This number has too many digits for an expression.")
        return format(value, "d" if isinstance(value, int) else "f")
