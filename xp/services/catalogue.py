"""Achievements that staff describe by hand, and how many members have earned each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Max

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.ground.statements import fetch_rows
from communities.ground.transactions import in_transaction
from communities.models import Community
from communities.services.pictures import copies
from communities.services.trail import audit
from xp.models import Achievement
from xp.services.achievements import ASSIGNED_NUMBERS_END

MAX_COUNTED = 500

# Order and range are those of an index, so that PostgreSQL uses the index. Otherwise, or with `=`, PostgreSQL
# estimates by the most frequent numbers, and reads the whole table for each number that few members have
# earned.
_EARNED = """
    SELECT number, (
        SELECT count(*) FROM (
            SELECT FROM xp_earnedachievement earned
            WHERE earned.community_id = %s AND earned.number BETWEEN wanted.number AND wanted.number
            ORDER BY earned.number, earned.id DESC LIMIT %s
        ) counted
    )
    FROM unnest(%s::bigint[]) AS wanted (number)
"""


def propose_number(*, community_id: int) -> int:
    """Return one more than the community's highest number. The number is free now, but another user may take
    it first.
    """
    assigned = Achievement.objects.filter(community_id=community_id, number__lt=ASSIGNED_NUMBERS_END)
    return (assigned.aggregate(highest=Max("number"))["highest"] or 0) + 1


def count_earned(*, community_id: int, numbers: Collection[int]) -> dict[int, int]:
    """How many members have earned each number; MAX_COUNTED + 1 means any number above MAX_COUNTED."""
    return dict(fetch_rows(_EARNED, [community_id, MAX_COUNTED + 1, list(numbers)]))


@in_transaction
def add_achievement(
    *, actor: Actor, number: int, name: str, image_url: str | None, role_id: str | None, at: datetime
) -> Achievement:
    """Describe a new number.

    Raises Conflict for a number that has a description, or that a script has reserved.
    """
    # The lock ensures that two users do not both find the number free.
    Community.objects.select_for_update(no_key=True).get(pk=actor.community_id)
    if Achievement.objects.filter(community_id=actor.community_id, number=number).exists():
        raise Conflict(f"Number {number} belongs to another achievement of this community.")
    values = {"name": name, "image_url": image_url, "role_id": role_id}
    achievement = Achievement.objects.create(community_id=actor.community_id, number=number, **values)
    copies.want(community_id=actor.community_id, addresses=[image_url])
    audit.record(
        actor=actor,
        action=Action.ACHIEVEMENT_CREATED,
        on=audit.Subject(achievement.community_id, "achievement", number, name),
        at=at,
        after=values,
    )
    return achievement


@in_transaction
def change_achievement(*, actor: Actor, number: int, changes: Mapping[str, Any], at: datetime) -> Achievement:
    """Change parts of a description: `name`, `image_url`, `role_id`. Raises NotFound.

    Members who earned the achievement earlier keep its earlier name and picture.
    """
    own = Achievement.objects.filter(community_id=actor.community_id, number=number)
    row = own.select_for_update(no_key=True).first()
    if row is None:
        raise NotFound("There is no such achievement.")
    before = {name: getattr(row, name) for name in changes}
    for name, value in changes.items():
        setattr(row, name, value)
    if changes:
        row.save(update_fields=list(changes))
    copies.want(community_id=row.community_id, addresses=[changes.get("image_url")])
    audit.record_change(
        actor=actor,
        action=Action.ACHIEVEMENT_UPDATED,
        on=audit.Subject(row.community_id, "achievement", number, row.name),
        at=at,
        before=before,
        after=changes,
    )
    return row
