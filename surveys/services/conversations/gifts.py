"""Gifts of anonymous projects: stored encrypted, and given after the hour of the answer (rule 7.10).

    store      stores the gifts of a move, in the move's transaction
    settle     gives all gifts of an hour that is over, together; runs every minute
    of_users   lists the gifts that wait for a user, or for users who were merged into them
    forget     deletes the gifts of a user who is erased

A gift writes rows about a member. If they were written in the transaction of the answer, or in the next one,
anybody who reads the database could connect the answer to the member.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
import structlog
from django.db import OperationalError
from django.db.models import QuerySet

from communities.ground import rounding
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from communities.services.people import members
from communities.services.people.members import LockedMember
from surveys.models import Project, SealedGifts
from surveys.services.ground import anonymity
from xp.models import XpEntry
from xp.services import achievements, ledger, roles

SETTLED_AT_ONCE = 1_000  # rows in one transaction
UNREADABLE_KEPT = timedelta(days=7)
log = structlog.get_logger("colloquy.gifts")


@dataclass(frozen=True, slots=True)
class XpGift:
    """An amount of XP, and the kind of its entry in the ledger."""

    amount: int
    kind: str


@dataclass(frozen=True, slots=True)
class AchievementGift:
    """An achievement with its description when it was earned. The first grant also grants `role_id`."""

    number: int
    name: str
    image_url: str | None
    role_id: str | None


@dataclass(frozen=True, slots=True)
class SealedMove:
    """Everything that one move gives a user. `at` is the day of the move; `actions` are those that fired.

    A move that reaches an action which has fired before gives nothing, and is stored like any other move.
    """

    user_id: int
    at: datetime
    project_name: str
    completions: int = 0
    xp: tuple[XpGift, ...] = ()
    achievements: tuple[AchievementGift, ...] = ()
    role_ids: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitingMove:
    """The gifts of a move that wait, with their row."""

    row: SealedGifts
    move: SealedMove


@dataclass(frozen=True, slots=True)
class Source:
    """The project of a gift, and the time of the gift."""

    project_id: int
    project_name: str
    at: datetime


def store(*, project: Project, move: SealedMove, at: datetime) -> None:
    """Store the gifts of a move until its hour or day is over. Takes part in the move's transaction."""
    row = SealedGifts(community_id=project.community_id, project_id=project.pk)
    row.due_at = rounding.after(at, anonymity.rounding_of(project))
    with prepared() as cursor:
        cursor.execute(
            "INSERT INTO surveys_sealedgifts (id, community_id, project_id, due_at, sealed)"
            " VALUES (%s, %s, %s, %s, %s)",
            [row.pk, row.community_id, row.project_id, row.due_at, _sealed(row, move)],
        )


def settle(*, at: datetime) -> int:
    """Give the gifts that are due. Returns the number of moves.

    The transaction that gives a move's gifts also deletes its row, so a killed process gives nothing twice.
    Gifts are given in the order of user ids, which is unrelated to the order of the answers. A user who is no
    longer a present member gets nothing. If a lock prevents settling a community, the next run settles it.
    """
    due = SealedGifts.objects.filter(due_at__lte=at)
    communities = sorted(due.values_list("community_id", flat=True).distinct())
    return sum(_settle_community(due.filter(community_id=each), at=at) for each in communities)


def of_users(*, community_id: int, user_ids: Collection[int]) -> Iterator[WaitingMove]:
    """List the gifts that wait for users. Decrypts all waiting gifts of the community, a day's at most."""
    rows = SealedGifts.objects.filter(community_id=community_id).order_by("pk").iterator()
    return (waiting for waiting in _opened(rows) if waiting.move.user_id in user_ids)


def _settle_community(due: QuerySet[SealedGifts], *, at: datetime) -> int:
    settled, last = 0, uuid.UUID(int=0)
    while True:
        rows = list(due.filter(pk__gt=last).order_by("pk")[:SETTLED_AT_ONCE])
        try:
            settled += _settle(rows, at=at) if rows else 0
        except OperationalError as fault:
            log.warning("gifts.postponed", cause=type(fault.__cause__).__name__)
            return settled
        if len(rows) < SETTLED_AT_ONCE:
            return settled
        last = rows[-1].pk


