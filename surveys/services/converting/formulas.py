"""The expressions of other systems, read into logic and into formulas.

    reader = Expressions(REFERENCES["xlsform"])
    reader.logic("${age} >= 18 and selected(${pets}, 'dog')")     Group("all", …)
    reader.formula("${price} * 2")                                "<pipe>price<end> * 2"

The systems differ in how they refer to a question; operators and functions are read together. An expression
without an equivalent raises UnsayableError. The work is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from surveys.services.converting.questionnaire import (
    MAX_DEPTH,
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
    negated,
    pipe,
    together,
)

MAX_EXPRESSION = 4_000  # characters
REFERENCES = {
    "xlsform": r"\$\{\s{0,20}(?P<ref>[^{}]{1,200}?)\s{0,20}\}",
    "surveyjs": r"\{\s{0,20}(?P<ref>[^{}]{1,200}?)\s{0,20}\}",
    "redcap": r"\[(?P<ref>[a-zA-Z][a-zA-Z0-9_]{0,100}(?:\([^()\[\]]{1,50}\))?)\](?!\[)",
    "limesurvey": r"(?P<ref>[a-zA-Z_][a-zA-Z0-9_]{0,150})(?:\.(?:NAOK|value|code|shown))",
}
_REST = (
    r"|(?P<number>\d+(?:\.\d+)?)|(?P<string>'[^']*'|\"[^\"]*\"|[‘’][^‘’]*[‘’]|[“”][^“”]*[“”])"
    r"|(?P<word>[a-zA-Z][a-zA-Z0-9_\-]*(?<!-)|\.(?!\d))"
    r"|(?P<sign><>|<=|>=|==|!=|&&|\|\||[-+*/=<>!(),\[\]%^])|(?P<space>\s{1,20})"
)
_COMPARISONS = {
    "=": "eq", "==": "eq", "eq": "eq", "equal": "eq", "!=": "ne", "<>": "ne", "ne": "ne", "notequal": "ne",
    "<": "lt", "lt": "lt", "less": "lt", ">": "gt", "gt": "gt", "greater": "gt", "<=": "lte", "le": "lte",
    "lessorequal": "lte", ">=": "gte", "ge": "gte", "greaterorequal": "gte",
    "contains": "contains", "contain": "contains", "notcontains": "notcontains", "anyof": "anyof",
    "noneof": "noneof", "allof": "allof",
}  # fmt: skip
# Comparisons of a length that ask whether there is an answer.
_NONE = frozenset({("eq", "0"), ("lte", "0"), ("lt", "1")})
_SOME = frozenset({("ne", "0"), ("gt", "0"), ("gte", "1")})
_TURNED = {"lt": "gt", "gt": "lt", "lte": "gte", "gte": "lte"}
_SUMS, _PRODUCTS, _POWERS = {"+": "+", "-": "-"}, {"*": "*", "/": "/", "div": "/"}, {"^": "^"}
MAX_POWER = 6
_ROUNDS = re.compile(r"\bround(?:up|down)?\s{0,20}\(", re.IGNORECASE)
SELF = "."  # the question itself, in a constraint


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression: `ref`, `number`, `string`, `list`, `call`, `op`."""

    kind: str
    text: str
    parts: tuple[Node, ...] = ()


class Expressions:
    """Reads the expressions of one system."""

    def __init__(self, references: str) -> None:
        self._token = re.compile(f"(?:{references}){_REST}")
        self._is_bare = references == REFERENCES["limesurvey"]

    def logic(self, text: str) -> Logic:
        """The condition that the text states. Raises UnsayableError."""
        return _logic(self.tree(text))

    def formula(self, text: str) -> str:
        """The formula that the text states, with a pipe for each reference. Raises UnsayableError."""
        return _formula(self.tree(text))

    def tree(self, text: str) -> Node:
        """The text as a tree. Raises UnsayableError."""
        if len(text) > MAX_EXPRESSION:
            raise UnsayableError("it is too long")
        tokens = []
        at = 0
        while at < len(text):
            match = self._token.match(text, at)
            if match is None or match.end() == at:
                raise UnsayableError(f"“{text[at : at + 20]}” is not understood")
            at = match.end()
            if match.lastgroup != "space":
                kind = str(match.lastgroup)
                value = match[kind]
                if kind == "word" and self._is_bare and not _is_known(value):
                    kind = "ref"
                tokens.append((kind, value[1:-1] if kind == "string" else value))
        parser = _Parser(tokens)
        tree = parser.either(0)
        if parser.at < len(tokens):
            raise UnsayableError(f"“{tokens[parser.at][1][:20]}” is not understood")
        return tree


def _is_known(name: str) -> bool:
    return name.lower() in _WORDS


_WORDS = frozenset(
    {
        "and",
        "or",
        "not",
        "if",
        "true",
        "false",
        "empty",
        "notempty",
        "is_empty",
        "sum",
        "count",
        "div",
        "intval",
    }
) | {each for each in _COMPARISONS if each.isalpha()}


