"""Ends that screen out (rules 6.410 to 6.417)."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from surveys.models import Answer, Conversation, Reading, Tally
from surveys.services.conversations import ends
from surveys.services.ground import lookup
from tests.support.caller import Caller, faults
from tests.support.staff import Staff
from tests.support.surveys.imports import listed
from tests.support.surveys.participants import Talk, a_member, ledger
from tests.support.surveys.places import COLOUR, WEB, WHY, answered, open_to_all

pytestmark = pytest.mark.django_db(transaction=True)

OUT = {"where": 'colour = "red"', "message": "Not this time.", "screen_out": True}
LAST = {"type": "single_punch", "prompt": "And?", "name": "last", "options": [{"value": "x"}, {"value": "y"}]}
SCREENED = "&outcome=screened_out"


def screening(caller: Caller, *blocks: Any, **settings: Any) -> Any:
    return open_to_all(caller, *(blocks or (COLOUR, WHY)), **{"ends": [OUT], **settings})


def project_of(caller: Caller, project: Any) -> Any:
    return lookup.get(community_id=caller.community.pk, project_id=int(project["id"]))


def sums(project: Any) -> list[int]:
    """The project's counts of answered blocks, completed and listed responses."""
    rows = Tally.objects.filter(project_id=project["id"])
    return [sum(getattr(row, name) for row in rows) for name in ("answered", "completed", "listed")]


def test_a_response_ends_as_soon_as_it_is_certainly_screened_out() -> None:
    """Rules 6.410 and 6.411."""
    caller = Caller()
    project = screening(caller)
    talk = Talk(caller, project)

    told = talk.answer("red")

    assert (told["status"], told["outcome"], told["step"]) == ("completed", "screened_out", None)
    assert told["thank_you"] == "Not this time."
    assert caller.post(f"{talk.path}/back").status_code == 409
    assert Talk(caller, project).answer("green")["step"]["block"]["name"] == "why"


def test_an_end_waits_for_all_questions_that_it_and_those_before_it_name() -> None:
    """Rule 6.411."""
    caller = Caller()
    first = {"where": 'last = "x"', "message": "Hello."}
    both = {"where": 'colour = "red" AND last = "y"', "screen_out": True}
    script = (COLOUR, LAST, WHY)
    waiting = screening(caller, *script, ends=[first, OUT])
    two = screening(caller, *script, ends=[both])
    by_score = {"ends": [{"where": "score = 0", "screen_out": True}]}
    scored = caller.make_open(*script, delivery=WEB, settings=by_score, scoring={"enabled": True})

    assert Talk(caller, waiting).answer("red")["status"] == "active"
    out, saved, of_two = Talk(caller, waiting), Talk(caller, waiting), Talk(caller, two)
    for talk in (out, saved, of_two):
        talk.answer("red")
    assert out.answer("y")["outcome"] == "screened_out"
    assert saved.answer("x")["status"] == "active"
    assert saved.answer("because")["outcome"] == "completed"
    assert of_two.answer("y")["outcome"] == "screened_out"
    late = Talk(caller, scored)
    assert [late.answer(each)["outcome"] for each in ("red", "y", "z")] == [None, None, "screened_out"]


def test_a_field_screens_out_at_the_beginning() -> None:
    """Rule 6.411."""
    caller = Caller()
    project = screening(caller, hidden_fields=["age"], ends=[{"where": "field.age < 18", "screen_out": True}])

    young = caller.post(f"/projects/{project['id']}/conversations", {"metadata": {"age": "17"}}).json()
    old = caller.post(f"/projects/{project['id']}/conversations", {"metadata": {"age": "18"}}).json()

    assert (young["outcome"], young["step"], old["outcome"]) == ("screened_out", None, None)
    assert [each["answers"] for each in listed(caller, project, SCREENED)] == [[]]


