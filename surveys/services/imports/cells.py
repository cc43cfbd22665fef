"""A row of a file as a response, by the matching of its columns, and the faults of its cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.functional import cached_property

from communities.ground.sent_text import is_unstorable, sent_text
from surveys.engine.script import Block, Option
from surveys.engine.walk.replay import GivenAnswer
from surveys.models import Conversation, Project
from surveys.services.ground import anonymity, metadata
from surveys.services.imports.matching import Matching, Questions
from surveys.services.imports.names import Unreadable, cut, plain
from surveys.services.imports.readings import Choice, Readings, is_chosen, other_of
from surveys.services.imports.sent import SentResponse
from surveys.services.imports.tables import Table

MAX_ID = 128  # characters of a person's id
MAX_CONSENT = 2_000
_COMPLETED = frozenset(
    {"completed", "complete", "finished", "submitted", "true", "1", "2", "yes", "unverified"}
)
_PARTIAL = frozenset(
    {"partial", "incomplete", "unfinished", "so far", "false", "0", "no", "in progress", "started"}
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem in a row of the file. `column` is the header, empty for the row as a whole."""

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


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of a table."""

    project: Project
    table: Table
    matching: Matching
    found: Questions
    beat: Callable[[], None] = lambda: None  # called in between, as rows and columns may take long

    def read(self, index: int) -> ReadRow:
        """The response of a row, with a key by which it is known again."""
        line, cells = self.table.rows[index]
        row = ReadRow(line)
        if beyond := cells[len(self.table.headers) :]:
            row.faults.append((None, f"“{cut(beyond[0])}” stands beyond the last column."))
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
    def readings(self) -> Readings:
        return Readings(self.table, self.matching, self.found, self.beat)

    @cached_property
    def keys(self) -> list[str]:
        """A keyed hash for each row: of its id, else of its cells by their headers and how often they stood
        before.
        """
        times, keys = Counter[str](), []
        order = sorted(range(len(self.table.headers)), key=self.table.headers.__getitem__)
        for _, cells in self.table.rows:
            own = self._id(cells)
            text = f"id:{own}" if own else "cells:" + "\x1f".join(cells[n] for n in order)
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

    # --- Beside the answers -------------------------------------------------------------------------

    def _beside(self, cells: Sequence[str], row: ReadRow) -> dict[str, object]:
        values: dict[str, object] = {}
        for target, index in self._places.items():
            if target == "id" or target[1] == ":":
                continue
            try:
                if (value := self.readings.read(index, cells[index])) is not None:
                    values[target] = self._value(target, value)
            except Unreadable as fault:
                row.faults.append((index, str(fault)))
        return values

    def _value(self, target: str, value: object) -> object:
        if isinstance(value, datetime):
            return value
        text = str(value)
        if target == "status":
            word = plain(text)
            if word not in _COMPLETED | _PARTIAL:
                raise Unreadable(f"“{cut(text)}” is neither completed nor partial.")
            return "completed" if word in _COMPLETED else "partial"
        if target == "suspected":
            if (says := is_chosen(text)) is None:
                raise Unreadable(f"“{cut(text)}” is neither 1 nor 0.")
            return says
        if target == "provider" and text not in Conversation.Provider.values:
            raise Unreadable(f"“{cut(text)}” is not a platform.")
        if target == "language" and not metadata.is_language(text):
            raise Unreadable(f"“{cut(text)}” is not the tag of a language, such as de.")
        most = MAX_ID if target == "platform_id" else MAX_CONSENT
        if len(text) > most or is_unstorable(text):
            raise Unreadable(f"The text has more than {most:,} characters.")
        return text

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
            except UnreadableCell as fault:
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
        read = {target: self._read(index, cells) for target, index in columns.items()}
        whole = read.pop(f"b:{block.id}", None)
        place = columns.get(f"b:{block.id}", 0)
        if isinstance(whole, str):
            yield place, GivenAnswer(block_id=block.id, value=whole)
            return
        texts, written = dict[str, int](), columns.get(f"t:{block.id}")
        chosen: list[tuple[int, Option, str]] = []
        if isinstance(whole, Choice):
            chosen = [(place, option, str(rank)) for rank, option in enumerate(whole.options, start=1)]
            texts |= {whole.text: place} if whole.text else {}
        for option in block.options:
            target = f"o:{block.id}:{option.id}"
            mark = read.get(target)
            if (isinstance(mark, Choice) and mark.options) or (isinstance(mark, str) and mark):
                chosen.append((columns[target], option, mark if isinstance(mark, str) else ""))
            if isinstance(mark, Choice) and mark.text:
                texts[mark.text] = columns[target]
        if written is not None and (own := read[f"t:{block.id}"]):
            texts[str(own)] = written
        other = other_of(block)
        if texts and not any(option.is_other for _, option, _ in chosen):
            text, index = next(iter(texts.items()))
            if other is None or (block.type != "multi_punch" and chosen):
                raise UnreadableCell(index, f"“{cut(text)}” is a text of people’s own beside another option.")
            chosen.append((index, other, ""))
        if len(texts) > 1:
            both = " and ".join(f"“{cut(text)}”" for text in list(texts)[:2])
            raise UnreadableCell(list(texts.values())[1], f"A response has one text of its own, not {both}.")
        for index, option, rank in chosen:
            yield (
                index,
                GivenAnswer(
                    block_id=block.id,
                    option_id=option.id,
                    value=rank if block.type == "ranking" else option.value,
                    label=option.display_text if block.type == "ranking" else None,
                    other_text=next(iter(texts), None) if option.is_other else None,
                ),
            )

    def _read(self, index: int, cells: Sequence[str]) -> object:
        try:
            return self.readings.read(index, cells[index])
        except Unreadable as fault:
            raise UnreadableCell(index, str(fault)) from None


class UnreadableCell(Unreadable):
    """A cell of an answer, with the index of its column."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index
