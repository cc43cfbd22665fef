"""Scripts of creators give at most 1,000 XP in one completion, by whichever door they are written.

Rule 3.39.
"""

from __future__ import annotations

from typing import Any

import pytest

from communities.ground.errors import InvalidRequest
from surveys.services.drafts import checking
from surveys.services.drafts import service as drafts
from tests.support.caller import CHOICE, TEXT, Caller, faults
from tests.support.moments import NOON
from tests.support.surveys import script_drafts
from tests.support.surveys.script_paths import path_of

pytestmark = pytest.mark.django_db

WORDS = "In scripts of creators the sum is at most 1,000; an admin can write more."
POINTS = {"options": [{"value": "red", "score_values": {"mage": 600}}, {"value": "green"}]}


def giving(amount: int | None = None, source: str | None = None) -> dict[str, Any]:
    config = {"xp_amount": amount} if source is None else {"source_key": source}
    return {"type": "action_block", "prompt": "XP!", "action_kind": "give_xp", "action_config": config}


ALLOWED = [TEXT, giving(600), giving(400)]
TOO_MUCH = [TEXT, giving(600), giving(401)]
BY_SCORE = [CHOICE | POINTS, CHOICE | POINTS, giving(source="score")]


def create(caller: Caller, made: Any, blocks: Any) -> Any:
    body = {"name": "N", "type": "convo", "scoring_enabled": True, "script": {"blocks": blocks}}
    return caller.post("/projects", body)


def put(caller: Caller, made: Any, blocks: Any) -> Any:
    return caller.put(path_of(made), {"blocks": blocks})


def change_block(caller: Caller, made: Any, blocks: Any, *, method: str = "patch") -> Any:
    """All blocks but the last by `PUT`, then the last in place of a text."""
    script = caller.put(path_of(made), {"blocks": [*blocks[:-1], TEXT]}).json()
    path = f"{path_of(made)}/blocks/{script['blocks'][-1]['id']}"
    return caller.call(method, path, {"name": "last", "required": None, **blocks[-1]})


def put_block(caller: Caller, made: Any, blocks: Any) -> Any:
    return change_block(caller, made, blocks, method="put")


def clone(caller: Caller, made: Any, blocks: Any) -> Any:
    by_admin = create(caller.beside("admin"), made, blocks).json()
    return caller.post(f"/projects/{by_admin['id']}/clone")


DOORS = [create, put, change_block, put_block, clone]


@pytest.fixture
def creator() -> Caller:
    return Caller("creator")


@pytest.mark.parametrize("blocks", [TOO_MUCH, BY_SCORE], ids=["sum", "score"])
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_creators_are_refused_by_every_door(creator: Caller, door: Any, blocks: Any) -> None:
    made = creator.make(scoring_enabled=True)

    allowed = door(creator, made, ALLOWED)
    refused = door(creator, creator.make(scoring_enabled=True), blocks)

    assert allowed.status_code in (200, 201), allowed.content
    assert refused.status_code == 400
    (violation,) = refused.json()["violations"]
    assert violation["code"] == "too_large"
    assert ".action_config." in f".{violation['field']}"
    assert WORDS in violation["message"]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_admins_write_what_they_like(door: Any) -> None:
    admin = Caller()

    for blocks in (TOO_MUCH, BY_SCORE):
        answer = door(admin, admin.make(scoring_enabled=True), blocks)
        assert answer.status_code in (200, 201), answer.content


def test_the_editor_shows_it_and_saves_nothing(creator: Caller) -> None:
    made = creator.make(*ALLOWED)
    *blocks, _outro = script_drafts.read(creator, made)["blocks"]
    blocks[-1]["action_config"]["xp_amount"] = 401
    draft = script_drafts.keep(creator, made, blocks)
    project = drafts.editable(actor=creator.actor, project_id=int(made["id"]))

    shown = checking.check(actor=creator.actor, blocks=blocks, project=project, at=NOON)
    with pytest.raises(InvalidRequest, match="can give 1,001 XP"):
        script_drafts.save(creator, made, draft.version)

    assert [each["field"] for each in shown["violations"]] == ["blocks[2].action_config.xp_amount"]
    assert creator.get(path_of(made)).json()["revision"] == 1


