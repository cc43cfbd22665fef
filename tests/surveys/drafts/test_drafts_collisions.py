"""A draft whose script was changed meanwhile is not saved over the change."""

from __future__ import annotations

import pytest

from surveys.services.drafts.collisions import Collision
from tests.support.caller import TEXT, Caller
from tests.support.surveys.script_drafts import get, keep, read, save
from tests.support.surveys.script_paths import path_of

pytestmark = pytest.mark.django_db


def test_a_script_that_was_changed_meanwhile_is_not_overwritten():
    caller = Caller()
    colleague = caller.beside("admin")
    made = caller.make(TEXT)
    base = read(caller, made)["blocks"]
    mine = [{**base[0], "key": "a", "prompt": "Mine?"}, *base[1:]]
    kept = keep(caller, made, mine)
    colleague.put(path_of(made), {"blocks": [{**base[0], "prompt": "Theirs?"}, *base[1:]]})

    with pytest.raises(Collision) as refused:
        save(caller, made, kept.version)

    stored = read(caller, made)
    told = dict(refused.value.collision)
    assert {"changed_by", "changed_at"} == {name for name in told if name.startswith("changed_")}
    del told["changed_by"], told["changed_at"]
    assert told == {
        "base": {"blocks": base},
        "theirs": {"blocks": stored["blocks"]},
        "yours": {"blocks": mine},
        "revision": 2,
    }
    assert stored["blocks"][0]["prompt"] == "Theirs?"
    assert get(caller.actor, made) == kept


def test_a_merged_draft_on_the_new_revision_can_be_saved():
    caller = Caller()
    made = caller.make(TEXT, TEXT)
    first, second, *outro = read(caller, made)["blocks"]
    kept = keep(caller, made, [{**first, "prompt": "Mine?"}, second, *outro])
    caller.put(path_of(made), {"blocks": [first, {**second, "prompt": "Theirs?"}]})
    with pytest.raises(Collision) as refused:
        save(caller, made, kept.version)
    theirs = refused.value.collision["theirs"]["blocks"]

    merged = [{**theirs[0], "prompt": "Mine?"}, *theirs[1:]]
    kept = keep(caller, made, merged, revision=2, version=kept.version)
    save(caller, made, kept.version)

    assert [block["prompt"] for block in read(caller, made)["blocks"][:2]] == ["Mine?", "Theirs?"]
    assert kept.base == theirs


def test_the_second_of_two_drafts_is_told_what_the_first_has_saved():
    caller = Caller()
    colleague = caller.beside("admin")
    made = caller.make(TEXT)
    (block, *_) = read(caller, made)["blocks"]
    mine = keep(caller, made, [{**block, "prompt": "Mine?"}])
    theirs = keep(colleague, made, [{**block, "prompt": "Theirs?"}])
    save(colleague, made, theirs.version)

    with pytest.raises(Collision) as refused:
        save(caller, made, mine.version)

    told = refused.value.collision
    assert [told[each]["blocks"][0]["prompt"] for each in ("base", "theirs", "yours")] == [
        "Why?",
        "Theirs?",
        "Mine?",
    ]


def test_a_reward_that_was_added_meanwhile_is_no_collision():
    caller = Caller()
    made = caller.make(TEXT)
    block, *outro = read(caller, made)["blocks"]
    kept = keep(caller, made, [{**block, "prompt": "Mine?"}, *outro])
    caller.patch(f"/projects/{made['id']}", {"rewards": {"use_xp": True}})

    save(caller, made, kept.version)

    after = read(caller, made)["blocks"]
    assert [block["name"] for block in after] == ["q0", "thank_you", "xp"]
    assert after[0]["prompt"] == "Mine?"


def test_words_of_the_outro_that_were_changed_meanwhile_are_a_collision():
    caller = Caller()
    made = caller.make(TEXT)
    block, thanks = read(caller, made)["blocks"]
    kept = keep(caller, made, [{**block, "prompt": "Mine?"}, thanks])
    caller.put(path_of(made), {"blocks": [block, {**thanks, "prompt": "Cheers."}]})

    with pytest.raises(Collision):
        save(caller, made, kept.version)


def test_a_draft_begun_from_a_revision_that_nobody_knows_any_more_collides_without_a_base():
    caller = Caller()
    made = caller.make(TEXT)
    (block, *_) = read(caller, made)["blocks"]
    for prompt in ("One?", "Two?"):
        caller.put(path_of(made), {"blocks": [{**block, "prompt": prompt}]})
    kept = keep(caller, made, [{**block, "prompt": "Mine?"}], revision=1)

    with pytest.raises(Collision) as refused:
        save(caller, made, kept.version)

    assert refused.value.collision["base"] is None
    assert refused.value.collision["theirs"]["blocks"][0]["prompt"] == "Two?"
