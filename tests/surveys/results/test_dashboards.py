"""Dashboards over the interface, and in copies of a project."""

from __future__ import annotations

from typing import Any

import pytest

from communities.models import AuditEntry
from surveys.models import Dashboard, Project
from tests.support.caller import Caller, faults
from tests.support.surveys.panel import BLOCKS, panel, people
from tests.support.surveys.results import OPEN_WEB, converse

pytestmark = pytest.mark.django_db
SETTINGS = {"hidden_fields": {"campaign": ["mail"], "weight": ["1"]}, "privacy_mode": "semi-private"}
NOTHING = {"title": "", "where": None, "weight_by": None, "is_shared": False}


@pytest.fixture
def owner() -> Caller:
    return Caller()


@pytest.fixture
def project(owner: Caller) -> dict[str, Any]:
    return panel(owner, people(3, seed=1), **SETTINGS)


def ids(project: dict[str, Any], *names: str) -> list[int]:
    known = {str(each["name"]).lower(): each["id"] for each in project["script"]["blocks"]}
    return [known[name] for name in names]


def copy_of(owner: Caller, project: dict[str, Any]) -> dict[str, Any]:
    made = owner.post(f"/projects/{project['id']}/clone").json()
    return {**made, "script": owner.get(f"/projects/{made['id']}/script").json()}


def address(project: dict[str, Any]) -> str:
    return f"/projects/{project['id']}/dashboard"


def test_a_dashboard_is_kept_read_sent_back_and_removed(owner: Caller, project: dict[str, Any]) -> None:
    """Rule 6.430."""
    sent = {
        "title": "At a glance",
        "block_ids": ids(project, "age", "colour"),
        "where": "stars > 1",
        "weight_by": "field.weight",
        "is_shared": True,
    }

    kept, read = owner.put(address(project), sent), owner.get(address(project))

    assert (kept.status_code, kept.json()) == (200, sent)
    assert read.json() == sent
    board = Dashboard.objects.get()
    assert (board.where, board.weight_by, board.is_shared) == ("stars > 1", "weight", True)
    assert owner.put(address(project), read.json()).json() == sent
    assert AuditEntry.objects.filter(action="project.updated").count() == 1
    few = {"block_ids": ids(project, "stars")}
    assert owner.put(address(project), few).json() == {**NOTHING, **few}

    assert [owner.delete(address(project)).status_code for _ in range(2)] == [204, 204]
    gone = owner.get(address(project))
    assert (gone.status_code, gone.json()["message"]) == (404, "This project has no dashboard.")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"block_ids": []}, "block_ids"),
        ({"block_ids": [10**9]}, "block_ids"),
        ({"block_ids": ["stars", "stars"]}, "block_ids"),
        ({"block_ids": ["doubled"]}, "block_ids"),
        ({"where": "nobody = 1"}, "where"),
        ({"weight_by": "field.height"}, "weight_by"),
        ({"weight_by": "weight"}, "weight_by"),
        ({"is_shared": "yes"}, "is_shared"),
        ({"title": "x" * 201}, "title"),
    ],
)
def test_a_fault_names_its_field(
    owner: Caller, project: dict[str, Any], changed: dict[str, Any], field: str
) -> None:
    """Rule 6.430."""
    charts = changed.get("block_ids", ["stars"])
    sent = {
        **changed,
        "block_ids": [each if isinstance(each, int) else ids(project, each)[0] for each in charts],
    }

    answer = owner.put(address(project), sent)

    assert answer.status_code == 400
    assert [each["field"].partition("[")[0] for each in answer.json()["violations"]] == [field]
    assert not Dashboard.objects.exists()


def test_anonymous_projects_share_no_selection(owner: Caller, project: dict[str, Any]) -> None:
    """Rules 6.381 and 6.430."""
    Project.objects.filter(pk=project["id"]).update(privacy_mode="anonymous")
    chosen = {"block_ids": ids(project, "stars"), "is_shared": True}

    refused = owner.put(address(project), {**chosen, "where": "stars > 1"})
    kept = owner.put(address(project), chosen)

    assert refused.json()["violations"][0]["field"] == "is_shared"
    assert kept.status_code == 200


