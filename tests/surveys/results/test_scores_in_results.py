"""Scores and calculated results as distributions, in results and analyses (rules 1.35, 5.12 and 7.12)."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from surveys.engine.statistics import DistributionEntry
from surveys.models import Conversation, Project, ResultsCount
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.counting import derived as derived_counting
from surveys.services.results import derived, figures, very_large
from surveys.services.results.figures import Selection
from surveys.services.scripts import cache as script_cache
from tests.support.caller import Caller, faults
from tests.support.instruments.respondent import Sitting, build
from tests.support.surveys import event_log, scenario
from tests.support.surveys.analyses import Reads, connecting, give  # noqa: F401
from tests.support.surveys.quizzes import PEOPLE, quiz
from tests.support.surveys.results import OPEN_WEB, results
from tests.support.surveys.scored_projects import points, script

pytestmark = pytest.mark.django_db
SHARED = {"settings": {"share_results": True}}


Taken = tuple[Caller, dict[str, Any]]


@pytest.fixture(scope="module")
def taken_by_five(kept_rows: None) -> Taken:
    caller = Caller()
    return caller, quiz(caller)


@pytest.fixture(scope="module")
def taken_by_one(kept_rows: None) -> Taken:
    caller = Caller()
    return caller, quiz(caller, PEOPLE[:1])


def told(caller: Caller, project: dict[str, Any], query: str = "") -> tuple[Any, Any]:
    whole = results(caller, project, query)
    return whole["scores"], whole["variables"]


def entry(value: object, count: int, percentage: float) -> dict[str, object]:
    return {"value": value, "from": None, "to": None, "count": count, "percentage": percentage}


def rewrite(project: dict[str, Any], part: str, values: list[Any]) -> None:
    """Write these values into a part of the state of completed conversations, one value for each."""
    like = Conversation.objects.filter(project_id=int(project["id"]))[0]
    made = [
        Conversation(
            project_id=like.project_id,
            seed=1,
            state={part: value},
            is_listed=True,
            started_at=like.started_at,
            updated_at=like.updated_at,
            completed_at=like.completed_at,
        )
        for value in values
    ]
    like.delete()
    Conversation.objects.bulk_create(made)


def test_each_bucket_and_all_of_them_are_told_as_distributions(taken_by_five: Taken) -> None:
    """Rule 6.57."""
    caller, project = taken_by_five

    (fire, sea, total), _ = told(caller, project)

    assert fire == {
        "key": "fire_mage",
        "name": "Fire Mage",
        "count": 5,
        "mean": 1.8,
        "min": 0,
        "lower_quartile": 0,
        "median": 3,
        "upper_quartile": 3,
        "max": 3,
        "standard_deviation": math.sqrt(2.7),
        "distribution": [entry(0, 2, 40.0), entry(3, 3, 60.0)],
        "max_score": 3,
        "score_correct": {"mean": 1.8, "min": 0, "max": 3, "max_score_correct": 3},
    }
    assert (sea["mean"], sea["max_score"]) == (3.9, 6)
    assert sea["distribution"] == [
        entry(1.5, 1, 20.0),
        entry(3, 1, 20.0),
        entry(4.5, 2, 40.0),
        entry(6, 1, 20.0),
    ]
    assert (total["key"], total["name"], total["min"], total["max"], total["max_score"]) == (
        None, "Total", 3, 7.5, 9,
    )  # fmt: skip
    assert total["score_correct"] == {"mean": 2.1, "min": 0, "max": 3.5, "max_score_correct": 3.5}


def test_calculated_numbers_and_texts_are_told_as_distributions(taken_by_five: Taken) -> None:
    """Rule 6.57."""
    caller, project = taken_by_five

    _, (total, kind) = told(caller, project)

    ids = {block["name"]: block["id"] for block in project["script"]["blocks"]}
    assert total == {
        "block_id": ids["Total"],
        "name": "Total",
        "is_text": False,
        "count": 5,
        "mean": 5.8,
        "min": 4,
        "lower_quartile": 4,
        "median": 7,
        "upper_quartile": 7,
        "max": 7,
        "standard_deviation": math.sqrt(2.7),
        "distribution": [entry(4, 2, 40.0), entry(7, 3, 60.0)],
        "other_values": 0,
        "other_count": 0,
    }
    assert kind["block_id"] == ids["Kind"]
    assert (kind["is_text"], kind["count"], kind["mean"]) == (True, 5, None)
    assert kind["distribution"] == [entry("much", 3, 60.0), entry("little", 2, 40.0)]


def test_partial_responses_count_only_where_the_status_asks_for_them(taken_by_five: Taken) -> None:
    caller, project = taken_by_five
    Sitting(caller, project).walk({"Colour": "red"}, until="Shape")

    counts = {
        status: (told(caller, project, f"?status={status}")[0][0]["count"])
        for status in ("all", "completed", "partial")
    }

    assert counts == {"all": 5, "completed": 5, "partial": 1}
    assert [each["count"] for each in told(caller, project, "?status=partial")[1]] == [1, 0]


def test_without_scoring_there_are_none_and_no_statement_more() -> None:
    caller = Caller()
    made = scenario.project(*[scenario.CHOICE] * 3, community=caller.community, author=caller.user)
    path = f"/projects/{made.pk}/analysis/results"
    assert (caller.get(path).json()["scores"], caller.get(path).json()["variables"]) == (None, [])

    with scenario.at_most(5):  # two read the script and what was added to it, which are kept after a commit
        caller.get(path)


@pytest.mark.parametrize("different", [11, 12])
def test_up_to_eleven_numbers_are_told_one_by_one_and_more_in_ranges(
    taken_by_one: Taken, different: int
) -> None:
    caller, project = taken_by_one
    rewrite(project, "scores", [{"sea": [n, 20, 0, 0]} for n in range(different)])

    distribution = told(caller, project)[0][1]["distribution"]

    assert sum(each["count"] for each in distribution) == different
    assert (distribution[0]["value"] is None) == (different > 11)
    if different > 11:
        assert [(each["from"], each["to"], each["count"]) for each in distribution] == [
            (0, 2, 2), (2, 4, 2), (4, 6, 2), (6, 8, 2), (8, 10, 2), (10, 12, 2),
        ]  # fmt: skip


NUMBERS = {
    "whole": [Decimal(n * n % 97) for n in range(60)],
    "below 0": [Decimal(n * 37 % 101) - 60 for n in range(60)],
    "decimals": [Decimal(n * n) / 100 for n in range(50)],
    "tiny": [Decimal(n) * Decimal("1e-9") for n in range(30)],
    "huge": [Decimal(10) ** 90 * n for n in range(30)],
    "far apart": [Decimal(n) for n in range(20)] + [Decimal(10) ** 12],
    "on the edges": [Decimal(n * 10) for n in range(101)],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_ranges_are_what_plain_counting_says(name: str) -> None:
    caller, numbers = Caller(), NUMBERS[name]
    project = quiz(caller, PEOPLE[:1])
    key = str(next(block["id"] for block in project["script"]["blocks"] if block["name"] == "Total"))
    rewrite(project, "results", [{key: {"number": str(each)}} for each in numbers])
    made = Project.objects.get(pk=int(project["id"]))

    total = figures.count(project=made).variables[0]

    ranges = total["distribution"]
    assert 2 <= len(ranges) <= derived_counting.MAX_RANGES
    assert total["mean"] == float(sum(numbers) / len(numbers))
    assert (total["min"], total["max"]) == (float(min(numbers)), float(max(numbers)))
    quartiles = [total[name] for name in ("lower_quartile", "median", "upper_quartile")]
    assert quartiles == pytest.approx([*map(float, statistics.quantiles(numbers, n=4, method="inclusive"))])
    assert total["standard_deviation"] == pytest.approx(float(statistics.stdev(map(Fraction, numbers))))
    assert all(one["to"] == other["from"] for one, other in pairwise(ranges))
    plain = Counter(
        next(n for n, each in enumerate(ranges) if number < each["to"] or n == len(ranges) - 1)
        for number in map(float, numbers)
    )
    assert {n: each["count"] for n, each in enumerate(ranges) if each["count"]} == plain
    assert ranges[0]["from"] <= float(min(numbers))
    assert float(max(numbers)) <= ranges[-1]["to"]


@pytest.mark.parametrize("different", [100, 101])
def test_a_hundred_texts_are_told_and_the_others_counted(taken_by_one: Taken, different: int) -> None:
    caller, project = taken_by_one
    key = str(next(block["id"] for block in project["script"]["blocks"] if block["name"] == "Kind"))
    texts = [f"text {n:03}" for n in range(different)] + ["text 100", "text 007"]
    rewrite(project, "results", [{key: {"text": each}} for each in texts])

    kind = told(caller, project)[1][1]

    counts = Counter(texts)
    listed = sorted(counts, key=lambda text: (-counts[text], text))[:100]
    assert {each["value"]: each["count"] for each in kind["distribution"]} == {
        text: counts[text] for text in listed
    }
    left_out = {text: count for text, count in counts.items() if text not in listed}
    assert (kind["other_values"], kind["other_count"]) == (len(left_out), sum(left_out.values()))


def test_long_texts_are_cut_and_numbers_beside_texts_are_texts(taken_by_one: Taken) -> None:
    caller, project = taken_by_one
    key = str(next(block["id"] for block in project["script"]["blocks"] if block["name"] == "Kind"))
    rewrite(
        project, "results", [{key: {"text": "x" * 501}}, {key: {"text": "x" * 500}}, {key: {"number": "0"}}]
    )

    kind = told(caller, project)[1][1]

    assert [(each["value"], each["count"]) for each in kind["distribution"]] == [("x" * 500, 2), ("0", 1)]


def test_they_are_divided_like_blocks_are(taken_by_five: Taken) -> None:
    caller, project = taken_by_five
    colour = project["script"]["blocks"][0]

    (fire, sea, total), (_, kind) = told(caller, project, f"?segment_by={colour['id']}")

    red, blue = sea["segments"]
    assert (red["value"], red["count"], red["mean"], blue["count"], blue["mean"]) == ("red", 3, 3.5, 2, 4.5)
    assert [each["value"] for each in red["distribution"]] == [each["value"] for each in sea["distribution"]]
    assert [each["count"] for each in red["distribution"]] == [1, 0, 2, 0]
    assert [each["mean"] for each in total["segments"]] == [6.5, 4.5]
    assert fire["segments"][1]["score_correct"] == {"mean": 0.0, "min": 0, "max": 0, "max_score_correct": 3}
    assert [each["distribution"] for each in kind["segments"]] == [
        [entry("much", 2, 66.67), entry("little", 1, 33.33)],
        [entry("much", 1, 50.0), entry("little", 1, 50.0)],
    ]


def test_every_value_of_a_field_that_is_counted_is_listed() -> None:
    caller = Caller()
    project = Project.objects.get(pk=int(quiz(caller, [])["id"]))
    stored = script_cache.of(project).stored
    one = [1, "1", "1", "1", "6", "1", ["1"] * 6]
    counted = {"ranges": [["score", name, "sea", *one] for name in (None, "7", "8")]}
    values = [DistributionEntry((None, name), name, None) for name in ("7", "8")]
    options = [DistributionEntry((7, None), "red", None)]  # the option 8 is none any more

    listed = derived.scores(stored.script, counted, values) or []
    of_options = derived.scores(stored.script, counted, options) or []

    assert [[part["count"] for part in each["segments"]] for each in listed] == [[0, 0], [1, 1], [0, 0]]
    assert [[part["count"] for part in each["segments"]] for each in of_options] == [[0], [1], [0]]
    with pytest.raises(AssertionError, match=r"^1 segments are counted and not listed"):
        derived.scores(stored.script, counted, values[:1])


def test_a_selection_and_the_whole_are_counted_alike(taken_by_five: Taken) -> None:
    made = Project.objects.get(pk=int(taken_by_five[1]["id"]))

    whole, selected = (
        figures.count(project=made),
        figures.count(project=made, selection=Selection(provider="web")),
    )

    assert (selected.scores, selected.variables) == (whole.scores, whole.variables)
    none = figures.count(project=made, selection=Selection(provider="chat"))
    assert [each["count"] for each in none.scores or ()] == [0, 0, 0]


@pytest.mark.parametrize(("most", "status"), [(516, 200), (515, 400)])
@pytest.mark.parametrize("by_field", [False, True])
def test_scores_and_calculated_results_count_towards_the_limit_of_numbers(
    monkeypatch: pytest.MonkeyPatch, most: int, status: int, by_field: bool
) -> None:
    """In 2 segments: 11 of 2 buckets and all of them, 100 of 2 calculations, 21 of a field, 4 options."""
    caller = Caller()
    project = quiz(caller, settings={"hidden_fields": {"plan": ["pro"]}})
    monkeypatch.setattr(figures, "MAX_SEGMENT_NUMBERS", most)
    dividing = "field.plan" if by_field else project["script"]["blocks"][0]["id"]

    response = caller.get(f"/projects/{project['id']}/analysis/results?segment_by={dividing}")

    assert response.status_code == status
    assert faults(response) == (set() if status == 200 else {("segment_by", "too_many")})


@pytest.mark.parametrize(("most", "status"), [(8, 200), (7, 400)])
def test_scores_that_are_not_told_do_not_count_towards_the_limit(
    monkeypatch: pytest.MonkeyPatch, most: int, status: int
) -> None:
    caller = Caller()
    project = quiz(caller, privacy_mode="transparent")
    monkeypatch.setattr(figures, "MAX_SEGMENT_NUMBERS", most)
    path = f"/projects/{project['id']}/analysis/results?segment_by={project['script']['blocks'][0]['id']}"

    assert caller.beside("member").get(path).status_code == status
    assert caller.get(path).status_code == 400


# --- Who ----------------------------------------------------------------------------------------------


def test_a_member_who_may_be_asked_to_answer_reads_neither() -> None:
    """Rule 6.57."""
    caller = Caller()
    project = quiz(caller, privacy_mode="transparent")
    analysed(caller, project)

    member = caller.beside("member")

    assert told(member, project) == (None, [])
    newest = member.get(f"/projects/{project['id']}/analysis").json()
    assert (newest["scores"], newest["variables"]) == (None, [])
    assert "Fire Mage" not in str(newest)
    assert "much" not in str(newest)


def test_scores_that_a_reader_may_not_know_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(very_large, "VERY_LARGE", 5)
    caller = Caller()
    project = quiz(caller, privacy_mode="transparent")
    path = f"/projects/{project['id']}/analysis/results"

    with CaptureQueriesContext(connection) as captured:
        response = caller.beside("member").get(path)

    assert (response.status_code, response.json()["conversation_count"]) == (200, 5)
    assert not any("state->'scores'" in query["sql"] for query in captured)
    assert not ResultsCount.objects.exists()
    assert caller.get(path).status_code == 202


def test_what_a_worker_counts_for_a_member_is_not_what_it_counts_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(very_large, "VERY_LARGE", 5)
    caller = Caller()
    project = quiz(caller, privacy_mode="transparent")
    path = f"/projects/{project['id']}/analysis/results?provider=web"
    member = caller.beside("member")

    assert [each.get(path).status_code for each in (member, caller)] == [202, 202]
    for job in ResultsCount.objects.all():
        very_large.run(count_id=job.pk)

    assert told(member, project, "?provider=web") == (None, [])
    assert [each["count"] for each in told(caller, project, "?provider=web")[0]] == [5, 5, 5]


def test_another_creator_reads_shared_scores_without_texts_and_numbers_of_few() -> None:
    """Rule 1.153."""
    caller = Caller()
    project = quiz(caller, privacy_mode="semi-private", **SHARED)
    analysed(caller, project)
    creator = caller.beside("creator")

    scores, (total, kind) = told(creator, project)
    newest = creator.get(f"/projects/{project['id']}/analysis").json()

    own = told(caller, project)
    assert [each["mean"] for each in scores] == [each["mean"] for each in own[0]]
    assert [each["distribution"] for each in scores] == [[], [], []]
    assert {each[key] for each in (*scores, total) for key in ("min", "median", "max")} == {None}
    assert own[1][0]["distribution"] == [entry(4, 2, 40.0), entry(7, 3, 60.0)]
    assert (total["distribution"], total["other_values"], total["other_count"]) == ([], 2, 5)
    assert (kind["distribution"], kind["other_values"], kind["other_count"]) == ([], 2, 5)
    assert (newest["scores"], newest["variables"]) == (scores, [total, kind])


@pytest.mark.parametrize("people", [4, 12])
def test_of_anonymous_projects_only_those_who_read_responses_read_scores(people: int) -> None:
    caller = Caller()
    project = quiz(caller, (PEOPLE * 3)[:people], privacy_mode="anonymous", **SHARED)
    analysed(caller, project)
    path = f"/projects/{project['id']}/analysis"
    shared = Project.objects.get(pk=int(project["id"])).results_token

    for other in (caller.beside("creator"), caller.beside("member")):
        assert told(other, project) == (None, [])
        newest = other.get(path).json()
        assert (newest["scores"], newest["variables"]) == (None, [])
        assert "much" not in str(newest)
    page = caller.client.get(f"/r/{shared}").content.decode()
    assert "Fire Mage" not in page
    assert "much" not in page
    (fire, *_), newest = told(caller, project)[0], caller.get(path).json()
    assert fire["count"] == newest["scores"][0]["count"] == people
    assert (fire["min"], fire["max"]) == (0, 3)


def test_the_public_page_shows_no_scores() -> None:
    caller = Caller()
    project = quiz(caller, **SHARED)
    token = Project.objects.get(pk=int(project["id"])).results_token

    page = caller.client.get(f"/r/{token}").content.decode()

    assert page.count("Which?") >= 2
    assert "Fire Mage" not in page
    assert "much" not in page


# --- Analyses -----------------------------------------------------------------------------------------


def analysed(caller: Caller, project: dict[str, Any], query: str = "") -> dict[str, Any]:
    asked = caller.post(f"/projects/{project['id']}/analysis?ai=false{query}")
    assert asked.status_code in (200, 202), asked.content
    analysis.run(analysis_id=int(asked.json()["id"]))
    return dict(caller.get(f"/projects/{project['id']}/analysis").json())


def test_an_analysis_tells_them_as_the_results_do_and_so_does_its_event() -> None:
    caller = Caller()
    event_log.listener(caller.community.pk, "analysis.completed")
    project = quiz(caller)

    newest = analysed(caller, project)

    assert (newest["scores"], newest["variables"]) == told(caller, project)
    ((_, data),) = event_log.heard(caller.community.pk)
    assert data["analysis"] == newest


def test_an_analysis_is_made_anew_once_scores_have_changed_without_an_answer() -> None:
    caller = Caller()
    project = build(caller, script(points("One", 1, 2), points("Two", 3, 4), points("Three", 5)))
    path = f"/projects/{project['id']}/analysis?ai=false&status=partial"
    talk = caller.post(f"/projects/{project['id']}/conversations", {}).json()
    one, two, _ = project["script"]["blocks"]
    caller.post(f"/conversations/{talk['id']}/answers", {"block_id": one["id"], "value": "a"})
    first = analysed(caller, project, "&status=partial")
    assert caller.post(path).status_code == 200

    caller.post(f"/conversations/{talk['id']}/answers", {"block_id": two["id"], "skip": True})

    assert first["scores"][0]["max_score"] == 2
    assert caller.post(path).status_code == 202
    assert told(caller, project, "?status=partial")[0][0]["max_score"] == 6


def test_scores_of_very_many_responses_are_counted_by_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(very_large, "VERY_LARGE", 5)
    caller = Caller()
    project = quiz(caller, delivery={"audience": OPEN_WEB["audience"]})
    path = f"/projects/{project['id']}/analysis/results"

    begun = caller.get(path)
    very_large.run(count_id=ResultsCount.objects.get().pk)

    assert begun.status_code == 202
    assert caller.get(path).json()["scores"][0]["count"] == 5
