"""Tabs and editors at the same moment: one of them wins, and the other gets a collision."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.db import transaction

from communities.ground.errors import Conflict
from communities.models import Community
from surveys.models import Generation, ScriptDraft
from surveys.services.ai_work import draft_generation
from surveys.services.drafts import service as drafts
from surveys.services.drafts.collisions import Collision
from surveys.services.drafts.service import OtherTab, SavedScript, UnsavedScript
from surveys.services.ground import lookup
from tests.support.caller import CHOICE, SAYING, TEXT, Caller
from tests.support.concurrency import BackgroundCall, run_together
from tests.support.moments import NOON
from tests.support.surveys.draft_provider import GOOD, provide
from tests.support.surveys.script_drafts import keep
from tests.support.surveys.script_paths import path_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def caller() -> Caller:
    return Caller()


def classes(results: list[Any]) -> set[type]:
    return {type(each) for each in results}


def test_the_first_drafts_of_two_tabs_do_not_overwrite_each_other(caller):
    made = caller.make(TEXT)

    kept = run_together(*(partial(keep, caller, made, [block]) for block in (TEXT, CHOICE)))

    assert classes(kept) == {UnsavedScript, OtherTab}
    (won,) = (each for each in kept if isinstance(each, UnsavedScript))
    (lost,) = (each for each in kept if isinstance(each, OtherTab))
    assert lost.draft == won
    assert ScriptDraft.objects.get().version == won.version


def test_later_drafts_of_two_tabs_do_not_overwrite_each_other(caller):
    made = caller.make(TEXT)
    version = keep(caller, made, [TEXT]).version

    kept = run_together(
        *(partial(keep, caller, made, [block], version=version) for block in (SAYING, CHOICE))
    )

    assert classes(kept) == {UnsavedScript, OtherTab}
    assert ScriptDraft.objects.get().version == version + 1


def test_a_draft_is_saved_once_by_two_tabs(caller):
    made = caller.make(TEXT)
    version = keep(caller, made, [TEXT, CHOICE]).version
    save = partial(drafts.save, actor=caller.actor, project_id=int(made["id"]), version=version, at=NOON)

    saved = run_together(save, save)

    assert classes(saved) == {SavedScript, OtherTab}
    assert caller.get(path_of(made)).json()["revision"] == 2


def test_what_is_typed_while_another_tab_saves_is_not_lost(caller):
    made = caller.make(TEXT)
    version = keep(caller, made, [TEXT, CHOICE]).version

    saved, kept = run_together(
        partial(drafts.save, actor=caller.actor, project_id=int(made["id"]), version=version, at=NOON),
        partial(keep, caller, made, [TEXT, CHOICE, SAYING], version=version),
    )

    assert {type(saved), type(kept)} in ({SavedScript, OtherTab}, {OtherTab, UnsavedScript})
    assert ScriptDraft.objects.exists() == isinstance(kept, UnsavedScript)


def test_of_a_write_of_the_api_and_a_draft_the_later_is_told(caller):
    made = caller.make(TEXT)
    (block,) = made["script"]["blocks"]
    version = keep(caller, made, [{**block, "prompt": "Mine?"}]).version
    colleague = caller.beside("admin")

    saved, written = run_together(
        partial(drafts.save, actor=caller.actor, project_id=int(made["id"]), version=version, at=NOON),
        partial(
            colleague.put,
            path_of(made),
            {"blocks": [{**block, "prompt": "Theirs?"}]},
            **{"If-Match": '"1"'},
        ),
    )

    stored = caller.get(path_of(made)).json()
    if written.status_code == 200:
        assert isinstance(saved, Collision)
        assert stored["blocks"][0]["prompt"] == "Theirs?"
        assert ScriptDraft.objects.get().version == version
    else:
        assert isinstance(saved, SavedScript)
        assert stored["blocks"][0]["prompt"] == "Mine?"
    assert stored["revision"] == 2


def test_two_clicks_have_one_script_written_and_paid(caller, monkeypatch, settings):
    provide(monkeypatch, settings, GOOD)
    Community.objects.filter(pk=caller.community.pk).update(bot_credits=10)
    made = caller.make(TEXT)
    begin = partial(
        draft_generation.begin, actor=caller.actor, project_id=int(made["id"]), intent="Ask why", at=NOON
    )

    with transaction.atomic():
        begin()
        second = BackgroundCall(begin)
        assert second.waits_for_lock()
    refused = second.result()

    assert (type(refused), str(refused)) == (Conflict, draft_generation.ALREADY)
    caller.community.refresh_from_db()
    assert (Generation.objects.count(), caller.community.bot_credits) == (1, 9)


def test_typing_goes_on_while_the_project_is_locked(caller):
    made = caller.make(TEXT)
    version = keep(caller, made, [TEXT]).version

    with transaction.atomic():
        lookup.lock(actor=caller.actor, project_id=int(made["id"]))
        (kept,) = run_together(partial(keep, caller, made, [CHOICE], version=version))

    assert (type(kept), kept.version) == (UnsavedScript, version + 1)
