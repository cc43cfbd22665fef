"""Invitations of former admins: the access that they still give, and the people who can withdraw them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from communities.ground import rounding
from communities.ground.errors import Forbidden
from communities.ground.rounding import Rounding
from communities.models import AuditEntry, Community, Invitation, Member, User
from communities.services.inviting import invitations
from communities.services.inviting.invitations import InvitationOver, NoSuchInvitation
from communities.services.people import memberships, platform_members
from surveys.services.people import service as people
from tests.factories import CommunityFactory, CommunitySettingsFactory, UserFactory
from tests.support import mails, our_code
from tests.support.caller import Caller
from tests.support.concurrency import BackgroundCall, row_locked_elsewhere
from tests.support.moments import NOON
from tests.support.staff import Staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss() -> Caller:
    return Caller()


@pytest.fixture
def sender(boss: Caller) -> Caller:
    """An admin who has invited an admin, a creator and a member, and then loses their access."""
    sender = boss.beside("admin")
    for access in ("admin", "creator", "member"):
        invite(sender, access)
    return sender


def invite(sender: Caller, access: str) -> Invitation:
    email = f"{access}@example.org"
    return invitations.invite(actor=sender.actor, email=email, access=access, at=timezone.now())


def token_for(access: str) -> str:
    return mails.path_in(mails.written(f"{access}@example.org")[-1]).split("/")[-2]


def member_of(caller: Caller) -> Member:
    return Member.objects.get(user=caller.user, community=caller.community)


def demoted(boss: Caller, sender: Caller) -> None:
    answer = boss.patch(f"/members/{member_of(sender).pk}", {"access": "creator"})
    assert answer.status_code == 200


def demoted_in_the_admin(boss: Caller, sender: Caller) -> None:
    staff = Staff(community=boss.community)
    staff.post("communities_member_access", member_of(sender).pk, access="member")


def erased(boss: Caller, sender: Caller) -> None:
    assert boss.delete(f"/members/{member_of(sender).pk}/data").status_code == 204


def erased_by_themselves(boss: Caller, sender: Caller) -> None:
    people.erase_membership(user_id=sender.user.pk, community_id=boss.community.pk, at=timezone.now())


def gone_from_the_server(boss: Caller, sender: Caller) -> None:
    Member.objects.filter(user=sender.user).update(roles_told_at=NOON)
    platform_members.note_gone(
        community_id=boss.community.pk, user_id=sender.user.pk, at=timezone.now(), rounded_to=Rounding.HOUR
    )


def deactivated(boss: Caller, sender: Caller) -> None:
    User.objects.filter(pk=sender.user.pk).update(is_active=False)


def removed_in_the_database(boss: Caller, sender: Caller) -> None:
    Member.objects.filter(user=sender.user).update(left_at=timezone.now())


Loses = Callable[[Caller, Caller], None]


@pytest.mark.parametrize("loses", [demoted, erased, gone_from_the_server, deactivated])
def test_only_the_invitation_to_be_a_member_still_works(boss: Caller, sender: Caller, loses: Loses) -> None:
    loses(boss, sender)

    listed = invitations.open_invitations(community_id=boss.community.pk, at=timezone.now())
    assert [each.access for each in listed] == ["member"]
    for access in ("admin", "creator"):
        row = Invitation.objects.get(email=f"{access}@example.org")
        with pytest.raises(InvitationOver):
            invitations.accept(token=token_for(access), user=UserFactory.create(), at=timezone.now())
        with pytest.raises(InvitationOver):
            invitations.send_again(actor=boss.actor, invitation_id=row.pk, at=timezone.now())
    user = UserFactory.create()
    assert invitations.accept(token=token_for("member"), user=user, at=timezone.now()).access == "member"


@pytest.mark.parametrize("loses", [demoted_in_the_admin, erased_by_themselves, gone_from_the_server])
def test_the_audit_trail_says_which_invitations_ended(boss: Caller, sender: Caller, loses: Loses) -> None:
    ended = Invitation.objects.exclude(access="member").order_by("pk")

    loses(boss, sender)

    assert all(each.revoked_at for each in ended.all())
    entries = AuditEntry.objects.filter(action="invitation.revoked")
    assert set(entries.values_list("object_id", "after__access")) == {
        (str(each.pk), each.access) for each in ended.all()
    }
    assert not entries.filter(actor_id=sender.user.pk).exists()
    if loses is gone_from_the_server:
        times = {each.revoked_at for each in ended.all()} | {each.happened_at for each in entries}
        assert times == {rounding.down(time, Rounding.HOUR) for time in times if time}


@pytest.mark.parametrize("loses", [erased, deactivated])
def test_other_admins_take_back_and_send_again_what_the_sender_left(
    boss: Caller, sender: Caller, loses: Loses
) -> None:
    row = Invitation.objects.get(access="member")
    loses(boss, sender)

    sent = invitations.send_again(actor=boss.actor, invitation_id=row.pk, at=timezone.now())
    taken_back = invitations.revoke(actor=boss.actor, invitation_id=row.pk, at=timezone.now())

    assert (sent.revoked_at, taken_back.revoked_at is None) == (None, False)
    assert not invitations.open_invitations(community_id=boss.community.pk, at=timezone.now()).exists()


def test_an_invitation_that_had_run_out_is_not_sent_again_for_an_erased_sender(
    boss: Caller, sender: Caller
) -> None:
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=1))
    erased(boss, sender)
    row = Invitation.objects.get(access="admin")

    with pytest.raises(InvitationOver):
        invitations.send_again(actor=boss.actor, invitation_id=row.pk, at=timezone.now())


def test_a_change_that_leaves_somebody_an_admin_ends_nothing(boss: Caller, sender: Caller) -> None:
    boss.patch(f"/members/{member_of(sender).pk}", {"access": "admin", "nick": "Still here"})

    user = UserFactory.create()
    assert invitations.accept(token=token_for("admin"), user=user, at=timezone.now()).access == "admin"
    assert Invitation.objects.filter(revoked_at=None).count() == 3


def test_an_admin_who_loses_access_in_one_community_keeps_their_invitations_to_others(
    boss: Caller, sender: Caller
) -> None:
    there = CommunityFactory.create()
    CommunitySettingsFactory.create(community=there)
    Member.objects.create(user=sender.user, community=there, access="admin")
    Invitation.objects.filter(access="creator").update(community=there)

    demoted(boss, sender)

    listed = invitations.open_invitations(community_id=there.pk, at=timezone.now())
    assert [each.access for each in listed] == ["creator"]


def test_somebody_who_signs_up_themselves_has_no_invitation_to_take_back(boss: Caller) -> None:
    invitations.await_confirmation(
        community_id=boss.community.pk, user=UserFactory.create(), email="eve@example.org", at=NOON
    )
    row = Invitation.objects.get()

    for act in (invitations.revoke, invitations.send_again):
        with pytest.raises(NoSuchInvitation):
            act(actor=boss.actor, invitation_id=row.pk, at=NOON)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("loses", [demoted, gone_from_the_server])
def test_who_loses_their_access_while_they_invite_has_invited_nobody(
    boss: Caller, sender: Caller, loses: Loses
) -> None:
    actor, at = sender.actor, timezone.now()

    with transaction.atomic():
        loses(boss, sender)
        inviting = BackgroundCall(
            lambda: invitations.invite(actor=actor, email="eve@example.org", access="admin", at=at)
        )
        assert inviting.waits_for_lock()

    refused = inviting.result()
    assert (type(refused), str(refused)) == (Forbidden, "Only admins invite people.")
    assert not Invitation.objects.filter(email="eve@example.org").exists()
    assert mails.written("eve@example.org") == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has", ["sent", "got"])
def test_a_change_of_access_locks_the_invitations_before_the_community(
    boss: Caller, sender: Caller, has: str
) -> None:
    """Accepting an invitation locks in the same order, so there are no deadlocks."""
    row = Invitation.objects.get(access="admin")
    member, actor = member_of(sender), boss.actor
    if has == "got":
        Invitation.objects.filter(pk=row.pk).update(created_by=boss.user)
        Member.objects.filter(pk=member.pk).update(email=row.email)

    with row_locked_elsewhere("communities_invitation", row.pk):
        changing = BackgroundCall(
            lambda: memberships.change_access(actor=actor, member_id=member.pk, access="member", at=NOON)
        )
        assert changing.waits_for_lock()
        with transaction.atomic():  # the community is free while the change waits
            assert Community.objects.select_for_update(nowait=True).get(pk=boss.community.pk)

    assert changing.result().access == "member"


def test_the_pages_say_what_ends(boss: Caller, sender: Caller) -> None:
    staff = Staff(community=boss.community)
    member = member_of(sender)

    access = staff.get("communities_member_access", member.pk).content.decode()
    erasing = staff.get("communities_member_erase", member.pk).content.decode()
    inviting = staff.get("communities_member_invite_people").content.decode()

    assert "their invitations to creators and admins end" in access
    assert "Open invitations to an address of theirs end if they promise more." in access
    assert "Invitations to their address are deleted" in erasing
    assert "Invitations that they sent to creators and admins" in erasing
    assert "ends when its sender is no longer an admin" in inviting


# --- All places -----------------------------------------------------------------------------------------

# What each place that takes access ends: what the member sent, and what was sent to the member. The platform
# decides nothing: who comes back to its server has the access of before.
ENDS = {
    "_change_access": {"end_of_inviter", "end_of_invited"},
    "_take_over": {"end_of_inviter", "end_of_invited"},
    "_note_absence": {"end_of_inviter"},
    "_erase": {"end_of_inviter", "forget_invited"},
}
# They give access or take nothing from a present member.
# `send_again` writes to an invitation what its member has now.
# `_erase_test` erases respondents who are no members, after `_erase`.
GIVES = {"_admit", "_erase_test", "_note_if_member", "send_again"}


def _writers_of_access() -> Iterator[tuple[str, set[str]]]:
    """The functions that change a member's access or end a membership, and the invitations that they end."""
    for module in our_code.modules(".access", ".left_at", "erase_member("):
        for node, text in module.functions():
            if _writes_access(node):
                yield (
                    node.name,
                    {
                        name
                        for name in ("end_of_inviter", "end_of_invited", "forget_invited")
                        if f"{name}(" in text
                    },
                )


def _writes_access(function: ast.FunctionDef) -> bool:
    stored = {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    called = {
        node.func.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return bool({"access", "left_at"} & stored) or "erase_member" in called


def test_each_place_that_takes_access_from_a_member_ends_invitations() -> None:
    writers = dict(_writers_of_access())

    assert {name: ends for name, ends in writers.items() if ends} == ENDS
    assert {name for name, ends in writers.items() if not ends} == GIVES
