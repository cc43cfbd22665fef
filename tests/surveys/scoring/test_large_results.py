"""Calculated results beyond the whole numbers of JSON are returned everywhere."""

from __future__ import annotations

import pytest

from tests.support.caller import Caller
from tests.support.concurrency import wait_until
from tests.support.surveys.participants import Talk

pytestmark = pytest.mark.django_db(transaction=True)  # the feed tells what is committed

OPEN_WEB = {"audience": {"participation": "open_web"}}
LARGE = 999_999_999_999_999


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("[n] * 9", 9 * LARGE),
        ("[n] * 10", 1e16),
        ("[n] * [n]", 9.99999999999998e29),
        ("0 - [n] * [n] * [n] * [n]", -9.99999999999996e59),
    ],
)
def test_a_large_result_ends_no_conversation_and_is_told_everywhere(formula: str, expected: float) -> None:
    caller = Caller()
    asked = {"name": "n", "type": "open_numeric", "prompt": "How many?"}
    calculated = {"name": "big", "type": "calculated_block", "prompt": "", "calculated_formula": formula}
    made = caller.make_open(asked, calculated, delivery=OPEN_WEB)

    told = Talk(caller, made, external_id="a").answer(LARGE)

    assert told["status"] == "completed"
    path = f"/projects/{made['id']}"
    # The feed is late while a transaction of another database ends (feed_order.OPEN).
    wait_until(lambda: caller.get(f"{path}/responses/changes").json()["data"])
    for response in (
        caller.get(f"{path}/responses").json()["data"][0],
        caller.get(f"{path}/responses/changes").json()["data"][0],
        caller.get("/events?type=response.submitted").json()["data"][0]["data"]["response"],
    ):
        assert response["variables"] == {"big": pytest.approx(expected, rel=1e-12)}
    [figures] = caller.get(f"{path}/analysis/results").json()["variables"]
    assert figures["mean"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("format", ["csv", "json", "ndjson", "xlsx", "parquet", "sav"])
def test_a_large_result_is_exported(format: str) -> None:
    caller = Caller()
    asked = {"name": "n", "type": "open_numeric", "prompt": "How many?"}
    calculated = {"name": "big", "type": "calculated_block", "prompt": "", "calculated_formula": "[n] * [n]"}
    made = caller.make_open(asked, calculated, delivery=OPEN_WEB)
    Talk(caller, made, external_id="a").answer(LARGE)

    answer = caller.get(f"/projects/{made['id']}/responses/export?format={format}")

    assert answer.status_code == 200
    assert len(b"".join(answer.streaming_content)) > 100
