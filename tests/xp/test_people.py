"""Everything that a member earned and awarded: told, and erased."""

import pytest
from django.db import transaction

from communities.models import Member
from communities.services import people as places
from tests.xp.earning import NOON, award, community, member
from xp.models import EarnedAchievement, RoleGrant, Standing, XpEntry
from xp.services import achievements, ledger, people, roles

pytestmark = pytest.mark.django_db


def held(of: Member) -> dict[str, object]:
    return people.held(community_id=of.community_id, member_id=of.pk, user_id=of.user_id, at=NOON)


def test_who_earned_nothing_has_nothing() -> None:
    assert held(member()) == {
        "standing": {"xp_total": 0, "xp_monthly": 0, "participation": 0},
        "achievements": [],
        "roles": [],
        "entries_for_others": 0,
    }


def test_what_a_member_earned_is_told() -> None:
    ann = member()
    award(ann, 10, participation=1)
    achievements.grant(member_id=ann.pk, number=1, name="First", image_url=None, project_id=None, at=NOON)
    roles.grant(member_id=ann.pk, role_id="7", project_id=5, project_name="", at=NOON)

    told = held(ann)

    assert told["standing"] == {"xp_total": 10, "xp_monthly": 10, "participation": 1}
    assert told["achievements"] == [achievements.as_json(EarnedAchievement.objects.get())]
    assert told["roles"] == [
        {
            "role_id": "7",
            "project_id": "5",
            "project_name": None,
            "created_at": NOON,
            "carried_out_at": None,
        }
    ]


def test_what_somebody_gave_is_counted_but_for_themselves_and_elsewhere() -> None:
    boss = member(name="Ingrid")
    ann, ben = member(boss.community), member(boss.community)
    elsewhere = Member.objects.create(community=community(), user=boss.user)
    for to in (ann, ben, boss, elsewhere):
        award(to, 5, actor_id=boss.user_id)
    ledger.reset(member_id=ann.pk, community_id=ann.community_id, actor_id=boss.user_id, at=NOON)
    award(ann, 5, actor_id=ben.user_id)

    assert held(boss)["entries_for_others"] == 3
    assert held(elsewhere)["entries_for_others"] == 0


def test_a_long_ledger_is_told_whole_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "AT_ONCE", 2)
    ann = member(name="Ann")
    for amount in range(1, 6):
        award(ann, amount, actor_id=ann.user_id)

    told = list(people.xp_ledger(community_id=ann.community_id, member_id=ann.pk))

    assert [(each["delta"], each["actor_name"]) for each in told] == [(n, "Ann") for n in (5, 4, 3, 2, 1)]


def test_erasing_takes_everything_of_a_member_and_nothing_of_others() -> None:
    ann = member()
    ben = member(ann.community)
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


def test_who_is_erased_has_no_name_in_what_they_gave() -> None:
    ann = member()
    boss = member(ann.community, name="Ingrid")
    entry = award(ann, 5, actor_id=boss.user_id)

    with transaction.atomic():
        places.lock(community_id=boss.community_id, member_id=boss.pk)
        people.erase(member_id=boss.pk)
        places.erase_member(community_id=boss.community_id, member_id=boss.pk, user_id=boss.user_id)

    assert ledger.told([entry], community_id=ann.community_id)[0]["actor_name"] is None
    assert places.erase_user(user_id=boss.user_id)
    stored = XpEntry.objects.select_related("actor").get()
    assert (stored.actor_id, stored.actor) == (boss.user_id, None)
