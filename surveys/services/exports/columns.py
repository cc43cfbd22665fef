"""The columns of a table of responses: readable headers, and the cells of each row.

Columns are keyed by the ids of blocks and options, because their texts may be the same twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities import spreadsheets, statements
from surveys.engine.script import NUMBERS, Block, Option, Script
from surveys.models import Project
from surveys.services.representations.response import calculated_blocks, read_part, result_value
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
MULTI_COLUMN_TYPES = frozenset({"multi_punch", "ranking"})  # one column for each option
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?").fullmatch
# Archived blocks with answers, and current ones with answers from a time when they were of another type.
_ANSWERED_BLOCKS = """
    SELECT b.id, b.is_archived FROM surveys_block b
    WHERE b.project_id = %s AND (
        b.is_archived AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id)
        OR NOT b.is_archived AND b.type = ANY(%s)
            AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id AND a.option_id IS NULL)
    )
"""
_FIELDS = """
    SELECT DISTINCT jsonb_object_keys(state -> 'fields') AS name FROM surveys_conversation
    WHERE project_id = %s AND is_listed AND state ? 'fields' ORDER BY name
"""
# Where a row of `responses.batches` holds these.
SCORES, RESULTS, FIELDS = 8, 9, 10
ANSWERS = slice(11, 14)


class NumberText(str):
    """The text of a number, which a workbook stores as a number."""

    __slots__ = ()


Cell = str | None
CHOSEN, NOT_CHOSEN = NumberText(1), NumberText(0)


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """The column of a question, or of one of its options."""

    block: Block
    option: Option | None = None

    @property
    def text(self) -> str:
        prompt = " ".join(self.block.prompt.split()) or self.name
        return prompt if self.option is None else f"{prompt}: {' '.join(self.option.display_text.split())}"

    @property
    def name(self) -> str:
        return self.block.name or f"block {self.block.id}"

    @property
    def distinctions(self) -> tuple[str, str, str]:
        """Texts that tell the column from others with the same header, in this order; the last is unique."""
        if self.option is None:
            return self.name, "", f"block {self.block.id}"
        return self.name, self.option.value, f"option {self.option.id}"


@dataclass(frozen=True, slots=True)
class ResponseTable:
    """Headers, and a function that turns a row of `responses.batches` into the cells below them."""

    headers: Sequence[str]
    cells: Callable[[Sequence[Any]], list[Cell]]


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A column of what is stored beside the answers: `score.…`, `variable.…` or `field.…` (decisions 15.25).

    `place` is where a row of `responses.batches` holds it, `key` under which key there.
    """

    header: str
    place: int
    key: str

    def cell(self, parts: Mapping[int, Mapping[str, Any]]) -> Cell:
        """The cell of a row whose parts of the state have been read."""
        value = parts[self.place].get(self.key)
        if self.place == SCORES:
            value = value and value[0]
        elif self.place == RESULTS:
            value = result_value(value)
        if value is None:
            return None
        return spreadsheets.neutralise(value) if isinstance(value, str) else NumberText(value)


def response_table(project: Project, *, solutions: bool = True) -> ResponseTable:
    """The table of a project's responses: questions in script order, then removed ones with answers.

    At the end stands what was calculated and sent along; scores only for who may know the `solutions`.
    """
    cached = script_cache.get(project.pk, project.revision)
    columns = list(_columns(project, cached.stored))
    derived = list(_derived_columns(project, cached.script, solutions))
    answer_cells = _cells_of(project, columns, cached.catalogue.labels)
    more = [column.header for column in derived]
    places = {column.place for column in derived}

    def cells(row: Sequence[Any]) -> list[Cell]:
        parts = {place: read_part(row[place]) or {} for place in places}
        return [*answer_cells(row), *(column.cell(parts) for column in derived)]

    return ResponseTable((*FIXED, *headers(columns, others=(*FIXED, *more)), *more), cells)


def _derived_columns(project: Project, script: Script, solutions: bool) -> Iterator[DerivedColumn]:
    if solutions and script.scoring_enabled:
        for key in script.bucket_keys:
            yield DerivedColumn(f"score.{key}", SCORES, key)
    if solutions:
        for block_id, name in calculated_blocks(script).items():
            yield DerivedColumn(f"variable.{spreadsheets.neutralise(name)}", RESULTS, block_id)
    for (name,) in statements.fetch_rows(_FIELDS, [project.pk]):
        yield DerivedColumn(f"field.{name}", FIELDS, name)


