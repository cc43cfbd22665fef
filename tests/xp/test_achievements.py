"""Achievements of a community: their numbers and descriptions, and how members earn them."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.signals import post_init
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from communities.models import Member
from surveys.services import events
from tests.factories import CommunityFactory, MemberFactory, StandingFactory
from tests.support.caller import Caller
from tests.support.moments import NOON
from webhooks.models import Event
from xp.models import Achievement, EarnedAchievement
from xp.services import achievements

pytestmark = pytest.mark.django_db


def grant(to: Member, number: int = 1, **changes: object) -> bool:
    fields = {"name": "First", "image_url": None, "project_id": 12, "at": NOON, **changes}
    return achievements.grant(member_id=to.pk, number=number, **fields)  # type: ignore[arg-type]


def test_a_community_counts_its_achievements_from_one() -> None:
    club, other = CommunityFactory.create(), CommunityFactory.create()

    numbers = [achievements.define(community_id=club.pk, name=name) for name in ("A", "B", "C")]

    assert numbers == [1, 2, 3]
    assert achievements.define(community_id=other.pk, name="A") == 1


def test_the_next_number_is_above_all_chosen_and_reserved_numbers() -> None:
    club = CommunityFactory.create()
    achievements.define(community_id=club.pk, number=7, name="Seventh")
    achievements.reserve(community_id=club.pk, numbers=[11, 7])
    achievements.reserve(community_id=CommunityFactory.create().pk, numbers=[500])

    assert achievements.define(community_id=club.pk, name="Next") == 12


def test_a_reserved_number_waits_to_be_described() -> None:
    club = CommunityFactory.create()
    achievements.reserve(community_id=club.pk, numbers=[3])
    assert not Achievement.objects.get().is_described

    achievements.define(community_id=club.pk, number=3, name="Third")
    achievements.define(community_id=club.pk, number=3, name="Another")
    achievements.reserve(community_id=club.pk, numbers=[3])

    assert Achievement.objects.get().name == "Third"


def test_a_huge_chosen_number_does_not_affect_the_next_number() -> None:
    club = CommunityFactory.create()
    achievements.define(community_id=club.pk, number=2**63 - 1, name="Last of all")

    assert achievements.define(community_id=club.pk, name="First") == 1


def test_a_described_achievement_keeps_its_description() -> None:
    club = CommunityFactory.create()
    achievements.define(community_id=club.pk, number=3, name="Old", image_url="https://a.example/b.png")

    number = achievements.define(community_id=club.pk, number=3, name="New", role_id="9")

    described = Achievement.objects.get()
    assert number == 3
    assert (described.name, described.image_url, described.role_id) == (
        "Old",
        "https://a.example/b.png",
        None,
    )


def test_by_number_returns_achievements_of_the_community_only() -> None:
    club, other = CommunityFactory.create(), CommunityFactory.create()
    achievements.define(community_id=club.pk, number=1, name="Ours", role_id="9")
    achievements.define(community_id=other.pk, number=2, name="Theirs")

    by_number = achievements.by_number(community_id=club.pk, numbers=[1, 2, 3])

    assert {number: each.name for number, each in by_number.items()} == {1: "Ours"}
    assert by_number[1].role_id == "9"


def test_an_achievement_is_earned_once() -> None:
    ann, ben = MemberFactory.create(), MemberFactory.create()

    results = [grant(ann), grant(ann, name="Renamed"), grant(ann, 2), grant(ben)]

    assert results == [True, False, True, True]
    assert EarnedAchievement.objects.get(member=ann, number=1).name == "First"


def test_a_deleted_member_earns_nothing() -> None:
    ann = MemberFactory.create()
    Member.objects.all().delete()

    assert not grant(ann)


def test_granting_takes_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    ann = MemberFactory.create()

    with django_assert_num_queries(1):
        grant(ann)
    with django_assert_num_queries(1):
        grant(ann)


def test_json_has_the_achievements_own_picture() -> None:
    grant(MemberFactory.create(), 4, name="Marathon", image_url="https://a.example/b.png", project_id=2**62)

    assert achievements.as_json(EarnedAchievement.objects.get()) == {
        "id": "4",
        "name": "Marathon",
        "image_url": "https://a.example/b.png",
        "project_id": str(2**62),
        "awarded_at": NOON,
    }


def test_json_has_a_generated_badge_without_a_picture(settings: Settings) -> None:
    settings.BASE_URL = "https://surveys.example.org"
    grant(MemberFactory.create(), 4, project_id=None)

    earned = achievements.as_json(EarnedAchievement.objects.get())

    assert earned["image_url"] == "https://surveys.example.org/badges/4.svg"
    assert earned["project_id"] is None


def test_a_name_longer_than_its_column_is_truncated() -> None:
    club = CommunityFactory.create()
    achievements.define(community_id=club.pk, name="n" * 201)
    grant(MemberFactory.create(community=club), name="n" * 201)

    assert Achievement.objects.get().name == EarnedAchievement.objects.get().name == "n" * 200


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The numbers of the rows that are read, among 25 achievements of each of two members."""
    rows: list[int] = []

    def note(instance: EarnedAchievement, **_: object) -> None:
        rows.append(instance.number)

    monkeypatch.setattr(achievements, "MOST_OF_ONE", 22)
    post_init.connect(note, sender=EarnedAchievement)
    yield rows
    post_init.disconnect(note, sender=EarnedAchievement)


def told(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [[earned["id"] for earned in row["achievements"]] for row in rows]


def numbers(first: int) -> list[str]:
    return [str(n) for n in range(first, 26)]


def test_who_reads_members_reads_their_newest_achievements_alone(read: list[int]) -> None:
    """Rule 1.48."""
    admin = Caller("admin")
    pair = [MemberFactory.create(community=admin.community) for _ in range(2)]
    for each in pair:
        StandingFactory.create(member=each, xp_total=5)
        for n in range(1, 26):  # the last number is the newest, whatever the order of the rows
            grant(each, 26 - n, at=NOON + timedelta(hours=26 - n))
    lists = {
        "/members?access=member": [numbers(6)] * 2,
        f"/members?sort=id&after={pair[0].pk}": [numbers(6)],
        "/leaderboard": [numbers(6)] * 2,
    }

    for path, shown in lists.items():
        read.clear()
        assert told(admin.get(path).json()["data"]) == shown
        assert len(read) == 20 * len(shown)

    read.clear()
    assert told([admin.get(f"/members/{pair[0].pk}").json()]) == [numbers(4)]
    assert len(read) == 22

    read.clear()
    events.members_updated(
        community_id=admin.community.pk, member_ids=[each.pk for each in pair], at=timezone.now()
    )
    bodies = Event.objects.filter(type="member.updated").values_list("body", flat=True)
    assert told([json.loads(body or "")["data"]["member"] for body in bodies]) == [numbers(6)] * 2
    assert len(read) == 40
