"""When responses were begun and completed, and how far people came (rules 6.305 to 6.307).

read(actor=…, project=…, …)     for readers of single responses, because a day may have one response
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any, Literal
from zoneinfo import ZoneInfo

from communities.ground.actors import Actor
from communities.ground.errors import Forbidden, InvalidRequest, refuse
from communities.ground.replica import from_replica
from communities.ground.rounding import Rounding
from surveys.engine.script import QUESTIONS
from surveys.models import Project
from surveys.services.counting import counts, large
from surveys.services.ground import access, selecting
from surveys.services.ground.anonymity import rounding_of
from surveys.services.results import figures
from surveys.services.results.figures import ALL, Selection
from surveys.services.results.readers import WHOLE_ALONE
from surveys.services.results.very_large import VERY_LARGE
from surveys.services.scripts import cache as script_cache

Period = Literal["day", "week", "month"]
MOST_PERIODS = 62  # days or weeks; of longer times there are months
MOST_SCORES = 14  # the same for scores, which need some answers each
UTC = ZoneInfo("UTC")
_SCREENED_OUT = "(c.completed_at IS NOT NULL AND NOT c.is_listed)"
# Paths are grouped before they are unpacked, because most respondents have one of a few.
_SQL = """
    WITH everybody AS MATERIALIZED (
        SELECT c.started_at, c.completed_at, c.state->'path' AS path, c.provider, NOT {screened} AS counts
        FROM surveys_conversation c WHERE {where}
    ), chosen AS (SELECT * FROM everybody WHERE counts)
    SELECT json_build_object(
        'begun', (SELECT json_agg(json_build_array(day, people)) FROM (
            SELECT (started_at AT TIME ZONE %s)::date AS day, count(*) AS people FROM chosen GROUP BY 1
        ) days),
        'completed', (SELECT json_agg(json_build_array(day, people)) FROM (
            SELECT (completed_at AT TIME ZONE %s)::date AS day, count(*) AS people FROM chosen
            WHERE completed_at IS NOT NULL GROUP BY 1
        ) days),
        'passed', (SELECT json_agg(json_build_array(block_id, people)) FROM (
            SELECT block_id, sum(people) AS people FROM (
                SELECT path, count(*) AS people FROM chosen GROUP BY 1
            ) paths, LATERAL (SELECT DISTINCT jsonb_array_elements(path)::bigint) passed(block_id) GROUP BY 1
        ) blocks),
        'screened_out', (SELECT count(*) FROM everybody WHERE NOT counts),
        'seconds', (
            SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM completed_at - started_at))
            FROM chosen WHERE completed_at IS NOT NULL AND provider != 'import' AND NOT %s
        )
    )
