"""Responses from a file of staff: matched, checked and stored by a worker (rules 6.340 to 6.348).

    receive(…)           keeps the file, with a guessed matching of its columns
    match(…), check(…)   the matching that staff chose; the worker reads all rows and stores nothing
    begin_import(…)      the worker stores the rows without faults, a hundred in a transaction
    run(file_id=…)       for the worker
    take_up(at=…)        for the sweep

A response is known again by a keyed hash of its row (`cells.RowReader.keys`), from which its id is made. So a
file that is imported again, or continued after a worker died, doubles nothing.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.utils import timezone
from django.utils.functional import cached_property

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, InvalidRequest, NotFound, Refusal, ViolationJson, refuse
from communities.ground.queue import wake
from communities.ground.transactions import in_transaction
from surveys.models import Conversation, Job, Project, ResponseFile
from surveys.services.ground import access, anonymity, history, jobs
from surveys.services.ground.jobs import Clock
from surveys.services.imports import limits, matching, people, rows, service, tables, walking
from surveys.services.imports.cells import Fault, ReadRow, RowReader
from surveys.services.imports.matching import Matching, Questions
from surveys.services.imports.names import cut
from surveys.services.imports.readings import Readings
from surveys.services.imports.tables import Table
from surveys.services.imports.walking import WalkedImport

RUN = "surveys.import_file"
KEPT = timedelta(days=1)
PART = 100  # rows
MAX_FAULTS = 10_000
MOST_CONFLICTS = 5  # of one part: changes of the project while its rows were walked
FAILED = "The file could not be read to its end. What is stored stays; import the file again for the rest."
IS_RUNNING = "This file is being read. Wait until the reading has ended."
GONE = "There is no file any more. Choose it again."
NO_QUESTIONS = "This project has no questions yet, so there are no answers to it."
Step = ResponseFile.Step
_Walked = tuple[ReadRow, WalkedImport]  # of one response


@dataclass(frozen=True)
class OpenFile:
    """A file that staff look at: its row, its table, and the questions of its project."""

    row: ResponseFile
    table: Table
    found: Questions

    @property
    def matching(self) -> Matching:
        return Matching.of(self.row.matching)

    @property
    def faults(self) -> list[Fault]:
        return sorted((Fault(*each) for each in self._outcome[0]), key=lambda each: each.line)

    @property
    def facts(self) -> list[tuple[int, list[str]]]:
        """How the columns were read, in sentences, each with its index."""
        return [(index, facts) for index, facts in self._outcome[1]]

    @cached_property
    def _outcome(self) -> tuple[list[Any], list[Any]]:
        sealed = self.row.sealed_faults
        plain = sealed and anonymity.unseal_figures(project_id=self.row.project_id, sealed=bytes(sealed))
        return orjson.loads(plain) if plain else ([], [])


# --- For staff --------------------------------------------------------------------------------------


def receive(*, actor: Actor, project: Project, name: str, data: bytes, zone: str, at: datetime) -> None:
    """Keep a file in place of an earlier one, with a guessed matching.

    Refuses a project without questions, a file that cannot be read, and another file that is being read. Only
    the row is written in a transaction: a large file is read and guessed for seconds.
    """
    access.require_owner(actor=actor, project=project)
    found = matching.questions(project)
    if not found.blocks:
        raise Conflict(NO_QUESTIONS)
    table = tables.read(data)
    guessed = matching.guess(
        table=table, found=found, zone=zone, moment=at.replace(microsecond=0).isoformat()
    )
    row = ResponseFile(
        project=project,
        name=" ".join(name.split())[:200],
        sealed=anonymity.seal_figures(project_id=project.pk, figures=tables.packed(table)),
        matching=guessed.as_json(),
        row_count=len(table.rows),
        status=Job.Status.COMPLETED,
        created_at=at,
        completed_at=at,
    )
    _keep(actor, row)


@in_transaction
def _keep(actor: Actor, row: ResponseFile) -> None:
    access.require_owner(actor=actor, project=row.project)
    _remove(row.project)
    row.save(force_insert=True)


def look(*, actor: Actor, project: Project) -> OpenFile | None:
    """The file of a project; None without one."""
    access.require_owner(actor=actor, project=project)
    row = ResponseFile.objects.filter(project=project).first()
    table = row and _table(row)
    return OpenFile(row, table, matching.questions(project)) if row and table else None


@in_transaction
def match(*, actor: Actor, project: Project, chosen: Matching) -> None:
    """Keep another matching. Refuses columns that do not exist, and two columns with one target."""
    row, found = _own(actor, project), matching.questions(project)
    _refuse_faults(chosen, found, Matching.of(row.matching))
    _begin(row, Step.MATCHING, Job.Status.COMPLETED, chosen.as_json())


@in_transaction
def check(*, actor: Actor, project: Project) -> None:
    """Have a worker read all rows, and store nothing. Refuses a matching without a question."""
    row, found = _own(actor, project), matching.questions(project)
    if not any(found.block(each) for each in row.matching["columns"]):
        refuse("columns", "required", "Match at least one column with a question.")
    _begin(row, Step.CHECKING, Job.Status.PENDING, row.matching)
    wake(RUN, file_id=row.pk)


@in_transaction
def begin_import(*, actor: Actor, project: Project, at: datetime) -> None:
    """Have a worker store the rows without faults. Refuses a file that was not checked."""
    row = _own(actor, project)
    if row.step != Step.CHECKING or row.status != Job.Status.COMPLETED or not row.counts.get("new"):
        raise Conflict("Check the file before its responses are imported.")
    history.record_import(project, actor=actor, count=row.counts["new"], at=at)
    _begin(row, Step.IMPORTING, Job.Status.PENDING, row.matching)
    wake(RUN, file_id=row.pk)


@in_transaction
def discard(*, actor: Actor, project: Project) -> None:
    """Forget the file of a project. Refuses a file that is being imported."""
    access.require_owner(actor=actor, project=project)
    _remove(project)


def _remove(project: Project) -> None:
    row = ResponseFile.objects.select_for_update().filter(project=project).first()
    if row is not None and row.step == Step.IMPORTING and not row.is_finished:
        raise Conflict(IS_RUNNING)
    if row is not None:
        row.delete()


def _own(actor: Actor, project: Project) -> ResponseFile:
    """The file of a project under a lock, which no worker reads. Raises NotFound or Conflict."""
    access.require_owner(actor=actor, project=project)
    row = ResponseFile.objects.select_for_update().filter(project=project).first()
    if row is None:
        raise NotFound(GONE)
    if not row.is_finished:
        raise Conflict(IS_RUNNING)
    return row


def _begin(row: ResponseFile, step: str, status: str, chosen: Mapping[str, object]) -> None:
    row.step, row.status, row.matching = step, status, dict(chosen)
    row.done, row.counts, row.sealed_faults, row.error, row.deaths = 0, {}, None, None, 0
    row.save(
        update_fields=["step", "status", "matching", "done", "counts", "sealed_faults", "error", "deaths"]
    )


def _refuse_faults(chosen: Matching, found: Questions, before: Matching) -> None:
    if len(chosen.columns) != len(before.columns):
        raise Conflict(GONE)
    times = Counter(target for target in chosen.columns if target)
    changed = [index for index, each in enumerate(chosen.columns) if each != before.columns[index]]
    for index in (*changed, *range(len(chosen.columns))):  # a page shows some of the columns
        target = chosen.columns[index]
        if target and not found.is_target(target):
            refuse(f"column_{index}", "invalid_choice", "There is no such question any more.")
        if times[target] > 1:
            numbers = [n for n, each in enumerate(chosen.columns, start=1) if each == target]
            message = f"The columns {numbers[0]} and {numbers[1]} of the file are matched with this."
            refuse(f"column_{index}", "duplicate", message)


def refuse_unclear(readings: Readings, indexes: Iterable[int]) -> None:
    """Refuse columns whose cells can be read in several ways: nothing is chosen in silence."""
    for index in indexes:
        if readings.matching.columns[index] and (fault := readings.ways(index).fault):
            header = readings.table.headers[index] or str(index + 1)
            refuse(f"reading_{index}", "required", f"Column “{header}”: {fault}")


def _table(row: ResponseFile) -> Table | None:
    """The table of a file; None if the server's secret has changed since."""
    plain = anonymity.unseal_figures(project_id=row.project_id, sealed=bytes(row.sealed))
    return tables.unpacked(plain) if plain else None


