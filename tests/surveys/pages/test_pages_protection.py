"""Protection of open pages (rules 6.34 and 6.41)."""

import re
import time

import pytest
from django.conf import settings
from django_redis import get_redis_connection
from redis.exceptions import ConnectionError as NoRedis

from communities.gate import throttling
from surveys.models import Project
from tests.support.redis import without_redis
from tests.support.surveys import scenario
from tests.support.surveys.scenario import SAYING, TEXT
from tests.support.surveys.visitor import Visitor

BURST = settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE  # as installed; tests have no such limit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


def test_an_answer_within_a_second_needs_a_proof_and_is_kept(settings):
    """Rule 6.35."""
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 1.0
    made = scenario.project(TEXT)
    visitor = Visitor(made).look()

    visitor.send(value="typed in haste")

    assert visitor.status == 200
    assert "you are a person and not a program" in visitor.page
    assert "typed in haste" in visitor.page
    assert made.conversations.count() == 0
    visitor.prove(value="typed in haste")
    assert made.conversations.count() == 1


def test_going_past_a_greeting_may_be_as_quick_as_one_likes(settings):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 1.0
    made = scenario.project(SAYING, TEXT)

    assert "Prompt 1." in Visitor(made).look().send("go").page


@pytest.mark.usefixtures("in_no_hurry")
@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize("is_framed", [True, False])
def test_a_filled_honeypot_needs_a_proof_and_is_not_met_twice(htmx, is_framed):
    """Rule 6.35."""
    made = scenario.project(TEXT)
    visitor = Visitor(made, htmx=htmx, is_framed=is_framed).look()
    assert visitor.has_control(r'<input type="text" name="leave_empty"')

    visitor.send(value="my words", leave_empty="https://club.example")

    assert "you are a person and not a program" in visitor.page
    assert "my words" in visitor.page
    assert made.conversations.count() == 0
    assert "leave_empty" not in visitor.page  # a browser cannot fill it in again
    visitor.prove(value="my words")
    assert made.conversations.count() == 1


@pytest.mark.usefixtures("in_no_hurry")
def test_nothing_about_the_honeypot_is_what_browsers_fill_in():
    page = Visitor(scenario.project(TEXT)).look().page
    trap = page.partition('class="honeypot"')[2].partition("</div>")[0].lower()

    assert 'autocomplete="off"' in trap
    assert not re.search("name=.?(name|e?mail|tel|url|website|address|city|company|organi)", trap)
    assert ">leave this field empty. only programs fill it in: <" in trap
    assert page.index('class="honeypot"') > page.index('class="button main"')  # nobody meets it first


@pytest.mark.usefixtures("in_no_hurry")
@pytest.mark.parametrize("seal", ["", "forged", "-.-.1.1:forged"])
def test_a_form_with_a_forged_seal_needs_a_proof_and_is_kept(seal):
    """Rule 6.35."""
    made = scenario.project(TEXT)
    visitor = Visitor(made).look()
    visitor.hidden["seal"] = seal

    visitor.send(value="kept words")

    assert "kept words" in visitor.page
    assert made.conversations.count() == 0
    visitor.prove(value="kept words")
    assert made.conversations.count() == 1


@pytest.mark.usefixtures("in_no_hurry")
def test_a_seal_of_another_survey_counts_as_none():
    made, other = scenario.project(TEXT), scenario.project(TEXT)
    visitor = Visitor(made).look()
    visitor.hidden["seal"] = Visitor(other).look().hidden["seal"]

    visitor.send(value="kept words")

    assert made.conversations.count() == 0


@pytest.mark.usefixtures("in_no_hurry")
def test_without_the_csrf_token_nothing_is_taken_and_nothing_is_lost():
    made = scenario.project(TEXT)
    visitor = Visitor(made).look()
    visitor.hidden["csrfmiddlewaretoken"] = "x" * 64

    visitor.send(value="kept words")

    assert "Please send this once more." in visitor.page
    assert "kept words" in visitor.page
    assert made.conversations.count() == 0
    visitor.send(value="kept words")
    assert made.conversations.count() == 1


