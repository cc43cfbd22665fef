"""The flow of a script in the editor, saved or not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from surveys.engine.flow import drawing, graph
from surveys.models import Project
from surveys.services.drafts import checking, keys
from surveys.services.scripts import planning

Json = dict[str, Any]


def draw(*, project: Project, blocks: Sequence[object], at: datetime) -> Json:
    """The drawing as `svg`, and the same content as a list of `steps`.

    Faulty blocks are drawn as far as possible. `blocks` are the editor's blocks, with their keys. A block
    without a key is identified by its id.
    """
    body = {"blocks": keys.as_sent(blocks)}
    plan = planning.plan_script(project=project, body=body, xp_limit=None, at=at)  # The plan is not saved.
    placed = checking.places(plan)
    node_keys = [
        _key(blocks[placed[n]] if n in placed else None, block.id)
        for n, block in enumerate((*plan.script.blocks, *plan.script.outro))
    ]
    flow = graph.of_script(plan.script)
    return {
        "svg": drawing.svg(flow, keys=node_keys),
        "steps": drawing.steps(flow, keys=node_keys),
    }


def _key(sent: object, block_id: int | None) -> str:
    key = sent.get(keys.KEY) if isinstance(sent, dict) else None
    return key if isinstance(key, str) else f"b{block_id}"
