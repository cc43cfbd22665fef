"""Which column of a file is which question, guessed from headers and cells, and mended by staff.

A target is a text: `id`, `status`, `started_at`, … for what stands beside the answers, `f:<name>` for a
field, `b:<block id>` for a question, `o:<block id>:<option id>` for an option of a multi punch or an item of
a ranking, and `t:<block id>` for the text of an option with `is_other`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from surveys.engine.script import CHOICES, SCALES, Block, Option
from surveys.models import Project
from surveys.services.exports import columns as export_columns
from surveys.services.exports.cells import FIXED, SHEET, WORKBOOK
from surveys.services.exports.columns import MULTI_COLUMN_TYPES, ExportColumn
from surveys.services.exports.missing import Missing
from surveys.services.ground import metadata
from surveys.services.imports.names import Name, Names, plain
from surveys.services.imports.tables import Table
from surveys.services.scripts import cache as script_cache

BESIDE = {
    "id": "Id of the response",
    "platform_id": "Id of the person",
    "provider": "Platform of the person",
    "status": "Completed or partial",
    "started_at": "Begun at",
    "submitted_at": "Completed at",
    "suspected": "Suspected (1 or 0)",
    "consent.text": "Text of the consent",
    "consent.at": "Time of the consent",
    "language": "Language, such as de",
}
# Headers of other programs, as `plain` writes them.
_CALLED = {
    "id": (
        "id", "response id", "responseid", "_id", "_uuid", "uuid", "record id", "submission id", "#",
    ),
    "platform_id": (
        "platform_id", "external_id", "external id", "externalid", "respondent id", "participant id",
    ),
    "status": ("finished", "complete", "completed"),
    "started_at": (
        "started at", "start time", "startdate", "start date", "start date utc", "start", "date created",
    ),
    "submitted_at": (
        "submitted at", "submit date", "submit date utc", "date submitted", "submitdate", "enddate",
        "end date", "end", "end time", "completed at", "completion time", "timestamp", "zeitstempel",
        "_submission_time",
    ),
}  # fmt: skip
READINGS = {"guess": "as each column shows", "labels": "labels", "values": "values", "codes": "codes"}
DATES = {"ymd": "year-month-day", "dmy": "day.month.year", "mdy": "month/day/year"}
MARKS = (
    *(each.text for each in Missing),
    "-99", "-98", "-999", "999", "NA", "N/A", "#N/A", "n/a", "NULL", "null", ".", "-",
)  # fmt: skip
_SUFFIX = re.compile(r"\s{0,5}\([^()]{1,300}\)$")
_NUMBERED = re.compile(r"^(?:[QG]?\d{1,4}[A-Z]?\d{0,3}[.):]|[QG]\d{1,4}\s-)\s{0,5}", re.IGNORECASE)
_DAY = re.compile(r"\b(\d{1,2})([./-])(\d{1,2})[./-]\d{2,4}\b")
_NUMERIC = re.compile(r"[-+., \d]+")


@dataclass(frozen=True, slots=True)
class Matching:
    """How a file is read: a target for each column (empty: not imported), and how cells are written.

    `moment` is the time of responses without one, in ISO 8601.
    """

    columns: Sequence[str]
    zone: str
    moment: str
    dates: str = "ymd"
    options: str = "guess"
    missing: Sequence[str] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**stored)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions that a column may be, with their removed options, and names for their targets."""

    blocks: Mapping[int, Block]
    columns: Sequence[ExportColumn]
    titles: Mapping[str, str]
    fields: Sequence[str] = field(default_factory=tuple)
    present: Set[int | None] = frozenset()  # options that are not removed

    def block(self, target: str) -> Block | None:
        """The question of a target; None for targets beside the answers."""
        return self.blocks.get(int(target.split(":")[1])) if target[:2] in ("b:", "o:", "t:") else None

    def is_target(self, target: str) -> bool:
        return target in self.titles or (target.startswith("f:") and metadata.is_key(target[2:]))

    def options_of(self, target: str) -> list[str]:
        """The targets of the options of a target's question."""
        return (
            [key for key in self.titles if key.startswith(f"o:{target.split(':')[1]}:")]
            if self.block(target)
            else []
        )


