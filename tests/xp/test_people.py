"""A member's personal data in this app: handed out and erased."""

import pytest
from django.db import IntegrityError, connection, transaction

from communities.models import Member
from tests.factories import CommunityFactory, EarnedAchievementFactory, MemberFactory
from tests.support.moments import NOON
from tests.support.xp.ledger import award
from xp.models import EarnedAchievement, RoleGrant, Standing, XpEntry
from xp.services import achievements, ledger, people, roles

pytestmark = pytest.mark.django_db


def personal_data(member: Member) -> dict[str, object]:
    return people.personal_data(
        community_id=member.community_id, member_id=member.pk, user_ids=[member.user_id], at=NOON
    )


def test_a_member_who_earned_nothing_has_no_data() -> None:
    assert personal_data(MemberFactory.create()) == {
        "standing": {"xp_total": 0, "xp_monthly": 0, "participation": 0},
        "achievements": [],
        "roles": [],
        "entries_for_others": 0,
    }


def test_personal_data_has_all_achievements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 1.48."""
    monkeypatch.setattr(achievements, "MOST_OF_ONE", 2)
    ann = MemberFactory.create()
    EarnedAchievementFactory.create_batch(25, member=ann)

    assert len(personal_data(ann)["achievements"]) == 25  # type: ignore[arg-type]


def test_personal_data_has_all_that_a_member_earned() -> None:
    ann = MemberFactory.create()
    award(ann, 10, participation=1)
    achievements.grant(member_id=ann.pk, number=1, name="First", image_url=None, project_id=None, at=NOON)
    roles.grant(member_id=ann.pk, role_id="7", project_id=5, project_name="", at=NOON)

    data = personal_data(ann)

    assert data["standing"] == {"xp_total": 10, "xp_monthly": 10, "participation": 1}
    assert data["achievements"] == [achievements.as_json(EarnedAchievement.objects.get())]
    assert data["roles"] == [
        {
            "role_id": "7",
            "project_id": "5",
            "project_name": None,
            "created_at": NOON,
            "carried_out_at": None,
            "state": "waiting",
        }
    ]


def test_entries_for_others_count_neither_own_entries_nor_other_communities() -> None:
    boss = MemberFactory.create(user__name="Ingrid")
    ann, ben = MemberFactory.create(community=boss.community), MemberFactory.create(community=boss.community)
    elsewhere = Member.objects.create(community=CommunityFactory.create(), user=boss.user)
    for to in (ann, ben, boss, elsewhere):
        award(to, 5, actor_id=boss.user_id)
    ledger.reset(member_id=ann.pk, community_id=ann.community_id, actor_id=boss.user_id, at=NOON)
    award(ann, 5, actor_id=ben.user_id)

    assert personal_data(boss)["entries_for_others"] == 3
    assert personal_data(elsewhere)["entries_for_others"] == 0


def test_a_long_ledger_is_read_in_pages_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "PAGE_LENGTH", 2)
    ann = MemberFactory.create(user__name="Ann")
    for amount in range(1, 6):
        award(ann, amount, actor_id=ann.user_id)

    entries = list(people.ledger_entries(community_id=ann.community_id, member_id=ann.pk))

    assert [(each["delta"], each["actor_name"]) for each in entries] == [(n, "Ann") for n in (5, 4, 3, 2, 1)]


def test_erasing_deletes_all_data_of_the_member_only() -> None:
    ann = MemberFactory.create()
    ben = MemberFactory.create(community=ann.community)
    for each in (ann, ben):
        award(each, 10)
        award(each, 5)
        achievements.grant(
            member_id=each.pk, number=1, name="First", image_url=None, project_id=None, at=NOON
        )
        roles.grant(member_id=each.pk, role_id="7", project_id=None, project_name="", at=NOON)

    people.erase(member_id=ann.pk)

    for model in (XpEntry, Standing, EarnedAchievement, RoleGrant):
        assert set(model._default_manager.values_list("member_id", flat=True)) == {ben.pk}, model
    ann.delete()
    assert not Member.objects.filter(pk=ann.pk).exists()


def test_a_giver_is_replaced_by_the_pseudonym_in_that_community_alone() -> None:
    boss = MemberFactory.create(user__name="Ingrid")
    ann, ben = MemberFactory.create(community=boss.community), MemberFactory.create(community=boss.community)
    elsewhere = MemberFactory.create()
    for to in (ann, elsewhere):
        award(to, 5, actor_id=boss.user_id)
    award(ann, 5, actor_id=ben.user_id)

    communities = ledger.communities_of_giver(user_ids=[boss.user_id])
    ledger.erase_giver(community_id=ann.community_id, user_ids=[boss.user_id], pseudonym="QAAAAAA2")

    assert communities == sorted([ann.community_id, elsewhere.community_id])
    entries = ledger.entries_as_json(list(ledger.entries(member_id=ann.pk)), community_id=ann.community_id)
    assert [(e["actor_name"], e["actor_pseudonym"]) for e in entries] == [
        (ben.user.name, None),
        (None, "QAAAAAA2"),
    ]
    assert ledger.entries(member_id=elsewhere.pk).get().actor_id == boss.user_id


ERASED = "actor_id = NULL, actor_pseudonym = 'QAAAAAA2'"


@pytest.mark.parametrize(
    ("givers", "change"),
    [
        ("", ERASED),
        ("{other}", ERASED),
        ("{giver}", "actor_id = NULL"),
        ("{giver}", "actor_pseudonym = 'QAAAAAA2'"),
        ("{giver}", f"{ERASED}, note = 'Another.'"),
        ("{giver}", f"{ERASED}, delta = 6"),
    ],
)
def test_the_database_lets_nothing_else_of_an_entry_change(givers: str, change: str) -> None:
    ann = MemberFactory.create()
    award(ann, 5, actor_id=ann.user_id)
    named = givers.format(giver=ann.user_id, other=ann.user_id + 1)

    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('colloquy.erased_givers', %s, true)", [named])
        with pytest.raises(IntegrityError, match="cannot be changed"), transaction.atomic():
            cursor.execute(f"UPDATE xp_xpentry SET {change}")

    assert XpEntry.objects.get().actor_id == ann.user_id
