"""Names of blocks in a script that is written, and what refers to them (rules 3.6 to 3.8)."""

import pytest

from tests.support.caller import CHOICE, SAYING, TEXT, Caller, faults, refusal
from tests.support.surveys.script_paths import block_path, path_of

pytestmark = pytest.mark.django_db


def test_a_rename_carries_through():
    """Rule 3.30."""
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
    """Rule 3.32."""
    caller = Caller()
    made = caller.make(CHOICE | {"name": "Colour"}, TEXT | {"name": "Why", "precondition": 'Colour = "red"'})

    answer = caller.put(path_of(made), {"blocks": made["script"]["blocks"][1:]})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {("blocks[0].precondition", "in_use")}
    assert "refers to what was block 1, “Which colour?”." in answer.json()["message"]


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


OPTIONS = [{"value": "red", "label": "Red"}, {"value": "green"}]


def test_a_new_value_of_an_option_carries_through_a_write_of_its_block_alone():
    caller = Caller()
    made = caller.make(
        CHOICE | {"name": "colour", "options": OPTIONS},
        TEXT | {"precondition": 'NOT(colour in ["red", "green"])'},
        TEXT | {"show_when": {"block": "Colour", "op": "eq", "value": "red"}},
        {
            "type": "calculated_block",
            "prompt": "Sum",
            "calculated_formula": 'if [colour] == "red" then 1 else 0',
        },
    )
    options = made["script"]["blocks"][0]["options"]

    caller.patch(block_path(made), {"options": [options[0] | {"value": "dark red"}, options[1]]})
    script = caller.get(path_of(made)).json()

    _, text, row, formula = script["blocks"]
    assert text["precondition"] == 'NOT(colour in ["dark red", "green"])'
    assert row["show_when"] == {"block": "Colour", "op": "eq", "value": "dark red"}
    assert row["precondition"] == 'NOT((Colour = "dark red"))'
    assert formula["calculated_formula"] == 'if [colour] == "dark red" then 1 else 0'
    assert script["warnings"] == []


def test_a_value_that_a_condition_cannot_contain_makes_it_an_expression():
    caller = Caller()
    row = {"show_when": {"block": "colour", "op": "eq", "value": "red"}}
    made = caller.make(CHOICE | {"name": "colour", "options": OPTIONS}, TEXT | row)
    blocks = made["script"]["blocks"]
    blocks[0]["options"][0]["value"] = 'the "red" one'

    script = caller.put(path_of(made), {"blocks": blocks}).json()
    again = caller.put(path_of(made), {"blocks": script["blocks"]})

    assert script["blocks"][1]["show_when"] is None
    assert script["blocks"][1]["precondition"] == 'NOT((colour = "the ""red"" one"))'
    assert again.json()["blocks"] == script["blocks"]


def test_an_option_that_a_condition_names_can_be_removed_with_a_warning():
    caller = Caller()
    row = {"show_when": {"any": [{"block": "colour", "op": "eq", "value": "red"}]}}
    made = caller.make(CHOICE | {"name": "colour", "options": OPTIONS}, TEXT | row)

    answer = caller.patch(block_path(made), {"options": made["script"]["blocks"][0]["options"][1:]})
    (warning,) = caller.get(path_of(made)).json()["warnings"]

    assert answer.status_code == 200
    assert (warning["field"], warning["code"]) == ("blocks[1].show_when.any[0].value", "unknown_value")


def test_automatic_names_are_ambiguous_as_positions_and_a_write_says_so():
    """Rule 3.10."""
    caller = Caller()

    script = caller.make(CHOICE, CHOICE, TEXT | {"prompt": "Why [q1]?"})["script"]

    assert [block["name"] for block in script["blocks"]] == ["q0", "q1", "q2"]
    (warning,) = script["warnings"]
    assert (warning["field"], warning["code"]) == ("blocks[2].prompt", "ambiguous_name")
    assert "block 1, “Which colour?”" in warning["message"]
    assert "block 2, “Which colour?”, which is written [Q1]" in warning["message"]
