"""Achievements: the descriptions that a community gives to numbers, and the members who earned them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Max, QuerySet
from django.urls import reverse

from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from communities.models import Community
from communities.services.pictures import copies
from communities.services.pictures.copies import Copy
from communities.services.pictures.places import Place
from xp.models import Achievement, EarnedAchievement, default_name

# Numbers are assigned in sequence below this limit. A script may name any number that the column can hold.
ASSIGNED_NUMBERS_END = 2**53
# At most this many of the newest achievements of each member are read: the first number is for lists, the
# leaderboard and events, the second for a single member (rule 1.48).
MOST_IN_LISTS, MOST_OF_ONE = 20, 1_000

# Locks the member against deletion, as the ledger does. A concurrent grant of the same number waits for this
# one and then does nothing.
_GRANT = """
    INSERT INTO xp_earnedachievement (
        member_id, community_id, number, name, image_url, project_id, awarded_at
    )
    SELECT id, community_id, %s::bigint, %s::varchar, %s::varchar, %s::bigint, %s::timestamptz
    FROM communities_member WHERE id = %s
    FOR KEY SHARE
    ON CONFLICT (member_id, number) DO NOTHING
"""

# The statement reads no more rows of a member than it returns. Without a limit (null) it reads all rows.
_EARNED_BY = """
    SELECT earned.* FROM unnest(%s::bigint[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT * FROM xp_earnedachievement WHERE member_id = wanted.id
        ORDER BY awarded_at DESC, number DESC LIMIT %s
    ) AS earned
    ORDER BY earned.awarded_at, earned.number
"""

PLACES = (
    Place(("xp_achievement.image_url",), "SELECT community_id, image_url AS address FROM xp_achievement"),
    Place(
        ("xp_earnedachievement.image_url",),
        "SELECT community_id, image_url AS address FROM xp_earnedachievement",
    ),
)

Description = Mapping[str, str | None]  # The keys are name, image_url and role_id.


@in_transaction
def define(
    *,
    community_id: int,
    name: str,
    image_url: str | None = None,
    role_id: str | None = None,
    number: int | None = None,
) -> int:
    """Describe an achievement, and return its number: `number`, or the community's next free one.

    A reserved number gets the description. A number that already has a description keeps it.
    """
    if number is None:
        number = next_number(community_id=community_id)
    # Does nothing if the row exists. A plain insert would fail and abort the caller's transaction.
    Achievement.objects.bulk_create(
        [
            Achievement(
                community_id=community_id,
                number=number,
                name=_truncated(name),
                image_url=image_url,
                role_id=role_id,
            )
        ],
        ignore_conflicts=True,
    )
    reserved = Achievement.objects.filter(community_id=community_id, number=number, name=default_name(number))
    reserved.update(name=_truncated(name), image_url=image_url, role_id=role_id)
    copies.want(community_id=community_id, addresses=[image_url])
    return number


def next_number(*, community_id: int) -> int:
    """One more than the community's highest number, including numbers reserved by scripts.

    Locks the community's row until the transaction ends, so that two callers never get the same number.
    """
    Community.objects.select_for_update(no_key=True).get(pk=community_id)
    assigned = Achievement.objects.filter(community_id=community_id, number__lt=ASSIGNED_NUMBERS_END)
    return (assigned.aggregate(highest=Max("number"))["highest"] or 0) + 1


def reserve(*, community_id: int, numbers: Iterable[int]) -> None:
    """Reserve the numbers that a script grants, under default names, so that `next_number` skips them."""
    Achievement.objects.bulk_create(
        [
            Achievement(community_id=community_id, number=number, name=default_name(number))
            for number in sorted(numbers)
        ],
        ignore_conflicts=True,
    )


def redescribe(*, community_id: int, number: int, before: Description, after: Description) -> None:
    """Change each part of a description from `before` to `after`, unless a person has edited that part."""
    own = Achievement.objects.filter(community_id=community_id, number=number)
    for key, old in before.items():
        if after[key] != old:
            own.filter(**{key: old}).update(**{key: after[key]})
            if key == "image_url":
                copies.want(community_id=community_id, addresses=[after[key]])


def by_number(*, community_id: int, numbers: Collection[int]) -> Mapping[int, Achievement]:
    """The community's achievements with these numbers. Numbers without a row are left out."""
    achievements = Achievement.objects.filter(community_id=community_id, number__in=numbers)
    return {achievement.number: achievement for achievement in achievements}


def grant(
    *,
    member_id: int,
    number: int,
    name: str,
    image_url: str | None,
    project_id: int | None,
    at: datetime,
) -> bool:
    """Give a member an achievement with its current name and picture.

    Returns False if the member already has the achievement, or no longer exists.
    """
    with prepared() as cursor:
        cursor.execute(_GRANT, [number, _truncated(name), image_url, project_id, at, member_id])
        return bool(cursor.rowcount)


def as_json(earned: EarnedAchievement) -> dict[str, Any]:
    """A member's achievement in the shape of the API (rule 1.17)."""
    return {
        "id": str(earned.number),
        "name": earned.name,
        "image_url": earned.image_url or badge_url(earned.number),
        "project_id": None if earned.project_id is None else str(earned.project_id),
        "awarded_at": earned.awarded_at,
    }


def picture_path(number: int, copy: Copy | None) -> str:
    """The picture that a page shows for an achievement: our copy of its own picture, else the badge of its
    number.
    """
    return copy.path if copy else reverse("xp-pages:badge", args=[number])


def earned_by(*, member_ids: Collection[int], most: int | None) -> Mapping[int, list[dict[str, Any]]]:
    """The newest `most` achievements of each of these members in the shape of the API, the earliest first.

    Returns all achievements if `most` is None.
    """
    by_member: dict[int, list[dict[str, Any]]] = {}
    for earned in EarnedAchievement.objects.raw(_EARNED_BY, [list(member_ids), most]):
        by_member.setdefault(earned.member_id, []).append(as_json(earned))
    return by_member


def count(*, member_id: int) -> int:
    """The number of achievements that a member has earned."""
    return EarnedAchievement.objects.filter(member_id=member_id).count()


def in_community(*, community_id: int) -> QuerySet[Achievement]:
    """The community's achievements, ordered by number."""
    return Achievement.objects.filter(community_id=community_id).order_by("number")


def description_as_json(achievement: Achievement) -> dict[str, Any]:
    """An achievement's description in the shape of the API."""
    return {
        "id": str(achievement.number),
        "name": achievement.name,
        "image_url": achievement.image_url or badge_url(achievement.number),
        "role_id": achievement.role_id or None,
    }


def erase(*, member_id: int) -> None:
    """Delete the achievements that a member earned. The community's descriptions remain."""
    EarnedAchievement.objects.filter(member_id=member_id).delete()


def merge(*, keep_id: int, drop_id: int) -> None:
    """Move the achievements of a member to another member, who is the same person.

    If both have an achievement, the earlier one remains.
    """
    theirs = {each.number: each for each in EarnedAchievement.objects.filter(member_id=drop_id)}
    for own in EarnedAchievement.objects.filter(member_id=keep_id, number__in=theirs):
        later = max(own, theirs[own.number], key=lambda each: each.awarded_at)
        later.delete()
    EarnedAchievement.objects.filter(member_id=drop_id).update(member_id=keep_id)


def badge_url(number: int) -> str:
    """The URL of the generated badge for an achievement without a picture."""
    return f"{settings.BASE_URL}/badges/{number}.svg"


def _truncated(name: str) -> str:
    return name[: Achievement._meta.get_field("name").max_length]
