"""Drafts are stored even with faults, are saved by the service that the API uses, and lose nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from communities.ground.errors import Conflict, Forbidden, InvalidRequest, NotFound
from surveys.models import Project, ScriptDraft
from surveys.services.drafts import duplicates
from surveys.services.drafts import service as drafts
from surveys.services.drafts.collisions import Collision
from surveys.services.drafts.service import OtherTab
from surveys.services.people import service as people
from tests.support.caller import CHOICE, SAYING, TEXT, Caller
from tests.support.moments import LUNCHTIME, NOON
from tests.support.surveys.script_drafts import get, keep, read, save
from tests.support.surveys.script_paths import path_of

pytestmark = pytest.mark.django_db


# --- Keeping --------------------------------------------------------------------------------------


def test_a_draft_is_kept_as_it_was_typed_whatever_its_faults():
    caller = Caller()
    made = caller.make(TEXT)
    blocks = [{"type": "no such type", "key": "a", "prompt": 7}, "no block", None]

    kept = keep(caller, made, blocks)

    assert get(caller.actor, made) == kept
    assert (kept.blocks, kept.revision, kept.saved_at) == (blocks, 1, NOON)
    assert kept.base == read(caller, made)["blocks"]


def test_keys_of_points_keep_their_order_because_it_orders_the_buckets():
    caller = Caller()
    made = caller.make(scoring_enabled=True)
    options = [{"value": "red", "score_values": {"zeal": 1, "art": 2}}, {"value": "green"}]
    kept = keep(caller, made, [CHOICE | {"options": options}], revision=0)

    save(caller, made, kept.version)

    project = caller.get(f"/projects/{made['id']}").json()
    assert [bucket["name"] for bucket in project["scoring"]["buckets"]] == ["Zeal", "Art"]


def test_each_version_of_a_draft_follows_the_one_before():
    caller = Caller()
    made = caller.make(TEXT)
    first = keep(caller, made, [TEXT])

    second = keep(caller, made, [CHOICE], version=first.version)

    assert second.version == first.version + 1
    assert get(caller.actor, made) == second


@pytest.mark.parametrize("seen", ["none", "older", "newer"])
def test_a_draft_of_another_tab_is_not_overwritten(seen):
    caller = Caller()
    made = caller.make(TEXT)
    first = keep(caller, made, [TEXT])
    theirs = keep(caller, made, [CHOICE], version=first.version)
    version = {"none": None, "older": first.version, "newer": theirs.version + 1}[seen]

    with pytest.raises(OtherTab) as refused:
        keep(caller, made, [SAYING], version=version)

    assert refused.value.draft == theirs
    assert get(caller.actor, made) == theirs


def test_a_draft_that_was_discarded_in_another_tab_does_not_come_back_unasked():
    caller = Caller()
    made = caller.make(TEXT)
    first = keep(caller, made, [TEXT])
    drafts.discard(actor=caller.actor, project_id=int(made["id"]), version=first.version)

    with pytest.raises(OtherTab) as refused:
        keep(caller, made, [CHOICE], version=first.version)

    assert refused.value.draft is None
    assert get(caller.actor, made) is None


@pytest.mark.parametrize("seen", ["none", "older"])
def test_a_later_draft_of_another_tab_is_not_discarded(seen):
    caller = Caller()
    made = caller.make(TEXT)
    first = keep(caller, made, [TEXT])
    theirs = keep(caller, made, [CHOICE], version=first.version)
    version = {"none": None, "older": first.version}[seen]

    with pytest.raises(OtherTab) as refused:
        drafts.discard(actor=caller.actor, project_id=int(made["id"]), version=version)

    assert refused.value.draft == theirs
    assert get(caller.actor, made) == theirs


def test_a_new_draft_is_not_taken_for_the_one_that_was_discarded():
    caller = Caller()
    made = caller.make(TEXT)
    first = keep(caller, made, [TEXT])
    drafts.discard(actor=caller.actor, project_id=int(made["id"]), version=first.version)

    second = keep(caller, made, [CHOICE])

    assert second.version != first.version


def test_a_revision_that_is_still_to_come_is_refused():
    caller = Caller()
    made = caller.make(TEXT)

    with pytest.raises(InvalidRequest) as refused:
        keep(caller, made, [TEXT], revision=2)

    assert [each["field"] for each in refused.value.violations] == ["revision"]


def test_drafts_belong_to_their_author_alone():
    caller = Caller()
    colleague = caller.beside("admin")
    made = caller.make(TEXT)
    mine = keep(caller, made, [TEXT])

    theirs = keep(colleague, made, [CHOICE])

    assert get(caller.actor, made) == mine
    assert get(colleague.actor, made) == theirs
    drafts.discard(actor=colleague.actor, project_id=int(made["id"]), version=theirs.version)
    assert get(caller.actor, made) == mine


@pytest.mark.parametrize(
    ("role", "error"), [("member", NotFound), ("creator", Forbidden), ("foreign admin", NotFound)]
)
@pytest.mark.parametrize("act", ["keep", "discard", "save"])
def test_who_may_not_edit_the_project_has_no_draft_of_it(role, error, act):
    caller = Caller()
    made = caller.make(TEXT)
    actor = (Caller() if role == "foreign admin" else caller.beside(role)).actor
    which: dict[str, Any] = {"actor": actor, "project_id": int(made["id"])}
    acts = {
        "keep": lambda: keep(caller, made, [TEXT], actor=actor),
        "discard": lambda: drafts.discard(**which, version=None),
        "save": lambda: drafts.save(**which, version=1, at=NOON),
    }

    with pytest.raises(error):
        acts[act]()

    assert not ScriptDraft.objects.exists()


def test_drafts_go_after_ninety_days_without_a_change():
    caller = Caller()
    old, new = caller.make(TEXT), caller.make(TEXT)
    keep(caller, old, [TEXT])
    keep(caller, new, [TEXT], at=NOON + timedelta(seconds=1))

    drafts.forget_old(at=NOON + timedelta(days=90, seconds=1))

    assert get(caller.actor, old) is None
    assert get(caller.actor, new) is not None


def test_drafts_go_with_their_author():
    caller = Caller()
    colleague = caller.beside("admin")
    made = caller.make(TEXT)
    keep(caller, made, [TEXT])
    keep(colleague, made, [TEXT])
    member = caller.community.members.get(user=colleague.user)

    people.erase(actor=caller.actor, member_id=member.pk, at=LUNCHTIME)

    assert list(ScriptDraft.objects.values_list("user_id", flat=True)) == [caller.user.pk]


# --- Saving ---------------------------------------------------------------------------------------


def test_saving_keeps_ids_carries_renames_and_drops_the_draft():
    caller = Caller()
    made = caller.make(
        CHOICE | {"name": "colour"}, TEXT | {"show_when": {"block": "colour", "op": "eq", "value": "red"}}
    )
    before = read(caller, made)["blocks"]
    blocks = [
        {**before[0], "key": "a", "name": "paint"},
        {"key": "new", "type": "content_block", "prompt": "So [paint]."},
        {**before[1], "key": "b"},
        *before[2:],
    ]
    kept = keep(caller, made, blocks)

    saved = save(caller, made, kept.version)

    after = read(caller, made)["blocks"]
    assert [block["id"] for block in after if block["id"] in {each["id"] for each in before}] == [
        block["id"] for block in before
    ]
    assert after[2]["precondition"] == 'NOT((paint = "red"))'
    assert [block.get("key") for block in saved.blocks] == ["a", "new", "b", None]
    assert [{**block, "key": None} for block in saved.blocks] == [{**block, "key": None} for block in after]
    assert (saved.project.revision, get(caller.actor, made)) == (2, None)


def test_keys_of_options_come_back_beside_their_new_ids():
    caller = Caller()
    made = caller.make(TEXT)
    options = [
        {"key": "x", "value": "first", "display_order": 1},
        {"key": "y", "value": "second", "display_order": 0},
        {"value": "third"},
    ]
    kept = keep(caller, made, [CHOICE | {"key": "q", "options": options}])

    saved = save(caller, made, kept.version)

    stored = read(caller, made)["blocks"][0]
    assert saved.blocks[0]["key"] == "q"
    assert [(option.get("key"), option["id"]) for option in saved.blocks[0]["options"]] == [
        ("x", stored["options"][0]["id"]),
        ("y", stored["options"][1]["id"]),
        (None, stored["options"][2]["id"]),
    ]


def test_a_faulty_draft_is_refused_as_the_api_refuses_it_and_stays():
    caller = Caller()
    made = caller.make(TEXT)
    blocks = [TEXT | {"prompt": " "}, CHOICE | {"options": []}]
    kept = keep(caller, made, blocks)

    with pytest.raises(InvalidRequest) as refused:
        save(caller, made, kept.version)

    api = caller.put(path_of(made), {"blocks": blocks}).json()
    assert refused.value.violations == api["violations"]
    assert get(caller.actor, made) == kept


def test_while_the_project_is_open_only_wording_can_be_saved():
    caller = Caller()
    made = caller.make_open(CHOICE)
    (block, *outro) = read(caller, made)["blocks"]
    kept = keep(caller, made, [{**block, "prompt": "Which one?", "required": True}, *outro])

    with pytest.raises(Conflict) as refused:
        save(caller, made, kept.version)

    assert [each["field"] for each in refused.value.violations] == ["blocks[0].required"]
    kept = keep(caller, made, [{**block, "prompt": "Which one?"}, *outro], version=kept.version)
    save(caller, made, kept.version)
    assert read(caller, made)["blocks"][0]["prompt"] == "Which one?"


@pytest.mark.parametrize("version", ["older", "none"])
def test_only_the_version_that_was_seen_is_saved(version):
    caller = Caller()
    made = caller.make(TEXT)
    if version == "older":
        first = keep(caller, made, [CHOICE])
        keep(caller, made, [SAYING], version=first.version)

    with pytest.raises(OtherTab):
        save(caller, made, first.version if version == "older" else 1)

    assert read(caller, made)["revision"] == 1


# --- Duplicating ----------------------------------------------------------------------------------


def test_a_duplicate_takes_the_draft_along_and_can_be_saved():
    caller = Caller()
    made = caller.make_open(
        CHOICE | {"name": "colour", "correct_answer_index": 1}, TEXT, scoring_enabled=True
    )
    choice, text, *outro = read(caller, made)["blocks"]
    draft = [{**text, "key": "t"}, {**choice, "prompt": "Which?"}, CHOICE | {"name": "extra"}, *outro]
    kept = keep(caller, made, draft)

    copy = duplicates.duplicate(actor=caller.actor, project_id=int(made["id"]), at=NOON)

    moved = get(caller.actor, {"id": copy.pk})
    assert moved is not None
    assert (copy.name, copy.status) == ("Opening moves (new version)", "inactive")
    drafts.save(actor=caller.actor, project_id=copy.pk, version=moved.version, at=NOON)
    blocks = read(caller, {"id": copy.pk})["blocks"]
    assert [block["name"] for block in blocks] == ["q1", "colour", "extra", "thank_you"]
    assert blocks[1]["correct_answer_ids"] == [blocks[1]["options"][1]["id"]]
    assert not {block["id"] for block in blocks} & {choice["id"], text["id"]}
    assert get(caller.actor, made) == kept


def test_a_duplicate_of_a_draft_that_is_behind_is_not_saved_over_what_colleagues_saved():
    caller = Caller()
    made = caller.make(TEXT, CHOICE | {"name": "colour"}, SAYING)
    first, second, third, *outro = read(caller, made)["blocks"]
    keep(caller, made, [{**first, "prompt": "Mine?"}, second, {**third, "key": f"b{third['id']}"}, *outro])
    caller.put(path_of(made), {"blocks": [first, {**second, "prompt": "Which paint?"}]})

    copy = duplicates.duplicate(actor=caller.actor, project_id=int(made["id"]), at=NOON)

    moved = get(caller.actor, {"id": copy.pk})
    assert moved is not None
    with pytest.raises(Collision) as refused:
        drafts.save(actor=caller.actor, project_id=copy.pk, version=moved.version, at=NOON)
    sides = {side: refused.value.collision[side]["blocks"] for side in ("base", "theirs", "yours")}
    assert {side: [each["prompt"] for each in blocks[:-1]] for side, blocks in sides.items()} == {
        "base": [first["prompt"], "Which colour?", SAYING["prompt"]],
        "theirs": [first["prompt"], "Which paint?"],
        "yours": ["Mine?", "Which colour?", SAYING["prompt"]],
    }
    stored = [block["id"] for block in read(caller, {"id": copy.pk})["blocks"][:2]]
    assert [[block["id"] for block in blocks[:2]] for blocks in sides.values()] == [stored] * 3
    assert [sides[side][2]["key"] for side in ("base", "yours")] == [f"b{third['id']}"] * 2


def test_a_duplicate_of_a_draft_whose_beginning_nobody_knows_any_more_is_not_saved_unasked():
    caller = Caller()
    made = caller.make(TEXT)
    (block, *outro) = read(caller, made)["blocks"]
    for prompt in ("One?", "Two?"):
        caller.put(path_of(made), {"blocks": [{**block, "prompt": prompt}]})
    keep(caller, made, [{**block, "prompt": "Mine?"}, *outro], revision=1)

    copy = duplicates.duplicate(actor=caller.actor, project_id=int(made["id"]), at=NOON)

    moved = get(caller.actor, {"id": copy.pk})
    assert moved is not None
    with pytest.raises(Collision):
        drafts.save(actor=caller.actor, project_id=copy.pk, version=moved.version, at=NOON)


@pytest.mark.parametrize("role", ["member", "foreign admin"])
def test_who_sees_nothing_of_a_project_cannot_duplicate_it(role):
    caller = Caller()
    made = caller.make(TEXT)
    actor = (Caller() if role == "foreign admin" else caller.beside(role)).actor

    with pytest.raises(NotFound):
        duplicates.duplicate(actor=actor, project_id=int(made["id"]), at=NOON)

    assert Project.objects.count() == 1
