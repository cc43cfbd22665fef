"""The places of a project: `max_completes` and `quotas` (rules 6.172 to 6.176, 6.186, 6.270 to 6.274).

    require_free(project, …)    at the beginning
    take(project, …)            at the end
    move(project, …)            when a completed vote changes
    free(project, …)            when a completed response is deleted
    add(project, …)             after an import, which has the `lock` since it began
    mark(refusal, …)            after a refusal at the end
    first_full, figures         for pages and staff
    count(project_id=…)         for a worker, and take_up(at=…) for the sweep that wakes it

The limits are kept by an advisory lock of the project, which only projects with such a setting take. It comes
after the locks of the project's row and of the member, and before the counts of the respondent and of the
project. A beginning takes it only if the responses of a quota have to be counted.

The database counts the responses of all quotas in one pass. If that is too much for a request, a worker does
it in steps, in the order of ids. Each step takes the lock, so a count is always exact for the responses up to
`counted_to`: changes of those are added to it, and the others are counted later.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

from communities.ground.errors import Conflict, violation
from communities.ground.queue import wake
from communities.ground.statements import Part, prepared
from communities.ground.transactions import TakesTooLong, in_transaction, stopped_after
from surveys.engine import where
from surveys.engine.script import Script
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project, QuotaCount
from surveys.services.ground import anonymity, feed_order, script_settings, selecting
from surveys.services.scripts import cache as script_cache

COUNT = "surveys.count_places"
# A request counts at most so much, and so does a step of a worker: 50,000 responses and short expressions,
# which take 0.1 s of CPU.
MOST_AT_ONCE = selecting.MUCH_WORK
SECONDS_OF_A_STATEMENT = 1  # then it is stopped, and smaller steps count what it did not
LEASE = timedelta(minutes=1)  # longer than a step
SECONDS_OF_A_TURN = 2.0  # then the worker does other work, such as further questions, before it continues
WORDS = "We have all the answers that we need. Thank you for your interest!"
_OWN_LIMIT = "settings.max_completes"
_LOCK = "colloquy places:"
_FIRST = uuid.UUID(int=0)
_COMPLETED = "c.completed_at IS NOT NULL AND c.is_listed"


class Full(Conflict):
    """The project takes no more completed responses, or none that satisfy a quota.

    `words` are for the respondent. `outcome` is stored with the response that is refused at its end, if
    there is one: `response_id` (see `mark`).
    """

    def __init__(self, field: str, words: str, *, outcome: str = Conversation.FULL) -> None:
        message = f"`{field}` is reached: this project takes no more such responses."
        super().__init__(message, violations=[violation(field, "full", message)])
        self.field = field
        self.words = words
        self.outcome = outcome
        self.response_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """How many completed responses there are of those that a limit allows; `where` is empty for all.

    While a worker counts, `filled` is the number of those that it has counted. `refused` is the number of
    responses that it refused at their end.
    """

    where: str
    limit: int
    filled: int
    is_counting: bool = False
    refused: int = 0

    @property
    def is_full(self) -> bool:
        return self.filled >= self.limit


@dataclass(frozen=True, slots=True)
class _Count:
    filled: int
    to: uuid.UUID | None  # the last response that is counted, while a worker counts


def require_free(project: Project, state: State) -> None:
    """Refuse a beginning in this state, if it is certain that the end would be refused. Raises Full."""
    if (full := first_full(project, state)) is not None:
        raise full


def first_full(project: Project, state: State) -> Full | None:
    """The limit that refuses a beginning with the fields and the language of a state; None if there is none.

    Keeps what had to be counted.
    """
    if project.max_completes is not None and _completed(project.pk) >= project.max_completes:
        return Full(_OWN_LIMIT, WORDS)
    known = [
        (place, quota)
        for place, quota in enumerate(project.quotas)
        if where.is_known_at_start(quota["where"])
    ]
    if not known:
        return None
    quotas = _Quotas(project)
    holds = quotas.judge(state)
    due = [(place, quota) for place, quota in known if holds(quota["where"])]
    counts = quotas.counts([quota["where"] for _, quota in due])
    return next(
        (
            _full(place, each)
            for place, each in due
            if counts[quotas.key(each["where"])].filled >= each["limit"]
        ),
        None,
    )


def take(project: Project, response_id: uuid.UUID, state: State) -> None:
    """Take the places of a response that is completed now, with this state.

    Raises Full. The lock is held until the transaction ends, so two responses never take the same place.
    """
    if project.max_completes is None and not project.quotas:
        return
    lock(project)
    try:
        if project.max_completes is not None and _completed(project.pk) >= project.max_completes:
            raise Full(_OWN_LIMIT, WORDS)
        _fill(project, response_id, state, before={})
    except Full as refusal:
        refusal.response_id = response_id
        raise


@in_transaction
def mark(refusal: Full, *, at: datetime) -> None:
    """Keep with a response that a limit refused its end (rule 6.290). The next move takes the mark away.

    Call it after the transaction that the refusal has undone.
    """
    if refusal.response_id is None:
        return
    found = Conversation.objects.select_related("project").only("id", "project")
    row = found.filter(pk=refusal.response_id).first()
    if row is None:
        return
    is_anonymous = row.project.is_anonymous
    with prepared() as cursor:
        cursor.execute(
            "UPDATE surveys_conversation SET outcome = %s, updated_at = %s, is_settled = %s,"
            f" changed_in = {feed_order.moved(is_anonymous=is_anonymous)}"
            " WHERE id = %s AND completed_at IS NULL AND outcome IS DISTINCT FROM %s",
            [
                refusal.outcome,
                anonymity.rounded(project=row.project, at=at),
                not is_anonymous,
                row.pk,
                refusal.outcome,
            ],
        )


def move(project: Project, response_id: uuid.UUID, state: State) -> None:
    """Take the places of a changed vote, and free those of the stored one. Raises Full."""
    if project.quotas:
        lock(project)
        before = _Quotas(project).satisfied_or_forgotten(among=_one(response_id))
        _fill(project, response_id, state, before=before)


def _fill(project: Project, response_id: uuid.UUID, state: State, *, before: Mapping[str, int]) -> None:
    if not project.quotas:
        return
    quotas, changes = _Quotas(project), dict[str, int]()
    counts, holds = quotas.counts(quotas.texts), quotas.judge(state)
    for place, quota in enumerate(project.quotas):
        key = quotas.key(quota["where"])
        change = holds(quota["where"]) - before.get(key, 0)
        if change > 0 and counts[key].filled >= quota["limit"]:
            # Otherwise those who answer so again and again would learn when somebody else did (rule 7.120).
            if project.is_anonymous:
                raise _full_of_quotas()
            raise _full(place, quota, outcome=f"{Conversation.FULL}:{key}")
        changes[key] = change
    if not counts.keys() <= quotas.keys:
        script_settings.forget_counts(project.pk, but=[*quotas.keys])
    _add(project.pk, response_id, changes)


def _full_of_quotas() -> Full:
    """The refusal by a quota of an anonymous project, the same for all of them (rule 7.120)."""
    return Full("settings.quotas", WORDS, outcome=f"{Conversation.FULL}:quotas")


def free(project: Project, response_id: uuid.UUID) -> None:
    """Free the places of a completed response that is about to be deleted."""
    if not project.quotas:  # `max_completes` is compared with the project's counts
        return
    lock(project)
    quotas = _Quotas(project)
    script_settings.forget_counts(project.pk, but=[*quotas.keys])
    if _stored(project.pk):
        satisfied = quotas.satisfied_or_forgotten(among=_one(response_id))
        _add(project.pk, response_id, {key: -number for key, number in satisfied.items()})


def lock(project: Project) -> None:
    """Take the lock of a project with quotas or `max_completes`."""
    if project.quotas or project.max_completes is not None:
        _lock(project.pk)


def add(project: Project, response_ids: Sequence[uuid.UUID]) -> None:
    """Take the places of completed responses that were imported in this transaction, under the `lock`."""
    if not project.quotas or not response_ids:
        return
    quotas = _Quotas(project)
    script_settings.forget_counts(project.pk, but=[*quotas.keys])
    stored = _stored(project.pk)
    for to in {each.to for each in stored.values()}:
        counted = [each for each in response_ids if to is None or each <= to]
        among = "c.id = ANY(%s)", [counted]
        satisfied = quotas.satisfied_or_forgotten(among=among) if counted else {}
        keys = {key for key, each in stored.items() if each.to == to}
        _store(
            project.pk,
            {
                key: _Count(stored[key].filled + number, to)
                for key, number in satisfied.items()
                if key in keys
            },
        )


def figures(project: Project) -> Sequence[Figure]:
    """How far each limit of a project is used. Keeps what had to be counted.

    Of anonymous projects it is not stored which quota refused a response.
    """
    found, refused = list[Figure](), _refused(project)
    if project.max_completes is not None:
        number = refused.get(Conversation.FULL, 0)
        found.append(Figure("", project.max_completes, _completed(project.pk), refused=number))
    if project.quotas:
        quotas = _Quotas(project)
        counts = quotas.counts(quotas.texts)
        for each in project.quotas:
            key = quotas.key(each["where"])
            count, number = counts[key], refused.get(f"{Conversation.FULL}:{key}", 0)
            found.append(Figure(each["where"], each["limit"], count.filled, count.to is not None, number))
    return found


def refused(project: Project) -> int:
    """How many responses limits refused at their end (rule 6.290)."""
    return sum(_refused(project).values())


def _refused(project: Project) -> Mapping[str, int]:
    """The number of these responses by their stored `outcome`."""
    rows = Conversation.objects.filter(project_id=project.pk, outcome__isnull=False, is_listed=True)
    return dict(rows.values_list("outcome").annotate(number=Count("pk")))


# --- Counting by a worker -------------------------------------------------------------------------


def count(*, project_id: int, most: int = 0) -> None:
    """Count the responses of quotas for two seconds. Wakes another worker if some are left.

    A second worker changes nothing, and one that dies is replaced once its lease is over. A step does at most
    the work `most` (0 for MOST_AT_ONCE). It becomes smaller if a statement takes too long.
    """
    most = most or MOST_AT_ONCE
    if not _waiting(timezone.now()).filter(project_id=project_id).update(leased_until=timezone.now() + LEASE):
        return
    end, goes_on = time.monotonic() + SECONDS_OF_A_TURN, True
    while goes_on:
        try:
            goes_on = _count_step(project_id, most)
        except TakesTooLong:
            if most == 1:  # a single response; the sweep tries again after the lease
                return
            most = max(1, most // 8)
        if goes_on and time.monotonic() > end:
            QuotaCount.objects.filter(project_id=project_id).update(leased_until=None)
            wake(COUNT, project_id=project_id, most=most)
            return


def take_up(*, at: datetime) -> None:
    """Wake workers for counts that nobody began, or whose worker died."""
    for project_id in _waiting(at).values_list("project_id", flat=True).distinct()[:100]:
        wake(COUNT, project_id=project_id)


def _waiting(at: datetime) -> Any:
    is_free = Q(leased_until__isnull=True) | Q(leased_until__lte=at)
    return QuotaCount.objects.filter(is_free, counted_to__isnull=False)


@in_transaction
def _count_step(project_id: int, most: int) -> bool:
    """Count the next responses of the quotas that are furthest behind. False if none are left.

    Raises TakesTooLong.
    """
    _hold(project_id)
    _lock(project_id)
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        return False
    quotas = _Quotas(project)
    script_settings.forget_counts(project_id, but=[*quotas.keys])
    stored = _stored(project_id)
    behind = min((each.to for each in stored.values() if each.to is not None), default=None)
    if behind is None:
        return False
    texts = [text for text in dict.fromkeys(quotas.texts) if _is_at(stored.get(quotas.key(text)), behind)]
    last = _last_of_step(project_id, behind, max(1, most // selecting.work(texts, script=quotas.script)))
    among = f"c.project_id = %s AND c.id > %s AND {_COMPLETED}", [project_id, behind]
    if last is not None:
        among = f"{among[0]} AND c.id <= %s", [*among[1], last]
    found = quotas.satisfied(texts, among=among)
    _store(project_id, {key: _Count(stored[key].filled + number, last) for key, number in found.items()})
    rows = QuotaCount.objects.filter(project_id=project_id, counted_to__isnull=False)
    return bool(rows.update(leased_until=timezone.now() + LEASE))


def _is_at(count: _Count | None, to: uuid.UUID) -> bool:
    return count is not None and count.to == to


def _last_of_step(project_id: int, after: uuid.UUID, size: int) -> uuid.UUID | None:
    """The id that ends a step of this many responses; None if no more are left after it."""
    with prepared() as cursor:
        cursor.execute(
            "SELECT id FROM surveys_conversation WHERE project_id = %s AND id > %s ORDER BY id"
            " OFFSET %s LIMIT 1",
            [project_id, after, size - 1],
        )
        row = cursor.fetchone()
    return row[0] if row else None


# --- Counting -------------------------------------------------------------------------------------


class _Quotas:
    """The expressions of a project's quotas, with all that they are evaluated by."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.script: Script = script_cache.script_of(project)
        self.texts = [each["where"] for each in project.quotas]
        self.keys = {self.key(text) for text in self.texts}

    def judge(self, state: State) -> Callable[[str], bool]:
        """Whether a response satisfies an expression."""
        return where.judge(script=self.script, state=state)

    def key(self, text: str) -> str:
        return script_settings.count_key(text)

    def satisfied(self, texts: Sequence[str] | None = None, *, among: Part) -> dict[str, int]:
        """How many responses satisfy each expression, by its key. `among` is a condition on `c`.

        Raises TakesTooLong.
        """
        by_key = {self.key(text): text for text in (self.texts if texts is None else texts)}
        with stopped_after(SECONDS_OF_A_STATEMENT):
            found = selecting.count(list(by_key.values()), script=self.script, among=among)
        return dict(zip(by_key, found, strict=True))

    def satisfied_or_forgotten(self, *, among: Part) -> dict[str, int]:
        """How many responses satisfy each expression. If that takes too long, everything is counted anew."""
        try:
            return self.satisfied(among=among)
        except TakesTooLong:
            script_settings.forget_counts(self.project.pk, but=[])
            return {}

    def counts(self, texts: Sequence[str]) -> Mapping[str, _Count]:
        """How many completed responses satisfy each expression, by its key.

        Those that are not known are counted and kept, under the lock, or by a worker.
        """
        keys = {self.key(text) for text in texts}
        known = _stored(self.project.pk) if keys else {}
        return known if keys <= known.keys() else self._counted(texts)

    @in_transaction
    def _counted(self, texts: Sequence[str]) -> Mapping[str, _Count]:
        project_id = self.project.pk
        _hold(project_id)
        _lock(project_id)
        known = _stored(project_id)  # another request may have counted them while this one waited
        missing = [text for text in texts if self.key(text) not in known]
        if not missing:
            return known
        try:
            if _completed(project_id) * selecting.work(missing, script=self.script) > MOST_AT_ONCE:
                raise TakesTooLong
            among = f"c.project_id = %s AND {_COMPLETED}", [project_id]
            counts = {key: _Count(n, None) for key, n in self.satisfied(missing, among=among).items()}
        except TakesTooLong:
            counts = {self.key(text): _Count(0, _FIRST) for text in missing}
            wake(COUNT, project_id=project_id)
        script_settings.forget_counts(project_id, but=[*self.keys])
        _store(project_id, counts)
        return {key: each for key, each in known.items() if key in self.keys} | counts


