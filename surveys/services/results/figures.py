"""Figures over a project's responses, counted in the database over every answer, never over a sample.

    count(project=…)                        every block's figures: distributions, means, ranks, drop-off
    count(project=…, selection=…)           the same of some responses
    count(project=…, segment_by=…)          the same, and once more for each segment (module `dividing`)
    shown(project=…, at=…)                  the same for people who may not read single responses
    changes(project_id)                     a number that grows with every change of the answers

All figures are counted at the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import Sum

from communities.ground.errors import refuse
from surveys.engine import statistics
from surveys.engine.script import Script
from surveys.engine.statistics import REPORTED_TYPES, AnswerGroup, EntryKey
from surveys.models import Codebook, Project, Tally
from surveys.services.counting import counts as counting
from surveys.services.counting import derived as derived_counting
from surveys.services.counting import divisions, large, sent_fields, weights
from surveys.services.counting import fields as field_counting
from surveys.services.counting import themes as theme_counting
from surveys.services.counting.answer_groups import ReportedBlock
from surveys.services.counting.counts import (
    ALL,
    AnswerCounts,
    Progress,
    Selection,
    TooManyToDerive,
)
from surveys.services.counting.divisions import Dividing, Values, name_of
from surveys.services.counting.themes import CountedReadings
from surveys.services.ground import field_groups, metadata
from surveys.services.results import derived, dividing, steps, weighing
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.additions import Additions
from surveys.services.scripts.storage import StoredScript

__all__ = [
    "ALL",
    "MAX_SEGMENT_NUMBERS",
    "Figures",
    "Selection",
    "ShownFigures",
    "TooManyToDerive",
    "changes",
    "count",
    "shown",
    "totals",
]

# Every segment repeats every number of every block, score and calculated result. 60 choices of 100 options,
# segmented by one of the choices, make 600,000 numbers and took 16 s. This limit takes about one second.
MAX_SEGMENT_NUMBERS = 50_000
MAX_FIELD_SEGMENTS = 100


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a project. `response_count` counts answered blocks, `blocks` are AnalysisBlocks as JSON.

    `segment_by` is the block or field that divides the figures, with its `segments`. `scores` are the figures
    of each bucket; None where scoring is off. `variables` are the figures of each calculated block, and
    `fields` of each declared field. `weighting` is about the weights, if the figures are weighted (module
    `weighing`).
    """

    conversation_count: int
    completion_count: int
    response_count: int
    blocks: list[dict[str, Any]]
    segment_by: dict[str, Any] | None = None
    scores: list[dict[str, Any]] | None = None
    variables: list[dict[str, Any]] = field(default_factory=list)
    fields: list[dict[str, Any]] = field(default_factory=list)
    weighting: dict[str, Any] | None = None

    @property
    def segments(self) -> list[dict[str, Any]] | None:
        return None if self.segment_by is None else self.segment_by["segments"]


@dataclass(frozen=True, slots=True)
class ShownFigures:
    """Figures for people who may not read single responses, and when they were counted."""

    figures: Figures
    counted_at: datetime


def changes(project_id: int) -> int:
    """How often the answers have changed. Two equal numbers mean that no answer changed in between."""
    return totals(project_id)["changes"]


def totals(project_id: int) -> dict[str, int]:
    """The stored sums: `changes`, `completion_count`, and answered blocks as `response_count`."""
    sums = Tally.objects.filter(project_id=project_id).aggregate(
        changes=Sum("changes"), completion_count=Sum("completed"), response_count=Sum("answered")
    )
    return {name: count or 0 for name, count in sums.items()}


def responses(project_id: int) -> int:
    """How many responses there are, from stored sums."""
    return Tally.objects.filter(project_id=project_id).aggregate(count=Sum("listed"))["count"] or 0


def refuse_unless_countable(
    *,
    project: Project,
    selection: Selection,
    segment_by: int | str | None,
    derives: bool,
    counts_fields: bool,
) -> None:
    """Refuse, before a long count, a request that `count` would refuse, as far as the script and the latest
    responses show.

    Only the count itself refuses unknown fields, because a search for them needs all responses.
    """
    stored = script_cache.of(project).stored
    refuse_fields(project, selection)
    entries = _computed_entries(project, stored.script, derives, counts_fields)
    reported = reported_blocks(stored)
    by = _dividing(project, stored, reported, segment_by, entries, _read_ids(reported), derives=derives)
    if isinstance(by, Values) and by.is_open:
        counting.refuse_many_recent_values(project.pk, selection, stored.script, by)


