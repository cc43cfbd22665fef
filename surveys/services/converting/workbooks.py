"""Workbooks (XLSX) of others: the values of the cells of a sheet, read as a stream within limits.

book = Workbook(data, Limits(…))
book.names            the names of its sheets, in lower case, each once
book.rows("survey")   the rows that are not empty, each with its number
book.unvalued         the number of the first row with a formula without its result, by the name of its sheet
book.ended            where a sheet was not read to its end: the numbers of the last rows read, by its name
"""

from __future__ import annotations

import io
import posixpath
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from surveys.services.converting.elements import FAULTS, PIECE, Elements, Path, Reader, local
from surveys.services.converting.questionnaire import unreadable

XLS = b"\xd0\xcf\x11\xe0"  # the first bytes of a workbook of Excel 2003 and older
SIGNS = (b"PK", XLS)  # with one of which a workbook begins
MAX_FILES = 2_000  # of an archive; a workbook has one for each sheet, picture and chart
MOST_EMPTY = 4  # a sheet ends where this part of the elements are empty rows: some programs format a million
MAX_STYLES = 65_536
MAX_FORMAT = 255  # characters
MAX_NUMBER = 40  # characters
_DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})  # formats without a code
_DURATIONS = frozenset({46})
_LITERALS = re.compile(r'"[^"]{0,99}"|\[(?!hh?\]|mm?\]|ss?\])[^\[\]]{0,99}\]')
_OF_DATES = re.compile(r"(?<![_\\])[dmhys]", re.IGNORECASE)
_OF_DURATIONS = re.compile(r"\[(?:hh?|mm?|ss?)\]", re.IGNORECASE)
_ESCAPED = re.compile("_x(000D|005F)_", re.IGNORECASE)
_FIRST_DAY, _FIRST_DAY_OF_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)  # noqa: DTZ001
_NO_WORKBOOK = "must be an XLSX workbook, as base64."
Row = tuple[int, Sequence[object]]


@dataclass(frozen=True, slots=True)
class Limits:
    """What is read of a workbook: rows that are not empty and columns beyond these are left out, all else is
    refused.
    """

    rows: int
    columns: int
    elements: int  # and attributes
    unpacked: int  # bytes
    cells: int = 500_000  # up to the last one of each row
    characters: int = 8_388_608  # of all cells, as in the largest CSV


class _Enough(Exception):
    """The rows that follow are not read."""


