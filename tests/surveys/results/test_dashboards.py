"""Dashboards over the interface, and in copies of a project."""

from __future__ import annotations

from typing import Any

import pytest

from communities.models import AuditEntry
from surveys.models import Dashboard, Project
from tests.support.caller import Caller
from tests.support.surveys.panel import BLOCKS, panel, people
from tests.support.surveys.results import OPEN_WEB

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
        ({"block_ids": [1]}, "block_ids"),
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
