"""Members as the bot sees them, without any token of theirs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from communities.ground.actors import Actor
from communities.ground.errors import Conflict
from communities.identity_providers.failures import PlatformUnavailable, TokenRefused
from communities.models import ChatInstallation, Identity, Member
from communities.services.people import memberships, platform_members
from tests.factories import IdentityFactory, MemberFactory, UserFactory
from tests.support.chat.world import Person
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db
OLD = NOON - timedelta(hours=2)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_members, "pause", platform_members._Pause())


@pytest.fixture
def marit(chat: Any) -> Person:
    person: Person = chat.platform.world.add_person("Marit", roles=[chat.helper.id])
    return person


@pytest.fixture
def identity(marit: Person) -> Identity:
    made: Identity = IdentityFactory.create(
        user=UserFactory.create(), provider="chat", platform_id=marit.id, community=None
    )
    return made


def _refresh(chat: Any, identity: Identity) -> Member | None:
    return platform_members.refresh(community_id=chat.community.pk, user_id=identity.user_id, at=NOON)


def test_the_bot_tells_of_somebody_who_never_signed_in(chat: Any, identity: Identity) -> None:
    member = _refresh(chat, identity)

    assert member is not None
    assert (member.nick, member.role_ids, member.roles_told_at) == ("Marit", [chat.helper.id], NOON)


def test_somebody_who_is_gone_has_left_and_comes_back(chat: Any, identity: Identity, marit: Person) -> None:
    member = _refresh(chat, identity)
    assert member is not None
    del chat.platform.world.people[marit.id]

    platform_members.refresh(
        community_id=chat.community.pk, user_id=identity.user_id, at=NOON + timedelta(hours=1)
    )
    member.refresh_from_db()
    assert (member.left_server, member.role_ids) == (True, [])

    chat.platform.world.people[marit.id] = marit
    platform_members.refresh(
        community_id=chat.community.pk, user_id=identity.user_id, at=NOON + timedelta(hours=2)
    )
    member.refresh_from_db()
    assert (member.left_at, member.role_ids) == (None, [chat.helper.id])


def test_somebody_who_comes_back_has_the_access_that_staff_set_meanwhile(
    chat: Any, identity: Identity, marit: Person
) -> None:
    """Rule 1.47."""
    member = _refresh(chat, identity)
    assert member is not None
    Member.objects.filter(pk=member.pk).update(access="admin")
    admin = UserFactory.create()
    MemberFactory.create(community=chat.community, user=admin, access="admin")
    del chat.platform.world.people[marit.id]
    whose = {"community_id": chat.community.pk, "user_id": identity.user_id}
    platform_members.refresh(**whose, at=NOON + timedelta(hours=1))

    actor = Actor(admin.pk, "admin", chat.community.pk, "free")
    memberships.change_access(actor=actor, member_id=member.pk, access="member", at=NOON)
    with pytest.raises(Conflict, match="has left"):
        memberships.change_member(actor=actor, member_id=member.pk, changes={"nick": "Mia"}, at=NOON)

    chat.platform.world.people[marit.id] = marit
    platform_members.refresh(**whose, at=NOON + timedelta(hours=2))
    member.refresh_from_db()
    assert (member.left_at, member.access) == (None, "member")


def test_a_membership_that_staff_have_ended_has_no_access_to_change(chat: Any, identity: Identity) -> None:
    """Rule 1.47."""
    member = _refresh(chat, identity)
    assert member is not None
    Member.objects.filter(pk=member.pk).update(access="creator", left_at=NOON)
    actor = Actor(UserFactory.create().pk, "admin", chat.community.pk, "free")

    with pytest.raises(Conflict, match="has left"):
        memberships.change_access(actor=actor, member_id=member.pk, access="creator", at=NOON)


def test_where_the_bot_is_not_the_persons_token_is_needed(chat: Any, identity: Identity) -> None:
    ChatInstallation.objects.update(status="removed")

    with pytest.raises(TokenRefused):
        _refresh(chat, identity)


@pytest.mark.parametrize(
    "answer",
    [
        (403, {"code": 50001, "message": "Missing Access"}, {}),
        (401, {"code": 0, "message": "401: Unauthorized"}, {}),
        (502, {}, {}),
        (429, {"retry_after": 9.0, "global": False}, {}),
    ],
)
def test_other_failures_are_an_outage(chat: Any, identity: Identity, answer: Any) -> None:
    chat.platform.scripted = [("GET .*/members/", answer)]

    with pytest.raises(PlatformUnavailable):
        _refresh(chat, identity)

    assert not Member.objects.filter(user=identity.user).exists()


def test_the_worker_asks_about_members_without_a_token(chat: Any, identity: Identity) -> None:
    member = MemberFactory.create(community=chat.community, user=identity.user, roles_told_at=OLD)
    MemberFactory.create(community=chat.community, roles_told_at=OLD)  # without an account
    MemberFactory.create(user=identity.user, roles_told_at=OLD)  # of a community without the bot

    assert platform_members.refresh_old(at=NOON) == 1

    member.refresh_from_db()
    assert (member.role_ids, member.roles_told_at) == ([chat.helper.id], NOON)
    assert platform_members.refresh_old(at=NOON) == 0


def test_without_an_application_the_worker_asks_about_nobody(
    chat: Any, identity: Identity, settings: Any
) -> None:
    MemberFactory.create(community=chat.community, user=identity.user, roles_told_at=OLD)
    settings.CHAT = None

    assert platform_members.refresh_old(at=NOON) == 0
