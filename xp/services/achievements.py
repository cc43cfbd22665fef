"""Achievements: what a community's numbers stand for, and who earned which."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max, QuerySet

from communities.models import Community
from communities.statements import prepared
from xp.models import Achievement, EarnedAchievement, name_by_default

# Numbers are given one after the other below this; a script may name any number that a column holds.
NUMBERS_GIVEN_BELOW = 2**53

# The member is locked against deletion, as by the ledger; a twin is waited for, and was first.
_GRANT = """
    INSERT INTO xp_earnedachievement (member_id, number, name, image_url, project_id, awarded_at)
    SELECT id, %s::bigint, %s::varchar, %s::varchar, %s::bigint, %s::timestamptz
    FROM communities_member WHERE id = %s
    FOR KEY SHARE
    ON CONFLICT (member_id, number) DO NOTHING
"""


Described = Mapping[str, str | None]  # name, image_url and role_id of an achievement


@transaction.atomic
def define(
    *,
    community_id: int,
    name: str,
    image_url: str | None = None,
    role_id: str | None = None,
    number: int | None = None,
) -> int:
    """Describe an achievement, under `number` or the community's next one, which is told.

    A number that is described already is left as it is; one that was reserved is described.
    """
    if number is None:
        number = next_number(community_id=community_id)
    # Does nothing where a twin was first; a failed insert would end the caller's transaction.
    Achievement.objects.bulk_create(
        [
            Achievement(
                community_id=community_id,
                number=number,
                name=_name(name),
                image_url=image_url,
                role_id=role_id,
            )
        ],
        ignore_conflicts=True,
    )
    reserved = Achievement.objects.filter(
        community_id=community_id, number=number, name=name_by_default(number)
    )
    reserved.update(name=_name(name), image_url=image_url, role_id=role_id)
    return number


def next_number(*, community_id: int) -> int:
    """One above all that there are, kept for whoever asks until their transaction ends.

    Scripts have reserved those that they name.
    """
    # Two at once shall not take the same number.
    Community.objects.select_for_update(no_key=True).get(pk=community_id)
    there = Achievement.objects.filter(community_id=community_id, number__lt=NUMBERS_GIVEN_BELOW)
    return (there.aggregate(highest=Max("number"))["highest"] or 0) + 1


def reserve(*, community_id: int, numbers: Iterable[int]) -> None:
    """Keep numbers that a script grants from being given to anything else. They wait to be described."""
    Achievement.objects.bulk_create(
        [
            Achievement(community_id=community_id, number=number, name=name_by_default(number))
            for number in sorted(numbers)
        ],
        ignore_conflicts=True,
    )


def redescribe(*, community_id: int, number: int, before: Described, after: Described) -> None:
    """Let a description follow whoever made it, in what nobody has changed since."""
    own = Achievement.objects.filter(community_id=community_id, number=number)
    for key, old in before.items():
        if after[key] != old:
            own.filter(**{key: old}).update(**{key: after[key]})


def known(*, community_id: int, numbers: Collection[int]) -> Mapping[int, Achievement]:
    """Those of the numbers that are described in the community."""
    found = Achievement.objects.filter(community_id=community_id, number__in=numbers)
    return {each.number: each for each in found}


def grant(
    *,
    member_id: int,
    number: int,
    name: str,
    image_url: str | None,
    project_id: int | None,
    at: datetime,
) -> bool:
    """Give a member an achievement, as it is called and looks today. False where they have it already."""
    with prepared() as cursor:
        cursor.execute(_GRANT, [number, _name(name), image_url, project_id, at, member_id])
        return bool(cursor.rowcount)


def as_json(earned: EarnedAchievement) -> dict[str, Any]:
    """An achievement of a member as the interface tells it (decisions 4)."""
    return {
        "id": str(earned.number),
        "name": earned.name,
        "image_url": earned.image_url or badge_address(earned.number),
        "project_id": None if earned.project_id is None else str(earned.project_id),
        "awarded_at": earned.awarded_at,
    }


def earned_by(*, member_ids: Collection[int]) -> Mapping[int, list[dict[str, Any]]]:
    """The achievements of each of these members as the interface tells them, the first earned first."""
    told: dict[int, list[dict[str, Any]]] = {}
    for earned in EarnedAchievement.objects.filter(member_id__in=member_ids).order_by("awarded_at", "number"):
        told.setdefault(earned.member_id, []).append(as_json(earned))
    return told


def described(*, community_id: int) -> QuerySet[Achievement]:
    """What the community's achievements are called, in the order of their numbers."""
    return Achievement.objects.filter(community_id=community_id).order_by("number")


def description_as_json(achievement: Achievement) -> dict[str, Any]:
    """What an achievement is called and looks like, as the interface tells it."""
    return {
        "id": str(achievement.number),
        "name": achievement.name,
        "image_url": achievement.image_url or badge_address(achievement.number),
        "role_id": achievement.role_id or None,
    }


def erase(*, member_id: int) -> None:
    """Delete what a member earned; what their community's achievements are stays."""
    EarnedAchievement.objects.filter(member_id=member_id).delete()


def badge_address(number: int) -> str:
    """Where the picture stands that is drawn for an achievement without one of its own."""
    return f"{settings.BASE_URL}/badges/{number}.svg"


def _name(name: str) -> str:
    return name[: Achievement._meta.get_field("name").max_length]
