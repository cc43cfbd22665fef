"""A check reports the effects of a save, and saves nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from communities.models import Picture
from surveys.models import Block, Project
from surveys.services.drafts import answers, checking
from tests.support.caller import CHOICE, PICTURE, SAYING, TEXT, Caller
from tests.support.moments import NOON
from tests.support.surveys.script_paths import path_of

pytestmark = pytest.mark.django_db

OPEN_WEB = {"audience": {"participation": "open_web"}}
ACTION = {"type": "action_block", "prompt": "Here.", "action_kind": "give_xp"}
FAULTY: dict[str, list[Any]] = {
    "unreadable": [TEXT | {"prompt": 7}, "no block", {"type": "open_text"}],
    "rules": [CHOICE | {"options": []}, TEXT | {"name": "a"}, TEXT | {"name": "A"}],
    "logic": [TEXT | {"precondition": "Nobody = 1"}, TEXT | {"precondition": "("}],
    "formula": [{"type": "calculated_block", "calculated_formula": "1 +"}],
    "foreign id": [TEXT | {"id": 999_999_999}],
    "too many": [TEXT] * 201,
}


def project_of(made: dict[str, Any]) -> Project:
    return Project.objects.get(pk=made["id"])


def check(caller: Caller, made: dict[str, Any], blocks: Any, *, tier: str = "premium") -> dict[str, Any]:
    actor = replace(caller.actor, tier=tier)
    return checking.check(actor=actor, project=project_of(made), blocks=blocks, at=NOON)


def found(of: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["field"], each["code"]) for each in of]


@pytest.mark.parametrize("blocks", FAULTY.values(), ids=FAULTY)
def test_a_check_finds_exactly_what_the_api_refuses(blocks):
    caller = Caller()
    made = caller.make(TEXT)

    checked = check(caller, made, blocks)

    refused = caller.put(path_of(made), {"blocks": blocks})
    assert refused.status_code == 400
    assert checked["violations"] == refused.json()["violations"]


def test_references_to_a_block_that_was_removed_are_found():
    caller = Caller()
    made = caller.make(CHOICE | {"name": "colour"}, TEXT | {"precondition": 'colour = "red"'})
    _, text = made["script"]["blocks"]

    checked = check(caller, made, [text])

    assert found(checked["violations"]) == [("blocks[0].precondition", "in_use")]


def test_options_that_the_chat_platform_cannot_show_are_found():
    caller = Caller()
    made = caller.make(TEXT)
    Project.objects.filter(pk=made["id"]).update(response_channel="chat")
    options = [{"value": str(n)} for n in range(26)]

    checked = check(caller, made, [CHOICE | {"options": options}])

    assert found(checked["violations"]) == [("blocks[0].options", "too_many")]


def test_while_the_project_is_open_every_change_of_structure_is_found_at_its_field():
    caller = Caller()
    made = caller.make_open(CHOICE, TEXT)
    choice, text = made["script"]["blocks"]
    changed = {**choice, "required": True, "prompt": " ", "precondition": "("}  # a block may be added

    checked = check(caller, made, [changed, {**text, "prompt": "Reworded?"}, SAYING])

    assert sorted(found(checked["violations"])) == [
        ("blocks[0].precondition", "read_only"),
        ("blocks[0].precondition", "syntax_error"),
        ("blocks[0].prompt", "blank"),
        ("blocks[0].required", "read_only"),
    ]
    assert all(
        "while the project is active" in each["message"]
        for each in checked["violations"]
        if each["code"] == "read_only"
    )


def test_the_type_of_a_block_with_answers_cannot_change():
    caller = Caller()
    made = caller.make_open(TEXT, delivery=OPEN_WEB)
    (text,) = made["script"]["blocks"]
    begun = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    caller.post(f"/conversations/{begun['id']}/answers", {"block_id": text["id"], "value": "So"})
    caller.post(f"/projects/{made['id']}/close")

    checked = check(caller, made, [{"id": text["id"], "type": "open_numeric", "prompt": "How many?"}])

    assert found(checked["violations"]) == [("blocks[0].type", "read_only")]


def test_a_script_about_to_open_needs_a_question():
    caller = Caller()
    made = caller.make(TEXT)
    Project.objects.filter(pk=made["id"]).update(opens_at="2027-01-01T00:00Z")

    checked = check(caller, made, [SAYING])

    assert found(checked["violations"]) == [("blocks", "not_allowed")]


# --- Names, conditions, reach -----------------------------------------------------------------------


def test_blocks_come_back_as_they_were_sent_with_names_and_conditions():
    caller = Caller()
    made = caller.make(TEXT)
    (outro,) = caller.get(path_of(made) + "?expand=outro").json()["blocks"][1:]
    blocks = [
        outro,
        CHOICE | {"key": "late", "section": "main", "name": "colour"},
        SAYING | {"key": "early", "section": "intro"},
        TEXT | {"key": "last", "show_when": {"block": "colour", "op": "eq", "value": "red"}},
        "no block",
    ]

    checked = check(caller, made, blocks)

    assert [(each["key"], each["id"], each["name"]) for each in checked["blocks"]] == [
        (None, outro["id"], "thank_you"),
        ("late", None, "colour"),
        ("early", None, "q0"),
        ("last", None, "q2"),
        (None, None, "q3"),
    ]
    assert [each["precondition"] for each in checked["blocks"]] == [
        None,
        None,
        None,
        'NOT((colour = "red"))',
        None,
    ]
    assert checked["names"] == ["q0", "colour", "q2", "q3"]


def test_a_block_that_no_answers_lead_to_is_marked_and_warned_of():
    caller = Caller()
    made = caller.make(TEXT)
    never = {"block": "colour", "op": "eq", "value": "purple"}
    outro = caller.get(path_of(made) + "?expand=outro").json()["blocks"][1:]
    blocks = [*outro, CHOICE | {"name": "colour"}, TEXT | {"show_when": never}, SAYING | {"section": "intro"}]

    checked = check(caller, made, blocks)

    assert [each["is_reachable"] for each in checked["blocks"]] == [True, True, False, True]
    assert found(checked["warnings"]) == [
        ("blocks[2].show_when.value", "unknown_value"),
        ("blocks[2].show_when", "never_reached"),
    ]


def test_warnings_name_the_fields_of_the_array_that_was_sent():
    caller = Caller()
    made = caller.make(TEXT, rewards={"use_xp": True})
    outro = caller.get(path_of(made) + "?expand=outro").json()["blocks"][1:]
    blocks = [
        *outro,
        TEXT | {"prompt": "Is it [nobody]?"},
        ACTION | {"action_config": {"xp_amount": 5}},
        SAYING | {"section": "intro"},
    ]

    checked = check(caller, made, blocks)

    assert sorted(found(checked["warnings"])) == [
        ("blocks[2].prompt", "unknown_token"),
        ("blocks[3]", "double_award"),
    ]


# --- Pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["image_url", "thumbnail_url"])
@pytest.mark.parametrize(("tier", "is_refused"), [("basic", True), ("premium", False), ("custom", False)])
def test_new_pictures_need_the_premium_tier_in_the_editor(tier, is_refused, key):
    caller = Caller()
    made = caller.make(TEXT)

    checked = check(caller, made, [TEXT | {key: PICTURE}], tier=tier)

    expected = [(f"blocks[0].{key}", "not_allowed")] if is_refused else []
    assert found(checked["violations"]) == expected


def test_a_picture_that_could_not_be_fetched_is_told_at_its_address(django_assert_num_queries):
    """Rule 3.159."""
    caller = Caller()
    dead, option = f"{PICTURE}?dead", f"{PICTURE}?option"
    made = caller.make(
        TEXT | {"image_url": PICTURE},
        CHOICE | {"thumbnail_url": dead, "options": [{"value": "a"}, {"value": "b", "image_url": option}]},
    )
    Picture.objects.exclude(address=PICTURE).update(
        problem="The host answered with the status 404.", due_at=None
    )

    checked = check(caller, made, made["script"]["blocks"])

    warned = [each for each in checked["warnings"] if each["code"] == "not_shown"]
    assert found(warned) == [
        ("blocks[1].thumbnail_url", "not_shown"),
        ("blocks[1].options[1].image_url", "not_shown"),
    ]
    assert warned[0]["message"] == "The picture could not be fetched: The host answered with the status 404."


def test_pictures_that_are_there_already_stay_on_the_basic_tier():
    caller = Caller(tier="basic")
    made = caller.make(TEXT | {"image_url": PICTURE})
    (block,) = made["script"]["blocks"]

    kept = check(caller, made, [block], tier="basic")
    replaced = check(caller, made, [{**block, "image_url": f"{PICTURE}?2"}], tier="basic")
    copied = check(caller, made, [block, {**block, "id": None, "name": None}], tier="basic")

    assert kept["violations"] == []
    assert found(replaced["violations"]) == [("blocks[0].image_url", "not_allowed")]
    assert found(copied["violations"]) == [("blocks[1].image_url", "not_allowed")]


@pytest.mark.parametrize(("tier", "warned"), [("basic", [("blocks[0].color", "not_shown")]), ("vip", [])])
def test_a_color_is_kept_on_every_tier_and_said_not_to_show_on_the_basic_one(tier, warned):
    caller = Caller()
    made = caller.make(TEXT)

    checked = check(caller, made, [TEXT | {"color": "5865F2"}], tier=tier)

    assert (checked["violations"], found(checked["warnings"])) == ([], warned)


# --- Answers --------------------------------------------------------------------------------------


def test_the_answers_of_a_block_are_counted_by_response(monkeypatch):
    caller = Caller()
    made = caller.make_open(TEXT, CHOICE | {"type": "multi_punch"}, TEXT, delivery=OPEN_WEB)
    text, choice, last = made["script"]["blocks"]
    for _ in range(3):
        begun = caller.post(f"/projects/{made['id']}/conversations", {}).json()
        caller.post(f"/conversations/{begun['id']}/answers", {"block_id": text["id"], "value": "So"})
        chosen = {"block_id": choice["id"], "option_ids": [option["id"] for option in choice["options"]]}
        caller.post(f"/conversations/{begun['id']}/answers", chosen)

    assert answers.answered_blocks(project_id=int(made["id"])) == {text["id"], choice["id"]}
    assert answers.count(block_id=choice["id"]) == answers.AnswerCount(3, is_estimate=False)
    assert answers.count(block_id=last["id"]) == answers.AnswerCount(0, is_estimate=False)
    monkeypatch.setattr(answers, "COUNTED", 2)
    estimate = answers.count(block_id=choice["id"])
    assert estimate.is_estimate
    assert estimate.count >= 2
    assert Block.objects.filter(pk=last["id"]).exists()
