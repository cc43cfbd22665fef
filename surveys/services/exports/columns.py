"""The columns of a table of responses: readable headers, and the cells of each row.

Columns are keyed by the ids of blocks and options, because two of them may have the same text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from communities.ground import statements
from communities.ground.errors import refuse
from surveys.engine.language import markup
from surveys.engine.language.piping import Authored
from surveys.engine.script import NUMBERS, SCALES, Block, Option, Script
from surveys.models import Conversation, Project
from surveys.services.exports.cells import (
    FIXED,
    FIXED_COLUMNS,
    SHEET,
    Cell,
    CellStyle,
    Kind,
    NumberText,
    ResponseTable,
    TableColumn,
    day,
    fixed_cells,
    number,
    shortened,
)
from surveys.services.exports.missing import COMPLETED_AT, LABELS, Missing, missing_answers
from surveys.services.representations.response import (
    calculated_blocks,
    outcome_of,
    read_part,
    result_value,
    theme_titles,
)
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.cache import Catalogue
from surveys.services.scripts.storage import StoredScript

MULTI_COLUMN_TYPES = frozenset({"multi_punch", "ranking"})  # one column for each option
# A header has up to four parts of variable length: prompt, label, block's name and option's value.
MAX_PART = 300  # bytes of each
MAX_PARTS = 2_000_000  # bytes of the parts of all headers together, so wide tables have shorter parts
MAX_FIELDS = 1_000  # columns for metadata (rule 6.70): each response may contain 20 new fields
MIN_PART = 12  # bytes: three characters of any script and the ellipsis
# Archived blocks with answers, and current blocks with answers from a time when they had another type.
_ANSWERED_BLOCKS = """
    SELECT b.id, b.is_archived FROM surveys_block b
    WHERE b.project_id = %s AND (
        b.is_archived AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id)
        OR NOT b.is_archived AND b.type = ANY(%s)
            AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id AND a.option_id IS NULL)
    )
"""
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
_is_whole = re.compile(r"-?[0-9]{1,9}").fullmatch
_CHOSEN_LABELS = {0: "Not chosen", 1: "Chosen"}


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """The column of a question, or of one of its options. Columns of one block share its `prompts`."""

    block: Block
    option: Option | None = None
    prompts: dict[int, str] = field(default_factory=dict, compare=False, repr=False)  # by their size

    def text(self, size: int) -> str:
        """The prompt, and the label of the option, each of at most `size` bytes."""
        if size not in self.prompts:
            asked = markup.plain(Authored(self.block.prompt))
            title = f"{self.block.group}: " if self.block.group else ""
            self.prompts[size] = shortened(f"{title}{asked}", size) or shortened(self.name, size)
        prompt = self.prompts[size]
        return prompt if self.option is None else f"{prompt}: {shortened(self.option.display_text, size)}"

    @property
    def name(self) -> str:
        return self.block.name or f"block {self.block.id}"

    def full_name(self, size: int) -> str:
        """The column's name for programs, which stays when texts are reworded.

        The option's value may be cut.
        """
        return self.name if self.option is None else f"{self.name}.{shortened(self.option.value, size)}"

    def distinctions(self, size: int) -> tuple[str, str, str]:
        """Texts that distinguish the column from others with the same header, in this order; the last is
        unique.
        """
        name = shortened(self.name, size)
        if self.option is None:
            return name, "", f"block {self.block.id}"
        return name, shortened(self.option.value, size), f"option {self.option.id}"

    @property
    def has_codes(self) -> bool:
        """Whether the cells are labels of options. The cells of other closed questions are numbers."""
        return self.option is None and self.block.type == "single_punch"

    @property
    def kind(self) -> Kind:
        if self.option is not None or self.block.type in SCALES:
            return Kind.INTEGER
        if self.block.format == "date":
            return Kind.DATE
        return Kind.NUMBER if self.block.type in NUMBERS else Kind.TEXT

    def described(self, header: str, size: int) -> TableColumn:
        """The column in a table, below this header. Parts of its label have at most `size` bytes."""
        name, choices = self.name, {}
        if self.option is not None:
            name = f"{name}_{self.option.code}"
            choices = _CHOSEN_LABELS if self.block.type == "multi_punch" else {}
        elif self.block.type in SCALES:
            points = (option for option in self.block.options if option.label and _is_whole(option.value))
            choices = {int(option.value): option.display_text for option in points}
        measured = self.block.type in SCALES
        return TableColumn(header, self.kind, name, self.text(size), choices, measured=measured)


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A column of a value that is stored beside the answers: `score.…`, `variable.…`, `field.…` or `consent`
    (rules 6.62 and 6.171).

    `place` is the index of the value in a row of `responses.batches`, and `key` its key there.
    """

    header: str
    place: int
    key: str
    kind: Kind

    @property
    def described(self) -> TableColumn:
        return TableColumn(self.header, self.kind, self.header, self.header)

    def cell(self, parts: Mapping[int, Mapping[str, Any]], style: CellStyle) -> Cell:
        """The cell of a row whose parts of the state have been read."""
        value = parts[self.place].get(self.key)
        if self.place == SCORES:
            value = value and value[0]
        elif self.place == RESULTS:
            value = result_value(value)
        if value is None:
            return None
        if self.kind == Kind.TEXT and style.has_types:
            return str(value)
        return style.text(value) if isinstance(value, str) else NumberText(value)


