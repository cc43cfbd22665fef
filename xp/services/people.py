"""A member's personal data in this app: to hand out, and to erase (rules 7.17 and 7.18).

Callers look up the member first, and hold the member's row lock to erase (see
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
    """What a member has earned, without the ledger: that may be long, see `ledger_entries`.

    `entries_for_others` counts the entries they made for other members of the community, without naming
    these. `user_ids` are the member's user and those merged into it.
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
    """Delete everything that a member earned. What they gave to others stays: see `ledger.erase_giver`."""
    ledger.erase(member_id=member_id)
    achievements.erase(member_id=member_id)
    roles.erase(member_id=member_id)


@in_transaction
def merge(*, keep_id: int, drop_id: int, community_id: int, at: datetime) -> None:
    """Give a member everything that another member earned, who turned out to be the same person.

    The XP come as one entry of the ledger, whose entries cannot change their member, and count for the month
    as far as they did before. An achievement that both have stays as the first of them was earned. The other
    member has nothing afterwards. The caller holds both members' row locks.
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