def calculate(found: Questionnaire, item: Item, text: str, *, by: Expressions, name: str) -> bool:
    """Make the item a calculated block, if its formula can be said; else record what could not be.

    `name` is what the source calls the formula.
    """
    try:
        item.formula = by.formula(text)
    except UnsayableError as error:
        found.miss(item.where, f"{name} “{cut(text, 200)}” cannot be said here: {error}.")
        return False
    if _ROUNDS.search(text):
        found.miss(item.where, f"The result of “{cut(text, 200)}” is not rounded here.")
    item.kind, item.text = "calculated_block", ""
    return True


class _Parser:
    """Recursive descent; nothing is read twice."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0

    def takes(self, *words: str) -> str:
        """The next sign or word if it is one of these; empty otherwise."""
        if self.at >= len(self.tokens):
            return ""
        kind, text = self.tokens[self.at]
        if kind not in ("sign", "word") or text.lower() not in words:
            return ""
        self.at += 1
        return text.lower()

    def needs(self, sign: str) -> None:
        if not self.takes(sign):
            raise UnsayableError(f"“{sign}” is missing")

    def either(self, depth: int) -> Node:
        return self._chain("or", ("or", "||"), self.all, depth)

    def all(self, depth: int) -> Node:
        return self._chain("and", ("and", "&&"), self.comparison, depth)

    def _chain(self, name: str, signs: tuple[str, ...], inner: Callable[[int], Node], depth: int) -> Node:
        parts = [inner(depth)]
        while self.takes(*signs):
            parts.append(inner(depth))
        return parts[0] if len(parts) == 1 else Node("op", name, tuple(parts))

    def comparison(self, depth: int) -> Node:
        left = self.sum(depth)
        if op := self.takes(*_COMPARISONS):
            return Node("op", _COMPARISONS[op], (left, self.sum(depth)))
        if op := self.takes("empty", "notempty"):
            return Node("call", op, (left,))
        return left

    def sum(self, depth: int) -> Node:
        return self._arithmetic(_SUMS, self.product, depth)

    def product(self, depth: int) -> Node:
        return self._arithmetic(_PRODUCTS, self.power, depth)

    def power(self, depth: int) -> Node:
        return self._arithmetic(_POWERS, self.unary, depth)

    def _arithmetic(self, signs: dict[str, str], inner: Callable[[int], Node], depth: int) -> Node:
        left = inner(depth)
        height = 0
        while op := self.takes(*signs):
            height += 1
            if height > MAX_DEPTH:
                raise UnsayableError("it has too many operations")
            left = Node("op", signs[op], (left, inner(depth)))
        return left

    def unary(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise UnsayableError("it is nested too deeply")
        if self.takes("!"):
            return Node("call", "not", (self.unary(depth + 1),))
        if self.takes("-"):
            part = self.unary(depth + 1)
            if part.kind == "number":
                return Node("number", f"-{part.text}")
            return Node("op", "negative", (part,))
        if self.takes("("):
            inner = self.either(depth + 1)
            self.needs(")")
            return inner
        if self.takes("["):
            return Node("list", "", self._arguments("]", depth))
        return self.primary(depth)

    def primary(self, depth: int) -> Node:
        if self.at >= len(self.tokens):
            raise UnsayableError("it ends too early")
        kind, text = self.tokens[self.at]
        if kind == "sign":
            raise UnsayableError(f"“{text}” is not understood")
        self.at += 1
        if kind != "word":
            return Node(kind, text)
        if text == SELF:
            return Node("ref", SELF)
        if self.takes("("):
            return Node("call", text.lower(), self._arguments(")", depth))
        if text.lower() in ("true", "false"):
            return Node("string", text.lower())
        return Node("string", text)

    def _arguments(self, end: str, depth: int) -> tuple[Node, ...]:
        parts: list[Node] = []
        while not self.takes(end):
            if parts:
                self.needs(",")
            parts.append(self.either(depth + 1))
        return tuple(parts)


# --- Logic -------------------------------------------------------------------------------------------


def _logic(node: Node) -> Logic:
    match node:
        case Node("op", "and", parts):
            return _joined("all", _sayable(parts))
        case Node("op", "or", parts):
            return _joined("any", [_logic(part) for part in parts])
        case Node("op", "eq" | "ne" | "lt" | "lte" | "gt" | "gte" as op, (left, right)):
            return _compared(op, left, right)
        case Node("op", "allof", (Node("ref", key), right)):
            return together("all", [Compare(key, "in", (each,)) for each in _values(right)])
        case Node("op", "contains" | "anyof" | "notcontains" | "noneof" as op, (Node("ref", key), right)):
            among = Compare(key, "in", _values(right))
            return negated(among) if op.startswith("no") else among
        case Node("call", "not", (part,)):
            return negated(_logic(part))
        case Node("call", "selected", (Node("ref", key), Node("string" | "number", value))):
            return Compare(key, "in", (value,))
        case Node("call", "notempty", (Node("ref", key),)):
            return Answered(key)
        case Node("call", "empty" | "is_empty", (Node("ref", key),)):
            return Not(Answered(key))
        case Node("ref", key):
            return Answered(key)
        case Node("call" | "string", "true" | "false" as word, ()):
            return Group("all" if word == "true" else "any", ())
    raise UnsayableError(f"“{node.text or node.kind}” is not understood")


def _sayable(parts: tuple[Node, ...]) -> list[Logic]:
    """The parts of a conjunction, of which some may be unsaid. Raises UnsayableError if all are."""
    found: list[Logic] = []
    for part in parts:
        try:
            found.append(_logic(part))
        except UnsayableError as error:
            found.append(Unsaid(str(error)))
    if all(isinstance(each, Unsaid) for each in found):
        raise UnsayableError(found[0].why)  # type: ignore[union-attr]
    return found


def _joined(op: str, parts: list[Logic]) -> Logic:
    """The group without each `is answered` that a comparison beside it makes superfluous: the comparison is
    false without an answer.
    """
    compared = {part.key for part in parts if isinstance(part, Compare) and part.op != "ne"}
    if op == "all":
        parts = [part for part in parts if not (isinstance(part, Answered) and part.key in compared)]
    return together(op, parts)


def _compared(op: str, left: Node, right: Node) -> Logic:
    if left.kind != "ref" and right.kind == "ref":
        left, right, op = right, left, _TURNED.get(op, op)
    if (length := _length_of(left)) and right.kind == "number" and (op, right.text) in _NONE | _SOME:
        return Answered(length) if (op, right.text) in _SOME else Not(Answered(length))
    if left.kind == "call" and left.text in ("intval", "number", "int") and len(left.parts) == 1:
        left = left.parts[0]
    if left.kind != "ref":
        raise UnsayableError(f"“{left.text or left.kind}” is compared, which is no question")
    if right.kind == "string" and right.text == "" and op in ("eq", "ne"):
        return Answered(left.text) if op == "ne" else Not(Answered(left.text))
    if right.kind == "list" and op in ("eq", "ne"):
        raise UnsayableError("it compares whole lists")
    return Compare(left.text, op, _value(right))


def _length_of(node: Node) -> str:
    """The question whose answer's length or number of options the node is; empty for another node."""
    match node:
        case Node("call", "string-length" | "count-selected", (Node("ref", key),)) if key != SELF:
            return key
    return ""


