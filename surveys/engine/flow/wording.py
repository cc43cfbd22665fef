"""Expressions and prompts in words for people: `NOT((membership = "member"))` → `membership is Member`."""

from __future__ import annotations

from surveys.engine.flow import titles, vocabulary
from surveys.engine.language import conditions, piping, references
from surveys.engine.language.expression_tree import ExpressionNode, Literal, Name
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Value, is_true, text
from surveys.engine.script import Script

_OPERATORS = {sign: op for op, sign in conditions.OPERATORS.items()}
_COMPOUND = (Conjunction, Disjunction)


def heading(prompt: str, script: Script) -> str:
    """A prompt for readers of many answers: `Hi, [UserName|friend]! Why [Q1]?` → `Hi, friend! Why …?`."""

    def is_known(token: str) -> bool:
        return piping.is_prompt_variable(token) or references.resolve(token, script) is not None

    return piping.for_many(prompt, is_known)


def words(node: ExpressionNode, script: Script) -> str:
    """An expression in words, with the names of blocks and the labels of options."""
    match node:
        case Conjunction(parts):
            return " and ".join(_enclosed(part, script) for part in parts)
        case Disjunction(parts):
            return " or ".join(_enclosed(part, script) for part in parts)
        case Negation(Comparison("=", left, right)):
            return words(Comparison("!=", left, right), script)
        case Negation(part):
            return f"not ({words(part, script)})"
        case Comparison():
            return _comparison(node, script)
        case Name(name):
            return f"{_subject(name, script)} has a value other than 0"
        case Literal(value):
            return "always" if is_true(value) else "never"


def _enclosed(part: ExpressionNode, script: Script) -> str:
    phrase = words(part, script)
    return f"({phrase})" if isinstance(part, _COMPOUND) else phrase


def _comparison(node: Comparison[ExpressionNode], script: Script) -> str:
    match node:
        case Comparison("in", Literal(value), Name(name)):
            verb = "includes" if _kind(name, script) == "choices" else "contains"
            return f"{_subject(name, script)} {verb} {_value(value, name, script)}"
        case Comparison("in", Name(name), right) if not _is_list(right):
            return f"{_subject(name, script)} is part of {_side(right, name, script)}"
        case Comparison(sign, Name(name), right):
            verb = _verb(sign, name, right, script)
            return f"{_subject(name, script)} {verb} {_side(right, name, script)}"
        case Comparison(sign, left, right):
            verb = vocabulary.operator_words(_OPERATORS[sign], "any")
            return f"{_side(left, '', script)} {verb} {_side(right, '', script)}"


def _verb(sign: str, name: str, right: ExpressionNode, script: Script) -> str:
    kind = _kind(name, script)
    if kind == "choices" and sign != "in" and not _is_list(right):
        return "is only" if sign == "=" else "is not only" if sign == "!=" else _plain_verb(sign)
    return vocabulary.operator_words(_OPERATORS[sign], kind)


def _plain_verb(sign: str) -> str:
    return vocabulary.operator_words(_OPERATORS[sign], "any")


def _is_list(node: ExpressionNode) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, tuple)


def _side(node: ExpressionNode, subject: str, script: Script) -> str:
    match node:
        case Literal(value):
            return _value(value, subject, script)
        case Name(name):
            return _subject(name, script)
    return f"({words(node, script)})"


def _value(value: Value, subject: str, script: Script) -> str:
    """A value as people see it: the label of an option, and empty text by that word."""
    if isinstance(value, tuple):
        return ", ".join(_value(element, subject, script) for element in value) or "nothing"
    return _labels(subject, script).get(text(value)) or text(value) or "empty"


def _labels(subject: str, script: Script) -> dict[str, str]:
    meaning = references.resolve(subject, script)
    if not isinstance(meaning, int):
        return {}
    return {option.value: option.display_text for option in script.blocks[meaning].options}


def _kind(name: str, script: Script) -> str:
    meaning = references.resolve(name, script)
    if isinstance(meaning, int):
        return vocabulary.KINDS.get(script.blocks[meaning].type, "any")
    return "any"


def _subject(name: str, script: Script) -> str:
    """The name as people know it: the name or question of a block, however the expression spells it."""
    meaning = references.resolve(name, script)
    if isinstance(meaning, int):
        block = script.blocks[meaning]
        title = titles.of_block(block, meaning + 1)
        return title if titles.is_chosen(block.name) or not block.prompt else f"“{title}”"
    return name if meaning is None else vocabulary.called(meaning, script)
