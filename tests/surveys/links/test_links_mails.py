"""Mailing personal links: recipients, contents, frequency, and headers for mail programs (rule 7.31).

Rule 7.31.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail as outbox
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from communities.ground.errors import Conflict, InvalidRequest
from communities.models import AuditEntry, Mail, Member, User
from communities.services.mail import mails
from surveys.models import PersonalLink
from surveys.services.links import mailing
from surveys.services.links.mailing import Choice, Who
from tests.factories import StaffFactory
from tests.support.actors import actor
from tests.support.concurrency import run_together
from tests.support.mails import confirm, unsubscribe_url
from tests.support.refusals import refused
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import arrive, link_for, private

pytestmark = pytest.mark.django_db
NOW = timezone.now()
EVERYBODY = Choice(Who.ALL)
REMINDER = Choice(Who.NOT_BEGUN)


@pytest.fixture(autouse=True)
def in_no_hurry(settings):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


@pytest.fixture(autouse=True)
def staff():
    return StaffFactory.create(username="staff")


def admin():
    return actor("admin", user_id=User.objects.get(username="staff").pk)


def reader(name: str = "Marit", **fields) -> Member:
    member = scenario.member(name)
    Member.objects.filter(pk=member.pk).update(**{"email": f"{name.lower()}@example.org", **fields})
    member.refresh_from_db()
    return member


def send(project, choice=EVERYBODY, *, subject="[title]", text="Hello [name],\n\nplease answer.", at=NOW):
    return mailing.send(
        actor=admin(), project_id=project.pk, choice=choice, subject=subject, text=text, at=at
    )


def sent(at=NOW) -> list[Any]:
    mails.send_due(at=at)
    return outbox.outbox


def reached(project, choice, at=NOW):
    return shown(project, choice, at)[0]


def shown(project, choice=EVERYBODY, at=NOW):
    return mailing.preview(
        actor=admin(), project_id=project.pk, choice=choice, subject="[title]", text="Hello", at=at
    )


def test_each_member_gets_a_link_of_their_own():
    project = private(name="First moves")
    marit, olav = reader("Marit"), reader("Olav")
    confirm(marit)
    confirm(olav)

    assert send(project).sent_now == 2

    assert {each.to[0] for each in sent()} == {"marit@example.org", "olav@example.org"}
    to_marit = next(each for each in sent() if each.to == ["marit@example.org"])
    assert to_marit.subject == "First moves"
    assert to_marit.body.startswith("Hello Marit,\n\nplease answer.")
    path = re.findall(r"Answer: http\S+(/s/\S+)", to_marit.body)[0]
    assert b"You answer as <b>Marit</b>" in Client().get(path, follow=True).content
    html = to_marit.alternatives[0].content
    assert path in html
    assert "<p>Hello Marit,</p><p>please answer.</p>" in html
    links = PersonalLink.objects.filter(project=project)
    assert {link.member_id: link.mailed_at for link in links} == {marit.pk: NOW, olav.pk: NOW}
    entry = AuditEntry.objects.get(action="link.mailed")
    assert entry.after == {"mails": 2, "reminder": False}


def test_a_mail_lets_its_reader_unsubscribe_by_one_click():
    project, marit = private(), reader()
    send(project)

    mail = sent()[0]

    address = mail.extra_headers["List-Unsubscribe"]
    assert address == f"<{unsubscribe_url(marit, marit.email)}>"
    assert mail.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert address.strip("<>") in mail.body
    Client().post(re.findall(r"/mail/[^>]+", address)[0])
    assert reached(project, EVERYBODY) == mailing.Reach(chosen=1, unsubscribed=1, lately=1)
    send(project)
    assert len(sent()) == 1


def test_a_preview_reads_the_members_once():
    project = private()
    reader()
    send(project)
    with CaptureQueriesContext(connection) as queries:
        reach, mail = shown(project, at=NOW + timedelta(hours=1))

    assert mail is not None
    assert (reach.sent_now, reach.lately) == (1, 1)
    assert sum('"proven_address"' in query["sql"] for query in queries) == 1


def test_who_has_no_address_unsubscribed_or_left_gets_no_mail_and_is_counted():
    project = private()
    reader("Reachable")
    reader("Silent", mail_refused_at=NOW)
    reader("Nowhere", email="")
    reader("Gone", left_at=NOW)

    reach = send(project)

    assert reach == mailing.Reach(chosen=3, without_address=1, unsubscribed=1, sent_now=1, unproven=1)
    assert [each.to for each in sent()] == [["reachable@example.org"]]
    assert PersonalLink.objects.count() == 1


def test_the_proven_address_of_the_account_comes_before_what_staff_wrote():
    marit = reader()
    EmailAddress.objects.create(user=marit.user, email="own@example.org", verified=True, primary=True)
    olav = reader("Olav")
    EmailAddress.objects.create(user=olav.user, email="unproven@example.org", verified=False, primary=True)

    send(private())

    assert sorted(each.to[0] for each in sent()) == ["olav@example.org", "own@example.org"]


def test_a_member_is_written_to_three_times_in_seven_days_about_one_project():
    project, other = private(), private()
    reader()
    for hour in range(3):
        send(project, at=NOW + timedelta(hours=hour))

    fourth = send(project, at=NOW + timedelta(hours=3))

    assert fourth == mailing.Reach(chosen=1, at_limit=1, lately=1)
    assert Mail.objects.count() == 3
    assert send(other, at=NOW + timedelta(hours=3)).reachable == 1
    assert send(project, at=NOW + timedelta(days=7, minutes=1)).reachable == 1


def test_the_same_link_is_mailed_again_until_it_has_less_than_a_week_left():
    project = private()
    reader()

    for day in (0, 8, 24):
        send(project, at=NOW + timedelta(days=day))

    links = PersonalLink.objects.order_by("created_at")
    assert [link.created_at - NOW for link in links] == [timedelta(0), timedelta(days=24)]


def test_a_reminder_goes_to_those_who_were_mailed_and_have_not_begun():
    project = private()
    begun, waiting = reader("Begun"), reader("Waiting")
    send(project)
    reader("Later")
    arrive(PersonalLink.objects.get(member=begun)).send(value="Because")

    reach = send(project, REMINDER, at=NOW + timedelta(days=2))

    assert reach.chosen == 1
    assert list(PersonalLink.objects.filter(reminded_at__isnull=False).values_list("member_id")) == [
        (waiting.pk,)
    ]


def test_a_reminder_of_an_anonymous_project_goes_to_all_who_were_mailed():
    project = private(privacy_mode="anonymous")
    begun = reader("Begun")
    reader("Waiting")
    send(project)
    arrive(PersonalLink.objects.get(member=begun)).send(value="Because")

    assert reached(project, REMINDER, at=NOW + timedelta(days=2)).chosen == 2


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (Choice(Who.WITHOUT_LINK), {"Bo", "Cy"}),
        (Choice(Who.CREATORS), {"Cy"}),
        (Choice(Who.MEMBERS), {"Ann", "Bo"}),
        (Choice(Who.SEARCH, term="an"), {"Ann"}),
        (Choice(Who.SEARCH, term=" "), set()),
    ],
)
def test_members_are_chosen(choice, names):
    project = private()
    ann = reader("Ann")
    reader("Bo")
    reader("Cy", access="creator")
    link_for(ann, project, at=NOW)

    send(project, choice)

    assert {each.to[0] for each in sent()} == {f"{name.lower()}@example.org" for name in names}


def test_names_and_titles_cannot_break_a_mail():
    project = private(name="One\r\nBcc: all@example.org")
    eve = reader("Eve")
    confirm(eve)
    User.objects.filter(pk=eve.user_id).update(name="[title] <b>\nX: y")

    send(project, subject="For [name]: [title]")

    mail = sent()[0]
    assert mail.subject == "For [title] <b> X: y: One Bcc: all@example.org"
    assert "<b>\nX" not in mail.alternatives[0].content
    assert "&lt;b&gt;" in mail.alternatives[0].content


@pytest.mark.parametrize(("subject", "text"), [(" ", "Hello"), ("Hello", " ")])
def test_a_mail_needs_words(subject, text):
    reader()

    refused(InvalidRequest, send, private(), subject=subject, text=text)

    assert not Mail.objects.exists()


def test_links_to_a_project_that_is_not_open_are_not_sent():
    project = private()
    project.status = "inactive"
    project.save()
    reader()

    refused(Conflict, send, project)


def test_a_mail_is_not_readable_in_the_database():
    project = private()
    reader()
    send(project)

    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed FROM communities_mail")
        (sealed,) = cursor.fetchone()

    assert b"please answer" not in bytes(sealed)


def test_on_anonymous_projects_the_mail_says_so():
    reader()

    send(private(privacy_mode="anonymous"))

    assert "Your answers are anonymous" in sent()[0].body


@pytest.mark.django_db(transaction=True)
def test_of_many_sendings_at_once_three_are_written():
    project = private()
    reader()

    reaches = run_together(*[lambda: send(project, at=timezone.now())] * 5)

    assert sorted(reach.at_limit for reach in reaches) == [0, 0, 0, 1, 1]
    assert Mail.objects.count() == 3
    assert PersonalLink.objects.count() == 1