def questions(project: Project) -> Questions:
    """The questions of a project, in the order of its exports."""
    stored = script_cache.get(project.pk, project.revision).stored
    columns = list(export_columns.columns_of(project, stored, own_values=False))
    blocks = {column.block.id or 0: column.block for column in columns}
    titles = dict(BESIDE)
    for block_id, block in blocks.items():
        text = ExportColumn(block).text(120)
        titles[f"b:{block_id}"] = text if block_id in stored.script.index_by_id else f"{text} (removed)"
        for option in block.options if block.type in MULTI_COLUMN_TYPES else ():
            titles[f"o:{block_id}:{option.id}"] = ExportColumn(block, option).text(120)
        if any(option.is_other for option in block.options):
            titles[f"t:{block_id}"] = (
                f"{text}: text of “{next(o for o in block.options if o.is_other).display_text}”"
            )
    present = {option.id for block in stored.script.blocks for option in block.options}
    return Questions(blocks, columns, titles, tuple(metadata.declared(project)), present)


def guess(*, table: Table, found: Questions, zone: str, moment: str) -> Matching:
    """The matching that headers and cells suggest. A file of our own has times in UTC."""
    is_own = {*FIXED} <= {*table.headers}
    columns = _guessed_columns(table, found)
    draft = Matching(columns, "UTC" if is_own else zone, moment, _dates(table))
    return replace(draft, missing=_marks(table, draft, found))


# --- Columns ----------------------------------------------------------------------------------------


def _guessed_columns(table: Table, found: Questions) -> list[str]:
    exact, called = _headings(found), _called(found)
    targets, used, headers = [""] * len(table.headers), set[str](), {*table.headers}

    def take(index: int, candidates: Sequence[str]) -> None:
        target = next((each for each in candidates if each not in used), "")
        if target and not targets[index]:
            targets[index] = target
            used.add(target)

    for index, header in enumerate(table.headers):
        take(index, exact.get(header, ()))
    for index, header in enumerate(table.headers):
        if targets[index] or not header or _repeats(header, headers):
            continue
        for text in (header, _SUFFIX.sub("", header), _NUMBERED.sub("", header)):
            names = called.find(text)
            alike = list(dict.fromkeys(name.thing for name in names))
            take(index, alike if len(alike) == 1 or len({name.text for name in names}) == 1 else ())
    for index, header in enumerate(table.headers):
        name = header.removeprefix("field.")
        if not targets[index] and metadata.is_key(name) and (name != header or name in found.fields):
            take(index, [f"f:{name}"])
    by_cell = _questions_of_cells(found)
    for index in range(len(table.headers)):
        if not targets[index] and not _repeats(table.headers[index], headers):
            take(index, _by_cells(table.column(index), by_cell, used))
    return targets


def _repeats(header: str, headers: Set[str]) -> bool:
    """Whether a column of our own exports repeats another one, or is computed again."""
    computed = ("score.", "variable.", "themes.", "sentiment.")
    is_code = header.endswith(".code") and header.removesuffix(".code") in headers
    return is_code or header.startswith(computed) or header in ("session_number", "user_id", "outcome")


def _headings(found: Questions) -> dict[str, list[str]]:
    """The targets of the headers that exports of this project write."""
    exact: dict[str, list[str]] = {each: [each] for each in BESIDE if each != "language"}
    for style in (WORKBOOK, SHEET):
        by_label = export_columns.headers(found.columns, style=style)
        by_name = export_columns.names(found.columns, codes=False, style=style)
        for texts in (by_label, by_name):
            for text, column in zip(texts, found.columns, strict=True):
                exact.setdefault(text, []).append(_target(column))
    exact.setdefault("language", []).append("language")  # a question of this name comes first
    return exact


def _target(column: ExportColumn) -> str:
    return f"b:{column.block.id}" if column.option is None else f"o:{column.block.id}:{column.option.id}"


