"""Expressions and prompts in words for people: `NOT((membership = "member"))` → `membership is Member`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from communities.ground.cached import cached_property
from surveys.engine.flow import titles, vocabulary
from surveys.engine.language import conditions, markup, piping, references
from surveys.engine.language.expression_tree import ExpressionNode, Literal, Name
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Value, is_true, text
from surveys.engine.script import Script

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
MAX_WORDS = 300  # characters of a condition in words
_OPERATORS = {sign: op for op, sign in conditions.OPERATORS.items()}
_COMPOUND = (Conjunction, Disjunction)


def heading(prompt: str, script: Script) -> str:
    """A prompt for readers of many answers (rule 6.304).

    `**Hi**, [UserName|friend]! Why [Q1]?` is `Hi, friend! Why [Which opening?]?`: an answer is replaced by
    the words of its question, and any other value by an ellipsis.
    """

    def words_of(token: str) -> str | None:
        meaning = references.resolve(token, script)
        # A question that mentions its own answer mentions nothing.
        if isinstance(meaning, int) and (block := script.blocks[meaning]).asks and block.prompt != prompt:
            title = block.prompt and titles.shortened(piping.for_many(block.prompt, lambda _: _ELLIPSIS))
            return f"[{title or titles.of_block(block, meaning + 1)}]"
        return _ELLIPSIS if meaning is not None or piping.is_prompt_variable(token) else None

    return piping.for_many(markup.plain(piping.Authored(prompt)), words_of)


class Wording:
    """The words for the conditions of one script. Labels and names are looked up once for each subject."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._labels: dict[str, Mapping[str, str]] = {}
        self._subjects: dict[str, str] = {}

    def words(self, node: ExpressionNode, *, most: int = MAX_WORDS) -> str:
        """An expression in words, with the names of blocks and the labels of options.

        The words are cut after `most` characters, because each of a thousand values in a short expression may
        have a long label.
        """
        taken: list[str] = []
        length = 0
        for part in self._words(node):
            taken.append(part)
            length += len(part)
            if length > most:
                break
        return "".join(taken)

    def _words(self, node: ExpressionNode) -> Iterator[str]:
        """The parts of the words, generated so that only the parts that are used are looked up."""
        match node:
            case Conjunction(parts):
                yield from _joined(" and ", map(self._enclosed, parts))
            case Disjunction(parts):
                yield from _joined(" or ", map(self._enclosed, parts))
            case Negation(Comparison("=", left, right)):
                yield from self._words(Comparison("!=", left, right))
            case Negation(part):
                yield from _between("not (", self._words(part))
            case Comparison():
                yield from self._comparison(node)
            case Name(name):
                yield f"{self._subject(name)} has a value other than 0"
            case Literal(value):
                yield "always" if is_true(value) else "never"

    def _enclosed(self, part: ExpressionNode) -> Iterator[str]:
        phrase = self._words(part)
        return _between("(", phrase) if isinstance(part, _COMPOUND) else phrase

    def _comparison(self, node: Comparison[ExpressionNode]) -> Iterator[str]:
        match node:
            case Comparison("in", Literal(value), Name(name)):
                verb = "includes" if self._kind(name) == "choices" else "contains"
                yield f"{self._subject(name)} {verb} "
                yield from self._value(value, name)
            case Comparison("in", Name(name), right) if not _is_list(right):
                yield f"{self._subject(name)} is part of "
                yield from self._side(right, name)
            case Comparison(sign, Name(name), right):
                yield f"{self._subject(name)} {_verb(sign, self._kind(name), right)} "
                yield from self._side(right, name)
            case Comparison(sign, left, right):
                yield from self._side(left, "")
                yield f" {_plain_verb(sign)} "
                yield from self._side(right, "")

    def _side(self, node: ExpressionNode, subject: str) -> Iterator[str]:
        match node:
            case Literal(value):
                return self._value(value, subject)
            case Name(name):
                return iter((self._subject(name),))
        return _between("(", self._words(node))

    def _value(self, value: Value, subject: str) -> Iterator[str]:
        """A value as people see it: the label of an option; an empty text in words."""
        if not isinstance(value, tuple):
            yield self._labels_of(subject).get(text(value)) or text(value) or "empty"
        elif value:
            yield from _joined(", ", (self._value(element, subject) for element in value))
        else:
            yield "nothing"

    def _labels_of(self, subject: str) -> Mapping[str, str]:
        if subject not in self._labels:
            meaning = references.resolve(subject, self.script)
            options = self.script.blocks[meaning].options if isinstance(meaning, int) else ()
            self._labels[subject] = {option.value: option.display_text for option in options}
        return self._labels[subject]

    def _kind(self, name: str) -> str:
        meaning = references.resolve(name, self.script)
        if isinstance(meaning, int):
            return vocabulary.kind_of(self.script.blocks[meaning])
        return "any"

    def _subject(self, name: str) -> str:
        if name not in self._subjects:
            self._subjects[name] = self._called(name)
        return self._subjects[name]

    def _called(self, name: str) -> str:
        """The name as people know it: the name or question of a block, in any spelling of the expression."""
        meaning = references.resolve(name, self.script)
        if isinstance(meaning, int):
            block = self.script.blocks[meaning]
            title = titles.of_block(block, meaning + 1)
            return title if titles.is_chosen(block.name) or not block.prompt else f"“{title}”"
        return name if meaning is None else vocabulary.called(meaning, self._variables)

    @cached_property
    def _variables(self) -> Mapping[str, str]:
        return vocabulary.called_by_variable(self.script)


def _joined(separator: str, phrases: Iterable[Iterator[str]]) -> Iterator[str]:
    for n, phrase in enumerate(phrases):
        if n:
            yield separator
        yield from phrase


def _between(opening: str, phrase: Iterator[str]) -> Iterator[str]:
    yield opening
    yield from phrase
    yield ")"


def _verb(sign: str, kind: str, right: ExpressionNode) -> str:
    if kind == "choices" and sign != "in" and not _is_list(right):
        return "is only" if sign == "=" else "is not only" if sign == "!=" else _plain_verb(sign)
    return vocabulary.operator_words(_OPERATORS[sign], kind)


def _plain_verb(sign: str) -> str:
    return vocabulary.operator_words(_OPERATORS[sign], "any")


def _is_list(node: ExpressionNode) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, tuple)
