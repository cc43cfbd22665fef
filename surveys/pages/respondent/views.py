"""The respondent's page: one address, to look at and to answer."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from communities.errors import NotFound
from surveys.models import Project
from surveys.pages import security, theme
from surveys.pages.respondent import actions, rendering, visitors
from surveys.pages.respondent.page_request import PageRequest
from surveys.pages.respondent.screens import Screen
from surveys.pages.respondent.visitors import Arrival
from surveys.services.conversations import admission
from surveys.services.conversations.admission import Respondent
from surveys.services.projects import addresses


@csrf_exempt  # `actions.perform` checks, so that a failed check keeps what was typed
@require_http_methods(["GET", "HEAD", "POST"])
def respond(request: HttpRequest, slug: str) -> HttpResponse:
    """GET shows what waits and changes nothing. POST does what the form asks for.

    A plain form is answered with a redirect before anything is drawn, so that a reload sends nothing twice.
    htmx gets the next step alone. A form that carries the visit gets the whole next page: without cookies
    nothing would survive a redirect.
    """
    page_request = _page_request(request, slug)
    is_htmx = request.headers.get("HX-Request") == "true"
    is_carried = page_request.arrival.is_carried
    response: HttpResponse
    if request.method != "POST":
        response = _draw(page_request, actions.show(page_request), is_turn=False)
    else:
        outcome = actions.perform(page_request)
        if outcome.address and not is_htmx and not is_carried:
            response = HttpResponseRedirect(outcome.address, status=303)
        else:
            response = _draw(page_request, outcome.screen(), is_turn=is_htmx)
    if page_request.page.is_framed:
        security.allow_frames(response)
    visitors.remember(
        response, page_request.arrival, page_request.visit, slug=slug, path=page_request.page.address
    )
    response["Cache-Control"] = "private, no-cache"
    response["Vary"] = "Cookie, HX-Request"
    return response


def _page_request(request: HttpRequest, slug: str) -> PageRequest:
    at = timezone.now()
    try:
        destination = addresses.find(slug=slug)
    except NotFound as refusal:
        raise Http404(refusal.message) from None
    project, is_framed = destination.project, request.GET.get("embed") == "1"
    arrival = visitors.arrival(
        request, slug=slug, is_framed=is_framed, is_anonymous=project.is_anonymous, at=at
    )
    page = theme.page_of(
        project=project,
        community=destination.community,
        locale=destination.locale,
        is_framed=is_framed,
    )
    respondent = _respondent(request, project, arrival)
    return PageRequest(request, project, page, arrival, arrival.visit, respondent, at)


def _respondent(request: HttpRequest, project: Project, arrival: Arrival) -> Respondent:
    """A signed-in member, else a browser. A form that carries the visit has no session, so no member."""
    if not arrival.is_carried and request.user.is_authenticated:
        member = admission.signed_in(community_id=project.community_id, user_id=request.user.pk)
        if member is not None:
            return member
    return admission.visitor(visitor_id=arrival.visit.visitor_id)


def _draw(page_request: PageRequest, screen: Screen, *, is_turn: bool) -> HttpResponse:
    draw = rendering.turn if is_turn else rendering.page
    return draw(
        page_request.page,
        screen,
        seal=visitors.seal(page_request.visit, slug=page_request.project.slug),
        csrf="" if page_request.arrival.is_carried else rendering.token(page_request.request),
    )
