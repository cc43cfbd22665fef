"""Why a question's cell has no answer: the question was skipped, or not shown (rule 6.64)."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from enum import Enum
from typing import Any

from surveys.engine.script import Script
from surveys.models import Project
from surveys.services.exports.cells import NumberText
from surveys.services.scripts import cache as script_cache

COMPLETED_AT = 2  # indexes in a row of `responses.batches`; the course exists only if it was requested
COURSE = slice(21, 24)


class Missing(Enum):
    """A reason, as columns of texts and columns of numbers write it."""

    SKIPPED = ("[skipped]", -99)
    NOT_SHOWN = ("[not shown]", -98)

    @property
    def text(self) -> str:
        return self.value[0]

    @property
    def number(self) -> NumberText:
        return NumberText(self.value[1])


BLOCKS_ANSWERED = 11  # the ids of answered blocks


def removed_questions(project: Project) -> frozenset[int]:
    """The removed questions that may still have answers."""
    archived = script_cache.of(project).stored.archived
    return frozenset(block.id for block in archived if block.id is not None and block.asks)


def skipped_among(removed: Set[int]) -> Callable[[Sequence[Any]], dict[str, object]]:
    """For each row with its course, the removed questions that were shown and skipped; empty for none.

    An import walks the current script, so it cannot find these questions (rule 6.64).
    """

    def of_row(row: Sequence[Any]) -> dict[str, object]:
        answered = row[BLOCKS_ANSWERED] or ()
        skipped = [each for each in row[COURSE][2] if each in removed and each not in answered]
        return {"skipped_removed": skipped} if skipped else {}

    return of_row


LABELS = {each.value[1]: each.text for each in Missing}


def missing_answers(
    project: Project, script: Script
) -> Callable[[Sequence[Any]], Callable[[int], Missing | None]]:
    """For each row of a response, a function that returns the reason for a block without an answer.

    The function returns None for blocks that a partial response has not reached, and for responses whose
    course is not known.
    """
    index = script.index_by_id

    def reached(is_completed: bool, revision: int | None, at: int, path: Sequence[int]) -> int:
        """The number of blocks of the script that the response has passed, shown or not."""
        if is_completed:
            return len(script.blocks)
        if revision == project.revision:
            return at
        return max((index[block_id] + 1 for block_id in path if block_id in index), default=0)

    def of_row(row: Sequence[Any]) -> Callable[[int], Missing | None]:
        is_completed = row[COMPLETED_AT] is not None
        revision, at, path = row[COURSE]
        shown = frozenset(path)
        end = 0 if at is None else reached(is_completed, revision, at, path)
        place_of_removed = 0 if is_completed else len(script.blocks)

        def reason(block_id: int) -> Missing | None:
            if block_id in shown:
                return Missing.SKIPPED
            return Missing.NOT_SHOWN if index.get(block_id, place_of_removed) < end else None

        return reason

    return of_row
