"""Tasks for the chat platform: rows that a worker carries out and retries.

    put(…)      in the transaction of a change: this has to be done
    attempt(…)  in a worker: do it now, if it is due and nobody else is at it
    wake_due()  the sweep: wakes a worker for whatever is due

Every task must be safe to do twice, because a worker may be killed after the platform has done it and before
the row records that.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from communities.chat_platform import pacing
from communities.chat_platform.client import PlatformError, Refused, Unauthorized
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.ground.faults import log_fault
from communities.ground.queue import wake
from communities.ground.sealing import SealedColumn, seal, seal_for
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from communities.models import ChatTask
from communities.services.chat import access
from communities.services.trail import audit

LEASE = timedelta(minutes=2)  # The lease is longer than the few requests of one task may take.
LONGEST_WAIT = timedelta(hours=1)
GIVEN_UP = timedelta(days=3)  # A task is given up this long after its first attempt.
KEPT = timedelta(days=30)  # Finished rows are kept for this time.
AT_ONCE = 4  # One process carries out at most this many tasks at a time, so that webhooks have threads, too.
SECONDS_OF_A_RUN = 10  # After this time, tasks of other kinds get their turn.
BATCH = 500
PURPOSE = "chat task"
SEALED = SealedColumn(
    ChatTask, "payload", lambda row: seal_for(purpose=PURPOSE, row=f"{row.kind}:{row.subject}")
)
INTERNAL_ERROR = "Colloquy could not do this because of an internal error."
# The platform's error codes after which a retry would fail again, and their meaning in words.
_REASONS = {
    10003: "The channel does not exist any more.",
    10004: "The bot is not in the server any more.",
    10007: "They are not in the server any more.",
    10011: "The role does not exist any more.",
    10013: "The account does not exist any more.",
    20001: "The platform does not allow this to bots.",
    50001: "The bot may not see the channel or the server.",
    50008: "Messages cannot be posted in this channel.",
    50013: "The bot lacks a permission, or the role is above its own.",
    50024: "Messages cannot be posted in a channel of this kind.",
    50028: "The role cannot be given.",
    50035: "The platform did not accept the message.",
    160005: "The thread is locked.",
    10062: "It was too late for an answer.",
    10015: "It was too late for an answer.",
    50027: "It was too late for an answer.",
    200000: "The server’s moderation rules refused the message.",
    240000: "The server’s moderation rules refused a link.",
}

_BOT_IS_GONE = frozenset({10004, 50001})  # The bot may have been removed; the next check decides.
_NO_ACCESS = _BOT_IS_GONE | {50013, 160005}  # A manager of the server can give this access back.

log = structlog.get_logger("colloquy.chat")
_free = threading.BoundedSemaphore(AT_ONCE)
Clock = Callable[[], datetime]

_PUT = """
    INSERT INTO communities_chattask AS task
        (community_id, kind, subject, payload, status, wanted, done, attempt_count, error, created_at, due_at,
        yields)
    VALUES (%s, %s, %s, %s, 'pending', 1, 0, 0, '', %s, %s, %s)
    ON CONFLICT (kind, subject) DO UPDATE SET
        wanted = task.wanted + 1,
        yields = excluded.yields AND (task.yields OR task.due_at IS NULL),
        payload = coalesce(excluded.payload, task.payload),
        -- A task that waits for the platform continues to wait.
        due_at = CASE WHEN task.due_at IS NULL OR excluded.payload IS NOT NULL
            THEN excluded.due_at ELSE task.due_at END,
        status = CASE WHEN task.due_at IS NULL THEN 'pending' ELSE task.status END,
        attempt_count = CASE WHEN task.due_at IS NULL THEN 0 ELSE task.attempt_count END,
        created_at = CASE WHEN task.due_at IS NULL THEN excluded.created_at ELSE task.created_at END
    RETURNING id
"""
# A repeated task gets a new `created_at`, because a task is given up a fixed time after that.
_SUCCEED = """
    UPDATE communities_chattask SET
        done = %(seen)s, attempt_count = 0, error = '',
        status = CASE WHEN wanted > %(seen)s OR %(again_at)s::timestamptz IS NOT NULL
            THEN 'pending' ELSE 'delivered' END,
        due_at = CASE WHEN %(again_at)s::timestamptz IS NOT NULL THEN %(again_at)s::timestamptz
            WHEN wanted > %(seen)s THEN %(at)s::timestamptz END,
        payload = CASE WHEN wanted > %(seen)s THEN payload END,
        created_at = CASE WHEN wanted > %(seen)s OR %(again_at)s::timestamptz IS NOT NULL
            THEN %(at)s::timestamptz ELSE created_at END
    WHERE id = %(id)s AND due_at = %(held_until)s
    RETURNING due_at IS NOT NULL
