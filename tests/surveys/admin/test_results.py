"""The tab of results in the admin: its readers, its counts, and its links."""

import re

import pytest
from django.urls import reverse

from communities.models import User
from surveys.models import Analysis
from surveys.services.results import figures
from tests.factories import MemberFactory
from tests.support.caller import Caller
from tests.support.staff import signed_in
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import (
    EDITORS,
    ROLES,
    client_as,
    look,
    project_staff,
    respond,
    superuser,
    tab,
)
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db

SCALE = {"type": "rating", "prompt": "How was it?"}
PAGES = [
    "results",
    "results_analyse",
    "results_analysis",
    "results_export",
    "results_counting",
    "results_exported",
    "results_over_time",
]


@pytest.fixture(scope="module")
def client(kept_rows):
    return superuser()


# --- Who --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_a_plain_member_who_is_no_staff_does_not_get_in(page):
    made = scenario.project(CHOICE, share_results=True)
    user = User.objects.create(name="Ann")
    MemberFactory.create(community=made.community, user=user, access="member")

    assert signed_in(user).get(tab(made.pk, page)).status_code == 302


# Who sees the whole, only what is shared, or nothing: by privacy mode and role.
WHOLE, SHARED, REFUSED, ABSENT = "whole", "shared", 403, 404
SEEN = {
    ("transparent", False): [WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, ABSENT],
    ("semi-private", False): [WHOLE, WHOLE, WHOLE, REFUSED, REFUSED, ABSENT],
    ("anonymous", True): [WHOLE, WHOLE, WHOLE, SHARED, SHARED, ABSENT],
}
CASES = [(*case, role, seen) for case, every in SEEN.items() for role, seen in zip(ROLES, every, strict=True)]


@pytest.fixture(scope="module")
def answered(kept_rows):
    """Projects with six responses by privacy mode, and by whether their results are shared."""
    made = {
        case: scenario.project(CHOICE, TEXT, privacy_mode=case[0], share_results=case[1]) for case in SEEN
    }
    for each in made.values():
        respond(each, 0, "A canary.", times=6)
    return made


@pytest.mark.parametrize(("privacy_mode", "is_shared", "role", "seen"), CASES)
def test_each_role_sees_what_the_interface_gives_it(answered, privacy_mode, is_shared, role, seen):
    made = answered[privacy_mode, is_shared]
    client = client_as(role, made)

    page = client.get(tab(made.pk))
    file = client.get(tab(made.pk, "results_export") + "?format=csv")
    polled = client.get(tab(made.pk, "results_analysis"))
    read = client.get(tab(made.pk, "results_answers", scenario.script(made).blocks[1].id))

    assert page.status_code == (seen if isinstance(seen, int) else 200)
    shown = page.content.decode()
    assert ('id="exports-head"' in shown) == ("Compare by" in shown) == (seen == WHOLE)
    assert ("you see aggregates" in shown) == (seen == SHARED)
    assert file.status_code == {WHOLE: 200, SHARED: 403}.get(seen, seen)
    assert polled.status_code == (204 if seen == WHOLE else 404)
    assert read.status_code == {WHOLE: 200, SHARED: 403}.get(seen, seen)
    assert (b"A canary." in page.content) == (b"A canary." in read.content) == (seen == WHOLE)
    if seen != WHOLE:
        assert b"A canary." not in b"".join((file.content, polled.content))


@pytest.mark.parametrize("role", ROLES)
def test_only_who_may_edit_the_project_may_have_it_analysed(role):
    made = scenario.project(TEXT, privacy_mode="transparent")
    respond(made, "x")
    client = client_as(role, made)

    shown = client.get(tab(made.pk)).content.decode()
    response = client.post(tab(made.pk, "results_analyse"), {"covers": "all"})

    assert ("Costs no credits." in shown) == (role in EDITORS)
    assert Analysis.objects.exists() == (role in EDITORS)
    assert response.status_code == (303 if role in EDITORS else 404 if role == "foreigner" else 403)


def test_few_anonymous_answers_are_withheld_from_members_and_shown_in_steps():
    made = scenario.project(CHOICE, privacy_mode="anonymous", share_results=True)
    respond(made, 0, times=6)
    client = client_as("member")
    before = look(client, made)
    respond(made, 1, times=4)

    after = look(client, made)
    respond(made, 1)

    assert "<dt>Responses</dt><dd>6</dd>" in before
    assert "<dt>Responses</dt><dd>6</dd>" in after
    assert "<dt>Responses</dt><dd>11</dd>" in look(client, made)


def test_a_forged_request_for_an_analysis_is_refused():
    made = scenario.project(TEXT)
    client = superuser(enforce_csrf_checks=True)

    assert client.post(tab(made.pk, "results_analyse")).status_code == 403
    assert not Analysis.objects.exists()


@pytest.mark.parametrize("page", PAGES)
def test_a_project_that_is_not_there_is_not_found(client, page):
    assert client.get(reverse(f"admin:surveys_project_{page}", args=[10**30])).status_code == 404


@pytest.mark.parametrize("page", ["results", "analysis", "export"])
def test_the_earlier_address_leads_to_the_tab(client, page):
    made = scenario.project(CHOICE)

    assert client.get(f"/staff/projects/{made.pk}/{page}")["Location"] == tab(made.pk)


