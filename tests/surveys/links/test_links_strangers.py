"""Mails to addresses that nobody confirmed: how many a community sends in a day, and to one address.

Rules 7.31 and 7.33.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from communities.ground.errors import Conflict
from communities.models import Mail, MailSum, Member
from communities.services.mail import mail_sums, mails
from communities.services.people.personal_data import erase_member
from surveys.models import PersonalLink, Project
from surveys.services.links import mailing
from surveys.services.links.mailing import Choice, Reach, Who
from tests.factories import CommunityFactory, StaffFactory
from tests.support.actors import actor
from tests.support.concurrency import BackgroundCall, held_elsewhere, run_together
from tests.support.mails import confirm, written
from tests.support.refusals import refused
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import private
from tests.support.surveys.project_tabs import project_staff, tab

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture
def sum_of_three(settings: Any) -> None:
    settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY = 3


def reader(name: str, email: str = "") -> Member:
    member = scenario.member(name)
    member.email = email or f"{name.lower()}@example.org"
    member.save()
    return member


def send(project: Project, *, who: Who = Who.WITHOUT_LINK, at: datetime = NOW) -> Reach:
    staff, _ = StaffFactory._meta.model.objects.get_or_create(username="staff", is_superuser=True)
    return mailing.send(
        actor=actor("admin", user_id=staff.pk),
        project_id=project.pk,
        choice=Choice(who),
        subject="Words",
        text="Words",
        at=at,
    )


def again(project: Project, *, at: datetime) -> Reach:
    PersonalLink.objects.all().delete()
    return send(project, at=at)


# --- One address ----------------------------------------------------------------------------------------


def test_an_address_gets_three_mails_a_week_however_many_members_have_it():
    project = private()
    for number in range(5):
        reader(f"Bot {number}", "Victim@example.org" if number % 2 else "victim@EXAMPLE.org")

    reach = send(project)

    assert reach == Reach(chosen=5, at_limit=2, sent_now=3, unproven=3)
    assert Counter(mail["to"].lower() for mail in written()) == {"victim@example.org": 3}
    assert again(project, at=NOW + timedelta(days=6)).sent_now == 0
    assert again(project, at=NOW + timedelta(days=7, minutes=1)).sent_now == 3


@pytest.mark.django_db(transaction=True)
def test_an_address_gets_three_mails_also_from_those_who_send_at_once():
    project = private()
    reader("Bot")
    for _ in range(2):
        send(project, who=Who.ALL)

    @contextmanager
    def third_is_written() -> Iterator[None]:
        with transaction.atomic():
            send(project, who=Who.ALL)
            yield

    with held_elsewhere(third_is_written):
        call = BackgroundCall(lambda: send(project, who=Who.ALL))
        assert call.waits_for_lock()

    assert call.result() == Reach(chosen=1, at_limit=1, lately=1)
    assert len(written()) == 3


def test_an_address_that_is_passed_on_to_another_member_keeps_its_count():
    project = private()
    first = reader("First", "victim@example.org")
    for hour in range(3):
        again(project, at=NOW + timedelta(hours=hour))
    Member.objects.filter(pk=first.pk).update(email="elsewhere@example.org")
    reader("Second", "victim@example.org")

    again(project, at=NOW + timedelta(hours=4))

    assert Counter(mail["to"] for mail in written()) == {
        "victim@example.org": 3,
        "elsewhere@example.org": 1,
    }


def test_an_address_keeps_its_count_when_its_member_is_erased_and_added_again():
    project = private()
    for _ in range(3):
        member = reader("Again", "victim@example.org")
        assert send(project).sent_now == 1
        mails.send_due(at=NOW)
        Mail.objects.filter(user=member.user_id).update(last_error="victim@example.org is full")
        PersonalLink.objects.all().delete()
        with transaction.atomic():
            erase_member(community_id=1, member_id=member.pk, user_id=member.user_id)
    reader("Again", "victim@example.org")

    assert send(project) == Reach(chosen=1, at_limit=1, lately=1)
    assert not Mail.objects.exclude(user=None, last_error="", sealed=None).exists()


# --- One day --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("sum_of_three")
def test_a_community_sends_a_sum_a_day_and_those_who_confirmed_do_not_count():
    project = private()
    for number in range(5):
        reader(f"Stranger {number}", f"{number}@example.org")
    for number in range(2):
        confirm(reader(f"Known {number}", f"known-{number}@example.org"))

    first = send(project)
    second = refused(Conflict, send, project)
    tomorrow = send(project, at=NOW + timedelta(days=1))

    assert first == Reach(chosen=7, over_sum=2, sent_now=5, unproven=3)
    assert second.message == mail_sums.refusal(wanted=2, left=0)
    assert second.message.startswith("A community can send 3 mails a day")
    assert tomorrow == Reach(chosen=2, sent_now=2, unproven=2)
    assert len({mail["to"] for mail in written()}) == 7
    assert list(MailSum.objects.order_by("day").values_list("mails", flat=True)) == [3, 2]


@pytest.mark.usefixtures("sum_of_three")
def test_erasing_those_who_were_written_to_gives_no_mails_back():
    project = private()
    members = [reader(f"Stranger {number}", f"{number}@example.org") for number in range(3)]
    send(project)
    PersonalLink.objects.all().delete()
    with transaction.atomic():
        for each in members:
            erase_member(community_id=1, member_id=each.pk, user_id=each.user_id)
    reader("Fourth")

    refused(Conflict, send, project)


@pytest.mark.usefixtures("sum_of_three")
def test_a_day_is_that_of_utc_and_a_sum_is_a_communitys_own():
    late, midnight = datetime(2026, 3, 1, 23, 59, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)
    one, other = CommunityFactory.create(), CommunityFactory.create()
    mail_sums.take(community_id=one.pk, wanted=2, at=late)

    assert mail_sums.left(community_id=one.pk, at=late) == 1
    assert mail_sums.left(community_id=one.pk, at=midnight) == 3
    assert mail_sums.left(community_id=other.pk, at=late) == 3
    with pytest.raises(Conflict, match="1 of today's are left, and these are 2, so nothing was sent"):
        mail_sums.take(community_id=one.pk, wanted=2, at=late)
    mails.forget_old(at=late + timedelta(days=8))
    assert not MailSum.objects.exists()


@pytest.mark.usefixtures("sum_of_three")
@pytest.mark.django_db(transaction=True)
def test_sendings_at_once_do_not_exceed_the_sum_together():
    projects = [private() for _ in range(4)]
    for number in range(2):
        reader(f"Stranger {number}", f"{number}@example.org")

    outcomes = run_together(*[lambda project=each: _sent(project) for each in projects])

    assert sum(outcomes) == Mail.objects.count() == MailSum.objects.get().mails == 3


def _sent(project: Project) -> int:
    try:
        return send(project).sent_now
    except Conflict:
        return 0


# --- The form -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("sum_of_three")
def test_the_form_says_who_has_to_wait_and_who_gets_another_text_and_keeps_what_was_typed():
    staff = project_staff()
    project = private(name="Win at evil.example")
    for number in range(5):
        reader(f"Stranger {number}", f"{number}@example.org")
    words = {"who": "without_link", "term": "", "subject": "Buy now", "text": "Cheap things."}
    address = tab(project.pk, "share_links_send")

    preview = staff.client.post(address, {**words, "ticket": "1", "do": "preview"}).content.decode()
    staff.client.post(address, {**words, "ticket": "1", "do": "send"})
    over = staff.client.post(address, {**words, "ticket": "2", "do": "send"})

    assert "Send 3 mails?" in preview
    assert "2 members have to wait until tomorrow" in preview
    assert "3 members have not confirmed their address: the mail to them has a text of ours" in preview
    assert "asks you to answer a survey." in preview
    assert over.status_code == 422
    page = over.content.decode()
    assert "A community can send 3 mails a day" in page
    assert "Cheap things." in page
    assert "Buy now" in page
    assert len(written()) == 3
    assert not [mail for mail in written() if "evil.example" in str(mail) or "Cheap" in str(mail)]
