"""Numbers over a project's responses, counted in the database over every answer, never over a sample.

    count(project=…)                        every block's figures: distributions, means, ranks, drop-off
    count(project=…, selection=…)           the same of some responses
    count(project=…, segment_by=block_id)   the same, and once more for each option of that block
    changes(project_id)                     grows with every change of what is counted

One statement counts it all, so that all numbers are of one moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from communities.errors import refuse
from surveys.engine import statistics
from surveys.engine.statistics import REPORTED_TYPES, SEGMENT_TYPES, AnswerGroup, EntryKey
from surveys.models import Project, Tally
from surveys.services.results import counting
from surveys.services.results.counting import ALL, AnswerCounts, Asked, Selection
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.storage import StoredScript

__all__ = ["ALL", "MOST_LINES_OF_SEGMENTS", "Figures", "Selection", "changes", "count", "kept"]

# Every segment tells every line of every block: with 60 choices of 100 options by one of them 600,000, which
# took 16 s. These take about one.
MOST_LINES_OF_SEGMENTS = 50_000


@dataclass(frozen=True, slots=True)
class Figures:
    """What was counted. `response_count` is of answered blocks, `blocks` are AnalysisBlocks as JSON.

    `segment_by` is the block that they are divided by, with its `segments`.
    """

    conversation_count: int
    completion_count: int
    response_count: int
    blocks: list[dict[str, Any]]
    segment_by: dict[str, Any] | None = None

    @property
    def segments(self) -> list[dict[str, Any]] | None:
        return None if self.segment_by is None else self.segment_by["segments"]


def changes(project_id: int) -> int:
    """How often what is counted has changed so far: two equal numbers mean that nothing did between."""
    return kept(project_id)["changes"]


def kept(project_id: int) -> dict[str, int]:
    """What need not be counted: `changes`, `completion_count`, and answered blocks as `response_count`."""
    found = Tally.objects.filter(project_id=project_id).aggregate(
        changes=Sum("changes"), completion_count=Sum("completed"), response_count=Sum("answered")
    )
    return {name: count or 0 for name, count in found.items()}


def count(*, project: Project, selection: Selection = ALL, segment_by: int | None = None) -> Figures:
    """The figures of every question and content block, then of removed ones with answers.

    Refuses to divide by what is no choice or scale of this project, or into more lines than can be told.
    `drop_off.left` are the unfinished conversations that stand at a block, its percentage is of all that were
    begun, also without an answer.
    """
    stored = script_cache.get(project.pk, project.revision).stored
    asked = _asked(stored)
    dividing = _dividing(asked, segment_by)
    counts = counting.counted(project.pk, stored, asked, selection, dividing)
    told = [each for each in asked if not each.is_archived or counts.groups.get(each.id)]
    segments = _segments(dividing, counts) if dividing else None
    return Figures(
        conversation_count=counts.listed,
        completion_count=counts.completed,
        response_count=sum(group.people for groups in counts.groups.values() for group in groups),
        blocks=[_block(each, counts, segments) for each in told],
        segment_by=_segment_by(dividing, segments) if dividing and segments is not None else None,
    )


def _asked(stored: StoredScript) -> list[Asked]:
    """Every block that can be told of, in script order, then those that were removed."""
    removed = stored.archived_options or {}
    length = len(stored.script.blocks)
    placed = [(block, n, False) for n, block in enumerate(stored.script.blocks)]
    placed += [(block, length + n, True) for n, block in enumerate(stored.archived)]
    return [
        Asked(block, position, is_archived, removed.get(block.id or 0, ()))
        for block, position, is_archived in placed
        if block.type in REPORTED_TYPES
    ]


def _dividing(asked: Sequence[Asked], segment_by: int | None) -> Asked | None:
    if segment_by is None:
        return None
    for each in asked:
        if each.id == segment_by and each.block.type in SEGMENT_TYPES:
            _refuse_too_many(asked, each)
            return each
    refuse("segment_by", "not_found", "`segment_by` must be the id of a choice or a scale of this project.")


def _refuse_too_many(asked: Sequence[Asked], dividing: Asked) -> None:
    """Before anything is counted: whoever may read results may not keep a process busy for long."""
    segments = statistics.max_entries(dividing.block, dividing.removed)
    entries = sum(statistics.max_entries(each.block, each.removed) for each in asked)
    if segments * entries > MOST_LINES_OF_SEGMENTS:
        refuse(
            "segment_by",
            "too_many",
            f"Divided by this question's {segments:,} answers, the {entries:,} options and points of all "
            f"questions would be {segments * entries:,} numbers, more than {MOST_LINES_OF_SEGMENTS:,}: "
            "divide by a question with fewer options or points.",
        )


def _segments(dividing: Asked, counts: AnswerCounts) -> dict[statistics.DistributionEntry, int]:
    """What answers are divided by, with the conversations of each, also where there are none."""
    groups = counts.groups.get(dividing.id, [])
    rows: dict[EntryKey, int] = {}
    for group in groups:
        rows[_key(group)] = rows.get(_key(group), 0) + group.rows
    entries = statistics.segment_entries(dividing.block, dividing.removed, groups)
    return {entry: rows.get(entry.key, 0) for entry in entries}


def _key(group: AnswerGroup) -> EntryKey:
    return (group.option_id, None) if group.option_id is not None else (None, group.point)


def _segment_by(dividing: Asked, segments: Mapping[statistics.DistributionEntry, int]) -> dict[str, Any]:
    return {
        "block_id": dividing.id,
        "block_name": dividing.block.name,
        "prompt": dividing.block.prompt,
        "segments": [{**entry.as_json(), "count": count} for entry, count in segments.items()],
    }


def _block(
    asked: Asked, counts: AnswerCounts, segments: Mapping[statistics.DistributionEntry, int] | None
) -> dict[str, Any]:
    block = asked.block
    groups = counts.groups.get(asked.id, [])
    left = counts.unfinished.get(asked.id, 0)
    told: dict[str, Any] = {
        "block_id": asked.id,
        "block_name": block.name,
        "block_type": block.type,
        "prompt": block.prompt,
        "position": asked.position,
        "is_archived": asked.is_archived,
        "drop_off": {
            "left": left,
            "percentage": statistics.percentage(left, counts.listed + counts.unlisted),
        },
        **statistics.summarize(block, asked.removed, groups),
        "open_text": None,
    }
    if segments is not None:
        told["segments"] = [
            {
                **entry.as_json(),
                **statistics.summarize(
                    block,
                    asked.removed,
                    counts.of_segments.get(entry.key, {}).get(asked.id, []),
                    all_groups=groups,
                ),
            }
            for entry in segments
        ]
    return told