class Workbook:
    """A workbook whose sheets are read when they are asked for, all of them within its limits."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        self.limits = limits
        self.names: list[str] = []
        self.ended: dict[str, int] = {}
        self.unvalued: dict[str, int] = {}
        self.shows_percents = False  # in a sheet that was read
        self._elements = Elements(limits.elements)
        self._unpacked = self._cells = self._characters = 0
        self._paths: dict[str, str] = {}
        self._strings: list[str] = []
        self._first_day = _FIRST_DAY
        self._dates: set[str] = set()
        self._durations: set[str] = set()
        self._percents: set[str] = set()
        if data.startswith(XLS):
            unreadable("must be a workbook in the format XLSX. It has the older format XLS: save it as XLSX.")
        with _faults_refused():
            if data.count(b"PK\x01\x02") > MAX_FILES:
                unreadable(f"must be an archive of at most {MAX_FILES:,} files.")
            self._archive = ZipFile(io.BytesIO(data))
            self._open()

    def rows(self, name: str) -> list[Row]:
        """The rows of a sheet that are not empty, each with its number. Refuses too many cells."""
        sheet = _Sheet(self)
        with _faults_refused():
            try:
                self._walk(self._paths[name], sheet)
            except _Enough:
                self.ended[name] = sheet.last
        if sheet.unvalued:
            self.unvalued[name] = sheet.unvalued
        return sheet.rows

    @property
    def element_count(self) -> int:
        """The elements and attributes that were read."""
        return self._elements.count

    def _open(self) -> None:
        start = self._relations("")
        path = next((target for kind, target in start.values() if kind == "officeDocument"), "")
        relations = self._relations(path)
        index = _Index()
        self._walk(path, index)
        if index.is_1904:
            self._first_day = _FIRST_DAY_OF_1904
        for name, key in index.sheets:
            kind, target = relations.get(key, ("", ""))
            if kind == "worksheet":
                self._paths.setdefault(name.strip().lower(), target)
        self.names = list(self._paths)
        for kind, target in relations.values():
            if kind == "sharedStrings" and not self._strings:
                strings = _Strings(self)
                self._walk(target, strings)
                self._strings = strings.found
                self._cells = self._characters = 0
            elif kind == "styles" and not self._dates:
                styles = _Styles()
                self._walk(target, styles)
                self._dates, self._durations = styles.dates, styles.durations
                self._percents = styles.percents

    def _relations(self, path: str) -> dict[str, tuple[str, str]]:
        """The files that a file refers to: the last word of its type, and its path, by its key."""
        folder, name = posixpath.split(path)
        reader = _Relations(folder)
        self._walk(posixpath.join(folder, "_rels", f"{name}.rels"), reader)
        return reader.found

    def _walk(self, path: str, reader: Reader) -> None:
        self._elements.walk(self._pieces(path), reader)

    def _pieces(self, path: str) -> Iterator[bytes]:
        info = self._archive.getinfo(path)
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others unpack to any size at once
            unreadable(_NO_WORKBOOK)
        with self._archive.open(info) as file:
            while piece := file.read(PIECE):
                self._unpacked += len(piece)
                if self._unpacked > self.limits.unpacked:
                    unreadable(f"unpacks to more than {self.limits.unpacked // 1_048_576} MiB.")
                yield piece

    def spend(self, *, cells: int = 0, characters: int = 0) -> None:
        """Count what is kept of the sheets. Refuses more than the limits."""
        self._cells += cells
        self._characters += characters
        if self._cells > self.limits.cells:
            unreadable(f"must have at most {self.limits.cells:,} cells.")
        if self._characters > self.limits.characters:
            unreadable(f"must have cells with at most {self.limits.characters:,} characters in all.")

    # --- Values of cells

    def value(self, kind: str, style: str, text: str) -> object:
        """The value of a cell of a type and a style."""
        if kind == "s":
            return self._strings[_whole(text)]
        if kind == "b":
            return text in ("1", "true")
        if kind == "d":
            return _moment(text)
        if kind != "n":
            return text
        number = _number(text)
        self.shows_percents |= style in self._percents
        if style in self._dates and not isinstance(number, str):
            return self._date(number, is_duration=style in self._durations)
        return number

    def _date(self, days: float, *, is_duration: bool) -> object:
        """A day, a time or both from a number of days; what spreadsheets show for those that do not exist."""
        try:
            length = timedelta(milliseconds=round(days * 86_400_000))
            if is_duration:
                return length
            if 0 <= days < 1 and not length.days:
                return (datetime.min + length).time()  # noqa: DTZ901
            is_before_march = 0 < days < 60 and self._first_day == _FIRST_DAY
            return self._first_day + length + timedelta(days=is_before_march)  # 1900 has a 29th of February
        except (OverflowError, ValueError):
            return "#VALUE!"


class _Relations(Reader):
    wanted = frozenset({"Relationship"})

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.found: dict[str, tuple[str, str]] = {}

    def start(self, path: Path, attributes: Mapping[str, str]) -> None:
        if len(self.found) < MAX_FILES:
            kind = attributes.get("Type", "").rpartition("/")[2]
            target = posixpath.normpath(posixpath.join("/", self.folder, attributes.get("Target", "")))
            self.found[attributes.get("Id", "")] = kind, target.lstrip("/")


class _Index(Reader):
    """The file that lists the sheets."""

    wanted = frozenset({"sheet", "workbookPr"})

    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []  # names, and keys of relations
        self.is_1904 = False

    def start(self, path: Path, attributes: Mapping[str, str]) -> None:
        if path[1:] == ["sheets", "sheet"] and len(self.sheets) < MAX_FILES:
            self.sheets.append((attributes.get("name", ""), local(attributes, "id")))
        elif path[1:] == ["workbookPr"]:
            self.is_1904 = attributes.get("date1904") in ("1", "true")


class _Strings(Reader):
    """The texts that cells refer to by their numbers."""

    wanted = frozenset({"si", "t"})

    def __init__(self, book: Workbook) -> None:
        self.book = book
        self.found: list[str] = []
        self.parts: list[str] = []

    def end(self, path: Path, text: str) -> None:
        if path[-1] == "si":
            self.book.spend(cells=1)
            self.found.append(_unescaped("".join(self.parts)))
            self.parts.clear()
        elif path[-2:-1] != ["rPh"]:  # how a text is spoken
            self.book.spend(characters=len(text))
            self.parts.append(text)


class _Styles(Reader):
    """The numbers of styles that show numbers as dates, times, durations or percentages."""

    wanted = frozenset({"numFmt", "xf"})

    def __init__(self) -> None:
        self.formats: dict[str, str] = {}
        self.count = 0
        self.dates: set[str] = set()
        self.durations: set[str] = set()
        self.percents: set[str] = set()

    def start(self, path: Path, attributes: Mapping[str, str]) -> None:
        if path[-1] == "numFmt" and len(self.formats) < MAX_STYLES:
            self.formats[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")[:MAX_FORMAT]
        elif path[-2:] == ["cellXfs", "xf"] and self.count < MAX_STYLES:
            self._style(attributes.get("numFmtId", "0"))
            self.count += 1

    def _style(self, key: str) -> None:
        code = self.formats.get(key)
        if "%" in code if code else key in ("9", "10"):
            self.percents.add(str(self.count))
        if code is None:
            number = _whole(key)
            is_date, is_duration = number in _DATES, number in _DURATIONS
        else:
            first = code.partition(";")[0]
            is_date = _OF_DATES.search(_LITERALS.sub("", first)) is not None
            is_duration = _OF_DURATIONS.search(first) is not None
        if is_date:
            self.dates.add(str(self.count))
        if is_duration:
            self.durations.add(str(self.count))


class _Sheet(Reader):
    wanted = frozenset({"row", "c", "v", "t", "f"})

    def __init__(self, book: Workbook) -> None:
        self.book = book
        self.limits = book.limits
        self.rows: list[Row] = []
        self.number = 0  # of the row
        self.cells: list[object] = []
        self.is_filled = False
        self.last = 0  # the number of the last row that is not empty
        self.read = book.element_count  # up to that row
        self.column = 0
        self.unvalued = 0  # the number of the first row with a formula without a value
        self.has_formula = False
        self.kind, self.style = "", ""
        self.text = ""
        self.parts: list[str] = []  # of a text in several fonts

    def start(self, path: Path, attributes: Mapping[str, str]) -> None:
        name, depth = path[-1], len(path)
        if name == "c" and depth == 4:
            place = attributes.get("r")
            self.column = _column(place) if place else self.column + 1
            self.kind, self.style = attributes.get("t", "n"), attributes.get("s", "0")
            self.text, self.has_formula = "", False
            self.parts.clear()
        elif name == "row" and depth == 3:
            number = attributes.get("r")
            self.number = max(self.number + 1, _whole(number) if number else 0)
            if self.book.element_count - self.read > self.limits.elements // MOST_EMPTY:
                raise _Enough
            self.cells, self.column, self.is_filled = [], 0, False

    def end(self, path: Path, text: str) -> None:
        name, depth = path[-1], len(path)
        if name == "v" and depth == 5:
            self.text = text
        elif name == "c" and depth == 4:
            if self.text or self.parts:
                self._cell()
            elif self.has_formula and self.kind != "str":  # an empty text is a result
                self.unvalued = self.unvalued or self.number
        elif name == "f":
            self.has_formula = True
        elif name == "t" and path[-2:-1] != ["rPh"]:
            self.book.spend(characters=len(text))
            self.parts.append(text)
        elif name == "row" and depth == 3:
            self._row()

    def _cell(self) -> None:
        text = "".join(self.parts) if self.kind == "inlineStr" else self.text
        if not text or not 0 < self.column <= self.limits.columns:
            return
        value = self.book.value(self.kind, self.style, text)
        if isinstance(value, str):
            self.book.spend(characters=len(value) if self.kind != "inlineStr" else 0)  # spent as it was read
            self.is_filled |= value != "" and not value.isspace()
        else:
            self.is_filled = True
        self.cells.extend([None] * (self.column - len(self.cells)))
        self.cells[self.column - 1] = value

    def _row(self) -> None:
        if not self.is_filled:
            return
        if len(self.rows) == self.limits.rows:
            raise _Enough
        self.last, self.read = self.number, self.book.element_count
        self.book.spend(cells=len(self.cells))
        self.rows.append((self.number, self.cells))


@contextmanager
def _faults_refused() -> Iterator[None]:
    try:
        yield
    except (
        *FAULTS,
        BadZipFile,
        EOFError,
        NotImplementedError,
        OSError,
        OverflowError,
        RuntimeError,
        struct.error,
        zlib.error,
    ):  # fmt: skip - faulty archives raise all of these
        unreadable(_NO_WORKBOOK)


def _column(place: str) -> int:
    """The number of the column of a place such as `AB12`."""
    number = 0
    for letter in place[:4]:
        if not "A" <= letter <= "Z":
            break
        number = number * 26 + ord(letter) - 64
    return number


def _whole(text: str) -> int:
    """A number from zero on. Raises ValueError for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError("This is no number of a workbook.")
    return int(text)


def _number(text: str) -> int | float | str:
    """A number, or the text if it is none."""
    try:
        return (float if re.search("[.eE]", text) else int)(text) if len(text) <= MAX_NUMBER else text
    except ValueError:
        return text


def _moment(text: str) -> datetime | str:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: "_" if match[1] == "005F" else "\r", text) if "_x0" in text else text
