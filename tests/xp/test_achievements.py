"""Achievements of a community: their numbers and descriptions, and how members earn them."""

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from communities.models import Member
from tests.factories import CommunityFactory, MemberFactory
from tests.support.moments import NOON
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
