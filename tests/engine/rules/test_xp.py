"""The most XP that the `give_xp` blocks of a script can give in one completion (rule 3.39)."""

from __future__ import annotations

from decimal import Decimal

from surveys.engine.intake.field_paths import stored_paths
from surveys.engine.rules import xp
from surveys.engine.script import ActionConfig, Block, Bucket, Option, Script
from tests.support.cases import try_each


def question(*points: dict[str, int], type: str = "single_punch", **fields: object) -> Block:
    options = tuple(
        Option(str(n), id=n, score_values={key: Decimal(value) for key, value in each.items()})
        for n, each in enumerate(points, start=1)
    )
    return Block(**{"type": type, "options": options, "required": True, **fields})  # type: ignore[arg-type]


def giving(amount: int | None = None, source: str | None = None, **fields: object) -> Block:
    config = ActionConfig(xp_amount=amount, source_key=source)
    return Block(type="action_block", action_kind="give_xp", action_config=config, **fields)  # type: ignore[arg-type]


QUIZ = (
    question({"mage": 3, "war_lord": 1}, {"mage": 7}, correct_answer_index=0),
    question({"mage": 2}, {"mage": 5}, {"mage": -4}, type="multi_punch"),
    question({"war_lord": -3}, {"war_lord": -2}),
)


@try_each(
    ("blocks", "most"),
    [
        ((), 0),
        ((giving(400), giving(0), giving(600)), 1000),
        ((giving(400, precondition="q1 = 1"), giving(600, precondition="q1 != 1")), 1000),
        ((giving(source="score"),), 15),  # 7 + 1 in the first, 2 + 5 in the second, none in the last
        ((giving(source="score_mage"),), 14),
        ((giving(source="max_score_mage"),), 14),
        ((giving(source="score_war_lord"),), 1),
        ((giving(source="score_war-lord"), giving(5)), 5),  # no variable of this script
        ((giving(source="correct_answers"),), 1),
        ((Block(type="action_block", action_kind="give_role", action_config=ActionConfig()),), 0),
    ],
)
def test_the_most_is_the_sum_of_all_blocks_with_the_best_scores(blocks: tuple[Block, ...], most: int) -> None:
    script = Script((*QUIZ, *blocks), buckets=(Bucket("Mage"), Bucket("War Lord")))

    assert xp.most(script) == most


def test_the_violation_is_of_the_block_that_exceeds_the_limit() -> None:
    script = Script((giving(600), giving(source="score"), *QUIZ, giving(400), giving(1)))
    paths = stored_paths(script, path="blocks")

    (violation,) = xp.violations(script, paths, limit=614)

    assert (violation.field, violation.code) == ("blocks[1].action_config.source_key", "too_large")
    assert "can give 1,016 XP in one completion" in violation.message
    assert xp.violations(script, paths, limit=1015)[0].field == "blocks[6].action_config.xp_amount"
    assert xp.violations(script, paths, limit=1016) == xp.violations(script, paths, limit=None) == []
