"""“Duplicate as new version”: a copy of a project, whose draft is copied from the draft of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from communities.ground.actors import Actor
from communities.ground.errors import NotFound
from communities.ground.transactions import in_transaction
from surveys.engine.script import Script
from surveys.models import Project, ScriptDraft
from surveys.services.drafts import keys
from surveys.services.drafts import service as drafts
from surveys.services.drafts.service import UnsavedScript
from surveys.services.ground import access, lookup
from surveys.services.projects import cloning
from surveys.services.representations import script as script_json
from surveys.services.scripts import cache as script_cache

Json = dict[str, Any]
SUFFIX = " (new version)"
MAX_NAME = 200


@in_transaction
def duplicate(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """Copy a project of the actor's community, and the actor's draft of the project.

    The copy is inactive, so its structure can be changed. The original and its draft remain unchanged. If the
    script was changed after the draft was begun, saving the copy raises Collision, as saving the original
    does. Raises NotFound, also for members who may not create projects.
    """
    if actor.is_member:
        raise NotFound(access.NO_PROJECT)
    original = lookup.seen(actor=actor, project_id=project_id, at=at)
    name = original.name[: MAX_NAME - len(SUFFIX)].removesuffix(SUFFIX) + SUFFIX
    copy = cloning.clone_project(actor=actor, project_id=project_id, name=name, at=at)
    draft = drafts.get(actor=actor, project=original)
    if draft is not None:
        _move(draft, actor, original, copy, at)
    return copy


def _move(draft: UnsavedScript, actor: Actor, original: Project, copy: Project, at: datetime) -> None:
    """Store the draft of the original as the draft of its copy."""
    before = script_cache.script_of(original)
    after = script_cache.script_of(copy)
    revision, base = copy.revision, orjson.dumps(script_json.all_blocks(copy, after)).decode()
    if drafts.is_behind(draft, project=original):
        # This is an earlier revision, which the copy itself has never had.
        revision = max(copy.revision - 1, 0)
        base = orjson.dumps(_moved(_keyed(draft.base), before, after)).decode() if draft.base else ""
    ScriptDraft.objects.create(
        project=copy,
        user_id=actor.user_id,
        blocks=orjson.dumps(_moved(draft.blocks, before, after)).decode(),
        revision=revision,
        base=base,
        saved_at=at,
    )


def _keyed(base: Sequence[Json]) -> list[Json]:
    """The blocks with the keys that the editor gives them, which identify blocks that lose their ids."""
    return [{**block, keys.KEY: f"b{block['id']}"} for block in base]


def _moved(blocks: Sequence[object], before: Script, after: Script) -> list[object]:
    """The blocks of a draft of one script as blocks of its copy.

    Blocks and options that the copy lacks become new. Outro blocks that the copy lacks are left out, because
    the copy makes its own outro.
    """
    block_ids, option_ids = _new_ids(before, after)
    return [
        _with_new_ids(block, block_ids, option_ids) if isinstance(block, dict) else block
        for block in blocks
        if not (
            isinstance(block, dict) and block.get("section") == "outro" and block.get("id") not in block_ids
        )
    ]


def _new_ids(before: Script, after: Script) -> tuple[dict[object, int | None], dict[object, int | None]]:
    """Ids of blocks and of options in the original → ids in the copy, which has them in the same order."""
    outro = {block.name: block for block in after.outro}
    pairs = [
        *zip(before.blocks, after.blocks, strict=True),
        *((block, outro[block.name]) for block in before.outro if block.name in outro),
    ]
    block_ids: dict[object, int | None] = {old.id: new.id for old, new in pairs}
    option_ids: dict[object, int | None] = {
        was.id: now.id for old, new in pairs for was, now in zip(old.options, new.options, strict=True)
    }
    return block_ids, option_ids


def _with_new_ids(
    block: Json, block_ids: Mapping[object, int | None], option_ids: Mapping[object, int | None]
) -> Json:
    moved = {**block, **_id(block, block_ids)}
    if isinstance(block.get("options"), list):
        moved["options"] = [
            {**option, **_id(option, option_ids)} if isinstance(option, dict) else option
            for option in block["options"]
        ]
    correct = block.get("correct_answer_ids")
    if isinstance(correct, list):
        moved["correct_answer_ids"] = [
            option_ids[each] for each in correct if isinstance(each, int) and each in option_ids
        ] or None
    return moved


def _id(part: Json, new_ids: Mapping[object, int | None]) -> Json:
    if "id" not in part:
        return {}
    old = part["id"]
    return {"id": new_ids.get(old) if isinstance(old, int) else None}
