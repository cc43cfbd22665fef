"""Scripts of any shape and answers to their blocks, for tests with generated data.

Strategies are made once: hypothesis checks a new one, which takes longer than drawing from it.
"""

from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st

from surveys.engine.script import Bucket
from tests.support.engine import script_builder

WORDS = ["a", "b", "c"]
WEIGHTS = [{"fire": 2}, {"fire": -1, "ice": 1}, {"ice": 3}]
SCORES = ["score", "max_score", "score_fire", "max_score_ice", "score_correct", "correct_answers"]
KINDS = ["single_punch", "multi_punch", "open_text", "open_numeric", "content_block", "calculated_block"]


@cache
def conditions(before: tuple[str, ...]) -> st.SearchStrategy[str | None]:
    """An expression over the earlier questions."""
    if not before:
        return st.none()
    leaf = st.one_of(
        st.builds(
            "{} {} {}".format,
            st.sampled_from(before),
            st.sampled_from(["=", "!=", "<", ">="]),
            st.integers(0, 2),
        ),
        st.builds('{} = "{}"'.format, st.sampled_from(before), st.sampled_from(WORDS)),
        st.builds('"{}" in {}'.format, st.sampled_from(WORDS), st.sampled_from(before)),
        st.sampled_from(before),
        st.just('answer = "a"'),
        st.builds("{} > {}".format, st.sampled_from(SCORES), st.integers(-1, 4)),
    )
    tree = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("NOT({})".format, inner),
        ),
        max_leaves=4,
    )
    return st.none() | tree


@cache
def formulas(before: tuple[str, ...]) -> st.SearchStrategy[str]:
    """A formula over scores and earlier blocks."""
    names = st.sampled_from([*before, *SCORES]).map("[{}]".format)
    return st.one_of(
        st.just("argmax([score_fire], [score_ice])"),
        st.builds("{} + 2 * {}".format, names, names),
        st.builds("if {} > 1 then {} else b".format, names, names),
    )


@st.composite
def scripts(draw) -> Any:
    before: list[str] = []
    blocks = []
    for n in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(KINDS))
        raw = {"type": kind, "name": f"B{n}", "precondition": draw(conditions(tuple(before)))}
        if kind in ("single_punch", "multi_punch"):
            raw["options"] = [
                {"value": word, "score_values": {key: Decimal(points) for key, points in weights.items()}}
                for word, weights in zip(WORDS, draw(st.permutations(WEIGHTS)), strict=True)
            ]
            raw["options"][-1]["is_other"] = draw(st.booleans())
            if draw(st.booleans()):
                several = kind == "multi_punch" and draw(st.booleans())
                raw["correct_answer_ids"] = [10 * (n + 1) + m for m in range(2 if several else 1)]
        if kind == "calculated_block":
            raw["calculated_formula"] = draw(formulas(tuple(before)))
        if kind != "content_block":
            before.append(f"B{n}")
        blocks.append(raw)
    return script_builder.script(*blocks, scoring_enabled=True, buckets=(Bucket("Fire"), Bucket("Ice")))


def replies(block) -> st.SearchStrategy[Any]:
    other = block.other and block.other.id
    return _replies(block.type, tuple(option.id for option in block.options), other)


@cache
def _replies(kind: str, ids: tuple[int, ...], other: int | None) -> st.SearchStrategy[Any]:
    def reply(chosen: list[int]) -> dict[str, Any]:
        own = {"other": {"option_id": other, "text": "own"}} if other in chosen else {}
        return {"option_ids": chosen, **own}

    by_kind = {
        "single_punch": lambda: st.sampled_from(ids).map(lambda chosen: reply([chosen])),
        "multi_punch": lambda: st.lists(st.sampled_from(ids), min_size=1, unique=True).map(reply),
        "open_text": lambda: st.sampled_from(WORDS).map(lambda text: {"text": text}),
        "open_numeric": lambda: st.integers(0, 2).map(lambda number: {"number": str(number)}),
    }
    return st.just({"skipped": True}) | by_kind[kind]()