# --- For the worker ---------------------------------------------------------------------------------


def run(*, file_id: int, now: Clock = timezone.now) -> None:
    """Check or import a waiting file, or one that a dead worker left. A second run changes nothing."""
    jobs.carry_out(
        ResponseFile, file_id, work=lambda job: _read_rows(job, now), fail=_fail, foreseen=Refusal, now=now
    )


def take_up(*, at: datetime) -> None:
    """Wake workers for waiting files, end those that were attempted too often, and forget old files."""
    jobs.give_up(ResponseFile, fail=_fail, at=at)
    for file_id in jobs.waiting(ResponseFile, at=at):
        wake(RUN, file_id=file_id)
    old = ResponseFile.objects.filter(created_at__lt=at - KEPT)
    old.exclude(ResponseFile.UNFINISHED).delete()


def _read_rows(job: ResponseFile, now: Clock) -> None:
    project = Project.objects.select_related("community").filter(pk=job.project_id).first()
    table = _table(job)
    if project is None or table is None:
        raise NotFound(GONE)
    _Run(job, project, table, now).read_all()


def _fail(job: ResponseFile, failure: Exception | None, at: datetime) -> None:
    error = failure.message if isinstance(failure, Refusal) else FAILED
    _end(job, at, status=Job.Status.FAILED, error=error)


