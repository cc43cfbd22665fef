"""The names in expressions and [tokens]: positions, variables and block names."""

from __future__ import annotations

import re
from functools import lru_cache

from surveys.engine.script import title_case

KEYWORDS = frozenset({"and", "or", "not", "in"})
BOOLEANS = {"true": True, "false": False}
SCORES = ("score", "max_score", "score_correct", "max_score_correct")  # each also with _<bucket>
READINGS = ("themes", "sentiment")
COUNTS = ("correct_answers", "max_correct_answers")
VARIABLES = frozenset({"answer", *SCORES, *COUNTS})
# Parameters of the respondent's page itself, in lower case. A web address cannot fill in a block with such a
# name.
PAGE_PARAMETERS = frozenset(
    {"colloquy-accent", "colloquy-theme", "colloquy-visit", "embed", "link", "skip", "taken"}
)

_POSITION = re.compile(r"q[0-9]+")


def field_key(name: str) -> str | None:
    """`field.customer` → `customer`: a metadata field, which is sent when the conversation begins.

    None for other names.
    """
    return name.removeprefix("field.") if name.startswith("field.") else None


def reading_parts(name: str) -> tuple[str, str] | None:
    """`themes.why` → `themes`, `why`: what an analysis read in the answers to a block (rule 6.963).

    None for other names.
    """
    what, _, block = name.partition(".")
    return (what, block) if what in READINGS and block else None


def is_page_parameter(name: str) -> bool:
    """Whether a page uses this name as a parameter of its own. Names are compared in title case."""
    return title_case(name).lower() in PAGE_PARAMETERS


def is_position(name: str) -> bool:
    """Whether the name is a lower-case `q` and digits, which always refers to a position (rule 3.9)."""
    return _POSITION.fullmatch(name) is not None


def index_of_position(name: str) -> int | None:
    """`q1` → 0. None for a name that is no valid position, such as `q0`, `q01` or `Q1`."""
    if not is_position(name) or name[1] == "0" or len(name) > 9:
        return None
    return int(name[1:]) - 1


@lru_cache(maxsize=256)
def script_variables(*, scoring_enabled: bool, bucket_keys: tuple[str, ...]) -> frozenset[str]:
    """The variables of a script: always `answer`, the others only if scoring is enabled (rule 4.18)."""
    if not scoring_enabled:
        return frozenset({"answer"})
    return VARIABLES.union(*map(bucket_variables, bucket_keys))


@lru_cache(maxsize=1024)
def bucket_variables(key: str) -> frozenset[str]:
    """The variables of one bucket. Expressions write a `-` in its key as `_` (rule 4.6)."""
    return frozenset(f"{score}_{form}" for score in SCORES for form in (key, key.replace("-", "_")))


def bucket_name_problem(name: str) -> str | None:
    """The fault of a bucket's name or key; None if it is valid."""
    if not name.strip() or not name.isprintable() or any(character in name for character in '[]",'):
        return "must not be blank or contain brackets, quotes, commas or line breaks."
    key = name.lower().replace(" ", "_").replace("-", "_")
    if key == "correct" or key.startswith("correct_"):
        return "must not begin with `correct`: `score_correct` is the score of all correct answers."
    return None


def looks_like_variable(name: str) -> bool:
    """Whether this is a variable in some script, for callers that do not know the buckets."""
    return name in VARIABLES or name.startswith(("score_", "max_score_"))


def looks_like_score(name: str) -> bool:
    """Whether this is a score variable in some script: any variable except `answer`."""
    return looks_like_variable(name) and name != "answer"


def is_reserved(name: str) -> bool:
    """Whether no expression can refer to a block with this name; then no block may have it.

    `true` and `false` are literals in any case. A block named like another keyword is written in
    parentheses: `(And)`.
    """
    return title_case(name).lower() in BOOLEANS


def expression_form(name: str) -> str:
    """A block's name in the spelling of expressions, which refers to this block only (rule 4.19).

    Spaces and `-` become `_`; a name that would be read as a position or a variable gets title case; a
    keyword gets title case and parentheses. The two names without such a spelling are `is_reserved`.
    """
    form = re.sub(r"[ -]", "_", name.strip())
    if form.lower() in KEYWORDS:
        return f"({title_case(form)})"
    if is_position(form) or looks_like_variable(form):
        return title_case(form)
    return form
