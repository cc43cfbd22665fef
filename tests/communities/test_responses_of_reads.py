"""What responses of the interface have in common: entity tags, compression, the challenge for a key."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.test import Client

from tests.support.caller import CHOICE, Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def project(caller: Caller) -> Any:
    body = {"name": "Opening moves", "type": "convo", "script": {"blocks": [CHOICE, CHOICE | {"name": "b"}]}}
    return caller.post("/projects", body).json()


def test_a_read_that_changed_nothing_is_not_sent_again(caller: Caller, project: Any) -> None:
    """Rule 11.43."""
    here = f"/projects/{project['id']}"
    for path in (here, f"{here}/script", "", "/settings", "/members", f"{here}/analysis/results"):
        first = caller.get(path)
        tag = first["ETag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = caller.get(path, **{"If-None-Match": known})
            assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag), path
            assert "X-RateLimit-Limit" in again
        assert caller.get(path, **{"If-None-Match": '"other"'}).status_code == 200

    tag = caller.get(here)["ETag"]
    caller.patch(here, {"name": "Closing moves"})
    changed = caller.get(here, **{"If-None-Match": tag})
    assert (changed.status_code, changed.json()["name"]) == (200, "Closing moves")


def test_what_a_parameter_adds_to_a_script_is_always_sent(caller: Caller, project: Any) -> None:
    """Rule 11.43."""
    path = f"/projects/{project['id']}/script?expand=outro"

    assert caller.get(path, **{"If-None-Match": caller.get(path)["ETag"]}).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0, br", False),
        ("x-gzip-not", False),
        ("", False),
    ],
)
def test_json_is_compressed_for_those_who_take_it(
    caller: Caller, project: Any, accepted: str, is_compressed: bool
) -> None:
    """Rule 11.44."""
    path = f"/projects/{project['id']}/script"
    plain = caller.get(path)
    sent = caller.get(path, **{"Accept-Encoding": accepted})

    assert "Accept-Encoding" in sent["Vary"]
    assert int(sent["Content-Length"]) == len(sent.content)
    assert (sent.get("Content-Encoding") == "gzip") == is_compressed
    if is_compressed:
        assert json.loads(gzip.decompress(sent.content)) == plain.json()
        assert sent["ETag"] == f"W/{plain['ETag']}"
        assert len(sent.content) < len(plain.content)
        body = {"blocks": plain.json()["blocks"]}
        assert caller.put(path, body, **{"If-Match": sent["ETag"]}).status_code == 200


def test_a_short_response_is_sent_as_it_is(caller: Caller) -> None:
    """Rule 11.44."""
    assert "Content-Encoding" not in caller.get("/projects/999", **{"Accept-Encoding": "gzip"})


def test_a_request_without_a_key_is_told_how_to_send_one() -> None:
    """Rule 11.45."""
    for headers in ({}, {"X-API-Key": "cq_live_unknown"}):
        answer = Client().get("/v1/communities", headers=headers)
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == 'ApiKey realm="/v1", header="X-API-Key"'


@pytest.mark.parametrize("text", ["%2B1", "1.0", "%D9%A1", "1_0", "%201"])
def test_integers_of_a_query_are_digits(caller: Caller, text: str) -> None:
    """Rule 11.47."""
    for path, name in (("/projects", "page"), ("/members", "after"), ("/audit", "per_page")):
        answer = caller.get(f"{path}?{name}={text}")
        assert answer.status_code == 400
        assert [each["field"] for each in answer.json()["violations"]] == [name]


def test_one_block_is_read(caller: Caller, project: Any) -> None:
    here = f"/projects/{project['id']}/script"
    block = project["script"]["blocks"][1]

    answer = caller.get(f"{here}/blocks/{block['id']}")

    assert (answer.status_code, answer.json(), answer["ETag"]) == (200, block, caller.get(here)["ETag"])
    assert caller.get(f"{here}/blocks/999999").status_code == 404
    outro = caller.get(f"{here}?expand=outro").json()["blocks"][-1]
    assert caller.get(f"{here}/blocks/{outro['id']}").json() == outro
    assert (
        caller.patch(
            f"{here}/blocks/{block['id']}", {"name": "c"}, **{"If-Match": answer["ETag"]}
        ).status_code
        == 200
    )


def test_a_member_reads_a_block_without_its_solution(caller: Caller) -> None:
    """Rule 1.35."""
    quiz = {**CHOICE, "correct_answer_index": 0, "when_correct": "Right!"}
    body = {"name": "Quiz", "type": "convo", "settings": {"privacy_mode": "transparent"}}
    body |= {"scoring": {"enabled": True}, "script": {"blocks": [quiz]}}
    made = caller.post("/projects", body).json()
    path = f"/projects/{made['id']}/script/blocks/{made['script']['blocks'][0]['id']}"
    assert caller.post(f"/projects/{made['id']}/open", {}).status_code == 200

    assert caller.get(path).json()["when_correct"] == "Right!"
    seen = caller.beside("member").get(path).json()
    assert (seen["when_correct"], seen["correct_answer_ids"]) == (None, None)
