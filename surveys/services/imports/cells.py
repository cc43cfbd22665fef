"""A row of a file as a response, by the matching of its columns, and the faults of its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from communities.ground.cached import cached_property
from communities.ground.sent_text import sent_text
from surveys import written_numbers
from surveys.engine.intake.field_types import is_unstorable
from surveys.engine.intake.fields import MAX_OTHER_TEXT
from surveys.engine.script import NUMBERS, SCALES, Block, Option
from surveys.engine.walk.replay import GivenAnswer
from surveys.models import Conversation, Project
from surveys.services.ground import anonymity, metadata
from surveys.services.imports.matching import Matching, Questions
from surveys.services.imports.names import Name, Names, listed, plain
from surveys.services.imports.sent import SentResponse
from surveys.services.imports.tables import Table

MAX_ID = 128  # characters of a person's id
MAX_CONSENT = 2_000
MAX_SHOWN = 60  # characters of a cell in a message
MAX_NUMERAL = 200  # characters of a number
MAX_GUESSED = 1_000  # different cells of a column that show how its options are written
_TIME = re.compile(
    r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})"
    r"(?:[T,\s]{1,3}(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s{0,2}([ap]\.?m\.?)?)?"
    r"\s{0,2}(Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_SERIAL = re.compile(r"[2-7]\d{4}(?:\.\d{1,12})?")  # days since 1899, as spreadsheets count them
_DAY_ZERO = datetime(1899, 12, 30, tzinfo=UTC)
_KINDS = ("labels", "values", "codes")
_CHOSEN = frozenset({"1", "true", "yes", "x", "y", "checked", "selected", "chosen", "ja", "oui", "✓", "✔"})
_UNCHOSEN = frozenset({"0", "false", "no", "n", "unchecked", "not selected", "not chosen", "nein", "non"})
_COMPLETED = frozenset({"completed", "complete", "finished", "submitted", "true", "1", "yes"})
_PARTIAL = frozenset({"partial", "incomplete", "unfinished", "so far", "false", "0", "no", "in progress"})


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in a row of the file. `column` is the header, empty for the row as a whole."""

    line: int
    column: str
    message: str


@dataclass(slots=True)
class ReadRow:
    """A row as a response, None if it has faults. `columns` are those of its answers, in their order."""

    line: int
    sent: SentResponse | None = None
    columns: list[int] = field(default_factory=list)
    faults: list[tuple[int | None, str]] = field(default_factory=list)


