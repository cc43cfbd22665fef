"""What a name in an expression or a [token] can mean, and how a block's name is written there."""

from __future__ import annotations

import re
from functools import lru_cache

from surveys.engine.script import title_case

KEYWORDS = frozenset({"and", "or", "not", "in"})
BOOLEANS = {"true": True, "false": False}
SCORES = ("score", "max_score", "score_correct", "max_score_correct")  # each also with _<bucket>
COUNTS = ("correct_answers", "max_correct_answers")
VARIABLES = frozenset({"answer", *SCORES, *COUNTS})

_POSITION = re.compile(r"q[0-9]+")


def is_position(name: str) -> bool:
    """Whether this is `q` and digits in lower case, which is always a position (decisions 6.1)."""
    return _POSITION.fullmatch(name) is not None


def index_of_position(name: str) -> int | None:
    """`q1` → 0. None where it is no position that could exist, such as `q0`, `q01` or `Q1`."""
    if not is_position(name) or name[1] == "0" or len(name) > 9:
        return None
    return int(name[1:]) - 1


@lru_cache(maxsize=256)
def script_variables(*, scoring_enabled: bool, bucket_keys: tuple[str, ...]) -> frozenset[str]:
    """The variables of a script: `answer` always, the others only where it is scored (14.13)."""
    if not scoring_enabled:
        return frozenset({"answer"})
    return VARIABLES.union(*map(bucket_variables, bucket_keys))


@lru_cache(maxsize=1024)
def bucket_variables(key: str) -> frozenset[str]:
    """The variables of one bucket. A `-` in its key is `_` where an expression names it (decisions 6.1)."""
    return frozenset(f"{score}_{each}" for score in SCORES for each in (key, key.replace("-", "_")))


def bucket_name_problem(name: str) -> str | None:
    """What is wrong with a bucket's name, or its key."""
    if not name.strip() or not name.isprintable() or any(sign in name for sign in '[]",'):
        return "must not be blank or contain brackets, quotes, commas or line breaks."
    key = name.lower().replace(" ", "_").replace("-", "_")
    if key == "correct" or key.startswith("correct_"):
        return "cannot begin with `correct`: `score_correct` is what right answers earn in all buckets."
    return None


def looks_like_variable(name: str) -> bool:
    """Whether this is a variable in some script: all that can be said without seeing the buckets."""
    return name in VARIABLES or name.startswith(("score_", "max_score_"))


def looks_like_score(name: str) -> bool:
    """Whether this is a score variable in some script: every variable but the answer."""
    return looks_like_variable(name) and name != "answer"


def is_reserved(name: str) -> bool:
    """Whether no expression could mean a block of this name, so that no block may have it.

    `true` and `false` are literals in any case. A block named like another keyword is reached in
    parentheses: `(And)`.
    """
    return title_case(name).lower() in BOOLEANS


def expression_form(name: str) -> str:
    """A block's name as an expression writes it, so that nothing but this block is meant.

    Spaces and `-` become `_`; what would be read as a position or a variable is put in title case;
    a keyword is put in parentheses as well. See `cannot_be_written` for the two names that have no form.
    """
    written = re.sub(r"[ -]", "_", name.strip())
    if written.lower() in KEYWORDS:
        return f"({title_case(written)})"
    if is_position(written) or looks_like_variable(written):
        return title_case(written)
    return written
