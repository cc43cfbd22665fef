"""What a poll's visitors chose, counted from the stored answers, and who may see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from surveys.engine.script import Block
from surveys.models import Project


@dataclass(frozen=True, slots=True)
class PollResults:
    """`by_option` holds votes by option id (choices), `by_number` by point (scales); `voters` are people."""

    by_option: Mapping[int, int]
    by_number: Mapping[int, int]
    voters: int


def may_be_seen(*, project: Project, has_voted: bool, at: datetime) -> bool:
    """Whether somebody sees the results: `public` always, `voters_only` who voted, else once it is closed."""
    match project.poll_results_mode:
        case Project.PollResultsMode.PUBLIC:
            return True
        case Project.PollResultsMode.VOTERS_ONLY:
            return has_voted
    return not project.is_live_at(at) and not project.is_pending_at(at)


def count(*, block: Block) -> PollResults:
    """The votes on one question. One statement; an index covers all but a multi punch's voters."""
    parts = ["SELECT option_id, number, count(*) FROM surveys_answer WHERE block_id = %s GROUP BY 1, 2"]
    if block.type == "multi_punch":
        parts.append(
            "SELECT NULL::bigint, NULL::float8, count(DISTINCT conversation_id)"
            " FROM surveys_answer WHERE block_id = %s"
        )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), [block.id] * len(parts))
        rows = cursor.fetchall()
    by_option = {option_id: votes for option_id, _, votes in rows if option_id is not None}
    points = [
        (number, votes) for option_id, number, votes in rows if option_id is None and number is not None
    ]
    by_number = {int(number): votes for number, votes in points}
    if block.type == "multi_punch":
        voters = next(votes for option_id, number, votes in rows if option_id is None and number is None)
    else:
        voters = sum(by_option.values()) + sum(by_number.values())
    return PollResults(by_option, by_number, voters)