def _columns(project: Project, stored: StoredScript) -> Iterator[ExportColumn]:
    rows = statements.fetch_rows(_ANSWERED_BLOCKS, [project.pk, list(MULTI_COLUMN_TYPES)])
    archived = {block_id for block_id, is_archived in rows if is_archived}
    retyped = {block_id for block_id, is_archived in rows if not is_archived}
    removed = stored.archived_options or {}
    blocks = (*stored.script.blocks, *(block for block in stored.archived if block.id in archived))
    for block in blocks:
        if not block.asks:
            continue
        if block.type not in MULTI_COLUMN_TYPES or block.id in retyped:
            yield ExportColumn(block)
        if block.type in MULTI_COLUMN_TYPES:
            for option in (*block.options, *removed.get(block.id or 0, ())):
                yield ExportColumn(block, option)


def headers(columns: Sequence[ExportColumn], *, others: Sequence[str] = FIXED) -> list[str]:
    """The columns' headings. Those that would equal one another or one of `others` are extended to differ."""
    texts = [spreadsheets.neutralise(column.text) for column in columns]
    for level in range(2):
        texts = _disambiguated(texts, [column.distinctions[level] for column in columns], others)
    while len({*texts, *others}) < len(texts) + len(others):
        texts = _disambiguated(texts, [column.distinctions[-1] for column in columns], others)
    return texts


def _disambiguated(texts: Sequence[str], distinctions: Sequence[str], others: Sequence[str]) -> list[str]:
    times = Counter((*texts, *others))
    return [
        f"{text} ({' '.join(distinction.split())})" if times[text] > 1 and distinction else text
        for text, distinction in zip(texts, distinctions, strict=True)
    ]


def _cells_of(
    project: Project, columns: Sequence[ExportColumn], labels: Mapping[int, str]
) -> Callable[[Sequence[Any]], list[Cell]]:
    of_block = {column.block.id: n for n, column in enumerate(columns, len(FIXED)) if column.option is None}
    of_option = {column.option.id: n for n, column in enumerate(columns, len(FIXED)) if column.option}
    type_of = {column.block.id: column.block.type for column in columns}
    shown = {option_id: spreadsheets.neutralise(label) for option_id, label in labels.items()}
    unanswered: list[Cell] = [None] * len(columns)
    choices: dict[int | None, list[int]] = defaultdict(list)
    for n, column in enumerate(columns, len(FIXED)):
        if column.option and column.block.type == "multi_punch":
            choices[column.block.id].append(n)

    def single_cell(block_id: int, option_id: int | None, text: str, before: Cell) -> Cell:
        """The cell of a question with one column; it joins several answers from when it had another type."""
        cell = shown.get(option_id) if option_id is not None else None
        if cell is None:
            cell = _number(text) if type_of[block_id] in NUMBERS else spreadsheets.neutralise(text)
        return cell if before is None else f"{before}, {cell}"

    def cells(row: Sequence[Any]) -> list[Cell]:
        row_cells = [*_fixed_cells(row, project.is_anonymous), *unanswered]
        blocks, options, texts = (each or () for each in row[ANSWERS])
        for block_id, option_id, text in zip(blocks, options, texts, strict=True):
            place = of_option.get(option_id)
            if place is None:
                place = of_block.get(block_id)
                if place is not None:  # None for a block that was added after the columns were determined
                    row_cells[place] = single_cell(block_id, option_id, text, row_cells[place])
                continue
            if row_cells[place] is None:
                for other in choices.get(block_id, ()):
                    row_cells[other] = NOT_CHOSEN
            row_cells[place] = _number(text) if type_of[block_id] == "ranking" else CHOSEN
        return row_cells

    return cells


def _number(text: str) -> Cell:
    return NumberText(text) if _NUMBER(text) else spreadsheets.neutralise(text)


def _fixed_cells(row: Sequence[Any], is_anonymous: bool) -> list[Cell]:
    key, session_number, completed_at, user_id, platform_id, provider, started_at = row[:7]
    return [
        str(key),
        "partial" if completed_at is None else "completed",
        None if is_anonymous or session_number is None else NumberText(session_number),
        _time(started_at),
        _time(completed_at),
        None if is_anonymous else user_id,
        None if is_anonymous or platform_id is None else spreadsheets.neutralise(platform_id),
        provider,
    ]


def _time(at: datetime | None) -> Cell:
    """As `communities.wire` writes it."""
    return None if at is None else at.isoformat(timespec="seconds").replace("+00:00", "Z")
