"""The page before a project opens, after it closes, after the answer, and for people who are not admitted."""

import re
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from surveys.models import Conversation, Project
from surveys.pages.respondent import browsers
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT
from tests.support.surveys.visitor import Visitor, kept_id

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]


@pytest.mark.parametrize("noun", ["survey", "poll"])
@pytest.mark.parametrize("delivery", [None, {"audience": {"participation": "open_web"}}])
def test_a_project_that_was_never_opened_does_not_say_that_it_was_closed(delivery, noun):
    made = scenario.project(
        CHOICE,
        type="poll" if noun == "poll" else "convo",
        status="inactive",
        opened_at=None,
        delivery=delivery,
    )

    visitor = Visitor(made).look()

    assert "Not open yet." in visitor.page
    assert "closed" not in visitor.page


@pytest.mark.parametrize("rank", ["9" * 5_000, "²", "-1"])
def test_a_rank_that_is_no_number_is_left_out_of_what_was_typed(rank):
    ranking = {"type": "ranking", "options": ["a", "b"]}
    made = scenario.project(ranking, {**TEXT, "prompt": "Last."})
    visitor = Visitor(made).look()
    made.status = "inactive"
    made.save()

    visitor.send(**{f"rank-{scenario.option_id(made, 'q0', 0)}": rank})

    assert "closed" in visitor.page


def test_closing_while_answering_keeps_what_was_typed_in_sight():
    made = scenario.project(TEXT, {**TEXT, "prompt": "Second."})
    visitor = Visitor(made).look().send(value="one")
    made.status = "inactive"
    made.save()

    visitor.send(value="a long thought")

    assert "This survey is closed." in visitor.page
    assert "a long thought" in visitor.page
    assert "What you answered before is saved." in visitor.page
    assert scenario.answers_of(made) == [("Prompt 0.", "one")]


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_question_that_its_author_took_out_is_not_called_answered(has_begun):
    made = scenario.project(TEXT, TEXT)
    visitor = Visitor(made).look()
    if has_begun:
        visitor.send(value="one")
    visitor.hidden["block"] = "999999999"

    visitor.send(value="two")

    assert "The author has changed the questions." in visitor.page


def test_a_closed_survey_says_so():
    made = scenario.project(TEXT, status="inactive")

    visitor = Visitor(made).look()

    assert (visitor.status, "This survey is closed." in visitor.page) == (200, True)


def test_a_survey_that_opens_later_tells_the_moment():
    opens_at = timezone.now() + timedelta(days=2)
    made = scenario.project(TEXT, status="inactive", opens_at=opens_at)

    visitor = Visitor(made).look()

    assert "Not open yet." in visitor.page
    assert f"{opens_at:%H:%M} UTC" in visitor.page
    assert "data-local" in visitor.page


@pytest.mark.parametrize("fields", [{}, {"type": "poll", "poll_results_mode": "hidden"}])
def test_the_first_page_says_until_when_the_project_is_open(fields):
    """The script of the page shows the time in the visitor's zone.

    The next question does not show the time.
    """
    closes_at = timezone.now() + timedelta(days=2)
    made = scenario.project(CHOICE, TEXT, closes_at=closes_at, **fields)
    other = scenario.project(CHOICE, TEXT, **fields)

    visitor, elsewhere = Visitor(made).look(), Visitor(other).look()

    said = re.search(r'Open until <time datetime="([^"]+)" data-local>\s*([^<]+)</time>', visitor.page)
    assert said is not None
    assert said.groups() == (closes_at.isoformat(), f"{closes_at:%-d %B %Y, %H:%M} UTC")
    assert "Open until" not in elsewhere.page
    visitor.send(option=scenario.script(made).blocks[0].options[0].id)
    assert "Open until" not in visitor.page


@pytest.mark.parametrize("htmx", [False, True])
def test_whoever_comes_back_to_the_first_question_reads_again_until_when_the_project_is_open(htmx):
    closes_at = timezone.now() + timedelta(days=2)
    made = scenario.project({**CHOICE, "required": True}, TEXT, closes_at=closes_at)
    visitor = Visitor(made, htmx=htmx).look().send(option=scenario.option_id(made, "q0", 0))
    assert "Open until" not in visitor.page

    assert "Open until" in visitor.send("back").page
    assert "Open until" in visitor.send(option="").page  # with an error
    assert "Open until" in visitor.look().page


def test_whoever_changes_their_vote_reads_until_when_the_poll_is_open():
    made = scenario.project(
        CHOICE, TEXT, type="poll", change_poll=True, closes_at=timezone.now() + timedelta(days=2)
    )
    visitor = Visitor(made).look().send(option=scenario.option_id(made, "q0", 0))
    assert "Open until" not in visitor.page

    assert "Open until" in visitor.send("change").page


def test_whoever_has_answered_is_thanked_again():
    made = scenario.project(TEXT, max_completes_per_user=1)
    visitor = Visitor(made).look().send(value="one")

    visitor.look()

    assert "You have answered this already." in visitor.page
    assert "Answer again" not in visitor.page


def test_answering_again_begins_anew_where_it_is_allowed():
    made = scenario.project(TEXT)
    visitor = Visitor(made).look().send(value="one")

    visitor.send("again")
    visitor.send(value="two")

    assert sorted(value for _, value in scenario.answers_of(made)) == ["one", "two"]


