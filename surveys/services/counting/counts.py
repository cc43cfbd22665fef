"""Counts of a project's answers, all from one moment. Every figure is computed from these counts.

All answers are counted from two indexes, in one statement. The answers of a selection, or of segments, are
counted from the packed answers on the conversations' rows. There the filters are conditions on the same row.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
from django.db import connection

from communities.ground.replica import from_replica
from communities.ground.statements import Part, fetch_in_batches, fetch_rows
from communities.ground.transactions import in_transaction, require_time
from surveys.engine import packing
from surveys.engine.script import Script
from surveys.engine.statistics import AnswerGroup, EntryKey
from surveys.services.counting import answer_groups, large, sent_fields, weights
from surveys.services.counting import derived as derived_counting
from surveys.services.counting import fields as field_counting
from surveys.services.counting import themes as theme_counting
from surveys.services.counting.answer_groups import ReportedBlock
from surveys.services.counting.divisions import (
    BEGUN,
    Dividing,
    Places,
    Values,
    division,
    memberships,
    name_of,
    refuse_too_many,
)
from surveys.services.counting.large import Counted
from surveys.services.ground import selecting
from surveys.services.scripts.storage import StoredScript

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of responses: the responses that match every field. Times are times of completion.

    `fields` are names and values of metadata that was sent when a conversation began. An empty value selects
    responses without a value. `where` is an expression without faults (`selecting`). `weight_by` is the
    declared field that weighs the responses, for results; responses without a usable weight do not match.
    """

    covers: str = "all"
    submitted_after: datetime | None = None
    submitted_before: datetime | None = None
    provider: str | None = None
    suspected: bool | None = None
    outcome: str | None = None  # for exports
    fields: tuple[tuple[str, str], ...] = ()
    where: str | None = None
    weight_by: str | None = None


ALL = Selection()
# 20,000 conversations at once would take half as long again, because they do not fit into the processor's
# cache.
CONVERSATIONS_AT_ONCE = 5_000
# The memory is for scores in segments. With less memory, PostgreSQL sorts all rows once for each bucket,
# which takes three times as long. Only one count of many responses runs at a time.
MEMORY_FOR_SEGMENTS = "32MB"
TIMES_IN_SQL = 10  # NumPy adds about this many values while the database adds one.
_NOTHING: Part = ("SELECT '{}'::json", [])
_NO_NAMES: Mapping[str, str] = {}
_COMPLETED = 2  # The progress of a conversation. The value 1 means that it has an answer, and BEGUN none.
_COVERS = {
    "completed": "c.completed_at IS NOT NULL AND c.is_listed",
    "partial": "c.completed_at IS NULL",
}
_CONDITIONS = {
    "submitted_after": "c.completed_at >= %s",
    "submitted_before": "c.completed_at < %s",
    "provider": "c.provider = %s",
    "suspected": "c.is_suspected = %s",
}


class TooManyToDerive(Exception):
    """There are more scores than a request can count."""


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """Counts from the database. `unfinished` counts unfinished conversations by their current block.

    `changes` is the tally's number of changes at that moment. `derived` is read by the module `derived`; None
    if it was not requested. `sent` is read by the module `fields`. `values` are the numbers of responses with
    each value of the segmenting field; `""` counts responses without one. `themes` is read by the module
    `themes`. `weighted` are the same counts in units of weights, with `weighting` about the weights; None
    without weights.
    """

    changes: int
    listed: int
    completed: int
    unlisted: int
    unfinished: Mapping[int, int]
    groups: Mapping[int, list[AnswerGroup]]
    of_segments: Mapping[EntryKey, Mapping[int, list[AnswerGroup]]]
    derived: derived_counting.Counted | None
    values: Mapping[str, int]
    sent: derived_counting.Counted
    themes: derived_counting.Counted
    weighting: Mapping[str, Any] | None = None
    weighted: AnswerCounts | None = None


