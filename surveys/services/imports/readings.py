"""How the cells of a column are read: in one way, chosen from the whole column, or by staff.

readings = Readings(table, matching, found)
readings.ways(3)           the ways that differ in what they read; the first one is read, if `is_clear`
readings.read(3, "12,5")   what a cell says; None for no answer; Unreadable for what no way explains
readings.facts(3)          the way in words, with examples, and what counts as no answer
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from itertools import accumulate, islice, zip_longest
from zoneinfo import ZoneInfo

from communities.ground.sent_text import sent_text
from communities.ground.words import plural
from surveys import written_numbers
from surveys.engine.intake.fields import MAX_OTHER_TEXT
from surveys.engine.script import SCALES, WITH_ITEMS, Block, Option
from surveys.services.exports.cells import FIXED, NumberText
from surveys.services.exports.missing import Missing
from surveys.services.imports.matching import Matching, Questions
from surveys.services.imports.names import SEPARATORS, Name, Names, Unreadable, cut, listed, plain
from surveys.services.imports.tables import Table

KINDS = ("labels", "values", "codes")
FROM_ZERO = "codes0"
KIND_WORDS = {FROM_ZERO: "codes that begin with 0"}
TIMES = ("started_at", "submitted_at", "consent.at")
NOTATIONS = {"plain": "numbers with a point", "point": "1,234.5 (a point)", "comma": "1.234,5 (a comma)"}
DATES = {"dmy": "day, month, year", "mdy": "month, day, year"}
OWN_MARKS = tuple(each.text for each in Missing)
NUMERIC_MARKS = ("-99", "-98", "-999", "999")
MARKS = frozenset({*OWN_MARKS, *NUMERIC_MARKS, "na", "n/a", "#n/a", "null", ".", "-"})
MAX_GUESSED = 500  # different cells of a column that show how its options are written, the most frequent ones
MAX_COMPARED = 60_000  # signs of cells, in all columns that are read alike, that are read in each way
SIGNS_OF_CELL = 20  # that a cell costs beside its own
MAX_NUMERAL = 200  # characters of a number
EXAMPLES = 2
_TIME = re.compile(
    r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})"
    r"(?:[T,\s]{1,3}(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s{0,2}([ap]\.?m\.?)?)?"
    r"\s{0,2}(Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_SERIAL = re.compile(r"[2-7]\d{4}(?:\.\d{1,12})?")  # days since 1899, as spreadsheets count them
_DAY_ZERO = datetime(1899, 12, 30, tzinfo=UTC)
_POWER = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,20})?e[+-]?\d{1,2}", re.IGNORECASE)
_ALIKE = str.maketrans("123456789", "111111111")  # numbers are read alike if they have the same signs
_CHOSEN = frozenset({"1", "true", "yes", "x", "y", "checked", "selected", "chosen", "ja", "oui", "✓", "✔"})
_UNCHOSEN = frozenset({"0", "false", "no", "n", "unchecked", "not selected", "not chosen", "nein", "non"})


@dataclass(frozen=True, slots=True)
class Choice:
    """The options that a cell names, and the text for the one with `is_other`. `is_odd` is a reading that
    another one may explain better.
    """

    options: tuple[Option, ...]
    text: str = ""
    is_odd: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to read the cells of a column. `read` raises Unreadable."""

    key: str
    words: str
    read: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways of a column that differ in what they read; the first is the one to use, if it has no `rivals`,
    which explain as much.
    """

    all: Sequence[Way]
    rivals: Sequence[Way] = ()

    @property
    def is_clear(self) -> bool:
        return not self.rivals

    @property
    def fault(self) -> str:
        """A sentence about a column that can be read in several ways; empty if there is only one."""
        ways = " or ".join(f"“{way.words}”" for way in self.rivals)
        return ways and f"The cells can be read as {ways}, which differ. Choose one."


@dataclass(frozen=True)
class Readings:
    """The readings of a file by its matching. `beat` is called in between, as columns may take long."""

    table: Table
    matching: Matching
    found: Questions
    beat: Callable[[], None] = lambda: None
    _names: dict[int | None, Names[Option]] = field(default_factory=dict)
    _counts: dict[int, tuple[Counter[str], Counter[str]]] = field(default_factory=dict)
    _marks: dict[int, Mapping[str, int]] = field(default_factory=dict)
    _ways: dict[int, Ways] = field(default_factory=dict)

    @property
    def is_own(self) -> bool:
        """Whether the file is an export of ours, which writes numbers and marks in one way only."""
        return {*FIXED} <= {*self.table.headers}

    def read(self, index: int, cell: str) -> object:
        """The answer in a cell; None if there is no answer. Raises Unreadable."""
        text = _cleaned(cell)
        if not text or text in self.marks(index):
            return None
        if fault := self.ways(index).fault:
            raise Unreadable(fault)
        return self.ways(index).all[0].read(text)

    def marks(self, index: int) -> Mapping[str, int]:
        """The texts of a column that count as no answer, each with the number of its cells."""
        if index not in self._marks:
            chosen, counts = self.matching.missing.get(str(index)), sum(self._counted(index), Counter[str]())
            marks = self._guessed_marks(index, counts) if chosen is None else chosen
            self._marks[index] = {mark: counts[mark] for mark in marks}
        return self._marks[index]

    def ways(self, index: int) -> Ways:
        """The ways to read a column. One that staff chose is always the first."""
        if index not in self._ways:
            self.beat()
            target = self.matching.columns[index]
            parts = [  # of a question whose options have columns
                n
                for n, other in enumerate(self.matching.columns)
                if other and other.rpartition(":")[0] == target.rpartition(":")[0]
            ]
            group = parts if target.startswith("o:") else [index]
            for n, ways in self._compared(group).items():
                self._ways[n] = ways
        return self._ways[index]

    def facts(self, index: int) -> Iterator[str]:
        """How a column is read, in sentences."""
        ways, counts = self.ways(index), sum(self._counted(index), Counter[str]())
        way, marks, shown = ways.all[0], self.marks(index), list[str]()
        if len(ways.all) > 1 or way.key not in (*DATES, *NOTATIONS, "text"):
            yield ways.fault or f"Read as {way.words}."
        texts = 0
        frequent = [cell for cell, _ in counts.most_common(MAX_GUESSED)]
        for cell in frequent[: _affordable(frequent)] if ways.is_clear else ():
            try:
                result = None if cell in marks else way.read(cell)
            except Unreadable:
                continue
            texts += isinstance(result, Choice) and bool(result.text)
            words = "" if result is None else self._in_words(result)
            if words.casefold() not in ("", cell.casefold()) and words not in shown and len(shown) < EXAMPLES:
                shown.append(words)
                yield f"“{cut(cell)}” is {words}."
        if texts:
            yield f"{plural(texts, 'different text')} of people’s own."
        for mark, count in marks.items():
            yield f"“{cut(mark)}” counts as no answer: {plural(count, 'cell')}."
        for mark in NUMERIC_MARKS if way.key in NOTATIONS else ():
            if counts[mark] and mark not in marks:
                yield f"“{mark}” is a number: {plural(counts[mark], 'cell')}."

    def _in_words(self, result: object) -> str:
        if isinstance(result, Choice):
            named = ", ".join(f"“{cut(option.display_text)}”" for option in result.options) or "not chosen"
            named = named[1:-1] if len(result.options) == 1 else named
            return f"{named}: “{cut(result.text)}”" if result.text else named
        if isinstance(result, datetime):
            return f"{result.astimezone(ZoneInfo(self.matching.zone)):%Y-%m-%d %H:%M}"
        text = str(result)
        return text.rstrip("0").removesuffix(".") if "." in text else text

    # --- Cells of a column

    def _counted(self, index: int) -> tuple[Counter[str], Counter[str]]:
        """The numbers and the texts of a column, each with the number of its cells."""
        if index not in self._counts:
            cells = self.table.column(index)
            numbers = Counter[str](cell for cell in cells if isinstance(cell, NumberText))
            texts = Counter[str]()
            for cell, count in Counter(cell for cell in cells if not isinstance(cell, NumberText)).items():
                texts[sent_text(cell)] += count
            self._counts[index] = numbers, texts
        return self._counts[index]

    def _guessed_marks(self, index: int, counts: Counter[str]) -> list[str]:
        target = self.matching.columns[index]
        block = self.found.block(target)
        if block is None or target.startswith("t:"):
            return []
        known = OWN_MARKS if self.is_own else MARKS
        return [text for text in counts if text.casefold() in known and self._is_missing(block, text)]

    def _is_missing(self, block: Block, text: str) -> bool:
        """Whether a mark is no answer to a question: an option's name is one, and a number within limits."""
        if block.type in WITH_ITEMS or block.type in SCALES:
            return not self.names(block).find(text, KINDS)
        if block.type == "open_numeric" and text in NUMERIC_MARKS:
            number = Decimal(text)
            is_small = block.min is not None and number < block.min
            return is_small or (block.max is not None and number > block.max)
        return block.type != "open_text" or block.format == "date" or (self.is_own and text in OWN_MARKS)

    # --- Ways

    def _compared(self, group: Sequence[int]) -> Mapping[int, Ways]:
        """The ways of columns that are read alike. Several that explain as much, but differ, are unclear."""
        possible = {index: self._possible(index) for index in group}
        scores, results = [], []
        sample = self._sample(group)
        for n in range(len(possible[group[0]])):
            read = [self._tried(possible[index][n], cell) for index, cell in sample]
            odd = sum(isinstance(each, Choice) and (bool(each.text) or each.is_odd) for each in read)
            scores.append((read.count(None) + odd, read.count(None), n))
            results.append(read)
        ranked = [n for *_, n in sorted(scores)]
        key = next((key for index in group if (key := self.matching.readings.get(str(index)))), "")
        first = next((n for n in ranked if possible[group[0]][n].key == key), None)
        is_certain = first is not None or (
            possible[group[0]][0].key == "plain" and not scores[0][0]  # of a file of our own
        )
        best = ranked[0] if first is None else first
        differing = [best]
        for n in ranked:
            is_new = all(results[n] != results[other] for other in differing)
            if is_new and any(each is not None for each in results[n]):
                differing.append(n)
        rivals = [n for n in differing if scores[n][:2] == scores[best][:2]]
        if not scores[best][0]:  # codes are ours: nobody means them where labels or values explain all
            rivals = [n for n in rivals if n == best or not possible[group[0]][n].key.startswith("codes")]
        rivals = [] if is_certain or len(rivals) == 1 else rivals
        return {
            index: Ways([ways[n] for n in differing], [ways[n] for n in rivals])
            for index, ways in possible.items()
        }

    @staticmethod
    def _tried(way: Way, cell: str) -> object:
        try:
            return way.read(cell)
        except Unreadable:
            return None

    def _sample(self, group: Sequence[int]) -> list[tuple[int, str]]:
        """The cells that show how columns are read; in each column the cells that distinguish most ways come
        first.
        """
        ranks = zip_longest(*map(self._telling, group))
        cells = [(n, cell) for rank in ranks for n, cell in zip(group, rank, strict=True) if cell is not None]
        return cells[: _affordable([cell for _, cell in cells])]

    def _telling(self, index: int) -> list[str]:
        """The cells of a column that may distinguish ways. Cells that all ways read alike are the last."""
        numbers, texts = self._counted(index)
        target, marks = self.matching.columns[index], self.marks(index)
        block = self.found.block(target)
        if target in TIMES or (block and block.format == "date"):
            days = {cell[:11]: cell for cell in texts if cell not in marks}.values()
            return sorted(days, key=lambda cell: cell[:4].isdigit())
        if block and block.type == "open_numeric":
            patterns = {cell.translate(_ALIKE): cell for cell in texts if cell not in marks}.values()
            return sorted(patterns, key=str.isdigit)
        if block is None or target.startswith("t:") or block.type == "open_text":
            return []
        return [cell for cell, _ in (numbers + texts).most_common(MAX_GUESSED) if cell not in marks]

    def _possible(self, index: int) -> list[Way]:
        target = self.matching.columns[index]
        block = self.found.block(target)
        is_date = block is not None and block.format == "date" and target.startswith("b:")
        if target in TIMES or is_date:
            read = _date if is_date else partial(_time, zone=ZoneInfo(self.matching.zone))
            return [Way(key, words, partial(read, order=key)) for key, words in DATES.items()]
        if block is None or target.startswith("t:") or block.type == "open_text":
            return [Way("text", "", str)]
        if block.type == "open_numeric":
            keys = [key for key in NOTATIONS if self.is_own or key != "plain"]
            return [Way(key, NOTATIONS[key], partial(_number, notation=key)) for key in keys]
        if block.type in SCALES:
            ways = [Way("values", "numbers", partial(_number, notation="point"))]
            named = any(option.label for option in block.options)
            return [*ways, Way("labels", "labels", partial(self._point, block))] if named else ways
        if target.startswith("o:"):
            option = next(each for each in block.options if target == f"o:{block.id}:{each.id}")
            if block.type == "ranking":
                return [Way("ranks", "ranks", _rank)]
            marks = Way("marks", "chosen or not", partial(self._mark, block, option))
            own_name = Way("names", "the option’s own name", partial(self._own_name, block, option))
            return [marks] if self.is_own else [marks, own_name]
        if block.type == "single_punch":
            has_zero = any(counts["0"] for counts in self._counted(index)) and "0" not in self.marks(index)
            return [
                Way(kind, KIND_WORDS.get(kind, kind), partial(self._single, block, kind))
                for kind in (*KINDS, FROM_ZERO)[: None if has_zero else -1]
            ]
        sample = [cell for _, cell in self._sample([index])]
        signs = {each: words for each, words in SEPARATORS.items() if any(each in cell for cell in sample)}
        return [
            Way(
                f"{kind} {words}".rstrip(),
                f"{KIND_WORDS.get(kind, kind)}{words and f', separated by {words}'}",
                partial(self._list, block, kind, sign),
            )
            for sign, words in {**signs, "\0": ""}.items()
            for kind in (*KINDS, FROM_ZERO)[: None if _has_zero(sample, sign) else -1]
        ]

    # --- Options

    def names(self, block: Block) -> Names[Option]:
        """The names of the options of a question, folded once for all columns and rows.

        A removed option does not share a name with another one.
        """
        if block.id not in self._names:
            names, known = list[Name[Option]](), set[tuple[str, str]]()
            for option in block.options:
                label = option.label or "" if block.type in SCALES else option.display_text
                code = "" if option.code is None else str(option.code)
                from_zero = "" if option.code is None else str(option.code - 1)
                texts = zip((*KINDS, FROM_ZERO), (label, option.value, code, from_zero), strict=True)
                for kind, text in texts:
                    if option.id in self.found.present or (kind, text) not in known:
                        names.append(Name(text, option, kind))
                        known.add((kind, text))
            self._names[block.id] = Names(names)
        return self._names[block.id]

    def _single(self, block: Block, kind: str, text: str) -> Choice:
        if (option := self.names(block).only(text, (kind,))) is not None:
            return Choice((option,))
        if (other := other_of(block)) is None:
            raise Unreadable(f"“{cut(text)}” is not an option of this question.")
        return Choice((other,), text)

    def _list(self, block: Block, kind: str, sign: str, text: str) -> Choice:
        names, other = self.names(block), other_of(block)
        most = 2 * names.longest * len(block.options) + MAX_OTHER_TEXT
        if len(text) > most:
            raise Unreadable(f"The text has more than {most:,} characters.")
        options, unknown = listed(text, sign, names, (kind,), len(block.options))
        for part in unknown:
            names.only(part, (kind,))
        if unknown and (other is None or len(unknown) > 1 or block.type == "ranking"):
            raise Unreadable(f"“{cut(unknown[0])}” is not an option of this question.")
        for part in unknown if other else ():
            inner = (each for sep in SEPARATORS if sep in part for each in part.split(sep))
            most_parts = islice(inner, 2 * len(block.options) + 2)
            if named := next((each for each in most_parts if names.find(each, KINDS)), None):
                raise Unreadable(f"“{cut(part)}” contains the option “{cut(named)}”.")
        if unknown and other is not None:
            options.append(other)
        return Choice(tuple({option.id: option for option in options}.values()), "".join(unknown))

    def _mark(self, block: Block, option: Option, text: str) -> Choice:
        """Whether a cell of an option's column says that the option was chosen; its own name does, too."""
        if (says := is_chosen(text)) is not None:
            return Choice((option,) if says else ())
        named = self._own_name(block, option, text)
        return Choice(named.options, named.text, is_odd=True)

    def _own_name(self, block: Block, option: Option, text: str) -> Choice:
        if self.names(block).only(text, KINDS) == option:
            return Choice((option,))
        if option.is_other:
            return Choice((option,), text)
        raise Unreadable(f"“{cut(text)}” says neither that this option was chosen nor that it was not.")

    def _point(self, block: Block, text: str) -> str:
        named = self.names(block).only(text, ("labels",))
        return named.value if named else _number(text, notation="point")


