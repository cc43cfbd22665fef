"""The page under mails to members: no more of them, without signing in and without cookies."""

from __future__ import annotations

import pytest
from django.test import Client

from communities.models import Member
from communities.services import recipients
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def member() -> Member:
    return MemberFactory.create(community__name="Harbour Chess Club")


def path_of(member: Member) -> str:
    url = recipients.unsubscribe_url(member_id=member.pk)
    return url[url.index("/mail/") :]


def has_refused(member: Member) -> bool:
    member.refresh_from_db()
    return member.mail_refused_at is not None


def without_cookies() -> Client:
    return Client(enforce_csrf_checks=True)


def test_looking_asks_and_changes_nothing(member):
    page = without_cookies().get(path_of(member))

    assert b"No more mails of Harbour Chess Club?" in page.content
    assert b"<button" in page.content
    assert not page.cookies
    assert not has_refused(member)


def test_one_button_does_it_and_offers_to_undo_it(member):
    page = without_cookies().post(path_of(member), {"do": "unsubscribe"})

    assert has_refused(member)
    assert b"You get no more mails of Harbour Chess Club" in page.content
    assert b'value="undo"' in page.content

    page = without_cookies().post(path_of(member), {"do": "undo"})

    assert not has_refused(member)
    assert b"You get mails again" in page.content


def test_mail_programs_do_it_with_one_click(member):
    answer = without_cookies().post(
        path_of(member),
        "List-Unsubscribe=One-Click",
        content_type="application/x-www-form-urlencoded",
        headers={"Origin": "https://mail.example"},
    )

    assert answer.status_code == 200
    assert has_refused(member)


def test_asking_twice_keeps_the_first_time(member):
    without_cookies().post(path_of(member))
    member.refresh_from_db()
    first = member.mail_refused_at

    without_cookies().post(path_of(member))

    member.refresh_from_db()
    assert member.mail_refused_at == first


def test_an_address_that_was_not_signed_here_is_not_found(member):
    other = MemberFactory.create()
    forged = path_of(member).replace(f"/{member.pk}.", f"/{other.pk}.")
    assert forged != path_of(member)

    answer = without_cookies().post(forged)

    assert answer.status_code == 404
    assert not has_refused(other)
