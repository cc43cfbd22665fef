"""Personal links in the admin: the list, one link, sending and reminding, the file."""

from __future__ import annotations

import csv
import html
import io
from datetime import timedelta

import pytest
from django.utils import timezone

from communities.models import AuditEntry, Mail, Member
from communities.services.mail import mails
from surveys.models import PersonalLink, Project
from surveys.services.links import addresses
from tests.factories import MemberFactory
from tests.support.caller import Caller
from tests.support.mails import confirm
from tests.support.staff import hidden, row_titles, text_of
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import arrive, link_for, private
from tests.support.surveys.project_tabs import project_staff, tab

pytestmark = pytest.mark.django_db
WORDS = {"who": "all", "term": "", "subject": "For [name]", "text": "Please answer."}


@pytest.fixture(autouse=True)
def in_no_hurry(settings):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


@pytest.fixture
def staff():
    return project_staff()


def reader(name: str = "Marit", **fields) -> Member:
    member = scenario.member(name)
    Member.objects.filter(pk=member.pk).update(**{"email": f"{name.lower()}@example.org", **fields})
    return member


def send(staff, project, **fields):
    """Send the form twice as a browser does: look at the mail, then send it."""
    address = tab(project.pk, "share_links_send")
    preview = staff.client.post(address, {**WORDS, "ticket": "one", "do": "preview", **fields})
    names = ("ticket", "who", "term", "member", "subject", "text")
    sent = {
        name: html.unescape(hidden(preview, name))
        for name in names
        if f'name="{name}" value' in preview.content.decode()
    }
    return preview, staff.client.post(address, {**sent, "do": "send"}, follow=True)


def test_the_list_tells_how_far_each_member_is(staff):
    project = private(scenario.TEXT, scenario.TEXT)
    now = timezone.now()
    link_for(reader("Waiting"), project, at=now - timedelta(minutes=1))
    arrive(link_for(reader("Looking"), project, at=now - timedelta(minutes=2)))
    arrive(link_for(reader("Begun"), project, at=now - timedelta(minutes=3))).send(value="1")
    arrive(link_for(reader("Done"), project, at=now - timedelta(minutes=4))).send(value="1").send(value="2")
    link_for(reader("Gone"), project, at=now - timedelta(minutes=5), revoked_at=now)
    link_for(reader("Old"), project, at=now - timedelta(days=31))

    response = staff.client.get(tab(project.pk, "share_links"))

    page = response.content.decode()
    assert row_titles(page) == ["Waiting", "Looking", "Begun", "Done", "Gone", "Old"]
    text = text_of(response)
    order = [
        text.index(word)
        for word in ("Not opened", "Opened", "Begun Begun", "Completed", "Revoked", "Expired")
    ]
    assert order == sorted(order)


def test_on_anonymous_projects_the_list_tells_only_that_a_link_was_sent(staff):
    project = private(privacy_mode="anonymous")
    link = link_for(reader(), project, mailed_at=timezone.now())
    arrive(link).send(value="1")

    text = text_of(staff.client.get(tab(project.pk, "share_links")))
    one = text_of(staff.client.get(tab(project.pk, "share_link", link.pk)))

    assert "Link sent" in text
    assert "This project is anonymous. Nothing is stored of who opened a link" in text
    for word in ("Completed", "Begun", "Opened", "First opened"):
        assert word not in text + one


def test_sending_shows_the_mail_and_who_is_left_out_then_writes_it_once(staff):
    project = private(name="First moves")
    confirm(reader(), "marit@example.org")
    reader("Nowhere", email="")
    reader("Silent", mail_refused_at=timezone.now())

    preview, sent = send(staff, project)

    told = text_of(preview)
    assert "Send 1 mail?" in told
    assert "For Marit" in told
    assert "To the address of their account" in told
    assert "marit@example.org" not in told
    assert "2 members have no mail address." in told  # the admin has none either
    assert "1 member has unsubscribed." in told
    assert "Answer: http" in told
    assert "1 mail will be sent now." in text_of(sent)
    assert "1 waiting" in text_of(sent)
    mails.send_due(at=timezone.now())
    assert "1 sent" in text_of(staff.client.get(tab(project.pk, "share_links")))


def test_looking_at_the_mail_makes_no_link_and_sends_nothing(staff):
    project = private()
    reader()

    staff.client.post(tab(project.pk, "share_links_send"), {**WORDS, "ticket": "one", "do": "preview"})

    assert not PersonalLink.objects.exists()
    assert not Mail.objects.exists()


def test_a_double_click_sends_once(staff):
    project = private()
    reader()
    address, sent = tab(project.pk, "share_links_send"), {**WORDS, "ticket": "one", "do": "send"}

    staff.client.post(address, sent)
    again = staff.client.post(address, sent, follow=True)

    assert Mail.objects.count() == 1
    assert "was sent before" in text_of(again)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"subject": ""}, "Subject"),
        ({"who": "search"}, "Say whom to look for."),
        ({"who": "strangers"}, "To"),
    ],
)
def test_what_is_missing_is_said_at_its_field(staff, fields, words):
    page = staff.client.post(tab(private().pk, "share_links_send"), {**WORDS, "ticket": "one", **fields})

    assert page.status_code == 422
    assert words in text_of(page)


