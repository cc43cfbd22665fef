"""The table of a project's responses: columns of questions, of values beside the answers, and their cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

from communities.ground import statements
from communities.ground.errors import refuse
from surveys.engine.script import NUMBERS, Script
from surveys.models import Conversation, Project
from surveys.models.conversation import outcome_of
from surveys.services.exports.cells import (
    FIXED,
    FIXED_COLUMNS,
    Cell,
    CellStyle,
    FileOptions,
    Kind,
    NumberText,
    ResponseTable,
    TableColumn,
    day,
    fixed_cells,
    number,
)
from surveys.services.exports.columns import ExportColumn, columns_of, headers, names, option_texts, part_size
from surveys.services.exports.missing import COMPLETED_AT, LABELS, Missing, missing_answers
from surveys.services.representations.response import (
    calculated_blocks,
    read_part,
    result_value,
    theme_titles,
)
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.cache import CachedScript, Catalogue

MAX_FIELDS = 1_000  # columns for metadata (rule 6.70): each response may contain 20 new fields
# Which responses a table has, for the columns that only some of them need.
_LISTED, _SCREENED_OUT = "is_listed", f"NOT is_listed AND outcome LIKE '{Conversation.SCREENED_OUT}%%'"
# The names of fields; an empty name stands for a text that somebody agreed to, and a space for a suspected
# response, two for one that a limit refused, and three for one with a language. One statement finds all.
_FIELDS = """
    SELECT DISTINCT each.name FROM surveys_conversation, LATERAL (
        SELECT jsonb_object_keys(state -> 'fields') AS name UNION ALL SELECT '' WHERE state ? 'consent'
    ) AS each
    WHERE project_id = %s AND {among} AND state ?| ARRAY['fields', 'consent']
    UNION SELECT ' ' WHERE EXISTS (
        SELECT FROM surveys_conversation WHERE project_id = %s AND is_suspected AND {among}
    )
    UNION SELECT '  ' WHERE EXISTS (
        SELECT FROM surveys_conversation WHERE project_id = %s AND outcome IS NOT NULL AND {among}
    )
    UNION SELECT '   ' WHERE EXISTS (
        SELECT FROM surveys_conversation WHERE project_id = %s AND {among} AND state ? 'language'
    )
    ORDER BY name LIMIT %s
"""
# Calculated blocks whose formula returned a text for at least one response.
_TEXT_RESULTS = """
    SELECT DISTINCT result.key FROM surveys_conversation, jsonb_each(state -> 'results') AS result
    WHERE project_id = %s AND {among} AND state ? 'results' AND NOT result.value ? 'number'
"""
_READ_QUESTIONS = """
    SELECT k.block_id FROM surveys_codebook k
    WHERE k.project_id = %s AND EXISTS (SELECT FROM surveys_reading r WHERE r.block_id = k.block_id)
    ORDER BY k.block_id
"""
# The questions about whose answers further ones were asked, with the largest number for one answer.
_FURTHER = """
    SELECT asked.key::bigint, max(jsonb_array_length(asked.value))
    FROM surveys_conversation, jsonb_each(state -> 'follow_ups') AS asked
    WHERE project_id = %s AND {among} AND state ? 'follow_ups' GROUP BY asked.key ORDER BY asked.key::bigint
"""
# The questions with texts for an option, which may have lost its `is_other` since.
_OTHERS = """
    SELECT DISTINCT jsonb_object_keys(state -> 'other')::bigint FROM surveys_conversation
    WHERE project_id = %s AND {among} AND state ? 'other'
