"""A step contains everything needed to draw it, with every default filled in (rule 6.18)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.engine.script import Scale
from surveys.engine.walk.defaults import NPS_ENDS
from tests.support.caller import Caller
from tests.support.cases import try_each
from tests.support.surveys import scenario

pytestmark = pytest.mark.django_db

ITEMS = {"options": ["a", "b", "c"]}
STANDARD = {"icon": "numbers", "label_left": None, "label_center": None, "label_right": None}


@pytest.fixture
def caller() -> Caller:
    return Caller("admin")


def begun(caller: Caller, *blocks: dict[str, Any], **fields: Any) -> Any:
    made = scenario.project(*blocks, community=caller.community, author=caller.user, **fields)
    return caller.post(f"/projects/{made.pk}/conversations", {}).json()


def step(caller: Caller, block: dict[str, Any], **fields: Any) -> Any:
    return begun(caller, block, **fields)["step"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "rating"}, {"min": 1, "max": 5, "scale": {**STANDARD, "icon": "stars"}}),
        ({"type": "opinion_scale"}, {"min": 0, "max": 10, "scale": STANDARD}),
        (
            {"type": "opinion_scale", "min": 1, "max": 4, "scale": Scale("emoji", "Bad", "So", "Good")},
            {
                "min": 1,
                "max": 4,
                "scale": {"icon": "emoji", "label_left": "Bad", "label_center": None, "label_right": "Good"},
            },
        ),
        (
            {"type": "nps"},
            {
                "min": 0,
                "max": 10,
                "scale": {**STANDARD, "label_left": NPS_ENDS[0], "label_right": NPS_ENDS[1]},
            },
        ),
        ({"type": "multi_punch", **ITEMS, "required": True}, {"min": 1, "max": 3}),
        ({"type": "multi_punch", **ITEMS, "required": False}, {"min": 0, "max": 3}),
        ({"type": "multi_punch", **ITEMS, "min": 2, "max": 2, "required": False}, {"min": 2, "max": 2}),
        ({"type": "ranking", **ITEMS}, {"rank_top_n": 3}),
        ({"type": "ranking", **ITEMS, "rank_top_n": 2}, {"rank_top_n": 2}),
        ({"type": "open_numeric"}, {"min": None, "max": None}),
    ],
    ids=lambda value: value.get("type", "") if isinstance(value, dict) else "",
)
def test_limits_icons_and_ends_are_those_that_apply(caller, block, expected):
    """Rule 3.22."""
    seen = step(caller, block)["block"]

    assert {key: seen[key] for key in expected} == expected


def test_every_point_of_a_scale_has_its_label_as_it_is_drawn(caller):
    options = [{"value": "1", "label": "Never", "emoji": "👎"}, {"value": "3"}]
    seen = step(caller, {"type": "opinion_scale", "min": 1, "max": 3, "options": options})["block"]

    assert [(each["value"], each["label"], each["emoji"]) for each in seen["options"]] == [
        ("1", "Never", "👎"),
        ("2", "2", None),
        ("3", "3", None),
    ]
    assert [each["id"] is None for each in seen["options"]] == [False, True, False]


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"type": "open_text"}, None),
        ({"type": "single_punch", **ITEMS}, None),
        ({"type": "multi_punch", **ITEMS}, "Choose all that apply."),
        ({"type": "multi_punch", **ITEMS, "min": 2}, "Choose at least 2."),
        ({"type": "open_numeric", "min": 1, "max": 2000}, "A number from 1 to 2,000."),
        ({"type": "ranking", **ITEMS}, "Put all items in order, best first."),
        (
            {"type": "ranking", **ITEMS, "rank_top_n": 2},
            "Choose your best 2, best first. The others are not counted.",
        ),
    ],
)
def test_the_sentence_under_the_question_is_the_pages(caller, block, sentence):
    assert step(caller, block)["help"] == sentence


@pytest.mark.parametrize(
    ("block", "sent", "told"),
    [
        ({"type": "single_punch", **ITEMS}, {"value": "b"}, ("option_id", "b")),
        ({"type": "multi_punch", **ITEMS}, {"value": ["c", "a"]}, ("option_ids", ["a", "c"])),
        ({"type": "ranking", **ITEMS}, {"value": ["c", "a", "b"]}, ("ranking", ["c", "a", "b"])),
        ({"type": "open_text"}, {"value": " So. "}, ("value", "So.")),
        ({"type": "open_numeric"}, {"value": 4.5}, ("value", "4.5")),
        ({"type": "rating"}, {"value": 4}, ("value", "4")),
        ({"type": "open_text"}, {"skip": True}, ("skip", True)),
    ],
)
def test_a_step_gone_back_to_tells_the_answer_given_as_it_is_sent(caller, block, sent, told):
    first = begun(caller, {**block, "required": False}, {"type": "open_text"})
    address, block_id = f"/conversations/{first['id']}", first["step"]["block"]["id"]
    by_value = {each["value"]: each["id"] for each in first["step"]["block"]["options"] or []}
    second = caller.post(f"{address}/answers", {"block_id": block_id, **sent}).json()

    step = caller.post(f"{address}/back", {}).json()["step"]

    key, value = told
    if key.startswith("option") or key == "ranking":
        value = [by_value[each] for each in value] if isinstance(value, list) else by_value[value]
    assert (first["step"]["answer"], second["step"]["answer"]) == (None, None)
    assert step["answer"] == {key: value}
    again = caller.post(f"{address}/answers", {"block_id": block_id, **step["answer"]})
    assert again.status_code == 200
    assert again.json()["step"] == second["step"]


@pytest.mark.parametrize(
    ("block", "body"),
    [({"type": "multi_punch", **ITEMS}, {"option_ids": []}), ({"type": "ranking", **ITEMS}, {"ranking": []})],
)
@pytest.mark.parametrize(("required", "status"), [(True, 400), (False, 200)])
def test_an_empty_list_is_a_skip_where_that_is_allowed(caller, block, body, required, status):
    """Rule 6.20."""
    told = begun(caller, {**block, "required": required})
    sent = {"block_id": told["step"]["block"]["id"], **body}

    assert caller.post(f"/conversations/{told['id']}/answers", sent).status_code == status


@try_each("required", [True, False])
@try_each("body", [{}, {"value": None}, {"skip": False}, {"option_id": None, "ranking": None}])
@try_each("kind", ["nps", "open_text", "open_numeric"])
def test_a_body_without_an_answer_is_refused_also_where_a_skip_is_allowed(caller, kind, body, required):
    """Rule 6.20."""
    told = begun(caller, {"type": kind, "required": required})
    sent = {"block_id": told["step"]["block"]["id"], **body}

    refused = caller.post(f"/conversations/{told['id']}/answers", sent)

    assert refused.status_code == 400
    assert refused.json()["violations"][0]["field"] == "value"
