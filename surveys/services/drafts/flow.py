"""The flow of a script in the editor, saved or not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from surveys.engine.flow import drawing, endings, graph
from surveys.models import Project
from surveys.services.drafts import checking, keys
from surveys.services.scripts import planning

Json = dict[str, Any]


def draw(*, project: Project, blocks: Sequence[object], at: datetime) -> Json:
    """The drawing as `svg`, the same content as a list of `steps`, and the `ends` of the project.

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
    ends = endings.of(plan.script, project.ends, project.end)
    return {
        "svg": drawing.svg(flow, keys=node_keys, ends=ends),
        "steps": drawing.steps(flow, keys=node_keys, ends=ends),
        "ends": drawing.ends(flow, ends),
    }


def _key(sent: object, block_id: int | None) -> str:
    key = sent.get(keys.KEY) if isinstance(sent, dict) else None
    return key if isinstance(key, str) else f"b{block_id}"