@dataclass(frozen=True, slots=True)
class SuspectedColumn:
    """The column `suspected`: 1 for a response that a program may have given, else 0 (rule 6.248)."""

    header = "suspected"
    place = SUSPECTED

    @property
    def described(self) -> TableColumn:
        return TableColumn(self.header, Kind.INTEGER, self.header, self.header)

    def cell(self, parts: Mapping[int, Mapping[str, Any]], style: CellStyle) -> Cell:
        return CHOSEN if parts[SUSPECTED] else NOT_CHOSEN


@dataclass(frozen=True, slots=True)
class WordColumn:
    """The column `outcome` or `language`, as in the interface (rules 6.290 and 6.401)."""

    header: str
    place: int

    @property
    def described(self) -> TableColumn:
        return TableColumn(self.header, Kind.TEXT, self.header, self.header)

    def cell(self, parts: Mapping[int, Mapping[str, Any]], style: CellStyle) -> Cell:
        return parts[self.place]  # type: ignore[return-value] # not a part of the state


@dataclass(frozen=True, slots=True)
class ReadingColumn:
    """A column with readings of the answers to an open question: `themes.…` or `sentiment.…`.

    `titles` are the titles of themes by id; None for the column of the sentiment.
    """

    header: str
    key: str
    titles: Mapping[int, str] | None = None

    @property
    def place(self) -> int:
        return READINGS

    @property
    def described(self) -> TableColumn:
        return TableColumn(self.header, Kind.TEXT, self.header, self.header)

    def cell(self, parts: Mapping[int, Mapping[str, Any]], style: CellStyle) -> Cell:
        """The titles, separated by semicolons, or the sentiment; empty for an answer without a reading."""
        sentiment, themes = parts[READINGS].get(self.key, (None, ()))
        if self.titles is None:
            return None if sentiment is None else str(sentiment)
        return style.text("; ".join(self.titles[pk] for pk in themes if pk in self.titles)) or None


@dataclass(frozen=True, slots=True)
class FurtherColumn:
    """A column of the `number`-th further question about an answer, from 0, or of what was answered."""

    header: str
    key: str
    number: int
    part: str

    @property
    def place(self) -> int:
        return FOLLOW_UPS

    @property
    def described(self) -> TableColumn:
        return TableColumn(self.header, Kind.TEXT, self.header, self.header)

    def cell(self, parts: Mapping[int, Mapping[str, Any]], style: CellStyle) -> Cell:
        """The text; empty where nothing was asked or answered."""
        asked = parts[FOLLOW_UPS].get(self.key, ())
        text = asked[self.number][self.part] if self.number < len(asked) else None
        return None if text is None else style.text(text)


@dataclass(frozen=True, slots=True)
class OtherColumn:
    """A column of the texts that were written for an option with `is_other` (rule 6.155)."""

    header: str
    key: str

    @property
    def place(self) -> int:
        return OTHER

    @property
    def described(self) -> TableColumn:
        return TableColumn(self.header, Kind.TEXT, self.header, self.header)

    def cell(self, parts: Mapping[int, Mapping[str, Any]], style: CellStyle) -> Cell:
        """The text; empty where another option was chosen."""
        written = parts[OTHER].get(self.key)
        return None if written is None else style.text(written["text"])


