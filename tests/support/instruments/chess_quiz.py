"""A graded quiz of our own: two buckets, points for half a right answer, all ways of naming the right one.

The first write names the right answers by index or not at all; `finish` then names the others by id, one
by the plural, one by the singular name of the field.
"""

from __future__ import annotations

from typing import Any

from tests.support.caller import Caller
from tests.support.instruments.blocks import choice, computes, gives_xp, option, says, where

PROJECT = {
    "name": "Chess quiz",
    "type": "convo",
    "scoring_enabled": True,
    "scoring": {"buckets": [{"name": "Tactics"}, {"name": "Endings"}]},
    "script": {
        "blocks": [
            choice(
                "fork",
                "Which piece forks king and rook from c7 most often?",
                [option("knight", {"tactics": 2}), option("pawn", {"tactics": 0.5}), option("king")],
                required=False,
                correct_answer_index=0,
                when_correct="Yes, the [answer]: [score_tactics] of [max_score_tactics].",
                when_incorrect="Not the [answer], alas. You have [score] points.",
            ),
            choice(
                "pin",
                "A piece that may not move for the king behind it is pinned …",
                [option("relatively"), option("absolutely", {"tactics": 2})],
                required=False,
            ),
            choice(
                "opposition",
                "Kings that face each other with one square between them are in …",
                [
                    option("zugzwang", {"endings": 1}),
                    option("opposition", {"endings": 3}),
                    option("check", {"endings": -1}),
                ],
                required=False,
            ),
            {
                "name": "mates",
                "type": "multi_punch",
                "prompt": "Which force mate against a bare king?",
                "max": 2,
                "options": [
                    option("queen", {"endings": 1}),
                    option("rook", {"endings": 1}),
                    option("two knights", {"endings": -2}),
                ],
            },
            computes("percent", "[correct_answers] / [max_correct_answers] * 100"),
            says("result", "[correct_answers] of [max_correct_answers] right, [percent] percent."),
            says("points", "[score] of [max_score]; rightly [score_correct] of [max_score_correct]."),
            says(
                "by bucket",
                "[score_tactics]/[max_score_tactics] [score_endings]/[max_score_endings] "
                "[score_correct_tactics]/[max_score_correct_tactics] "
                "[score_correct_endings]/[max_score_correct_endings]",
            ),
            says("passed", "Passed.", show_when=where("$correct_answers", "gte", 2)),
            says("perfect", "All right!", precondition="NOT((correct_answers = max_correct_answers))"),
            gives_xp("prize", "[xp_points] [xp_name] for you.", source_key="score"),
        ]
    },
}


def finish(caller: Caller, made: dict[str, Any]) -> None:
    """Name the right answers of the second and third question by the ids they have by now."""
    blocks = {block["name"]: block for block in made["script"]["blocks"]}
    for name, right, named in (
        ("pin", "absolutely", lambda right: {"correct_answer_ids": [right]}),
        ("opposition", "opposition", lambda right: {"correct_answer_id": right}),
    ):
        ids = {each["value"]: each["id"] for each in blocks[name]["options"]}
        address = f"/projects/{made['id']}/script/blocks/{blocks[name]['id']}"
        answer = caller.patch(address, named(ids[right]))
        assert answer.status_code == 200, answer.content
        assert answer.json()["correct_answer_ids"] == [ids[right]]
