"""Requests of the script editor while a person writes conditions: rows ⇄ text, and the flow of the script.

POST logic/   {"text", "lists"?}        → {"condition", "kind", "violations", "reason", "column"}
POST logic/   {"condition", "kind"?}    → {"text", "violations"}
POST flow/    {"blocks"?}               → {"svg", "steps"}; without blocks the draft, or else the script
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from communities.ground.errors import refuse
from surveys.admin.frame import ProjectPage
from surveys.admin.script.requests import answer, script_json
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.services.drafts import flow as flows
from surveys.services.drafts import logic as logics
from surveys.services.drafts import service as drafts
from surveys.services.representations import script as scripts_as_json
from surveys.services.scripts import cache as script_cache

Json = dict[str, Any]

MAX_LISTS = 2 * MAX_BLOCKS  # each block by its name and by its position


@script_json("POST", may_read=True)
def logic(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponse:
    """Convert a condition between rows and text."""
    if body.get("condition") is not None:
        return answer(_text_of(body))
    text, lists = body.get("text"), body.get("lists") or []
    if not isinstance(text, str):
        refuse("text", "required", "`text` or `condition` is required.")
    if not (isinstance(lists, list) and all(isinstance(name, str) for name in lists[: MAX_LISTS + 1])):
        refuse("lists", "invalid_type", "`lists` must be a list of names.")
    return answer(logics.rows_of(text=text, lists=lists[:MAX_LISTS]))


def _text_of(body: Json) -> Json:
    condition, kind = body["condition"], body.get("kind") or "show_when"
    if not isinstance(condition, dict):
        refuse("condition", "invalid_type", "`condition` must be an object.")
    if kind not in logics.KINDS:
        refuse("kind", "invalid_choice", "`kind` must be `show_when` or `hide_when`.")
    return logics.text_of(condition=condition, kind=kind)


@script_json("POST", may_read=True)
def flow(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponse:
    """The drawing of the edited script."""
    blocks = body.get("blocks")
    if blocks is None:
        blocks = _kept_blocks(page)
    if not isinstance(blocks, list):
        refuse("blocks", "invalid_type", "`blocks` must be a list of blocks.")
    return answer(flows.draw(project=page.project, blocks=blocks, at=page.at))


def _kept_blocks(page: ProjectPage) -> list[Any]:
    """The blocks of the actor's draft, or else those of the stored script."""
    draft = drafts.get(actor=page.actor, project=page.project)
    if draft is not None:
        return draft.blocks
    script = script_cache.script_of(page.project)
    return scripts_as_json.all_blocks(page.project, script)
