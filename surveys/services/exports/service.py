"""Responses as a file: CSV, XLSX, Parquet, SPSS, JSON or NDJSON (rules 6.59 to 6.62)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from typing import IO, Any

from communities.gate.downloads import Chunks, File
from communities.ground import wire
from communities.ground.actors import Actor
from communities.ground.errors import refuse
from communities.ground.sent_text import composed
from communities.ground.spreadsheets import csv_line
from communities.ground.transactions import in_transaction
from surveys.models import Conversation, Project
from surveys.services.exports import missing
from surveys.services.exports.answer_rows import answer_table
from surveys.services.exports.cells import SHEET, TYPED, WORKBOOK, CellStyle, FileOptions, Kind, ResponseTable
from surveys.services.exports.table import response_table
from surveys.services.ground import history, selecting
from surveys.services.representations import response as response_json
from surveys.services.responses import service as responses
from surveys.services.results.figures import ALL, Selection
from surveys.services.scripts import cache as script_cache

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "sav": "application/x-spss-sav",
}
# The formats that need an extra of the package, and the module that the extra installs.
_EXTRAS = {"parquet": ("parquet", "pyarrow"), "sav": ("spss", "pyreadstat")}
# The formats that this installation writes (rule 12.880).
INSTALLED = frozenset(
    each for each in MEDIA_TYPES if each not in _EXTRAS or find_spec(_EXTRAS[each][1]) is not None
)
CHUNK_BYTES = 65_536  # bytes
MAX_NAME_BYTES = 120  # bytes
CSV = FileOptions()
BYTE_ORDER_MARK = "\ufeff".encode()
_NOT_IN_FILE_NAMES = frozenset('\\/:*?"<>|')
_JOINERS = frozenset("\u200c\u200d")  # parts of emoji and of words in some languages

_NOT_INSTALLED = (
    "`format` cannot be {}: this installation has no package that writes it. Its operator can install the "
    "extra `{}`. Use csv instead."
)

Rows = Iterator[Sequence[Any]]
Progress = Callable[[int], None]


def export(
    *, project: Project, options: FileOptions = CSV, selection: Selection = ALL, note: Progress | None = None
) -> File:
    """A project's responses as a file, oldest first. A workbook is written as a whole to the disk;
    other formats are produced while they are read.

    `note` is called from time to time with the number of responses written so far, and at the end. A workbook
    with more columns than a spreadsheet can contain is refused at its first chunk, and so is a workbook or an
    SPSS file that would be too large. Refuses a format that this installation does not write.
    """
    if options.format not in INSTALLED:
        refuse("format", "not_allowed", _NOT_INSTALLED.format(options.format, _EXTRAS[options.format][0]))
    script = partial(script_cache.script_of, project)
    selecting.refuse_faults(selection.where, script=script, solutions=options.solutions)
    options = replace(options, screened_out=selection.outcome == Conversation.SCREENED_OUT)
    chunks = _chunks(project, selection, options, note)
    return File(MEDIA_TYPES[options.format], file_name(project.name, options.format), chunks)


def _chunks(project: Project, selection: Selection, options: FileOptions, note: Progress | None) -> Chunks:
    """The file. Headers of many columns take seconds, so they are made in the slot of the download, too."""
    is_table = options.format not in ("json", "ndjson")
    removed = frozenset() if is_table else missing.removed_questions(project)
    with_course = options.marks_missing if is_table else bool(removed)
    batches = responses.batches(project=project, filters=_filters(selection), with_course=with_course)
    rows = _noted(batches, note)
    yield from _FORMATS[options.format](project, rows, replace(options, removed=removed))


def _noted(batches: Iterator[Sequence[Sequence[Any]]], note: Progress | None) -> Rows:
    count = 0
    for batch in batches:
        yield from batch
        count += len(batch)
        if note:
            note(count)


@in_transaction
def note_export(*, actor: Actor, project: Project, format: str, at: datetime) -> None:
    """Record in the audit trail that the actor gets a file. Call this when the first chunk exists."""
    history.record_export(project, actor=actor, format=format, at=at)


def file_name(name: str, extension: str) -> str:
    """A file name from a project's name, without characters that file systems refuse or that reverse text."""
    safe = "".join(
        " " if sign.isspace() else sign
        for sign in composed(name)
        if sign not in _NOT_IN_FILE_NAMES
        and (sign.isspace() or sign in _JOINERS or unicodedata.category(sign)[0] != "C")
    )
    cut = " ".join(safe.split()).strip(". ").encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    return f"{cut.rstrip('. ') or 'responses'}.{extension}"


