"""A member's personal data in this app: exporting and erasing it (rules 7.17 and 7.18).

Callers first look up the member, and lock the member's row before an erasure (see
communities/services/people.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime

from django.db.models import F

from communities.ground.transactions import in_transaction
from xp.models import Standing, XpEntry
from xp.services import achievements, ledger, roles, standings

Json = dict[str, object]
PAGE_LENGTH = 1_000


def personal_data(*, community_id: int, member_id: int, user_ids: Collection[int], at: datetime) -> Json:
    """Everything that a member has earned, without the ledger, which may be long: see `ledger_entries`.

    `entries_for_others` is the number of entries that the member made for other members of the community,
    without names. `user_ids` are the member's user and the users merged into it.
    """
    totals = standings.of_member(member_id=member_id, at=at)
    by_hand = XpEntry.objects.filter(actor_id__in=user_ids, member__community_id=community_id)
    return {
        "standing": {
            "xp_total": totals.total,
            "xp_monthly": totals.month,
            "participation": totals.participation,
        },
        "achievements": achievements.earned_by(member_ids=[member_id], most=None).get(member_id, []),
        "roles": list(roles.granted_to(member_id=member_id)),
        "entries_for_others": by_hand.exclude(member_id=member_id).count(),
    }


def ledger_entries(*, community_id: int, member_id: int) -> Iterator[Json]:
    """All of a member's entries in the shape of the API, newest first. Reads one page at a time."""
    entries = ledger.entries(member_id=member_id)
    page = list(entries[:PAGE_LENGTH])
    while page:
        yield from ledger.entries_as_json(page, community_id=community_id)
        page = list(entries.filter(pk__lt=page[-1].pk)[:PAGE_LENGTH])


@in_transaction
def erase(*, member_id: int) -> None:
    """Delete everything that a member earned.

    XP that the member gave to others remains: see `ledger.erase_giver`.
    """
    ledger.erase(member_id=member_id)
    achievements.erase(member_id=member_id)
    roles.erase(member_id=member_id)


@in_transaction
def merge(*, keep_id: int, drop_id: int, community_id: int, at: datetime) -> None:
    """Move everything that a member earned to another member, who is the same person.

    The XP become one entry of the ledger, because entries cannot change their member. The XP count for the
    same month as before. If both members have an achievement, the earlier one remains. Afterwards the first
    member has nothing. The caller has locked the rows of both members.
    """
    dropped = standings.of_member(member_id=drop_id, at=at)
    if dropped.total:
        ledger.award(
            member_id=keep_id,
            community_id=community_id,
            amount=dropped.total,
            kind=XpEntry.SourceKind.OPENING_BALANCE,
            participation=dropped.participation,
            note="From another account of the same person.",
            at=at,
        )
        earlier = dropped.total - dropped.month
        Standing.objects.filter(pk=keep_id).update(xp_in_month=F("xp_in_month") - earlier)
    elif dropped.participation:
        ledger.count_participation(member_id=keep_id, community_id=community_id, change=dropped.participation)
    achievements.merge(keep_id=keep_id, drop_id=drop_id)
    roles.merge(keep_id=keep_id, drop_id=drop_id)
    ledger.erase(member_id=drop_id)