def _has_zero(cells: Sequence[str], sign: str) -> bool:
    """Whether a list in one of the cells contains a 0."""
    return any(part.strip() == "0" for cell in cells for part in cell.split(sign))


def _affordable(cells: Sequence[str]) -> int:
    """How many of the first cells may be read in each way; at least one. The last may be a long one."""
    costs = accumulate((len(cell) + SIGNS_OF_CELL for cell in cells), initial=0)
    return sum(cost < MAX_COMPARED for cost in islice(costs, len(cells)))


def other_of(block: Block) -> Option | None:
    """The option of a question for a text of one's own."""
    return next((each for each in block.options if each.is_other), None)


def is_chosen(text: str) -> bool | None:
    """Whether a word says yes; None for one that says neither yes nor no."""
    word = text.casefold() if len(text) == 1 else plain(text)
    return word in _CHOSEN if word in _CHOSEN | _UNCHOSEN else None


def _cleaned(cell: str) -> str:
    return cell if isinstance(cell, NumberText) else sent_text(cell)


def _rank(text: str) -> str:
    return "" if text in ("0", "-") else text.removesuffix(".0")


def _number(text: str, *, notation: str) -> str:
    """A number with plain digits. One that a workbook stores as a number is in no notation."""
    if isinstance(text, NumberText):
        return str(text)
    if len(text) > MAX_NUMERAL:
        raise Unreadable(f"The text has more than {MAX_NUMERAL} characters.")
    if _POWER.fullmatch(text):
        return f"{Decimal(text):f}"
    decimal = "," if notation == "comma" else "."
    number = written_numbers.in_notation(text, decimal=decimal, has_groups=notation != "plain")
    if not number:
        raise Unreadable(f"“{cut(text)}” is not a number in the notation {NOTATIONS[notation]}.")
    return number


