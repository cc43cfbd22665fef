"""Inviting people in the admin."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from pytest_django import Settings

from communities.models import Invitation, Mail
from communities.models.invitation import VALID_FOR
from communities.services.inviting import invitations
from tests.factories import MemberFactory
from tests.support import mails
from tests.support.moments import NOON
from tests.support.staff import Staff

pytestmark = pytest.mark.django_db
PAGE = "communities_member_invite_people"


def test_an_admin_invites_several_people_and_takes_one_back() -> None:
    staff = Staff()
    empty = staff.get(PAGE).content.decode()
    staff.post(PAGE, emails="ada@example.org, Bob@Example.org\nada@example.org", access="creator", ticket="1")
    listed = staff.get(PAGE).content.decode()
    first = Invitation.objects.get(email="ada@example.org")
    staff.post(PAGE, action="revoke", invitation=str(first.pk))
    after = staff.get(PAGE).content.decode()

    assert "Nobody has an open invitation." in empty
    assert sorted(mail["to"] for mail in mails.written()) == ["ada@example.org", "bob@example.org"]
    assert "ada@example.org" in listed
    assert "ada@example.org" not in after
    assert "bob@example.org" in after


def test_what_is_no_address_is_named() -> None:
    staff = Staff()

    answer = staff.post(PAGE, emails="ada@example.org nonsense", access="member", ticket="1")

    assert "nonsense is not an e-mail address." in answer.content.decode()
    assert not Invitation.objects.exists()


def test_a_member_without_an_account_is_invited_from_their_profile() -> None:
    staff = Staff()
    member = MemberFactory.create(community=staff.community, user__password="!", nick="Ada")

    staff.post("communities_member_invite", member.pk, email="ada@example.org", ticket="1")

    assert Invitation.objects.get().member == member
    assert "Hello Ada," in mails.written("ada@example.org")[0]["text"]


def test_addresses_that_cannot_be_encoded_are_refused_at_the_field() -> None:
    staff = Staff()
    member = MemberFactory.create(community=staff.community, user__password="!")
    long = f"a@{'ü' * 60}.com"

    answers = [
        staff.post(PAGE, emails=long, access="member", ticket="1"),
        staff.post("communities_member_invite", member.pk, email=long, ticket="2"),
        staff.post("communities_member_email", member.pk, email=long),
    ]

    for answer in answers:
        assert "No mail can be sent to" in answer.content.decode()
    assert not Invitation.objects.exists()
    member.refresh_from_db()
    assert member.email == ""


def test_a_form_that_is_sent_twice_invites_once() -> None:
    staff = Staff()
    member = MemberFactory.create(community=staff.community, user__password="!")
    for _ in range(2):
        staff.post(PAGE, emails="ada@example.org", access="member", ticket="1")
        staff.post("communities_member_invite", member.pk, email="bob@example.org", ticket="2")
    invitation = Invitation.objects.get(email="ada@example.org")
    for ticket in ("3", "3", "4"):
        staff.post(PAGE, action="again", invitation=str(invitation.pk), ticket=ticket)

    assert Invitation.objects.count() == 2
    assert len(mails.written("ada@example.org")) == 3
    assert len(mails.written("bob@example.org")) == 1


def test_a_community_sends_so_many_invitations_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "MAX_MAILS", 2)
    staff = Staff()
    staff.post(PAGE, emails="ada@example.org", access="member", ticket="1")
    invitation = Invitation.objects.get()
    again = {"action": "again", "invitation": str(invitation.pk)}
    staff.post(PAGE, **again, ticket="2")

    more = staff.post(PAGE, emails="bob@example.org", access="member", ticket="3").content.decode()
    resent = staff.post(PAGE, **again, ticket="4", follow=True).content.decode()

    for page in (more, resent):
        assert "A community can send 2 invitations a day." in page
    assert len(mails.written()) == 2
    Mail.objects.update(created_at=F("created_at") - invitations.PERIOD)
    staff.post(PAGE, **again, ticket="4")
    assert len(mails.written()) == 3


def test_invitations_above_the_communitys_sum_of_a_day_are_refused_together_and_stay_typed(
    settings: Settings,
) -> None:
    settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY = 3
    staff = Staff()
    staff.post(PAGE, emails="ada@example.org", access="member", ticket="1")
    emails = "bob@example.org cy@example.org di@example.org"

    page = staff.post(PAGE, emails=emails, access="member", ticket="2").content.decode()

    assert "2 of today&#x27;s are left, and these are 3, so nothing was sent." in page
    assert emails in page
    assert len(mails.written()) == Invitation.objects.count() == 1
    staff.post(PAGE, emails="bob@example.org cy@example.org", access="member", ticket="2")
    assert len(mails.written()) == 3


def test_an_address_that_refused_the_communitys_mails_is_not_invited() -> None:
    staff = Staff()
    staff.post(PAGE, emails="ada@example.org", access="member", ticket="1")
    unsubscribe = re.search(r"/mail/\S+", mails.written()[0]["text"])
    assert unsubscribe is not None
    Client().post(unsubscribe[0])
    invitation = Invitation.objects.get()

    more = staff.post(PAGE, emails="bob@example.org Ada@example.org", access="member", ticket="2").content
    resent = staff.post(PAGE, action="again", invitation=str(invitation.pk), ticket="3", follow=True).content

    for page in (more, resent):
        assert "Mails of this community were refused by: ada@example.org." in page.decode()
    assert len(mails.written()) == 1


def test_an_address_that_refused_is_said_to_when_it_is_written_down() -> None:
    staff = Staff()
    member = MemberFactory.create(community=staff.community)
    Client().post(
        mails.unsubscribe_url(member, "ada@example.org").partition("/mail/")[2].join(["/mail/", ""])
    )

    page = staff.post("communities_member_email", member.pk, email="ada@example.org", follow=True)

    assert "Mails of this community were refused there" in page.content.decode()


@pytest.mark.parametrize(
    ("name", "is_plain"),
    [
        ("Dr. Ada O’Neil-Lovelace", True),
        ("Zoë", True),
        ("Win now: evil", False),
        ("go to evil.example", False),
        ("a" * 61, False),
    ],
)
def test_a_greeting_holds_a_name_and_no_links(name: str, is_plain: bool) -> None:
    staff = Staff()

    answer = staff.post(PAGE, emails="ada@example.org", access="member", name=name, ticket="1")

    assert (answer.status_code == 302) == is_plain
    assert [f"Hello {name}," in mail["text"] for mail in mails.written()] == [True] * is_plain


def test_a_member_whose_nick_is_an_address_is_greeted_without_it() -> None:
    staff = Staff()
    member = MemberFactory.create(community=staff.community, user__password="!", nick="evil.example")

    staff.post("communities_member_invite", member.pk, email="ada@example.org", ticket="1")

    assert "Hello,\n" in mails.written()[0]["text"]


def test_invitations_are_forgotten_a_month_after_they_are_over() -> None:
    staff = Staff()
    over = NOON - invitations.KEPT_FOR
    moment = timedelta(seconds=1)
    later = NOON + VALID_FOR
    rows = {
        "expired": {"expires_at": over - moment},
        "revoked": {"expires_at": later, "revoked_at": over - moment},
        "accepted": {"expires_at": later, "accepted_at": over - moment},
        "just expired": {"expires_at": over},
        "just revoked": {"expires_at": later, "revoked_at": over},
        "open": {"expires_at": later},
    }
    for name, times in rows.items():
        Invitation.objects.create(
            community=staff.community, email="a@example.org", name=name, digest=name, created_at=over, **times
        )

    invitations.forget_old(at=NOON)

    left = Invitation.objects.order_by("pk").values_list("name", flat=True)
    assert list(left) == ["just expired", "just revoked", "open"]