def response_table(
    project: Project,
    *,
    solutions: bool = True,
    codes: bool = False,
    own_values: bool = False,
    marks_missing: bool = False,
    by_name: bool = False,
    screened_out: bool = False,
    style: CellStyle = SHEET,
) -> ResponseTable:
    """The table of a project's responses: questions in script order, then removed ones with answers.

    Calculated results, metadata, readings of texts, further questions and texts for options follow at the
    end; scores only for readers who may know the `solutions`. With `codes`, a column `<header>.code` with the
    options' codes follows each column of labels; with `own_values`, values replace labels. `marks_missing`
    distinguishes skipped questions from questions that were not shown; its rows need the course of the
    conversation.
    Headers are prompts, or names of blocks if `by_name`. `screened_out` says that the rows are of responses
    that were screened out.
    """
    cached = script_cache.of(project)
    among = _SCREENED_OUT if screened_out else _LISTED
    columns = list(columns_of(project, cached.stored, own_values=own_values))
    derived: list[
        DerivedColumn | SuspectedColumn | WordColumn | ReadingColumn | FurtherColumn | OtherColumn
    ] = [
        *_derived_columns(project, cached.script, solutions, style, among),
        *_reading_columns(project, cached.catalogue, style),
        *_further_columns(project, cached.catalogue, style, among),
        *_other_columns(project, cached.stored, cached.catalogue, style, among),
    ]
    others = [column.header for column in derived]
    described = list(_described(columns, others, codes=codes, by_name=by_name, style=style))
    labels = option_texts(cached.catalogue, own_values=own_values)
    answer_cells = _cells_of(project, columns, labels, codes, style)
    if marks_missing:
        described = [replace(each, marks=LABELS) if each.kind.is_number else each for each in described]
        answer_cells = _marked(answer_cells, missing_answers(project, cached.script), columns, codes, style)
    places = {column.place for column in derived}

    def rows(row: Sequence[Any]) -> Sequence[Sequence[Cell]]:
        parts = {place: _part(row, place) for place in places}
        return [[*answer_cells(row), *(column.cell(parts, style) for column in derived)]]

    return ResponseTable([*FIXED_COLUMNS, *described, *(column.described for column in derived)], rows)


def _part(row: Sequence[Any], place: int) -> Any:
    if place == OUTCOME:
        return outcome_of(row[COMPLETED_AT], row[OUTCOME])
    if place == LANGUAGE:
        return row[LANGUAGE]
    return read_part(row[place]) or {}


def option_texts(catalogue: Catalogue, *, own_values: bool) -> Mapping[int, str]:
    """The text of each option: its label, or its own value (rule 6.63)."""
    if not own_values:
        return catalogue.labels
    return {option_id: option.value for option_id, option in catalogue.options.items()}


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


def _derived_columns(
    project: Project, script: Script, solutions: bool, style: CellStyle, among: str
) -> Iterator[DerivedColumn | SuspectedColumn | WordColumn]:
    if solutions and script.scoring_enabled:
        for key in script.bucket_keys:
            yield DerivedColumn(f"score.{key}", SCORES, key, Kind.NUMBER)
    calculated = calculated_blocks(script) if solutions else {}
    texts = set(calculated)
    if calculated and style.has_types:
        texts = {key for (key,) in statements.fetch_rows(_TEXT_RESULTS.format(among=among), [project.pk])}
    for block_id, name in calculated.items():
        kind = Kind.TEXT if block_id in texts else Kind.NUMBER
        yield DerivedColumn(f"variable.{style.text(name)}", RESULTS, block_id, kind)
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
        yield DerivedColumn(f"field.{name}", FIELDS, name, Kind.TEXT)
    if "" in found:
        yield DerivedColumn("consent", CONSENT, "text", Kind.TEXT)
        yield DerivedColumn("consent.at", CONSENT, "at", Kind.TEXT)
    if " " in found:
        yield SuspectedColumn()
    if "  " in found:
        yield WordColumn("outcome", OUTCOME)
    if "   " in found:
        yield WordColumn("language", LANGUAGE)


def _reading_columns(project: Project, catalogue: Catalogue, style: CellStyle) -> Iterator[ReadingColumn]:
    """Two columns for each open question whose answers have readings."""
    rows = statements.fetch_rows(_READ_QUESTIONS, [project.pk])
    titles = theme_titles(project.pk) if rows else {}
    for block_id, text in _names_of([block_id for (block_id,) in rows], catalogue, style):
        yield ReadingColumn(f"themes.{text}", str(block_id), titles)
        yield ReadingColumn(f"sentiment.{text}", str(block_id))


def _further_columns(
    project: Project, catalogue: Catalogue, style: CellStyle, among: str
) -> Iterator[FurtherColumn]:
    """Two columns for each further question that was asked about the answers to a question."""
    most = dict(statements.fetch_rows(_FURTHER.format(among=among), [project.pk]))
    for block_id, text in _names_of(list(most), catalogue, style):
        for place in range(most[block_id]):
            for part in ("question", "answer"):
                yield FurtherColumn(f"{text} further {part} {place + 1}", str(block_id), place, part)


