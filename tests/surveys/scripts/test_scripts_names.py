"""Names of blocks in a script that is written, and what refers to them."""

import pytest

from tests.support.caller import CHOICE, SAYING, TEXT, Caller, faults, refusal
from tests.support.surveys.script_paths import block_path, path_of

pytestmark = pytest.mark.django_db


def test_a_rename_carries_through():
    caller = Caller()
    made = caller.make(
        CHOICE | {"name": "favGame"},
        TEXT | {"prompt": "Why [favGame]?", "precondition": 'favGame = "red"'},
        TEXT | {"show_when": {"block": "FAVGAME", "op": "eq", "value": "red"}},
    )

    answer = caller.patch(block_path(made), {"name": "best colour"})
    _, second, third = caller.get(path_of(made)).json()["blocks"]

    assert answer.json()["name"] == "best colour"
    assert second["prompt"] == "Why [best colour]?"
    assert second["precondition"] == 'best_colour = "red"'
    assert third["show_when"]["block"] == "best colour"


def test_a_block_that_others_refer_to_cannot_go():
    caller = Caller()
    made = caller.make(CHOICE | {"name": "Colour"}, TEXT | {"name": "Why", "precondition": 'Colour = "red"'})

    answer = caller.put(path_of(made), {"blocks": made["script"]["blocks"][1:]})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {("blocks[0].precondition", "in_use")}
    assert "Colour" in answer.json()["message"]


def outro_of(caller, made):
    return caller.get(f"{path_of(made)}?expand=outro").json()["blocks"][-1]


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_block_that_the_outro_refers_to_cannot_go(is_sent):
    caller = Caller()
    made = caller.make(CHOICE | {"name": "colour"}, TEXT)
    outro = outro_of(caller, made)
    thanks = {"prompt": "So [colour] it is."}
    caller.patch(f"{path_of(made)}/blocks/{outro['id']}", thanks)
    rest = made["script"]["blocks"][1:]
    sent = [outro | thanks, *rest] if is_sent else rest

    refused = caller.put(path_of(made), {"blocks": sent})
    taken = caller.put(path_of(made), {"blocks": [outro | {"prompt": "Thanks."}, *rest]})

    assert faults(refused) == {("blocks[0].prompt" if is_sent else "blocks[1].prompt", "in_use")}
    assert taken.status_code == 200


def test_a_new_name_does_not_make_a_text_too_long():
    caller = Caller()
    text = "[a]" + "." * 3_997
    made = caller.make(TEXT | {"name": "a"}, SAYING | {"prompt": text})
    outro = outro_of(caller, made)
    caller.patch(f"{path_of(made)}/blocks/{outro['id']}", {"prompt": text})

    answer = caller.patch(block_path(made), {"name": "b2"})

    assert faults(answer) == {("blocks[1].prompt", "too_long"), ("blocks[2].prompt", "too_long")}
    assert "4,001 characters" in answer.json()["message"]
    assert caller.patch(block_path(made), {"name": "b"}).status_code == 200
    assert outro_of(caller, made)["prompt"] == "[b]" + "." * 3_997


def test_a_block_is_not_renamed_to_what_is_a_variable_in_prompts():
    caller = Caller()
    made = caller.make(TEXT | {"name": "game"}, SAYING | {"prompt": "[game]"})

    assert faults(caller.patch(block_path(made), {"name": "UserName"})) == {("name", "not_allowed")}


def test_an_outro_block_is_sent_once():
    caller = Caller()
    made = caller.make(TEXT)
    outro = outro_of(caller, made)

    answer = caller.put(path_of(made), {"blocks": [*made["script"]["blocks"], outro, outro]})

    assert faults(answer) == {("blocks[2].id", "duplicate")}


def test_a_project_about_to_open_keeps_a_question():
    caller = Caller()
    made = caller.make(TEXT)
    moment = {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"}
    assert caller.post(f"/projects/{made['id']}/open", {"delivery": {"opening": moment}}).status_code == 200

    assert refusal(caller.put(path_of(made), {"blocks": []})) == (409, "conflict")
    assert caller.put(path_of(made), {"blocks": [CHOICE]}).status_code == 200


def test_a_condition_about_a_block_that_goes_is_told_once():
    caller = Caller()
    condition = {"all": [{"block": "colour", "op": "eq", "value": "red"}]}
    made = caller.make(CHOICE | {"name": "Colour"}, TEXT | {"show_when": condition})

    answer = caller.put(path_of(made), {"blocks": made["script"]["blocks"][1:]})

    assert faults(answer) == {("blocks[0].show_when", "in_use")}


def test_a_patched_block_is_the_one_whose_name_is_taken():
    caller = Caller()
    made = caller.make(TEXT | {"name": "one"}, TEXT | {"name": "two"})

    first = caller.patch(block_path(made, 0), {"name": "TWO"})
    last = caller.patch(block_path(made, 1), {"name": "ONE"})

    assert faults(first) == faults(last) == {("name", "duplicate")}


@pytest.mark.parametrize("name", ["true", "True", "FALSE"])
def test_a_name_that_logic_reads_as_a_value_is_refused(name):
    caller = Caller()

    answer = caller.put(path_of(caller.make(TEXT)), {"blocks": [TEXT | {"name": name}]})

    assert faults(answer) == {("blocks[0].name", "not_allowed")}


def test_moving_a_block_before_what_it_refers_to_is_refused():
    caller = Caller()
    made = caller.make(CHOICE | {"name": "Colour"}, TEXT | {"precondition": 'Colour = "red"'})

    answer = caller.patch(block_path(made, 1), {"position": 0})

    assert faults(answer) == {("precondition", "later_reference")}
