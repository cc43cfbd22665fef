"""Which column of a file is which question, guessed from headers and cells, and mended by staff.

A target is a text: `id`, `status`, `started_at`, … for values beside the answers, `f:<name>` for a
field, `b:<block id>` for a question, `o:<block id>:<option id>` for an option of a multi punch or an item of
a ranking, and `t:<block id>` for the text of an option with `is_other`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from surveys.engine.script import Block, Option
from surveys.models import Project
from surveys.services.exports import columns as export_columns
from surveys.services.exports.cells import FIXED, SHEET, WORKBOOK
from surveys.services.exports.columns import MULTI_COLUMN_TYPES, ExportColumn
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
        "id", "response id", "responseid", "_id", "_uuid", "uuid", "record id", "record_id",
        "submission id", "#",
    ),
    "platform_id": (
        "platform_id", "external_id", "external id", "externalid", "respondent id", "participant id",
    ),
    "status": ("finished", "complete", "completed", "response type"),
    "started_at": (
        "started at", "start time", "startdate", "start date", "start date utc", "start", "date created",
    ),
    "submitted_at": (
        "submitted", "submitted at", "submit date", "submit date utc", "date submitted", "submitdate",
        "enddate", "end date", "end", "end time", "completed at", "completion time", "timestamp",
        "zeitstempel", "_submission_time",
    ),
}  # fmt: skip
_ENDINGS = {"status": "_complete", "submitted_at": "_timestamp"}  # of the columns of REDCap's instruments
MAX_HEADER = 1_000  # characters of a header that is looked at
MAX_NAMED = 20  # questions with which a header may begin; one with more is unclear
_TIMES = ("started_at", "submitted_at")
_NOTHING = re.compile("^$")
_SUFFIX = re.compile(r"\s{0,5}\([^()]{1,300}\)$")
_NUMBERED = re.compile(r"^(?:[QG]?\d{1,4}[A-Z]?\d{0,3}[.):]|[QG]\d{1,4}\s-)\s{0,5}", re.IGNORECASE)
_NUMERIC = re.compile(r"[-+., \d]+")


@dataclass(frozen=True, slots=True)
class Matching:
    """How a file is read: a target for each column (empty: not imported), and what staff chose for cells.

    `moment` is the time of responses without one, in ISO 8601. By the index of a column, as a text:
    `readings` are the keys of the ways that staff chose (`readings.Way`), `missing` the marks that staff
    named, and `hints` the targets that a column may have and that nothing but staff confirms.
    """

    columns: Sequence[str]
    zone: str
    moment: str
    readings: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)

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
    stored = script_cache.of(project).stored
    columns = list(export_columns.columns_of(project, stored, own_values=False))
    blocks = {column.block.id or 0: column.block for column in columns}
    of_block = {column.block.id or 0: replace(column, option=None) for column in columns}
    titles = dict(BESIDE)
    for block_id, block in blocks.items():
        text = of_block[block_id].text(120)
        titles[f"b:{block_id}"] = text if block_id in stored.script.index_by_id else f"{text} (removed)"
        for option in block.options if block.type in MULTI_COLUMN_TYPES else ():
            titles[f"o:{block_id}:{option.id}"] = replace(of_block[block_id], option=option).text(120)
        if any(option.is_other for option in block.options):
            titles[f"t:{block_id}"] = (
                f"{text}: text of “{next(o for o in block.options if o.is_other).display_text}”"
            )
    present = {option.id for block in stored.script.blocks for option in block.options}
    return Questions(blocks, columns, titles, tuple(metadata.declared(project)), present)


def guess(*, table: Table, found: Questions, zone: str, moment: str) -> Matching:
    """The matching that headers and cells suggest. A file of our own has times in UTC."""
    is_own = {*FIXED} <= {*table.headers}
    columns, hints = _guessed_columns(table, found)
    of_times = [each for each, of in zip(table.headers, columns, strict=True) if of in _TIMES]
    is_utc = is_own or any(header.endswith("(UTC)") for header in of_times)
    return Matching(columns, "UTC" if is_utc else table.zone or zone, moment, hints=hints)


# --- Columns ----------------------------------------------------------------------------------------


def _guessed_columns(table: Table, found: Questions) -> tuple[list[str], dict[str, str]]:
    """The target of each column, and hints. The likest names of all columns come first; of two columns that
    are alike none is guessed.
    """
    (exact, unclear), called = _headings(found), _Called(found)
    targets, hints, headers = [""] * len(table.headers), dict[str, str](), {*table.headers}

    def take(candidates: Mapping[int, Sequence[str]]) -> None:
        used = {*targets}
        free = {n: next((each for each in of if each not in used), "") for n, of in candidates.items()}
        times = Counter(free.values())
        for index, target in free.items():
            if target and times[target] == 1:
                targets[index] = target
            elif target:
                hints.setdefault(str(index), target)

    def left() -> list[int]:
        return [n for n, text in enumerate(table.headers) if text and not targets[n] and str(n) not in hints]

    for index, header in enumerate(table.headers):  # exports write no header twice
        if header in unclear:
            hints[str(index)] = exact[header][0]
        else:
            take({index: exact.get(header, ())} if table.headers.count(header) == 1 else {})
    named: dict[str, list[int]] = {}
    for n in left():
        named.setdefault(plain(table.headers[n][:MAX_HEADER]), []).append(n)
    for target, title in BESIDE.items():
        for name in (*_CALLED.get(target, ()), title):
            take({n: [target] for n in named.get(plain(name), ()) if not targets[n]})
    for pattern in (_NOTHING, _SUFFIX, _NUMBERED):
        texts = {n: pattern.sub("", table.headers[n]) for n in left()}
        take(
            {n: called.targets(text) for n, text in texts.items() if not _repeats(table.headers[n], headers)}
        )
    take({n: called.targets(table.names[n]) for n in left() if n < len(table.names)})
    take({n: called.option(table.headers[n]) for n in left() if {*table.column(n)} == {table.headers[n]}})
    declared = {key.replace("_", " "): key for key in found.fields}  # so that “City” names the field city
    folded = {n: text.replace("_", " ") for text, indexes in named.items() for n in indexes}
    keys = {n: declared.get(folded[n], table.headers[n].removeprefix("field.")) for n in left()}
    fields = {n: f"f:{key}" for n, key in keys.items() if metadata.is_key(key)}
    take({n: [of] for n, of in fields.items() if of[2:] != table.headers[n] or of[2:] in found.fields})
    for target, ending in _ENDINGS.items():
        take({n: [target] for n in left() if table.headers[n].endswith(ending)})
    by_cell = _questions_of_cells(found)
    for index in left():
        if not _repeats(table.headers[index], headers):
            alike = _by_cells(table.column(index), by_cell, {*targets})
            hints |= {str(index): each for each in alike}
    return targets, hints


def _repeats(header: str, headers: Set[str]) -> bool:
    """Whether a column of our own exports repeats another one, or is computed again."""
    computed = ("score.", "variable.", "themes.", "sentiment.")
    is_code = header.endswith(".code") and header.removesuffix(".code") in headers
    return is_code or header.startswith(computed) or header in ("session_number", "user_id", "outcome")


def _headings(found: Questions) -> tuple[dict[str, list[str]], set[str]]:
    """The targets of the headers that exports of this project write, and the headers that name one option by
    its label, and another one by its value.
    """
    exact: dict[str, list[str]] = {each: [each] for each in BESIDE if each != "language"}
    values = {
        (block.id, option.value): option.id for block in found.blocks.values() for option in block.options
    }
    unclear = set()
    for style in (WORKBOOK, SHEET):
        by_label = export_columns.headers(found.columns, style=style)
        by_name = export_columns.names(found.columns, codes=False, style=style)
        for label, name, column in zip(by_label, by_name, found.columns, strict=True):
            option = column.option
            if option and values.get((column.block.id, option.display_text), option.id) != option.id:
                unclear.add(label)
            for text in dict.fromkeys((label, name)):
                exact.setdefault(text, []).append(_target(column))
    exact.setdefault("language", []).append("language")  # a question of this name comes first
    return exact, unclear


def _target(column: ExportColumn) -> str:
    return f"b:{column.block.id}" if column.option is None else f"o:{column.block.id}:{column.option.id}"


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of a question by their names in headers, and the names of the text of one's own."""

    by_text: Mapping[str, list[Option]]
    by_code: Mapping[str, list[Option]]
    of_text: Set[str]

    @classmethod
    def of(cls, block: Block) -> Self:
        by_text, by_code = defaultdict[str, list[Option]](list), defaultdict[str, list[Option]](list)
        for option in block.options if block.type in MULTI_COLUMN_TYPES else ():
            by_code[str(option.code)].append(option)
            for text in {plain(option.display_text), plain(option.value)}:
                by_text[text].append(option)
        own = {f"{plain(each.display_text)} text" for each in block.options if each.is_other}
        return cls(by_text, by_code, {"other text", "other", "text", *own})


