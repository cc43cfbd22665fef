"""Responses that a program may have given, and the figures of the proofs (rules 6.245 to 6.249)."""

from __future__ import annotations

import csv
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from surveys.models import Conversation, ProofCount
from surveys.pages.respondent import protection
from surveys.services.conversations import admission
from surveys.services.conversations.admission import ProofFigures
from tests.support.caller import TEXT as ASKED
from tests.support.caller import Caller
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.imports import imported, past
from tests.support.surveys.participants import Talk
from tests.support.surveys.project_tabs import project_staff, tab
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
SIX = [TEXT] * 6


@pytest.fixture(autouse=True)
def in_no_hurry(settings: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0.0


@pytest.fixture
def staff() -> Staff:
    return project_staff()


def asked(made: Any) -> Visitor:
    """A visitor whom the page has asked for a proof."""
    visitor = Visitor(made).look()
    visitor.hidden["seal"] = ""
    return visitor.send(value="mine")


def figures(made: Any) -> ProofFigures:
    return admission.proof_figures(project_id=made.pk)


def test_proofs_are_counted_by_day_and_only_where_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 6.245."""
    monkeypatch.setattr(protection, "MOST_HASHES_PER_SECOND", 10**12)  # this process is faster than a browser
    made = scenario.project(TEXT)
    Visitor(made).look().send(value="one")
    assert ProofCount.objects.count() == 0

    visitor = asked(made)
    visitor.hidden["seal"] = ""
    visitor.reckon(value="mine", error=1)
    visitor.prove(value="mine")
    asked(made)

    assert figures(made) == ProofFigures(asked=2, passed=1, refused=1)
    assert ProofCount.objects.get().day == timezone.now().date()


@pytest.mark.parametrize(("rate", "expected"), [(1, True), (10**12, False)])
def test_a_proof_that_no_browser_computes_so_fast_makes_a_response_suspected(
    monkeypatch: pytest.MonkeyPatch, rate: int, expected: bool
) -> None:
    """Rule 6.246."""
    monkeypatch.setattr(protection, "MOST_HASHES_PER_SECOND", rate)
    made = scenario.project(TEXT)

    visitor = asked(made)
    while "data-nonce" in visitor.page and made.conversations.count() == 0:
        visitor.prove(value="mine")

    assert made.conversations.get().is_suspected is expected
    assert figures(made).suspected == expected


@pytest.mark.parametrize(("least", "expected"), [(60.0, True), (0.0, False)])
def test_so_does_a_question_that_nobody_answers_so_fast(
    monkeypatch: pytest.MonkeyPatch, least: float, expected: bool
) -> None:
    """Rule 6.246."""
    monkeypatch.setattr(protection, "LEAST_SECONDS_TO_RECKON", least)
    made = scenario.project(TEXT)

    asked(made).reckon(value="mine")

    assert made.conversations.get().is_suspected is expected


def answered(made: Any, *, seconds: float = 0, query: str = "") -> Conversation:
    """A response of a visitor, who needs so many seconds for the questions after the first."""
    visitor = Visitor(made).look(query)
    visitor.send(value="0")
    made.conversations.update(started_at=timezone.now() - timedelta(seconds=seconds))
    for number in range(1, 10):
        if made.conversations.get().completed_at:
            break
        visitor.send(value=str(number))
    conversation: Conversation = made.conversations.get()
    assert conversation.completed_at
    return conversation


@pytest.mark.parametrize(("seconds", "expected"), [(0, True), (4.0, True), (5.5, False)])
def test_who_answers_in_less_than_a_second_a_question_is_suspected(seconds: float, expected: bool) -> None:
    """Rule 6.246."""
    assert answered(scenario.project(*SIX), seconds=seconds).is_suspected is expected


def test_five_questions_are_too_few_to_tell() -> None:
    """Rule 6.246."""
    assert not answered(scenario.project(*SIX[:5])).is_suspected


def test_answers_that_the_address_gives_and_anonymous_ones_are_not_timed() -> None:
    """Rule 6.246."""
    given = "?q1=a&q2=b&q3=c&q4=d&skip=1"

    assert not answered(scenario.project(*SIX), query=given).is_suspected
    assert not answered(scenario.project(*SIX, privacy_mode="anonymous")).is_suspected


def test_callers_of_the_interface_are_not_timed() -> None:
    """Rule 6.246."""
    caller = Caller()
    made = caller.make_open(*[ASKED] * 6, delivery={"audience": {"participation": "open_web"}})
    for who in ({}, {"external_id": "customer-1"}):
        Talk(caller, made, **who).through("x")

    completed = Conversation.objects.filter(completed_at__isnull=False)
    assert list(completed.values_list("is_suspected", flat=True)) == [False] * 2


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def project(caller: Caller) -> Any:
    made = caller.make({**ASKED, "name": "why", "prompt": "Why?"})
    imported(caller, made, past(("why", "n0")), past(("why", "n1"), suspected=True), past(("why", "n2")))
    return made


@pytest.mark.parametrize(
    ("query", "expected"),
    [("suspected=true", ["n1"]), ("suspected=false", ["n0", "n2"]), ("", ["n0", "n1", "n2"])],
)
def test_the_listing_exports_and_results_are_filtered_by_the_mark(
    caller: Caller, project: Any, query: str, expected: list[str]
) -> None:
    """Rule 6.247."""
    path = f"/projects/{project['id']}"
    listed = caller.get(f"{path}/responses?{query}").json()
    rows = caller.get(f"{path}/responses/export?{query}")
    results = caller.get(f"{path}/analysis/results?{query}").json()

    exported = list(csv.DictReader(b"".join(rows.streaming_content).decode().splitlines()))
    assert [each["answers"][0]["value"] for each in listed["data"]] == expected
    assert [each["suspected"] for each in listed["data"]] == [value == "n1" for value in expected]
    assert listed["pagination"]["total"] == results["conversation_count"] == len(expected)
    assert {row["Why?"]: row["suspected"] for row in exported} == {
        value: str(int(value == "n1")) for value in expected
    }


def test_other_values_of_the_filter_are_refused(caller: Caller, project: Any) -> None:
    """Rule 6.247."""
    for path in ("responses", "responses/export", "analysis/results"):
        answer = caller.get(f"/projects/{project['id']}/{path}?suspected=yes")
        assert (answer.status_code, answer.json()["violations"][0]["field"]) == (400, "suspected")


def test_tables_without_a_suspected_response_have_no_such_column(caller: Caller) -> None:
    """Rule 6.248."""
    made = caller.make({**ASKED, "name": "why"})
    imported(caller, made, past(("why", "n0")))

    file = caller.get(f"/projects/{made['id']}/responses/export")

    assert b"suspected" not in b"".join(file.streaming_content)


def test_staff_see_the_figures_the_mark_and_the_filter(staff: Staff) -> None:
    """Rule 6.245."""
    made = scenario.project(TEXT, community=staff.community, was_open_to_web=True)
    visitor = asked(made).reckon(value="of a robot")
    Visitor(made).look().send(value="of a person")
    assert "Thank you" in visitor.page
    made.conversations.filter(answers__value="of a robot").update(is_suspected=True)

    page = staff.read(tab(made.pk, "responses"))
    suspected = staff.read(f"{tab(made.pk, 'responses')}?suspected=true")
    others = staff.read(f"{tab(made.pk)}?suspected=false")

    assert "Proofs: 1 asked for, 1 passed, 0 refused." in " ".join(page.split())
    assert "1 suspected response" in page
    assert ("of a robot" in suspected, "of a person" in suspected) == (True, False)
    assert ("of a robot" in others, "of a person" in others) == (False, True)
    assert "1 suspected response" in staff.read(tab(made.pk, "delivery"))


def test_a_project_has_a_limit_of_its_own(settings: Any) -> None:
    """Rule 6.249."""
    settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE = 100
    settings.CONVERSATIONS_PER_PROJECT_AND_MINUTE = 3
    made, other = scenario.project(TEXT, max_begun_per_minute=1), scenario.project(TEXT)
    more = scenario.project(TEXT, max_begun_per_minute=5)

    def begun(project: Any) -> list[bool]:
        pages = [Visitor(project).look().send(value="x").page for _ in range(6)]
        return ["not a program" not in page for page in pages]

    assert begun(made) == [True] + [False] * 5
    assert begun(other) == [True] * 3 + [False] * 3
    assert begun(more) == [True] * 5 + [False]


def test_what_is_counted_about_proofs_names_nobody() -> None:
    """Rule 7.115."""
    asked(scenario.project(TEXT, privacy_mode="anonymous"))

    [row] = ProofCount.objects.values()
    assert {*row} == {"project_id", "day", "asked", "passed", "refused"}
