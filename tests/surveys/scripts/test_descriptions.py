"""Smaller text below a prompt: written, read, and seen in steps (rules 3.120 and 6.130)."""

import pytest

from tests.support.caller import CHOICE, TEXT, Caller, faults

pytestmark = pytest.mark.django_db

BELOW = {"description": "You chose [Colour|nothing]."}
OPEN = {"audience": {"participation": "open_web"}}
COLOUR = CHOICE | {"name": "Colour"}


def path_of(made):
    return f"/projects/{made['id']}/script"


def test_a_description_is_stored_stripped_and_read_back():
    """Rule 3.120."""
    caller = Caller()

    made = caller.make(TEXT | {"description": "  Think of u\u0308bung.\n"}, TEXT | {"description": " "})

    assert [block["description"] for block in made["script"]["blocks"]] == ["Think of übung.", None]


@pytest.mark.parametrize(("length", "status"), [(1_000, 201), (1_001, 400)])
def test_a_description_has_at_most_1000_characters(length, status):
    """Rule 3.120."""
    block = TEXT | {"description": "x" * length}

    answer = Caller().post("/projects", {"name": "A", "type": "convo", "script": {"blocks": [block]}})

    assert answer.status_code == status
    assert faults(answer) == ({("script.blocks[0].description", "too_long")} if status == 400 else set())


def test_a_step_has_its_description_with_tokens_filled_in():
    """Rule 6.130."""
    caller = Caller()
    made = caller.make_open(COLOUR | BELOW, TEXT | BELOW, delivery=OPEN)
    told = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    block = told["step"]["block"]

    sent = {"block_id": block["id"], "option_id": block["options"][1]["id"]}
    then = caller.post(f"/conversations/{told['id']}/answers", sent).json()

    seen = [each["step"]["block"]["description"] for each in (told, then)]
    assert seen == ["You chose nothing.", "You chose green."]


def test_the_description_changes_while_active_and_of_the_outro():
    """Rule 3.120."""
    caller = Caller()
    made = caller.make_open(TEXT)
    *blocks, outro = caller.get(f"{path_of(made)}?expand=outro").json()["blocks"]

    answer = caller.put(
        path_of(made), {"blocks": [blocks[0] | {"description": "Anew."}, outro | {"description": "See you."}]}
    )

    assert answer.status_code == 200, answer.content
    read = caller.get(f"{path_of(made)}?expand=outro").json()["blocks"]
    assert [block["description"] for block in read] == ["Anew.", "See you."]


def test_a_renamed_block_is_renamed_in_descriptions_too():
    caller = Caller()
    made = caller.make(COLOUR, TEXT | BELOW)
    colour, text = made["script"]["blocks"]

    answer = caller.put(path_of(made), {"blocks": [colour | {"name": "Paint"}, text]})

    assert answer.json()["blocks"][1]["description"] == "You chose [Paint|nothing]."


def test_a_description_that_a_new_name_makes_too_long_is_refused():
    caller = Caller()
    long = {"description": "[Colour]" + "x" * 992}
    made = caller.make(COLOUR, TEXT | long)
    colour, text = made["script"]["blocks"]

    answer = caller.put(path_of(made), {"blocks": [colour | {"name": "Colours"}, text]})

    assert faults(answer) == {("blocks[1].description", "too_long")}
    assert "at most 1,000" in answer.json()["message"]