class _Unreadable(Exception):
    """A cell that is not what its column should have. The message is a sentence."""


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of a table. `language` is that of numbers."""

    project: Project
    table: Table
    matching: Matching
    found: Questions
    language: str
    beat: Callable[[], None] = lambda: None  # called in between, as rows and columns may take long
    _names_of: dict[int | None, Names[Option]] = field(default_factory=dict)

    def read(self, index: int) -> ReadRow:
        """The response of a row, with a key by which it is known again."""
        line, cells = self.table.rows[index]
        row = ReadRow(line)
        beside = self._beside(cells, row)
        fields = self._fields(cells, row)
        answers = list(self._answers(cells, row))
        if self._ids[self._id(cells)] > 1 and self._id(cells):
            row.faults.append((self._place("id"), "Another row has the same id."))
        began, ended = self._times(beside, row)
        if row.faults:
            return row
        row.sent = SentResponse(
            line=line,
            path="",
            started_at=began,
            submitted_at=ended,
            provider=str(beside["provider"]) if beside.get("provider") else None,
            platform_id=str(beside["platform_id"]) if beside.get("platform_id") else None,
            metadata=fields,
            consent=self._consent(beside),
            language=str(beside.get("language", "")),
            is_suspected=bool(beside.get("suspected")),
            answers=answers,
            key=self.keys[index],
            is_dated="started_at" in beside or "submitted_at" in beside,
        )
        return row

    def own_id(self, index: int) -> str:
        """The text in the column of the response's id."""
        return self._id(self.table.rows[index][1])

    @cached_property
    def keys(self) -> list[str]:
        """A keyed hash for each row: of its id, else of all its cells and how often they stood before."""
        times, keys = Counter[str](), []
        for _, cells in self.table.rows:
            own = self._id(cells)
            text = f"id:{own}" if own else "cells:" + "\x1f".join(cells)
            times[text] += 1
            who = f"row:{text}" if own else f"row:{times[text]}:{text}"
            keys.append(anonymity.respondent_hash(project_id=self.project.pk, who=who))
        return keys

    @cached_property
    def _ids(self) -> Counter[str]:
        return Counter(self._id(cells) for _, cells in self.table.rows)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {target: index for index, target in enumerate(self.matching.columns) if target}

    def _place(self, target: str) -> int | None:
        return self._places.get(target)

    def _id(self, cells: Sequence[str]) -> str:
        place = self._place("id")
        return "" if place is None else cells[place]

    def _cell(self, cells: Sequence[str], index: int) -> str:
        """The text of a cell; empty for a mark of a missing answer."""
        text = sent_text(cells[index])
        return "" if text in self.matching.missing else text

    # --- Beside the answers -------------------------------------------------------------------------

    def _beside(self, cells: Sequence[str], row: ReadRow) -> dict[str, object]:
        values: dict[str, object] = {}
        for target, index in self._places.items():
            if target == "id" or target[1] == ":" or not (text := self._cell(cells, index)):
                continue
            try:
                values[target] = self._value(target, text)
            except _Unreadable as fault:
                row.faults.append((index, str(fault)))
        return values

    def _value(self, target: str, text: str) -> object:
        if target in ("started_at", "submitted_at", "consent.at"):
            return self._time(text)
        if target == "status":
            word = plain(text)
            if word not in _COMPLETED | _PARTIAL:
                raise _Unreadable(f"“{_cut(text)}” is neither completed nor partial.")
            return "completed" if word in _COMPLETED else "partial"
        if target == "suspected":
            return _is_chosen(text)
        if target == "provider" and text not in Conversation.Provider.values:
            raise _Unreadable(f"“{_cut(text)}” is not a platform.")
        if target == "language" and not metadata.is_language(text):
            raise _Unreadable(f"“{_cut(text)}” is not the tag of a language, such as de.")
        most = MAX_ID if target == "platform_id" else MAX_CONSENT
        if len(text) > most or is_unstorable(text):
            raise _Unreadable(f"The text has more than {most:,} characters.")
        return text

    def _time(self, text: str) -> datetime:
        try:
            return self._parsed_time(text)
        except (ValueError, OverflowError):
            raise _Unreadable(f"“{_cut(text)}” is not a time.") from None

    def _parsed_time(self, text: str) -> datetime:
        zone = ZoneInfo(self.matching.zone)
        if _SERIAL.fullmatch(text):
            local = _DAY_ZERO + timedelta(seconds=round(float(text) * 86_400))
            return local.replace(tzinfo=zone).astimezone(UTC)
        match = _TIME.fullmatch(text)
        if match is None:
            raise ValueError
        year, month, day = _day(match, self.matching.dates)
        hour, minute, second = (int(match[n] or 0) for n in (4, 5, 6))
        if match[7]:
            if not 1 <= hour <= 12:
                raise ValueError
            hour = hour % 12 + (12 if match[7].lower().startswith("p") else 0)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_offset(match[8]) or zone)
        return moment.astimezone(UTC)

    def _times(self, beside: Mapping[str, object], row: ReadRow) -> tuple[datetime, datetime | None]:
        """When the response began and was completed.

        One with neither a state nor a column for the time of its end is completed.
        """
        began, ended = beside.get("started_at"), beside.get("submitted_at")
        moment = datetime.fromisoformat(self.matching.moment)
        start = began if isinstance(began, datetime) else ended if isinstance(ended, datetime) else moment
        is_completed = isinstance(ended, datetime) or self._place("submitted_at") is None
        if "status" in beside:
            is_completed = beside["status"] == "completed"
        if not is_completed:
            return start, None
        return start, ended if isinstance(ended, datetime) else start

    def _consent(self, beside: Mapping[str, object]) -> dict[str, object] | None:
        if "consent.text" not in beside:
            return None
        at = (
            beside.get("consent.at")
            or beside.get("started_at")
            or datetime.fromisoformat(self.matching.moment)
        )
        return {"text": beside["consent.text"], "at": at}

    def _fields(self, cells: Sequence[str], row: ReadRow) -> dict[str, str]:
        fields = {}
        for target, index in self._places.items():
            if target.startswith("f:") and (text := sent_text(cells[index])):
                if len(text) > metadata.MAX_VALUE or is_unstorable(text):
                    row.faults.append((index, f"The text has more than {metadata.MAX_VALUE} characters."))
                fields[target[2:]] = text
        if len(fields) > metadata.MAX_FIELDS:
            row.faults.append((None, f"A response has at most {metadata.MAX_FIELDS} fields."))
        return fields

    # --- Answers ------------------------------------------------------------------------------------

    def _answers(self, cells: Sequence[str], row: ReadRow) -> Iterator[GivenAnswer]:
        for block_id, columns in self._columns_of_blocks.items():
            self.beat()
            block = self.found.blocks[block_id]
            try:
                given = list(self._of_block(block, columns, cells))
            except _UnreadableCell as fault:
                row.faults.append((fault.index, str(fault)))
                continue
            row.columns += [index for index, _ in given]
            yield from (answer for _, answer in given)

    @cached_property
    def _columns_of_blocks(self) -> Mapping[int, Mapping[str, int]]:
        """The columns of each question, by their targets."""
        of_block: dict[int, dict[str, int]] = {}
        for target, index in self._places.items():
            if target[:2] in ("b:", "o:", "t:"):
                of_block.setdefault(int(target.split(":")[1]), {})[target] = index
        return of_block

    def _of_block(
        self, block: Block, columns: Mapping[str, int], cells: Sequence[str]
    ) -> Iterator[tuple[int, GivenAnswer]]:
        written = columns.get(f"t:{block.id}")
        text = "" if written is None else self._cell(cells, written)
        whole = columns.get(f"b:{block.id}")
        chosen: list[tuple[int, Option, str]] = []
        if whole is not None and (cell := self._cell(cells, whole)):
            if block.type not in ("single_punch", "multi_punch", "ranking"):
                yield whole, GivenAnswer(block_id=block.id, value=self._written(block, whole, cell))
                return
            options, rest = self._chosen(block, whole, cell)
            text = text or rest
            chosen = [(whole, option, str(rank)) for rank, option in enumerate(options, start=1)]
        for option in block.options:
            index = columns.get(f"o:{block.id}:{option.id}")
            cell = "" if index is None else self._cell(cells, index)
            mark = self._mark(block, option, index, cell) if index is not None and cell else None
            if index is not None and mark is not None:
                chosen.append((index, option, mark))
        if text and written is not None and not any(option.is_other for _, option, _ in chosen):
            other = next((option for option in block.options if option.is_other), None)
            if other is not None and (block.type == "multi_punch" or not chosen):
                chosen.append((written, other, ""))
        for index, option, rank in chosen:
            yield (
                index,
                GivenAnswer(
                    block_id=block.id,
                    option_id=option.id,
                    value=rank if block.type == "ranking" else option.value,
                    label=option.display_text if block.type == "ranking" else None,
                    other_text=text or None if option.is_other else None,
                ),
            )

    def _written(self, block: Block, index: int, text: str) -> str:
        """A number or a text as the engine takes it."""
        if block.type in NUMBERS:
            if block.type in SCALES and (named := self._option(block, index, text, ("labels",))):
                return named.value
            try:
                if len(text) > MAX_NUMERAL:
                    raise written_numbers.UnclearNumber(f"The text has more than {MAX_NUMERAL} characters.")
                return written_numbers.read(text, language=self.language) or text
            except written_numbers.UnclearNumber as unclear:
                raise _UnreadableCell(index, str(unclear)) from None
        if block.format == "date" and (match := _TIME.fullmatch(text)):
            try:
                return datetime(*_day(match, self.matching.dates), tzinfo=UTC).date().isoformat()
            except ValueError:
                return text
        return text

    def _chosen(self, block: Block, index: int, text: str) -> tuple[list[Option], str]:
        """The options that a cell names, and the text for the option with `is_other`."""
        kinds = self._kinds[index]
        other = next((each for each in block.options if each.is_other), None)
        if block.type == "single_punch":
            if (option := self._option(block, index, text, kinds)) is not None:
                return [option], ""
            if other is not None:
                return [other], text
            raise _UnreadableCell(index, f"“{_cut(text)}” is not an option of this question.")
        names = self._names(block)
        most = 2 * names.longest * len(block.options) + MAX_OTHER_TEXT
        if len(text) > most:
            raise _UnreadableCell(index, f"The text has more than {most:,} characters.")
        options, unknown = listed(text, names, kinds, len(block.options))
        for part in unknown:
            self._option(block, index, part, kinds)
        if unknown and (other is None or len(unknown) > 1 or block.type == "ranking"):
            raise _UnreadableCell(index, f"“{_cut(unknown[0])}” is not an option of this question.")
        rest = unknown[0] if unknown else ""
        if rest and other is not None and other not in options:
            options.append(other)
        return list(dict.fromkeys(options)), rest

    def _option(self, block: Block, index: int, text: str, kinds: Sequence[str]) -> Option | None:
        """The option that a text names. Raises _UnreadableCell for a text that several have in common."""
        found = self._names(block).find(text, kinds)
        if len(found) > 1:
            both = " and ".join(f"“{_cut(name.text)}”" for name in found[:2])
            raise _UnreadableCell(index, f"“{_cut(text)}” may be {both}.")
        return found[0].thing if found else None

    def _names(self, block: Block) -> Names[Option]:
        """What the options of a question are called, folded once for all columns and rows.

        A removed option does not share a name with another one.
        """
        if block.id not in self._names_of:
            names, known = list[Name[Option]](), set[tuple[str, str]]()
            for option in block.options:
                label = option.label or "" if block.type in SCALES else option.display_text
                for kind, text in zip(_KINDS, (label, option.value, str(option.code)), strict=True):
                    if option.id in self.found.present or (kind, text) not in known:
                        names.append(Name(text, option, kind))
                        known.add((kind, text))
            self._names_of[block.id] = Names(names)
        return self._names_of[block.id]

    @cached_property
    def _kinds(self) -> Mapping[int, Sequence[str]]:
        """What each column of a whole question has of its options: labels, values or codes."""
        kinds = {}
        for target, index in self._places.items():
            block = self.found.block(target)
            if target.startswith("b:") and block is not None and block.options and block.type not in SCALES:
                self.beat()
                kinds[index] = self._kinds_of(block, index)
        return kinds

    def _kinds_of(self, block: Block, index: int) -> Sequence[str]:
        if self.matching.options in _KINDS:
            return (self.matching.options,)
        names = self._names(block)
        distinct = dict.fromkeys(self.table.column(index))
        shown = [text for text in distinct if text not in self.matching.missing][:MAX_GUESSED]

        def unread(kind: str) -> int:
            if block.type == "single_punch":
                return sum(not names.find(text, (kind,)) for text in shown)
            most = len(block.options)
            return sum(bool(listed(text, names, (kind,), most)[1]) for text in shown)

        best = min(_KINDS, key=unread)
        if best == "codes":
            return ("codes",)
        return ("labels", "values") if best == "labels" else ("values", "labels")

    def _mark(self, block: Block, option: Option, index: int, text: str) -> str | None:
        """What a cell of an option's column says: its rank, or that it is chosen; None if it is not."""
        if block.type == "ranking":
            return None if text in ("0", "-") else text.removesuffix(".0")
        if plain(text) not in _UNCHOSEN and self._option(block, index, text, _KINDS[:2]) == option:
            return text
        try:
            return text if _is_chosen(text) else None
        except _Unreadable:
            if option.is_other:
                return text
            if text == str(option.code):
                return text
            message = f"“{_cut(text)}” says neither that this option was chosen nor that it was not."
            raise _UnreadableCell(index, message) from None


class _UnreadableCell(_Unreadable):
    """A cell of an answer, with the index of its column."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def _is_chosen(text: str) -> bool:
    word = text.casefold() if len(text) == 1 else plain(text)
    if word in _CHOSEN or word in _UNCHOSEN:
        return word in _CHOSEN
    raise _Unreadable(f"“{_cut(text)}” is neither 1 nor 0.")


def _day(match: re.Match[str], dates: str) -> tuple[int, int, int]:
    """Year, month and day of a match of `_TIME`. Raises ValueError."""
    first, second, third = (int(match[n]) for n in (1, 2, 3))
    if len(match[1]) == 4:
        return first, second, third
    if len(match[3]) != 4 or len(match[1]) > 2:
        if len(match[3]) != 2 or len(match[1]) > 2:
            raise ValueError
        third += 2000
    return (third, first, second) if dates == "mdy" else (third, second, first)


def _offset(text: str | None) -> timezone | None:
    if not text:
        return None
    if text[0] not in "+-":
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN - 1]}…"