def test_at_the_limit_a_browser_without_the_conversation_is_told_too():
    made = scenario.project(TEXT, max_completes_per_user=1, privacy_mode="anonymous")
    visitor = Visitor(made).look().send(value="one")
    del visitor.client.cookies["colloquy_conversation"]

    visitor.look()

    assert "You have answered already." in visitor.page


@pytest.mark.parametrize("htmx", [False, True])
def test_what_was_said_on_an_anonymous_survey_leaves_the_browser_with_its_end(htmx):
    """Rule 7.14."""
    made = scenario.project(
        TEXT, {**TEXT, "prompt": "And?"}, privacy_mode="anonymous", thanks="That was kind."
    )
    visitor = Visitor(made, htmx=htmx).look().send(value="one")
    conversation = Conversation.objects.get()
    was_kept = kept_id(visitor) == conversation.pk
    sent = dict(visitor.hidden)

    visitor.send(value="two")
    is_thanked = "That was kind." in visitor.page
    kept = kept_id(visitor)
    visitor.hidden = sent
    pressed_twice = visitor.send(value="two").page
    visitor.headers = {}
    later = visitor.look()

    assert (was_kept, is_thanked) == (True, True)
    for page in (pressed_twice, later.page):
        assert "You have answered this already." in page
        assert "This browser keeps nothing of your answers." in page
        assert not {"one", "two", "And?"} & set(re.split(r"[<>]", page))
    assert str(conversation.pk) not in later.page
    assert kept == browsers.ANSWERED
    assert later.response["Cache-Control"] == "private, no-store"
    assert (Conversation.objects.count(), len(scenario.answers_of(made))) == (1, 2)
    assert "Answer again" in later.page
    assert 'name="value"' in visitor.send("again").page


def test_a_vote_that_can_be_changed_stays_in_the_browser_until_the_poll_closes():
    made = scenario.project(CHOICE, type="poll", privacy_mode="anonymous", change_poll=True)
    visitor = Visitor(made).look().send(option=scenario.script(made).blocks[0].options[0].id)
    is_changeable = "Change my vote" in visitor.look().page
    Project.objects.update(change_poll=False)

    visitor.look()

    assert is_changeable
    assert kept_id(visitor) == browsers.ANSWERED
    assert "You have voted in this poll." in visitor.look().page


@pytest.mark.parametrize(
    ("privacy_mode", "told"),
    [
        ("transparent", "Everybody in the community can see the answers that you give here."),
        (
            "semi-private",
            "Only the authors and the community’s admins can see the answers that you give here.",
        ),
        ("anonymous", "Your answers are anonymous: nothing that we store joins them to you."),
    ],
)
@pytest.mark.parametrize("kind", ["convo", "poll"])
def test_strangers_read_who_can_see_their_answers(privacy_mode, told, kind):
    page = Visitor(scenario.project(CHOICE, privacy_mode=privacy_mode, type=kind)).look().page

    assert told in page
    assert "Not you?" not in page


def test_a_private_survey_asks_for_a_sign_in():
    made = scenario.project(TEXT, participation="private")

    visitor = Visitor(made).look()

    assert visitor.status == 403
    assert "Please sign in first." in visitor.page
    assert 'name="robots" content="noindex"' in visitor.page


def test_a_member_who_signed_in_is_let_in():
    made = scenario.project({**TEXT, "prompt": "Hello [UserName]."}, participation="private")
    member = scenario.member("Ann")
    visitor = Visitor(made)
    visitor.client.force_login(member.user)

    visitor.look()
    assert "Hello Ann." in visitor.page
    visitor.send(value="one")

    assert made.conversations.get().user_id == member.user_id


def test_somebody_signed_in_who_is_no_member_is_told_what_is_missing():
    made = scenario.project(TEXT, participation="private")
    stranger = scenario.member("Bo", number=2)
    visitor = Visitor(made)
    visitor.client.force_login(stranger.user)

    page = visitor.look().page

    assert "This is for members of Community 1." in page
    assert "You are signed in as Bo, who is not a member of it." in page


@pytest.mark.parametrize("address", ["/s/nothing-here", "/s/%00", "/s/a b", "/nowhere"])
def test_an_unknown_address_is_a_friendly_page(client, address):
    page = client.get(address)

    assert page.status_code == 404
    assert "We cannot find this page." in page.content.decode()


def test_cookies_are_signed_and_out_of_reach_of_scripts(settings):
    settings.SESSION_COOKIE_SECURE = True
    made = scenario.project(TEXT)
    visitor = Visitor(made).look().send(value="one")

    for name in ("colloquy_visitor", "colloquy_conversation"):
        cookie = visitor.client.cookies[name]
        assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")


def test_a_cookie_that_was_tampered_with_counts_as_none():
    made = scenario.project(TEXT)
    visitor = Visitor(made).look().send(value="one")
    visitor.client.cookies["colloquy_conversation"] = f"{uuid.uuid4()}:forged"
    visitor.client.cookies["colloquy_visitor"] = "somebody:forged"

    visitor.look()

    assert "Prompt 0." in visitor.page
    assert "already" not in visitor.page