@from_replica
def count_answers(
    project_id: int,
    stored: StoredScript,
    reported: Sequence[ReportedBlock],
    selection: Selection,
    dividing: Dividing,
    *,
    undeclared: Mapping[str, str] = _NO_NAMES,
    fields: Sequence[str] = (),
    read_ids: Sequence[int] = (),
    max_wait: float | None = 0.0,
    note: Progress | None = None,
    derives: bool = True,
    most_derived: int | None = None,
) -> AnswerCounts:
    """Count the answers of a project at one moment.

    With `derives`, scores and results of calculated blocks are counted too. `undeclared` are fields to search
    for in the responses, by parameter. Values of `fields` are counted, and the themes of the questions
    `read_ids`. `note` is called from time to time with the number of conversations that were read.

    Raises Unavailable if there are many responses and another thread counts many for longer than `max_wait`
    seconds; None waits without a limit. Refuses a field that no response has, and one with too many values.
    Raises TooManyToDerive if there are `most_derived` responses or more with scores or results of calculated
    blocks, or `fields`.
    """
    where, values = condition_of(project_id, selection, stored.script)
    condition = where or "c.project_id = %s", values or [project_id]
    unfinished_part = _unfinished(*condition)
    by_weight = selection.weight_by
    weight = weights.expression(by_weight) if by_weight else None

    def computed_parts(weight: Part | None) -> list[Part]:
        derived = _derived(stored.script, selection, condition, dividing, weight) if derives else None
        sent = field_counting.part(fields, *condition, division(dividing), weight)
        themes = theme_counting.part(read_ids, where, values, division(dividing), weight)
        return [derived or _NOTHING, sent or _NOTHING, themes or _NOTHING]

    parts = computed_parts(None)
    is_scan = parts[:2] != [_NOTHING] * 2
    by = getattr(dividing, "id", dividing)
    counted_of = (
        project_id,
        stored.revision,
        selection,
        by,
        derives,
        tuple(sorted(undeclared.items())),
        tuple(fields),
        tuple(read_ids),
    )
    parameter = None if dividing is None else "segment_by"
    questions = [each for each in reported if each.block.asks]
    added = 0
    if dividing is not None:
        computed = len(derived_counting.calculated_names(stored.script)) + len(stored.script.bucket_keys)
        each = len(questions) + TIMES_IN_SQL * (derives * computed + len(fields) + len(read_ids))
        added = memberships(dividing) * each

    def count(*, has_slot: bool) -> tuple[Counted, Any] | None:
        """Return the counts, and where unfinished conversations stopped; None if the count needs a slot."""
        ((listed, completed, changes),) = values_of([totals_of(project_id)])
        if most_derived is not None and listed >= most_derived and is_scan:
            raise TooManyToDerive
        needs_slot = is_large(listed, selection, stored.script, added)
        state = (
            _reading_state(project_id)
            if needs_slot and (read_ids or selecting.reads(selection.where))
            else None
        )
        key = (*counted_of, state)
        if needs_slot and (known := large.kept(key, Counted, changes=changes)) is not None:
            return known, values_of([unfinished_part])[0]
        if not has_slot:
            large.refuse_stopped(counted_of, parameter)
        if needs_slot and not has_slot:
            return None
        sent_fields.refuse_unknown(project_id=project_id, names=undeclared)
        if where or dividing is not None:
            # These parts are counted first, because they refuse too much. Scores are counted for each value
            # that exists.
            weighting = weighting_of(project_id, selection, stored.script)
            counted = _counted_part(changes, questions, dividing, condition, note, weight)
            counted = replace(counted, weighting=weighting)
            if dividing is not None and is_scan:
                with connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL work_mem = '{MEMORY_FOR_SEGMENTS}'")
            unfinished, computed, sent, themes = values_of([unfinished_part, *parts])
        else:
            groups_part = answer_groups.part([each.block for each in questions])
            unfinished, computed, sent, themes, rows = values_of([unfinished_part, *parts, groups_part])
            groups = answer_groups.by_block(rows, [each.block for each in questions])
            counted = Counted(changes, listed, completed, groups, {})
        counted = replace(counted, derived=computed if derives else None, sent=sent, themes=themes)
        if counted.weighted is not None:
            computed, sent, themes = values_of(computed_parts(weight))
            own = replace(counted.weighted, derived=computed if derives else None, sent=sent, themes=themes)
            counted = replace(counted, weighted=own)
        if needs_slot:
            large.keep(key, counted)
        return counted, unfinished

    # Counts of all responses may take as long as any statement.
    most_wait = max_wait if dividing is not None or selection.where else None
    with one_moment(max_wait), large.stopped(counted_of, parameter, max_wait=most_wait):
        found = count(has_slot=False)
    # The count is outside of the transaction, because the database ends a transaction that is idle for long.
    if found is None:
        with (
            large.counting_slot(max_wait=max_wait),
            one_moment(max_wait),
            large.stopped(counted_of, parameter, max_wait=most_wait),
        ):
            found = count(has_slot=True)
    assert found is not None
    counted, unfinished = found
    counts = AnswerCounts(
        changes=counted.changes,
        listed=counted.listed,
        completed=counted.completed,
        unlisted=sum(row[-1] for row in unfinished),
        unfinished=_drop_off(stored.script, stored.revision, unfinished),
        **_figures_of(counted),
        weighting=counted.weighting,
    )
    if counted.weighted is None:
        return counts
    return replace(counts, weighted=replace(counts, **_figures_of(counted.weighted)))