def _value(node: Node) -> str | float | int:
    if node.kind == "number":
        found = float(node.text)
        return int(found) if found.is_integer() else found
    if node.kind == "string":
        return node.text
    raise UnsayableError("it compares with something that is no fixed value")


def _values(node: Node) -> tuple[str, ...]:
    return tuple(str(_value(part)) for part in (node.parts if node.kind == "list" else (node,)))


# --- Formulas ----------------------------------------------------------------------------------------

_SIGNS = {"eq": "=", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


def _formula(node: Node) -> str:
    match node:
        case Node("ref", key) if key != SELF:
            return pipe(key)
        case Node("number", text):
            return text
        case Node("string", text) if text and '"' not in text and "\n" not in text:
            return f'"{text}"'
        case Node("op", "negative", (part,)):
            return f"(0 - {_formula(part)})"
        case Node("op", "+" | "-" | "*" | "/" as op, (left, right)):
            return f"({_formula(left)} {op} {_formula(right)})"
        case Node("op", "^", (base, Node("number", text))) | Node(
            "call", "pow" | "power", (base, Node("number", text))
        ):
            return _power(_formula(base), text)
        case Node("call", "round", (part,) | (part, Node("number"))):
            return _formula(part)
        case Node("op", op, (left, right)) if op in _SIGNS:
            return f"{_formula(left)} {_SIGNS[op]} {_formula(right)}"
        case Node("op", "and" | "or" as op, parts):
            return "(" + f" {op.upper()} ".join(_formula(part) for part in parts) + ")"
        case Node("call", "not", (part,)):
            return f"NOT ({_formula(part)})"
        case Node("call", "if" | "iif", (when, then, otherwise)):
            return f"(if {_formula(when)} then {_formula(then)} else {_formula(otherwise)})"
        case Node("call", "sum", parts) if parts:
            return "(" + " + ".join(_formula(part) for part in parts) + ")"
        case Node("call", "number" | "int" | "intval", (part,)):
            return _formula(part)
    raise UnsayableError(f"“{node.text or node.kind}” is not understood")


def _power(base: str, exponent: str) -> str:
    """A product of equal factors."""
    if exponent not in map(str, range(1, MAX_POWER + 1)):
        raise UnsayableError(f"“^{exponent}” is not understood")
    if len(base) * int(exponent) > MAX_EXPRESSION:
        raise UnsayableError("it is too long")
    return f"({' * '.join([base] * int(exponent))})"
