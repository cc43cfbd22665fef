"""Events about projects: each is written together with its change, or not at all."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from communities.ground.errors import Conflict
from surveys.models import Project
from surveys.services.projects import opening, removal, schedule
from surveys.services.projects import service as projects
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.concurrency import run_together
from tests.support.surveys import event_log
from tests.support.surveys.participants import Talk, a_member
from webhooks.models import Event

pytestmark = pytest.mark.django_db

OPENING = datetime.fromisoformat("2999-01-01T00:00:00Z")
CLOSING = datetime.fromisoformat("2999-01-02T00:00:00Z")
SECOND = timedelta(seconds=1)
SCHEDULED = {
    "opening": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"},
    "closing": {"mode": "scheduled", "time": "2999-01-02T00:00:00Z"},
}


@pytest.fixture
def caller() -> Caller:
    """An admin of a community in which one webhook listens to everything."""
    caller = Caller()
    event_log.listener(caller.community.pk)
    return caller


def heard(caller: Caller) -> list[str]:
    return [type for type, _ in event_log.heard(caller.community.pk)]


def scheduled(caller: Caller) -> dict[str, Any]:
    made = caller.make(TEXT)
    assert caller.post(f"/projects/{made['id']}/open", {"delivery": SCHEDULED}).status_code == 200
    return made


def moments(caller: Caller) -> list[tuple[str, str, str]]:
    """Type, timestamp and the project's status in each event, except events about creations."""
    return [
        (body["type"], body["timestamp"], body["data"]["project"]["status"])
        for body in event_log.bodies(caller.community.pk)
        if body["type"] != "project.created"
    ]


def test_each_change_is_told_with_the_project_as_the_interface_tells_it(caller: Caller) -> None:
    made = caller.make(CHOICE, scoring_enabled=True)
    path = f"/projects/{made['id']}"
    told = [("project.created", caller.get(path).json())]

    caller.post(f"{path}/open")
    told.append(("project.opened", caller.get(path).json()))
    Talk(caller, made, member_id=a_member(caller)).through()
    caller.post(f"{path}/close")
    told.append(("project.closed", caller.get(path).json()))
    caller.delete(path)
    told.append(("project.deleted", told[-1][1]))

    of_projects = [each for each in event_log.heard(caller.community.pk) if each[0].startswith("project.")]
    assert of_projects == [(type, {"project": project}) for type, project in told]
    assert of_projects[2][1]["project"]["info"]["completion_count"] == 1


def test_the_body_says_what_when_and_whose_it_is(caller: Caller) -> None:
    """Rule 9.9."""
    made = caller.make(TEXT)

    event = Event.objects.get()

    assert json.loads(event.body or "") == {
        "id": str(event.pk),
        "type": "project.created",
        "timestamp": made["info"]["created_at"],
        "api_version": "v1",
        "community_id": str(caller.community.pk),
        "data": {"project": caller.get(f"/projects/{made['id']}").json()},
    }


def test_a_copy_is_told_in_the_community_where_it_lands(caller: Caller) -> None:
    elsewhere = Caller()
    source = elsewhere.make_open(TEXT, delivery={"audience": {"participation": "open_web"}})
    heard_before = event_log.heard(elsewhere.community.pk)

    copy = caller.post(f"/projects/{source['id']}/clone").json()

    assert event_log.heard(caller.community.pk) == [("project.created", {"project": copy})]
    assert event_log.heard(elsewhere.community.pk) == heard_before


def test_what_is_refused_is_not_told(caller: Caller) -> None:
    made = caller.make(TEXT)
    caller.post(f"/projects/{made['id']}/open")

    for refused in (
        caller.post("/projects", {"name": "", "type": "convo"}),
        caller.post(f"/projects/{made['id']}/open"),
        caller.delete(f"/projects/{made['id']}"),
        caller.post("/projects/1/close"),
    ):
        assert refused.status_code >= 400

    assert heard(caller) == ["project.created", "project.opened"]


def test_a_request_repeated_with_its_key_is_told_once(caller: Caller) -> None:
    body = {"name": "Opening moves", "type": "convo"}

    for _ in range(2):
        assert caller.post("/projects", body, **{"Idempotency-Key": "made-once"}).status_code == 201

    assert heard(caller) == ["project.created"]