def _one(response_id: uuid.UUID) -> Part:
    return "c.id = %s", [response_id]


def _full(place: int, quota: Mapping[str, Any], *, outcome: str = Conversation.FULL) -> Full:
    return Full(f"settings.quotas[{place}]", quota["message"] or WORDS, outcome=outcome)


def _hold(project_id: int) -> None:
    """Lock a project's row as a move does, so that the lock of its places never comes before that row's."""
    with prepared() as cursor:
        cursor.execute("SELECT FROM surveys_project WHERE id = %s FOR KEY SHARE", [project_id])


def _lock(project_id: int) -> None:
    with prepared() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{_LOCK}{project_id}"])


def _completed(project_id: int) -> int:
    with prepared() as cursor:
        sql = "SELECT coalesce(sum(completed), 0)::bigint FROM surveys_tally WHERE project_id = %s"
        cursor.execute(sql, [project_id])
        return int(cursor.fetchone()[0])


def _stored(project_id: int) -> dict[str, _Count]:
    with prepared() as cursor:
        sql = "SELECT key, filled, counted_to FROM surveys_quotacount WHERE project_id = %s"
        cursor.execute(sql, [project_id])
        return {key: _Count(filled, to) for key, filled, to in cursor.fetchall()}


def _store(project_id: int, counts: Mapping[str, _Count]) -> None:
    rows = [(key, each.filled, each.to) for key, each in counts.items()]
    with prepared() as cursor:
        cursor.execute(
            "INSERT INTO surveys_quotacount (project_id, key, filled, counted_to)"
            " SELECT %s, each.* FROM unnest(%s::text[], %s::int[], %s::uuid[]) AS each"
            " ON CONFLICT (project_id, key)"
            " DO UPDATE SET filled = excluded.filled, counted_to = excluded.counted_to",
            [project_id, *map(list, zip(*rows, strict=True))] if rows else [project_id, [], [], []],
        )


def _add(project_id: int, response_id: uuid.UUID, changes: Mapping[str, int]) -> None:
    """Change the counts that are stored and contain this response; the others count it later."""
    changes = {key: change for key, change in changes.items() if change}
    if changes:
        with prepared() as cursor:
            cursor.execute(
                "UPDATE surveys_quotacount AS quota SET filled = greatest(quota.filled + each.change, 0)"
                " FROM unnest(%s::text[], %s::int[]) AS each(key, change)"
                " WHERE quota.project_id = %s AND quota.key = each.key"
                " AND (quota.counted_to IS NULL OR quota.counted_to >= %s)",
                [list(changes), list(changes.values()), project_id, response_id],
            )
