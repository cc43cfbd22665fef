"""A copy of one's answers at the end, sharing, and answering again (rules 6.230 to 6.233)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from communities.ground.errors import Conflict
from communities.models import Community, Mail
from communities.services.mail import recipients
from communities.services.tenants import communities
from surveys.models import Conversation, Project
from surveys.services.responses import copies
from tests.support.concurrency import BackgroundCall, held_elsewhere
from tests.support.mails import confirm, written
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]
COPY = "Keep a copy of my answers"
TO = "friend@example.org"
LONG = "word " * 1_900


def ended(made: Project, *, signed_in: Any = None, **options: Any) -> Visitor:
    """A visitor who has answered all questions."""
    visitor = Visitor(made, **options)
    if signed_in is not None:
        visitor.client.force_login(signed_in)
    visitor.look()
    while "value" in visitor.page and "data-is-over" not in visitor.page:
        visitor.send(value="My <own> words")
    assert "data-is-over" in visitor.page
    return visitor


def address_in(mail: Any) -> str:
    found = re.search(r"http\S+(/s/\S+_answers=\S+)", mail["text"])
    assert found is not None
    return found[1]


def refuse_in(mail: Any) -> None:
    """Refuse further mails, as the reader of a mail."""
    reader = recipients.signed_reader(mail["headers"]["List-Unsubscribe"].split("/mail/")[1].split("/")[0])
    assert reader is not None
    recipients.refuse_mails(reader, at=timezone.now())


@pytest.mark.parametrize("options", [{}, {"htmx": True}, {"is_framed": True}])
def test_the_end_offers_a_copy_of_all_answers(options: dict[str, Any]) -> None:
    """Rule 6.230."""
    made = scenario.project({**TEXT, "prompt": "First?"}, {**TEXT, "prompt": "Why?"})
    visitor = ended(made, **options)
    assert COPY in visitor.page

    visitor.send("copy")

    assert "First?" in visitor.page
    assert visitor.page.count("My <own> words") == 2
    assert "data-print" in visitor.page
    assert 'type="email"' not in visitor.page
    visitor.send("look")
    assert "Thank you." in visitor.page


def test_a_copy_holds_a_long_answer_whole() -> None:
    made = scenario.project(*[{**TEXT, "required": False}] * 20)
    visitor = Visitor(made).look().send(value=LONG)
    for _ in range(19):
        visitor.send("skip")

    visitor.send("copy")

    assert LONG.strip() in visitor.page


@pytest.mark.parametrize("fields", [{"privacy_mode": "anonymous", "mail_copy": True}, {"type": "poll"}])
def test_anonymous_projects_and_polls_offer_none(fields: dict[str, Any]) -> None:
    """Rule 6.230."""
    made = scenario.project(CHOICE, **fields)
    visitor = Visitor(made).look()
    visitor.send(option=scenario.script(made).blocks[0].options[0].id)
    assert COPY not in visitor.page

    for do in ("copy", "mail"):
        visitor.send(do, email=TO)

    assert "data-print" not in visitor.page
    assert not Mail.objects.exists()


def test_an_account_gets_its_answers_at_its_confirmed_address() -> None:
    """Rule 6.231."""
    made = scenario.project({**TEXT, "prompt": "Why **now**?"}, name="Tea?", mail_copy=True)
    member = scenario.member("Ann")
    confirm(member, "ann@example.org")
    visitor = ended(made, signed_in=member.user).send("copy")
    assert 'value="ann@example.org"' in visitor.page

    visitor.send("mail", email="ANN@example.org")

    (mail,) = written("ann@example.org")
    assert mail["subject"] == "Your answers: Tea?"
    assert "Why now?: My <own> words" in mail["text"]
    assert "&lt;own&gt;" in mail["html"]


def test_a_test_mails_no_copies() -> None:
    """Rule 1.764."""
    made = scenario.project(TEXT, mail_copy=True)
    communities.make_test_side(made.community, at=made.created_at)
    made.community = Community.objects.get(test_of=made.community)
    made.save(update_fields=["community"])
    member = scenario.member("Ann")
    confirm(member, "ann@example.org")

    visitors = [ended(made), ended(made, signed_in=member.user)]
    offers = ['type="email"' in visitor.send("copy").page for visitor in visitors]
    for visitor, to in zip(visitors, (TO, "ann@example.org"), strict=True):
        visitor.send("mail", email=to)
        view: Any = SimpleNamespace(project=made)
        with pytest.raises(Conflict):
            copies.send(view, to=to, user_id=member.user_id, at=made.created_at)

    assert offers == [False, False]
    assert not Mail.objects.exists()


@pytest.mark.parametrize("options", [{}, {"htmx": True}, {"is_framed": True}])
def test_another_address_gets_a_link_that_shows_them(options: dict[str, Any]) -> None:
    """Rule 6.231."""
    made = scenario.project({**TEXT, "prompt": "Why?"}, name="Tea?", mail_copy=True)

    visitor = ended(made, **options).send("mail", email=TO)

    assert f"A mail is on its way to {TO}" in visitor.page
    (mail,) = written(TO)
    assert not {"Why?", "words"} & set(mail["text"].split())
    page = Client().get(address_in(mail)).content.decode()
    assert "My &lt;own&gt; words" in page
    assert 'content="noindex"' in page


@pytest.mark.parametrize("change", ["off", "deleted", "old", "torn"])
def test_a_link_that_shows_nothing_says_so(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = scenario.project(TEXT, mail_copy=True)
    ended(made).send("mail", email=TO)
    address = address_in(written(TO)[0])

    if change == "off":
        Project.objects.update(mail_copy=False)
    elif change == "deleted":
        Conversation.objects.all().delete()
    elif change == "old":
        now = timezone.now()
        monkeypatch.setattr(timezone, "now", lambda: now + timedelta(days=31))
    else:
        address = address[:-4]
    response = Client().get(address)

    assert response.status_code == 404
    assert b"This link does not work." in response.content
    assert b"My &lt;own" not in response.content


@pytest.mark.parametrize("typed", ["", "friend", "a@b", f"a@{70 * 'x'}.example", "a@b.org, c@d.org"])
def test_what_is_no_address_is_refused_at_the_field(typed: str) -> None:
    visitor = ended(scenario.project(TEXT, mail_copy=True)).send("mail", email=typed)

    assert visitor.status == 422
    assert "Enter an e-mail address, for example ada@example.org." in visitor.page
    assert not Mail.objects.exists()


def test_an_address_gets_three_and_none_that_it_refused() -> None:
    """Rule 6.232."""
    visitor = ended(scenario.project(TEXT, mail_copy=True))
    for _ in range(4):
        visitor.send("mail", email=TO)
        assert f"A mail is on its way to {TO}" in visitor.page
    assert len(written(TO)) == 3

    visitor.send("mail", email="other@example.org")
    refuse_in(written("other@example.org")[0])
    visitor.send("mail", email="other@example.org")

    assert "A mail is on its way to other@example.org" in visitor.page
    assert len(written("other@example.org")) == 1


def test_an_address_gets_three_also_from_those_who_ask_at_once() -> None:
    """Rule 6.232."""
    made = scenario.project(TEXT, mail_copy=True)
    first, second = ended(made), ended(made)
    for _ in range(2):
        first.send("mail", email=TO)

    @contextmanager
    def third_is_written() -> Iterator[None]:
        with transaction.atomic():
            first.send("mail", email=TO)
            yield

    with held_elsewhere(third_is_written):
        call = BackgroundCall(partial(second.send, "mail", email=TO))
        assert call.waits_for_lock()

    assert f"A mail is on its way to {TO}" in call.result().page
    assert len(written(TO)) == 3


def test_copies_leave_half_of_the_mails_of_a_day(settings: Any) -> None:
    """Rule 6.232."""
    settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY = 4
    visitor = ended(scenario.project(TEXT, mail_copy=True))

    pages = [visitor.send("mail", email=f"{n}@example.org").page for n in range(3)]

    assert ["Too many mails were sent today." in page for page in pages] == [False, False, True]
    assert Mail.objects.count() == 2


def test_nobody_learns_who_refused_when_the_mails_of_a_day_are_used(settings: Any) -> None:
    """Rule 6.232."""
    settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY = 8
    visitor = ended(scenario.project(TEXT, mail_copy=True))
    for to in ("refuser@example.org", TO, TO, TO):
        visitor.send("mail", email=to)
    refuse_in(written("refuser@example.org")[0])

    for to in ("refuser@example.org", TO, "new@example.org"):
        assert "Too many mails were sent today." in visitor.send("mail", email=to).page
    assert Mail.objects.count() == 4


def test_a_network_asks_for_ten_in_an_hour() -> None:
    """Rule 6.232."""
    visitor = ended(scenario.project(TEXT, mail_copy=True))

    for n in range(11):
        visitor.send("mail", email=f"{n}@example.org")

    assert "Too many mails were sent today." in visitor.page
    assert Mail.objects.count() == 10


@pytest.mark.parametrize(
    ("fields", "options", "is_offered"),
    [({}, {}, True), ({}, {"is_framed": True}, False), ({"participation": "private"}, {}, False)],
)
def test_public_pages_offer_to_share_their_address(fields: Any, options: Any, is_offered: bool) -> None:
    """Rule 6.233."""
    made = scenario.project(TEXT, **fields)
    member = scenario.member("Ann").user if fields else None

    visitor = ended(made, signed_in=member, **options)

    assert ("data-share" in visitor.page) == is_offered


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Tea?", "Answers to the survey “Tea?” of "),
        ("x" * 81, f"Answers to the survey “{'x' * 79}…” of "),
        ("Win at prizes.example", "Answers to a survey of "),
        ("Write to a@b", "Answers to a survey of "),
    ],
)
def test_a_mail_to_another_address_names_the_survey_without_addresses(name: str, words: str) -> None:
    """Rule 6.231."""
    made = scenario.project(TEXT, name=name, mail_copy=True)

    ended(made).send("mail", email=TO)

    (mail,) = written(TO)
    assert mail["subject"] == words + made.community.name
