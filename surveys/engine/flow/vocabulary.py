"""The names that logic, formulas and texts of a script may use, in words for its author.

    operators(kind)      the comparisons that make sense for a kind of answer
    variables(script)    the variables of logic and formulas, each with a sentence
    tokens(script)       the tokens of prompts and feedback, each with a sentence
    fields(declared)     the declared fields, each with a sentence and the values that it may have

A block may refer to earlier blocks that have answers. The script editor finds these and their values in the
document itself, which changes with every key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from surveys.engine.language.names import COUNTS, SCORES, field_key
from surveys.engine.script import CALCULATED, Block, Bucket, Script

# The kind of answer that a block of each type has; statements have none.
KINDS = {
    "single_punch": "choice",
    "multi_punch": "choices",
    "ranking": "choices",
    "rating": "number",
    "opinion_scale": "number",
    "nps": "number",
    "open_numeric": "number",
    "open_text": "text",
    CALCULATED: "any",
}


@dataclass(frozen=True, slots=True)
class Operator:
    """A comparison of conditions, in words. `takes` is one value or a list of them."""

    op: str
    words: str
    takes: str = "one"

    def as_json(self) -> dict[str, object]:
        return {"op": self.op, "words": self.words, "takes": self.takes}


_IS = (Operator("eq", "is"), Operator("ne", "is not"))
_ONE_OF = Operator("in", "is one of", "list")
_ORDERINGS = (
    Operator("gte", "is at least"),
    Operator("lte", "is at most"),
    Operator("gt", "is more than"),
    Operator("lt", "is less than"),
)
_ORDERINGS_OF_DATES = (
    Operator("gte", "is on or after"),
    Operator("lte", "is on or before"),
    Operator("gt", "is after"),
    Operator("lt", "is before"),
)
_BY_KIND = {
    "choice": (*_IS, _ONE_OF),
    "choices": (
        Operator("in", "includes any of", "list"),
        Operator("eq", "is exactly", "list"),
        Operator("ne", "is not exactly", "list"),
    ),
    "number": (*_IS, *_ORDERINGS, _ONE_OF),
    "text": (*_IS, _ONE_OF),
    "date": (*_IS, *_ORDERINGS_OF_DATES, _ONE_OF),
    "any": (*_IS, *_ORDERINGS, _ONE_OF),
}


def kind_of(block: Block) -> str:
    """The kind of answer that a block has; `any` for a statement."""
    return "date" if block.format == "date" else KINDS.get(block.type, "any")


def operators(kind: str) -> tuple[Operator, ...]:
    """The comparisons that make sense for a kind of answer: choice, choices, number, text, date or any."""
    return _BY_KIND[kind]


def operator_words(op: str, kind: str) -> str:
    """A comparison in words, also a comparison that is not offered for this kind of answer."""
    words_by_op = {operator.op: operator.words for operator in (*_BY_KIND["any"], *_BY_KIND[kind])}
    return words_by_op[op]


@dataclass(frozen=True, slots=True)
class Term:
    """A word that a text may use, its meaning in one sentence, and its name for people."""

    name: str
    meaning: str
    called: str = ""

    def as_json(self) -> dict[str, object]:
        named = {"called": self.called} if self.called else {}
        return {"name": self.name, "meaning": self.meaning, **named}


# --- Variables --------------------------------------------------------------------------------------

_ANSWER = Term("answer", "The answer to the last question that was answered.", "The latest answer")
_MEANINGS = {
    "score": "The points so far{bucket}.",
    "max_score": "The most points that were possible so far{bucket}.",
    "score_correct": "The points so far{bucket} from questions answered correctly.",
    "max_score_correct": "The most points that correct answers could have had so far{bucket}.",
    "correct_answers": "How many questions were answered correctly so far.",
    "max_correct_answers": "How many questions with a correct answer were shown so far.",
}
_CALLED = {
    "score": "Score{bucket}",
    "max_score": "Highest possible score{bucket}",
    "score_correct": "Score{bucket} from correct answers",
    "max_score_correct": "Highest possible score{bucket} from correct answers",
    "correct_answers": "Number of correct answers",
    "max_correct_answers": "Number of questions with a correct answer",
}


def variables(script: Script) -> tuple[Term, ...]:
    """The variables of this script: `answer`, and the scores if scoring is on."""
    return (_ANSWER, *_score_terms(script)) if script.scoring_enabled else (_ANSWER,)


def _score_terms(script: Script) -> Iterator[Term]:
    among = ", over all scores together" if len(script.buckets) > 1 else ""
    for name in (*SCORES, *COUNTS):
        meaning = _MEANINGS[name].format(bucket=among if name in SCORES else "")
        yield Term(name, meaning, _CALLED[name].format(bucket=""))
    for bucket in script.buckets:
        yield from _bucket_terms(bucket)


def _bucket_terms(bucket: Bucket) -> Iterator[Term]:
    """The variables of one bucket, in the spelling that both expressions and formulas accept."""
    form = bucket.key.replace("-", "_")
    for score in SCORES:
        texts = (words[score].format(bucket=f" for {bucket.name}") for words in (_MEANINGS, _CALLED))
        yield Term(f"{score}_{form}", *texts)


def called_by_variable(script: Script) -> Mapping[str, str]:
    """The readable names of this script's variables."""
    return {term.name: term.called for term in variables(script)}


def called(variable: str, known: Mapping[str, str]) -> str:
    """The readable name of a variable, within a sentence: `the latest answer`, `score for Fire Mage`.

    `known` is the result of `called_by_variable`.
    """
    if (key := field_key(variable)) is not None:
        return f"field “{key}”"
    words = known.get(variable.replace("-", "_"), variable)
    return f"{words[:1].lower()}{words[1:]}"


# --- Tokens -----------------------------------------------------------------------------------------

_NAME = Term(
    "UserName",
    "The respondent's name; empty if they are not known or the project is anonymous. "
    "[UserName|there] then shows the words after the bar.",
)
_XP = (
    Term("xp_points", "The XP that this block gives."),
    Term("xp_name", "What XP is called in this community."),
    Term("earned_xp", "The XP earned so far in this response, this block included."),
    Term("month_total_xp", "The respondent's XP of this month."),
    Term("xp_to_next_level", "The XP that the respondent lacks to the next level."),
    Term("next_xp_level", "The level that the respondent reaches next."),
)


def tokens(script: Script) -> tuple[Term, ...]:
    """The tokens of prompts and feedback, without those of blocks and of XP."""
    return (_NAME, *variables(script))


# --- Fields -----------------------------------------------------------------------------------------


def fields(declared: Mapping[str, Sequence[str]]) -> Iterator[dict[str, object]]:
    """The metadata fields, by key with the allowed values of each; an empty list allows any value."""
    for key, values in declared.items():
        meaning = "What the address of the page, or a personal link, sends along."
        term = Term(f"field.{key}", meaning, f"Field “{key}”")
        yield {**term.as_json(), "values": list(values)}


def as_json(script: Script, *, declared_fields: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """The whole vocabulary.

    The tokens of XP are separate, because only action and content blocks fill them in.
    """
    return {
        "fields": list(fields(declared_fields)),
        "variables": [term.as_json() for term in variables(script)],
        "tokens": [term.as_json() for term in tokens(script)],
        "xp_tokens": [term.as_json() for term in _XP],
        "buckets": [{"name": bucket.name, "key": bucket.key} for bucket in script.buckets],
        "operators": {kind: [each.as_json() for each in operators(kind)] for kind in _BY_KIND},
        "kinds": dict(KINDS),
    }