def test_only_those_who_listen_are_told(caller: Caller) -> None:
    community_id = caller.community.pk
    opened = event_log.listener(community_id, "project.opened")
    several = event_log.listener(community_id, "project.closed", "project.created")
    off = event_log.listener(community_id)
    off.is_active = False
    off.save()
    elsewhere = event_log.listener(Caller().community.pk)

    caller.make_open(TEXT)

    assert [event_log.told(each) for each in (opened, several, off, elsewhere)] == [
        ["project.opened"],
        ["project.created"],
        [],
        [],
    ]


# --- By the clock ------------------------------------------------------------------------------------------


def test_a_tick_tells_an_opening_and_a_closing_once_each(caller: Caller) -> None:
    scheduled(caller)
    assert moments(caller) == []

    for at in (OPENING - SECOND, OPENING, OPENING, OPENING + SECOND, CLOSING, CLOSING + SECOND):
        schedule.open_and_close_due(at=at)

    assert moments(caller) == [
        ("project.opened", "2999-01-01T00:00:00Z", "active"),
        ("project.closed", "2999-01-02T00:00:00Z", "inactive"),
    ]


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_at_once_and_somebody_who_closes_tell_each_change_once(caller: Caller) -> None:
    made = [scheduled(caller) for _ in range(5)]
    tick = partial(schedule.open_and_close_due, at=OPENING)
    close = partial(opening.close_project, actor=caller.actor, project_id=int(made[0]["id"]), at=OPENING)

    run_together(tick, tick, close, tick)

    told = [(type, data["project"]["id"]) for type, data in event_log.heard(caller.community.pk)]
    opened = [project_id for type, project_id in told if type == "project.opened"]
    closed = [project_id for type, project_id in told if type == "project.closed"]
    assert sorted(opened) == sorted(project["id"] for project in made)
    assert closed == [made[0]["id"]]


def test_a_tick_that_comes_late_tells_both_as_of_their_moments(caller: Caller) -> None:
    scheduled(caller)

    schedule.open_and_close_due(at=CLOSING + timedelta(days=1))

    assert moments(caller) == [
        ("project.opened", "2999-01-01T00:00:00Z", "active"),
        ("project.closed", "2999-01-02T00:00:00Z", "inactive"),
    ]
    opened = Event.objects.get(type="project.opened")
    assert json.loads(opened.body or "")["data"]["project"]["info"]["scheduled_open_at"] is None


def test_a_project_with_a_fault_holds_no_other_up(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    faulty, sound = scheduled(caller), scheduled(caller)
    settle = schedule._settle_one

    def settle_or_fail(project_id: int, *, at: datetime) -> bool:
        if str(project_id) == faulty["id"]:
            raise LookupError
        return settle(project_id, at=at)

    monkeypatch.setattr(schedule, "_settle_one", settle_or_fail)

    assert schedule.open_and_close_due(at=OPENING) == 1

    told = [data["project"]["id"] for type, data in event_log.heard(caller.community.pk) if "opened" in type]
    assert told == [sound["id"]]
    assert "schedules.fault" in caplog.text


def test_without_any_tick_whoever_changes_the_project_tells_it(caller: Caller) -> None:
    made = scheduled(caller)
    own: dict[str, Any] = {"actor": caller.actor, "project_id": int(made["id"])}

    projects.update_project(**own, fields={"name": "Later"}, at=OPENING + SECOND)
    with pytest.raises(Conflict):
        opening.close_project(**own, at=CLOSING + SECOND)
    removal.delete_project(**own, at=CLOSING + SECOND)

    types = sorted(type for type, *_ in moments(caller))
    assert types == ["project.closed", "project.deleted", "project.opened", "project.updated"]


def test_a_respondent_who_comes_before_the_tick_is_told_after_the_opening(caller: Caller) -> None:
    made = scheduled(caller)
    Project.objects.filter(pk=made["id"]).update(opens_at="2026-01-01T00:00:00Z")

    Talk(caller, made, member_id=a_member(caller)).through("e4")

    assert heard(caller) == ["project.created", "project.opened", "response.submitted"]
    assert schedule.open_and_close_due(at=OPENING) == 0


def test_closed_by_hand_after_its_moment_it_is_told_open_first(caller: Caller) -> None:
    made = scheduled(caller)

    opening.close_project(actor=caller.actor, project_id=int(made["id"]), at=OPENING + SECOND)
    schedule.open_and_close_due(at=CLOSING)

    assert [type for type, *_ in moments(caller)] == ["project.opened", "project.closed"]


def test_an_opening_that_is_taken_back_is_not_told(caller: Caller) -> None:
    made = scheduled(caller)

    caller.post(f"/projects/{made['id']}/close")
    schedule.open_and_close_due(at=CLOSING)

    assert moments(caller) == []
