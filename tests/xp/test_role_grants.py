"""Roles that members earned are granted on the chat platform, or the reason of a failure is shown."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.models import AuditEntry, ChatInstallation, ChatTask, Identity, Member
from tests.factories import IdentityFactory, MemberFactory
from tests.support.chat.community import ChatCommunity
from tests.support.chat.world import ADMINISTRATOR, Person
from tests.support.staff import Staff, text_of
from xp.models import RoleGrant
from xp.services import role_grants, roles

pytestmark = pytest.mark.django_db
A_DAY = datetime(2026, 5, 4, tzinfo=UTC)


def _member(chat: ChatCommunity, name: str = "Marit") -> tuple[Member, Person]:
    person = chat.platform.world.add_person(name)
    member = MemberFactory.create(community=chat.community, roles_told_at=A_DAY)
    IdentityFactory.create(user=member.user, provider="chat", platform_id=person.id, community=None)
    return member, person


def _earn(
    chat: ChatCommunity, member: Member, *, at: datetime | None = None, name: str = "Evening"
) -> RoleGrant:
    roles.grant(
        member_id=member.pk,
        role_id=chat.helper.id,
        project_id=5,
        project_name=name,
        at=at or timezone.now(),
    )
    return RoleGrant.objects.latest("pk")


def _now(grant: RoleGrant) -> RoleGrant:
    grant.refresh_from_db()
    return grant


def test_an_earned_role_is_granted_with_its_reason(chat: Any) -> None:
    member, person = _member(chat)
    grant = _earn(chat, member)

    chat.work()

    assert (_now(grant).state, person.roles) == ("granted", [chat.helper.id])
    assert (grant.carried_out_at is None, grant.refusal) == (False, "")


def test_a_role_that_could_not_be_granted_is_tried_again(chat: Any) -> None:
    """Rule 8.14."""
    member, person = _member(chat)
    grant = _earn(chat, member)
    chat.platform.is_down = True
    chat.work()
    assert (_now(grant).state, person.roles) == ("waiting", [])

    chat.platform.is_down = False
    ChatTask.objects.update(due_at=timezone.now())
    chat.work()

    assert (_now(grant).state, person.roles) == ("granted", [chat.helper.id])


def test_without_a_connection_or_an_account_it_waits(chat: Any) -> None:
    member, person = _member(chat)
    Identity.objects.all().delete()
    grant = _earn(chat, member)
    chat.work()
    assert _now(grant).state == "waiting"

    ChatInstallation.objects.update(status="removed")
    IdentityFactory.create(user=member.user, provider="chat", platform_id=person.id, community=None)
    chat.work()
    assert _now(grant).state == "waiting"

    ChatInstallation.objects.update(status="connected")
    chat.work()
    assert (_now(grant).state, person.roles) == ("granted", [chat.helper.id])


def test_an_account_that_was_disconnected_meanwhile_makes_it_wait_again(chat: Any) -> None:
    member, _ = _member(chat)
    grant = _earn(chat, member)
    role_grants.put_waiting(at=timezone.now())
    Identity.objects.all().delete()

    chat.work()

    assert (_now(grant).state, grant.is_asked_for) == ("waiting", False)


def test_somebody_who_has_left_is_skipped_until_they_are_back(chat: Any) -> None:
    member, person = _member(chat)
    grant = _earn(chat, member)
    del chat.platform.world.people[person.id]

    chat.work()
    chat.work()

    member.refresh_from_db()
    assert (_now(grant).state, member.left_server, member.left_at is None) == ("skipped", True, False)
    assert len(chat.platform.sent("PUT", "/roles/")) == 1
    chat.platform.world.people[person.id] = person
    later = timezone.now() + timedelta(minutes=1)
    Member.objects.filter(pk=member.pk).update(left_at=None, left_server=False, roles_told_at=later)
    chat.work()
    assert (_now(grant).state, person.roles) == ("granted", [chat.helper.id])


def test_a_role_that_became_powerful_is_not_granted_and_says_why(chat: Any) -> None:
    member, person = _member(chat)
    grant = _earn(chat, member)
    chat.helper.permissions = ADMINISTRATOR
    ChatInstallation.objects.update(snapshot_at=A_DAY)

    chat.work()

    assert (_now(grant).state, person.roles) == ("refused", [])
    assert "administrate the server" in grant.refusal


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [(403, 50013, "Manage Roles"), (404, 10011, "The role is gone"), (403, 77, "Something new")],
)
def test_what_the_platform_refuses_is_said(chat: Any, status: int, code: int, words: str) -> None:
    member, _ = _member(chat)
    grant = _earn(chat, member)
    chat.platform.scripted = [("PUT .*/roles/", (status, {"code": code, "message": "Something new"}, {}))]

    chat.work()

    assert _now(grant).state == "refused"
    assert words in grant.refusal


def test_an_outage_of_days_is_given_up_and_said(chat: Any) -> None:
    member, _ = _member(chat)
    grant = _earn(chat, member)
    role_grants.put_waiting(at=timezone.now() - timedelta(days=4))
    chat.platform.is_down = True

    chat.work()

    assert (_now(grant).state, grant.refusal) == ("refused", "The chat platform cannot be reached.")


def test_a_refused_role_is_asked_for_again_by_hand(chat: Any) -> None:
    member, person = _member(chat)
    grant = _earn(chat, member)
    chat.helper.position = 90
    ChatInstallation.objects.update(snapshot_at=A_DAY)
    chat.work()
    assert _now(grant).state == "refused"
    chat.helper.position = 5
    staff = Staff("admin", community=chat.community)

    page = text_of(staff.get("xp_rolegrant_changelist"))
    assert "Could not be granted" in page
    assert "is above the bot" in page
    assert "Helper" in page
    assert "is above the bot" in text_of(staff.get("communities_member_change", member.pk))
    ChatInstallation.objects.update(snapshot_at=A_DAY)  # the server is not looked at twice in a moment
    staff.post("xp_rolegrant_again", grant.pk)
    chat.work()

    assert (_now(grant).state, person.roles) == ("granted", [chat.helper.id])
    assert AuditEntry.objects.filter(action=Action.CHAT_TRIED_AGAIN, object_type="role_grant").count() == 1
    with pytest.raises(Conflict):
        role_grants.try_again(actor=chat.actor, grant_id=grant.pk, at=timezone.now())
    with pytest.raises(NotFound):
        role_grants.try_again(actor=chat.actor, grant_id=0, at=timezone.now())


def test_the_list_is_filtered_by_state(chat: Any) -> None:
    member, _ = _member(chat)
    grants = {
        "waiting": _earn(chat, member, name="Waits"),
        "refused": RoleGrant.objects.create(
            member=member, community=chat.community, role_id="1", project_name="Refuses", refusal="No.",
            created_at=A_DAY,
        ),
        "skipped": RoleGrant.objects.create(
            member=member, community=chat.community, role_id="2", project_name="Skips", skipped_at=A_DAY,
            created_at=A_DAY,
        ),
        "granted": RoleGrant.objects.create(
            member=member, community=chat.community, role_id="3", project_name="Grants",
            carried_out_at=A_DAY, created_at=A_DAY,
        ),
    }  # fmt: skip
    staff = Staff("admin", community=chat.community)

    for value, grant in grants.items():
        page = text_of(staff.get("xp_rolegrant_changelist", state=value))
        shown = {each.project_name for each in grants.values() if each.project_name in page}
        assert (value, shown) == (value, {grant.project_name})
        assert grant.state == value


# --- Anonymous projects ---


def test_roles_of_anonymous_projects_are_granted_a_part_at_a_time(chat: Any, monkeypatch: Any) -> None:
    member, _ = _member(chat)
    _earn(chat, member, at=A_DAY)
    drawn = iter([0.5, 0.01])
    monkeypatch.setattr(random, "random", lambda: next(drawn))

    assert role_grants.put_waiting(at=timezone.now()) == 0
    assert role_grants.put_waiting(at=timezone.now()) == 1


def test_they_do_not_hold_back_others(chat: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(role_grants, "AT_ONCE", 2)
    monkeypatch.setattr(role_grants, "SHARE", 0)
    for number in range(30):
        _earn(chat, _member(chat, f"Member {number}")[0], at=A_DAY)
    _earn(chat, _member(chat)[0])

    assert role_grants.put_waiting(at=timezone.now()) == 1


def test_nothing_tells_when_they_were_earned(chat: Any, monkeypatch: Any) -> None:
    member, person = _member(chat)
    grant = _earn(chat, member, at=A_DAY)
    assert not ChatTask.objects.exists()
    monkeypatch.setattr(role_grants, "SHARE", 1)

    chat.work()

    assert person.roles == [chat.helper.id]
    assert _now(grant).carried_out_at == timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)


def test_one_who_has_left_is_noted_with_the_day_alone(chat: Any, monkeypatch: Any) -> None:
    member, person = _member(chat)
    grant = _earn(chat, member, at=A_DAY)
    monkeypatch.setattr(role_grants, "SHARE", 1)
    del chat.platform.world.people[person.id]

    chat.work()

    member.refresh_from_db()
    for moment in (_now(grant).skipped_at, member.left_at):
        assert moment is not None
        assert (moment.hour, moment.minute, moment.second) == (0, 0, 0)
