"""Rows of cells as workbooks for spreadsheets.

The library takes much memory, so this module is imported only when a workbook is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from communities.ground.errors import refuse
from surveys.services.exports.cells import Cell, NumberText, time_text

MAX_COLUMNS = 16_384  # in a sheet
MAX_CELLS = 2_000_000  # the library takes 6 s of CPU for a million texts, before the first byte is sent
MIN_WIDTH, MAX_WIDTH = 10, 48  # characters
TIME_WIDTH = 25  # in a narrower column spreadsheets show only #####
TIME_FORMAT = 'yyyy-mm-dd hh:mm:ss "UTC"'  # a workbook's times have no time zone
DATE_FORMAT = "yyyy-mm-dd"
# The day from which days are counted; correct from March 1900 on
DAY_ZERO = datetime(1899, 12, 30, tzinfo=UTC)
FIRST_TIME = datetime(1901, 1, 1, tzinfo=UTC)
SECONDS_OF_A_DAY = 86_400
FOLDER = "colloquy-export-"


def workbook(
    headers: Sequence[str], rows: Iterator[Sequence[Cell]], *, name: str, times: Collection[int] = ()
) -> BinaryIO:
    """A workbook in a temporary file, which is deleted when it is closed or the process ends (rule 6.69).

    `times` are the indexes of columns that contain times. Rows are written to the disk one by one. Refuses a
    table of more than MAX_CELLS; a table with two columns reaches this limit before the row limit of a sheet.
    """
    with TemporaryDirectory(prefix=FOLDER) as folder:
        path = Path(folder) / "workbook"
        book = Workbook(str(path), {"constant_memory": True, "tmpdir": folder})
        book.use_zip64()
        try:
            _fill(book, headers, rows, name, times)
        except BaseException:
            for sheet in book.worksheets():
                sheet._opt_close()
            raise
        book.close()
        return path.open("rb")


def _fill(
    book: Workbook,
    headers: Sequence[str],
    rows: Iterator[Sequence[Cell]],
    name: str,
    times: Collection[int],
) -> None:
    bold = book.add_format({"bold": True})
    time, day = (book.add_format({"num_format": form}) for form in (TIME_FORMAT, DATE_FORMAT))
    sheet = book.add_worksheet(name, _Sheet)
    _begin(sheet, headers, bold, times)
    for n, row in enumerate(rows, 1):
        if n * len(headers) > MAX_CELLS:
            message = (
                f"`format` cannot be xlsx: the table has more than {MAX_CELLS:,} cells. Use csv instead."
            )
            refuse("format", "too_many", message)
        _write(sheet, n, row, time, day)


class _Sheet(Worksheet):  # type: ignore[misc] # of a library without types
    def _xml_rich_inline_string(self, string: str, attributes: Any = None) -> None:
        """Write a text like `<r>…</r>` as text: the library would treat it as markup."""
        self._xml_inline_string(string, True, attributes)


def _begin(sheet: Worksheet, headers: Sequence[str], bold: Format, times: Collection[int]) -> None:
    sheet.freeze_panes(1, 0)
    for n, header in enumerate(headers):
        width = max(len(header) + 2, TIME_WIDTH if n in times else MIN_WIDTH)
        sheet.set_column(n, n, min(width, MAX_WIDTH))
        _check_written(sheet.write_string(0, n, header, bold))


def _write(sheet: Worksheet, n: int, cells: Sequence[Cell], time: Format, day: Format) -> None:
    for column, cell in enumerate(cells):
        if cell is None:
            continue
        if isinstance(cell, NumberText):
            _check_written(sheet.write_number(n, column, float(cell)))
        elif isinstance(cell, datetime):
            _check_written(_write_time(sheet, n, column, cell, time))
        elif isinstance(cell, date) and cell >= FIRST_TIME.date():
            _check_written(sheet.write_number(n, column, (cell - DAY_ZERO.date()).days, day))
        else:
            _check_written(sheet.write_string(n, column, str(cell)))


def _write_time(sheet: Worksheet, n: int, column: int, at: datetime, time: Format) -> int:
    if at < FIRST_TIME:
        return int(sheet.write_string(n, column, time_text(at)))
    return int(sheet.write_number(n, column, (at - DAY_ZERO).total_seconds() / SECONDS_OF_A_DAY, time))


def _check_written(error: int) -> None:
    """Raise an error instead of silently cutting a cell or leaving it out."""
    if error:
        raise ValueError("A cell does not fit a workbook.")