def test_it_is_read_by_those_who_may_read_the_responses(owner: Caller, project: dict[str, Any]) -> None:
    """Rule 6.430."""
    owner.put(address(project), {"block_ids": ids(project, "stars")})
    others = [owner.beside(role) for role in ("member", "creator")]

    assert [each.get(address(project)).status_code for each in others] == [403, 403]
    assert [each.put(address(project), {"block_ids": [1]}).status_code for each in others] == [403, 403]
    Project.objects.filter(pk=project["id"]).update(privacy_mode="transparent")
    assert [each.get(address(project)).status_code for each in others] == [200, 200]


def test_questions_that_were_removed_are_left_out(owner: Caller, project: dict[str, Any]) -> None:
    """Rule 6.430."""
    age, stars = ids(project, "age", "stars")
    owner.put(address(project), {"block_ids": [age, stars]})
    owner.post(f"/projects/{project['id']}/close")
    blocks = owner.get(f"/projects/{project['id']}/script").json()["blocks"]
    left = [each for each in blocks if each["name"].lower() not in ("age", "doubled")]
    assert owner.put(f"/projects/{project['id']}/script", {"blocks": left}).status_code == 200

    assert owner.get(address(project)).json()["block_ids"] == [stars]


RED = [{"value": "red"}, {"value": "green"}]
FIRST = {"type": "single_punch", "name": "first", "prompt": "Your colour?", "options": RED}
SECOND = {**FIRST, "name": "second", "prompt": "Colour of your car?"}


def in_other_places(first: dict[str, Any], second: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in each.items() if key != "position"} for each in (second, first)]


def with_swapped_names(first: dict[str, Any], second: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**first, "name": "second"}, {**second, "name": "first"}]


@pytest.mark.parametrize(
    ("where", "change", "kept", "after"),
    [
        ('q1 = "red"', in_other_places, 'first = "red"', 'first = "red"'),
        ('first = "red"', with_swapped_names, 'first = "red"', 'second = "red"'),
    ],
)
def test_the_condition_follows_the_script(
    owner: Caller, where: str, change: Any, kept: str, after: str
) -> None:
    """Rule 6.472: a shared dashboard goes on counting the same people."""
    settings = {"privacy_mode": "semi-private", "share_results": True}
    project = owner.make_open(FIRST, SECOND, delivery=OPEN_WEB, settings=settings)
    for answers in [["red", "green"]] * 6 + [["green", "red"]] * 9:
        converse(owner, project, answers)
    board = {"block_ids": ids(project, "first", "second"), "where": where, "is_shared": True}
    assert owner.put(address(project), board).json()["where"] == kept
    token = Project.objects.get(pk=project["id"]).results_token
    shared = owner.client.get(f"/r/{token}.json").json()
    assert shared["conversation_count"] == 6
    owner.post(f"/projects/{project['id']}/close")
    blocks = owner.get(f"/projects/{project['id']}/script").json()["blocks"]

    written = owner.put(f"/projects/{project['id']}/script", {"blocks": change(*blocks)})

    assert written.status_code == 200, written.content
    assert owner.get(address(project)).json()["where"] == after
    counted = owner.client.get(f"/r/{token}.json").json()
    assert counted["conversation_count"] == 6
    assert figures_of(counted) == figures_of(shared)


def figures_of(shared: dict[str, Any]) -> list[Any]:
    return [(each["prompt"], each["response_count"], each["distribution"]) for each in shared["blocks"]]