"""


class Abandoned(Exception):
    """The task cannot be done, and a retry would not help. The message is the reason."""


class Blocked(Exception):
    """The task cannot be done until somebody gives the bot the access that it lacks.

    The message is the reason.
    """


@dataclass(frozen=True, slots=True)
class Again:
    """The task was done, and must be done again at a later time."""

    at: datetime


CarryOut = Callable[[ChatTask, datetime], Again | None]
GiveUp = Callable[[ChatTask, str], None]


def put(
    *,
    community_id: int,
    kind: str,
    subject: str,
    at: datetime,
    due_at: datetime | None = None,
    payload: str = "",
    yields: bool = False,
) -> int:
    """Write a task in the caller's transaction, and wake a worker for it.

    A task that is requested again is done once more, after the attempt that may be running. `payload` is
    stored encrypted. A task that `yields` is done when no other task is due. Returns the task's id.
    """
    sealed = seal(payload, purpose=PURPOSE, row=f"{kind}:{subject}") if payload else None
    with prepared() as cursor:
        cursor.execute(_PUT, [community_id, kind, subject, sealed, at, due_at or at, yields])
        task_id = int(cursor.fetchone()[0])
    if due_at is None or due_at <= at:
        wake(kind, task_id=task_id)
    return task_id


def wake_due(*, at: datetime) -> int:
    """Wake a worker for each task that is due, for at most BATCH tasks.

    Communities take turns. Returns the number of tasks.
    """
    turn = Window(RowNumber(), partition_by=["community_id", "yields"], order_by="due_at")
    due = ChatTask.objects.filter(due_at__lte=at).annotate(turn=turn).order_by("yields", "turn", "due_at")
    found = due.values_list("pk", "kind")[:BATCH]
    for task_id, kind in found:
        wake(kind, task_id=task_id)
    return len(found)


def attempt(
    *, task_id: int, carry_out: CarryOut, give_up: GiveUp | None = None, now: Clock = timezone.now
) -> None:
    """Carry out a task if it is due, outside of any transaction, and store the result.

    Continues with other due tasks of the same kind for some seconds, or until a task is due to which they
    yield. The order is one task of each other community, then a second task of each, and so on. Does nothing
    if another worker has the task, or if this process is busy with several tasks; the sweep wakes a worker
    again. `carry_out` raises PlatformError, Abandoned or Blocked. `give_up` is called with a task that is
    given up or blocked, and the reason.
    """
    if not _free.acquire(blocking=False):
        return
    ends, seen, had_a_turn = time.monotonic() + SECONDS_OF_A_RUN, list[int](), set[int]()
    try:
        task = _claim(ChatTask.objects.filter(pk=task_id), now())
        while task is not None:
            _attempt(task, carry_out, give_up, now)
            seen.append(task.pk)
            if task.community_id in had_a_turn:
                had_a_turn.clear()
            had_a_turn.add(task.community_id)
            if time.monotonic() > ends:
                break
            of_its_kind = ChatTask.objects.filter(kind=task.kind).exclude(pk__in=seen)
            if task.yields and _must_yield(task.kind, now()):
                break
            task = _claim_next(of_its_kind, had_a_turn, now())
    finally:
        _free.release()


def keep(task: ChatTask, *, now: Clock = timezone.now) -> None:
    """Extend the lease of a task before a step that two workers must not take.

    Raises Abandoned if another worker has the task now: then the other worker's result counts.
    """
    until = now() + LEASE
    if not ChatTask.objects.filter(pk=task.pk, due_at=task.due_at).update(due_at=until):
        raise Abandoned("Another worker does this.")
    task.due_at = until


def is_of(*, community_id: int, task_id: int) -> bool:
    """Whether this is a task of the community."""
    return ChatTask.objects.filter(pk=task_id, community_id=community_id).exists()


@in_transaction
def try_again(*, actor: Actor, task_id: int, at: datetime) -> None:
    """Retry a task of the actor's community that was given up, is blocked or waits.

    Refuses a finished task.
    """
    rows = ChatTask.objects.select_for_update()
    task = rows.filter(pk=task_id, community_id=actor.community_id).first()
    if task is None:
        raise NotFound("There is no such task.")
    if task.status == ChatTask.Status.DELIVERED:
        raise Conflict("This was done already.")
    task.status, task.due_at, task.attempt_count = ChatTask.Status.PENDING, at, 0
    task.created_at, task.error = at, ""
    task.save(update_fields=["status", "due_at", "attempt_count", "created_at", "error"])
    wake(task.kind, task_id=task.pk)
    audit.record(
        actor=actor,
        action=Action.CHAT_TRIED_AGAIN,
        on=audit.Subject(actor.community_id, "chat_task", task.pk),
        at=at,
    )


def forget_old(*, at: datetime) -> int:
    """Delete tasks that were done, given up or blocked long ago. Returns the number of deleted tasks."""
    deleted, _ = ChatTask.objects.filter(due_at__isnull=True, last_attempt_at__lt=at - KEPT).delete()
    return deleted


@in_transaction
def _claim(rows: QuerySet[ChatTask], at: datetime) -> ChatTask | None:
    """Lease the first due row among these rows for this worker. Returns None if no row is free."""
    task = rows.filter(due_at__lte=at).select_for_update(skip_locked=True).first()
    if task is not None:
        task.due_at = at + LEASE
        ChatTask.objects.filter(pk=task.pk).update(due_at=task.due_at, last_attempt_at=at)
    return task


def _claim_next(rows: QuerySet[ChatTask], had_a_turn: Set[int], at: datetime) -> ChatTask | None:
    """Return the first due row, preferably of a community without a turn. Rows that yield are last."""
    for yields in (False, True):
        in_order = rows.filter(yields=yields).order_by("due_at")
        task = _claim(in_order.exclude(community_id__in=had_a_turn), at) or _claim(in_order, at)
        if task is not None:
            return task
    return None


def _must_yield(kind: str, at: datetime) -> bool:
    """Whether a task of another kind is due, and that kind does not yield."""
    return ChatTask.objects.filter(due_at__lte=at, yields=False).exclude(kind=kind).exists()


def _attempt(task: ChatTask, carry_out: CarryOut, give_up: GiveUp | None, now: Clock) -> None:
    began_at = now()
    again: Again | None = None
    error, wait, end = "", None, None
    try:
        again = carry_out(task, began_at)
    except Abandoned as reason:
        error, end = str(reason), ChatTask.Status.ABANDONED
    except Blocked as reason:
        error, end = str(reason), ChatTask.Status.BLOCKED
    except Unauthorized as failure:
        error, wait = failure.message, pacing.CIRCUIT_OPEN
    except Refused as failure:
        if failure.code in _BOT_IS_GONE:
            access.note_refused(community_id=task.community_id, at=began_at)
        error, end = _REASONS.get(failure.code or 0, failure.message), _end_of(failure)
    except PlatformError as failure:  # The platform has an outage, or says how long to wait.
        error, wait = failure.message, failure.retry_after
    except Exception as fault:  # One bad row must not stop the other rows.
        log_fault(log, "chat.task_fault", fault, kind=task.kind)
        error = INTERNAL_ERROR
    if error:
        is_over = _write_failure(task, error, wait, end, at=now())
        if end == ChatTask.Status.BLOCKED:
            access.plan_check(community_id=task.community_id)
        if is_over and give_up is not None:
            give_up(task, error)
    else:
        _write_success(task, again, at=began_at)
        access.unblock(community_id=task.community_id, at=now())
    log.info("chat.task", kind=task.kind, outcome="failed" if error else "delivered")


def _end_of(failure: Refused) -> ChatTask.Status | None:
    """The final status of a task that the platform refused; None if a retry may succeed."""
    is_forbidden = failure.status == 403 and failure.code not in _REASONS
    if failure.code in _NO_ACCESS or is_forbidden:
        return ChatTask.Status.BLOCKED
    is_final = failure.code in _REASONS or failure.status in (400, 404)
    return ChatTask.Status.ABANDONED if is_final or failure.status == 403 else None


def _write_success(task: ChatTask, again: Again | None, *, at: datetime) -> None:
    """Mark a task as done, unless it was requested again meanwhile, or must be done again."""
    with prepared() as cursor:
        cursor.execute(
            _SUCCEED,
            {
                "id": task.pk,
                "held_until": task.due_at,
                "seen": task.wanted,
                "again_at": None if again is None else again.at,
                "at": at,
            },
        )
        row = cursor.fetchone()
    if row and row[0] and again is None:
        wake(task.kind, task_id=task.pk)


def _write_failure(
    task: ChatTask, error: str, wait: timedelta | None, end: ChatTask.Status | None, *, at: datetime
) -> bool:
    """Store a failed attempt, and return whether the task was given up or blocked."""
    held = ChatTask.objects.filter(pk=task.pk, due_at=task.due_at)
    counted = F("attempt_count") + int(wait is None)
    if end is None and at - task.created_at > GIVEN_UP:
        end = ChatTask.Status.ABANDONED
    if end is not None:
        # A task that was requested again meanwhile may succeed now, for example in a new channel.
        over = held.filter(wanted=task.wanted)
        if over.update(status=end, due_at=None, error=error[:300], attempt_count=counted):
            return True
    # If the platform only asked for a pause, the task has not failed yet.
    is_new = wait is not None and task.attempt_count == 0
    held.update(
        status=ChatTask.Status.PENDING if is_new else ChatTask.Status.FAILED,
        due_at=at + (wait or _backoff(task.attempt_count + 1)),
        error=error[:300],
        attempt_count=counted,
    )
    return False


def _backoff(attempts: int) -> timedelta:
    """Return 1, 3, 9, 27 seconds and so on, up to an hour, each up to a quarter longer."""
    seconds = min(float(3 ** min(attempts - 1, 10)), LONGEST_WAIT.total_seconds())
    return timedelta(seconds=seconds * (1 + random.random() / 4))