def _filters(selection: Selection) -> Mapping[str, object]:
    filters = asdict(selection)
    return {"status": filters.pop("covers"), **filters}


def _table(project: Project, options: FileOptions, style: CellStyle) -> ResponseTable:
    return (answer_table if options.is_long else response_table)(project, options, style)


def _csv(project: Project, rows: Rows, options: FileOptions) -> Chunks:
    table = _table(project, options, SHEET)

    def lines() -> Iterator[bytes]:
        yield BYTE_ORDER_MARK if options.with_bom else b""
        yield csv_line(table.headers)
        for row in rows:
            for cells in table.rows(row):
                yield csv_line(cells)  # type: ignore[arg-type] # sheets have texts only

    return in_chunks(lines())


def _json(project: Project, rows: Rows, options: FileOptions) -> Chunks:
    responses_json = _serialized(project, rows, options)

    def parts() -> Iterator[bytes]:
        yield b'{"data":['
        yield next(responses_json, b"")
        for response_bytes in responses_json:
            yield b"," + response_bytes
        yield b"]}"

    return in_chunks(parts())


def _ndjson(project: Project, rows: Rows, options: FileOptions) -> Chunks:
    return in_chunks(line + b"\n" for line in _serialized(project, rows, options))


def _serialized(project: Project, rows: Rows, options: FileOptions) -> Iterator[bytes]:
    """Responses in the format of the listing, with the removed questions that they skipped, if there are
    any.
    """
    serialize = response_json.response_serializer(project, solutions=options.solutions)
    if not options.removed:
        return (wire.render(serialize(row)) for row in rows)
    skipped = missing.skipped_among(options.removed)
    of_listing = slice(missing.COURSE.start)
    return (wire.render(serialize(row[of_listing]) | skipped(row)) for row in rows)


def _xlsx(project: Project, rows: Rows, options: FileOptions) -> Chunks:
    from surveys.services.exports import xlsx as export_xlsx  # noqa: PLC0415 - 12 MB of memory, needed for workbooks only

    table = _table(project, options, WORKBOOK)
    if len(table.headers) > export_xlsx.MAX_COLUMNS:
        message = (
            f"`format` cannot be xlsx: the responses need {len(table.headers):,} columns, and a sheet holds "
            f"{export_xlsx.MAX_COLUMNS:,}. Use csv instead."
        )
        refuse("format", "too_many", message)
    cells = (each for row in rows for each in table.rows(row))
    times = [n for n, column in enumerate(table.columns) if column.kind == Kind.TIME]
    return file_chunks(lambda: export_xlsx.workbook(table.headers, cells, name="Responses", times=times))


def _parquet(project: Project, rows: Rows, options: FileOptions) -> Chunks:
    from surveys.services.exports import parquet as export_parquet  # noqa: PLC0415 - 60 MB of memory

    table = _table(project, options, TYPED)
    cells = (each for row in rows for each in table.rows(row))
    return file_chunks(lambda: export_parquet.parquet_file(table.columns, cells))


def _sav(project: Project, rows: Rows, options: FileOptions) -> Chunks:
    from surveys.services.exports import spss  # noqa: PLC0415 - 60 MB of memory

    table = _table(project, replace(options, codes=True, is_long=False, by_name=False), TYPED)
    cells = (each for row in rows for each in table.rows(row))
    return file_chunks(lambda: spss.spss_file(table.columns, cells))


def file_chunks(make: Callable[[], IO[bytes]]) -> Chunks:
    with make() as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def in_chunks(parts: Iterable[bytes]) -> Chunks:
    pending: list[bytes] = []
    size = 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size >= CHUNK_BYTES:
            yield b"".join(pending)
            pending, size = [], 0
    yield b"".join(pending)


_FORMATS: Mapping[str, Callable[[Project, Rows, FileOptions], Chunks]] = {
    "csv": _csv,
    "xlsx": _xlsx,
    "json": _json,
    "ndjson": _ndjson,
    "parquet": _parquet,
    "sav": _sav,
}
