"""An invitation gives nobody back what staff took from them after it was sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.urls import reverse
from django.utils import timezone

from communities.ground.errors import Forbidden
from communities.models import AuditEntry, Invitation, Member, User
from communities.services.inviting import invitations
from communities.services.inviting.invitations import InvitationOver, NoSuchInvitation
from surveys.services.people.merging import merge_users
from tests.factories import MemberFactory, UserFactory
from tests.support import mails
from tests.support.browsers import EMAIL, invited, new_browser, page, person, prove, sign_in
from tests.support.caller import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def boss() -> Caller:
    return Caller()


@pytest.fixture
def known(boss: Caller) -> Member:
    """An admin without an account, whom the community added."""
    answer = boss.post("/members", {"nick": "Mo", "access": "admin"})
    return Member.objects.get(pk=answer.json()["id"])


@pytest.fixture
def ada(boss: Caller) -> Member:
    """An admin with an account."""
    return MemberFactory.create(community=boss.community, user=person(), access="admin")


def demote(boss: Caller, member: Member, access: str = "member") -> None:
    assert boss.patch(f"/members/{member.pk}", {"access": access}).json()["access"] == access


def remove(member: Member, *, left_server: bool = False) -> None:
    Member.objects.filter(pk=member.pk).update(left_at=timezone.now(), left_server=left_server)


def accept(path: str, user: User) -> Member:
    return invitations.accept(token=path.split("/")[-2], user=user, at=timezone.now())


@pytest.mark.parametrize(("access", "given"), [("member", "member"), ("creator", "creator")])
def test_a_known_member_gets_the_access_that_they_have_now(
    boss: Caller, known: Member, access: str, given: str
) -> None:
    path = invited(boss.actor, "admin", member_id=known.pk)
    demote(boss, known, access)
    browser = new_browser()

    shown = page(browser.get(path))
    browser.post(path, {"name": "Mo", "password1": "a calm purple teapot"})

    known.refresh_from_db()
    assert f"invites you to be a {given}." in shown
    assert known.access == given
    assert known.user.has_usable_password()


def test_a_known_member_who_is_raised_stays_raised(boss: Caller, known: Member) -> None:
    demote(boss, known)
    path = invited(boss.actor, "member", member_id=known.pk)
    demote(boss, known, "creator")

    assert accept(path, known.user).access == "creator"


def test_an_account_that_takes_a_demoted_member_in_gets_no_more(boss: Caller, known: Member) -> None:
    path = invited(boss.actor, "admin", member_id=known.pk)
    demote(boss, known)
    user = person()
    browser = new_browser()
    sign_in(browser)
    prove(browser)

    browser.post(f"{path}merge/")

    assert Member.objects.get(community=boss.community, user=user).access == "member"


def test_sending_again_to_a_demoted_member_promises_what_they_have(boss: Caller, known: Member) -> None:
    invited(boss.actor, "admin", member_id=known.pk)
    demote(boss, known)

    sent = invitations.send_again(
        actor=boss.actor, invitation_id=Invitation.objects.get().pk, at=timezone.now()
    )

    assert Invitation.objects.get(pk=sent.pk).access == "member"


@pytest.mark.parametrize("has_left_server", [False, True])
def test_an_invitation_to_an_address_raises_nobody_who_was_demoted_since(
    boss: Caller, ada: Member, has_left_server: bool
) -> None:
    path = invited(boss.actor, "admin", email="ada@work.example")
    demote(boss, ada)
    if has_left_server:
        remove(ada, left_server=True)

    accepted = accept(path, ada.user)

    assert (accepted.pk, accepted.access, accepted.belongs) == (ada.pk, "member", True)


def invited_anew(boss: Caller) -> str:
    return invited(boss.actor, "admin", email="ada@work.example")


def sent_again(boss: Caller) -> str:
    row = Invitation.objects.get()
    invitations.send_again(actor=boss.actor, invitation_id=row.pk, at=timezone.now())
    return mails.path_in(mails.written(row.email)[-1])


AFTERWARDS = pytest.mark.parametrize("invite", [invited_anew, sent_again])


@AFTERWARDS
def test_an_invitation_that_is_sent_after_the_demotion_raises(
    boss: Caller, ada: Member, invite: Callable[[Caller], str]
) -> None:
    invited_anew(boss)
    demote(boss, ada)

    assert accept(invite(boss), ada.user).access == "admin"


def test_a_change_of_something_else_leaves_an_invitation_as_it_was(boss: Caller, ada: Member) -> None:
    Member.objects.filter(pk=ada.pk).update(access="member")
    path = invited_anew(boss)
    boss.patch(f"/members/{ada.pk}", {"nick": "Ada of ours"})

    assert accept(path, ada.user).access == "admin"


# --- Removed --------------------------------------------------------------------------------------------


def test_who_was_removed_since_does_not_come_back(boss: Caller, ada: Member) -> None:
    path = invited_anew(boss)
    remove(ada)
    browser = new_browser()
    sign_in(browser)

    answer = browser.post(path)

    ada.refresh_from_db()
    assert "You were removed from this community after you were invited." in page(answer)
    assert not ada.belongs
    assert Invitation.objects.get().accepted_at is None


def test_who_was_removed_since_does_not_come_back_by_taking_a_known_member_in(
    boss: Caller, ada: Member, known: Member
) -> None:
    path = invited(boss.actor, "admin", member_id=known.pk)
    remove(ada)
    browser = new_browser()
    sign_in(browser)
    prove(browser)

    answer = browser.post(reverse("account_invitation_merge", args=[path.split("/")[-2]]))

    ada.refresh_from_db()
    assert answer.status_code == 409
    assert not ada.belongs
    assert Member.objects.filter(pk=known.pk).exists()


@AFTERWARDS
def test_who_is_invited_after_the_removal_comes_back(
    boss: Caller, ada: Member, invite: Callable[[Caller], str]
) -> None:
    invited_anew(boss)
    remove(ada)

    assert accept(invite(boss), ada.user).belongs


def test_an_invitation_to_be_a_member_does_not_bring_removed_people_back_either(
    boss: Caller, ada: Member
) -> None:
    path = invited(boss.actor, "member", email="ada@work.example")
    Member.objects.filter(pk=ada.pk).update(left_at=timezone.now() + timedelta(seconds=1))

    with pytest.raises(Forbidden):
        accept(path, ada.user)


# --- With another account -------------------------------------------------------------------------------


@pytest.fixture
def second() -> User:
    """Another account of Ada's, without any address that somebody knows."""
    return UserFactory.create(name="Ada, too")