@in_transaction
def _settle(rows: Collection[SealedGifts], *, at: datetime) -> int:
    """Give the gifts in rows of one community. Skips rows that were deleted or changed since the read."""
    opened = sorted(_opened(rows), key=lambda waiting: waiting.move.user_id)
    readable = {waiting.row.pk for waiting in opened}
    done = [row for row in rows if row.pk in readable or row.due_at < at - UNREADABLE_KEPT]
    # Members are locked before rows, in the same order as by an erasure.
    held = {
        waiting.move.user_id: _lock_member(waiting.row.community_id, waiting.move.user_id)
        for waiting in opened
    }
    with prepared() as cursor:
        cursor.execute(
            "DELETE FROM surveys_sealedgifts stored"
            " USING unnest(%s::uuid[], %s::bytea[]) AS read(id, sealed)"
            " WHERE stored.id = read.id AND stored.sealed = read.sealed RETURNING stored.id",
            [[row.pk for row in done], [bytes(row.sealed) for row in done]],
        )
        deleted = {row[0] for row in cursor.fetchall()}
    for waiting in opened:
        member = held[waiting.move.user_id]
        if member is not None and waiting.row.pk in deleted:
            _give(waiting, member.member_id)
    return len(deleted)


def _lock_member(community_id: int, user_id: int) -> LockedMember | None:
    def lock(current_id: int) -> LockedMember | None:
        return members.lock_member(community_id=community_id, user_id=current_id)

    _, held = members.lock_current(lock, user_id=user_id)
    return held


def _give(waiting: WaitingMove, member_id: int) -> None:
    row, move = waiting.row, waiting.move
    source = Source(row.project_id, move.project_name, move.at)
    for gift in move.xp:
        ledger.award(
            member_id=member_id,
            community_id=row.community_id,
            amount=gift.amount,
            kind=XpEntry.SourceKind(gift.kind),
            at=move.at,
            source_ref=row.project_id,
            survey_name=move.project_name,
        )
    if move.completions:
        ledger.count_participation(
            member_id=member_id, community_id=row.community_id, change=move.completions
        )
    for achievement in move.achievements:
        grant_achievement(achievement, source, member_id=member_id)
    for role_id in move.role_ids:
        grant_role(role_id, source, member_id=member_id)


def grant_achievement(gift: AchievementGift, source: Source, *, member_id: int) -> None:
    """Grant a member an achievement, and with the first grant its role."""
    is_new = achievements.grant(
        member_id=member_id,
        number=gift.number,
        name=gift.name,
        image_url=gift.image_url,
        project_id=source.project_id,
        at=source.at,
    )
    if is_new and gift.role_id:
        grant_role(gift.role_id, source, member_id=member_id)


def grant_role(role_id: str, source: Source, *, member_id: int) -> None:
    """Grant a member a role."""
    roles.grant(
        member_id=member_id,
        role_id=role_id,
        project_id=source.project_id,
        project_name=source.project_name,
        at=source.at,
    )


def _sealed(row: SealedGifts, move: SealedMove) -> bytes:
    return anonymity.seal_gifts(project_id=row.project_id, row_id=row.pk, gifts=orjson.dumps(move))


def _opened(rows: Iterable[SealedGifts]) -> Iterator[WaitingMove]:
    """Decrypt rows. Rows that were encrypted with another secret are skipped and logged."""
    for row in rows:
        plain = anonymity.unseal_gifts(project_id=row.project_id, row_id=row.pk, sealed=bytes(row.sealed))
        if plain is None:
            log.error("gifts.unreadable", project_id=row.project_id)
            continue
        yield WaitingMove(row, _read(plain))


def _read(plain: bytes) -> SealedMove:
    fields = orjson.loads(plain)
    fields |= {
        "at": datetime.fromisoformat(fields["at"]),
        "xp": tuple(XpGift(**gift) for gift in fields["xp"]),
        "achievements": tuple(AchievementGift(**gift) for gift in fields["achievements"]),
        "role_ids": tuple(fields["role_ids"]),
        "actions": tuple(fields["actions"]),
    }
    return SealedMove(**fields)
