"""Access to single projects: what each level opens, who gives it, and when it ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.utils import timezone

from communities.ground.actors import Level
from communities.ground.errors import Conflict, Forbidden, NotFound
from communities.models import AuditEntry, Member, ProjectGrant, User
from communities.services.people import project_grants
from surveys.models import Project
from surveys.services.people import service as people
from surveys.services.people.merging import merge_users
from surveys.services.projects import sharing
from tests.factories import MemberFactory, ProjectFactory
from tests.support.caller import TEXT, Caller
from tests.support.moments import NOON
from tests.support.staff import Staff, row_titles, text_of
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import LIST, draft, project_staff, tab

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff() -> Staff:
    return project_staff()


def given(level: str, project: Project | None, access: str = "member") -> Staff:
    """A member with this access to a project, or to all projects."""
    return project_staff(access).given(level, project.pk if project else None)


def statuses(who: Staff, project: Project, *names: str) -> list[int]:
    return [who.client.get(tab(project.pk, name)).status_code for name in names]


# --- The levels -------------------------------------------------------------------------------------------


def test_each_level_opens_more_of_a_draft(staff: Staff) -> None:
    """Rule 1.80."""
    project = draft()
    pages = ("script", "results", "rename", "share_people")

    opened = {level: statuses(given(level, project), project, *pages) for level in ("read", "edit", "own")}

    assert statuses(project_staff("member"), project, *pages) == [404] * 4
    assert opened == {
        "read": [200, 200, 403, 403],
        "edit": [200, 200, 200, 403],
        "own": [200, 200, 200, 200],
    }


def test_a_reader_of_results_is_led_to_them_and_to_no_tab_that_refuses(staff: Staff) -> None:
    """Rule 1.953."""
    project = scenario.project(TEXT, privacy_mode="semi-private")
    for _ in range(6):
        ProjectFactory.create(community=project.community, status="active")
    reader, owner = given("read", project), given("own", project)

    home, tabs = reader.read("/admin/"), reader.read(tab(project.pk, "results"))

    assert tab(project.pk, "results") in home  # although six projects are newer
    assert tab(project.pk, "script") not in home
    assert not any(f'href="{tab(project.pk, name)}"' in tabs for name in ("responses", "history"))
    assert all(f'href="{tab(project.pk, name)}"' in tabs for name in ("script", "share"))
    opened = owner.read(tab(project.pk, "results"))
    assert all(f'href="{tab(project.pk, name)}"' in opened for name in ("responses", "history"))


def test_a_reader_of_all_results_reads_every_project_and_changes_none(staff: Staff) -> None:
    """Rule 1.81."""
    projects = [draft(), scenario.project(TEXT, privacy_mode="semi-private")]
    viewer = given("read", None)

    for project in projects:
        assert statuses(viewer, project, "script", "results", "rename") == [200, 200, 403]
    assert viewer.member is not None
    assert viewer.member.access == "member"


@pytest.mark.parametrize("privacy", ["semi-private", "anonymous"])
def test_only_owners_read_who_answered_what(staff: Staff, privacy: str) -> None:
    """Rule 1.82."""
    project = scenario.project(TEXT, privacy_mode=privacy)

    told = {
        level: "Only the creator of this project and admins may read its responses."
        in text_of(given(level, project).client.get(tab(project.pk, "responses")))
        for level in ("read", "edit", "own")
    }

    assert told == {"read": True, "edit": True, "own": False}


def test_only_owners_delete_a_project(staff: Staff) -> None:
    """Rule 1.82."""
    project = draft()
    address = f"{LIST}delete/?id={project.pk}"

    given("edit", project).client.post(address)
    assert Project.objects.filter(pk=project.pk).exists()

    owner = given("own", project)
    owner.client.post(address)
    assert not Project.objects.filter(pk=project.pk).exists()
    assert project.name in text_of(owner.client.get(LIST))  # to be restored


@pytest.mark.parametrize(("privacy", "status"), [("semi-private", 200), ("anonymous", 403)])
def test_editors_count_no_answers_of_anonymous_projects(staff: Staff, privacy: str, status: int) -> None:
    """Rule 1.82: an exact count would change with each answer (rule 7.12)."""
    project = scenario.project(TEXT, privacy_mode=privacy)
    block = scenario.script(project).blocks[0].id
    pages = [
        f"/admin/surveys/project/{project.pk}/script/{each}"
        for each in (f"blocks/{block}/answers/", "archived/")
    ]
    editor, owner = given("edit", project), given("own", project)

    assert [editor.send("get", each).status_code for each in pages] == [status, status]
    assert [owner.send("get", each).status_code for each in pages] == [200, 200]


def test_creators_see_no_drafts_of_others_but_those_they_were_given(staff: Staff) -> None:
    """Rule 1.83."""
    hidden, shared, closed = draft(name="Hidden"), draft(name="Shared"), draft(name="Closed")
    Project.objects.filter(pk=closed.pk).update(opened_at=NOON)
    creator = given("read", shared, "creator")

    assert sorted(row_titles(creator.read(LIST))) == ["Closed", "Shared"]
    assert statuses(creator, hidden, "script", "results", "share") == [404] * 3
    assert creator.client.get(f"{LIST}clone/?id={hidden.pk}").status_code == 404
    assert sorted(row_titles(staff.read(LIST))) == ["Closed", "Hidden", "Shared"]


@pytest.mark.parametrize("access", ["member", "creator"])
def test_keys_have_the_rights_of_the_role_alone(access: str) -> None:
    """Rule 1.84."""
    author = Caller("creator")
    made = author.make(TEXT, privacy_mode="semi-private")
    other = author.beside(access)
    member = Member.objects.get(user=other.user)
    ProjectGrant.objects.create(member=member, project_id=int(made["id"]), level="own")

    path = f"/projects/{made['id']}"

    expected = {"member": (404, 404, 404), "creator": (200, 403, 403)}[access]
    requests = (other.get(path), other.get(f"{path}/responses"), other.patch(path, {"name": "Mine"}))
    assert tuple(each.status_code for each in requests) == expected


def test_members_with_access_enter_the_admin() -> None:
    member = MemberFactory.create()

    assert not User.objects.get(pk=member.user_id).may_enter_admin
    ProjectGrant.objects.create(member=member, project_id=7, level="read")
    assert User.objects.get(pk=member.user_id).may_enter_admin


# --- Giving and taking ------------------------------------------------------------------------------------


def test_an_owner_finds_a_member_gives_and_takes_access(staff: Staff) -> None:
    project = draft()
    person = MemberFactory.create(community=scenario.community(), nick="Grace Hopper")
    address = tab(project.pk, "share_people")

    found = staff.read(address, {"search": "grace"})
    assert "Grace Hopper" in found
    staff.client.post(address, {"member": person.pk, "level": "edit"})
    listed = text_of(staff.client.get(address))
    staff.client.post(address, {"member": person.pk, "level": "none"})

    assert "Grace Hopper Member Edits" in listed
    assert not ProjectGrant.objects.exists()
    entries = AuditEntry.objects.filter(action="project.access_changed").order_by("happened_at", "id")
    assert [(each.object_id, each.project_id, each.before, each.after) for each in entries] == [
        (str(person.pk), project.pk, {"level": None}, {"level": "edit"}),
        (str(person.pk), project.pk, {"level": "edit"}, {"level": None}),
    ]


def test_a_project_and_a_member_of_two_communities_do_not_meet(staff: Staff) -> None:
    """Rule 1.85."""
    project = draft()
    stranger = MemberFactory.create()

    answer = staff.client.post(tab(project.pk, "share_people"), {"member": stranger.pk, "level": "own"})
    ProjectGrant.objects.create(member=stranger, project_id=project.pk, level="own")  # as if it had worked
    foreign = Staff("member", community=stranger.community, user=stranger.user)

    assert answer.status_code == 404
    assert statuses(foreign, project, "script", "results") == [404, 404]


def test_access_that_makes_no_sense_is_refused(staff: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
    project = draft()
    actor = Caller("admin", community=staff.community).actor
    people_of = {
        "admin": MemberFactory.create(community=staff.community, access="admin"),
        "gone": MemberFactory.create(community=staff.community, left_at=NOON),
    }

    for member in people_of.values():
        with pytest.raises(Conflict):
            _give(actor, project, member)
    with pytest.raises(Forbidden, match="Only admins"):
        project_grants.change(
            actor=replace(actor, role="creator"), member_id=1, project_id=None, level=Level.READ, at=NOON
        )
    monkeypatch.setattr(project_grants, "MOST_OF_PROJECT", 1)
    _give(actor, project, MemberFactory.create(community=staff.community))
    with pytest.raises(Conflict, match="At most 1 people"):
        _give(actor, project, MemberFactory.create(community=staff.community))
    with pytest.raises(NotFound):
        _give(replace(actor, community_id=2), project, people_of["gone"])


def _give(actor, project: Project, member: Member, level: Level = Level.READ) -> None:
    sharing.give_access(actor=actor, project_id=project.pk, member_id=member.pk, level=level, at=NOON)


def test_an_admin_lets_a_member_read_all_results_and_ends_it(staff: Staff) -> None:
    person = MemberFactory.create(community=scenario.community(), nick="Grace Hopper")
    address = f"/admin/communities/member/{person.pk}/reading/"

    assert "Let Grace Hopper read all results?" in staff.read(address)
    staff.client.post(address)
    profile = text_of(staff.client.get(f"/admin/communities/member/{person.pk}/change/"))
    staff.client.post(address)

    assert "Reads all results of this community" in profile
    assert not ProjectGrant.objects.exists()


# --- Ending -----------------------------------------------------------------------------------------------


def test_access_ends_with_the_membership_and_is_in_the_persons_data() -> None:
    """Rule 1.85."""
    boss = Caller()
    leaver, erased = boss.beside("creator"), boss.beside("member")
    members = [Member.objects.get(user=each.user) for each in (leaver, erased)]
    for member in members:
        ProjectGrant.objects.create(member=member, project_id=7, level="edit")

    facts = boss.get(f"/members/{members[1].pk}/data").json()
    Member.objects.filter(pk=members[0].pk).update(left_at=timezone.now(), left_server=True)
    people.erase(actor=boss.actor, member_id=members[1].pk, at=timezone.now())

    assert facts["project_access"] == [{"project_id": "7", "level": "edit"}]
    assert not ProjectGrant.objects.exists()


def test_of_two_merged_members_the_higher_level_stays() -> None:
    community = scenario.community()
    keep, drop = (MemberFactory.create(community=community) for _ in range(2))
    for member, project_id, level in (
        (keep, 1, "read"),
        (drop, 1, "edit"),
        (keep, 2, "own"),
        (drop, 2, "read"),
        (drop, None, "read"),
    ):
        ProjectGrant.objects.create(member=member, project_id=project_id, level=level)

    merge_users(keep_id=keep.user_id, drop_id=drop.user_id, at=NOON)

    rows = ProjectGrant.objects.values_list("member_id", "project_id", "level")
    assert set(rows) == {(keep.pk, 1, "edit"), (keep.pk, 2, "own"), (keep.pk, None, "read")}


def test_a_deleted_project_takes_its_grants_along() -> None:
    caller = Caller()
    made = caller.make(TEXT)
    member = MemberFactory.create(community=caller.community)
    ProjectGrant.objects.create(member=member, project_id=int(made["id"]), level="read")

    caller.delete(f"/projects/{made['id']}")

    assert not ProjectGrant.objects.exists()
