"""The respondent's page: one address, to look at and to answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from communities.ground.errors import NotFound
from surveys.drawing import rendering, rewards, security, theme
from surveys.drawing.rendering import Hidden
from surveys.drawing.screens import AnswersAs, Screen
from surveys.models import Project
from surveys.pages.respondent import (
    actions,
    frames,
    kept_forms,
    personal_links,
    prefilled,
    visitors,
)
from surveys.pages.respondent.page_request import PageRequest
from surveys.pages.respondent.visitors import Arrival
from surveys.services.conversations import admission
from surveys.services.conversations.admission import Respondent
from surveys.services.ground import metadata
from surveys.services.projects import addresses


@csrf_exempt  # `actions.perform` checks, so that a failed check keeps what was typed
@require_http_methods(["GET", "HEAD", "POST"])
def respond(request: HttpRequest, slug: str) -> HttpResponse:
    """GET shows what waits, and changes nothing that was answered. POST does what the form asks for.

    A plain form is answered with a redirect before anything is drawn, so that a reload sends nothing twice.
    htmx gets the next step alone. A form that carries the visit gets the whole next page: without cookies
    nothing would survive a redirect.
    """
    page_request = _page_request(request, slug)
    is_htmx = request.headers.get("HX-Request") == "true"
    is_carried = page_request.arrival.is_carried
    personal_links.note_opening(page_request)
    response: HttpResponse
    if address := personal_links.next_address(page_request):
        response = HttpResponseRedirect(address, status=303)
    elif request.method != "POST":
        response = _draw(page_request, actions.show(page_request), is_turn=False)
    else:
        outcome = actions.perform(page_request)
        if outcome.address and not is_htmx and not is_carried:
            response = HttpResponseRedirect(outcome.address, status=303)
        else:
            response = _draw(page_request, outcome.screen(), is_turn=is_htmx)
    if page_request.page.is_framed:
        security.allow_frames(response)
        frames.remember(response, page_request)
    visitors.remember(
        response, page_request.arrival, page_request.visit, slug=slug, path=page_request.page.address
    )
    prefilled.remember(
        request,
        response,
        page_request.arrival,
        page_request.ahead,
        slug=slug,
        path=page_request.page.address,
    )
    if page_request.keeps_form:
        kept_forms.keep(response, request.POST, slug=slug, path=page_request.page.address)
    elif page_request.visit.conversation_id is not None and kept_forms.COOKIE in request.COOKIES:
        kept_forms.forget(response, path=page_request.page.address)
    # A browser keeps no page of an anonymous project, not even to go back to it (rule 7.14).
    response["Cache-Control"] = f"private, no-{'store' if page_request.project.is_anonymous else 'cache'}"
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
    visit = personal_links.visit_of(request, arrival.visit)
    if request.GET and request.method == "GET":
        visit = replace(visit, fields=metadata.from_address(project, request.GET))
    guest, fault = personal_links.admitted(request, project, visit.link_id, at=at)
    respondent = guest.respondent if guest else _respondent(request, project, arrival, at)
    if fault is not None:  # nothing that this browser holds is given up for a link that does not work
        visit = arrival.visit
    # On an anonymous project an address with fields, given to one member, would name the member.
    is_named = project.is_anonymous and (guest is not None or respondent.is_member)
    carried = guest.metadata if guest else {}  # comes before the address, which its reader can change
    if (carried or visit.fields) and not is_named:
        respondent = replace(respondent, metadata={**visit.fields, **carried})
    ahead = prefilled.of_request(request, project, arrival, language=page.lang)
    return PageRequest(request, project, page, arrival, visit, respondent, at, guest, fault, ahead=ahead)


def _respondent(request: HttpRequest, project: Project, arrival: Arrival, at: datetime) -> Respondent:
    """A signed-in person, else a browser. A form that carries the visit has no session, so no person.

    A personal link comes before both: its member is not necessarily the one who is signed in here.
    """
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if session_key and not arrival.is_carried:
        person = admission.signed_in(community_id=project.community_id, session_key=session_key, at=at)
        if person is not None:
            return person
    return admission.visitor(visitor_id=arrival.visit.visitor_id)


def _answers_as(page_request: PageRequest, screen: Screen) -> AnswersAs | None:
    """Who can see the answers, and in whose name they are given; None where the screen says neither."""
    mode = page_request.project.privacy_mode
    guest, person = page_request.guest, page_request.respondent.person
    if guest is not None:
        return AnswersAs(mode, guest.respondent.name, "link")
    if screen.step is None:
        return None
    misses = "" if page_request.respondent.is_member else rewards.missed(page_request.project)
    if person is None:
        return AnswersAs(mode, misses=misses)
    back = urlencode({"next": page_request.page.address})
    sign_out = f"{reverse('account_logout')}?{back}"
    return AnswersAs(mode, person.name, "sign_in", sign_out, misses)


def _draw(page_request: PageRequest, screen: Screen, *, is_turn: bool) -> HttpResponse:
    ahead = prefilled.packed(page_request.ahead, slug=page_request.project.slug)
    screen = replace(screen, answers_as=_answers_as(page_request, screen), ahead=ahead)
    page, hidden = page_request.page, _hidden(page_request)
    if is_turn:
        return rendering.turn(page, screen, hidden)
    return rendering.page(page, screen, hidden, before=page_request.past_before)


def _hidden(page_request: PageRequest) -> Hidden:
    visit, slug = page_request.visit, page_request.project.slug
    return Hidden(
        seal=visitors.seal(visit, slug=slug),
        csrf="" if page_request.arrival.is_carried else rendering.token(page_request.request),
        owner=visitors.owner_of_typed(page_request.respondent, visit.conversation_id, slug=slug),
        handover=frames.handover(page_request) if page_request.page.is_framed else None,
    )
