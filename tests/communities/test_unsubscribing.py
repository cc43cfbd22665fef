"""The page under mails to members: no more of them, without signing in and without cookies (rule 7.32)."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.db import transaction
from django.test import Client

from communities.models import MailRefusal, Member
from communities.services.mail import recipients
from communities.services.people.personal_data import erase_member
from tests.factories import MemberFactory
from tests.support.dumps import dump
from tests.support.mails import confirm, unsubscribe_url

pytestmark = pytest.mark.django_db


ADDRESS = "ada@example.org"


@pytest.fixture
def member() -> Member:
    return MemberFactory.create(community__name="Harbour Chess Club", email=ADDRESS)


def path_of(member: Member, email: str = ADDRESS) -> str:
    url = unsubscribe_url(member, email)
    return url[url.index("/mail/") :]


def has_refused(member: Member) -> bool:
    people = recipients.recipients(community_id=member.community_id, member_ids=[member.pk])
    return people[member.pk].has_refused


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
    first = MailRefusal.objects.get()

    without_cookies().post(path_of(member))

    assert MailRefusal.objects.get().refused_at == first.refused_at


def test_it_holds_for_members_of_this_community_who_get_the_address_later(member):
    without_cookies().post(path_of(member))
    there = {"community": member.community}
    added = MemberFactory.create(**there, email="ADA@Example.org")
    changed = MemberFactory.create(**there, email="bo@example.org")
    Member.objects.filter(pk=changed.pk).update(email=ADDRESS)
    other, elsewhere = (
        MemberFactory.create(**there, email="cy@example.org"),
        MemberFactory.create(email=ADDRESS),
    )
    people_of_ada = [has_refused(each) for each in (added, changed)]

    assert people_of_ada == [True, True]
    assert [has_refused(each) for each in (other, elsewhere)] == [False, False]


def test_it_is_the_readers_word_and_not_the_members_if_staff_wrote_a_wrong_address(member):
    without_cookies().post(path_of(member))

    Member.objects.filter(pk=member.pk).update(email="the-right-one@example.org")

    assert not has_refused(member)


def test_an_account_that_unsubscribed_at_its_own_address_is_written_to_nowhere_else(member):
    confirm(member)
    without_cookies().post(path_of(member))
    EmailAddress.objects.all().delete()
    Member.objects.filter(pk=member.pk).update(email="another@example.org")

    assert has_refused(member)

    without_cookies().post(path_of(member), {"do": "undo"})  # an old link, to an address that is nobody's

    assert has_refused(member)


def test_what_an_account_refused_it_alone_takes_back(member):
    old_link = path_of(member, "mailbox-of-staff@example.org")
    confirm(member)
    without_cookies().post(path_of(member))

    without_cookies().post(old_link, {"do": "undo"})
    Member.objects.filter(pk=member.pk).update(email="another@example.org")

    assert has_refused(member)
    without_cookies().post(path_of(member), {"do": "undo"})
    assert not has_refused(member)


def test_it_outlives_the_member_and_the_database_does_not_hold_the_address(member):
    path, community = path_of(member), member.community
    without_cookies().post(path)
    with transaction.atomic():
        erase_member(community_id=community.pk, member_id=member.pk, user_id=member.user_id)

    assert has_refused(MemberFactory.create(community=community, email=ADDRESS))
    assert ADDRESS not in "".join(dump()["communities_mailrefusal"])
    assert b"You get no more mails" in without_cookies().get(path).content


def test_an_address_that_was_not_signed_here_is_not_found(member):
    other = MemberFactory.create()
    forged = path_of(member).replace(f":{member.pk}:", f":{other.pk}:")
    assert forged != path_of(member)

    answer = without_cookies().post(forged)

    assert answer.status_code == 404
    assert not MailRefusal.objects.exists()
