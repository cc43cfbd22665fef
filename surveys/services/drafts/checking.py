"""A check of a draft: the violations, the warnings and the effective blocks that a save would have now.

The check takes the same path as a write (`scripts.planning`). New pictures on the basic tier are a violation
here; the API stores pictures on every tier (rule 1.46).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, refuse_all
from surveys.ai.local.review import review
from surveys.engine.flow import reach
from surveys.engine.intake.serialization import script_as_json
from surveys.engine.rules.hints import hints
from surveys.models import Project
from surveys.services.drafts import keys, points
from surveys.services.ground import access
from surveys.services.representations import script as script_json
from surveys.services.scripts import editing, pictures, planning
from surveys.services.scripts.planning import Plan

Json = dict[str, Any]

PICTURES = ("image_url", "thumbnail_url")
_PREMIUM = "Pictures need the premium tier. Remove the picture to save the script."
_PLACE = re.compile(r"blocks\[(\d+)\]")


@dataclass(frozen=True)
class Checked:
    """A plan of the draft, in the form that a write would apply, and faults for missing rights."""

    plan: Plan
    lacking: list[Json]

    @property
    def violations(self) -> list[Json]:
        return [*self.plan.violations, *self.lacking]

    def require_valid(self) -> None:
        """Raise the refusal that a save would raise: Conflict for the project's state, else
        InvalidRequest.
        """
        state = next(iter(self.plan.refusals), None)
        if self.lacking and not isinstance(state, Conflict):
            refuse_all(self.violations)
        self.plan.require_valid()


def dry_run(*, actor: Actor, project: Project, blocks: Sequence[object], at: datetime) -> Checked:
    """Plan the write of a draft's blocks without a lock; nothing is written."""
    body = {"blocks": keys.as_sent(points.with_stored(project, blocks))}
    limit = access.xp_limit(actor=actor)
    plan = planning.plan_script(project=project, body=body, xp_limit=limit, at=at)
    told = [each.as_json() for each in editing.revealing_changes(actor=actor, project=project, plan=plan)]
    return Checked(plan, [*told, *(() if actor.has_premium_features else _new_pictures(plan, blocks))])


def check(*, actor: Actor, project: Project, blocks: Sequence[object], at: datetime) -> Json:
    """Return all data that the editor shows about a draft. The check refuses nothing and writes nothing.

    `violations` would make the save fail; `warnings` would not. `blocks` are the submitted blocks in their
    order, each with its effective name, its compiled preconditions, and whether any answers lead to the
    block. `names` are the effective names in the order of the script.
    """
    checked = dry_run(actor=actor, project=project, blocks=blocks, at=at)
    plan = checked.plan
    placed = places(plan)
    never = {n for n, each in enumerate(reach.of_blocks(plan.script)) if each == "never"}
    return {
        "violations": checked.violations,
        "warnings": [
            {**each, "field": _moved(str(each["field"]), placed)}
            for each in _warnings(actor, project, plan, never)
        ],
        "blocks": _blocks(plan, blocks, placed, never),
        "names": [block.name for block in plan.script.blocks],
    }


# --- Warnings ---------------------------------------------------------------------------------------


def _warnings(
    actor: Actor, project: Project, plan: Plan, never: Collection[int]
) -> Iterator[Mapping[str, object]]:
    yield from script_json.warnings_about(project, plan.script)
    yield from hints(plan.script)
    yield from pictures.warnings(plan.script, community_id=project.community_id)
    for remark in review(script_as_json(plan.script)):
        yield _warning(f"blocks[{remark.position}].prompt", remark.code, remark.message)
    for n, block in enumerate(plan.script.blocks):
        if n in never:
            key = "show_when" if block.show_when else "hide_when" if block.hide_when else "precondition"
            message = "This block is never shown, whatever the answers before it are."
            yield _warning(f"blocks[{n}].{key}", "never_reached", message)
    if not actor.has_premium_features:
        for n, block in enumerate(plan.script.blocks):
            if block.color is not None:
                message = "The color is kept, and shown once the community is on the premium tier."
                yield _warning(f"blocks[{n}].color", "not_shown", message)


def _warning(field: str, code: str, message: str) -> Json:
    return {"field": field, "code": code, "message": message}


# --- Pictures -------------------------------------------------------------------------------------


def _new_pictures(plan: Plan, blocks: Sequence[object]) -> Iterator[Json]:
    """Violations of pictures that the stored script does not have on the same block."""
    stored = {block.id: block for block in (*plan.before.blocks, *plan.before.outro)}
    for n, sent in enumerate(blocks):
        if not isinstance(sent, dict):
            continue
        block_id = sent.get("id")
        was = stored.get(block_id) if isinstance(block_id, int) else None
        for key in PICTURES:
            if sent.get(key) and sent[key] != (was and getattr(was, key)):
                yield _warning(f"blocks[{n}].{key}", "not_allowed", _PREMIUM)
        known = was.option_by_id if was else {}
        options = sent.get("options")
        for m, option in enumerate(options if isinstance(options, list) else ()):
            own = known.get(option.get("id") or 0) if isinstance(option, dict) else None
            if isinstance(option, dict) and option.get("image_url") not in (None, "", own and own.image_url):
                yield _warning(f"blocks[{n}].options[{m}].image_url", "not_allowed", _PREMIUM)


# --- Blocks ---------------------------------------------------------------------------------------


def places(plan: Plan) -> Mapping[int, int]:
    """Return the blocks' indexes in the submitted array, by their indexes in the script with the outro."""
    ordered = plan.ordered
    paths = dict(enumerate(ordered.block_paths))
    sent_outro = {block.id: place for block, place in zip(ordered.outro, ordered.outro_paths, strict=True)}
    for n, block in enumerate(plan.script.outro, len(plan.script.blocks)):
        if block.id in sent_outro:
            paths[n] = sent_outro[block.id]
    indexes = {n: keys.index_of(path.path) for n, path in paths.items()}
    return {n: index for n, index in indexes.items() if index is not None}


def _moved(field: str, places: Mapping[int, int]) -> str:
    """The path of a field of the planned script as a path of the submitted array."""
    return _PLACE.sub(lambda match: f"blocks[{places.get(int(match[1]), match[1])}]", field, count=1)


def _blocks(
    plan: Plan, sent: Sequence[object], places: Mapping[int, int], never: Collection[int]
) -> list[Json]:
    planned = (*plan.script.blocks, *plan.script.outro)
    at_index = {index: planned[n] for n, index in places.items()}
    rows = []
    for n, raw in enumerate(sent):
        block = at_index.get(n)
        fields = raw if isinstance(raw, dict) else {}
        rows.append(
            {
                "key": fields.get(keys.KEY),
                "id": block.id if block else fields.get("id"),
                "name": block.name if block else None,
                "precondition": block.precondition if block else None,
                "is_reachable": block is None or block.position not in never,
            }
        )
    return rows
