"""Achievements: numbers of a community, each earned once, as it looked then."""

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from communities.models import Member
from tests.xp.earning import NOON, community, member
from xp.models import Achievement, EarnedAchievement
from xp.services import achievements

pytestmark = pytest.mark.django_db


def grant(to: Member, number: int = 1, **fields: object) -> bool:
    described = {"name": "First", "image_url": None, "project_id": 12, "at": NOON, **fields}
    return achievements.grant(member_id=to.pk, number=number, **described)  # type: ignore[arg-type]


def test_a_community_counts_its_achievements_from_one() -> None:
    club, other = community(), community()

    numbers = [achievements.define(community_id=club.pk, name=name) for name in ("A", "B", "C")]

    assert numbers == [1, 2, 3]
    assert achievements.define(community_id=other.pk, name="A") == 1


def test_the_next_number_lies_above_those_that_were_chosen_or_reserved() -> None:
    club = community()
    achievements.define(community_id=club.pk, number=7, name="Seventh")
    achievements.reserve(community_id=club.pk, numbers=[11, 7])
    achievements.reserve(community_id=community().pk, numbers=[500])

    assert achievements.define(community_id=club.pk, name="Next") == 12


def test_a_reserved_number_waits_to_be_described() -> None:
    club = community()
    achievements.reserve(community_id=club.pk, numbers=[3])
    assert not Achievement.objects.get().is_described

    achievements.define(community_id=club.pk, number=3, name="Third")
    achievements.define(community_id=club.pk, number=3, name="Another")
    achievements.reserve(community_id=club.pk, numbers=[3])

    assert Achievement.objects.get().name == "Third"


def test_a_giant_number_that_somebody_chose_is_not_counted_from() -> None:
    club = community()
    achievements.define(community_id=club.pk, number=2**63 - 1, name="Last of all")

    assert achievements.define(community_id=club.pk, name="First") == 1


def test_an_achievement_that_is_described_stays_as_it_is() -> None:
    club = community()
    achievements.define(community_id=club.pk, number=3, name="Old", image_url="https://a.example/b.png")

    number = achievements.define(community_id=club.pk, number=3, name="New", role_id="9")

    described = Achievement.objects.get()
    assert number == 3
    assert (described.name, described.image_url, described.role_id) == (
        "Old",
        "https://a.example/b.png",
        None,
    )


def test_only_what_the_community_describes_is_known() -> None:
    club, other = community(), community()
    achievements.define(community_id=club.pk, number=1, name="Ours", role_id="9")
    achievements.define(community_id=other.pk, number=2, name="Theirs")

    found = achievements.known(community_id=club.pk, numbers=[1, 2, 3])

    assert {number: each.name for number, each in found.items()} == {1: "Ours"}
    assert found[1].role_id == "9"


def test_an_achievement_is_earned_once() -> None:
    ann, ben = member(), member()

    told = [grant(ann), grant(ann, name="Renamed"), grant(ann, 2), grant(ben)]

    assert told == [True, False, True, True]
    assert EarnedAchievement.objects.get(member=ann, number=1).name == "First"


def test_somebody_who_is_gone_earns_nothing() -> None:
    ann = member()
    Member.objects.all().delete()

    assert not grant(ann)


def test_granting_takes_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    ann = member()

    with django_assert_num_queries(1):
        grant(ann)
    with django_assert_num_queries(1):
        grant(ann)


def test_a_record_is_told_with_its_own_picture() -> None:
    grant(member(), 4, name="Marathon", image_url="https://a.example/b.png", project_id=2**62)

    assert achievements.as_json(EarnedAchievement.objects.get()) == {
        "id": "4",
        "name": "Marathon",
        "image_url": "https://a.example/b.png",
        "project_id": str(2**62),
        "awarded_at": NOON,
    }


def test_a_record_without_a_picture_is_told_with_one_of_ours(settings: Settings) -> None:
    settings.BASE_URL = "https://surveys.example.org"
    grant(member(), 4, project_id=None)

    told = achievements.as_json(EarnedAchievement.objects.get())

    assert told["image_url"] == "https://surveys.example.org/badges/4.svg"
    assert told["project_id"] is None


def test_a_name_longer_than_its_column_is_cut() -> None:
    club = community()
    achievements.define(community_id=club.pk, name="n" * 201)
    grant(member(club), name="n" * 201)

    assert Achievement.objects.get().name == EarnedAchievement.objects.get().name == "n" * 200