def _called(found: Questions) -> Names[str]:
    """The targets by their possible names."""
    called: list[Name[str]] = []

    def add(text: str, target: str) -> None:
        called.append(Name(text, target))

    for target, names in _CALLED.items():
        for name in names:
            add(name, target)
    for column in found.columns:
        prompt, name = ExportColumn(column.block).text(export_columns.MAX_PART), column.block.name or ""
        if column.option is None:
            add(prompt, _target(column))
            add(name, _target(column))
            continue
        for text in _option_names(prompt, name, column.block, column.option):
            add(text, _target(column))
    for block_id, block in found.blocks.items():
        prompt, name = ExportColumn(block).text(export_columns.MAX_PART), block.name or ""
        if block.type in MULTI_COLUMN_TYPES:  # the whole answer in one column
            add(prompt, f"b:{block_id}")
            add(name, f"b:{block_id}")
        if f"t:{block_id}" in found.titles:
            for text in ("other text", "other", "text", "[other]"):
                add(f"{name} {text}", f"t:{block_id}")
                add(f"{prompt} {text}", f"t:{block_id}")
    return Names(called)


def _option_names(prompt: str, name: str, block: Block, option: Option) -> Iterator[str]:
    """The headers of an option's column in other programs. A code that is another option's value is none."""
    for text in dict.fromkeys((option.display_text, option.value)):
        yield f"{prompt} {text}"
        yield f"{name} {text}"
    is_value = any(other.value == str(option.code) for other in block.options if other is not option)
    for text in dict.fromkeys((option.value, *(() if is_value else (str(option.code),)))):
        yield f"{name}_{text}"
        yield f"{name}___{text}"


def _questions_of_cells(found: Questions) -> Mapping[str, Set[str]]:
    """The single punches that have an option of a name, by the name as `plain` writes it."""
    by_cell: dict[str, set[str]] = {}
    for block_id, block in found.blocks.items():
        for option in block.options if block.type == "single_punch" else ():
            for text in dict.fromkeys((option.display_text, option.value)):
                by_cell.setdefault(plain(text), set()).add(f"b:{block_id}")
    return by_cell


def _by_cells(cells: Sequence[str], by_cell: Mapping[str, Set[str]], used: Set[str]) -> Sequence[str]:
    """The question whose options are all cells of a column, if it is the only one without a column.

    The first cell that is no option ends the search.
    """
    distinct, alike = dict.fromkeys(cells), None
    if all(_NUMERIC.fullmatch(cell) for cell in distinct):
        return []
    for cell in distinct:
        with_it = by_cell.get(plain(cell), frozenset())
        alike = with_it - used if alike is None else alike & with_it
        if not alike:
            return []
    return [*alike] if alike is not None and len(alike) == 1 else []


# --- Cells ------------------------------------------------------------------------------------------


def _dates(table: Table) -> str:
    """How days are written: month first if a second number is larger than 12, or all signs are slashes."""
    found = [match for _, cells in table.rows for cell in cells if (match := _DAY.search(cell[:30]))]
    if not found:
        return "ymd"
    if any(int(each[1]) > 12 for each in found):
        return "dmy"
    is_american = any(int(each[3]) > 12 for each in found) or all(each[2] == "/" for each in found)
    return "mdy" if is_american else "dmy"


def _marks(table: Table, matching: Matching, found: Questions) -> list[str]:
    """The marks for missing answers in the columns of questions that are no answers there."""
    marks = dict[str, None]()
    for index, target in enumerate(matching.columns):
        block = found.block(target)
        if block is None:
            continue
        distinct = {*table.column(index)}
        for mark in MARKS:
            if mark in distinct and not _is_answer(block, mark, target):
                marks[mark] = None
    return [*marks]


def _is_answer(block: Block, text: str, target: str) -> bool:
    if block.type in CHOICES or target.startswith("o:"):
        return any(text in (option.value, option.label, str(option.code)) for option in block.options)
    if block.type == "open_numeric" or block.type in SCALES:
        return text == "999" and block.type == "open_numeric" and (block.max is None or block.max >= 999)
    return text in (".", "-", "999")
