"""Rows of cells as workbooks for spreadsheets.

The library takes much memory, so this module is imported only when a workbook is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from surveys.services.exports.cells import Cell, NumberText

MAX_COLUMNS = 16_384  # in a sheet
MAX_ROWS = 1_048_576
MIN_WIDTH, MAX_WIDTH = 10, 48  # characters
FOLDER = "colloquy-export-"


def workbook(headers: Sequence[str], rows: Iterator[Sequence[Cell]], *, name: str) -> BinaryIO:
    """A workbook in a temporary file, which is deleted when it is closed or the process ends.

    Rows are written to the disk one by one. Rows that do not fit into one sheet continue in another.
    """
    with TemporaryDirectory(prefix=FOLDER) as folder:
        path = Path(folder) / "workbook"
        book = Workbook(str(path), {"constant_memory": True, "tmpdir": folder})
        book.use_zip64()
        try:
            _fill(book, headers, rows, name)
        except BaseException:
            for sheet in book.worksheets():
                sheet._opt_close()
            raise
        book.close()
        return path.open("rb")


def _fill(book: Workbook, headers: Sequence[str], rows: Iterator[Sequence[Cell]], name: str) -> None:
    bold = book.add_format({"bold": True})
    row = next(rows, None)
    for number in count(1):
        sheet = book.add_worksheet(name if number == 1 else f"{name} {number}", _Sheet)
        _begin(sheet, headers, bold)
        for n in range(1, MAX_ROWS):
            if row is None:
                return
            _write(sheet, n, row)
            row = next(rows, None)
        if row is None:
            return


class _Sheet(Worksheet):  # type: ignore[misc] # of a library without types
    def _xml_rich_inline_string(self, string: str, attributes: Any = None) -> None:
        """Write a text like `<r>…</r>` as text: the library would treat it as markup."""
        self._xml_inline_string(string, True, attributes)


def _begin(sheet: Worksheet, headers: Sequence[str], bold: Format) -> None:
    sheet.freeze_panes(1, 0)
    for n, header in enumerate(headers):
        sheet.set_column(n, n, min(max(len(header) + 2, MIN_WIDTH), MAX_WIDTH))
        _check_written(sheet.write_string(0, n, header, bold))


def _write(sheet: Worksheet, n: int, cells: Sequence[Cell]) -> None:
    for column, cell in enumerate(cells):
        if cell is None:
            continue
        if isinstance(cell, NumberText):
            _check_written(sheet.write_number(n, column, float(cell)))
        else:
            _check_written(sheet.write_string(n, column, str(cell)))


def _check_written(error: int) -> None:
    """Raise instead of leaving a cell out or cutting it silently."""
    if error:
        raise ValueError("A cell does not fit a workbook.")