def _figures_of(counted: Counted) -> dict[str, Any]:
    return {
        "groups": counted.groups,
        "of_segments": counted.of_segments,
        "derived": counted.derived,
        "values": counted.values,
        "sent": counted.sent or {},
        "themes": counted.themes or {},
    }


def weighting_of(project_id: int, selection: Selection, script: Script) -> Mapping[str, Any] | None:
    """The figures about the weights of selected responses; None without weights. Refuses weights that add up
    to too much.
    """
    name = selection.weight_by
    if not name:
        return None
    where, values = condition_of(project_id, replace(selection, weight_by=None), script)
    (counted,) = values_of([weights.part(name, where or "c.project_id = %s", values or [project_id])])
    return weights.weighting(name, counted)


def is_large(listed: int, selection: Selection, script: Script, added: int) -> bool:
    """Whether a count needs a slot: of many responses, or adding `added` values of each response."""
    return (
        listed >= large.LARGE
        or listed * added > large.MUCH_ADDED
        or selecting.is_much(selection.where, responses=listed, script=script)
    )


def _counted_part(
    changes: int,
    questions: Sequence[ReportedBlock],
    dividing: Dividing,
    condition: tuple[str, list[Any]],
    note: Progress | None,
    weight: Part | None,
) -> Counted:
    """Counts of selected conversations, or of segments, from the packed answers. With `weight` they are
    counted by their weights, too.
    """
    from surveys.services.counting.packed import Counter  # noqa: PLC0415 - NumPy: 25 MB

    values = Places(dividing) if isinstance(dividing, Values) else None
    block = dividing if isinstance(dividing, ReportedBlock) else None
    most = values.most if values else 0
    counter = Counter(questions, block, most)
    weighted = Counter(questions, block, most, unweighted=counter) if weight else None
    listed = completed = looked_at = 0
    mark = dividing.mark if isinstance(dividing, Values) else None
    with closing(packed_batches(*condition, mark, *([weight] if weight else []))) as batches:
        for data, progress, [names, *own] in batches:
            weights_of_each = own[0] if own else ()
            segments = values.add(names, progress, weights_of_each) if values else None
            counter.add(data, segments)
            if weighted is not None:
                weighted.add(data, segments, weights_of_each)
            listed += len(progress) - progress.count(BEGUN)
            completed += progress.count(_COMPLETED)
            looked_at += len(progress)
            if note is not None:
                note(looked_at)
    keys = values.keys if values else ()
    sizes = values.sizes if values else {}
    found = Counted(
        changes, listed, completed, counter.groups(), counter.groups_of_segments(keys), values=sizes
    )
    if weighted is None:
        return found
    sums = replace(
        found,
        groups=weighted.groups(),
        of_segments=weighted.groups_of_segments(keys),
        values=values.weights if values else {},
    )
    return replace(found, weighted=sums)


