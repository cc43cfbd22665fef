"""Members in the admin: the list, the search, profiles by role, and changes of access."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from communities.models import AuditEntry, Member
from tests.factories import IdentityFactory, MemberFactory, StandingFactory, VerifiedSourceFactory
from tests.support.moments import NOON
from tests.support.plans import analyse, fill_members, rows_read
from tests.support.staff import Staff, row_titles, text_of
from tests.support.xp.ledger import award
from xp.models import RoleGrant, Standing
from xp.services import achievements, ranks, roles

pytestmark = pytest.mark.django_db


def listed(staff: Staff, **query: str) -> list[str]:
    response = staff.get("communities_member_changelist", **query)
    assert response.status_code == 200
    return row_titles(response.content.decode())


def member(staff: Staff, nick: str, **fields: Any) -> Member:
    return MemberFactory.create(community=staff.community, nick=nick, **{"user__name": "", **fields})


def earned(staff: Staff, nick: str = "Ann") -> Member:
    """A member with XP, an achievement, a role and two accounts."""
    found = member(staff, nick)
    award(found, 130)
    achievements.grant(member_id=found.pk, number=3, name="Marathon", image_url=None, project_id=5, at=NOON)
    roles.grant(member_id=found.pk, role_id="role-77", project_id=5, project_name="Club evening", at=NOON)
    IdentityFactory.create(user=found.user, platform_id=f"chat-{found.pk}")
    IdentityFactory.create(user=found.user, provider="video", platform_id=f"video-{found.pk}")
    IdentityFactory.create(user=found.user, provider="streaming", platform_id=f"stream-{found.pk}")
    VerifiedSourceFactory.create(community=staff.community, provider="video")
    return found


# --- The list ---------------------------------------------------------------------------------------


def test_the_newest_members_come_first() -> None:
    staff = Staff(name="Ada")
    member(staff, "Ann")
    member(staff, "Ben")

    assert listed(staff) == ["Ben", "Ann", "Ada"]


def test_by_xp_those_with_most_come_first_and_those_without_are_left_out() -> None:
    staff = Staff()
    for nick, xp in (("Ann", 10), ("Ben", 400), ("Cid", 10), ("Dan", 0)):
        StandingFactory.create(member=member(staff, nick), xp_total=xp, participation=4)
    member(staff, "Eve")

    response = staff.get("communities_member_changelist", sort="xp")

    assert listed(staff, sort="xp") == ["Ben", "Ann", "Cid"]
    assert re.search(r"Ben Member 400 2 4", text_of(response))


def test_members_are_filtered_by_access_and_presence() -> None:
    staff = Staff()
    people: dict[str, dict[str, Any]] = {"Ann": {"access": "creator"}, "Ben": {"left_at": NOON}, "Cid": {}}
    for nick, fields in people.items():
        member(staff, nick, **fields)

    assert listed(staff, access="creator") == ["Ann"]
    assert listed(staff, presence="left") == ["Ben"]
    assert listed(staff, presence="present") == ["Cid", "Ann", "Ada"]


def test_by_xp_there_are_present_members_and_no_filters() -> None:
    staff = Staff()
    for nick, left_at in (("Ann", None), ("Ben", NOON)):
        StandingFactory.create(member=member(staff, nick, left_at=left_at), xp_total=5)

    assert listed(staff, sort="xp", presence="left") == ["Ann"]
    assert "Presence" not in text_of(staff.get("communities_member_changelist", sort="xp"))


@pytest.mark.parametrize("sort", ["newest", "xp"])
def test_pages_follow_one_another_without_gaps(sort: str) -> None:
    staff = Staff("superuser")
    for number in range(120):
        StandingFactory.create(member=member(staff, f"M{number:03}"), xp_total=1 + number % 7)
    seen: list[str] = []
    query = {"sort": sort}

    for _ in range(3):
        page = staff.client.get(reverse("admin:communities_member_changelist"), query).content.decode()
        seen += re.findall(r">(M\d{3})<", page)
        following = re.search(r'rel="next" href="\?([^"]*)"', page)
        query = dict(each.split("=") for each in following[1].split("&amp;")) if following else {}

    assert len(seen) == len(set(seen)) == 120


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("solb", ["Marit Solberg"]),
        ("MARIT", ["Marit Solberg", "marit"]),
        ("solberg marit", ["Marit Solberg"]),
        ("chat-9", ["Zoe"]),
        ("chat-", []),
        ("nobody", []),
        ("'; drop", []),
        ("& | ! ( :*", []),
        ("\\", []),
    ],
)
def test_members_are_found_by_the_beginnings_of_words_and_by_accounts(term: str, found: list[str]) -> None:
    staff = Staff(name="Ada")
    member(staff, "", user__name="Marit Solberg")
    member(staff, "marit")
    IdentityFactory.create(user=member(staff, "Zoe").user, platform_id="chat-9")
    MemberFactory.create(nick="marit elsewhere")

    assert sorted(listed(staff, q=term)) == found


def test_a_complete_id_finds_a_member_of_this_community_only() -> None:
    staff, other = Staff(), MemberFactory.create(nick="Elsewhere")
    ann = member(staff, "Ann")

    assert listed(staff, q=str(ann.pk)) == ["Ann"]
    assert listed(staff, q=str(other.pk)) == []
    assert listed(staff, q="9" * 40) == []


def test_only_admins_find_people_by_accounts_beyond_the_chat_platform() -> None:
    admin = Staff()
    user = member(admin, "Zoe").user
    VerifiedSourceFactory.create(community=admin.community, provider="streaming")
    IdentityFactory.create(user=user, platform_id="stream-9", provider="streaming")
    IdentityFactory.create(user=user, platform_id="steam-9", provider="game_store")
    IdentityFactory.create(user=user, platform_id="web-9", provider="web", community=Staff().community)

    assert listed(admin, q="stream-9") == ["Zoe"]
    assert listed(admin.beside("creator"), q="stream-9") == []
    assert listed(admin, q="web-9") == listed(admin, q="steam-9") == []


# --- Profiles ---------------------------------------------------------------------------------------


def test_an_admin_sees_the_whole_profile() -> None:
    staff = Staff()
    ann = earned(staff)

    page = staff.get("communities_member_change", ann.pk)

    said = text_of(page)
    for each in (
        "Level 1",
        "130 XP, 170 to level 2",
        "Marathon",
        "role-77",
        "Waiting",
        f"chat-{ann.pk}",
        f"video-{ann.pk}",
    ):
        assert each in said, each
    assert f"stream-{ann.pk}" not in said  # nothing here asks about that platform
    assert "By hand +130 130" in said
    assert '<progress id="level-bar" max="200" value="30">' in page.content.decode()
    assert "/badges/3.svg" in page.content.decode()


def test_ranks_are_counted_up_to_a_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xp.services.members.LAST_COUNTED", 3)
    staff = Staff()
    others = [
        StandingFactory.create(member=member(staff, nick), xp_total=90) for nick in ("Ann", "Ben", "Cid")
    ]
    third = StandingFactory.create(member=member(staff, "Dan"), xp_total=50).member
    left = others[0].member

    def rank(row: Member) -> str:
        found = re.search(
            "<dt>Rank</dt><dd>([^<]*)</dd>", staff.get("communities_member_change", row.pk).content.decode()
        )
        assert found
        return found[1]

    assert (rank(left), rank(third)) == ("1", "After 3")
    Member.objects.filter(pk=left.pk).update(left_at=NOON)
    assert (rank(left), rank(third)) == ("–", "3")


def test_a_profile_counts_no_rank_after_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xp.services.members.LAST_COUNTED", 10)
    staff = Staff()
    Standing.objects.bulk_create(
        Standing(member=each, community=staff.community, xp_total=1 + number)
        for number, each in enumerate(fill_members(staff.community, 2_000))
    )
    last = StandingFactory.create(member=member(staff, "Ann"), xp_total=1).member
    analyse(Standing, Member)
    board = ranks.all_time_board(community_id=staff.community.pk)

    page = staff.get("communities_member_change", last.pk)
    with connection.cursor() as cursor:  # as in a large table, of which not all is read at once
        for way in ("seqscan", "bitmapscan", "hashjoin"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
    with rows_read() as read:
        above = ranks.count_above(board, 1, most=10)

    assert "After 10" in text_of(page)
    assert above == 10
    assert read.count < 100


@pytest.mark.parametrize("access", ["creator", "member"])
def test_others_see_what_the_interface_shows_them(access: str) -> None:
    admin = Staff()
    ann, staff = earned(admin), admin.beside(access)

    page = staff.get("communities_member_change", ann.pk)

    said = text_of(page)
    for each in ("130 XP", "Marathon", f"chat-{ann.pk}"):
        assert each in said, each
    for each in ("role-77", f"video-{ann.pk}", "By hand", "Change access", "Give or take", "Reset"):
        assert each not in said, each
    assert staff.get("communities_member_ledger", ann.pk).status_code == 404


def test_everybody_reads_their_own_ledger() -> None:
    staff = Staff("member")
    assert staff.member is not None
    award(staff.member, 7, note="Kind words")

    assert "Kind words" in text_of(staff.get("communities_member_change", staff.member.pk))
    assert "Kind words" in text_of(staff.get("communities_member_ledger", staff.member.pk))


def test_the_whole_ledger_has_pages_and_a_filter() -> None:
    staff = Staff()
    ann = member(staff, "Ann")
    for number in range(60):
        award(ann, 1, note=f"Note {number:02}")

    profile = text_of(staff.get("communities_member_change", ann.pk))
    first = staff.get("communities_member_ledger", ann.pk)

    assert "Note 59" in profile
    assert "Note 49" not in profile
    assert "The whole ledger" in profile
    assert "Note 10" in text_of(first)
    assert "Note 09" not in text_of(first)
    assert 'rel="next"' in first.content.decode()
    assert "Nothing matches." in text_of(staff.get("communities_member_ledger", ann.pk, by="survey"))


def test_words_of_members_are_escaped() -> None:
    staff = Staff()
    ann = member(staff, "<script>alert(1)</script>")
    award(ann, 7, note="<img src=x onerror=alert(2)>")

    for page in ("change", "ledger", "award", "access", "reset"):
        body = staff.get(f"communities_member_{page}", ann.pk).content.decode()
        assert "<script>alert" not in body
        assert "<img src=x" not in body


# --- Adding and changing ----------------------------------------------------------------------------


def test_an_admin_adds_a_member() -> None:
    staff = Staff()

    form = {"nick": "Marit", "access": "creator", "ticket": "one"}

    answer = staff.post("communities_member_add", follow=True, **form)
    again = staff.post("communities_member_add", follow=True, **form)

    made = Member.objects.get(nick="Marit")
    assert (made.community_id, made.access, made.left_at) == (staff.community.pk, "creator", None)
    assert "Marit is a member now." in text_of(answer)
    assert "This form was sent before" in text_of(again)
    assert again.redirect_chain == answer.redirect_chain
    entry = AuditEntry.objects.get(action="member.created")
    assert (entry.actor_id, entry.object_name, entry.after) == (
        staff.user.pk,
        "Marit",
        {"access": "creator"},
    )


def test_an_admin_changes_the_access_of_a_member() -> None:
    staff = Staff()
    ann = member(staff, "Ann")

    answer = staff.post("communities_member_access", ann.pk, follow=True, access="creator")

    ann.refresh_from_db()
    assert ann.access == "creator"
    assert "Ann has the access “creator” now." in text_of(answer)
    entry = AuditEntry.objects.get(action="member.updated")
    assert (entry.before, entry.after) == ({"access": "member"}, {"access": "creator"})


@pytest.mark.parametrize("access", ["admin", "superuser"])
def test_a_community_is_not_left_without_an_admin(access: str) -> None:
    admin = Staff()
    gone = member(admin, "Gone", access="admin", left_at=NOON)
    member(admin, "Blocked", access="admin", user__is_active=False)
    staff = admin if access == "admin" else admin.beside("superuser")
    assert admin.member is not None

    answer = staff.post("communities_member_access", admin.member.pk, access="member")

    assert "A community needs an admin" in text_of(answer)
    admin.member.refresh_from_db()
    assert admin.member.access == "admin"
    assert "has left" in text_of(staff.post("communities_member_access", gone.pk, access="member"))


def test_one_of_two_admins_may_step_down() -> None:
    staff = Staff()
    staff.beside("admin")
    assert staff.member is not None

    answer = staff.post("communities_member_access", staff.member.pk, follow=True, access="member")

    assert answer.status_code == 200
    assert staff.get("communities_member_access", staff.member.pk).status_code == 404


# --- Roles to grant -----------------------------------------------------------------------------------


def test_roles_that_wait_are_listed_in_words() -> None:
    staff = Staff()
    earned(staff, "Ann")
    earned(staff, "Ben")
    earned(Staff(), "Foreign")
    RoleGrant.objects.filter(member__nick="Ben").update(carried_out_at=NOON)

    everything = text_of(staff.get("xp_rolegrant_changelist"))
    waiting = text_of(staff.get("xp_rolegrant_changelist", state="waiting"))
    granted = text_of(staff.get("xp_rolegrant_changelist", state="granted"))

    assert "Ann role-77 Club evening" in everything
    assert ["Ann" in waiting, "Ben" in waiting] == [True, False]
    assert ["Ann" in granted, "Ben" in granted] == [False, True]
    assert "Foreign" not in everything
    assert staff.beside("creator").get("xp_rolegrant_changelist").status_code == 404