def _other_columns(
    project: Project, stored: StoredScript, catalogue: Catalogue, style: CellStyle, among: str
) -> Iterator[OtherColumn]:
    """A column for each question with an option for which a text is or was written."""
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
        yield OtherColumn(f"{text} other text", str(block_id))


def _names_of(block_ids: Sequence[int], catalogue: Catalogue, style: CellStyle) -> Iterator[tuple[int, str]]:
    """The blocks with their names, which differ."""
    names = [(block_id, catalogue.names.get(block_id) or f"block {block_id}") for block_id in block_ids]
    times = Counter(name for _, name in names)
    for block_id, name in names:
        yield block_id, style.text(name if times[name] == 1 else f"{name} (block {block_id})")


def _described(
    columns: Sequence[ExportColumn], others: Sequence[str], *, codes: bool, by_name: bool, style: CellStyle
) -> Iterator[TableColumn]:
    """The columns of the questions, below headers that differ from one another and from `others`."""
    taken = (*FIXED, *others)
    while True:
        texts = (
            names(columns, others=taken, codes=codes, style=style)
            if by_name
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


def columns_of(project: Project, stored: StoredScript, *, own_values: bool) -> Iterator[ExportColumn]:
    """A column for each question, or for each of its options; removed questions with answers come last."""
    rows = statements.fetch_rows(_ANSWERED_BLOCKS, [project.pk, list(MULTI_COLUMN_TYPES)])
    archived = {block_id for block_id, is_archived in rows if is_archived}
    retyped = {block_id for block_id, is_archived in rows if not is_archived}
    blocks = (*stored.script.blocks, *(block for block in stored.archived if block.id in archived))
    for block in blocks:
        if not block.asks:
            continue
        complete, prompts = with_removed_options(block, stored, own_values=own_values), dict[int, str]()
        if block.type not in MULTI_COLUMN_TYPES or block.id in retyped:
            yield ExportColumn(complete, None, prompts)
        if block.type in MULTI_COLUMN_TYPES:
            for option in complete.options:
                yield ExportColumn(complete, option, prompts)


def with_removed_options(block: Block, stored: StoredScript, *, own_values: bool = False) -> Block:
    """The block with its removed options that were chosen, at the end.

    With `own_values` options have no labels, so that their values show.
    """
    complete = stored.with_removed_options(block)
    if not own_values:
        return complete
    return replace(complete, options=tuple(replace(option, label=None) for option in complete.options))


def part_size(columns: int) -> int:
    """The most bytes of each part of a header, in a table with this number of columns (rule 6.66)."""
    return max(MIN_PART, min(MAX_PART, MAX_PARTS // (4 * max(columns, 1))))


def names(
    columns: Sequence[ExportColumn], *, others: Sequence[str] = FIXED, codes: bool, style: CellStyle
) -> list[str]:
    """The names of the columns as headings.

    A name that is taken gets a suffix; removed questions are named last. So a question keeps its name when
    another question of that name was removed.
    """
    taken, texts = {*others}, list[str]()
    size = part_size(len(columns))
    for column in columns:
        text = style.text(column.full_name(size))
        has_codes = codes and column.has_codes
        while text in taken or (has_codes and f"{text}.code" in taken):
            text = f"{text} ({column.distinctions(size)[-1]})"
        taken |= {text, f"{text}.code"} if has_codes else {text}
        texts.append(text)
    return texts


def headers(
    columns: Sequence[ExportColumn], *, others: Sequence[str] = FIXED, style: CellStyle = SHEET
) -> list[str]:
    """The columns' headings (rule 6.61). Headings that equal another heading or one of `others` are extended.

    Long parts are cut, so the headings of the largest legal script have less than 3 MB.
    """
    size = part_size(len(columns))
    texts = [style.text(column.text(size)) for column in columns]
    distinctions = [column.distinctions(size) for column in columns]
    for level in range(2):
        texts = _disambiguated(texts, [each[level] for each in distinctions], others)
    while len({*texts, *others}) < len(texts) + len(others):
        texts = _disambiguated(texts, [each[-1] for each in distinctions], others)
    return texts


def _disambiguated(texts: Sequence[str], distinctions: Sequence[str], others: Sequence[str]) -> list[str]:
    times = Counter((*texts, *others))
    return [
        f"{text} ({distinction})" if times[text] > 1 and distinction else text
        for text, distinction in zip(texts, distinctions, strict=True)
    ]


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