def refuse_fields(project: Project, selection: Selection) -> None:
    """Refuse filters by too many fields, and an undeclared weight."""
    weighing.refuse_undeclared(project=project, selection=selection)
    most = metadata.MAX_FIELDS
    if len(selection.fields) > most:
        refuse(
            f"field.{selection.fields[most][0]}",
            "too_many",
            f"Results are filtered by at most {most} fields.",
        )


def field_names(selection: Selection, **dividing_by: int | str | None) -> dict[str, str]:
    """The names of the fields that filter, weigh and divide, by parameter."""
    names = {f"{dividing.FIELD}{name}": name for name, _ in selection.fields}
    for parameter, by in dividing_by.items():
        if isinstance(by, str) and by.startswith(dividing.FIELD):
            names[parameter] = by.removeprefix(dividing.FIELD)
    if selection.weight_by:
        names[weights.PARAMETER] = selection.weight_by
    return names


def count(
    *,
    project: Project,
    selection: Selection = ALL,
    segment_by: int | str | None = None,
    max_wait: float | None = 0.0,
    note: Progress | None = None,
    derives: bool = True,
    counts_fields: bool = False,
    counts_themes: bool = False,
    most_derived: int | None = None,
) -> Figures:
    """The figures of every question and content block, then of removed blocks with answers.

    Refuses fields that are neither declared nor known from any response, and a `segment_by` that `dividing`
    refuses, or that has too many segments or numbers. Raises Unavailable if
    there are many responses and the process counts other projects for longer than `max_wait` seconds; None
    waits without a limit. `note` is called from time to time with the number of responses that were read.
    Scores and results of calculated blocks are counted only if `derives`, declared fields only if
    `counts_fields`, and themes of open questions only if `counts_themes`. Raises TooManyToDerive for scores,
    results or fields over `most_derived` responses or more.

    `drop_off.left` counts the unfinished conversations at a block; its percentage is of all conversations
    begun, those without an answer included; of a block that was added later, of those that could see it.
    """
    cached = script_cache.of(project)
    stored, added = cached.stored, cached.additions(project.pk)
    reported = reported_blocks(stored)
    refuse_fields(project, selection)
    entries = _computed_entries(project, stored.script, derives, counts_fields)
    read_ids = _read_ids(reported) if counts_themes else []
    by = _dividing(project, stored, reported, segment_by, entries, read_ids, derives=derives)
    fields = sent_fields.declared(project=project, names=project.hidden_fields) if counts_fields else {}
    names = field_names(selection, segment_by=segment_by)
    counts = counting.count_answers(
        project.pk,
        stored,
        reported,
        selection,
        by,
        undeclared={by: name for by, name in names.items() if name not in project.hidden_fields},
        fields=list(fields),
        read_ids=read_ids,
        max_wait=max_wait,
        note=note,
        derives=derives,
        most_derived=most_derived,
    )
    seen = _could_see(project, stored.script, reported, selection, added, max_wait)
    return _figures(stored.script, reported, counts, by, fields, added, seen)


def _could_see(
    project: Project,
    script: Script,
    reported: Sequence[ReportedBlock],
    selection: Selection,
    added: Additions,
    max_wait: float | None,
) -> Mapping[int, tuple[int, int]]:
    """How many could see each block that was added later; nothing is counted if there is none."""
    revisions = {each.id: added.blocks[each.id].revision for each in reported if each.id in added.blocks}
    if not revisions:
        return {}
    is_large = responses(project.pk) >= large.LARGE
    with large.counting_slot(max_wait=max_wait) if is_large else nullcontext():
        return counting.could_see(project.pk, selection, script, revisions, max_wait=max_wait)


def shown(
    *,
    project: Project,
    at: datetime,
    max_wait: float | None = large.SECONDS_FOR_SHOWN,
    selection: Selection = ALL,
) -> ShownFigures:
    """The figures for people who may not read single responses; on anonymous projects they change in steps,
    and are never of a selection.

    Scores and calculated results are left out. They count completed responses only, while questions count
    partial responses too: on anonymous projects, the difference would be the answers of few people.

    Raises Unavailable as `count` does.
    """
    if not project.is_anonymous:
        found = count(project=project, selection=selection, max_wait=max_wait, derives=False)
        return ShownFigures(found, at)
    assert selection == ALL
    cached = script_cache.of(project)
    stored = cached.stored
    reported = reported_blocks(stored)
    now = counting.count_answers(project.pk, stored, reported, ALL, None, max_wait=max_wait, derives=False)
    types = {each.id: each.block.type for each in reported}
    counts, counted_at = steps.counts(project=project, now=now, script=stored.script, types=types, at=at)
    added = cached.additions(project.pk)
    return ShownFigures(_figures(stored.script, reported, counts, None, {}, added, {}), counted_at)