class _Called:
    """The targets by their possible names in headers. Options are folded only for headers that name their
    question.
    """

    def __init__(self, found: Questions) -> None:
        self.found = found
        of_block: list[Name[str]] = []
        for column in {column.block.id: replace(column, option=None) for column in found.columns}.values():
            for text in dict.fromkeys((column.text(export_columns.MAX_PART), column.block.name or "")):
                of_block.append(Name(text, _target(column)))
        self.names = Names(of_block)
        self.questions: dict[str, set[str]] = {}
        for name in of_block:
            self.questions.setdefault(plain(name.text), set()).add(name.thing)
        self.options: dict[str, _Options] = {}
        self.by_label = defaultdict[str, list[str]](list)
        for block_id, block in found.blocks.items():
            for option in block.options if block.type == "multi_punch" else ():
                self.by_label[option.display_text].append(f"o:{block_id}:{option.id}")

    def targets(self, header: str) -> list[str]:
        """The targets that a header names; none if it is unclear which."""
        if len(header) > MAX_HEADER:
            return []
        names = self.names.find(header)
        alike = list(dict.fromkeys(name.thing for name in names))
        if alike:
            return alike if len(alike) == 1 or len({name.text for name in names}) == 1 else []
        folded, targets, count = plain(header), dict[str, None](), 0
        for sign in re.finditer("[ _]", folded):
            named = self.questions.get(folded[: sign.start()], ())
            if (count := count + len(named)) > MAX_NAMED:
                return []
            rest = folded[sign.start() :].strip("_ " if sign[0] == "_" else " ") if named else ""
            for question in named:
                targets |= dict.fromkeys(self._of_question(question, rest, header, is_code=sign[0] == "_"))
        return [*targets] if len({each[2:].split(":")[0] for each in targets}) == 1 else []

    def option(self, header: str) -> list[str]:
        """The option of a multi punch with this label, if one question alone has it: such a column of
        Typeform has the label as its header and in its cells.
        """
        alike = self.by_label.get(header, [])
        return alike if len(alike) == 1 else []

    def _of_question(self, question: str, rest: str, header: str, *, is_code: bool) -> list[str]:
        """The option's column of a question, or the column for the text of one's own."""
        block = self.found.block(question)
        if block is None:
            return []
        rest = rest.removeprefix("choice=")  # as REDCap writes it
        if question not in self.options:
            self.options[question] = _Options.of(block)
        of_block = self.options[question]
        options = of_block.by_text.get(rest, [])
        if len(options) > 1:
            options = [each for each in options if header.endswith((each.display_text, each.value))]
        if not options and is_code:
            options = of_block.by_code.get(rest, [])
        targets = [f"o:{block.id}:{options[0].id}"] if len(options) == 1 else []
        has_text = rest in of_block.of_text and f"t:{block.id}" in self.found.titles
        return [*targets, f"t:{block.id}"] if has_text else targets


def _questions_of_cells(found: Questions) -> Mapping[str, Set[str]]:
    """The single punches that have an option of a name, by the name without case."""
    by_cell: dict[str, set[str]] = {}
    for block_id, block in found.blocks.items():
        for option in block.options if block.type == "single_punch" else ():
            for text in dict.fromkeys((option.display_text, option.value)):
                by_cell.setdefault(text.casefold(), set()).add(f"b:{block_id}")
    return by_cell


def _by_cells(cells: Sequence[str], by_cell: Mapping[str, Set[str]], used: Set[str]) -> Sequence[str]:
    """The question whose options are all cells of a column, if it is the only one without a column.

    The first cell that is no option ends the search.
    """
    distinct, alike = dict.fromkeys(cells), None
    if all(_NUMERIC.fullmatch(cell) for cell in distinct):
        return []
    for cell in distinct:
        with_it = by_cell.get(cell.casefold(), frozenset())
        alike = with_it - used if alike is None else alike & with_it
        if not alike:
            return []
    return [*alike] if alike is not None and len(alike) == 1 else []
