import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from surveys.models import Answer, Project
from tests.support.surveys import scenario
from tests.support.surveys.exports import write_again
from tests.support.surveys.scenario import CHOICE, SAYING
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry")]


@pytest.fixture
def in_no_hurry(settings, redis):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


def poll(*blocks, **fields):
    return scenario.project(*(blocks or (CHOICE,)), **{"type": "poll", "max_completes_per_user": 1, **fields})


def options(made):
    return next(block for block in scenario.script(made).blocks if block.asks).options


def voted(made, place, **more):
    return Visitor(made, **more).look().send(option=options(made)[place].id)


def bars(visitor):
    return [line.split("<")[0] for line in visitor.page.split('class="share">')[1:]]


def test_a_vote_is_one_request_and_shows_the_result():
    made = poll(poll_results_mode="public")

    visitor = voted(made, 0)

    assert "Thank you." in visitor.page
    assert bars(visitor) == ["100% ", "0% "]
    assert visitor.page.count("Your vote") == 2  # at the bar and in the table
    assert scenario.counts(made) == {"answered": 1, "completed": 1, "listed": 1}


@pytest.mark.parametrize("type", ["single_punch", "multi_punch"])
def test_votes_for_a_removed_option_are_shown_so_that_the_counts_add_up(type):
    made = poll({**CHOICE, "type": type}, poll_results_mode="public")
    visitors = [voted(made, place) for place in (0, 1, 1)]
    own = scenario.script(made).blocks[0]
    kept = {"id": own.id, "name": own.name, "type": type, "prompt": own.prompt}
    write_again(made, {**kept, "options": [{"id": own.options[0].id, "value": "red"}]})

    pages = [visitor.look() for visitor in visitors[1:]]

    for visitor in pages:
        assert re.findall(r"<small>\((\d+)\)</small>", visitor.page) == ["1", "2"]
        assert "green (removed)" in visitor.page
        assert "3 votes" in visitor.page


@pytest.mark.parametrize(
    ("mode", "before", "after", "closed"),
    [
        ("public", True, True, True),
        ("voters_only", False, True, False),
        ("hidden", False, False, True),
        (None, False, False, True),
    ],
)
def test_results_are_seen_by_the_mode(mode, before, after, closed):
    made = poll(poll_results_mode=mode)

    assert ("data-results" in Visitor(made).look().page) is before
    visitor = voted(made, 0)
    assert ("data-results" in visitor.page) is after
    made.status = "inactive"
    made.save()
    assert ("data-results" in Visitor(made).look().page) is closed
    assert "data-results" in visitor.look().page


WHEN = {
    "public": "Everybody can see the results",
    "voters_only": "You see the results after you have voted",
    "hidden": "The results are shown once the poll is closed",
    None: "The results are shown once the poll is closed",
}


@pytest.mark.parametrize("mode", WHEN)
@pytest.mark.parametrize("privacy_mode", ["transparent", "semi-private", "anonymous"])
def test_before_the_vote_one_sentence_says_when_its_results_are_shown(mode, privacy_mode):
    made = poll(poll_results_mode=mode, privacy_mode=privacy_mode)

    before, after = Visitor(made).look(), voted(made, 0)

    said = re.search(r'id="results-when" class="help">([^<]*)<', before.page)
    assert said is not None
    assert said[1].startswith(WHEN[mode])
    assert ("at least 5 votes" in said[1]) is (privacy_mode == "anonymous")
    assert "results-when" not in after.page


def test_a_closed_private_poll_shows_its_results_to_members_alone():
    made = poll(participation="private", poll_results_mode="public", status="inactive")
    stranger, member = Visitor(made), Visitor(made)
    member.client.force_login(scenario.member().user)

    stranger.look()
    member.look()

    assert "This poll is closed." in stranger.page
    assert bars(stranger) == []
    assert bars(member) == ["0% ", "0% "]


def test_words_around_the_question_stand_on_its_page():
    made = poll({**SAYING, "prompt": "A word before."}, CHOICE, {**SAYING, "prompt": "A word after."})
    visitor = Visitor(made).look()
    assert "A word before." in visitor.page

    visitor.send(option=options(made)[1].id)

    assert "A word after." in visitor.page
    assert scenario.counts(made)["completed"] == 1