# --- Days and times ---------------------------------------------------------------------------------


def _date(text: str, *, order: str) -> str:
    try:
        match = _TIME.fullmatch(text)
        if match is None:
            raise ValueError
        if max(len(match[1]), len(match[3])) < 4:
            raise Unreadable(f"“{cut(text)}” has a year of two digits. Write four.")
        return date(*_day(match, order)).isoformat()
    except ValueError:
        raise Unreadable("Answer with a date, such as 2026-01-31.") from None


def _time(text: str, *, order: str, zone: ZoneInfo) -> datetime:
    try:
        return _parsed_time(text, order, zone)
    except (ValueError, OverflowError):
        raise Unreadable(f"“{cut(text)}” is not a time.") from None


def _parsed_time(text: str, order: str, zone: ZoneInfo) -> datetime:
    if _SERIAL.fullmatch(text):
        local = _DAY_ZERO + timedelta(seconds=round(float(text) * 86_400))
        return local.replace(tzinfo=zone).astimezone(UTC)
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError
    year, month, day = _day(match, order)
    hour, minute, second = (int(match[n] or 0) for n in (4, 5, 6))
    if match[7]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if match[7].lower().startswith("p") else 0)
    moment = datetime(year, month, day, hour, minute, second, tzinfo=_offset(match[8]) or zone)
    return moment.astimezone(UTC)


def _day(match: re.Match[str], order: str) -> tuple[int, int, int]:
    """Year, month and day of a match of `_TIME`. Raises ValueError."""
    first, second, third = (int(match[n]) for n in (1, 2, 3))
    if len(match[1]) == 4:
        return first, second, third
    if len(match[3]) != 4 or len(match[1]) > 2:
        if len(match[3]) != 2 or len(match[1]) > 2:
            raise ValueError
        third += 2000
    if order == "mdy" and match[0][len(match[1])] == ".":  # nobody writes so
        raise ValueError
    return (third, first, second) if order == "mdy" else (third, second, first)


def _offset(text: str | None) -> timezone | None:
    if not text:
        return None
    if text[0] not in "+-":
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))