# --- What is told -----------------------------------------------------------------------------------


def test_the_page_tells_counts_and_charts_and_keeps_out_of_caches(client):
    made = scenario.project(CHOICE, SCALE, TEXT, name="Tea <b>or</b> coffee?")
    respond(made, 0, 4, "Tea.")
    respond(made, 0)

    response = client.get(tab(made.pk))
    seen = response.content.decode()

    assert "no-store" in response["Cache-Control"]
    assert "<dt>Responses</dt><dd>2</dd>" in seen
    assert "<dt>Completed</dt><dd>1 (50%)</dd>" in seen
    assert "1 left here" in seen
    assert "Tea &lt;b&gt;or&lt;/b&gt; coffee?" in seen
    assert (
        '<th scope="row" lang="" dir="auto">green</th><td dir="auto">0</td><td dir="auto">0.00%</td>' in seen
    )
    assert "4 of 1 to 5" in seen


def test_empty_projects_say_so(client):
    assert "This project has no questions yet." in look(client, scenario.project())
    empty = look(client, scenario.project(CHOICE))
    assert "Nobody has answered yet." in empty
    assert "Nobody has answered this yet." in empty
    assert "No responses match these filters." in look(client, scenario.project(CHOICE), "?status=completed")


def test_removed_questions_stand_at_the_end(client):
    made = scenario.project({**CHOICE, "prompt": "Old?"}, {**CHOICE, "prompt": "New?"})
    respond(made, 0, 0)
    made.blocks.filter(prompt="Old?").update(is_archived=True)
    made.revision += 1
    made.save(update_fields=["revision"])

    seen = look(client, made)

    assert seen.index("New?") < seen.index("Removed questions") < seen.rindex("Old?")


# --- Filters ----------------------------------------------------------------------------------------


def test_filters_narrow_what_is_counted(client):
    made = scenario.project(CHOICE, CHOICE)
    respond(made, 0, 0)
    respond(made, 0)

    def counted(query):
        return re.findall(r"<dt>Responses</dt><dd>(\d+)", look(client, made, query))[0]

    assert counted("?status=all&utm=1") == "2"
    assert counted("?submitted_after=2026-01-31&submitted_before=2026-01-31") == "1"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("submitted_before=9999-12-31", "between the years"),
        ("segment_by=1x", "Select a valid choice."),
    ],
)
def test_a_filter_that_cannot_be_read_is_told_and_left_out(client, query, told):
    made = scenario.project(CHOICE)
    respond(made, 0)

    seen = look(client, made, f"?{query}", status=400)

    assert "There is a problem" in seen
    assert told in seen
    assert "<dt>Responses</dt><dd>1</dd>" in seen


def test_answers_stand_side_by_side_by_those_to_another_question(client):
    made = scenario.project(
        {**CHOICE, "prompt": "Which?"},
        SCALE,
        {"type": "nps"},
        {"type": "open_numeric"},
        {"type": "ranking", "options": ["a", "b"]},
        TEXT,
    )
    respond(made, 0, 5, 10, 3, [0, 1], "x")
    respond(made, 1, 2, 3, 8, [1, 0], "y")
    respond(made, 1)
    which = scenario.script(made).blocks[0].id

    seen = look(client, made, f"?segment_by={which}")

    assert seen.count("compared</caption>") == 5
    assert seen.count("red <small>1 response</small>") == 2
    assert seen.count("green <small>1 of 2 answered</small>") == 2
    assert "score +100" in seen
    assert (
        '<th scope="row" lang="" dir="auto">a: average rank</th><td dir="auto">1</td><td dir="auto">2</td>'
        in seen
    )
    assert '<th scope="row" lang="" dir="auto">Mean</th><td dir="auto">5</td><td dir="auto">2</td>' in seen
    assert (
        '<th scope="col" lang="" dir="auto">A red</th><th scope="col" lang="" dir="auto">B green</th>' in seen
    )


def test_what_would_be_divided_into_too_much_is_told_undivided_with_a_sentence(client, monkeypatch):
    monkeypatch.setattr(figures, "MAX_SEGMENT_NUMBERS", 1)
    made = scenario.project(CHOICE, SCALE)
    respond(made, 0, 5)
    which = scenario.script(made).blocks[0].id

    seen = look(client, made, f"?segment_by={which}", status=400)

    assert '<a href="#segment_by">This question has' in seen
    assert "<dt>Responses</dt><dd>1</dd>" in seen
    assert "compared</caption>" not in seen


def test_responses_and_answered_questions_are_two_numbers_with_two_names():
    """Rule 6.294."""
    staff = project_staff()
    made = scenario.project(CHOICE, TEXT, community=staff.community)
    scenario.say(scenario.begin(made, "a"), 0, "Because")
    scenario.say(scenario.begin(made, "b"), 0)
    results = Caller(community=staff.community).get(f"/projects/{made.pk}/analysis/results").json()

    page = staff.read(tab(made.pk))

    assert (results["conversation_count"], results["response_count"]) == (2, 3)
    assert "Responses</dt><dd>2<" in page
    assert "Answered questions</dt><dd>3<" in page