"""
# The indexes of these values in a row of `responses.batches`.
SCORES, RESULTS, FIELDS = 8, 9, 10
ANSWERS = slice(11, 14)
READINGS, FOLLOW_UPS, OTHER, CONSENT, SUSPECTED, OUTCOME, LANGUAGE = 14, 15, 16, 17, 18, 19, 20
CHOSEN, NOT_CHOSEN = NumberText(1), NumberText(0)


@dataclass(frozen=True, slots=True)
class ValueColumn:
    """A column of a value beside the answers.

    `place` is the index in a row of `responses.batches`: of the value, or of the part of the state that has
    the value by its `key`. `read` makes a number or a text from the value, or None for an empty cell.
    """

    header: str
    place: int
    key: str | None = None
    kind: Kind = Kind.TEXT
    read: Callable[[Any], object] | None = None

    @property
    def described(self) -> TableColumn:
        return TableColumn(self.header, self.kind, self.header, self.header)

    def cell(self, parts: Mapping[int, Any], style: CellStyle) -> Cell:
        """The cell of a row whose parts of the state have been read."""
        part = parts[self.place]
        value = part if self.key is None else part.get(self.key)
        if value is not None and self.read is not None:
            value = self.read(value)
        if value is None:
            return None
        if self.kind == Kind.TEXT and style.has_types:
            return str(value)
        return style.text(value) if isinstance(value, str) else NumberText(value)


def response_table(project: Project, options: FileOptions, style: CellStyle) -> ResponseTable:
    """The table of a project's responses: questions in script order, then removed ones with answers.

    Calculated results, metadata, readings of texts, further questions and texts for options follow at the
    end; scores only for readers who may know the `solutions`. With `codes`, a column `<header>.code` with the
    options' codes follows each column of labels. Marks of missing answers need the course of the conversation
    in the rows.
    """
    cached, codes = script_cache.of(project), options.codes
    columns = list(columns_of(project, cached.stored, own_values=options.own_values))
    values = list(_value_columns(project, cached, options, style))
    described = list(_described(columns, [each.header for each in values], options, style))
    labels = option_texts(cached.catalogue, own_values=options.own_values)
    answer_cells = _cells_of(project, columns, labels, codes, style)
    if options.marks_missing:
        described = [replace(each, marks=LABELS) if each.kind.is_number else each for each in described]
        answer_cells = _marked(answer_cells, missing_answers(project, cached.script), columns, codes, style)
    places = {column.place for column in values}

    def rows(row: Sequence[Any]) -> Sequence[Sequence[Cell]]:
        parts = {place: _part(row, place) for place in places}
        return [[*answer_cells(row), *(column.cell(parts, style) for column in values)]]

    return ResponseTable([*FIXED_COLUMNS, *described, *(column.described for column in values)], rows)


def _part(row: Sequence[Any], place: int) -> Any:
    if place == OUTCOME:
        return outcome_of(row[COMPLETED_AT], row[OUTCOME])
    return row[place] if place in (LANGUAGE, SUSPECTED) else read_part(row[place]) or {}


def _value_columns(
    project: Project, cached: CachedScript, options: FileOptions, style: CellStyle
) -> Iterator[ValueColumn]:
    among = _SCREENED_OUT if options.screened_out else _LISTED
    if options.solutions:
        yield from _computed_columns(project, cached.script, style, among)
    yield from _sent_columns(project, among)
    yield from _reading_columns(project, cached.catalogue, style)
    yield from _further_columns(project, cached.catalogue, style, among)
    yield from _other_columns(project, cached, style, among)


def _computed_columns(
    project: Project, script: Script, style: CellStyle, among: str
) -> Iterator[ValueColumn]:
    """The columns `score.…` and `variable.…` (rule 6.62)."""
    for key in script.bucket_keys if script.scoring_enabled else ():
        yield ValueColumn(f"score.{key}", SCORES, key, Kind.NUMBER, itemgetter(0))
    calculated = calculated_blocks(script)
    texts = set(calculated)
    if calculated and style.has_types:
        texts = {key for (key,) in statements.fetch_rows(_TEXT_RESULTS.format(among=among), [project.pk])}
    for block_id, name in calculated.items():
        kind = Kind.TEXT if block_id in texts else Kind.NUMBER
        yield ValueColumn(f"variable.{style.text(name)}", RESULTS, block_id, kind, result_value)


def _sent_columns(project: Project, among: str) -> Iterator[ValueColumn]:
    """The columns `field.…` and `consent`, and those for responses that are suspected, have an outcome of
    their own or a language (rules 6.171, 6.248, 6.290 and 6.401).
    """
    rows = statements.fetch_rows(_FIELDS.format(among=among), [*[project.pk] * 4, MAX_FIELDS + 5])
    found = [name for (name,) in rows]
    fields = [name for name in found if name.strip()]
    if len(fields) > MAX_FIELDS:
        refuse(
            "format",
            "too_many",
            f"The responses have more than {MAX_FIELDS:,} different fields, and a table has a column for "
            "each. Use json or ndjson instead.",
        )
    for name in fields:
        yield ValueColumn(f"field.{name}", FIELDS, name)
    if "" in found:
        yield ValueColumn("consent", CONSENT, "text")
        yield ValueColumn("consent.at", CONSENT, "at")
    if " " in found:
        yield ValueColumn("suspected", SUSPECTED, kind=Kind.INTEGER, read=int)
    if "  " in found:
        yield ValueColumn("outcome", OUTCOME)
    if "   " in found:
        yield ValueColumn("language", LANGUAGE)


def _reading_columns(project: Project, catalogue: Catalogue, style: CellStyle) -> Iterator[ValueColumn]:
    """The titles of themes, and the sentiment, for each open question whose answers have readings."""
    rows = statements.fetch_rows(_READ_QUESTIONS, [project.pk])
    titles = theme_titles(project.pk) if rows else {}

    def themes(reading: Sequence[Any]) -> str | None:
        return "; ".join(titles[pk] for pk in reading[1] if pk in titles) or None

    for block_id, text in _names_of([block_id for (block_id,) in rows], catalogue, style):
        yield ValueColumn(f"themes.{text}", READINGS, str(block_id), read=themes)
        yield ValueColumn(f"sentiment.{text}", READINGS, str(block_id), read=itemgetter(0))


def _further_columns(
    project: Project, catalogue: Catalogue, style: CellStyle, among: str
) -> Iterator[ValueColumn]:
    """Two columns for each further question that was asked about the answers to a question."""
    most = dict(statements.fetch_rows(_FURTHER.format(among=among), [project.pk]))
    for block_id, text in _names_of(list(most), catalogue, style):
        for n in range(most[block_id]):
            for part in ("question", "answer"):
                header, read = f"{text} further {part} {n + 1}", partial(_part_asked, n, part)
                yield ValueColumn(header, FOLLOW_UPS, str(block_id), read=read)


def _part_asked(number: int, part: str, asked: Sequence[Mapping[str, Any]]) -> object:
    return asked[number][part] if number < len(asked) else None


def _other_columns(
    project: Project, cached: CachedScript, style: CellStyle, among: str
) -> Iterator[ValueColumn]:
    """A column for each question with an option for which a text is or was written (rule 6.155)."""
    stored, catalogue = cached.stored, cached.catalogue
    written = {block_id for (block_id,) in statements.fetch_rows(_OTHERS.format(among=among), [project.pk])}
    if not catalogue.others and not written:
        return
    asked = [
        block_id
        for block_id, block in catalogue.blocks.items()
        if block_id in written
        or any(option.is_other for option in stored.with_removed_options(block).options)
    ]
    for block_id, text in _names_of(asked, catalogue, style):
        yield ValueColumn(f"{text} other text", OTHER, str(block_id), read=itemgetter("text"))


def _names_of(block_ids: Sequence[int], catalogue: Catalogue, style: CellStyle) -> Iterator[tuple[int, str]]:
    """The blocks with their names, which differ."""
    names = [(block_id, catalogue.names.get(block_id) or f"block {block_id}") for block_id in block_ids]
    times = Counter(name for _, name in names)
    for block_id, name in names:
        yield block_id, style.text(name if times[name] == 1 else f"{name} (block {block_id})")


def _described(
    columns: Sequence[ExportColumn], others: Sequence[str], options: FileOptions, style: CellStyle
) -> Iterator[TableColumn]:
    """The columns of the questions, below headers that differ from one another and from `others`."""
    codes, taken = options.codes, (*FIXED, *others)
    while True:
        texts = (
            names(columns, others=taken, codes=codes, style=style)
            if options.by_name
            else headers(columns, others=taken, style=style)
        )
        coded = [text for text, column in zip(texts, columns, strict=True) if codes and column.has_codes]
        equal = [text for text in coded if f"{text}.code" in (*texts, *FIXED, *others)]
        if not equal:
            break
        taken = (*taken, *equal, *(f"{text}.code" for text in equal))
    place, size = len(FIXED), part_size(len(columns))
    for text, column in zip(texts, columns, strict=True):
        described = column.described(text, size)
        place += 1
        if not (codes and column.has_codes):
            yield described
            continue
        yield replace(described, codes=place)
        place += 1
        choices = {option.code or 0: option.display_text for option in column.block.options}
        yield TableColumn(f"{text}.code", Kind.INTEGER, column.name, column.text(size), choices)


def _marked(
    answer_cells: Callable[[Sequence[Any]], list[Cell]],
    missing: Callable[[Sequence[Any]], Callable[[int], Missing | None]],
    columns: Sequence[ExportColumn],
    codes: bool,
    style: CellStyle,
) -> Callable[[Sequence[Any]], list[Cell]]:
    """The cells of `answer_cells`, with marks in all cells of unanswered questions."""
    of_block, of_option, of_codes = _places(columns, codes)
    # The index of each cell, and whether its column contains numbers
    cells_of: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for column in columns:
        block_id = column.block.id or 0
        place = of_block[block_id] if column.option is None else of_option[column.option.id]
        if not (style.has_types and column.kind == Kind.DATE):  # a date has no mark
            cells_of[block_id].append((place, style.has_types and column.kind.is_number))
    for coded_id, place in of_codes.items():
        cells_of[coded_id or 0].append((place, style.has_types))

    def cells(row: Sequence[Any]) -> list[Cell]:
        row_cells, mark_of = answer_cells(row), missing(row)
        for block_id, places in cells_of.items():
            if all(row_cells[place] is None for place, _ in places) and (mark := mark_of(block_id)):
                for place, is_number in places:
                    row_cells[place] = mark.number if is_number else mark.text
        return row_cells

    return cells


def _cells_of(
    project: Project,
    columns: Sequence[ExportColumn],
    labels: Mapping[int, str],
    codes: bool,
    style: CellStyle,
) -> Callable[[Sequence[Any]], list[Cell]]:
    of_block, of_option, of_codes = _places(columns, codes)
    code_of = {
        option.id: NumberText(option.code)
        for column in columns
        if column.block.id in of_codes
        for option in column.block.options
    }
    type_of = {column.block.id: column.block.type for column in columns}
    dated = {column.block.id for column in columns if column.kind == Kind.DATE}
    shown = {option_id: style.text(label) for option_id, label in labels.items()}
    unanswered: list[Cell] = [None] * (len(columns) + len(of_codes))
    choices: dict[int | None, list[int]] = defaultdict(list)
    for column in columns:
        if column.option and column.block.type == "multi_punch":
            choices[column.block.id].append(of_option[column.option.id])

    def single_cell(block_id: int, option_id: int | None, text: str, before: Cell) -> Cell:
        """The cell of a question with one column; it joins several answers from a time when the question had
        another type.
        """
        cell: Cell = shown.get(option_id) if option_id is not None else None
        if cell is None:
            read = number if type_of[block_id] in NUMBERS else day if block_id in dated else None
            cell = read(text, style) if read else style.text(text)
        return cell if before is None else f"{before}, {cell}"

    def cells(row: Sequence[Any]) -> list[Cell]:
        row_cells = [*fixed_cells(row, project.is_anonymous, style), *unanswered]
        blocks, options, texts = (each or () for each in row[ANSWERS])
        for block_id, option_id, text in zip(blocks, options, texts, strict=True):
            place = of_option.get(option_id)
            if place is None:
                place = of_block.get(block_id)
                if place is not None:  # None for a block that was added after the columns were determined
                    row_cells[place] = single_cell(block_id, option_id, text, row_cells[place])
                    if block_id in of_codes:
                        row_cells[of_codes[block_id]] = code_of.get(option_id)
                continue
            if row_cells[place] is None:
                for other in choices.get(block_id, ()):
                    row_cells[other] = NOT_CHOSEN
            row_cells[place] = number(text, style) if type_of[block_id] == "ranking" else CHOSEN
        return row_cells

    return cells


def _places(
    columns: Sequence[ExportColumn], codes: bool
) -> tuple[dict[int | None, int], dict[int | None, int], dict[int | None, int]]:
    """The indexes of cells: of blocks with one column, of options, and of the codes of a block's options."""
    of_block: dict[int | None, int] = {}
    of_option: dict[int | None, int] = {}
    of_codes: dict[int | None, int] = {}
    place = len(FIXED)
    for column in columns:
        if column.option is not None:
            of_option[column.option.id] = place
        else:
            of_block[column.block.id] = place
        place += 1
        if codes and column.has_codes:
            of_codes[column.block.id] = place
            place += 1
    return of_block, of_option, of_codes
