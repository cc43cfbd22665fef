"""Options that cannot be chosen with others, such as “None of these” (rules 3.151, 3.153 and 6.150)."""

import pytest

from tests.support.caller import CHOICE, Caller, faults
from tests.support.surveys.participants import Talk

pytestmark = pytest.mark.django_db

ON_WEB = {"audience": {"participation": "open_web"}}
NONE = {"value": "None of these", "is_exclusive": True}
GAMES = {
    **CHOICE,
    "type": "multi_punch",
    "name": "games",
    "options": [{"value": value} for value in ("chess", "go", "bridge")] + [NONE],
}


@pytest.fixture
def caller():
    return Caller()


def test_a_script_keeps_which_option_is_exclusive(caller):
    made = caller.make({**GAMES, "min": 2, "max": 3})

    block = made["script"]["blocks"][0]
    assert [option["is_exclusive"] for option in block["options"]] == [None, None, None, True]
    path = f"/projects/{made['id']}/script"
    assert caller.put(path, {"blocks": [block]}).json()["revision"] == made["script"]["revision"]
    copy = caller.post(f"/projects/{made['id']}/clone").json()
    (copied,) = caller.get(f"/projects/{copy['id']}/script").json()["blocks"]
    assert copied["options"][3]["is_exclusive"] is True


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"max": 4}, ("max", "too_large")),
        ({"min": 4}, ("min", "too_large")),
        ({"type": "single_punch"}, ("options[3].is_exclusive", "not_allowed")),
        ({"type": "ranking"}, ("options[3].is_exclusive", "not_allowed")),
        ({"options": [{"value": "a", "is_exclusive": "yes"}]}, ("options[0].is_exclusive", "invalid_type")),
    ],
)
def test_an_exclusive_option_is_of_a_multi_punch_and_counts_for_no_limit(caller, fields, fault):
    answer = caller.post(
        "/projects", {"name": "x", "type": "convo", "script": {"blocks": [{**GAMES, **fields}]}}
    )

    assert answer.status_code == 400
    assert faults(answer) == {(f"script.blocks[0].{fault[0]}", fault[1])}


def test_an_exclusive_option_is_an_answer_alone(caller):
    made = caller.make_open({**GAMES, "min": 2, "required": True}, delivery=ON_WEB)
    talk = Talk(caller, made)
    chess, _, _, none = talk.block["options"]

    assert (talk.block["min"], talk.block["max"]) == (2, 3)
    assert ("is_exclusive" in chess, none["is_exclusive"]) == (False, True)
    body = {"block_id": talk.block["id"], "option_ids": [chess["id"], none["id"]]}
    refused = caller.post(f"{talk.path}/answers", body)
    assert faults(refused) == {("option_ids", "conflicting")}
    assert "None of these" in refused.json()["message"]
    assert talk.answer("None of these")["status"] == "completed"


def test_an_exclusive_option_stays_last_in_a_shuffle(caller):
    options = [NONE, *({"value": str(n)} for n in range(8))]
    made = caller.make_open({**GAMES, "options": options, "randomize_options": True}, delivery=ON_WEB)

    orders = [[option["value"] for option in Talk(caller, made).block["options"]] for _ in range(5)]

    assert {order[-1] for order in orders} == {"None of these"}
    assert len({tuple(order) for order in orders}) > 1


def test_an_import_takes_no_exclusive_option_beside_others(caller):
    made = caller.make(GAMES)
    answers = [{"block_name": "games", "value": value} for value in ("go", "None of these")]
    past = {
        "status": "completed",
        "started_at": "2026-01-01T10:00:00Z",
        "submitted_at": "2026-01-01T10:05:00Z",
    }

    refused = caller.post(f"/projects/{made['id']}/responses", {"data": [{**past, "answers": answers}]})
    taken = caller.post(f"/projects/{made['id']}/responses", {"data": [{**past, "answers": answers[1:]}]})

    assert refused.json()["violations"][0]["code"] == "conflicting"
    assert taken.json()["imported"] == 1


def test_while_open_an_option_cannot_become_exclusive(caller):
    made = caller.make_open(GAMES)
    block = made["script"]["blocks"][0]
    options = [{**option, "is_exclusive": None} for option in block["options"]]

    answer = caller.patch(f"/projects/{made['id']}/script/blocks/{block['id']}", {"options": options})

    assert answer.status_code == 409
    assert answer.json()["violations"][0]["field"] == "options[3].is_exclusive"