def test_a_screened_out_response_is_in_no_count_result_or_limit() -> None:
    """Rule 6.412."""
    caller = Caller()
    quota = {"where": "colour", "limit": 1}
    project = screening(caller, COLOUR, LAST, ends=[{**OUT, "where": 'last = "x"'}], quotas=[quota])
    path = f"/projects/{project['id']}"
    partial, out = Talk(caller, project), Talk(caller, project)
    partial.answer("red")
    out.answer("red")
    shown = caller.get(f"{path}/analysis/results").json()
    assert shown["blocks"][0]["response_count"] == 2

    out.answer("x")
    results = caller.get(f"{path}/analysis/results").json()
    completed = caller.get(f"{path}/analysis/results?status=completed").json()
    participation = caller.get(f"{path}/analysis/participation").json()

    assert results["blocks"][0]["response_count"] == 1
    assert (results["conversation_count"], results["completion_count"]) == (1, 0)
    assert [block["drop_off"]["left"] for block in results["blocks"]] == [0, 1]
    assert (completed["conversation_count"], completed["blocks"][0]["response_count"]) == (0, 0)
    assert participation["screened_out"] == 1
    assert sum(each["begun"] for each in participation["spans"]) == 1
    assert sum(each["completed"] for each in participation["spans"]) == 0
    assert [each["seen"] for each in participation["blocks"]] == [1, 1]
    assert partial.answer("y")["outcome"] == "completed"
    assert sums(project) == [2, 1, 1]
    assert Answer.objects.filter(conversation_id=out.told["id"]).count() == 0


def test_what_an_analysis_read_in_it_is_forgotten() -> None:
    """Rule 6.412."""
    caller = Caller()
    project = screening(caller, WHY, LAST, ends=[{"where": 'last = "x"', "screen_out": True}])
    talk = Talk(caller, project)
    talk.answer("because")
    block = project["script"]["blocks"][0]["id"]
    Reading.objects.create(
        conversation_id=talk.told["id"], block_id=block, themes=[], version=1, generated_by="local"
    )

    talk.answer("x")

    assert Reading.objects.count() == 0
    [response] = listed(caller, project, SCREENED)
    assert [each["value"] for each in response["answers"]] == ["because", "x"]


def test_it_gives_nothing_and_uses_an_attempt_of_its_respondent() -> None:
    """Rules 6.412 and 6.415."""
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(
        COLOUR,
        delivery=WEB,
        settings={"ends": [OUT], "max_completes_per_user": 2},
        rewards={"use_xp": True, "xp_amount": 50},
    )

    told = Talk(caller, project, member_id=member).answer("red")
    assert all(block["action_kind"] is None for block in told["outro"])
    again = Talk(caller, project, member_id=member).answer("green")
    third = caller.post(f"/projects/{project['id']}/conversations", {"member_id": member})

    assert (again["outcome"], again["session_number"]) == ("completed", 2)
    assert third.status_code == 409
    assert [each["source_kind"] for each in ledger(caller, member)] == ["survey_completion"]


def test_only_those_who_ask_read_screened_out_responses() -> None:
    """Rule 6.413."""
    caller = Caller()
    project = screening(caller, COLOUR, LAST, ends=[{**OUT, "where": 'last = "x"'}])
    talk = Talk(caller, project)
    talk.answer("red")
    talk.answer("x")
    answered(caller, project, "green")
    path = f"/projects/{project['id']}/responses"

    [other] = listed(caller, project)
    [out] = listed(caller, project, SCREENED)
    total = caller.get(f"{path}?outcome=screened_out").json()["pagination"]["total"]

    assert (other["status"], other["outcome"]) == ("partial", None)
    assert (out["status"], out["outcome"], out["submitted_at"]) == ("partial", "screened_out", None)
    assert [(each["block_name"], each["value"]) for each in out["answers"]] == [
        ("colour", "red"),
        ("last", "x"),
    ]
    assert total == 1
    assert listed(caller, project, f"{SCREENED}&where=last%20%3D%20%22y%22") == []
    assert listed(caller, project, f"{SCREENED}&status=completed") == []
    assert listed(caller, project, f"{SCREENED}&status=partial") == [out]
    assert caller.get(f"/responses/{out['id']}").json() == out
    assert [row["And?"] for row in rows(caller, f"{path}/export?format=csv")] == [""]
    [row] = rows(caller, f"{path}/export?format=csv&outcome=screened_out&missing=marked")
    assert (row["status"], row["outcome"], row["And?"]) == ("partial", "screened_out", "x")


def rows(caller: Caller, path: str) -> list[dict[str, str]]:
    file = b"".join(caller.get(path).streaming_content).decode()
    return list(csv.DictReader(file.splitlines()))


def test_the_feed_reports_it_as_deleted_and_a_webhook_gets_its_outcome() -> None:
    """Rule 6.414."""
    caller = Caller()
    project = screening(caller, COLOUR, LAST, ends=[{**OUT, "where": 'last = "x"'}])
    feed = f"/projects/{project['id']}/responses/changes"
    cursor = caller.get(feed).json()["cursor"]
    talk = Talk(caller, project)
    talk.answer("red")
    first = caller.get(f"{feed}?cursor={cursor}").json()
    talk.answer("x")

    second = caller.get(f"{feed}?cursor={first['cursor']}").json()["data"]
    [event] = [
        each
        for each in caller.get("/events?order=asc").json()["data"]
        if each["type"] == "response.submitted"
    ]

    assert [each["id"] for each in first["data"]] == [talk.told["id"]]
    assert [(each["id"], each["deleted"]) for each in second] == [(talk.told["id"], True)]
    response = event["data"]["response"]
    assert (response["status"], response["outcome"]) == ("partial", "screened_out")
    assert [each["value"] for each in response["answers"]] == ["red", "x"]