@pytest.mark.usefixtures("in_no_hurry")
def test_a_turn_goes_on_with_the_csrf_token_it_was_sent_with():
    made = scenario.project(TEXT, TEXT)
    visitor = Visitor(made, htmx=True).look()
    token = visitor.hidden["csrfmiddlewaretoken"]

    visitor.send(value="one")

    assert visitor.hidden["csrfmiddlewaretoken"] == token
    assert settings.CSRF_COOKIE_NAME not in visitor.response.cookies
    visitor.send(value="two")
    assert made.conversations.get().completed_at


@pytest.fixture
def small_bursts(settings):
    settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE = 2
    settings.CONVERSATIONS_PER_PROJECT_AND_MINUTE = 4


@pytest.mark.usefixtures("in_no_hurry", "small_bursts")
def test_a_hall_behind_one_address_proves_itself_and_nobody_is_refused():
    """Rule 6.35."""
    made, asked = scenario.project(TEXT), 0

    for number in range(6):
        visitor = Visitor(made).look().send(value=f"guest {number}")
        if "you are a person and not a program" in visitor.page:
            asked += 1
            assert f"guest {number}" in visitor.page
            visitor.prove(value=f"guest {number}")

    assert asked == 4
    assert made.conversations.count() == 6


@pytest.mark.long
@pytest.mark.usefixtures("in_no_hurry")
def test_three_hundred_people_of_a_hall_answer_and_a_thousand_sessions_of_a_program_do_not(
    settings, monkeypatch
):
    """Rule 6.35, with the limits as they are by default."""
    settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE = BURST
    settings.PROOF_OF_WORK_HASHES = 20
    settings.MOVES_PER_ADDRESS_AND_MINUTE = 10_000
    monkeypatch.setattr(throttling, "MINUTE", throttling.HOUR)  # the test itself may take minutes
    made = scenario.project(TEXT)

    for number in range(300):
        visitor = Visitor(made).look().send(value=f"guest {number}")
        if "data-nonce" in visitor.page:
            visitor.prove(value=f"guest {number}")
    assert made.conversations.count() == 300

    monkeypatch.setattr(throttling, "counts_here", throttling.CountsHere())  # a minute has passed
    get_redis_connection().flushdb()
    for _ in range(1_000):
        Visitor(made).look().send(value="spam")
    assert made.conversations.count() == 300 + BURST


@pytest.mark.usefixtures("in_no_hurry", "small_bursts")
def test_a_project_with_very_many_beginnings_asks_all_addresses():
    """Rule 6.35."""
    made = scenario.project(TEXT)

    def begun_from(address):
        visitor = Visitor(made)
        visitor.client.defaults["REMOTE_ADDR"] = address
        return "not a program" not in visitor.look().send(value="one").page

    assert [begun_from(f"10.200.0.{number}") for number in range(1, 7)] == [True] * 4 + [False] * 2


@pytest.fixture
def asked(settings):
    """Somebody whose first answer needs a proof."""
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 1.0
    return Visitor(scenario.project(TEXT, TEXT)).look().send(value="mine")


def test_a_person_without_scripts_answers_a_small_question(asked):
    """Rule 6.35."""
    assert "To show that you are not a program: How much is" in asked.page

    asked.reckon(value="mine", error=1)

    assert "Please try this one" in asked.page
    assert "mine" in asked.page
    assert Project.objects.get().conversations.count() == 0
    asked.reckon(value="mine")
    assert Project.objects.get().conversations.count() == 1


def with_the_task_of(asked, made):
    """Another visitor, with the page that asks somebody else for a proof."""
    other = Visitor(made).look()
    other.page, other.hidden["task"] = asked.page, asked.hidden["task"]
    return other