def test_what_an_admin_wrote_keeps_its_structure(creator: Caller) -> None:
    admin = creator.beside("admin")
    made = creator.make(*ALLOWED)
    script = admin.put(path_of(made), {"blocks": TOO_MUCH}).json()
    text, _, last = script["blocks"]
    block = f"{path_of(made)}/blocks/{last['id']}"

    wording = creator.patch(block, {"prompt": "Here you are."})
    logic = creator.patch(block, {"show_when": {"block": text["name"], "op": "eq", "value": "x"}})
    again = creator.put(path_of(made), creator.get(path_of(made)).json())

    assert [each.status_code for each in (wording, logic, again)] == [200, 400, 200]
    assert faults(logic) == {("action_config.xp_amount", "too_large")}
    assert creator.patch(block, {"action_config": {"xp_amount": 400}}).status_code == 200


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda blocks: [*blocks, giving(1)],
        lambda blocks: [*blocks, CHOICE],
        lambda blocks: [{**blocks[0], "options": [*blocks[0]["options"], {"value": "mauve"}]}, *blocks[1:]],
        lambda blocks: [{**blocks[0], "required": False}, *blocks[1:]],
        lambda blocks: [{**each, "position": -n} for n, each in enumerate(blocks)],
        lambda blocks: [blocks[0], {**blocks[1], "action_config": {"xp_amount": 5_001}}, *blocks[2:]],
        lambda blocks: [
            *blocks[:2],
            {**blocks[2], "action_config": {"xp_amount": 5, "fire_scope": "session"}},
        ],
    ],
    ids=["gift", "question", "option", "required", "order", "amount", "scope"],
)
def test_no_step_changes_what_is_given_above_the_limit(creator: Caller, change: Any, is_open: bool) -> None:
    admin = creator.beside("admin")
    made = creator.make(CHOICE)
    script = admin.put(path_of(made), {"blocks": [CHOICE | {"required": True}, giving(5_000), giving(5)]})
    if is_open:
        creator.post(f"/projects/{made['id']}/open")

    answer = creator.put(path_of(made), {"blocks": change(script.json()["blocks"])})

    assert answer.status_code in (400, 409)
    assert creator.get(path_of(made)).json()["revision"] == script.json()["revision"]


def test_the_limit_is_a_setting(settings: Any, creator: Caller) -> None:
    settings.XP_PER_COMPLETION_BY_CREATORS = 2_000

    assert create(creator, None, TOO_MUCH).status_code == 201
    assert create(creator, None, [TEXT, giving(2_001)]).status_code == 400


def test_a_conversation_across_two_scripts_gives_no_more(creator: Caller) -> None:
    """Rule 8.18."""
    made = creator.make(giving(1_000), TEXT, settings={"max_completes_per_user": 1})
    creator.post(f"/projects/{made['id']}/open")
    member_id = str(creator.user.memberships.get().pk)
    begun = creator.post(f"/projects/{made['id']}/conversations", {"member_id": member_id}).json()
    creator.post(f"/conversations/{begun['id']}/continue")
    creator.post(f"/projects/{made['id']}/close")
    text = creator.get(path_of(made)).json()["blocks"][1]
    assert put(creator, made, [text, giving(1_000)]).status_code == 200
    creator.post(f"/projects/{made['id']}/open")

    answer = creator.post(f"/conversations/{begun['id']}/answers", {"block_id": text["id"], "value": "So."})
    creator.post(f"/conversations/{begun['id']}/continue")

    assert answer.json()["step"]["block"]["type"] == "action_block"
    me = creator.beside("admin").get(f"/members/{member_id}").json()
    assert me["xp_total"] == 1_000
