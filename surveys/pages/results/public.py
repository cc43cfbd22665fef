"""The shared results of a project, as a page and as JSON, at a secret address."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.template import loader
from django.utils import dateformat, timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from communities.gate import envelope
from communities.gate.bodies import MEDIA_TYPE
from communities.gate.envelope import MethodNotAllowed
from communities.ground import brands
from communities.ground.brands import Look
from communities.ground.errors import Forbidden, NotFound, Unavailable
from communities.ground.wire import render
from communities.ground.words import plural
from surveys.drawing import theme
from surveys.drawing.figures import picture
from surveys.drawing.figures.aggregate import cards_of
from surveys.drawing.figures.weighting import words_of
from surveys.models import Project
from surveys.pages import errors
from surveys.services.projects.addresses import Destination
from surveys.services.results import shared as shared_results
from surveys.services.results.shared import SharedResults

SAFE = ("GET", "HEAD")
PICTURE = "picture"  # the parameter for a chart of the page
MAX_PAGE_JSON = 250_000  # bytes of a page's figures; their charts and tables take up to four times as much
ONCE_CLOSED = "The results can be seen here once the poll is closed"
REVALIDATE = "no-cache"  # browsers ask again each time, so that results disappear once sharing ends


@csrf_exempt  # the view changes nothing, and other methods must get a 405 rather than a CSRF error
def results(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Return the page, or JSON if the Accept header prefers it. Ignores unknown query parameters."""
    wants_json = request.get_preferred_type(["text/html", MEDIA_TYPE]) == MEDIA_TYPE
    response = results_json(request, token) if wants_json else _page(request, token)
    response["Vary"] = "Accept"
    return response


@csrf_exempt
def results_json(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Return the shared results as JSON; errors have the shape of API errors."""
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
        raise Forbidden(_opening_text(project))
    board = shared_results.board_of(project)
    return shared_results.as_json(project, shared_results.read(project=project, at=at, board=board), at=at)


# --- The page ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Notice:
    """A message shown instead of results. `moment` ends its text."""

    title: str
    text: str = ""
    moment: datetime | None = None


@require_safe
def _page(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    at = timezone.now()
    try:
        destination = shared_results.find(token=token)
    except NotFound as refusal:
        raise Http404(refusal.message) from None
    project = destination.project
    if shared_results.waits_for_closing(project=project, at=at):
        text = f"{ONCE_CLOSED}." if project.closes_at is None else f"{ONCE_CLOSED}, on"
        notice = Notice("The votes are still coming in.", text, project.closes_at)
        return _render(destination, {"notice": notice}, status=403)
    try:
        board = shared_results.board_of(project)
        shared = shared_results.read(project=project, at=at, board=board)
    except NotFound as refusal:
        raise Http404(refusal.message) from None
    except Unavailable as refusal:  # the process is counting other results
        return _with_headers(errors.unavailable(refusal.retry_after, request))
    if PICTURE in request.GET:
        return _picture(destination, shared, request.GET[PICTURE])
    return _render(destination, _context(project, shared, page=request.GET.get("page", "")))


def _picture(destination: Destination, shared: SharedResults, name: str) -> HttpResponse:
    """The chart of a question on the page as a file to save, such as `question-12.svg`. Raises Http404 for a
    chart that the page does not draw.
    """
    key, _, kind = name.partition(".")
    place = next((n for n, each in enumerate(shared.blocks) if f"question-{each['block_id']}" == key), None)
    if place is None or kind not in picture.CONTENT_TYPES:
        raise Http404
    project, board = destination.project, shared.board
    [card] = cards_of(project, shared, within=range(place, place + 1))
    if card.notice:
        raise Http404
    page = _page_of(destination)
    look = Look(page.look.accent or theme.ACCENTS[page.theme - 1])
    noun = "vote" if project.is_poll else "response"
    foot = [f"{project.name} · counted on {shared.counted_at:%-d %B %Y, %H:%M} UTC"]
    if board is not None and board.where:
        foot.append(f"{plural(shared.conversation_count, noun)} that were selected")
    foot.append(" ".join(words_of(shared.weighting, noun=noun)[:2]))
    drawing = picture.shapes_of(card, brands.palette(look, "light"), foot=[each for each in foot if each])
    return _with_headers(picture.download(drawing, kind=kind, name=f"chart-{key}"))


def _context(project: Project, shared: SharedResults, *, page: str) -> dict[str, object]:
    noun = "vote" if project.is_poll else "response"
    board = shared.board
    selected = " that were selected" if board is not None and board.where else ""
    count = plural(shared.conversation_count, noun)
    if shared.hides_counts:
        count = f"Fewer than {shared.least_answers} {noun}s"
    context: dict[str, object] = {
        "subtitle": f"{count}{selected}",
        "heading": board.title if board is not None else "",
        "weighting": words_of(shared.weighting, noun=noun),
        "counted_at": shared.counted_at,
    }
    least = shared.least_answers
    if not shared.conversation_count and not least:
        return {**context, "notice": Notice(f"No {noun}s yet.", "Please come back a little later.")}
    if least and shared.conversation_count < least:
        text = f"To protect the people who answered, results are shown once there are {least} {noun}s."
        return {**context, "notice": Notice("Too few to show yet.", text)}
    note = f"To protect the people who answered, questions with fewer than {least} answers are not shown."
    if project.is_anonymous:
        note += f" The figures change only after at least {least} {noun}s were added, changed or removed."
    pages = Paginator(_pages(shared.blocks), 1)
    shown = pages.get_page(page)
    return {
        **context,
        "cards": cards_of(project, shared, within=shown.object_list[0]),
        "note": note if least else "",
        "pages": shown if pages.num_pages > 1 else None,
    }


def _pages(blocks: Sequence[Mapping[str, object]]) -> Sequence[range]:
    """The indexes of the questions on each page; a page of long questions contains few of them."""
    starts, used = [0], 0
    for place, entry in enumerate(blocks):
        size = len(render(entry))
        if used + size > MAX_PAGE_JSON and place > starts[-1]:
            starts.append(place)
            used = 0
        used += size
    return [range(start, stop) for start, stop in pairwise([*starts, len(blocks)])]


def _render(destination: Destination, context: Mapping[str, object], *, status: int = 200) -> HttpResponse:
    page = _page_of(destination)
    context = {
        "subtitle": destination.community.name,
        "heading": "",
        "weighting": (),
        "counted_at": None,
        "notice": None,
        "cards": (),
        "note": "",
        "pages": None,
        "pictures": f"?{PICTURE}=",  # without the token, which is a secret
        "picture_query": "",
        **context,
        "page": page,
    }
    html = loader.get_template("results/shared.html").render(context)
    return _with_headers(HttpResponse(html, status=status))


def _page_of(destination: Destination) -> theme.Page:
    return theme.page_of(
        project=destination.project,
        community=destination.community,
        locale=destination.locale,
        is_framed=False,
        brand=destination.brand,
    )


def _opening_text(project: Project) -> str:
    """When a poll's results become visible, in words."""
    if project.closes_at is None:
        return f"{ONCE_CLOSED}."
    return f"{ONCE_CLOSED}, on {dateformat.format(project.closes_at, 'j F Y, H:i')} UTC."


def _with_headers(response: HttpResponse) -> HttpResponse:
    response["X-Robots-Tag"] = "noindex"
    response["Cache-Control"] = REVALIDATE
    return response
