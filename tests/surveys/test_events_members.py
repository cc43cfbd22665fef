"""The time of a member's last change, and its event. The database records both (rules 1.41 and 9.6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import models
from django.utils import timezone

from communities.ground import rounding
from communities.ground.rounding import Rounding
from communities.identity_providers.chat import GuildMember
from communities.models import Community, Identity, Member, MemberChange, User
from communities.services.people import identities, member_changes, members, memberships, platform_members
from communities.tasks import announce_members
from surveys.services.people import service as people
from surveys.services.people.merging import merge_users
from tests.factories import CommunityFactory, IdentityFactory, MemberFactory, UserFactory
from tests.support.caller import TEXT, Caller
from tests.support.moments import NOON
from tests.support.surveys import event_log
from tests.support.surveys.participants import Talk
from webhooks.models import Event
from xp.serializers import MEMBER_EXAMPLE

pytestmark = pytest.mark.django_db

X, Y = "820000000000000042", "820000000000000043"
LISTED = GuildMember(role_ids=(), nick="Marit", avatar_url=None, joined_at=NOON)
# Of a member's row: what the interface returns, and what it does not.
SHOWN = {"user", "access", "nick", "avatar_url", "joined_at", "left_at"}
HIDDEN = {
    *("id", "community", "updated_at", "role_ids", "roles_told_at", "roles_asked_at", "left_server"),
    *("attributes", "email", "mail_refused_at"),  # no community is told of addresses (rule 7.29)
}
# Of what the interface returns, what members earn: it changes without an event.
EARNED = {"rank", "xp_total", "xp_monthly", "level", "participation", "achievements"}


@pytest.fixture
def caller() -> Caller:
    caller = Caller()
    settled()
    return caller


def settled() -> None:
    """Everybody is announced, so that what follows is seen alone."""
    MemberChange.objects.all().delete()
    Event.objects.all().delete()


def known(caller: Caller, **fields: Any) -> Member:
    """A member whose last change was announced long ago."""
    member = MemberFactory.create(community=caller.community, updated_at=NOON, **fields)
    settled()
    return member


def told() -> list[dict[str, Any]]:
    """The members in the events so far; no event of another type was written."""
    bodies = [json.loads(event.body or "") for event in Event.objects.order_by("created_at", "pk")]
    assert {body["type"] for body in bodies} <= {"member.updated"}
    return [body["data"]["member"] for body in bodies]


def changed_at(member: Member) -> datetime:
    return Member.objects.values_list("updated_at", flat=True).get(pk=member.pk)


# --- What counts ------------------------------------------------------------------------------------


def another(field: models.Field[Any, Any], member: Member) -> Any:
    match field.name:
        case "user":
            return UserFactory.create().pk
        case "community":
            return CommunityFactory.create().pk
        case "access":
            return "creator"
        case "role_ids":
            return ["1"]
        case "left_server":
            return True
    return NOON if isinstance(field, models.DateTimeField) else "https://example.com/another"


@pytest.mark.parametrize("field", Member._meta.concrete_fields, ids=lambda field: field.name)
def test_every_column_of_the_row_counts_or_is_known_not_to(
    field: models.Field[Any, Any], caller: Caller
) -> None:
    member = known(caller)
    assert field.name in SHOWN ^ HIDDEN, (
        "Say here and in `communities_shown` whether the interface returns it."
    )
    if field.primary_key:
        return

    Member.objects.filter(pk=member.pk).update(**{field.attname: another(field, member)})
    announce_members()

    is_shown = field.name in SHOWN
    assert (changed_at(member) > NOON) == is_shown
    assert [each["id"] for each in told()] == ([str(member.pk)] if is_shown else [])


def test_what_the_interface_returns_comes_from_these_and_from_what_is_earned() -> None:
    of_others = {"name", "platform_id"}  # the user's, and the account's
    own = {"user_id" if name == "user" else name for name in SHOWN}

    assert set(MEMBER_EXAMPLE) == own | of_others | EARNED | {"id", "updated_at"}


# --- Who changes members ------------------------------------------------------------------------------


def _merge(caller: Caller, member: Member) -> None:
    other = UserFactory.create(name="Marit Solberg")
    merge_users(keep_id=other.pk, drop_id=member.user_id, at=timezone.now())


def _rename(caller: Caller, member: Member) -> None:
    user = User.objects.get(pk=member.user_id)
    user.name = "Another name"
    user.save()


def _connect(caller: Caller, member: Member) -> None:
    identities.connect(
        user_id=member.user_id, provider="chat", platform_id=X, name="Marit", at=timezone.now()
    )


def _listed(caller: Caller, member: Member) -> None:
    platform_members.note_listed(
        listed=LISTED, community_id=caller.community.pk, user_id=member.user_id, at=timezone.now()
    )


def _gone(caller: Caller, member: Member) -> None:
    Member.objects.filter(pk=member.pk).update(roles_told_at=NOON)
    platform_members.note_gone(community_id=caller.community.pk, user_id=member.user_id, at=timezone.now())


def _patch(body: dict[str, Any]) -> Callable[[Caller, Member], None]:
    def patch(caller: Caller, member: Member) -> None:
        answer = caller.patch(f"/members/{member.pk}", body)
        assert answer.status_code == 200, answer.content

    return patch


def _change_access(caller: Caller, member: Member) -> None:
    memberships.change_access(actor=caller.actor, member_id=member.pk, access="admin", at=timezone.now())


AT_ONCE: dict[str, Callable[[Caller, Member], None]] = {
    "nick": _patch({"nick": "Marit"}),
    "account": _patch({"platform_id": X}),
    "all in one request": _patch({"nick": "Marit", "access": "creator", "platform_id": X}),
    "access by staff": _change_access,
    "listed": _listed,
    "gone from the server": _gone,
    "merged": _merge,
    "connected": _connect,
}


@pytest.mark.parametrize("writer", AT_ONCE)
def test_a_change_is_told_once_and_at_once(writer: str, caller: Caller) -> None:
    member = known(caller)

    AT_ONCE[writer](caller, member)
    at_once = told()
    announce_members()

    assert at_once == [caller.get(f"/members/{member.pk}").json()]
    assert told() == at_once
    assert changed_at(member) > NOON


@pytest.mark.parametrize("change", [_rename, lambda _, member: Identity.objects.all().delete()])
def test_what_no_service_announces_is_told_by_the_worker(
    change: Callable[[Caller, Member], None], caller: Caller
) -> None:
    member = known(caller)
    IdentityFactory.create(user=member.user, platform_id=Y)
    settled()
    before = changed_at(member)

    change(caller, member)
    announce_members()
    announce_members()

    assert told() == [caller.get(f"/members/{member.pk}").json()]
    assert changed_at(member) > before


@pytest.mark.parametrize(
    "write",
    [
        _patch({}),
        _patch({"nick": "Marit", "access": "member", "platform_id": X}),
        lambda caller, member: memberships.change_email(
            actor=caller.actor, member_id=member.pk, email="marit@example.com", at=timezone.now()
        ),
        lambda caller, member: platform_members.note_listed(
            listed=GuildMember(("1", "2"), "Marit", None, NOON),
            community_id=caller.community.pk,
            user_id=member.user_id,
            at=timezone.now(),
        ),
        lambda caller, member: caller.post(f"/members/{member.pk}/xp", {"amount": 5}),
        lambda caller, member: member.save(),
        lambda caller, member: IdentityFactory.create(
            user=member.user, provider="web", platform_id="w", community=caller.community
        ),
        lambda caller, member: User.objects.filter(pk=member.user_id).update(is_active=False),
    ],
    ids=["nothing", "the same", "mail address", "roles", "xp", "row", "external id", "user"],
)
def test_what_changes_nothing_that_is_returned_is_not_told(
    write: Callable[[Caller, Member], Any], caller: Caller
) -> None:
    member = known(caller, nick="Marit", joined_at=NOON)
    IdentityFactory.create(user=member.user, platform_id=X, community=caller.community)
    settled()
    before = changed_at(member)

    write(caller, member)
    announce_members()

    assert told() == []
    assert changed_at(member) == before


def test_each_of_many_new_members_is_told(caller: Caller) -> None:
    answer = caller.post("/members", {"members": [{"nick": "Ola"}, {"nick": "Kari", "platform_id": X}]})
    again = caller.post("/members", {"nick": "Kari", "platform_id": X})
    announce_members()

    assert (answer.status_code, again.status_code) == (201, 200)
    assert sorted(told(), key=lambda row: int(row["id"])) == answer.json()["data"]


def test_an_answer_changes_no_member(caller: Caller) -> None:
    member = known(caller)
    project = caller.make_open(TEXT, rewards={"use_xp": True})
    Event.objects.all().delete()

    Talk(caller, project, member_id=str(member.pk)).answer("Because")
    announce_members()

    assert {event.type for event in Event.objects.all()} == {"response.submitted"}
    assert caller.get(f"/members/{member.pk}").json()["participation"] == 1
    assert changed_at(member) == NOON


def test_webhooks_that_listen_receive_it(caller: Caller) -> None:
    event_log.listener(caller.community.pk)
    event_log.listener(caller.community.pk, "member.updated")
    event_log.listener(caller.community.pk, "member.erased")
    member = known(caller)

    _patch({"nick": "Marit"})(caller, member)

    assert Event.objects.get().deliveries.count() == 2


# --- Privacy ----------------------------------------------------------------------------------------


def test_a_community_is_told_of_its_own_member_alone(caller: Caller) -> None:
    other = Caller()
    member = known(
        caller, email="marit@example.com", user__email="login@example.com", user__username="secret"
    )
    there = MemberFactory.create(community=other.community, user=member.user)
    settled()

    _patch({"nick": "Marit"})(caller, member)
    announce_members()

    [row] = told()
    assert row["id"] == str(member.pk) != str(there.pk)
    assert set(row) == set(MEMBER_EXAMPLE)
    text = json.dumps(row)
    assert [secret for secret in ("marit@example.com", "login@example.com", "secret") if secret in text] == []


def test_what_is_written_of_an_account_is_told_to_its_community_alone(caller: Caller) -> None:
    other = Caller()
    settled()
    caller.post("/members", {"nick": "Marit of ours", "platform_id": X})
    other.post("/members", {"nick": "Marit of theirs", "platform_id": X})

    bodies = [json.loads(event.body or "") for event in Event.objects.all()]

    assert {(body["community_id"], body["data"]["member"]["nick"]) for body in bodies} == {
        (str(caller.community.pk), "Marit of ours"),
        (str(other.community.pk), "Marit of theirs"),
    }


def test_an_erasure_takes_the_member_out_of_what_was_told(caller: Caller) -> None:
    member = known(caller, user__name="Marit Solberg")
    _patch({"nick": "Marit", "platform_id": X})(caller, member)
    Member.objects.filter(pk=member.pk).update(nick="Marit S.")  # not told yet

    people.erase(actor=caller.actor, member_id=member.pk, at=timezone.now())
    announce_members()

    events = {event.type: json.loads(event.body or "") for event in Event.objects.all()}
    assert set(events) == {"member.updated", "member.erased"}
    assert events["member.updated"]["data"] == {
        "member": {**dict.fromkeys(MEMBER_EXAMPLE), "id": str(member.pk)}
    }
    assert not MemberChange.objects.exists()


@pytest.mark.parametrize("rounded_to", list(Rounding))
@pytest.mark.parametrize("is_new", [True, False])
def test_beside_anonymous_answers_no_time_is_exact_and_nothing_is_told_before_the_hour_is_over(
    rounded_to: Rounding, is_new: bool, caller: Caller
) -> None:
    user = UserFactory.create()
    if not is_new:
        MemberFactory.create(user=user, community=caller.community, updated_at=NOON - timedelta(days=400))
    settled()
    now = timezone.now()

    platform_members.note_listed(
        listed=LISTED, community_id=caller.community.pk, user_id=user.pk, at=now, rounded_to=rounded_to
    )

    member = Member.objects.get(user=user)
    end = rounding.after(member.updated_at, rounded_to)
    assert member.updated_at == rounding.down(member.updated_at, rounded_to) <= now
    assert MemberChange.objects.get().due_at == end
    assert member_changes.announce_due(at=end - timedelta(seconds=1)) == 0
    assert told() == []
    assert member_changes.announce_due(at=end + timedelta(seconds=2)) == 1
    [row] = told()
    assert (row["id"], row["nick"]) == (str(member.pk), "Marit")
    assert json.loads(Event.objects.get().body or "")["timestamp"] == f"{end:%Y-%m-%dT%H:%M:%SZ}"


def test_a_change_by_staff_within_the_hour_is_told_at_once(caller: Caller) -> None:
    member = known(caller)
    platform_members.note_listed(
        listed=LISTED,
        community_id=caller.community.pk,
        user_id=member.user_id,
        at=timezone.now(),
        rounded_to=Rounding.HOUR,
    )

    _patch({"access": "creator"})(caller, member)

    assert [row["access"] for row in told()] == ["creator"]
    assert not MemberChange.objects.exists()


def test_a_member_made_at_the_command_line_is_told(caller: Caller) -> None:
    community = Community.objects.get(pk=caller.community.pk)

    made = members.create_member(community_id=community.pk, name="Bo", access="member", at=timezone.now())

    assert [row["id"] for row in told()] == [str(made.pk)]
