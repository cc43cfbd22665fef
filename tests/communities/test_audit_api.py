"""GET .../audit, over HTTP."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from communities.ground.audit_actions import Action
from communities.models import AuditEntry
from tests.support.caller import TEXT, Caller, faults, refusal

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller()


def read(caller: Caller, query: str = "") -> list[dict[str, Any]]:
    answer = caller.get(f"/audit{query}")
    assert answer.status_code == 200, answer.content
    entries: list[dict[str, Any]] = answer.json()["data"]
    return entries


def test_a_change_is_told_as_it_was_and_as_it_is(caller: Caller) -> None:
    project = caller.make(TEXT, name="Openings")

    answer = caller.patch(f"/projects/{project['id']}", {"name": "Endings"})

    told = read(caller)[0]
    assert {name: told[name] for name in ("action", "before", "after", "project_id", "object_name")} == {
        "action": "project.updated",
        "before": {"name": "Openings"},
        "after": {"name": "Endings"},
        "project_id": project["id"],
        "object_name": "Endings",
    }
    assert (told["actor_id"], told["actor_name"]) == (str(caller.user.pk), "A admin")
    assert caller.secret.startswith(told["key_prefix"])
    assert told["request_id"] == answer["X-Request-Id"]
    assert told["happened_at"].endswith("Z")


def test_pages_are_told_without_numbers_and_totals(caller: Caller) -> None:
    for name in ("a", "b", "c"):
        caller.patch("/settings", {"xp_name": name})

    first = caller.get("/audit?per_page=2").json()
    second = caller.get(f"/audit?per_page=2&after={first['data'][-1]['id']}").json()

    assert [page["pagination"] for page in (first, second)] == [
        {"per_page": 2, "has_more": True},
        {"per_page": 2, "has_more": False},
    ]
    assert [each["after"]["xp_name"] for page in (first, second) for each in page["data"]] == ["c", "b", "a"]


def test_filters_go_together(caller: Caller) -> None:
    first, second = caller.make(TEXT, name="Openings"), caller.beside("creator").make(TEXT, name="Endings")
    caller.patch(f"/projects/{first['id']}", {"name": "The Openings"})

    found = {
        query: [each["action"] for each in read(caller, query)]
        for query in (
            f"?project_id={second['id']}",
            "?action=project.updated",
            f"?actor_id={caller.user.pk}",
            f"?actor_id={caller.user.pk}&action=project.created",
            "?search=the open",
            "?since=2100-01-01T00:00:00Z",
            "?until=2000-01-01T00:00:00Z",
            "?since=2000-01-01T00:00:00Z&until=2100-01-01T00:00:00Z&search=endings",
        )
    }

    assert list(found.values()) == [
        ["project.created"],
        ["project.updated"],
        ["project.updated", "project.created"],
        ["project.created"],
        ["project.updated"],
        [],
        [],
        ["project.created"],
    ]


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("actoin=project.updated", ("actoin", "not_allowed")),
        ("page=1", ("page", "not_allowed")),
        ("action=project.painted", ("action", "not_a_choice")),
        ("per_page=101", ("per_page", "too_large")),
        ("project_id=x", ("project_id", "invalid")),
        ("since=2026-01-31", ("since", "invalid")),
        ("after=7", ("after", "invalid")),
    ],
)
def test_wrong_parameters_are_refused(caller: Caller, query: str, fault: tuple[str, str]) -> None:
    answer = caller.get(f"/audit?{query}")

    assert answer.status_code == 400
    assert [field for field, _ in faults(answer)] == [fault[0]]


def test_an_entry_that_is_not_there_cannot_be_gone_on_from(caller: Caller) -> None:
    other = Caller()
    other.patch("/settings", {"xp_name": "Tempi"})
    elsewhere = AuditEntry.objects.get().pk

    for unknown in (uuid.uuid4(), elsewhere):
        assert faults(caller.get(f"/audit?after={unknown}")) == {("after", "not_found")}


def test_other_communities_are_not_in_it(caller: Caller) -> None:
    other = Caller()
    project = other.make(TEXT)

    assert read(caller) == []
    assert read(caller, f"?project_id={project['id']}") == []
    assert refusal(
        caller.client.get(f"/v1/communities/{other.community.pk}/audit", headers={"X-API-Key": caller.secret})
    ) == (404, "not_found")


def test_every_action_fits_its_column() -> None:
    longest = AuditEntry._meta.get_field("action").max_length

    assert longest is not None
    assert max(map(len, Action.values)) <= longest
