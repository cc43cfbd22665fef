"""Invitations used by the wrong person, or at the wrong moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP
from django.db import transaction
from django.urls import reverse

from communities.ground.actors import Actor
from communities.ground.errors import Conflict
from communities.models import CommunitySettings, Invitation, Member, User
from communities.services.inviting import invitations
from communities.services.people import identities, members
from tests.factories import MemberFactory, UserFactory
from tests.support.browsers import EMAIL, PASSWORD, an_admin, invited, new_browser, person, sign_in, who
from tests.support.concurrency import BackgroundCall, held_elsewhere, run_together
from tests.support.mails import written

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
NOW = invitations.now
NEW = {"name": "Eve", "password1": PASSWORD}


@pytest.fixture
def admin_here() -> Actor:
    return an_admin()


def known(actor: Actor) -> Member:
    """A member as an API caller adds them: with a blank password."""
    user_id = members.user_for_external_id(community_id=actor.community_id, external_id="customer-7")
    return MemberFactory.create(community_id=actor.community_id, user_id=user_id)


def test_a_member_whom_an_api_caller_added_is_invited(admin_here: Actor) -> None:
    member = known(admin_here)
    browser = new_browser()

    browser.post(invited(admin_here, member_id=member.pk), NEW)

    assert who(browser) == str(member.user_id)


def test_an_invitation_does_not_open_an_account_that_was_proven_since(admin_here: Actor) -> None:
    member = MemberFactory.create(community_id=admin_here.community_id, user__password="!")
    path = invited(admin_here, member_id=member.pk)
    identities.sign_in(provider="chat", platform_id="5", name="Omar", at=NOW())
    User.objects.filter(pk=member.user_id).update(name="Omar")
    _give_a_way_to_sign_in(member)
    browser = new_browser()

    answer = browser.post(path, NEW)

    member.user.refresh_from_db()
    assert answer.status_code == 410
    assert who(browser) is None
    assert not member.user.has_usable_password()
    assert not EmailAddress.objects.filter(user=member.user).exists()


def _give_a_way_to_sign_in(member: Member) -> None:
    from communities.models import Identity  # noqa: PLC0415

    Identity.objects.filter(provider="chat").update(user=member.user)


def test_members_with_any_way_to_sign_in_or_elsewhere_are_not_invited(admin_here: Actor) -> None:
    here = {"community_id": admin_here.community_id, "user__password": ""}
    by_mail, by_code, elsewhere, root = (MemberFactory.create(**here) for _ in range(4))
    EmailAddress.objects.create(user=by_mail.user, email="m@example.org", verified=True)
    TOTP.activate(by_code.user, "JBSWY3DPEHPK3PXP")
    MemberFactory.create(user=elsewhere.user)
    User.objects.filter(pk=root.user_id).update(is_superuser=True)

    for member in (by_mail, by_code, elsewhere, root):
        with pytest.raises(Conflict):
            invitations.invite(actor=admin_here, email=EMAIL, access="member", at=NOW(), member_id=member.pk)


def test_an_address_that_another_account_has_not_confirmed_is_the_invited_persons(admin_here: Actor) -> None:
    squatter: User = UserFactory.create(email=EMAIL)
    squatter.set_password(PASSWORD)
    squatter.save()
    EmailAddress.objects.create(user=squatter, email=EMAIL, verified=False, primary=True)
    browser = new_browser()

    browser.post(invited(admin_here), NEW)

    assert who(browser) not in (None, str(squatter.pk))
    assert EmailAddress.objects.get(verified=True).user_id == int(who(browser) or 0)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_make_an_account_at_once_one_does(admin_here: Actor) -> None:
    path = invited(admin_here)
    first, second = new_browser(), new_browser()

    answers = run_together(lambda: first.post(path, NEW), lambda: second.post(path, NEW))

    ends = [answer.headers.get("Location", str(answer.status_code)) for answer in answers]
    ends.remove(reverse("account"))  # where the one goes who made it
    assert ends in ([path], ["410"], ["429"])
    assert User.objects.filter(email=EMAIL).count() == 1
    assert Member.objects.filter(user__email=EMAIL).count() == 1


def test_whose_account_was_made_while_they_sent_theirs_reads_what_is_true_then(
    admin_here: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = invited(admin_here)
    seen_open = invitations.find(token=path.split("/")[-2], at=NOW())
    first, second = new_browser(), new_browser()
    first.post(path, NEW)
    with monkeypatch.context() as patched:
        patched.setattr(invitations, "find", lambda **_: seen_open)
        late = second.post(path, NEW)

    assert late.headers["Location"] == path
    assert second.get(path).status_code == 410


@pytest.mark.parametrize("is_again", [False, True])
@pytest.mark.django_db(transaction=True)
def test_mails_that_are_sent_at_once_count_together(
    admin_here: Actor, is_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "MAX_MAILS", 2)
    invited(admin_here)
    first = Invitation.objects.get()
    other = MemberFactory.create(community_id=admin_here.community_id, access="admin")
    other_admin = replace(admin_here, user_id=other.user_id)

    @contextmanager
    def second_is_written() -> Iterator[None]:
        with transaction.atomic():
            invited(admin_here, email="second@example.org")
            yield

    def third() -> object:
        if is_again:
            return invitations.send_again(actor=other_admin, invitation_id=first.pk, at=NOW())
        return invited(other_admin, email="third@example.org")

    with held_elsewhere(second_is_written):
        call = BackgroundCall(third)
        assert call.waits_for_lock()

    assert isinstance(call.result(), Conflict)
    assert len(written()) == 2


@pytest.mark.django_db(transaction=True)
def test_of_two_who_join_with_their_accounts_at_once_one_does(admin_here: Actor) -> None:
    path = invited(admin_here, "creator")
    people = [person(f"Person {n}", f"p{n}@example.org") for n in range(2)]
    browsers = [new_browser() for _ in people]
    for each, browser in zip(people, browsers, strict=True):
        sign_in(browser, each.email)

    run_together(*(lambda browser=browser: browser.post(path) for browser in browsers))

    assert Member.objects.filter(user__in=people, access="creator").count() == 1
    assert Invitation.objects.get().accepted_by in people


def test_an_invitation_of_a_known_member_is_no_membership_for_others(admin_here: Actor) -> None:
    path = invited(admin_here, member_id=known(admin_here).pk)
    ada = person()
    browser = new_browser()
    sign_in(browser)

    answer = browser.post(path)

    assert answer["Location"] == f"{path}merge/"
    assert not Member.objects.filter(user=ada).exists()


@pytest.mark.parametrize(("left_server", "comes_back"), [(False, False), (True, True)])
def test_whom_staff_removed_does_not_join_an_open_community_again(
    admin_here: Actor, left_server: bool, comes_back: bool
) -> None:
    CommunitySettings.objects.update_or_create(
        community_id=admin_here.community_id, defaults={"allow_sign_up": True}
    )
    ada = person()
    gone = MemberFactory.create(
        community_id=admin_here.community_id, user=ada, left_at=NOW(), left_server=left_server
    )
    browser = new_browser()
    sign_in(browser)

    answer = browser.post(reverse("account_join", args=[admin_here.community_id]), follow=True)
    invitations.await_confirmation(
        community_id=admin_here.community_id, user=ada, email="ada@two.example", at=NOW()
    )
    invitations.admit_confirmed(user=ada, email="ada@two.example", at=NOW())

    gone.refresh_from_db()
    assert (gone.belongs, "You were removed from this community." in answer.content.decode()) == (
        comes_back,
        not comes_back,
    )
    assert gone.left_server is False


def test_whom_staff_removed_comes_back_by_an_invitation(admin_here: Actor) -> None:
    ada = person()
    gone = MemberFactory.create(community_id=admin_here.community_id, user=ada, left_at=NOW())
    browser = new_browser()
    sign_in(browser)

    browser.post(invited(admin_here))

    gone.refresh_from_db()
    assert gone.belongs
