"""Two editors of one script: who saves second sees both versions, and chooses by block."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from communities.models import CommunitySettings
from surveys.models import ScriptDraft
from tests.support.browser import editor
from tests.support.browser.sizes import DESK, PHONE
from tests.support.caller import CHOICE, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)

MERGED = """async ([base, theirs, yours, choices, order]) => {
  const { compare, differing, merge, orderOf } = await import("/static/surveys/editor/merging.js");
  const rows = compare(base, theirs, yours);
  const told = differing(rows).map((row) => [row.id, row.kind, row.choice]);
  for (const row of rows) row.choice = choices[row.id] ?? row.choice;
  const found = orderOf(base, theirs, yours);
  if (order) found.choice = order;
  return { told, isConflict: found.isConflict, blocks: merge(rows, found) };
}"""


@pytest.fixture
def caller():
    return Caller()


@pytest.fixture
def project(caller):
    return editor.new_project(
        caller, TEXT | {"name": "why"}, CHOICE | {"name": "colour"}, TEXT | {"name": "last"}
    )


def write(caller: Caller, project: str, *blocks: Any) -> None:
    written = caller.put(f"/projects/{project}/script", {"blocks": blocks})
    assert written.status_code == 200, written.content


def collide(page: Any, caller: Caller, project: str, mine: str, *theirs: str) -> None:
    """Give the first block of an editor other words, while both texts of the first two are changed."""
    first, second, last = editor.stored(caller, project)
    page.evaluate(
        "(words) => colloquyEditor.store.changeBlock(colloquyEditor.store.blocks[0].key,"
        " (block) => { block.prompt = words; }, 'Type')",
        mine,
    )
    editor.expect_state(page, "Draft kept")
    write(caller, project, first | {"prompt": theirs[0]}, second | {"prompt": theirs[1]}, last)
    page.keyboard.press("Control+s")
    expect(page.get_by_role("dialog")).to_be_visible()


def row(page, name):
    return page.get_by_role("dialog").get_by_role("group", name=name)


def prompts(caller, project):
    return [block["prompt"] for block in editor.stored(caller, project)]


def test_each_block_is_chosen_and_the_result_is_saved(windows, caller, project, check_every_look):
    page = editor.open_editor(windows, caller, project)
    collide(page, caller, project, "Mine?", "Theirs?", "Which paint?")
    dialog = page.get_by_role("dialog", name="The script was changed while you edited")
    check_every_look(page)
    for size in (PHONE, DESK):
        page.set_viewport_size(size)
        assert dialog.evaluate("element => element.scrollWidth <= element.clientWidth")

    # Nothing is lost by who goes back to the editor.
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert prompts(caller, project) == ["Theirs?", "Which paint?", "Why?"]
    page.reload()
    assert editor.prompts(page) == ["Mine?", "Which colour?", "Why?"]
    page.keyboard.press("Control+s")

    expect(dialog.get_by_role("group")).to_have_count(2)
    expect(dialog.get_by_role("status")).to_have_text("1 choice left")
    expect(row(page, "colour").get_by_label("Theirs")).to_be_checked()
    row(page, "why").get_by_label("Yours").check()
    expect(dialog.get_by_role("status")).to_have_text("Everything is decided")
    dialog.get_by_role("button", name="Save the result").click()
    editor.expect_state(page, "Script saved")
    assert prompts(caller, project) == ["Mine?", "Which paint?", "Why?"]
    assert not ScriptDraft.objects.exists()

    # Undo does not go behind a merge.
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    page.keyboard.press("Control+z")
    assert editor.prompts(page) == ["Mine?", "Which paint?", "Why?"]


def test_a_result_is_chosen_by_keyboard_alone_or_one_side_is_taken_as_a_whole(windows, caller, project):
    page = editor.open_editor(windows, caller, project)
    collide(page, caller, project, "Mine?", "Theirs?", "Which paint?")
    expect(page.get_by_role("heading", name="The script was changed")).to_be_focused()
    editor.tab_to(page, "Save the result")
    page.keyboard.press("Enter")
    expect(row(page, "why").get_by_label("Theirs")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(row(page, "why").get_by_label("Yours")).to_be_checked()
    editor.tab_to(page, "Save the result")
    page.keyboard.press("Enter")
    editor.expect_state(page, "Script saved")
    assert prompts(caller, project) == ["Mine?", "Which paint?", "Why?"]

    collide(page, caller, project, "Mine again?", "Theirs again?", "Which hue?")
    page.get_by_role("button", name="Take all of theirs").click()
    page.get_by_role("button", name="Save the result").click()
    editor.expect_state(page, "Script saved")
    assert prompts(caller, project) == ["Theirs again?", "Which hue?", "Why?"]

    # A collision during a collision is told again.
    collide(page, caller, project, "Mine now?", "Theirs now?", "Which dye?")
    first, second, last = editor.stored(caller, project)
    write(caller, project, first, second, last | {"prompt": "At last?"})
    page.get_by_role("button", name="Take all of yours").click()
    page.get_by_role("button", name="Save the result").click()
    expect(row(page, "last")).to_be_visible()
    expect(row(page, "last").get_by_label("Theirs")).to_be_checked()
    page.get_by_role("button", name="Save the result").click()
    editor.expect_state(page, "Script saved")
    assert prompts(caller, project) == ["Mine now?", "Which hue?", "At last?"]


def test_the_comparison_says_who_saved_and_when_and_a_result_with_faults_goes_back(windows, caller, project):
    CommunitySettings.objects.update(time_zone="America/New_York")
    first, _, last = editor.stored(caller, project)
    page = editor.open_editor(windows, caller, project)
    page.evaluate(
        "() => colloquyEditor.store.changeBlock(colloquyEditor.store.blocks[2].key,"
        " (block) => { block.precondition = 'colour = \"red\"'; }, 'Type')"
    )
    editor.expect_state(page, "Draft kept")
    write(caller, project, first, last)
    page.keyboard.press("Control+s")

    page.get_by_role("button", name="Save the result").click()

    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".status-bar")).to_contain_text("1 fault")
    assert [block["name"] for block in editor.stored(caller, project)] == ["why", "last"]
    assert [block["name"] for block in page.evaluate(editor.BLOCKS)][:2] == ["why", "last"]

    # In the zone of the community.
    blocks = page.evaluate(editor.BLOCKS)
    collision = {
        **{"base": {"blocks": blocks}, "yours": {"blocks": blocks}, "revision": 2},
        "theirs": {"blocks": [blocks[0] | {"prompt": "Theirs?"}, *blocks[1:]]},
        **{"changed_by": "Ada <b>Lovelace</b>", "changed_at": "2026-01-31T12:00:00Z"},
    }
    mount = """async (collision) => {
      const { mountCollision } = await import("/static/surveys/editor/collision.js");
      mountCollision(document.body, colloquyEditor.store, { ...colloquyEditor, collision, save() {} });
    }"""

    page.evaluate(mount, collision)

    words = page.get_by_role("dialog").locator("p").first
    expect(words).to_contain_text("Ada <b>Lovelace</b> saved this script at")
    expect(words.locator("time")).to_have_attribute("datetime", "2026-01-31T12:00:00Z")
    expect(words.locator("time")).to_have_text(re.compile(r"^0?7:00.*\(America/New_York\)$"))
    expect(words.locator("time")).to_have_attribute("title", re.compile("2026"))


# --- Merging ----------------------------------------------------------------------------------------

A = {"id": 1, "section": "main", "type": "open_text", "name": "a", "prompt": "A"}
B = {"id": 2, "section": "main", "type": "open_text", "name": "b", "prompt": "B"}
C = {"id": 3, "section": "main", "type": "open_text", "name": "c", "prompt": "C"}
NEW = {"key": "new", "section": "main", "type": "open_text", "name": "n", "prompt": "N"}
THEIR_NEW = {**NEW, "id": 9, "key": None, "name": "m"}
OUTRO = {"id": 7, "section": "outro", "type": "content_block", "name": "thank_you", "prompt": "Thanks."}
SHOWN = {**B, "precondition": 'a = "x"', "prompt": "About [a]?"}
OPTIONS = [{"id": 5, "value": "x"}, {"id": 6, "value": "y"}]

# Base, theirs, yours; what is told (row, kind, choice); the result with these choices, and in which order.
CASES: dict[str, tuple[Any, Any, Any, Any, dict[str, str], str | None, list[Any]]] = {
    "nothing": ([A, B], [A, B], [A, B], [], {}, None, ["a: A", "b: B"]),
    "one side each": (
        [A, B],
        [{**A, "prompt": "A2"}, B],
        [A, {**B, "prompt": "B2"}],
        [["b1", "theirs", "theirs"], ["b2", "yours", "yours"]],
        {},
        None,
        ["a: A2", "b: B2"],
    ),
    "the same change": ([A], [{**A, "prompt": "A2"}], [{**A, "prompt": "A2"}], [], {}, None, ["a: A2"]),
    "one part twice": (
        [A],
        [{**A, "prompt": "A2"}],
        [{**A, "prompt": "A3"}],
        [["b1", "conflict", None]],
        {"b1": "theirs"},
        None,
        ["a: A2"],
    ),
    "two parts": (
        [A],
        [{**A, "prompt": "A2"}],
        [{**A, "name": "z"}],
        [["b1", "both", "both"]],
        {},
        None,
        ["z: A2"],
    ),
    "another type": (
        [A],
        [{**A, "type": "open_numeric"}],
        [{**A, "prompt": "A3"}],
        [["b1", "conflict", None]],
        {"b1": "yours"},
        None,
        ["a: A3"],
    ),
    "added by both": (
        [A, B],
        [A, THEIR_NEW, B],
        [A, NEW, B],
        [["new", "yours", "yours"], ["b9", "theirs", "theirs"]],
        {},
        None,
        ["a: A", "n: N", "m: N", "b: B"],
    ),
    "an addition left out": (
        [A],
        [A, THEIR_NEW],
        [A],
        [["b9", "theirs", "theirs"]],
        {"b9": "yours"},
        None,
        ["a: A"],
    ),
    "removed by them": ([A, B], [A], [A, B], [["b2", "theirs", "theirs"]], {}, None, ["a: A"]),
    "removed by you": ([A, B], [A, B], [B], [["b1", "yours", "yours"]], {}, None, ["b: B"]),
    "removed and edited": (
        [A, B],
        [A],
        [A, {**B, "prompt": "B2"}],
        [["b2", "conflict", None]],
        {"b2": "yours"},
        None,
        ["a: A", "b: B2"],
    ),
    "edited and removed": (
        [A, B],
        [A, {**B, "prompt": "B2"}],
        [A],
        [["b2", "conflict", None]],
        {"b2": "theirs"},
        None,
        ["a: A", "b: B2"],
    ),
    "removed by both": ([A, B], [A], [A], [], {}, None, ["a: A"]),
    "moved by them": ([A, B, C], [C, A, B], [A, B, C], [], {}, None, ["c: C", "a: A", "b: B"]),
    "moved by you": ([A, B, C], [A, B, C], [C, A, B], [], {}, None, ["c: C", "a: A", "b: B"]),
    "moved by both": ([A, B, C], [C, A, B], [B, A, C], [], {}, "theirs", ["c: C", "a: A", "b: B"]),
    "renamed by them": (
        [A, SHOWN],
        [{**A, "name": "z"}, {**SHOWN, "precondition": 'z = "x"', "prompt": "About [z]?"}],
        [A, {**SHOWN, "prompt": "Tell about [a]?"}],
        [["b1", "theirs", "theirs"], ["b2", "conflict", None]],
        {"b2": "yours"},
        None,
        ["z: A", "b: Tell about [z]?"],
    ),
    "an unknown base": (
        None,
        [A, {**B, "prompt": "B2"}],
        [A, B, NEW],
        [["b2", "conflict", None], ["new", "yours", "yours"]],
        {"b2": "theirs"},
        None,
        ["a: A", "b: B2", "n: N"],
    ),
    "an outro of theirs": (
        [A],
        [A, OUTRO],
        [{**A, "prompt": "A2"}],
        [["b1", "yours", "yours"]],
        {},
        None,
        ["a: A2", "thank_you: Thanks."],
    ),
    "an outro that is gone": ([A, OUTRO], [A], [A, OUTRO], [], {}, None, ["a: A"]),
    "null and nothing": (
        [A],
        [{**A, "options": None, "required": False}],
        [{**A, "min": None}],
        [],
        {},
        None,
        ["a: A"],
    ),
}


def test_two_versions_are_merged_by_block(windows):
    page = windows.open("/account/login/")

    found = {
        name: page.evaluate(MERGED, [base, theirs, yours, choices, order])
        for name, (base, theirs, yours, _, choices, order, _) in CASES.items()
    }

    assert {name: each["told"] for name, each in found.items()} == {
        name: told for name, (_, _, _, told, *_) in CASES.items()
    }
    results = {
        name: [f"{block['name']}: {block['prompt']}" for block in each["blocks"]]
        for name, each in found.items()
    }
    assert results == {name: case[-1] for name, case in CASES.items()}
    assert {name for name, each in found.items() if each["isConflict"]} == {"moved by both"}

    # Options are told apart by what people see and by the right answer.
    block = {**A, "type": "single_punch", "options": OPTIONS, "correct_answer_ids": [5]}
    by_index = {**block, "correct_answer_ids": None, "correct_answer_index": 0, "required": True}
    other = {**block, "correct_answer_ids": [6], "name": "z"}

    one = page.evaluate(MERGED, [[block], [block], [by_index], {}, None])
    both = page.evaluate(MERGED, [[block], [other], [by_index], {}, None])

    assert one["told"] == [["b1", "yours", "yours"]]
    assert both["told"] == [["b1", "both", "both"]]
    (result,) = both["blocks"]
    assert (result["name"], result["required"], result["correct_answer_ids"]) == ("z", True, [6])
