"""The requests of the script editor, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.engine.walk.defaults import ACKNOWLEDGED
from surveys.models import Answer, Project
from tests.support.caller import CHOICE, TEXT, Caller, faults
from tests.support.staff import Staff
from tests.support.surveys.project_tabs import editor_state
from tests.support.surveys.script_paths import path_of

pytestmark = pytest.mark.django_db


class Editor:
    """The editor of one project in the browser of one staff user."""

    def __init__(self, caller: Caller, made: dict[str, Any], staff: Staff | None = None) -> None:
        self.staff = staff or Staff(community=caller.community)
        self.path = f"/admin/surveys/project/{made['id']}/script/"
        self.project_id = made["id"]

    @property
    def state(self) -> dict[str, Any]:
        return editor_state(self.staff.client, self.project_id)

    def keep(self, blocks: Any, *, revision: Any = 1, version: Any = None) -> Any:
        body = {"blocks": blocks, "revision": revision, "version": version}
        return self.staff.send("put", f"{self.path}draft/", body)

    def save(self, version: Any) -> Any:
        return self.staff.send("post", f"{self.path}save/", {"version": version})

    def send(self, method: str, place: str, body: object = None) -> Any:
        return self.staff.send(method, self.path + place, body)


def editor(*blocks: Any, **fields: Any) -> tuple[Caller, dict[str, Any], Editor]:
    caller = Caller(tier=fields.pop("tier", "custom"))
    made = (caller.make_open if fields.pop("is_open", False) else caller.make)(*blocks, **fields)
    return caller, made, Editor(caller, made)


# --- The page -------------------------------------------------------------------------------------


def test_the_page_embeds_all_that_the_editor_needs():
    caller, made, here = editor(TEXT, scoring_enabled=True, tier="premium")

    state = here.state

    read = caller.get(path_of(made) + "?expand=outro").json()
    assert state["script"]["blocks"] == read["blocks"]
    assert (state["revision"], state["draft"], state["may_edit"], state["is_live"]) == (1, None, True, False)
    assert (state["check"]["violations"], state["check"]["names"]) == ([], ["q0"])
    assert state["project"]["id"] == made["id"]
    assert state["has_model"] is False
    assert state["vocabulary"]["tier"] == "premium"
    assert state["vocabulary"]["acknowledged"] == ACKNOWLEDGED
    assert state["vocabulary"]["limits"]["blocks"] == 200
    assert {"name", "meaning", "called"} == set(state["vocabulary"]["variables"][0])
    for name in ("draft", "save", "duplicate", "export"):
        assert state["urls"][name] == f"{here.path}{name}/"


def test_a_draft_is_there_again_when_the_page_opens_again():
    _, _, here = editor(TEXT)
    blocks = [{"type": "open_text", "prompt": "</script><b>", "key": "n1"}, {"type": "?"}]
    kept = here.keep(blocks).json()

    state = here.state

    assert state["draft"] == {
        "blocks": blocks,
        "revision": 1,
        "version": kept["version"],
        "saved_at": kept["saved_at"],
        "is_behind": False,
    }
    assert state["check"] == kept["check"]
    assert [each["key"] for each in state["check"]["blocks"]] == ["n1", None]


def test_the_page_says_which_blocks_have_answers():
    caller, made, here = editor(
        TEXT, TEXT, is_open=True, delivery={"audience": {"participation": "open_web"}}
    )
    first, second = made["script"]["blocks"]
    begun = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    caller.post(f"/conversations/{begun['id']}/answers", {"block_id": first["id"], "value": "So"})

    assert here.state["answered"] == [first["id"]]
    for block, count in ((first, 1), (second, 0)):
        told = here.send("get", f"blocks/{block['id']}/answers/")
        assert told.json() == {"count": count, "is_estimate": False}
    assert here.send("get", "blocks/999999999/answers/").status_code == 404


def test_the_page_says_how_often_an_option_was_chosen():
    audience = {"audience": {"participation": "open_web"}}
    caller, made, here = editor(CHOICE, {**CHOICE, "name": "other"}, is_open=True, delivery=audience)
    block, other = made["script"]["blocks"]
    begun = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    chosen, left = (option["id"] for option in block["options"][:2])
    answer = {"block_id": block["id"], "option_id": chosen}
    assert caller.post(f"/conversations/{begun['id']}/answers", answer).status_code == 200

    def told(option):
        return here.send("get", f"blocks/{block['id']}/answers/?option={option}")

    assert [told(each).json()["count"] for each in (chosen, left)] == [1, 0]
    assert [told(each).status_code for each in (other["options"][0]["id"], "", "x")] == [404, 404, 404]


def test_archived_blocks_are_listed_with_the_count_of_their_answers(monkeypatch):
    caller, made, here = editor(
        TEXT, TEXT, TEXT | {"name": "why"}, is_open=True, delivery={"audience": {"participation": "open_web"}}
    )
    first, second, third = made["script"]["blocks"]
    for _ in range(2):
        begun = caller.post(f"/projects/{made['id']}/conversations", {}).json()
        for block in (first, third):
            at = f"/conversations/{begun['id']}/answers"
            caller.post(at, {"block_id": block["id"], "value": "So"})
            if block is first:
                caller.post(at, {"block_id": second["id"], "value": "So"})
    caller.post(f"/projects/{made['id']}/close", {})
    assert here.state["archived"] == 0

    version = here.keep([second], revision=1, version=None).json()["version"]
    saved = here.save(version).json()

    assert saved["archived"] == here.state["archived"] == 2
    assert here.send("get", "archived/").json() == {
        "blocks": [
            {"title": "why", "type": "open_text", "count": 2, "is_estimate": False},
            {"title": "Why?", "type": "open_text", "count": 2, "is_estimate": False},
        ]
    }
    monkeypatch.setattr("surveys.services.drafts.answers.MOST_LISTED", 1)
    assert [each["title"] for each in here.send("get", "archived/").json()["blocks"]] == ["why"]
    Answer.objects.filter(block_id=third["id"]).delete()  # it takes no place of another in the list
    assert [each["title"] for each in here.send("get", "archived/").json()["blocks"]] == ["Why?"]


# --- Drafts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"revision": 1}, "blocks"),
        ({"blocks": []}, "revision"),
        ({"blocks": [], "revision": True}, "revision"),
        ({"blocks": [], "revision": 1, "version": -1}, "version"),
    ],
)
def test_a_draft_that_cannot_be_kept_is_refused(body, field):
    _, _, here = editor(TEXT)

    refused = here.send("put", "draft/", body)

    assert refused.status_code == 400
    assert [each["field"] for each in refused.json()["violations"]] == [field]
    assert here.state["draft"] is None


def test_a_draft_of_two_hundred_blocks_is_kept():
    _, _, here = editor(TEXT)
    options = [{"value": f"Option {n} of many", "key": f"o{n}"} for n in range(20)]
    blocks = [CHOICE | {"prompt": "Which? " * 40, "options": options, "key": f"b{n}"} for n in range(200)]

    kept = here.keep(blocks)

    assert kept.status_code == 200
    assert kept.json()["check"]["violations"] == []
    saved = here.save(kept.json()["version"])
    assert (saved.status_code, len(saved.json()["script"]["blocks"])) == (200, 201)


def test_a_draft_over_a_mebibyte_is_refused_in_json():
    _, _, here = editor(TEXT)

    refused = here.keep([TEXT | {"prompt": "x" * 1_100_000}])

    assert (refused.status_code, refused.json()["error"]) == (413, "invalid_request")


@pytest.mark.parametrize("names_version", [True, False])
def test_a_later_draft_of_another_computer_is_told_and_not_discarded(names_version):
    _, _, here = editor(TEXT)
    first = here.keep([TEXT]).json()["version"]
    second = here.keep([CHOICE], version=first).json()["version"]

    refused = here.send("delete", "draft/", {"version": first} if names_version else None)

    assert (refused.status_code, refused.json()["draft"]["version"]) == (409, second)
    assert here.state["draft"]["blocks"] == [CHOICE]


def test_nobody_is_told_the_draft_of_a_colleague():
    caller, made, here = editor(TEXT)
    here.keep([TEXT | {"prompt": "A secret plan?"}])

    there = Editor(caller, made)

    assert there.state["draft"] is None
    assert b"A secret plan?" not in there.send("get", "export/").content
    assert there.keep([CHOICE]).status_code == 200
    assert here.state["draft"]["blocks"][0]["prompt"] == "A secret plan?"


# --- Saving ---------------------------------------------------------------------------------------


def test_saving_answers_the_new_state():
    caller, made, here = editor(TEXT)
    blocks = [*here.state["script"]["blocks"], CHOICE | {"key": "new"}]
    version = here.keep(blocks).json()["version"]

    saved = here.save(version)

    told = saved.json()
    assert saved.status_code == 200
    assert (told["revision"], told["draft"], told["check"]["violations"]) == (2, None, [])
    read = caller.get(path_of(made) + "?expand=outro").json()["blocks"]
    assert [block["id"] for block in told["script"]["blocks"]] == [block["id"] for block in read]
    assert [block.get("key") for block in told["script"]["blocks"]] == [None, "new", None]
    assert here.state["draft"] is None


def test_an_open_project_takes_wording_and_refuses_structure():
    caller, made, here = editor(CHOICE, is_open=True)
    (block, *outro) = here.state["script"]["blocks"]
    kept = here.keep([{**block, "required": not block["required"], "name": "other"}, *outro]).json()
    assert here.state["is_live"]

    refused = here.save(kept["version"])

    assert refused.status_code == 409
    assert ("blocks[0].name", "read_only") in faults(refused)
    kept = here.keep([{**block, "prompt": "Which one?"}, *outro], version=kept["version"]).json()
    assert here.save(kept["version"]).status_code == 200
    assert caller.get(path_of(made)).json()["blocks"][0]["prompt"] == "Which one?"


# --- Collisions -----------------------------------------------------------------------------------


def test_a_write_of_the_api_meanwhile_is_told_and_nothing_is_lost():
    caller, made, here = editor(TEXT)
    (block, *outro) = here.state["script"]["blocks"]
    kept = here.keep([{**block, "prompt": "Mine?", "key": "b"}, *outro]).json()
    caller.put(path_of(made), {"blocks": [{**block, "prompt": "Theirs?"}]})

    refused = here.save(kept["version"])

    told = refused.json()
    assert (refused.status_code, told["error"]) == (409, "conflict")
    assert told["collision"]["revision"] == 2
    assert [told["collision"][each]["blocks"][0]["prompt"] for each in ("base", "theirs", "yours")] == [
        "Why?",
        "Theirs?",
        "Mine?",
    ]
    assert caller.get(path_of(made)).json()["blocks"][0]["prompt"] == "Theirs?"
    assert here.state["draft"]["blocks"][0]["prompt"] == "Mine?"


def test_two_drafts_collide_and_a_merged_one_is_saved():
    caller, made, here = editor(TEXT, TEXT)
    first, second, *outro = here.state["script"]["blocks"]
    there = Editor(caller, made)
    mine = here.keep([{**first, "prompt": "Mine?"}, second, *outro]).json()["version"]
    theirs = there.keep([first, {**second, "prompt": "Theirs?"}, *outro]).json()["version"]
    assert there.save(theirs).status_code == 200
    collision = here.save(mine).json()["collision"]

    merged = [{**first, "prompt": "Mine?"}, collision["theirs"]["blocks"][1], *outro]
    version = here.keep(merged, revision=collision["revision"], version=mine).json()["version"]
    saved = here.save(version)

    assert saved.status_code == 200
    prompts = [block["prompt"] for block in caller.get(path_of(made)).json()["blocks"]]
    assert prompts == ["Mine?", "Theirs?"]


# --- Copies and files -----------------------------------------------------------------------------


def test_a_copy_opens_with_the_draft():
    _, _, here = editor(TEXT, is_open=True)
    here.keep([CHOICE | {"key": "n1"}])

    copied = here.send("post", "duplicate/")

    assert copied.status_code == 201
    assert "This is your copy:" in here.staff.client.get(copied.json()["url"]).content.decode()
    made = {"id": copied.json()["id"]}
    there = Editor(Caller(), made, here.staff)
    state = there.state
    assert (state["is_live"], state["draft"]["blocks"][0]["key"]) == (False, "n1")
    assert Project.objects.get(pk=made["id"]).author_id == here.staff.user.pk


def test_an_exported_script_can_be_kept_and_written_over_the_api():
    caller, made, here = editor(TEXT, CHOICE | {"name": "colour"})

    exported = here.send("get", "export/")

    assert exported["Content-Disposition"] == 'attachment; filename="Opening moves.json"'
    script = exported.json()
    assert [block["name"] for block in script["blocks"]] == ["q0", "colour"]
    assert caller.put(path_of(made), script).headers["ETag"] == '"1"'
    assert here.keep(script["blocks"]).json()["check"]["violations"] == []


def test_an_export_is_what_the_editor_shows():
    _, _, here = editor(TEXT)
    here.keep([TEXT | {"prompt": "Not saved yet?", "key": "n1"}])

    (block,) = here.send("get", "export/").json()["blocks"]

    assert block == TEXT | {"prompt": "Not saved yet?"}