"""


@dataclass(frozen=True, slots=True)
class Span:
    """One day, week or month. `begins_on` is its first day."""

    begins_on: date
    begun: int
    completed: int


@dataclass(frozen=True, slots=True)
class Reach:
    """How many were asked a question, answered it, and left there."""

    block_id: int
    seen: int
    answered: int
    left: int


@dataclass(frozen=True, slots=True)
class Participation:
    """`screened_out` are in no other number. `seconds` is the median time from the beginning to the end; None
    on anonymous projects.
    """

    period: Period
    zone: str
    spans: Sequence[Span]
    blocks: Sequence[Reach]
    screened_out: int
    seconds: float | None


@from_replica
def read(
    *, actor: Actor, project: Project, selection: Selection = ALL, zone: ZoneInfo = UTC, at: datetime
) -> Participation:
    """Participation in a project, for readers of its single responses.

    Days are those of `zone`, or of UTC if the times of the responses are rounded to days. Refuses projects
    with very many responses. Raises NotFound and Forbidden for other readers, and Unavailable while the
    process counts other results of many responses.
    """
    access.require_results_reader(actor=actor, project=project, at=at)
    if not access.may_read_people(actor=actor, project=project):
        raise Forbidden(WHOLE_ALONE)
    script = script_cache.script_of(project)
    solutions = access.may_read_solutions(actor=actor, project=project)
    selecting.refuse_faults(selection.where, script=lambda: script, solutions=solutions)
    if figures.responses(project.pk) >= VERY_LARGE:
        refuse("project_id", "too_large", f"This is for projects with fewer than {VERY_LARGE:,} responses.")
    if rounding_of(project) == Rounding.DAY:
        zone = UTC
    counted = figures.count(project=project, selection=selection, derives=False)
    where, values = counts.condition_of(project.pk, selection, script)
    chosen = _SQL.format(where=where or "c.project_id = %s", screened=_SCREENED_OUT)
    part = chosen, [*(values or [project.pk]), zone.key, zone.key, project.is_anonymous]
    unpacked = counts.TIMES_IN_SQL * len(script.blocks)  # of each path
    needs_slot = counts.is_large(figures.responses(project.pk), selection, script, unpacked)
    with (
        large.counting_slot(max_wait=large.SECONDS_FOR_SHOWN) if needs_slot else nullcontext(),
        selecting.stopped(selection.where),
    ):
        [found] = counts.values_of([part])
    passed = dict(found["passed"] or ())

    def reach(block: Mapping[str, Any]) -> Reach:
        block_id, answered, left = block["block_id"], block["response_count"], block["drop_off"]["left"]
        # Answers that a step back left count, although their blocks are not passed again yet.
        return Reach(block_id, max(passed.get(block_id, 0) + left, answered), answered, left)

    blocks = [
        reach(block)
        for block in counted.blocks
        if block["block_type"] in QUESTIONS and not block["is_archived"]
    ]
    period, spans = _spans(found)
    return Participation(period, zone.key, spans, blocks, found["screened_out"], found["seconds"])


def scores(
    *, project: Project, selection: Selection, found: Participation
) -> Mapping[int, Sequence[tuple[str, Mapping[str, Any]]]]:
    """The net promoter score of each question over time, by block: in days, or fewer weeks or months.

    Each has the words for its time, and the `nps` of results. Nothing if there are too many months.
    """
    script = script_cache.script_of(project)
    if not any(block.type == "nps" for block in script.blocks):
        return {}
    try:
        days = (found.spans[-1].begins_on - found.spans[0].begins_on).days if found.spans else 0
        by = f"completed.{_period(days, MOST_SCORES)}" + (f":{found.zone}" if found.zone != UTC.key else "")
        counted = figures.count(project=project, selection=selection, segment_by=by, derives=False)
    except InvalidRequest:
        return {}
    return {
        block["block_id"]: [
            (each["label"], each["nps"]) for each in block["segments"] if each["nps"]["score"] is not None
        ]
        for block in counted.blocks
        if block["block_type"] == "nps" and not block["is_archived"]
    }


def _spans(found: Mapping[str, Any]) -> tuple[Period, list[Span]]:
    """The days from the first to the last one, or weeks or months if these are too many."""
    by_day: list[dict[date, int]] = [
        {date.fromisoformat(day): people for day, people in found[name] or ()}
        for name in ("begun", "completed")
    ]
    days = sorted({*by_day[0], *by_day[1]})
    if not days:
        return "day", []
    period = _period((days[-1] - days[0]).days)
    begins = [_beginning(days[0], period)]
    while begins[-1] <= days[-1]:
        begins.append(_beginning(begins[-1] + timedelta(days=_LONGEST[period]), period))
    return period, [
        Span(
            begin,
            *(sum(people for day, people in counted.items() if begin <= day < end) for counted in by_day),
        )
        for begin, end in pairwise(begins)
    ]


_LONGEST: Mapping[Period, int] = {"day": 1, "week": 7, "month": 31}


def _period(days: int, most: int = MOST_PERIODS) -> Period:
    return "day" if days < most else "week" if days < 7 * most else "month"


def _beginning(day: date, period: Period) -> date:
    """The first day of the period with this day; weeks begin on Monday."""
    if period == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if period == "week" else day
