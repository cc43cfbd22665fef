"""Achievements in the admin: pictures, who earned them, and descriptions."""

from __future__ import annotations

import pytest
from django.urls import reverse

from communities.models import AuditEntry, Member
from tests.factories import EarnedAchievementFactory, MemberFactory
from tests.support.moments import NOON
from tests.support.pictures import copied, foreign_pictures
from tests.support.plans import analyse, fill_members, rows_read
from tests.support.staff import Staff, text_of
from xp.models import Achievement, EarnedAchievement
from xp.services import achievements, catalogue, roles

pytestmark = pytest.mark.django_db


def described(staff: Staff, name: str = "Marathon", **fields: object) -> Achievement:
    number = achievements.define(community_id=staff.community.pk, name=name, **fields)  # type: ignore[arg-type]
    return Achievement.objects.get(community=staff.community, number=number)


def earner(staff: Staff, nick: str, number: int = 1) -> Member:
    member = MemberFactory.create(community=staff.community, nick=nick)
    achievements.grant(member_id=member.pk, number=number, name="Run", image_url=None, project_id=5, at=NOON)
    return member


def test_the_list_shows_pictures_and_how_many_earned_each() -> None:
    staff = Staff()
    described(staff, "Marathon", role_id="role-7")
    described(staff, "Sprint", image_url="https://example.org/sprint.png")
    described(staff, "Dash", image_url="https://example.org/not-fetched-yet.png")
    copy = copied(staff.community.pk, "https://example.org/sprint.png")
    earner(staff, "Ann")
    earner(staff, "Ben")
    earner(Staff(), "Foreign")

    page = staff.get("xp_achievement_changelist")

    said, body = text_of(page), page.content.decode()
    assert "Marathon 1 2 members role-7" in said
    assert "Sprint 2 Nobody yet –" in said
    assert 'src="/badges/1.svg"' in body
    assert f'src="/pictures/{copy.name}" alt="" width="36" height="36"' in body
    assert 'src="/badges/3.svg"' in body
    assert foreign_pictures(body) == []


def test_the_page_lists_who_earned_it_newest_first() -> None:
    staff = Staff()
    row = described(staff)
    for nick in ("Ann", "Ben"):
        earner(staff, nick)
    earner(staff, "Cid", number=2)
    earner(Staff(), "Foreign")

    said = text_of(staff.get("xp_achievement_change", row.pk))

    assert said.index("Ben") < said.index("Ann")
    assert "Cid" not in said
    assert "Foreign" not in said
    assert "Earned by 2 members" in said


def test_large_counts_are_not_counted_to_the_end() -> None:
    staff = Staff()
    described(staff)
    members = MemberFactory.create_batch(catalogue.MAX_COUNTED + 2, community=staff.community)
    EarnedAchievement.objects.bulk_create(
        EarnedAchievementFactory.build(member=each, community=each.community, number=1) for each in members
    )

    assert "More than 500 members" in text_of(staff.get("xp_achievement_changelist"))


def test_counting_reads_no_rows_of_other_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "MAX_COUNTED", 5)
    staff = Staff()
    members = fill_members(staff.community, 2_000)
    EarnedAchievement.objects.bulk_create(
        EarnedAchievementFactory.build(member=each, community=each.community, number=1) for each in members
    )
    for each in members[:3]:
        achievements.grant(member_id=each.pk, number=2, name="Run", image_url=None, project_id=None, at=NOON)
    analyse(EarnedAchievement)

    with rows_read() as read:
        counts = catalogue.count_earned(community_id=staff.community.pk, numbers=[1, 2, 3])

    assert counts == {1: 6, 2: 3, 3: 0}
    assert read.count <= 2 * (6 + 3)


def test_a_new_achievement_gets_the_proposed_number() -> None:
    staff = Staff()
    achievements.reserve(community_id=staff.community.pk, numbers=[6])
    page = staff.get("xp_achievement_add").content.decode()

    answer = staff.post("xp_achievement_add", follow=True, name="Seventh", number=7, image_url="", role_id="")

    assert 'name="number" value="7"' in page
    row = Achievement.objects.get(name="Seventh")
    assert (row.community_id, row.number, row.image_url, row.role_id) == (staff.community.pk, 7, None, None)
    assert "“Seventh” is made." in text_of(answer)
    assert AuditEntry.objects.get(action="achievement.created").object_id == "7"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"number": 1}, "Number 1 belongs to another achievement"),
        ({"number": 0}, "greater than or equal to 1"),
        ({"number": 2**60}, "less than or equal to"),
        ({"name": ""}, "This field is required."),
        ({"image_url": "javascript:alert(1)"}, "Enter a valid URL."),
    ],
)
def test_faults_are_said_at_the_form(values: dict[str, object], said: str) -> None:
    staff = Staff()
    described(staff)

    answer = staff.post("xp_achievement_add", **{"name": "New", "number": 5, **values})

    assert said in text_of(answer)
    assert Achievement.objects.get().name == "Marathon"


def test_only_what_was_changed_is_saved_and_earned_ones_keep_their_name() -> None:
    staff = Staff()
    row = described(staff, role_id="role-7")
    earner(staff, "Ann")
    seen = {"initial-name": "Marathon", "initial-image_url": "", "initial-role_id": "role-7"}
    Achievement.objects.update(role_id="role-8")  # somebody else, meanwhile

    values = {**seen, "name": "Long run", "image_url": "", "role_id": "role-7"}
    answer = staff.client.post(reverse("admin:xp_achievement_edit", args=[row.pk]), values)

    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.name, row.role_id) == ("Long run", "role-8")
    assert EarnedAchievement.objects.get().name == "Run"
    entry = AuditEntry.objects.get(action="achievement.updated")
    assert (entry.before, entry.after) == ({"name": "Marathon"}, {"name": "Long run"})


@pytest.mark.parametrize("access", ["creator", "member"])
def test_others_read_achievements_and_change_none(access: str) -> None:
    staff = Staff(access)
    row = described(staff)

    assert "Marathon" in text_of(staff.get("xp_achievement_change", row.pk))
    assert "Edit" not in text_of(staff.get("xp_achievement_change", row.pk))
    assert staff.get("xp_achievement_edit", row.pk).status_code == 404
    assert staff.post("xp_achievement_edit", row.pk, name="Mine").status_code == 404
    assert staff.get("xp_achievement_add").status_code == 404


def test_what_is_earned_names_its_community() -> None:
    staff = Staff()
    ann = earner(staff, "Ann")
    roles.grant(member_id=ann.pk, role_id="7", project_id=5, project_name="Club", at=NOON)

    assert EarnedAchievement.objects.get().community_id == staff.community.pk
    assert "Ann" in text_of(staff.get("xp_rolegrant_changelist"))