def _figures(
    script: Script,
    reported: Sequence[ReportedBlock],
    counts: AnswerCounts,
    by: Dividing,
    fields: Mapping[str, Sequence[str]],
    added: Additions,
    seen: Mapping[int, tuple[int, int]],
) -> Figures:
    shown = [each for each in reported if not each.is_archived or counts.groups.get(each.id)]
    segments = None if by is None else segments_of(by, counts)
    of = partial(_figures_of, script, shown, segments=segments, fields=fields, added=added, seen=seen)
    found = of(counts)
    if by is not None and segments is not None:
        found = replace(found, segment_by=_segment_by(by, segments))
    if counts.weighted is None:
        return found
    weighted = of(counts.weighted, unweighted=counts.derived)
    if by is not None and segments is not None:
        sums = segments_of(by, counts.weighted)
        own = [weighing.amount(sums.get(each, 0)) for each in segments]
        pairs = zip(found.segments or (), own, strict=True)
        weighed = [{**each, "weighted_count": total} for each, total in pairs]
        found = replace(found, segment_by={**(found.segment_by or {}), "segments": weighed})
    return replace(
        found,
        blocks=weighing.blocks(found.blocks, weighted.blocks),
        scores=found.scores and weighing.bases(found.scores, weighted.scores or ()),
        variables=weighing.bases(found.variables, weighted.variables),
        fields=weighing.bases(found.fields, weighted.fields),
        weighting=dict(counts.weighting or {}),
    )


def _figures_of(
    script: Script,
    shown: Sequence[ReportedBlock],
    counts: AnswerCounts,
    *,
    segments: Mapping[statistics.DistributionEntry, int] | None,
    fields: Mapping[str, Sequence[str]],
    added: Additions,
    seen: Mapping[int, tuple[int, int]],
    unweighted: derived_counting.Counted | None = None,
) -> Figures:
    read = CountedReadings.of(counts.themes)
    entries = None if segments is None else list(segments)
    computed = counts.derived
    return Figures(
        conversation_count=counts.listed,
        completion_count=counts.completed,
        response_count=sum(group.people for groups in counts.groups.values() for group in groups),
        blocks=[
            _block(each, counts, segments, read, seen.get(each.id)) | _since(each, added) for each in shown
        ],
        scores=None if computed is None else derived.scores(script, computed, entries, unweighted),
        variables=[] if computed is None else derived.variables(script, computed, entries, unweighted),
        fields=field_counting.figures(fields, counts.sent, entries),
    )


def _since(reported: ReportedBlock, added: Additions) -> dict[str, Any]:
    """Since when a block and its options are asked, if they were added after the opening."""
    own = added.blocks.get(reported.id)
    options = [
        {"option_id": option.id, "since": field_groups.as_text(found.at)}
        for option in (*reported.block.options, *reported.removed)
        if (found := added.options.get(option.id or 0)) and found != own
    ]
    return {"since": own and field_groups.as_text(own.at), "added_options": options}


def right_sets(*, project: Project, script: Script, selection: Selection) -> Mapping[int, int]:
    """Return how many respondents chose exactly the right options, for each question with several choices.
    Call this only for readers who may know the solutions.

    Nothing is counted for projects with very many responses, because the count reads the stored states of all
    responses.
    """
    sets = {
        block.id or 0: block.correct_answer_ids
        for block in script.blocks
        if block.type == "multi_punch" and block.correct_answer_ids
    }
    if not sets or responses(project.pk) >= large.LARGE:
        return {}
    return counting.count_sets(project.pk, selection, script, sets)


def reported_blocks(stored: StoredScript) -> list[ReportedBlock]:
    """Return every block that may have figures: first the blocks of the script in order, then the removed
    blocks.
    """
    removed = stored.archived_options or {}
    length = len(stored.script.blocks)
    placed = [(block, n, False) for n, block in enumerate(stored.script.blocks)]
    placed += [(block, length + n, True) for n, block in enumerate(stored.archived)]
    return [
        ReportedBlock(block, position, is_archived, removed.get(block.id or 0, ()))
        for block, position, is_archived in placed
        if block.type in REPORTED_TYPES
    ]


def _read_ids(reported: Sequence[ReportedBlock]) -> list[int]:
    """The questions whose answers analyses read."""
    return [each.id for each in reported if each.block.is_read]


