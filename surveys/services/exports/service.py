"""Responses as a file: CSV, XLSX, JSON or NDJSON, made a part at a time (decisions 8.15, 14.5, 14.6)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from communities import wire
from communities.errors import refuse
from surveys.models import Project
from surveys.services.exports import columns as export_columns
from surveys.services.exports import csv as export_csv
from surveys.services.representations import response as response_json
from surveys.services.responses import service as responses
from surveys.services.results.figures import ALL, Selection

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
}
CHUNK = 65_536  # bytes
LONGEST_NAME = 120  # bytes
BYTE_ORDER_MARK = "\ufeff".encode()
_NOT_IN_FILE_NAMES = frozenset('\\/:*?"<>|')
_JOINERS = frozenset("\u200c\u200d")  # inside emoji and words of some languages

Chunks = Generator[bytes, None, None]
Rows = Iterator[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Export:
    """A file to be sent. Nothing is read before the first of `chunks` is asked for.

    A workbook is then made as a whole, on the disk; all others come as they are read. Close `chunks` where
    they are not all taken. A fault may come out of any of them, and what was taken is then no whole file.
    """

    content_type: str
    file_name: str
    chunks: Chunks


def export(*, project: Project, format: str, selection: Selection = ALL, with_bom: bool = False) -> Export:
    """A project's responses in one of `MEDIA_TYPES`, oldest first. `with_bom` marks the bytes of a CSV.

    Refuses a workbook of more columns than spreadsheets have.
    """
    filters = _filters(selection)
    rows = (row for part in responses.batches(project=project, filters=filters) for row in part)
    return Export(
        MEDIA_TYPES[format], file_name(project.name, format), _MADE[format](project, rows, with_bom)
    )


def file_name(name: str, extension: str) -> str:
    """A project's name as that of a file: without what file systems refuse and what turns text around."""
    safe = "".join(
        " " if sign.isspace() else sign
        for sign in unicodedata.normalize("NFC", name)
        if sign not in _NOT_IN_FILE_NAMES
        and (sign.isspace() or sign in _JOINERS or unicodedata.category(sign)[0] != "C")
    )
    cut = " ".join(safe.split()).strip(". ").encode()[:LONGEST_NAME].decode(errors="ignore")
    return f"{cut.rstrip('. ') or 'responses'}.{extension}"


def _filters(selection: Selection) -> Mapping[str, object]:
    told = asdict(selection)
    return {"status": told.pop("covers"), **told}


def _csv(project: Project, rows: Rows, with_bom: bool) -> Chunks:
    table = export_columns.table(project)

    def lines() -> Iterator[bytes]:
        yield BYTE_ORDER_MARK if with_bom else b""
        yield export_csv.line(table.headers)
        for row in rows:
            yield export_csv.line(table.cells(row))

    return _in_chunks(lines())


def _json(project: Project, rows: Rows, _with_bom: bool) -> Chunks:
    told = _told(project, rows)

    def parts() -> Iterator[bytes]:
        yield b'{"data":['
        yield next(told, b"")
        for each in told:
            yield b"," + each
        yield b"]}"

    return _in_chunks(parts())


def _ndjson(project: Project, rows: Rows, _with_bom: bool) -> Chunks:
    return _in_chunks(each + b"\n" for each in _told(project, rows))


def _told(project: Project, rows: Rows) -> Iterator[bytes]:
    tell = response_json.response_serializer(project)
    return (wire.render(tell(row)) for row in rows)


def _xlsx(project: Project, rows: Rows, _with_bom: bool) -> Chunks:
    from surveys.services.exports import xlsx as export_xlsx  # noqa: PLC0415 - 12 MB, only for workbooks

    table = export_columns.table(project)
    if len(table.headers) > export_xlsx.MOST_COLUMNS:
        message = (
            f"`format` cannot be xlsx: there would be {len(table.headers):,} columns, and a sheet holds "
            f"{export_xlsx.MOST_COLUMNS:,}. Take csv."
        )
        refuse("format", "too_many", message)
    cells = (table.cells(row) for row in rows)
    return _read(lambda: export_xlsx.workbook(table.headers, cells, name="Responses"))


def _read(make: Callable[[], BinaryIO]) -> Chunks:
    with make() as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _in_chunks(parts: Iterable[bytes]) -> Chunks:
    gathered: list[bytes] = []
    size = 0
    for part in parts:
        gathered.append(part)
        size += len(part)
        if size >= CHUNK:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)


_MADE: Mapping[str, Callable[[Project, Rows, bool], Chunks]] = {
    "csv": _csv,
    "xlsx": _xlsx,
    "json": _json,
    "ndjson": _ndjson,
}
