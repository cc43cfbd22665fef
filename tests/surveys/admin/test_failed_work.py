"""The page “Failed work”: what it lists, for whom, and how each is tried again."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from communities.models import ChatTask, Mail
from surveys.models import Project, ResultsCount
from tests.factories import DeliveryFactory, EventFactory, MemberFactory, ProjectFactory, WebhookFactory
from tests.support.staff import Staff, client_of, row_titles, text_of
from tests.support.surveys.project_tabs import analysis
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db
LIST = "/admin/failed-work/"


def fail_everything(word: str) -> Project:
    """A project in a new community in which work of every kind has failed; names contain the word."""
    project = ProjectFactory.create(name=f"Survey {word}")
    community, now = project.community, timezone.now()
    analysis(project, "failed", error=f"No answer {word}.", created_at=now)
    ResultsCount.objects.create(
        project=project, part=word, revision=0, changes=0, status="failed", error="Lost.", created_at=now
    )
    webhook = WebhookFactory.create(community=community, name=f"Hook {word}", failing_since=now)
    event = EventFactory.create(community=community, type="project.opened", created_at=now)
    DeliveryFactory.create(
        webhook=webhook, event=event, status="abandoned", due_at=None, response_status=500, created_at=now
    )
    ChatTask.objects.create(
        community=community, kind="chat.post", subject=word, status="abandoned", error="Gone.", created_at=now
    )
    member = MemberFactory.create(community=community)
    for kind in (f"personal_link:{project.pk}", "account/email/invitation", "answers_copy"):
        Mail.objects.create(
            community=community,
            user=member.user,
            kind=kind,
            status="abandoned",
            last_error=f"SMTPRecipientsRefused: secret-{word}@example.org",
            created_at=now,
        )
    return project


def buttons(page: str) -> list[str]:
    return re.findall(r'<form method="post" action="(/admin/[^"]*/(?:again|redeliver)/[^"]*)"', page)


def test_admins_see_what_failed_with_its_reason() -> None:
    """Rule 12.200."""
    project = fail_everything("here")
    fail_everything("elsewhere")

    page = client_of(project.community).get(LIST)
    text = html.unescape(text_of(page))

    for expected in ("No answer here.", "Lost.", "Answer 500", "Given up. Gone.", "SMTPRecipientsRefused"):
        assert expected in text
    assert text.count("Messages to Hook here") == text.count("Colloquy tries them again by itself.") == 1
    assert text.count("Personal link to Survey here") == 1
    assert "elsewhere" not in text
    assert "example.org" not in text  # addresses are nobody's business
    assert "answers_copy" not in text  # nor is who asked for a copy


def test_the_home_page_counts_what_failed_this_week() -> None:
    """Rule 12.953. Webhooks and the chat have sentences of their own there."""
    project = fail_everything("here")
    fail_everything("elsewhere")
    words = "4 tasks in the background failed this week."

    admin, creator = (
        text_of(client_of(project.community, each).get("/admin/")) for each in ("admin", "creator")
    )

    assert words in admin
    assert "failed this week" not in creator
    Mail.objects.update(created_at=timezone.now() - timedelta(days=8))
    assert "2 tasks in the background" in text_of(client_of(project.community).get("/admin/"))


def test_creators_and_members_do_not_find_the_page() -> None:
    """Rule 12.200."""
    community = fail_everything("here").community

    assert [client_of(community, each).get(LIST).status_code for each in ("member", "creator")] == [404, 404]


def test_operators_see_all_communities_on_request() -> None:
    """Rule 12.201."""
    for word in ("one", "two"):
        fail_everything(word)
    project = Project.objects.get(name="Survey one")
    operator = Staff("superuser", community=project.community)

    alone, everything = (text_of(operator.client.get(f"{LIST}{query}")) for query in ("", "?of=all"))

    assert sum(f"Survey {word}" in alone for word in ("one", "two")) == 1
    assert all(f"Survey {word}" in everything for word in ("one", "two"))
    admin = client_of(project.community)
    assert "Survey two" not in text_of(admin.get(f"{LIST}?of=all"))


def test_a_message_to_a_webhook_is_tried_again_from_the_list() -> None:
    """Rule 12.202."""
    project = fail_everything("here")
    client = client_of(project.community)

    addresses = buttons(client.get(LIST).content.decode())
    answers = [client.post(each).status_code for each in addresses]

    assert len(addresses) == 2  # the webhook and the chat; the others ask first
    assert answers == [302, 302]
    assert Delivery.objects.filter(status="pending").count() == 1
    assert ChatTask.objects.get().status == "pending"


def test_an_analysis_is_listed_until_it_is_asked_for_again() -> None:
    """Rule 12.202."""
    project = ProjectFactory.create(name="Club evening")
    client = client_of(project.community)
    analysis(project, "failed", error="No answer.", created_at=timezone.now())
    before = row_titles(client.get(LIST).content.decode())

    analysis(project, "completed", created_at=timezone.now())

    assert before == ["Club evening"]
    assert row_titles(client.get(LIST).content.decode()) == []


def test_old_failures_are_not_listed() -> None:
    """Rule 12.200."""
    project = ProjectFactory.create(name="Club evening")
    analysis(project, "failed", error="No answer.", created_at=timezone.now() - timedelta(days=31))

    assert "Nothing has failed." in text_of(client_of(project.community).get(LIST))