def test_what_the_condition_names_stays_in_the_script(owner: Caller) -> None:
    """Rule 6.472."""
    long = {**SECOND, "name": "x" * 60}
    project = owner.make(FIRST, SECOND, long, scoring={"enabled": True})
    script, blocks = f"/projects/{project['id']}/script", project["script"]["blocks"]
    chosen = {"block_ids": ids(project, "second")}
    owner.put(address(project), {**chosen, "where": 'first = "red" and score > 1'})

    gone = owner.put(script, {"blocks": blocks[1:]})
    unscored = owner.patch(f"/projects/{project['id']}", {"scoring": {"enabled": False}})
    too_long = owner.put(address(project), {**chosen, "where": "q3 = 1" + " or q3 = 1" * 40})

    assert (gone.status_code, faults(gone)) == (400, {("blocks", "in_use")})
    assert gone.json()["message"].startswith("`dashboard.where` would not fit this script.")
    assert (unscored.status_code, faults(unscored)) == (400, {("scoring", "in_use")})
    assert (too_long.status_code, faults(too_long)) == (400, {("where", "too_long")})
    owner.put(address(project), {**chosen, "where": "second != 1"})
    assert owner.put(script, {"blocks": blocks[1:]}).status_code == 200
    assert owner.patch(f"/projects/{project['id']}", {"scoring": {"enabled": False}}).status_code == 200


def test_a_condition_that_fitted_no_more_before_stops_no_script(owner: Caller) -> None:
    """Rule 6.472: an earlier version let a script change without it."""
    project = owner.make(FIRST, SECOND)
    owner.put(address(project), {"block_ids": ids(project, "second"), "where": 'first = "red"'})
    Dashboard.objects.update(where='third = "red"')

    answer = owner.put(f"/projects/{project['id']}/script", {"blocks": project["script"]["blocks"][1:]})

    assert answer.status_code == 200, answer.content
    assert Dashboard.objects.get().where == 'third = "red"'


def test_a_copy_in_the_community_has_the_dashboard(owner: Caller, project: dict[str, Any]) -> None:
    """Rule 6.431."""
    sent: dict[str, Any] = {
        **NOTHING,
        "title": "At a glance",
        "block_ids": ids(project, "recommend", "colour"),
        "where": "stars > 1",
        "weight_by": "field.weight",
    }
    owner.put(address(project), sent)

    copy = copy_of(owner, project)

    copied = owner.get(address(copy)).json()
    assert copied == {**sent, "block_ids": ids(copy, "recommend", "colour")}
    assert not set(copied["block_ids"]) & set(sent["block_ids"])
    assert owner.get(address(project)).json() == sent


def test_a_copy_leaves_out_what_is_not_in_the_script(owner: Caller, project: dict[str, Any]) -> None:
    """Rule 6.431."""
    Dashboard.objects.create(project_id=project["id"], block_ids=[1, *ids(project, "stars")])
    copy = copy_of(owner, project)
    assert owner.get(address(copy)).json()["block_ids"] == ids(copy, "stars")

    Dashboard.objects.filter(project=project["id"]).update(block_ids=[1])
    copy = copy_of(owner, project)
    assert owner.get(address(copy)).status_code == 404


def test_copies_of_those_who_may_not_read_the_responses_have_none(owner: Caller) -> None:
    """Rule 6.431."""
    made = owner.make_open(*BLOCKS[:1], settings={"privacy_mode": "semi-private"}, delivery=OPEN_WEB)
    owner.put(address(made), {"title": "Ours", "block_ids": ids(made, "colour"), "where": 'colour = "red"'})
    colleague, stranger = owner.beside("creator"), Caller()

    copies = [each.post(f"/projects/{made['id']}/clone") for each in (colleague, stranger)]

    assert [each.status_code for each in copies] == [201, 201]
    assert [*Dashboard.objects.values_list("project_id", flat=True)] == [int(made["id"])]
    Project.objects.filter(pk=made["id"]).update(privacy_mode="transparent")
    assert stranger.post(f"/projects/{made['id']}/clone").status_code == 201
    assert Dashboard.objects.count() == 1
    assert colleague.post(f"/projects/{made['id']}/clone").status_code == 201
    assert Dashboard.objects.count() == 2
