"""The requests of the dialog “Start from…”.

The editor puts the results into its draft, where they can be undone.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from communities.ground.errors import Conflict, InvalidRequest, refuse, refuse_all
from communities.ground.ids import MAX_ID
from communities.ground.sent_text import sent_text
from communities.models import Community
from communities.staff import audit_trail
from surveys.admin.frame import ProjectPage
from surveys.admin.script.requests import Json, answer, script_json
from surveys.ai import provider_is_free
from surveys.ai.local import NEEDS_A_MODEL
from surveys.engine.script import Violation
from surveys.models import Generation
from surveys.services.ai_work import draft_generation, generation
from surveys.services.ai_work.draft_generation import IS_LIVE, GeneratedScript
from surveys.services.converting import service as converting
from surveys.services.drafts import starting
from surveys.services.scripts import templates as library

SOURCES = ("intent", "instruction", "template", "project", "version", "blocks")
MAX_SEARCH = 200


@script_json("POST")
def generate(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """Blocks from one of `intent`, `instruction`, `template`, `project`, `version` and `blocks` (a file's).

    An intent is a job, and so is an instruction, by which AI changes the stored draft: 202, with its progress
    at `url`. All others return the blocks and the results of a check. Refused while the project is open.
    """
    sources = [name for name in SOURCES if body.get(name) is not None]
    if len(sources) != 1:
        message = "Send one of `intent`, `instruction`, `template`, `project`, `version` and `blocks`."
        refuse_all([Violation("intent", "required", message)])
    if page.project.is_live_at(page.at):
        raise Conflict(IS_LIVE)
    if sources[0] in ("intent", "instruction"):
        begin = draft_generation.begin if sources == ["intent"] else draft_generation.begin_revision
        words = {sources[0]: _text(body, sources[0])}
        job = begin(actor=page.actor, project_id=page.project.pk, at=page.at, **words)
        return answer(_job_as_json(page, job), status=202)
    blocks = _blocks(page, body, sources[0])
    return answer(starting.described(actor=page.actor, project=page.project, blocks=blocks, at=page.at))


@script_json("POST")
def convert(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """Blocks from `content`, a questionnaire of another system, in `format` or the one that it seems to have.

    Returns the format, the blocks, the results of a check, and what could not be said. Refused while the
    project is open.
    """
    content = _text(body, "content") if "content" in body else ""
    if not content.strip() or len(content) > converting.MAX_CONTENT:
        refuse("content", "required", "Choose a file with a questionnaire.")
    if page.project.is_live_at(page.at):
        raise Conflict(IS_LIVE)
    format = body.get("format") or None
    if format not in (None, *converting.FORMATS):
        refuse("format", "invalid_choice", "This format is not known.")
    try:
        converted = converting.convert(format=format, content=content, community_id=page.project.community_id)
    except InvalidRequest as refusal:
        message = str(refusal.violations[0]["message"]).replace("`content`", "The file")
        refuse("content", "invalid", message)
    blocks = starting.complete(converted.blocks)
    description = starting.described(actor=page.actor, project=page.project, blocks=blocks, at=page.at)
    unmet = [f"{each['where']}: {each['what']}" for each in converted.unmet]
    return answer({"format": converted.format, **description, "unmet": unmet})


convert.takes_questionnaire = True  # type: ignore[attr-defined]  # the limit of the body


@script_json("GET", "DELETE")
def job(request: HttpRequest, page: ProjectPage, body: Json, job_id: int) -> HttpResponseBase:
    """GET returns the progress of a script by AI, and its blocks at the end; DELETE cancels it."""
    if request.method == "DELETE":
        draft_generation.cancel(actor=page.actor, project_id=page.project.pk, job_id=job_id)
        return HttpResponse(status=204)
    draft = draft_generation.look(actor=page.actor, project_id=page.project.pk, job_id=job_id, at=page.at)
    return answer(_job_as_json(page, draft))


@script_json("GET")
def templates(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """The templates that suit the project and contain the words of `search`; and the price of AI."""
    kind = "poll" if page.project.is_poll else None
    matches = library.search_templates(type=kind, search=_search(request))
    return answer(
        {
            "templates": [{**library.as_json(each), "block_count": len(each.blocks)} for each in matches],
            "credits": {
                "cost": generation.cost(Generation.Kind.SCRIPT),
                "left": Community.objects.values_list("bot_credits", flat=True).get(
                    pk=page.project.community_id
                ),
            },
            "why_no_change": NEEDS_A_MODEL if provider_is_free() else None,
        }
    )


@script_json("GET")
def projects(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """Other projects of the community whose scripts can be copied, filtered by the words of `search`."""
    matches = starting.projects_to_copy(
        actor=page.actor, project=page.project, search=_search(request), at=page.at
    )
    return answer({"projects": matches})


@script_json("GET")
def versions(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """The latest versions of the script, each with the change that ended it: by whom, and of how many blocks.
    `search` keeps the changes by people whose name contains it.
    """
    search = _search(request).casefold()
    found = [
        {"id": str(each.pk), "until": each.happened_at, "by": name, **counted}
        for each, counted in starting.versions(project=page.project)
        if search in (name := audit_trail.who(each)).casefold()
    ]
    return answer({"versions": found})


def _blocks(page: ProjectPage, body: Json, source: str) -> list[Any]:
    project = page.project
    if source == "template":
        return starting.of_template(project=project, template_id=_text(body, "template"))
    if source == "project":
        number = body["project"]
        if type(number) is not int or not 0 < number <= MAX_ID:
            refuse("project", "invalid", "`project` must be the id of a project.")
        return starting.of_other_project(actor=page.actor, project_id=number, at=page.at)
    if source == "version":
        return starting.of_version(project=project, entry_id=_entry_id(body))
    blocks = body["blocks"]
    if not isinstance(blocks, list):
        refuse("blocks", "invalid_type", "`blocks` must be a list of blocks.")
    return starting.of_file(project=project, blocks=blocks)


def _entry_id(body: Json) -> UUID:
    try:
        return UUID(_text(body, "version"))
    except ValueError:
        refuse("version", "invalid", "`version` must be the id of a version.")


def _text(body: Json, name: str) -> str:
    value = body[name]
    if not isinstance(value, str):
        refuse(name, "invalid_type", f"`{name}` must be a text.")
    return str(value)


def _search(request: HttpRequest) -> str:
    return sent_text(request.GET.get("search", "").replace("\x00", ""))[:MAX_SEARCH]


def _job_as_json(page: ProjectPage, draft: GeneratedScript) -> Json:
    values: Json = {
        "id": draft.id,
        "status": draft.status,
        "credits": draft.credits,
        "seconds": round(draft.seconds, 1),
        "error": draft.error,
        "understood": draft.understood,
        "unmet": draft.unmet,
        "method": draft.method,
    }
    if draft.blocks is None:
        return values
    blocks = list(draft.blocks)
    description = starting.described(actor=page.actor, project=page.project, blocks=blocks, at=page.at)
    return {**values, **description}