def _end(job: ResponseFile, at: datetime, **changes: object) -> None:
    own = ResponseFile.objects.filter(pk=job.pk, attempt=job.attempt, status=Job.Status.RUNNING)
    own.update(completed_at=at, leased_until=None, **changes)


@dataclass
class _Outcome:
    """The result of the rows that were read: counts, faults, how columns were read, and completions of each
    respondent.
    """

    counts: Counter[str]
    faults: list[Fault]
    facts: Sequence[tuple[int, list[str]]] = ()
    completions: Counter[str] = field(default_factory=Counter)

    def copy(self) -> _Outcome:
        return replace(
            self, counts=self.counts.copy(), faults=[*self.faults], completions=self.completions.copy()
        )


@dataclass
class _Run:
    """A run over the rows of a file. An import whose worker died continues after the rows that it stored."""

    job: ResponseFile
    project: Project
    table: Table
    now: Clock

    def read_all(self) -> None:
        """Read the rows part by part: check them, and store those without faults if they are imported."""
        is_import = self.job.step == Step.IMPORTING
        start = self.job.done if is_import else 0
        before = OpenFile(self.job, self.table, self.reader.found)
        matched = [n for n, target in enumerate(self.reader.matching.columns) if target]
        refuse_unclear(self.reader.readings, matched)
        facts = [(index, list(self.reader.readings.facts(index))) for index in matched]
        counts, faults = (self.job.counts, before.faults) if is_import else ({}, [])
        outcome = _Outcome(Counter(counts), faults, facts)
        for first in range(start, len(self.table.rows), PART):
            outcome = self._part(range(first, min(first + PART, len(self.table.rows))), outcome)
        _end(self.job, self.now(), status=Job.Status.COMPLETED)

    @cached_property
    def reader(self) -> RowReader:
        return RowReader(
            self.project,
            self.table,
            Matching.of(self.job.matching),
            matching.questions(self.project),
            self._beat,
        )

    @cached_property
    def words(self) -> Mapping[str, str]:
        """What stands for a name of the interface in messages; for a question's name, its words."""
        found = self.reader.found
        titles = {block.name: found.titles[f"b:{key}"] for key, block in found.blocks.items() if block.name}
        return {name: f"“{cut(title)}”" for name, title in titles.items()} | _WORDS

    def _beat(self) -> None:
        """Extend the lease if a third of it has gone."""
        until, at = self.job.leased_until, self.now()
        if until is None or until - at < jobs.LEASE * 2 / 3:
            jobs.renew(self.job, at=at)
            self.job.leased_until = at + jobs.LEASE

    def _part(self, indexes: Sequence[int], outcome: _Outcome) -> _Outcome:
        """Read a part again if the project changes while its rows are walked. Raises Conflict after some."""
        for _ in range(MOST_CONFLICTS):
            try:
                return self._read(indexes, outcome.copy())
            except Conflict:
                self.project = Project.objects.select_related("community").get(pk=self.project.pk)
                self.__dict__.pop("reader", None)
                self.__dict__.pop("words", None)
        raise Conflict("The project changes again and again while the file is read. Please try later.")

    def _read(self, indexes: Sequence[int], outcome: _Outcome) -> _Outcome:
        read = [self.reader.read(index) for index in indexes]
        self._beat()
        for row in read:
            self._note(outcome, row, row.faults)
        known = self._known(indexes, read)
        outcome.counts["known"] += sum(row.sent is not None and row.line in known for row in read)
        good = self._walked([row for row in read if row.sent and row.line not in known], outcome)
        good = self._within_limits(good, outcome)
        outcome.counts["new"] += len(good)
        outcome.counts["partial"] += sum(not part.sent[0].is_completed for _, part in good)
        self._save([part for _, part in good], outcome, done=indexes[-1] + 1)
        return outcome

    def _known(self, indexes: Sequence[int], read: Sequence[ReadRow]) -> set[int]:
        """The lines of responses that the project has, by their keys, or ids in a file of our own."""
        ids = {
            row.line: {rows.id_of(self.project, row.sent), *_own_id(self.reader.own_id(index))}
            for index, row in zip(indexes, read, strict=True)
            if row.sent
        }
        stored = Conversation.objects.filter(pk__in=set().union(*ids.values()), project=self.project)
        present = {*stored.values_list("pk", flat=True)}
        return {line for line, of_row in ids.items() if not of_row.isdisjoint(present)}

    def _walked(self, fresh: Sequence[ReadRow], outcome: _Outcome) -> list[_Walked]:
        """The rows without faults, each with its walk. Rows that take too long are walked fewer at once."""
        good, waiting, most = list[_Walked](), list(fresh), PART
        while waiting:
            self._beat()
            sent = [row.sent for row in waiting[:most] if row.sent]
            try:
                walked = walking.walk_through(project=self.project, sent=sent, at=self.now())
            except InvalidRequest:
                if most == 1:
                    raise
                most //= 2
                continue
            wrong, of_line = _by_line(walked.violations), {row.line: row for row in waiting}
            for line, found in wrong.items():
                self._note(outcome, of_line[line], list(_in_words(found, of_line[line], self.words)))
            walks = list(zip(walked.sent, walked.walks, strict=False))  # they end after enough violations
            for each, walk in walks:
                if each.line not in wrong:
                    part = replace(walked, sent=[each], walks=[walk], violations=())
                    good.append((of_line[each.line], part))
            is_all = len(walks) == len(walked.sent)
            last = waiting[:most][-1].line if is_all else walks[-1][0].line
            waiting = [row for row in waiting if row.line > last]
        return good

    def _within_limits(self, good: list[_Walked], outcome: _Outcome) -> list[_Walked]:
        """The rows that the limits of the project admit. A check counts those of earlier parts, too."""
        sent = [part.sent[0] for _, part in good]
        found = people.find(project=self.project, sent=sent)
        before = outcome.completions if self.job.step == Step.CHECKING else Counter[str]()
        beyond = limits.violations(project=self.project, sent=sent, people=found, before=before)
        too_old = limits.too_old(project=self.project, sent=sent, at=self.now())
        wrong = _by_line([*beyond, *too_old])
        for row, _ in good:
            if row.line in wrong:
                self._note(outcome, row, list(_in_words(wrong[row.line], row, self.words)))
        kept = [each for each in good if each[0].line not in wrong]
        outcome.completions.update(
            found[row.line].respondent
            for row, part in kept
            if row.line in found and part.sent[0].is_completed
        )
        return kept

    @in_transaction
    def _save(self, parts: Sequence[WalkedImport], outcome: _Outcome, *, done: int) -> None:
        """Store the responses of an import, and the progress in the same transaction."""
        plain = orjson.dumps([[astuple(each) for each in outcome.faults], outcome.facts])
        jobs.renew(  # first, so that a worker whose lease has ended stores nothing
            self.job,
            at=self.now(),
            done=done,
            counts=dict(outcome.counts),
            sealed_faults=anonymity.seal_figures(project_id=self.project.pk, figures=plain),
        )
        if parts and self.job.step == Step.IMPORTING:
            sent, walks = [part.sent[0] for part in parts], [part.walks[0] for part in parts]
            service.store_part(walked=replace(parts[0], sent=sent, walks=walks), at=self.now())

    def _note(self, outcome: _Outcome, row: ReadRow, faults: Sequence[tuple[int | None, str]]) -> None:
        if not faults:
            return
        outcome.counts["faulty"] += 1
        for index, message in faults[: max(0, MAX_FAULTS - len(outcome.faults))]:
            column = "" if index is None else self.table.headers[index]
            outcome.faults.append(Fault(row.line, column, message))


def _own_id(text: str) -> set[uuid.UUID]:
    try:
        return {uuid.UUID(text)} if len(text) == 36 else set()
    except ValueError:
        return set()


def _by_line(violations: Sequence[ViolationJson]) -> dict[int, list[ViolationJson]]:
    found: dict[int, list[ViolationJson]] = {}
    for each in violations:
        found.setdefault(int(each["line"]), []).append(each)
    return found


def _in_words(
    violations: Sequence[ViolationJson], row: ReadRow, words: Mapping[str, str]
) -> Iterator[tuple[int | None, str]]:
    """The violations of a row with the column of each, in words for people without the interface's names."""
    for each in violations:
        path, message = str(each["field"]), str(each["message"])
        place = path.removeprefix("answers[").partition("]")[0]
        index = row.columns[int(place)] if place.isdigit() and int(place) < len(row.columns) else None
        for name, word in words.items():
            message = message.replace(f"`{name}`", word)
        yield index, message[:1].upper() + message[1:]


_WORDS = {
    "started_at": "the time of the beginning",
    "submitted_at": "the time of the end",
    "value": "the answer",
    "status": "the state",
    "answers": "the answers",
    "completed": "completed",
    "settings.keep_responses_days": "its settings",
}