def test_a_project_that_is_not_open_sends_nothing(staff):
    project = private()
    project.status = "inactive"
    project.save()
    reader()

    page = staff.client.post(tab(project.pk, "share_links_send"), {**WORDS, "ticket": "one", "do": "send"})

    assert page.status_code == 422
    assert "Open the project before you send links to it." in text_of(page)
    assert not Mail.objects.exists()


def test_one_link_shows_its_address_and_can_be_sent_again(staff):
    project, marit = private(), reader()
    reader("Olav")
    link = link_for(marit, project, mailed_at=timezone.now())

    page = staff.read(tab(project.pk, "share_link", link.pk))
    assert addresses.url_of(project=project, link_id=link.pk) in page
    assert f"{tab(project.pk, 'share_links_send')}?member={marit.pk}" in page
    send(staff, project, member=str(marit.pk), who="")

    assert Mail.objects.get().user_id == marit.user_id
    assert PersonalLink.objects.count() == 1


def test_a_link_is_revoked(staff):
    project = private()
    link = link_for(reader(), project)

    told = staff.client.post(tab(project.pk, "share_link_revoke", link.pk), follow=True)

    assert "The link is revoked" in text_of(told)
    assert "Revoked" in text_of(told)
    link.refresh_from_db()
    assert link.revoked_at


def test_the_file_holds_the_addresses(staff):
    project = private()
    link = link_for(reader(), project)

    answer = staff.client.get(tab(project.pk, "share_links_file", "csv"))

    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    assert list(csv.reader(io.StringIO(text)))[1][1:4] == [
        *("Marit", "marit@example.org", addresses.url_of(project=project, link_id=link.pk))
    ]
    assert AuditEntry.objects.get(action="link.exported").after == {"format": "csv"}


def test_a_link_of_another_project_is_not_found(staff):
    link = link_for(reader(), private())

    other = private()

    assert staff.client.get(tab(other.pk, "share_link", link.pk)).status_code == 404
    assert staff.client.post(tab(other.pk, "share_link_revoke", link.pk)).status_code == 404


def test_staff_say_where_mails_to_a_member_go(staff):
    member = scenario.member("Marit")
    address = f"/admin/communities/member/{member.pk}/email/"

    wrong = staff.client.post(address, {"email": "nowhere"})
    assert "Enter a valid email address" in text_of(wrong)
    staff.client.post(address, {"email": "marit@example.org"})

    member.refresh_from_db()
    assert member.email == "marit@example.org"
    entry = AuditEntry.objects.get(action="member.updated")
    assert (entry.before, entry.after) == ({"has_email": False}, {"has_email": True})


def test_the_choices_tell_how_many_members_they_have(staff):
    project = private()
    link_for(reader(), project, mailed_at=timezone.now())
    reader("Olav")

    text = text_of(staff.client.get(tab(project.pk, "share_links_send")))

    for words in (
        "All members (3)",
        "given no link yet (2)",
        "have not begun (1)",
        "Admins (1)",
        "Creators (0)",
    ):
        assert words in text


def test_whose_link_was_revoked_gets_no_new_one_with_the_next_sending(staff):
    project = private()
    link_for(reader(), project, revoked_at=timezone.now())

    text = text_of(staff.client.get(tab(project.pk, "share_links_send")))

    assert "given no link yet (1)" in text  # the admin


def test_links_are_made_without_a_mail_once_for_each(staff):
    project, member = private(), reader("Olav", email="")
    address = tab(project.pk, "share_links_send")
    form = {**WORDS, "who": "member", "ticket": "one"}

    nobody = text_of(staff.client.post(address, {**form, "do": "preview"}))
    made = staff.client.post(address, {**form, "do": "make"}, follow=True)
    again = staff.client.post(address, {**form, "do": "make"}, follow=True)

    assert "Nobody to send it to" in nobody
    assert "Olav None Add one for Olav" in nobody
    assert "1 link made." in text_of(made)
    assert "Everybody has a link already." in text_of(again)
    assert PersonalLink.objects.get().member_id == member.pk
    assert not Mail.objects.exists()


def test_a_second_mail_within_a_day_is_warned_of_and_who_unsubscribed_is_shown(staff):
    project, member = private(), reader()
    send(staff, project, who="member")

    warned, _ = send(staff, project, who="not_begun")
    Member.objects.filter(pk=member.pk).update(mail_refused_at=timezone.now())
    listed = text_of(staff.client.get(tab(project.pk, "share_links")))

    assert "1 member has had a mail about this project in the last 24 hours." in text_of(warned)
    assert "Unsubscribed" in listed


def test_a_link_does_not_stand_for_a_role_and_the_preview_says_so(staff):
    project = private()
    reader()
    audience = {**(project.delivery or {}).get("audience", {}), "required_role_ids": ["17"]}
    Project.objects.filter(pk=project.pk).update(delivery={**(project.delivery or {}), "audience": audience})

    preview, _ = send(staff, project, who="member")

    assert "They need this role: 17. A personal link does not stand for that" in text_of(preview)


def test_a_project_that_turns_anonymous_forgets_when_links_were_opened():
    caller = Caller()
    project = Project.objects.get(pk=caller.make_open()["id"])
    link = link_for(MemberFactory.create(community=caller.community), project)
    arrive(link)
    link.refresh_from_db()
    assert link.used_at

    answer = caller.patch(f"/projects/{project.pk}", {"settings": {"privacy_mode": "anonymous"}})

    assert answer.status_code == 200
    link.refresh_from_db()
    assert link.used_at is None
