"""A menu of up to 1,000 options on the web (rules 3.157 and 6.157)."""

import pytest

from surveys.engine.intake import reader
from surveys.engine.intake.fields import MAX_MENU_OPTIONS, MAX_SCRIPT_OPTIONS
from surveys.engine.language.values import json_bytes
from surveys.engine.walk import presentation
from surveys.models import Project
from tests.support.caller import CHOICE, Caller, faults
from tests.support.engine.violations import block_faults
from tests.support.surveys.participants import Talk
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]

ON_WEB = {"audience": {"participation": "open_web"}}


def menu(count, *, words="Town", **fields):
    options = [{"value": f"{words} {n}"} for n in range(count)]
    return {**CHOICE, "name": "town", "answer_style": "select_menu", "options": options, **fields}


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        (menu(1_000), []),
        (menu(1_001), [("options", "too_many")]),
        (menu(100, answer_style=None), []),
        (menu(101, answer_style=None), [("options", "too_many")]),
        (menu(101, answer_style="buttons"), [("options", "too_many")]),
        (menu(101, type="multi_punch"), [("options", "too_many")]),
        (menu(1_000, words="W" * 52), []),
        (menu(1_000, words="W" * 60), [("options", "too_long")]),
        (menu(1_000, words="\u6771" * 52), [("options", "too_long")]),
        (menu(101, words="W" * 300), []),
        (menu(100, words="W" * 300), [("options", "too_long")]),
    ],
)
def test_a_menu_has_up_to_a_thousand_options_within_a_size(block, fault):
    assert block_faults(block) == fault


def test_a_script_has_at_most_20_000_options():
    """All options of too long a script are counted before they are read."""
    menus = [menu(1_000, name=f"t{n}") for n in range(20)]
    fits = reader.read_blocks(menus, path="blocks")
    parsed = reader.read_blocks([*menus, menu(2, name="last"), menu(3, name="more")], path="blocks")

    assert fits.violations == []
    assert [(each.field, each.code) for each in parsed.violations] == [
        ("blocks[20].options", "too_many"),
        ("blocks[21].options", "too_many"),
    ]
    assert sum(len(block.options) for block in parsed.blocks) == MAX_SCRIPT_OPTIONS


def test_blocks_that_are_written_one_by_one_have_no_more_options_together():
    caller = Caller()
    small = [{"value": f"{n}"} for n in range(1_000)]
    made = caller.make(*[menu(2, name=f"t{n}") for n in range(2)])
    first, second = made["script"]["blocks"]
    path = f"/projects/{made['id']}/script/blocks/"

    assert caller.patch(f"{path}{first['id']}", {"options": small}).status_code == 200
    assert faults(caller.patch(f"{path}{second['id']}", {"answer_style": None, "options": small})) == {
        ("options", "too_many")
    }


def test_a_long_menu_is_answered_on_the_web_and_refused_by_chat():
    caller = Caller()
    made = caller.make_open(menu(1_000), {**CHOICE, "name": "again"}, delivery=ON_WEB)
    project = Project.objects.get(pk=int(made["id"]))

    page = Visitor(project).look().page
    talk = Talk(caller, made)
    step = talk.told["step"]

    assert page.count("<option ") == MAX_MENU_OPTIONS + 1
    assert len(page.encode()) < 1_000_000
    assert presentation.MAX_STEP < json_bytes(step) < presentation.MAX_MENU_STEP
    assert talk.answer("Town 999")["step"]["block"]["name"] == "again"
    talk.answer("red")
    (block, _) = caller.get(f"/projects/{made['id']}/analysis/results").json()["blocks"]
    assert [(each["value"], each["count"]) for each in block["distribution"]] == [("Town 999", 1)]
    by_chat = {"audience": {"response_channel": "chat"}, "invitation": {"post_channel_id": "1"}}
    caller.post(f"/projects/{made['id']}/close")
    refused = caller.patch(f"/projects/{made['id']}", {"delivery": by_chat})
    assert ("script.blocks[0].options", "too_many") in faults(refused)


def test_the_largest_menu_has_a_step_within_its_limit():
    block = menu(1_000, words="W" * 52, prompt="?" * 4_000)

    (parsed,) = reader.read_blocks([block], path="blocks").blocks

    assert presentation.block_bytes(parsed) < presentation.MAX_MENU_BLOCK
    assert json_bytes(presentation.step_as_json(parsed, is_poll=False)) < presentation.MAX_MENU_STEP