def test_a_proof_counts_once(asked):
    """Rule 6.35."""
    made = Project.objects.get()
    other = with_the_task_of(asked, made)

    asked.prove(value="mine")
    other.prove(value="a copy")

    assert "Please try this one" in other.page
    assert made.conversations.count() == 1


def test_a_proof_counts_once_while_redis_is_down(asked):
    """Rule 11.39: in each process."""
    made = Project.objects.get()
    other = with_the_task_of(asked, made)

    with without_redis():
        asked.prove(value="mine")
        other.prove(value="a copy")

    assert "Please try this one" in other.page
    assert made.conversations.count() == 1


def test_a_proof_is_of_one_project(asked):
    """Rule 6.35."""
    other = with_the_task_of(asked, scenario.project(TEXT)).prove(value="elsewhere")

    assert "Please try this one" in other.page


def test_a_proof_is_too_late_after_an_hour(asked, monkeypatch):
    """Rule 6.35."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3601)
    asked.hidden["seal"] = ""  # the time since the first page does not help

    asked.prove(value="mine")

    assert "Please try this one" in asked.page


@pytest.fixture
def few_moves(settings):
    settings.MOVES_PER_VISITOR_AND_MINUTE = 3
    settings.MOVES_PER_ADDRESS_AND_MINUTE = 5


@pytest.mark.usefixtures("in_no_hurry", "few_moves")
@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize("is_framed", [False, True])
def test_somebody_who_moves_too_fast_is_asked_to_wait_and_loses_nothing(monkeypatch, htmx, is_framed):
    made = scenario.project(TEXT, TEXT, TEXT, TEXT)
    visitor = Visitor(made, htmx=htmx, is_framed=is_framed).look()
    for words in ("one", "two", "three"):
        assert visitor.send(value=words).status == 200

    visitor.send(value="the <fourth> answer")

    assert visitor.status == 429
    assert 1 <= int(visitor.response["Retry-After"]) <= 60
    assert "Many answers came at once. Please wait" in visitor.page
    assert "the <fourth> answer" in visitor.page
    assert made.conversations.get().completed_at is None
    monkeypatch.setattr(throttling, "counts_here", throttling.CountsHere())  # a minute has passed
    get_redis_connection().flushdb()
    visitor.send(value="the <fourth> answer")
    assert (visitor.status, made.conversations.get().completed_at is None) == (200, False)


@pytest.mark.usefixtures("in_no_hurry", "few_moves")
def test_moves_from_one_address_are_limited_looser_than_those_of_one_visitor():
    made = scenario.project(TEXT)

    statuses = [Visitor(made).look().send(value="one").status for _ in range(7)]

    assert statuses == [200] * 5 + [429] * 2
    assert made.conversations.count() == 5
    elsewhere = Visitor(made)
    elsewhere.client.defaults["REMOTE_ADDR"] = "10.200.0.1"
    assert elsewhere.look().send(value="one").status == 200


def test_few_moves_cost_no_round_trip_and_many_are_counted_for_all_processes(monkeypatch):
    asked = []
    run = throttling._run_script

    def counted(*args):
        asked.append(args)
        return run(*args)

    monkeypatch.setattr(throttling, "_run_script", counted)
    processes = [throttling.CountsHere(), throttling.CountsHere()]
    taken = []

    for number in range(60):
        monkeypatch.setattr(throttling, "counts_here", processes[number % 2])
        taken.append(throttling.take_seldom("name", 20).is_used_up)

    assert taken.count(False) == 20 + 2 * 2
    assert taken[:4] == [False] * 4
    assert len(asked) <= 2 * 18


@pytest.mark.usefixtures("in_no_hurry")
def test_while_redis_is_away_everybody_is_let_in_and_it_is_left_alone(monkeypatch):
    tried = []

    def is_away(*asked):
        tried.append(asked)
        raise NoRedis("away")

    monkeypatch.setattr(throttling, "_run_script", is_away)
    monkeypatch.setattr(throttling, "outage", throttling.Outage())
    made = scenario.project(TEXT)

    for _ in range(3):
        Visitor(made).look().send(value="one")

    assert made.conversations.count() == 3
    assert len(tried) == 1


def test_outside_frames_nobody_may_frame_the_page():
    visitor = Visitor(scenario.project(TEXT)).look()
    policy = visitor.response["Content-Security-Policy"]

    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert visitor.response["Referrer-Policy"] == "same-origin"
    assert visitor.response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("address", "host", "status"),
    [
        ("/s/no-such-page", "testserver", 404),
        ("/docs", "testserver", 200),
        ("/account/login/", "testserver", 200),
        ("/s/any", "somebody.example", 400),
        ("/v1/any", "somebody.example", 400),
    ],
)
def test_every_response_tells_what_it_may_load(client, address, host, status):
    response = client.get(address, headers={"Host": host})

    assert response.status_code == status
    assert "default-src 'self'" in response["Content-Security-Policy"]
    assert "unsafe-inline" not in response["Content-Security-Policy"]
    assert response["X-Content-Type-Options"] == "nosniff"


def test_no_script_can_read_a_cookie_of_ours():
    visitor = Visitor(scenario.project(TEXT)).look()

    kept = visitor.client.cookies.values()
    assert {cookie.key for cookie in kept} == {"colloquy_visitor", settings.CSRF_COOKIE_NAME}
    assert all(cookie["httponly"] and cookie["samesite"] == "Lax" for cookie in kept)


@pytest.mark.usefixtures("in_no_hurry")
def test_what_is_wrong_takes_the_focus_where_no_script_runs():
    visitor = Visitor(scenario.project({**TEXT, "required": True})).look()

    visitor.send(value="")

    assert visitor.status == 422
    assert visitor.has_control(r'id="field"[^>]* autofocus')


def test_pages_have_no_inline_script_or_style():
    page = Visitor(scenario.project(TEXT)).look().page

    assert re.search(r"<script(?![^>]*\bsrc=)", page) is None
    assert re.search(r"<style|\sstyle=|\son\w+=|javascript:", page) is None


class TestFirstStep:
    """The first question is shown only to people who may answer it, whatever the form requests."""

    @pytest.mark.parametrize("do", ["back", "again", "answer", "retract", "nonsense"])
    @pytest.mark.parametrize("is_framed", [False, True])
    def test_a_private_question_is_not_shown_to_strangers(self, do, is_framed):
        made = scenario.project({**TEXT, "prompt": "A secret question?"}, participation="private")
        visitor = Visitor(made, is_framed=is_framed).look()

        visitor.send(do, value="x")

        assert "A secret question?" not in visitor.page
        assert visitor.status == 403

    @pytest.mark.parametrize("do", ["back", "again", "nonsense"])
    def test_a_closed_survey_shows_no_question(self, do):
        made = scenario.project({**TEXT, "prompt": "Too late?"})
        visitor = Visitor(made, is_framed=True).look()
        Project.objects.filter(pk=made.pk).update(status="inactive")

        visitor.send(do)

        assert "Too late?" not in visitor.page
        assert "closed" in visitor.page


@pytest.mark.usefixtures("in_no_hurry")
def test_invalid_first_answers_do_not_use_up_the_limit_of_an_address(settings):
    settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE = 1
    made = scenario.project({**TEXT, "required": True})
    visitor = Visitor(made).look()

    for _ in range(3):
        visitor.send(value="")
        assert visitor.status == 422
    visitor.send(value="one")

    assert made.conversations.get().completed_at is not None


@pytest.mark.usefixtures("in_no_hurry")
def test_two_anonymous_sessions_of_one_browser_share_no_seed():
    made = scenario.project(TEXT, privacy_mode="anonymous")
    visitor = Visitor(made, htmx=True).look()

    visitor.send(value="one").send("again").send(value="two")

    seeds = made.conversations.values_list("seed", flat=True)
    assert len(set(seeds)) == 2