@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
@pytest.mark.parametrize("htmx", [False, True])
def test_a_vote_is_changed_where_the_poll_allows_it(privacy_mode, htmx):
    made = poll(change_poll=True, poll_results_mode="public", privacy_mode=privacy_mode)
    visitor = voted(made, 0, htmx=htmx)

    visitor.send("change")
    assert visitor.has_control(f'value="{options(made)[0].id}"[^>]* checked')
    visitor.send(option=options(made)[1].id)

    is_shown = privacy_mode == "transparent"  # one vote in an anonymous poll is somebody's
    assert bars(visitor) == (["0% ", "100% "] if is_shown else [])
    assert ("Shown once there are 5 votes" in visitor.page) is not is_shown
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 1, "listed": 1}


@pytest.mark.parametrize("htmx", [False, True])
def test_a_vote_is_taken_back_where_the_poll_allows_it(htmx):
    """Rule 6.220."""
    made = poll(change_poll=True)
    visitor = voted(made, 0, htmx=htmx)

    visitor.send("ask-retract")
    assert "Take your vote back?" in visitor.page
    visitor.send("look")
    assert "Thank you." in visitor.page
    assert scenario.counts(made)["completed"] == 1
    visitor.send("ask-retract").send("retract")

    assert "Prompt 0." in visitor.page
    assert Answer.objects.count() == 0
    assert scenario.counts(made) == {"answered": 0, "completed": 0, "listed": 0}
    visitor.look().send(option=options(made)[1].id)
    assert scenario.counts(made)["completed"] == 1


def test_a_vote_stands_where_it_may_not_be_changed():
    made = poll(poll_results_mode="public")
    visitor = voted(made, 0)
    assert "Change my vote" not in visitor.page

    visitor.send("change")
    visitor.send("ask-retract")
    assert "Take your vote back?" not in visitor.page
    visitor.send("retract")
    visitor.look().send(option=options(made)[1].id)

    assert bars(visitor.look()) == ["100% ", "0% "]


def test_one_browser_votes_once_even_without_its_conversation_cookie():
    made = poll()
    visitor = voted(made, 0)
    del visitor.client.cookies["colloquy_conversation"]

    visitor.look()

    assert "You have voted in this poll." in visitor.page
    assert scenario.counts(made)["completed"] == 1


def test_who_has_voted_is_told_that_the_poll_is_closed():
    made = poll()
    visitor = voted(made, 0)
    made.status = "inactive"
    made.save()

    assert "You have voted in this poll. It is closed now." in visitor.look().page


@pytest.mark.parametrize(
    ("privacy_mode", "votes", "said"),
    [
        ("transparent", 0, "Nobody voted."),
        ("transparent", 1, "1 person voted."),
        ("transparent", 2, "2 people voted."),
        ("anonymous", 0, "Fewer than 5 people voted."),
        ("anonymous", 2, "Fewer than 5 people voted."),
    ],
)
def test_a_closed_poll_says_how_many_voted_to_those_who_do_not_see_how(privacy_mode, votes, said):
    """Rule 6.221."""
    made = poll(poll_results_mode="voters_only", privacy_mode=privacy_mode)
    for _ in range(votes):
        voted(made, 0)
    made.status = "inactive"
    made.save()

    visitor = Visitor(made).look()

    assert said in visitor.page
    assert bars(visitor) == []


def test_a_closed_private_poll_says_nothing_to_strangers():
    made = poll(participation="private", poll_results_mode="voters_only", status="inactive")

    assert "voted" not in Visitor(made).look().page


def test_a_vote_after_closing_is_refused_kindly():
    made = poll()
    visitor = Visitor(made).look()
    made.status = "inactive"
    made.save()

    visitor.send(option=options(made)[1].id)

    assert "This poll is closed." in visitor.page
    assert "green" in visitor.page
    assert scenario.counts(made)["completed"] == 0


def test_a_vote_takes_few_statements():
    made = poll(poll_results_mode="public")
    voted(made, 0)
    visitor = Visitor(made).look()
    form = {**visitor.hidden, "do": "answer", "option": options(made)[0].id}

    with CaptureQueriesContext(connection) as vote:
        visitor.client.post(visitor.address, form)

    assert len([query for query in vote if query["sql"] not in ("BEGIN", "COMMIT")]) <= 6


def test_a_poll_speaks_of_votes() -> None:
    """Rule 6.298."""
    made = poll(poll_results_mode="public", change_poll=True)
    visitor = Visitor(made).look()
    visitor.send(option=scenario.script(made).blocks[-1].options[0].id)
    assert "Hide my vote on this device" in visitor.page

    Project.objects.filter(pk=made.pk).update(status="inactive")

    assert "It takes no more votes." in Visitor(made).look().page