def test_a_screened_out_response_can_be_deleted() -> None:
    """Rule 6.413."""
    caller = Caller()
    project = screening(caller, quotas=[{"where": "colour", "limit": 9}], max_completes_per_user=1)
    member = a_member(caller)
    talk = Talk(caller, project, member_id=member)
    talk.answer("red")

    assert caller.delete(f"/responses/{talk.told['id']}").status_code == 204

    assert sums(project) == [0, 0, 0]
    assert Conversation.objects.count() == 0
    assert Talk(caller, project, member_id=member).told["status"] == "active"


def test_the_data_of_a_person_have_what_was_screened_out() -> None:
    """Rule 6.413."""
    caller = Caller()
    member = a_member(caller)
    Talk(caller, screening(caller), member_id=member).answer("red")

    [response] = caller.get(f"/members/{member}/data").json()["responses"]

    assert response["outcome"] == "screened_out"
    assert [each["value"] for each in response["answers"]] == ["red"]


def test_a_project_with_screened_out_responses_keeps_its_privacy() -> None:
    """Rules 1.43 and 6.410."""
    caller = Caller()
    project = screening(caller)
    answered(caller, project, "red")
    caller.post(f"/projects/{project['id']}/close", {})

    changed = caller.patch(f"/projects/{project['id']}", {"settings": {"privacy_mode": "anonymous"}})

    assert changed.status_code == 409
    assert len(listed(caller, project, SCREENED)) == 1


def test_each_end_has_its_own_count_but_not_on_anonymous_projects() -> None:
    """Rule 6.416."""
    caller = Caller()
    green = {"where": 'colour = "green"', "screen_out": True}
    found = []
    for mode in ("transparent", "anonymous"):
        project = screening(caller, ends=[OUT, green], privacy_mode=mode)
        for who, value in (("a", "red"), ("b", "red"), ("c", "green")):
            answered(caller, project, value, external_id=who)
        found.append(ends.figures(project_of(caller, project)))

    assert found == [{'colour = "red"': 2, 'colour = "green"': 1, "": 3}, {"": 3}]


def test_anonymous_projects_with_an_address_screen_out_by_fields_alone() -> None:
    """Rules 6.273 and 6.416."""
    caller = Caller()
    project = screening(caller, privacy_mode="anonymous")

    refused = caller.patch(
        f"/projects/{project['id']}", {"settings": {"ends": [{**OUT, "url": "https://example.com"}]}}
    )

    assert faults(refused) == {("settings.ends[0].where", "not_allowed")}


def test_a_poll_screens_nobody_out() -> None:
    """Rule 6.410."""
    caller = Caller()
    refused = caller.post(
        "/projects",
        {"name": "A", "type": "poll", "script": {"blocks": [COLOUR]}, "settings": {"ends": [OUT]}},
    )

    assert faults(refused) == {("settings.ends[0].screen_out", "not_allowed")}


def test_staff_see_how_many_were_screened_out_and_who() -> None:
    """Rule 6.417."""
    staff = Staff()
    caller = Caller(community=staff.community)
    project = screening(caller)
    answered(caller, project, "red")
    other = answered(caller, project, "green")
    [out] = listed(caller, project, SCREENED)

    tab = staff.get("surveys_project_responses", project["id"]).content.decode()
    chosen = staff.get("surveys_project_responses", project["id"], status="screened_out").content.decode()
    page = staff.get("surveys_project_response", project["id"], out["id"]).content.decode()
    delivery = staff.get("surveys_project_delivery", project["id"]).content.decode()
    over_time = staff.get("surveys_project_results_over_time", project["id"]).content.decode()

    assert "1 response</a>\n      was screened out." in tab
    assert other.json()["id"] in tab
    assert out["id"] not in tab
    assert out["id"] in chosen
    assert '<span class="state off">Screened out</span>' in chosen
    assert ">red<" in chosen
    assert "<dt>Ended</dt>" in page
    assert '<p class="answer">red</p>' in page
    assert "Screened out: 1." in delivery
    assert "1 response was screened out." in over_time
