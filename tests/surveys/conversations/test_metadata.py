"""Metadata: texts sent with a conversation and shown with its response (rules 4.21, 6.10 and 6.14)."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.caller import Caller, faults, refusal
from tests.support.cases import try_each
from tests.support.instruments.blocks import choice, computes, option, says
from tests.support.instruments.respondent import Sitting, build
from tests.support.surveys import event_log
from tests.support.surveys.participants import a_member

pytestmark = pytest.mark.django_db
GREETING = says("hello", "Hello [UserName], customer [field.customer], from [field.source]!")
COLOUR = choice("Colour", "Which?", [option("red"), option("blue")])
VIP = choice(
    "Vip",
    "Which lounge?",
    [option("east"), option("west")],
    show_when={"variable": "field.tier", "op": "eq", "value": "gold"},
)


@pytest.fixture
def caller() -> Caller:
    return Caller()


def survey(caller: Caller, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return build(caller, {"name": "S", "type": "convo", "script": {"blocks": list(blocks)}, **fields})


def begin(caller: Caller, project: dict[str, Any], **body: Any) -> Any:
    return caller.post(f"/projects/{project['id']}/conversations", body)


def sit(caller: Caller, project: dict[str, Any], **body: Any) -> dict[str, Any]:
    """Answer a survey that begins with this request, and return the response from the listing."""
    Sitting(caller, project, **body).walk({"Colour": "red", "Vip": "east"})
    return dict(caller.get(f"/projects/{project['id']}/responses").json()["data"][-1])


def test_metadata_is_told_with_the_response_in_its_event_and_in_the_table(caller: Caller) -> None:
    event_log.listener(caller.community.pk, "response.submitted")
    project = survey(caller, COLOUR)
    metadata = {"customer": "C-1042", "plan": "=1+1"}

    response = sit(caller, project, metadata=metadata)

    assert response["metadata"] == metadata
    ((_, data),) = event_log.heard(caller.community.pk)
    assert data["response"] == response
    text = b"".join(caller.get(f"/projects/{project['id']}/responses/export")).decode()
    (row,) = csv.DictReader(text.splitlines())
    assert (row["field.customer"], row["field.plan"]) == ("C-1042", "'=1+1")


def test_texts_show_what_was_sent_along(caller: Caller) -> None:
    project = survey(caller, GREETING, COLOUR)

    told = begin(caller, project, display_name="Ann", metadata={"customer": "[Colour]"}).json()

    assert told["step"]["block"]["prompt"] == "Hello Ann, customer [Colour], from !"


def test_the_name_that_the_community_knows_goes_first(caller: Caller) -> None:
    project = survey(caller, GREETING, COLOUR)

    told = begin(caller, project, member_id=a_member(caller, "Grace"), display_name="Ann").json()

    assert told["step"]["block"]["prompt"].startswith("Hello Grace,")


@pytest.mark.parametrize(("metadata", "asked"), [({"tier": "gold"}, ["Colour", "Vip"]), ({}, ["Colour"])])
def test_conditions_look_at_what_was_sent_along(caller: Caller, metadata: Any, asked: list[str]) -> None:
    sitting = Sitting(caller, survey(caller, COLOUR, VIP), metadata=metadata)

    sitting.walk({"Colour": "red", "Vip": "east"})

    assert sitting.met == asked


def test_formulas_count_with_it(caller: Caller) -> None:
    project = survey(
        caller, COLOUR, computes("Double", "[field.seats] * 2"), computes("None", "[field.other] + 1")
    )

    response = sit(caller, project, metadata={"seats": "21"})

    assert response["variables"] == {"Double": 42, "None": 1}


def test_taking_a_conversation_up_again_keeps_the_first(caller: Caller) -> None:
    """Rule 6.13."""
    project = survey(caller, COLOUR)
    begin(caller, project, external_id="ann", metadata={"customer": "first"})

    response = sit(caller, project, external_id="ann", metadata={"customer": "second"})

    assert response["metadata"] == {"customer": "first"}


def test_an_erased_person_takes_it_along(caller: Caller) -> None:
    project = survey(caller, COLOUR)
    member_id = a_member(caller)
    sit(caller, project, member_id=member_id, metadata={"customer": "C-1042"}, display_name="Ann")

    caller.delete(f"/members/{member_id}/data")

    (response,) = caller.get(f"/projects/{project['id']}/responses").json()["data"]
    assert response["metadata"] is None


# --- Anonymous projects ---------------------------------------------------------------------------------


def test_an_anonymous_project_keeps_declared_values_alone(caller: Caller) -> None:
    declared = {"campaign": ["mail", "poster"], "wave": ["1"]}
    project = survey(caller, GREETING, COLOUR, privacy_mode="anonymous", settings={"hidden_fields": declared})
    sent = {"campaign": "mail", "wave": "2", "customer": "C-1042"}

    assert sit(caller, project, metadata=sent, display_name="Ann")["metadata"] == {"campaign": "mail"}
    told = begin(caller, project, display_name="Ann", metadata=sent).json()
    assert told["step"]["block"]["prompt"] == "Hello , customer , from !"


def test_an_anonymous_project_that_declares_nothing_keeps_nothing(caller: Caller) -> None:
    project = survey(caller, COLOUR, privacy_mode="anonymous")

    assert sit(caller, project, metadata={"campaign": "mail"})["metadata"] is None


def test_an_anonymous_project_declares_values_with_its_names(caller: Caller) -> None:
    body = {"name": "S", "type": "convo", "privacy_mode": "anonymous"}

    answer = caller.post("/projects", {**body, "settings": {"hidden_fields": ["campaign"]}})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {("settings.hidden_fields", "invalid_type")}


@pytest.mark.parametrize("lengths", [(20,), (20, 20), (4, 4, 4, 3), (6, 7, 8), (20, 20, 1), (1,) * 9])
def test_fields_of_an_anonymous_project_tell_few_people_apart(caller: Caller, lengths: Sequence[int]) -> None:
    """Rule 6.821: a limit on each field alone would let 20 fields name everybody."""
    declared = {f"f{n}": list(map(str, range(length))) for n, length in enumerate(lengths)}
    body = {"name": "S", "type": "convo", "settings": {"hidden_fields": declared}}

    answer = caller.post("/projects", {**body, "privacy_mode": "anonymous"})
    other = caller.post("/projects", {**body, "privacy_mode": "semi-private"})

    is_few = math.prod(length + 1 for length in lengths) <= 500
    assert answer.status_code == (201 if is_few else 400)
    assert is_few or faults(answer) == {("settings.hidden_fields", "too_many")}
    changed = caller.patch(f"/projects/{other.json()['id']}", {"privacy_mode": "anonymous"})
    assert changed.status_code == (200 if is_few else 400)


# --- Limits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metadata",
    [
        {f"key_{n}": "x" for n in range(20)},
        {"k" * 40: "x"},
        {"key": "x" * 500},
        {"key": ""},
    ],
)
def test_metadata_at_its_limits_is_kept(caller: Caller, metadata: dict[str, str]) -> None:
    assert sit(caller, survey(caller, COLOUR), metadata=metadata)["metadata"] == metadata


@try_each(
    ("metadata", "fault"),
    [
        ({f"key_{n}": "x" for n in range(21)}, ("metadata", "too_many")),
        ({"k" * 41: "x"}, (f"metadata.{'k' * 41}", "invalid")),
        ({"": "x"}, ("metadata.", "invalid")),
        ({"Key": "x"}, ("metadata.Key", "invalid")),
        ({"key": "x" * 501}, ("metadata.key", "too_long")),
        ({"key": 1}, ("metadata.key", "invalid_type")),
        ({"key": None}, ("metadata.key", "invalid_type")),
        (["key"], ("metadata", "invalid_type")),
        ("key", ("metadata", "invalid_type")),
    ],
)
def test_other_metadata_is_refused_by_name(caller: Caller, metadata: object, fault: tuple[str, str]) -> None:
    answer = begin(caller, survey(caller, COLOUR), metadata=metadata)

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {fault}


@pytest.mark.parametrize(("length", "status"), [(0, 201), (200, 201), (201, 400)])
def test_a_display_name_has_at_most_200_characters(caller: Caller, length: int, status: int) -> None:
    answer = begin(caller, survey(caller, COLOUR), display_name="x" * length)

    assert answer.status_code == status
    assert status == 201 or faults(answer) == {("display_name", "too_long")}


@pytest.mark.parametrize(
    "declared",
    [
        [],
        ["utm_source"],
        ["k" * 40],
        [f"f{n}" for n in range(20)],
        {"campaign": ["mail"]},
        {"a": ["x"] * 20},
        {"a": ["x" * 500]},
    ],
)
def test_declared_fields_are_read_back(caller: Caller, declared: object) -> None:
    made = caller.make(settings={"hidden_fields": declared})

    assert caller.get(f"/projects/{made['id']}").json()["settings"]["hidden_fields"] == declared


@try_each(
    "declared",
    [
        "utm_source",
        ["Source"],
        [1],
        [f"f{n}" for n in range(21)],
        {"a": []},
        {"a": ["x"] * 21},
        {"a": [1]},
        {"a": "x"},
        ["k" * 41],
        {"a": [""]},
        {"a": ["x" * 501]},
        ["link"],
        ["skip"],
        {"embed": ["x"]},
        ["taken"],
    ],
)
def test_other_declarations_are_refused(caller: Caller, declared: object) -> None:
    body = {"name": "S", "type": "convo", "settings": {"hidden_fields": declared}}

    answer = caller.post("/projects", body)

    assert refusal(answer) == (400, "invalid_request")
    assert all(field.startswith("settings.hidden_fields") for field, _ in faults(answer))
