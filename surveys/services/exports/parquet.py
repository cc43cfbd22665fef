"""Rows of cells as a Parquet file.

The library takes much memory, so this module is imported only when such a file is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from tempfile import TemporaryFile
from typing import IO, Any

import pyarrow
from pyarrow import parquet

from surveys.services.exports.cells import Cell, Kind, NumberText, TableColumn

# Rows are converted to Arrow's arrays in batches, and batches are written to the disk in groups.
ROWS_IN_BATCH = 1_000
TEXT_IN_BATCH = 1_000_000  # characters; a batch of long texts has fewer rows
ROWS_IN_GROUP = 20_000
BYTES_IN_GROUP = 32_000_000  # in Arrow's memory format
_TYPES = {
    Kind.TEXT: pyarrow.string(),
    Kind.INTEGER: pyarrow.int64(),
    Kind.NUMBER: pyarrow.float64(),
    Kind.TIME: pyarrow.timestamp("ms", tz="UTC"),
    Kind.DATE: pyarrow.date32(),
}


def parquet_file(columns: Sequence[TableColumn], rows: Iterator[Sequence[Cell]]) -> IO[bytes]:
    """A Parquet file in a temporary file, which is deleted when it is closed or the process ends.

    Rows are written to the disk in groups, so memory contains one group. A cell with a value of another kind
    than its column is empty.
    """
    schema = pyarrow.schema([(column.header, _TYPES[column.kind]) for column in columns])
    file = TemporaryFile(prefix="colloquy-export-")  # noqa: SIM115 - the reader closes it
    try:
        with parquet.ParquetWriter(file, schema, compression="snappy") as writer:
            for group in _groups(schema, columns, rows):
                writer.write_table(group, row_group_size=group.num_rows)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _groups(schema: Any, columns: Sequence[TableColumn], rows: Iterator[Sequence[Cell]]) -> Iterator[Any]:
    group: list[Any] = []
    count = size = 0
    for batch_rows in _batches(rows):
        batch = _arrow_batch(schema, columns, batch_rows)
        group.append(batch)
        count += batch.num_rows
        size += batch.nbytes
        if count >= ROWS_IN_GROUP or size >= BYTES_IN_GROUP:
            yield pyarrow.Table.from_batches(group)
            group, count, size = [], 0, 0
    if group:
        yield pyarrow.Table.from_batches(group)


def _batches(rows: Iterator[Sequence[Cell]]) -> Iterator[list[Sequence[Cell]]]:
    batch: list[Sequence[Cell]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(cell) for cell in row if isinstance(cell, str))
        if len(batch) == ROWS_IN_BATCH or size >= TEXT_IN_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _arrow_batch(schema: Any, columns: Sequence[TableColumn], rows: Sequence[Sequence[Cell]]) -> Any:
    arrays = []
    for place, column in enumerate(columns):
        read = _READ[column.kind]
        values = [None if row[place] is None else read(row[place]) for row in rows]
        arrays.append(pyarrow.array(values, type=_TYPES[column.kind]))
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _integer(cell: Cell) -> int | None:
    return int(cell) if isinstance(cell, NumberText) else None


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, NumberText) else None


def _date(cell: Cell) -> date | None:
    return cell if isinstance(cell, date) else None


def _as_it_is(cell: Cell) -> Cell:
    return cell


_READ: dict[Kind, Callable[[Cell], Any]] = {
    Kind.TEXT: str,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.TIME: _as_it_is,
    Kind.DATE: _date,
}
