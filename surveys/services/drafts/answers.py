"""The number of answers to a block. Editors see the number before they archive the block, and afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from surveys.engine.flow import titles
from surveys.models import Project
from surveys.services.scripts import cache as script_cache

MOST_LISTED = 100  # At most this many archived blocks are listed, the latest first.
COUNTED = 10_000  # The count is exact up to this number of answers, and takes 2 ms of CPU.

_ANSWERED = """
    SELECT b.id FROM surveys_block b
    WHERE b.project_id = %s AND b.is_archived = %s
        AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id)
"""
# The condition finds the first row of each response, because a multiple choice has several rows.
_OF_BLOCK = "SELECT 1 FROM surveys_answer WHERE block_id = %s AND ordinal = 0"
_OF_OPTION = "SELECT 1 FROM surveys_answer WHERE block_id = %s AND option_id = %s"


@dataclass(frozen=True, slots=True)
class AnswerCount:
    """The number of responses that answer a block. From 10,000 on, the number is PostgreSQL's estimate."""

    count: int
    is_estimate: bool


@dataclass(frozen=True, slots=True)
class ArchivedBlock:
    """A block that was removed from the script, with its answers."""

    title: str
    type: str
    answers: AnswerCount

    def as_json(self) -> dict[str, object]:
        counted = {"count": self.answers.count, "is_estimate": self.answers.is_estimate}
        return {"title": self.title, "type": self.type, **counted}


def archived_blocks(project: Project) -> list[ArchivedBlock]:
    """The latest archived blocks that have answers. Blocks whose answers were deleted are left out."""
    answered = answered_blocks(project_id=project.pk, are_archived=True)
    removed = script_cache.of(project).stored.archived
    newest = sorted((each for each in removed if each.id in answered), key=lambda each: each.id or 0)
    return [
        ArchivedBlock(
            titles.of_block(block, (block.position or 0) + 1), block.type, count(block_id=block.id or 0)
        )
        for block in newest[: -MOST_LISTED - 1 : -1]
    ]


def answered_blocks(*, project_id: int, are_archived: bool = False) -> frozenset[int]:
    """The ids of the blocks with answers: blocks of the script, or archived blocks.

    Each block takes one index lookup.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ANSWERED, [project_id, are_archived])
        return frozenset(block_id for (block_id,) in cursor.fetchall())


def count(*, block_id: int, option_id: int | None = None) -> AnswerCount:
    """The number of responses that answered a block, or chose its option, in a project that the caller may
    edit.
    """
    rows, of = (_OF_BLOCK, [block_id]) if option_id is None else (_OF_OPTION, [block_id, option_id])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({rows} LIMIT %s) counted", [*of, COUNTED])
        (counted,) = cursor.fetchone()
        if counted < COUNTED:
            return AnswerCount(counted, is_estimate=False)
        cursor.execute(f"EXPLAIN (FORMAT JSON) {rows}", of)
        (plan,) = cursor.fetchone()
    return AnswerCount(max(COUNTED, _rounded(int(plan[0]["Plan"]["Plan Rows"]))), is_estimate=True)


def _rounded(number: int) -> int:
    """Return the number rounded to its first two digits, because an estimate should not look like a count."""
    return round(number, 2 - len(str(number)))
