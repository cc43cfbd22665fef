"""Imports into anonymous projects: nobody is known, times are rounded, and rows settle as others do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from communities.models import AuditEntry, Identity
from surveys.models import Completion, Conversation, Project
from surveys.services.ground import anonymity
from tests.factories import IdentityFactory, MemberFactory
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.dumps import dump
from tests.support.surveys.copies import Copy
from tests.support.surveys.imports import imported, partial, past, send

pytestmark = pytest.mark.django_db(transaction=True)

ONE = ("one", "red")
QUESTION = {**CHOICE, "name": "one"}
WHY = {**TEXT, "name": "why"}
WEB = {"delivery": {"audience": {"participation": "open_web"}}}
FINE = {"started_at": "2025-05-01T08:12:34Z", "submitted_at": "2025-05-02T09:56:07Z"}


@pytest.fixture
def caller() -> Caller:
    return Caller()


def anonymous(caller: Caller, **settings: Any) -> Any:
    return caller.make_open(QUESTION, WHY, privacy_mode="anonymous", settings=settings, **WEB)


def test_nothing_that_names_a_person_is_stored(caller: Caller) -> None:
    ann = MemberFactory.create(community=caller.community)
    IdentityFactory.create(user=ann.user, provider="chat", platform_id="platform-of-ann")
    project = anonymous(caller, max_completes_per_user=1)
    named = {"user_id": str(ann.user_id), "session_number": 3}

    responses = imported(
        caller,
        project,
        past(ONE, platform_id="platform-of-ann", **named),
        past(ONE, platform_id="platform-of-ann", provider="web", **named),
        partial(ONE, platform_id="name-of-bob", **named),
    )

    for each in responses:
        assert (each["user_id"], each["platform_id"], each["session_number"]) == (None, None, None)
    rows = Conversation.objects.all()
    assert {(row.user_id, row.platform_id, row.respondent, row.session_number) for row in rows} == {
        (None, None, None, None)
    }
    assert {row.sealed_respondent for row in rows} == {None}
    assert {row.pk.version for row in rows} == {4}
    assert not Completion.objects.exists()
    assert not Identity.objects.filter(platform_id="name-of-bob").exists()
    written = "\n".join("\n".join(lines) for lines in dump().values())
    assert "name-of-bob" not in written
    assert written.count("platform-of-ann") == 1  # the account itself


@pytest.mark.parametrize(
    ("is_daily", "started_at", "submitted_at"),
    [
        (False, "2025-05-01T08:00:00Z", "2025-05-02T09:00:00Z"),
        (True, "2025-05-01T00:00:00Z", "2025-05-02T00:00:00Z"),
    ],
)
def test_times_are_rounded_as_the_project_rounds(
    caller: Caller, is_daily: bool, started_at: str, submitted_at: str
) -> None:
    project = anonymous(caller)
    Project.objects.filter(pk=project["id"]).update(rounds_times_to_day=is_daily)

    [response] = imported(caller, project, past(ONE, **FINE))

    assert (response["started_at"], response["submitted_at"]) == (started_at, submitted_at)
    assert response["updated_at"].endswith(":00:00Z")
    entry = AuditEntry.objects.get(action="responses.imported")
    assert (entry.happened_at.minute, entry.happened_at.second, entry.pk.version) == (0, 0, 4)


def test_only_declared_values_of_the_metadata_are_kept(caller: Caller) -> None:
    project = anonymous(caller, hidden_fields={"campaign": ["mail"]})
    sent = [
        {"campaign": "mail", "name": "Ann"},
        {"campaign": "ann@example.com"},
    ]

    responses = imported(caller, project, *[past(ONE, metadata=each) for each in sent])

    assert sorted(str(each["metadata"]) for each in responses) == ["None", "{'campaign': 'mail'}"]


def test_rows_settle_and_are_told_once_the_hour_is_over(caller: Caller) -> None:
    project = anonymous(caller)
    copy = Copy(caller, project)
    copy.read()
    imported(caller, project, past(ONE), past(ONE))
    before = copy.read()

    settled = [anonymity.settle(at=timezone.now()), anonymity.settle(at=timezone.now() + timedelta(hours=2))]

    assert (before, settled) == ([], [0, 2])
    assert len(copy.read()) == 2
    assert set(Conversation.objects.values_list("is_settled", flat=True)) == {True}


def test_events_of_anonymous_responses_have_rounded_times(caller: Caller) -> None:
    project = anonymous(caller)

    answer = send(caller, project, past(ONE, **FINE), query="?emit_events=true")

    assert answer.status_code == 201
    [event] = caller.get("/events?type=response.submitted").json()["data"]
    assert event["timestamp"].endswith(":00:00Z")
    assert event["data"]["response"]["submitted_at"] == "2025-05-02T09:00:00Z"