def refuse_many_recent_values(
    project_id: int, selection: Selection, script: Script, dividing: Values
) -> None:
    """Refuse, before a long count, a division into too many values in the latest selected responses alone."""
    where, values = condition_of(project_id, selection, script)
    mark, own = dividing.mark
    sql = f"""
        SELECT DISTINCT {mark} FROM (
            SELECT * FROM surveys_conversation
            WHERE project_id = %s AND is_listed ORDER BY updated_at DESC, id DESC LIMIT %s
        ) c WHERE {where or "TRUE"}
    """
    with selecting.stopped(selection.where):
        rows = fetch_rows(sql, [*own, project_id, sent_fields.LOOKED_AT, *values])
    known = {name_of(each) for each in dividing.entries}
    refuse_too_many(dividing, len(known | {value for (value,) in rows if value is not None}))


def _derived(
    script: Script, selection: Selection, condition: Part, dividing: Dividing, weight: Part | None
) -> Part | None:
    is_partial, by = selection.covers == "partial", division(dividing)
    return derived_counting.part(script, *condition, is_partial=is_partial, division=by, weight=weight)


def values_of(parts: Sequence[Part]) -> list[Any]:
    """The values of several parts, in one statement. Raises TakesTooLong as `require_time` does."""
    require_time()
    sql = f"SELECT {', '.join(f'({part})::text' for part, _ in parts)}"
    (texts,) = fetch_rows(sql, [value for _, values in parts for value in values])
    return [orjson.loads(text or "[]") for text in texts]


@contextmanager
def one_moment(max_wait: float | None) -> Iterator[None]:
    """Make all statements inside the block see the same answers.

    In a transaction of the caller, the statements see the same as that transaction. If the wait has no limit
    (None), the statements have no time limit either.
    """
    if connection.in_atomic_block:
        yield
        return
    with in_transaction:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            if max_wait is None:
                cursor.execute("SET LOCAL statement_timeout = 0")
        yield


def packed_batches(
    where: str, values: Sequence[Any], *marks: Part | None
) -> Generator[tuple[bytes, Sequence[int], Sequence[Sequence[Any]]]]:
    """The packed answers of selected conversations with separators, the progress of each conversation, and
    the names of its segments by each mark.

    Yields some thousand conversations at a time. The database reads conversations in the order of its pages,
    which is fast for the random ids of anonymous projects.
    """
    named = [mark or ("NULL", []) for mark in marks]
    progress_of = "c.is_listed::int + (c.is_listed AND c.completed_at IS NOT NULL)::int"
    columns = ["c.packed", progress_of, *(sql for sql, _ in named)]
    sql = f"""
        SELECT {", ".join(columns)}
        FROM surveys_conversation c WHERE {where}
    """
    own = [value for _, each in named for value in each]
    with closing(fetch_in_batches(sql, [*own, *values], size=CONVERSATIONS_AT_ONCE)) as batches:
        for rows in batches:
            require_time()
            packed, progress, *names = zip(*rows, strict=True)
            yield packing.SEPARATOR.join(packed) + packing.SEPARATOR, progress, names


def condition_of(project_id: int, selection: Selection, script: Script) -> tuple[str, list[Any]]:
    """Return the condition for selected conversations `c`; an empty text if all are selected."""
    parts = [_COVERS[selection.covers]] if selection.covers in _COVERS else []
    values: list[Any] = []
    for name, condition in _CONDITIONS.items():
        if (value := getattr(selection, name)) is not None:
            parts.append(condition)
            values.append(value)
    chosen = selecting.parts(
        fields=selection.fields,
        where=selection.where,
        script=lambda: script,
        state="c.state",
    )
    for condition, own in chosen:
        parts.append(condition)
        values += own
    if selection.weight_by:
        condition, own = weights.condition(selection.weight_by)
        parts.append(condition)
        values += own
    return (" AND ".join(["c.project_id = %s", *parts]), [project_id, *values]) if parts else ("", [])


