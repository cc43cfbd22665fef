"""Responses over time, and how far people came (rules 6.305 to 6.307)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from communities.ground.actors import Actor
from communities.ground.errors import Forbidden, InvalidRequest, Unavailable
from surveys.models import Conversation
from surveys.services.counting import counts, large
from surveys.services.results import participation
from surveys.services.results.figures import ALL, Selection
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import superuser, tab
from tests.support.surveys.results import OPEN_WEB, converse

pytestmark = pytest.mark.django_db
FIRST = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)  # a Monday, and already Tuesday in Berlin
SCRIPT: list[dict[str, Any]] = [
    {"type": "single_punch", "prompt": "Which?", "options": ["a", "b"]},
    {"type": "nps", "required": False},
    {"type": "open_text", "prompt": "Why?", "precondition": 'Q0 = "b"'},
]


def read(made, selection=ALL, **more):
    actor = Actor(0, "admin", made.community_id, "custom")
    return participation.read(actor=actor, project=made, selection=selection, at=FIRST, **more)


def walked(made, *said, at=FIRST, seconds=60):
    told = scenario.begin(made, at=at)
    return scenario.say(told, *said, at=at + timedelta(seconds=seconds)) if said else told


def spans(found):
    return [(str(each.begins_on), each.begun, each.completed) for each in found.spans]


def test_many_paths_of_many_blocks_are_unpacked_in_a_slot(monkeypatch):
    """Rule 11.123."""
    made = scenario.project(*SCRIPT)
    walked(made, 0, "9", "words")
    monkeypatch.setattr(large, "SECONDS_FOR_SHOWN", 0)

    with large.counting_slot(max_wait=0):
        assert read(made).spans
        monkeypatch.setattr(large, "MUCH_ADDED", counts.TIMES_IN_SQL * len(SCRIPT) - 1)
        with pytest.raises(Unavailable):
            read(made)
    assert read(made).spans


def test_each_day_has_those_who_began_and_those_who_completed():
    """Rule 6.305."""
    made = scenario.project(*SCRIPT)
    walked(made, 0, "9", "words")
    walked(made, 1, "3", at=FIRST + timedelta(days=2), seconds=180)
    walked(made, 0, at=FIRST + timedelta(days=2))
    walked(made, at=FIRST + timedelta(hours=1))

    found, in_berlin = read(made), read(made, zone=ZoneInfo("Europe/Berlin"))

    assert (found.period, found.zone, found.seconds) == ("day", "UTC", 120)
    assert spans(found) == [("2026-03-02", 1, 1), ("2026-03-03", 1, 0), ("2026-03-04", 2, 1)]
    assert spans(in_berlin) == [("2026-03-03", 2, 1), ("2026-03-04", 0, 0), ("2026-03-05", 2, 1)]
    assert spans(read(made, Selection(covers="completed"))) == [
        ("2026-03-02", 1, 1),
        ("2026-03-03", 0, 0),
        ("2026-03-04", 1, 1),
    ]


@pytest.mark.parametrize(
    ("days", "period", "begins", "count"),
    [(61, "day", "2026-03-02", 62), (62, "week", "2026-03-02", 9), (434, "month", "2026-03-01", 15)],
)
def test_long_times_are_told_by_week_and_by_month(days, period, begins, count):
    """Rule 6.305."""
    made = scenario.project(*SCRIPT)
    for at in (FIRST, FIRST + timedelta(days=days)):
        walked(made, 1, "3", at=at)

    found = read(made)

    assert (found.period, str(found.spans[0].begins_on), len(found.spans)) == (period, begins, count)
    assert sum(each.begun for each in found.spans) == sum(each.completed for each in found.spans) == 2


def test_each_question_has_those_who_saw_it_answered_it_and_left_there():
    """Rule 6.306."""
    made = scenario.project(*SCRIPT)
    walked(made, 0, None, "words")
    walked(made, 0, "9")
    walked(made, 1, "3")
    walked(made, 1)
    walked(made)

    reached = [(each.seen, each.answered, each.left) for each in read(made).blocks]

    assert reached == [(5, 4, 1), (4, 2, 1), (2, 1, 1)]


def test_an_answer_after_a_step_back_was_seen():
    made = scenario.project(*SCRIPT)
    told = walked(made, 0, "9")
    scenario.back(scenario.back(told, at=FIRST), at=FIRST)

    reached = [(each.seen, each.answered, each.left) for each in read(made).blocks]

    assert reached == [(1, 1, 1), (1, 1, 0), (0, 0, 0)]


def test_anonymous_projects_have_days_of_rounded_times_and_no_duration():
    """Rule 6.307."""
    made = scenario.project(*SCRIPT, privacy_mode="anonymous", rounds_times_to_day=True)
    walked(made, 1, "3")

    found = read(made, zone=ZoneInfo("Europe/Berlin"))

    assert (found.zone, found.seconds) == ("UTC", None)
    assert spans(found) == [("2026-03-02", 1, 1)]
    with pytest.raises(Forbidden):
        participation.read(
            actor=Actor(0, "member", made.community_id, "custom"),
            project=made,
            selection=Selection(covers="completed"),
            at=FIRST,
        )


def test_imported_responses_have_no_duration():
    made = scenario.project(*SCRIPT)
    walked(made, 1, "3")
    Conversation.objects.update(provider="import")

    assert read(made).seconds is None


def test_the_interface_tells_the_same_in_utc():
    """Rule 6.305."""
    caller = Caller()
    project = caller.make_open({"type": "rating", "prompt": "How?"}, delivery=OPEN_WEB)
    converse(caller, project, ["4"])
    converse(caller, project, [])

    told = caller.get(f"/projects/{project['id']}/analysis/participation").json()
    none = caller.get(f"/projects/{project['id']}/analysis/participation?provider=chat").json()

    [block] = told.pop("blocks")
    assert (block["seen"], block["answered"], block["left"]) == (2, 1, 1)
    assert [(each["begun"], each["completed"]) for each in told["spans"]] == [(2, 1)]
    assert (told["period"], told["zone"], told["filters"]["status"]) == ("day", "UTC", "all")
    assert none["spans"] == []


def test_a_wrong_expression_is_refused():
    made = scenario.project(*SCRIPT)

    with pytest.raises(InvalidRequest):
        read(made, Selection(where="nothing = 1"))


def test_the_page_shows_the_chart_the_scores_and_the_questions():
    """Rule 6.954."""
    made = scenario.project(*SCRIPT)
    walked(made, 0, "9", "words")
    walked(made, 1, "3", at=FIRST + timedelta(days=2))

    page = superuser().get(tab(made.pk, "results_over_time"))
    html = page.content.decode()

    assert page.status_code == 200
    assert "Columns from 2 March 2026 to 4 March 2026, at most 1." in html
    assert "Half of those who completed took at most 1 minute 0 seconds." in html
    assert "+100" in html
    assert "Columns from 2 March 2026 to 4 March 2026, from −100 to +100." in html
    up, down = re.findall(r'<rect x="[\d.]+%" width="40.00%" y="([\d.]+)%" height="50.00%"/>', html)
    assert (up, down) == ("0.00", "50.00")
    assert "Saw it" in html