def proven(ada: Member, address: str) -> None:
    EmailAddress.objects.create(user=ada.user, email=address, verified=True)


def written_by_staff(ada: Member, address: str) -> None:
    Member.objects.filter(pk=ada.pk).update(email=address)


KNOWN_BY = pytest.mark.parametrize("known_by", [proven, written_by_staff])
KnownBy = Callable[[Member, str], None]


@KNOWN_BY
@pytest.mark.parametrize(("address", "spelling"), [("ada@b\u00fccher.example", "ada@xn--bcher-kva.example")])
def test_a_demotion_ends_the_invitations_to_each_address_of_the_member(
    boss: Caller, ada: Member, second: User, known_by: KnownBy, address: str, spelling: str
) -> None:
    known_by(ada, address)
    path = invited(boss.actor, "admin", email=spelling.lower())
    demote(boss, ada)

    with pytest.raises(InvitationOver):
        accept(path, second)

    row = Invitation.objects.get()
    entry = AuditEntry.objects.get(action="invitation.revoked")
    assert (entry.object_id, entry.after, entry.actor_id) == (str(row.pk), {"access": "admin"}, boss.user.pk)
    assert row.revoked_at == entry.happened_at


def test_invitations_that_give_no_more_than_a_demotion_leaves_stay(
    boss: Caller, ada: Member, second: User
) -> None:
    path = invited(boss.actor, "creator", email=EMAIL)
    demote(boss, ada, "creator")

    assert accept(path, second).access == "creator"


def test_a_demotion_leaves_the_invitations_of_others(boss: Caller, ada: Member, second: User) -> None:
    EmailAddress.objects.create(user=ada.user, email="ada@work.example", verified=False)
    path = invited_anew(boss)
    demote(boss, ada)

    assert accept(path, second).access == "admin"


def test_an_invitation_to_the_address_after_the_demotion_gives_what_it_promises(
    boss: Caller, ada: Member, second: User
) -> None:
    proven(ada, "ada@work.example")
    invited_anew(boss)
    demote(boss, ada)

    assert accept(invited_anew(boss), second).access == "admin"


@KNOWN_BY
def test_a_removal_ends_the_invitations_to_each_address_of_the_member(
    boss: Caller, ada: Member, second: User, known_by: KnownBy
) -> None:
    known_by(ada, "ada@work.example")
    path = invited_anew(boss)
    remove(ada)

    with pytest.raises(Forbidden, match="removed"):
        accept(path, second)
    with pytest.raises(Forbidden, match="removed"):  # nor with an account that the page makes
        invitations.take(token=path.split("/")[-2], at=timezone.now())
    assert accept(invited_anew(boss), second).access == "admin"


def test_an_erased_member_does_not_come_back_by_an_older_invitation(
    boss: Caller, ada: Member, second: User
) -> None:
    path = invited(boss.actor, "admin", email=EMAIL)
    boss.delete(f"/members/{ada.pk}/data")

    with pytest.raises(NoSuchInvitation):
        accept(path, second)


def test_an_account_that_took_a_demoted_one_in_gets_no_more(boss: Caller, ada: Member) -> None:
    path = invited_anew(boss)
    demote(boss, ada)
    keep = MemberFactory.create(community=boss.community)
    merge_users(keep_id=keep.user_id, drop_id=ada.user_id, at=timezone.now())

    assert accept(path, keep.user).access == "member"


def test_a_merge_with_a_demoted_account_ends_older_invitations_to_the_other_one(
    boss: Caller, ada: Member, second: User
) -> None:
    keep = MemberFactory.create(community=boss.community)
    proven(keep, "ada@work.example")
    path = invited_anew(boss)
    demote(boss, ada)
    later = invited(boss.actor, "admin", email=EMAIL)
    merge_users(keep_id=keep.user_id, drop_id=ada.user_id, at=timezone.now())

    with pytest.raises(InvitationOver):
        accept(path, second)
    assert accept(later, second).access == "admin"
