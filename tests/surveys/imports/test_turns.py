"""Imports leave threads for others: a process walks two at once, one of a community, and asks to retry."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from communities.ground.slots import LARGE_JOBS, Slots
from surveys.models import ResponseFile
from surveys.services.imports import walking
from tests.support.caller import CHOICE, Caller
from tests.support.staff import client_of
from tests.support.surveys.imports import past, send

pytestmark = pytest.mark.django_db
ONE = past(("colour", "red"))


@pytest.fixture
def caller(monkeypatch: pytest.MonkeyPatch) -> Caller:
    monkeypatch.setattr(walking, "_slots", Slots(LARGE_JOBS))
    monkeypatch.setattr(walking, "SECONDS_TO_WAIT", 0.01)
    return Caller()


@pytest.fixture
def project(caller: Caller) -> Any:
    return caller.make({**CHOICE, "name": "colour"})


@pytest.mark.parametrize(("others", "status"), [(1, 201), (2, 503)])
@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_two_imports_are_walked_at_once(
    caller: Caller, project: Any, others: int, status: int, query: str
) -> None:
    """Rule 11.30."""
    with ExitStack() as walked:
        for other in range(1, others + 1):
            walked.enter_context(walking.import_slot(community_id=-other))
        answer = send(caller, project, ONE, query=query)

    assert answer.status_code == (200 if status == 201 and query else status)
    assert ("Retry-After" in answer) == (status == 503)
    assert send(caller, project, ONE, query="?dry_run=true").status_code == 200


def test_a_community_has_one_import_walked_at_once(caller: Caller, project: Any) -> None:
    """Rule 11.30."""
    with walking.import_slot(community_id=caller.community.pk):
        answer = send(caller, project, ONE)

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert send(caller, project, ONE).status_code == 201


def test_the_page_of_a_file_is_read_in_the_same_turn(caller: Caller, project: Any) -> None:
    """Rule 12.620."""
    caller.post(f"/projects/{project['id']}/open")
    client, address = (
        client_of(caller.community),
        f"/admin/surveys/project/{project['id']}/responses/import/",
    )
    assert client.post(f"{address}file/", b"colour\nred\n", content_type="text/csv").status_code == 200
    target = ResponseFile.objects.get().matching["columns"][0]
    form = {"zone": "UTC", "moment": "2026-01-01T00:00", "column_0": target}

    with walking.import_slot(community_id=caller.community.pk):
        busy = [
            client.get(address),
            *(client.post(address, form | {"do": do}) for do in ("update", "check", "change")),
        ]
        assert [(each.status_code, each["Retry-After"]) for each in busy] == [(503, "5")] * 4
        assert all(b"Please retry shortly" in each.content for each in busy)

    wrong = client.post(address, form | {"do": "update", "zone": "nowhere"})
    assert (wrong.status_code, client.get(address).status_code) == (422, 200)
    with walking.import_slot(community_id=caller.community.pk):
        assert client.post(address, {"do": "discard"}).status_code == 303
        assert client.get(address).status_code == 200  # there is no file to read


def test_a_refused_import_gives_its_turn_back(caller: Caller, project: Any) -> None:
    for _ in range(2 * LARGE_JOBS):
        assert send(caller, project, past(("colour", "black"))).status_code == 400

    assert send(caller, project, ONE).status_code == 201
