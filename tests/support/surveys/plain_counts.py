"""Figures counted from the answer rows one by one, to compare with the application's figures."""

from __future__ import annotations

import statistics as plain_statistics
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from django.db import connection

from surveys.engine import statistics
from surveys.engine.packing import MAX_POINT
from surveys.engine.script import CHOICES, SCALES, Block
from surveys.engine.statistics import AnswerGroup, EntryKey
from surveys.models import Answer, Conversation, Project
from surveys.services.scripts import cache as script_cache

# The records of `surveys.engine.packing`, made from answer rows.
_PACKED_ROWS = r"""(
    SELECT coalesce(string_agg(
        CASE
            WHEN option_id IS NOT NULL THEN int8send(option_id << 8 | 32 | least(ordinal, 31))
            WHEN number IS NULL THEN int8send(block_id << 8 | 64)
            WHEN number BETWEEN 0 AND 20 AND number = floor(number) THEN
                int8send(block_id << 8 | 96 | number::int)
            ELSE int8send(block_id << 8 | 128)
                || '\x000000'::bytea || substr(float8send(number), 1, 4) || '\xa0'::bytea
                || '\x000000'::bytea || substr(float8send(number), 5, 4) || '\xc0'::bytea
        END, ''::bytea), ''::bytea)
    FROM surveys_answer WHERE conversation_id = conversation.id
)"""


def pack_answer_rows() -> None:
    """Pack the answers of all conversations, after a test has written their rows directly."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE surveys_conversation conversation SET packed = {_PACKED_ROWS}")


def unequal_packs() -> list[str]:
    """Conversations whose packed answers differ from their answer rows."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, packed, {_PACKED_ROWS} FROM surveys_conversation conversation")
        rows = cursor.fetchall()
    assert rows
    return [str(id) for id, packed, of_rows in rows if _records(packed) != _records(of_rows)]


def _records(packed: bytes) -> list[bytes]:
    return sorted(bytes(packed[n : n + 8]) for n in range(0, len(packed), 8))


def statistics_of(project: Project, within: Collection[Conversation]) -> dict[int, dict[str, Any]]:
    """The statistics of every question by block id, over some conversations."""
    return {
        block.id or 0: _summary(block, removed, groups)
        for block, removed, groups in _questions(project, within)
    }


def _summary(
    block: Block,
    removed: Sequence[Any],
    groups: Sequence[AnswerGroup],
    all_groups: Sequence[AnswerGroup] | None = None,
) -> dict[str, Any]:
    """The statistics of a block, with quartiles and deviation by the standard library."""
    summary = statistics.summarize(block, removed, groups, all_groups=all_groups)
    stats = summary["stats"]
    numbers = [each.total for each in groups if each.numbers]
    is_mixed = block.type in SCALES and any(each.point is None for each in groups if each.numbers)
    if stats is None or not numbers or is_mixed:
        return summary
    several = numbers if len(numbers) > 1 else numbers * 2
    quartiles = plain_statistics.quantiles(several, n=4, method="inclusive")
    stats |= {
        name: pytest.approx(float(number))
        for name, number in zip(("lower_quartile", "median", "upper_quartile"), quartiles, strict=True)
    }
    stats["standard_deviation"] = None
    if len(numbers) > 1:
        stats["standard_deviation"] = pytest.approx(float(plain_statistics.stdev(map(Fraction, numbers))))
    return summary


def segments_of(
    project: Project, within: Collection[Conversation], dividing: int
) -> dict[EntryKey, dict[int, dict[str, Any]]]:
    """The statistics of every question, for each answer to one of them."""
    questions = _questions(project, within)
    block, removed, groups = next(each for each in questions if each[0].id == dividing)
    found = {}
    for entry in statistics.segment_entries(block, removed, groups):
        inside = [each for each in within if entry.key in _entries(block, each)]
        parts = {each.id: groups for each, _, groups in _questions(project, inside)}
        found[entry.key] = {
            each.id or 0: _summary(each, gone, parts[each.id], all_groups)
            for each, gone, all_groups in questions
        }
    return found


def _entries(block: Block, conversation: Conversation) -> set[EntryKey]:
    rows = Answer.objects.filter(conversation=conversation, block_id=block.id or 0)
    if block.type in CHOICES:
        return {(row.option_id, None) for row in rows if row.option_id is not None}
    numbers = [row.number for row in rows if row.option_id is None]
    return {(None, int(number)) for number in numbers if number is not None and _is_point(number)}


def _questions(
    project: Project, within: Iterable[Conversation]
) -> list[tuple[Block, Sequence[Any], list[AnswerGroup]]]:
    stored = script_cache.of(project).stored
    rows = list(Answer.objects.filter(conversation__in=within))
    blocks = [each for each in (*stored.script.blocks, *stored.archived) if each.asks]
    removed = stored.archived_options or {}
    return [(each, removed.get(each.id or 0, ()), _groups(each, rows)) for each in blocks]


def _groups(block: Block, rows: Iterable[Answer]) -> list[AnswerGroup]:
    """One group for each row, because statistics do not depend on the grouping of rows."""
    groups = []
    for row in rows:
        if row.block_id != block.id:
            continue
        number = float(row.ordinal + 1) if block.type == "ranking" else row.number
        has_points = block.type in SCALES or block.type == "ranking"
        point = int(number) if number is not None and has_points and _is_point(number) else None
        counts = (1, int(row.ordinal == 0), int(number is not None))
        total = Decimal(0) if number is None else Decimal(f"{number:.15g}")
        groups.append(AnswerGroup(row.option_id, point, *counts, total, number, number))
    return groups


def _is_point(number: float) -> bool:
    return 0 <= number <= MAX_POINT and number == int(number)
