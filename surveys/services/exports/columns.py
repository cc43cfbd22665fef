"""The columns of a table of responses: a header that a person can read, and what stands in each row's cells.

Columns are found by the ids of blocks and options, never by their words, which may be the same twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities import statements
from surveys.engine.script import NUMBERS, Block, Option
from surveys.models import Project
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.storage import StoredScript

FIXED = (
    "id",
    "status",
    "session_number",
    "started_at",
    "submitted_at",
    "user_id",
    "platform_id",
    "provider",
)
IN_COLUMNS = frozenset({"multi_punch", "ranking"})  # one column for each option
# Spreadsheets take a cell that begins so for a formula, some of them behind what is not seen, and some when
# it is written in the wide letters of Asian scripts. These are for use between the brackets of expressions.
EQUALS, PLUS, MINUS, AT = "=\uff1d\ufe66", "+\uff0b\ufe62", "\\-\uff0d\ufe63", "@\uff20\ufe6b"
UNSEEN = (
    "\\s\\x00-\\x1f\\x7f-\\x9f\\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_FORMULA = re.compile(f"[{UNSEEN}]*[{EQUALS}{PLUS}{MINUS}{AT}]|[\\t\\r\\n]")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?").fullmatch
# Beside the archived blocks with answers, those that were answered otherwise before they had options.
_ANSWERED = """
    SELECT b.id, b.is_archived FROM surveys_block b
    WHERE b.project_id = %s AND (
        b.is_archived AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id)
        OR NOT b.is_archived AND b.type = ANY(%s)
            AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id AND a.option_id IS NULL)
    )
"""


class Number(str):
    """The text of a number, to be written as one."""

    __slots__ = ()


Cell = str | None
CHOSEN, NOT_CHOSEN = Number(1), Number(0)


@dataclass(frozen=True, slots=True)
class Column:
    """A question's column, or that of one of its options."""

    block: Block
    option: Option | None = None

    @property
    def words(self) -> str:
        prompt = " ".join(self.block.prompt.split()) or self.name
        return prompt if self.option is None else f"{prompt}: {' '.join(self.option.display_text.split())}"

    @property
    def name(self) -> str:
        return self.block.name or f"block {self.block.id}"

    @property
    def distinctions(self) -> tuple[str, str, str]:
        """What tells it from columns with the same words, one after the other; the last is its alone."""
        if self.option is None:
            return self.name, "", f"block {self.block.id}"
        return self.name, self.option.value, f"option {self.option.id}"


@dataclass(frozen=True, slots=True)
class Table:
    """Headers, and how a row of `responses` becomes the cells below them."""

    headers: Sequence[str]
    cells: Callable[[Sequence[Any]], list[Cell]]


def neutral(text: str) -> str:
    """A text that no spreadsheet takes for a formula: behind an apostrophe where it could."""
    return f"'{text}" if _FORMULA.match(text) else text


def table(project: Project) -> Table:
    """The table of a project's responses: its questions in script order, removed ones with answers last."""
    kept = script_cache.get(project.pk, project.revision)
    columns = list(_columns(project, kept.stored))
    return Table((*FIXED, *headers(columns)), _drawn(project, columns, kept.catalogue.labels))


def _columns(project: Project, stored: StoredScript) -> Iterator[Column]:
    rows = statements.fetch_rows(_ANSWERED, [project.pk, list(IN_COLUMNS)])
    archived = {block_id for block_id, is_archived in rows if is_archived}
    otherwise = {block_id for block_id, is_archived in rows if not is_archived}
    removed = stored.archived_options or {}
    told = (*stored.script.blocks, *(block for block in stored.archived if block.id in archived))
    for block in told:
        if not block.asks:
            continue
        if block.type not in IN_COLUMNS or block.id in otherwise:
            yield Column(block)
        if block.type in IN_COLUMNS:
            for option in (*block.options, *removed.get(block.id or 0, ())):
                yield Column(block, option)


def headers(columns: Sequence[Column]) -> list[str]:
    """The columns' words, those that are the same told apart by as little as it takes."""
    told = [neutral(column.words) for column in columns]
    for level in range(2):
        told = _told_apart(told, [column.distinctions[level] for column in columns])
    while len({*told, *FIXED}) < len(told) + len(FIXED):
        told = _told_apart(told, [column.distinctions[-1] for column in columns])
    return told


def _told_apart(told: Sequence[str], more: Sequence[str]) -> list[str]:
    times = Counter((*told, *FIXED))
    return [
        f"{each} ({' '.join(further.split())})" if times[each] > 1 and further else each
        for each, further in zip(told, more, strict=True)
    ]


def _drawn(
    project: Project, columns: Sequence[Column], labels: Mapping[int, str]
) -> Callable[[Sequence[Any]], list[Cell]]:
    of_block = {column.block.id: n for n, column in enumerate(columns, len(FIXED)) if column.option is None}
    of_option = {column.option.id: n for n, column in enumerate(columns, len(FIXED)) if column.option}
    type_of = {column.block.id: column.block.type for column in columns}
    shown = {option_id: neutral(label) for option_id, label in labels.items()}
    unanswered: list[Cell] = [None] * len(columns)
    choices: dict[int | None, list[int]] = defaultdict(list)
    for n, column in enumerate(columns, len(FIXED)):
        if column.option and column.block.type == "multi_punch":
            choices[column.block.id].append(n)

    def alone(block_id: int, option_id: int | None, text: str, before: Cell) -> Cell:
        """The cell of a question with one column; of several answers, from when it was another kind, all."""
        cell = shown.get(option_id) if option_id is not None else None
        if cell is None:
            cell = _number(text) if type_of[block_id] in NUMBERS else neutral(text)
        return cell if before is None else f"{before}, {cell}"

    def cells(row: Sequence[Any]) -> list[Cell]:
        drawn = [*_first(row, project.is_anonymous), *unanswered]
        blocks, options, texts = (each or () for each in row[7:10])
        for block_id, option_id, text in zip(blocks, options, texts, strict=True):
            place = of_option.get(option_id)
            if place is None:
                place = of_block.get(block_id)
                if place is not None:  # else it came after the columns were found
                    drawn[place] = alone(block_id, option_id, text, drawn[place])
                continue
            if drawn[place] is None:
                for other in choices.get(block_id, ()):
                    drawn[other] = NOT_CHOSEN
            drawn[place] = _number(text) if type_of[block_id] == "ranking" else CHOSEN
        return drawn

    return cells


def _number(text: str) -> Cell:
    return Number(text) if _NUMBER(text) else neutral(text)


def _first(row: Sequence[Any], is_anonymous: bool) -> list[Cell]:
    key, session_number, completed_at, user_id, platform_id, provider, started_at = row[:7]
    return [
        str(key),
        "partial" if completed_at is None else "completed",
        None if is_anonymous or session_number is None else Number(session_number),
        _time(started_at),
        _time(completed_at),
        None if is_anonymous else user_id,
        None if is_anonymous or platform_id is None else neutral(platform_id),
        provider,
    ]


def _time(at: datetime | None) -> Cell:
    """As `communities.wire` writes it."""
    return None if at is None else at.isoformat(timespec="seconds").replace("+00:00", "Z")
