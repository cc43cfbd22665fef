"""Tables of cells as workbooks for spreadsheets.

The library is large: import this where a workbook is made, so that other processes go without.
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

from surveys.services.exports.columns import Cell, Number

MOST_COLUMNS = 16_384  # of a sheet
MOST_ROWS = 1_048_576
NARROWEST, WIDEST = 10, 48  # characters
FOLDER = "colloquy-export-"


def workbook(headers: Sequence[str], rows: Iterator[Sequence[Cell]], *, name: str) -> BinaryIO:
    """A workbook in a file that is gone once it is closed, or with this process.

    Rows go to the disk as they come. What does not fit one sheet goes on in another.
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
        for n in range(1, MOST_ROWS):
            if row is None:
                return
            _write(sheet, n, row)
            row = next(rows, None)
        if row is None:
            return


class _Sheet(Worksheet):  # type: ignore[misc] # of a library without types
    def _xml_rich_inline_string(self, string: str, attributes: Any = None) -> None:
        """A text that someone wrote as `<r>…</r>` is a text too: unasked, it would be taken for markup."""
        self._xml_inline_string(string, True, attributes)


def _begin(sheet: Worksheet, headers: Sequence[str], bold: Format) -> None:
    sheet.freeze_panes(1, 0)
    for n, header in enumerate(headers):
        sheet.set_column(n, n, min(max(len(header) + 2, NARROWEST), WIDEST))
        _put(sheet.write_string(0, n, header, bold))


def _write(sheet: Worksheet, n: int, cells: Sequence[Cell]) -> None:
    for column, cell in enumerate(cells):
        if cell is None:
            continue
        if isinstance(cell, Number):
            _put(sheet.write_number(n, column, float(cell)))
        else:
            _put(sheet.write_string(n, column, cell))


def _put(fault: int) -> None:
    """Nothing is left out or cut in silence."""
    if fault:
        raise ValueError("A cell does not fit a workbook.")
