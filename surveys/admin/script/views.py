"""The script editor's page, and the requests that it sends: drafts, saving, copies, export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from communities.gate.bodies import MEDIA_TYPE
from communities.ground.errors import Forbidden, NotFound, refuse_all
from surveys.admin.frame import ProjectPage, address_of, open_project
from surveys.admin.script import state
from surveys.admin.script.requests import Json, answer, script_json
from surveys.engine.script import Violation
from surveys.services.drafts import answers as block_answers
from surveys.services.drafts import duplicates, keys
from surveys.services.drafts import service as drafts
from surveys.services.drafts.collisions import Collision
from surveys.services.drafts.service import OtherTab
from surveys.services.projects import service as projects
from surveys.services.representations import script as script_json_of
from surveys.services.scripts import cache as script_cache

CONFLICT = 409
MAX_NUMBER = 2**53  # JSON numbers up to this are exact in a browser


@require_safe
def page(request: HttpRequest, project_id: int) -> HttpResponseBase:
    """The editor, on the actor's draft if there is one.

    Users who may not edit the project may read its script.
    """
    opened = open_project(request, project_id, tab="script")
    context = {"editor_state": state.of_page(opened)}
    response = opened.render(request, "admin/surveys/project/script.html", context)
    response["Cache-Control"] = "private, no-store"
    return response


@script_json("PUT", "DELETE")
def draft(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """PUT stores the draft and checks it, whatever its faults; DELETE discards it.

    Both name the version that the editor knows, and do not change any other version.
    """
    try:
        return _discard(page, body) if request.method == "DELETE" else _keep(page, body)
    except OtherTab as refusal:
        return _other_tab(page, refusal)


def _discard(page: ProjectPage, body: Json) -> HttpResponse:
    version = _number(body, "version")
    drafts.discard(actor=page.actor, project_id=page.project.pk, version=version)
    return HttpResponse(status=204)


def _keep(page: ProjectPage, body: Json) -> HttpResponse:
    blocks, revision, version = _read_draft(body)
    fingerprint = body.get("fingerprint")
    draft = drafts.keep(
        actor=page.actor,
        project_id=page.project.pk,
        blocks=blocks,
        revision=revision,
        version=version,
        fingerprint=fingerprint if isinstance(fingerprint, str) else None,
        at=page.at,
    )
    return answer(state.after_keep(page, draft))


@script_json("POST")
def save(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """Write the draft as the script. If a colleague has changed the script since, answer with `collision`."""
    version = _number(body, "version")
    if version is None:
        refuse_all([Violation("version", "required", "`version` is required: keep the draft first.")])
    try:
        saved = drafts.save(actor=page.actor, project_id=page.project.pk, version=version, at=page.at)
    except Collision as refusal:
        values = {"error": refusal.code, "message": refusal.message, "collision": refusal.collision}
        return answer(values, status=CONFLICT)
    except OtherTab as refusal:
        return _other_tab(page, refusal)
    return answer(state.after_save(page, saved))


@script_json("POST", may_read=True)
def duplicate(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """Copy the project with its draft, so that the structure of the copy can be changed."""
    copy = duplicates.duplicate(actor=page.actor, project_id=page.project.pk, at=page.at)
    messages.success(request, f"This is your copy: “{copy.name}”. It is a draft until you open it.")
    return answer({"id": str(copy.pk), "url": address_of(copy.pk, "script")}, status=201)


@script_json("POST")
def scoring(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """Turn scoring on, as the tab Rewards does. The script and the draft do not change."""
    fields = {"scoring": {"enabled": True}}
    project = projects.update_project(actor=page.actor, project_id=page.project.pk, fields=fields, at=page.at)
    return answer(state.of_project(ProjectPage(project, page.actor, page.tab, page.at)))


@script_json("GET", may_read=True)
def export(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """The script as a file: the actor's draft if there is one.

    The API and the editor's import can read it.
    """
    draft = drafts.get(actor=page.actor, project=page.project) if page.may_edit else None
    blocks = keys.as_sent(draft.blocks) if draft else _stored_blocks(page)
    walked = [each for each in blocks if not (isinstance(each, dict) and each.get("section") == "outro")]
    content = orjson.dumps({"blocks": walked}, option=orjson.OPT_INDENT_2)
    name = content_disposition_header(as_attachment=True, filename=f"{page.project.name}.json")
    return HttpResponse(content, content_type=MEDIA_TYPE, headers={"Content-Disposition": name})


@script_json("GET")
def answers(request: HttpRequest, page: ProjectPage, body: Json, block_id: int) -> HttpResponseBase:
    """The number of responses that answered a block, or chose its `option`: shown before a removal."""
    _require_counts(page)
    script = script_cache.script_of(page.project)
    if block_id not in script.index_by_id:
        raise NotFound("There is no such block in this script.")
    block, option = script.blocks[script.index_by_id[block_id]], request.GET.get("option")
    option_id = next((each for each in block.option_by_id if option == str(each)), None)
    if option is not None and option_id is None:
        raise NotFound("There is no such option in this block.")
    counted = block_answers.count(block_id=block_id, option_id=option_id)
    return answer({"count": counted.count, "is_estimate": counted.is_estimate})


@script_json("GET")
def archived(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """The archived blocks, for reading, and the number of responses that answered each."""
    _require_counts(page)
    found = block_answers.archived_blocks(page.project)
    return answer({"blocks": [each.as_json() for each in found]})


# --- Parts ------------------------------------------------------------------------------------------


def _require_counts(page: ProjectPage) -> None:
    if not page.may_read_counts:
        raise Forbidden("Only its owners and admins see how many have answered an anonymous project.")


def _stored_blocks(page: ProjectPage) -> Sequence[object]:
    script = script_cache.script_of(page.project)
    return script_json_of.all_blocks(page.project, script)


def _other_tab(page: ProjectPage, refusal: OtherTab) -> HttpResponse:
    """The newer draft, and the script's revision: if the draft is gone and the revision is later, the draft
    was saved.
    """
    values = {
        "error": refusal.code,
        "message": refusal.message,
        "draft": refusal.draft and refusal.draft.as_json(),
        "revision": page.project.revision,
    }
    return answer(values, status=CONFLICT)


def _read_draft(body: Json) -> tuple[list[Any], int, int | None]:
    """Blocks, base revision and version. Refuses only values that cannot be stored."""
    blocks = body.get("blocks")
    if not isinstance(blocks, list):
        refuse_all([Violation("blocks", "invalid_type", "`blocks` must be a list of blocks.")])
    revision = _number(body, "revision")
    if revision is None:
        refuse_all([Violation("revision", "required", "`revision` is required: that of the script read.")])
    return blocks, revision, _number(body, "version")


def _number(body: Json, name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < MAX_NUMBER:
        refuse_all([Violation(name, "invalid", f"`{name}` must be a whole number.")])
    return value