def _dividing(
    project: Project,
    stored: StoredScript,
    reported: Sequence[ReportedBlock],
    by: int | str | None,
    computed_entries: int,
    read_ids: Sequence[int],
    *,
    derives: bool,
) -> Dividing:
    """The division of the figures into segments.

    Refuses a division with too many numbers, as far as the script shows, so that one request cannot keep a
    process busy for long. `computed_entries` are added to the entries of the blocks, and so are the themes of
    the questions `read_ids`.
    """
    if by is None:
        return None
    if read_ids:
        with_themes = Codebook.objects.filter(pk__in=read_ids).count()
        computed_entries += theme_counting.ENTRIES * with_themes
    entries = sum(statistics.max_entries(each.block, each.removed) for each in reported) + computed_entries
    most = min(MAX_FIELD_SEGMENTS, MAX_SEGMENT_NUMBERS // max(entries, 1))
    found = dividing.dividing(
        by, project=project, script=stored.script, reported=reported, most=most, derives=derives
    )
    if isinstance(found, Values):
        divisions.refuse_too_many(found, len(found.entries))
    elif found is not None:
        _refuse_too_many(found, entries)
    return found


def _computed_entries(project: Project, script: Script, derives: bool, counts_fields: bool) -> int:
    """The highest possible number of entries in scores, calculated results and declared fields."""
    of_fields = field_counting.ENTRIES * len(project.hidden_fields) if counts_fields else 0
    return of_fields + (derived_counting.max_entries(script) if derives else 0)


def _refuse_too_many(by: ReportedBlock, entries: int) -> None:
    segments = statistics.max_entries(by.block, by.removed)
    if segments * entries > MAX_SEGMENT_NUMBERS:
        refuse(
            "segment_by",
            "too_many",
            f"This question has {segments:,} answers, and all questions, scores, calculated results, "
            f"declared fields and themes have up to {entries:,} options, points and values: that makes "
            f"{segments * entries:,} numbers, and the limit is {MAX_SEGMENT_NUMBERS:,}. "
            "Segment by a question with fewer options or points.",
        )


def segments_of(by: ReportedBlock | Values, counts: AnswerCounts) -> dict[statistics.DistributionEntry, int]:
    """The segments with the number of conversations in each. Empty segments are included."""
    if isinstance(by, Values):
        return by.segments(counts.values)
    groups = counts.groups.get(by.id, [])
    rows: dict[EntryKey, int] = {}
    for group in groups:
        if by.block.type != "ranking" or group.point == 1:
            rows[_key(group)] = rows.get(_key(group), 0) + group.rows
    entries = statistics.segment_entries(by.block, by.removed, groups)
    return {entry: rows.get(entry.key, 0) for entry in entries}


def _key(group: AnswerGroup) -> EntryKey:
    return (group.option_id, None) if group.option_id is not None else (None, group.point)


def named(by: ReportedBlock | Values) -> dict[str, Any]:
    """The division of the responses, as JSON."""
    if isinstance(by, Values):
        divided, title, block, field = by.by, by.title, by.block, by.field
    else:
        divided, title, block, field = str(by.id), by.block.prompt, by, None
    return {
        "by": divided,
        "title": title,
        "block_id": block and block.id,
        "block_name": block and block.block.name,
        "prompt": block and block.block.prompt,
        "field": field,
    }


def _segment_by(
    by: ReportedBlock | Values, segments: Mapping[statistics.DistributionEntry, int]
) -> dict[str, Any]:
    return {
        **named(by),
        "segments": [{**entry.as_json(), "count": count} for entry, count in segments.items()],
    }


def _block(
    reported: ReportedBlock,
    counts: AnswerCounts,
    segments: Mapping[statistics.DistributionEntry, int] | None,
    read: CountedReadings,
    seen: tuple[int, int] | None,
) -> dict[str, Any]:
    """The figures of a block. `seen` are the responses and conversations that could see it, if not all."""
    block = reported.block
    groups = counts.groups.get(reported.id, [])
    themes = read.question(reported.id)
    left = counts.unfinished.get(reported.id, 0)
    figures: dict[str, Any] = {
        "block_id": reported.id,
        "block_name": block.name,
        "block_type": block.type,
        "prompt": block.prompt,
        "position": reported.position,
        "is_archived": reported.is_archived,
        "drop_off": {
            "left": left,
            "percentage": statistics.percentage(left, seen[1] if seen else counts.listed + counts.unlisted),
        },
        "could_see_count": seen and seen[0],
        **statistics.summarize(block, reported.removed, groups),
        "histogram": statistics.histogram(block, groups),
        "open_text": themes and themes.as_json(answer_count=sum(group.people for group in groups)),
    }
    if segments is not None:
        figures["segments"] = [
            {
                **entry.as_json(),
                **statistics.summarize(
                    block,
                    reported.removed,
                    counts.of_segments.get(entry.key, {}).get(reported.id, []),
                    all_groups=groups,
                ),
                "open_text": read.segment(reported.id, name_of(entry), whole=themes),
            }
            for entry in segments
        ]
    return figures