@from_replica
def count_sets(
    project_id: int, selection: Selection, script: Script, sets: Mapping[int, Sequence[int]]
) -> Mapping[int, int]:
    """Return how many selected responses chose exactly these options of each block, by block. Runs one
    statement.
    """
    where, values = condition_of(project_id, selection, script)
    chosen = "c.state->'answers'->%s::text->'option_ids'"
    parts = [f"count(*) FILTER (WHERE {chosen} @> %s::jsonb AND {chosen} <@ %s::jsonb)" for _ in sets]
    more = [text for block_id, ids in sets.items() for text in (str(block_id), str([*ids])) * 2]
    among = where or "c.project_id = %s"
    sql = f"SELECT {', '.join(parts)} FROM surveys_conversation c WHERE {among} AND c.is_listed"
    with selecting.stopped(selection.where):
        (counts,) = fetch_rows(sql, [*more, *(values or [project_id])])
    return dict(zip(sets, counts, strict=True))


@from_replica
def could_see(
    project_id: int,
    selection: Selection,
    script: Script,
    revisions: Mapping[int, int],
    *,
    max_wait: float | None,
) -> Mapping[int, tuple[int, int]]:
    """How many selected responses, and how many conversations, could see each of these blocks, by id.

    `revisions` are those of the script that have the blocks first. A conversation could see a block if its
    last move was at such a revision, and the block was not added before a place that it had passed.
    """
    where, values = condition_of(project_id, selection, script)
    seen = "revision >= %s AND NOT coalesce(left_out @> %s::jsonb, FALSE)"
    parts = [
        f"count(*) FILTER (WHERE is_listed AND {seen}), count(*) FILTER (WHERE {seen})" for _ in revisions
    ]
    sql = f"""
        SELECT {", ".join(parts)} FROM (
            SELECT c.is_listed, (c.state->>'revision')::bigint AS revision, c.state->'left_out' AS left_out
            FROM surveys_conversation c
            WHERE {where or "c.project_id = %s"} AND (c.is_listed OR c.completed_at IS NULL) OFFSET 0
        ) seen
    """
    of_blocks = [value for key, revision in revisions.items() for value in (revision, str(key)) * 2]
    with one_moment(max_wait), selecting.stopped(selection.where if max_wait is not None else None):
        [row] = fetch_rows(sql, [*of_blocks, *(values or [project_id])])
    return dict(zip(revisions, zip(row[::2], row[1::2], strict=True), strict=True))


def totals_of(project_id: int) -> Part:
    """Return stored sums of a project: listed conversations, completed conversations, and changes of its
    answers.
    """
    return (
        "SELECT json_build_array("
        "coalesce(sum(listed), 0), coalesce(sum(completed), 0), coalesce(sum(changes), 0))"
        " FROM surveys_tally WHERE project_id = %s",
        [project_id],
    )


def _reading_state(project_id: int) -> str:
    """Return the progress of a project's analyses. Analyses add readings, which are no changes of answers."""
    sql = """
        SELECT coalesce(string_agg(concat_ws(' ', id, status, progress), ',' ORDER BY id), '')
        FROM surveys_analysis WHERE project_id = %s
    """
    return str(fetch_rows(sql, [project_id])[0][0])


def _unfinished(where: str, values: list[Any]) -> Part:
    """Return unfinished conversations, grouped by their current block, its revision and the previous block.
    Each group has the number of its conversations without an answer.
    """
    return (
        f"""
        SELECT json_agg(standing) FROM (
            SELECT json_build_array(c.state->'at', c.state->'revision', c.state->'path'->-1,
                count(*), count(*) FILTER (WHERE NOT c.is_listed)) AS standing
            FROM surveys_conversation c
            WHERE {where} AND c.completed_at IS NULL
            GROUP BY c.state->'at', c.state->'revision', c.state->'path'->-1
        ) unfinished
        """,
        values,
    )


def _drop_off(script: Script, revision: int, rows: Sequence[Sequence[Any]]) -> dict[int, int]:
    """The number of unfinished conversations at each block.

    A conversation from before a change of the script is counted at its block. If blocks were inserted before
    its position, it is counted after the last block that it passed.
    """
    counts: dict[int, int] = {}
    for at, seen, last, number, _ in rows:
        passed = script.index_by_id.get(last, -1) if last is not None else -1
        index = at if seen == revision or at > passed else passed + 1
        if 0 <= index < len(script.blocks):
            block_id = script.blocks[index].id or 0
            counts[block_id] = counts.get(block_id, 0) + number
    return counts
