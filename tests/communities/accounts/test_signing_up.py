"""Signing up freely, and by an invitation."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from django.urls import reverse

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, Forbidden
from communities.models import CommunitySettings, Invitation, Member, User
from communities.services.inviting import invitations
from tests.factories import CommunityFactory, MemberFactory
from tests.support import mails
from tests.support.api_requests import new_address

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
PASSWORD, OTHER = "a calm purple teapot", "another green kettle"
EMAIL = "ada@example.org"
NOW = invitations.now


@pytest.fixture
def admin_here() -> Actor:
    member = MemberFactory.create(access="admin", nick="Grace")
    return Actor(member.user_id, "admin", member.community_id, "basic")


def sign_in(browser: Client, login: str = EMAIL, password: str = PASSWORD, **values: str) -> Any:
    return browser.post(reverse("account_login"), {"login": login, "password": password, **values})


def page(response: Any) -> str:
    return str(response.content.decode())


def who(browser: Client) -> str | None:
    return browser.session.get("_auth_user_id")


def test_nobody_signs_up_where_no_community_lets_them(browser: Client) -> None:
    community = CommunityFactory.create()

    assert "Accounts are made by invitation" in page(browser.get(reverse("account_signup")))
    closed = browser.post(f"{reverse('account_signup')}?community={community.pk}", {"email": EMAIL})
    assert "Accounts are made by invitation" in page(closed)


def test_who_signs_up_freely_is_a_member_once_the_address_is_confirmed(browser: Client) -> None:
    community = CommunityFactory.create()
    CommunitySettings.objects.create(community=community, allow_sign_up=True)
    address = f"{reverse('account_signup')}?community={community.pk}"
    values = {"name": "Ada", "email": EMAIL, "password1": PASSWORD, "community": str(community.pk)}
    browser.post(address, values)
    before = Member.objects.filter(community=community).count()
    locked_out = sign_in(Client(REMOTE_ADDR=new_address()))
    confirmed = browser.post(mails.path_in(mails.written(EMAIL)[0]))

    assert before == 0
    assert locked_out["Location"] == reverse("account_email_verification_sent")
    assert confirmed["Location"] == "/account/"
    assert Member.objects.get(community=community).user.name == "Ada"


def test_signing_up_does_not_tell_that_an_account_exists(ada: User, browser: Client) -> None:
    community = CommunityFactory.create()
    CommunitySettings.objects.create(community=community, allow_sign_up=True)
    values = {"name": "Eve", "password1": OTHER, "community": str(community.pk)}
    known = browser.post(reverse("account_signup"), {**values, "email": EMAIL})
    unknown = Client(REMOTE_ADDR=new_address()).post(
        reverse("account_signup"), {**values, "email": "new@example.org"}
    )

    assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])
    assert mails.subjects(EMAIL) == ["You have an account already"]
    assert sign_in(browser).status_code == 302


# --- Invitations --------------------------------------------------------------------------------------


def invited(actor: Actor, access: str = "member", **fields: Any) -> str:
    invitations.invite(actor=actor, email=EMAIL, access=access, at=NOW(), **fields)
    return mails.path_in(mails.written(EMAIL)[-1])


def test_an_invited_creator_makes_an_account_and_gets_into_the_admin(
    admin_here: Actor, browser: Client
) -> None:
    path = invited(admin_here, "creator")
    shown = page(browser.get(path))
    made = browser.post(path, {"name": "Ada", "password1": PASSWORD})
    again = Client(REMOTE_ADDR=new_address()).post(path, {"name": "Eve", "password1": PASSWORD})
    member = Member.objects.get(community_id=admin_here.community_id, user__email=EMAIL)

    assert "Grace invites you" in shown
    assert made["Location"] == "/admin/"
    assert (member.access, member.user.may_enter_admin, member.user.name) == ("creator", True, "Ada")
    assert EmailAddress.objects.get(user=member.user).verified
    assert again.status_code == 410


def test_an_invited_person_joins_with_the_account_that_they_have(
    ada: User, admin_here: Actor, browser: Client
) -> None:
    path = invited(admin_here)
    shown = page(browser.get(path))
    sign_in(browser)
    joined = browser.post(path)

    assert f"There is an account for {EMAIL}" in shown
    assert joined["Location"] == "/account/"
    assert Member.objects.get(community_id=admin_here.community_id, user=ada).access == "member"


def test_an_invited_member_without_an_account_keeps_what_is_theirs(
    admin_here: Actor, browser: Client
) -> None:
    known = MemberFactory.create(community_id=admin_here.community_id, user__password="!")
    path = invited(admin_here, member_id=known.pk)
    browser.post(path, {"name": "Ada", "password1": PASSWORD})

    assert who(browser) == str(known.user_id)


def test_only_admins_invite_and_nobody_above_themselves(admin_here: Actor) -> None:
    creator = Actor(admin_here.user_id, "creator", admin_here.community_id, "basic")

    with pytest.raises(Forbidden):
        invitations.invite(actor=creator, email=EMAIL, access="member", at=NOW())
    member = MemberFactory.create(community_id=admin_here.community_id, user__is_staff=True)
    with pytest.raises(Conflict):
        invitations.invite(actor=admin_here, email=EMAIL, access="member", at=NOW(), member_id=member.pk)


def test_an_invitation_that_was_taken_back_or_is_too_old_is_over(admin_here: Actor, browser: Client) -> None:
    path = invited(admin_here)
    first = Invitation.objects.get()
    again = invitations.send_again(actor=admin_here, invitation_id=first.pk, at=NOW())
    new = mails.path_in(mails.written(EMAIL)[-1])
    opened = browser.get(new).status_code
    invitations.revoke(actor=admin_here, invitation_id=again.pk, at=NOW())

    assert browser.get(path).status_code == 410
    assert opened == 200
    assert browser.get(new).status_code == 410
    Invitation.objects.update(revoked_at=None, expires_at=NOW())
    assert browser.get(new).status_code == 410
