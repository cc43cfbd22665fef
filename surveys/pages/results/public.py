"""The shared results of a project: a page for people, JSON for programs, at an address nobody can guess."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.template import loader
from django.utils import dateformat, timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from communities.errors import Forbidden, NotFound
from communities.http import envelope
from communities.http.bodies import MEDIA_TYPE
from communities.http.envelope import MethodNotAllowed
from communities.wire import render
from communities.words import plural
from surveys.models import Project
from surveys.pages import theme
from surveys.pages.results import charts, texts
from surveys.pages.results.charts import Card
from surveys.services.projects.addresses import Destination
from surveys.services.results import shared as shared_results
from surveys.services.results.shared import SharedResults
from surveys.services.scripts import editing as scripts

SAFE = ("GET", "HEAD")
CACHED = "no-cache"  # results that are no longer shared are gone at once


@csrf_exempt  # nothing is changed here, and other methods shall hear so
def results(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """The page, or JSON where that is asked for. Unknown parameters are passed over: links come tagged."""
    wants_json = request.get_preferred_type(["text/html", MEDIA_TYPE]) == MEDIA_TYPE
    response = results_json(request, token) if wants_json else _page(request, token)
    response["Vary"] = "Accept"
    return response


@csrf_exempt
def results_json(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """The same as JSON; refusals are in the interface's shape."""
    try:
        if request.method not in SAFE:
            raise MethodNotAllowed(list(SAFE))
        response = HttpResponse(render(_json(token, at=timezone.now())), content_type=MEDIA_TYPE)
    except Exception as fault:
        return _with_headers(envelope.error_response(fault, request))
    return _with_headers(response)


def _json(token: uuid.UUID, *, at: datetime) -> Mapping[str, object]:
    project = shared_results.find(token=token).project
    if shared_results.waits_for_closing(project=project, at=at):
        raise Forbidden(_when(project))
    return shared_results.as_json(project, shared_results.read(project=project, at=at), at=at)


# --- The page ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Notice:
    """Why there is nothing to be seen, in place of it."""

    title: str
    text: str = ""


@require_safe
def _page(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    at = timezone.now()
    try:
        found = shared_results.find(token=token)
    except NotFound as refusal:
        raise Http404(refusal.message) from None
    project = found.project
    if shared_results.waits_for_closing(project=project, at=at):
        context: dict[str, object] = {"notice": Notice("The votes are still coming in.", _when(project))}
        return _drawn(found, context, status=403)
    read = shared_results.read(project=project, at=at)
    return _drawn(found, _seen(project, read))


def _seen(project: Project, read: SharedResults) -> dict[str, object]:
    noun = "vote" if project.is_poll else "response"
    context: dict[str, object] = {
        "told": plural(read.conversation_count, noun),
        "counted": f"Counted on {dateformat.format(read.counted_at, 'j F Y, H:i')} UTC",
    }
    least = read.least_answers
    if not read.conversation_count:
        return {**context, "notice": Notice(f"No {noun}s yet.", "Please come back a little later.")}
    if least and read.conversation_count < least:
        text = f"To protect those who answered, results are shown from {least} {noun}s on."
        return {**context, "notice": Notice("Too few to show yet.", text)}
    note = (
        f"To protect those who answered, questions with fewer than {least} answers are not shown,"
        f" and while this is open new {noun}s are added {least} at a time, or more."
    )
    return {**context, "cards": _cards(project, read), "note": note if least else ""}


def _cards(project: Project, read: SharedResults) -> Sequence[Card]:
    blocks = scripts.catalogue(project_id=project.pk, revision=project.revision).blocks
    cards = []
    for number, entry in enumerate(read.blocks, start=1):
        card = charts.card(entry, blocks.get(entry["block_id"]), number=0 if project.is_poll else number)
        if entry["is_withheld"]:
            card = replace(card, notice="Too few answers to show yet.")
        elif entry["open_text"] and not card.notice:
            card = texts.sentiment_card(card, entry["open_text"])
        cards.append(card)
    return cards


def _drawn(found: Destination, context: Mapping[str, object], *, status: int = 200) -> HttpResponse:
    page = theme.page_of(
        project=found.project, community=found.community, locale=found.locale, is_framed=False
    )
    context = {
        "told": found.community.name,
        "counted": "",
        "notice": None,
        "cards": (),
        "note": "",
        **context,
        "page": replace(page, is_listed=False),
    }
    drawn = loader.get_template("results/shared.html").render(context)
    return _with_headers(HttpResponse(drawn, status=status))


def _when(project: Project) -> str:
    """When a poll's results can be seen."""
    if project.closes_at is None:
        return "The results can be seen here once the poll is closed."
    closing = dateformat.format(project.closes_at, "j F Y, H:i")
    return f"The results can be seen here once the poll is closed, on {closing} UTC."


def _with_headers(response: HttpResponse) -> HttpResponse:
    response["X-Robots-Tag"] = "noindex"
    response["Cache-Control"] = CACHED if response.status_code == 200 else "no-cache"
    return response
