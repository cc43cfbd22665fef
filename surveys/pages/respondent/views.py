"""The respondent's page: one address for reading and for answering."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from communities.ground import brands
from communities.ground.brands import Look
from communities.ground.errors import NotFound
from communities.ground.translation import in_language
from surveys.drawing import forms, link_card, rendering, rewards, theme
from surveys.drawing.parts import AnswersAs, Screen
from surveys.drawing.rendering import Hidden
from surveys.pages.respondent import actions, outcomes
from surveys.pages.respondent.visit import Visit
from surveys.services.conversations import admission
from surveys.services.projects import addresses, sharing


@csrf_exempt  # `actions.perform` checks the token, and keeps the typed answer if the check fails
@require_http_methods(["GET", "HEAD", "POST"])
def respond(request: HttpRequest, slug: str) -> HttpResponse:
    """GET shows the current step and changes no answers. POST performs the action of the form.

    The response to a plain form is a redirect, so a reload sends nothing twice. The response to htmx is only
    the next step. The response to a form that carries the visit is the whole next page, because a browser
    without cookies would lose the visit in a redirect.
    """
    visit = Visit.of(request, slug)
    with in_language(visit.page.lang):
        return _respond(visit)


def _respond(visit: Visit) -> HttpResponse:
    request = visit.request
    visit.note_opening()
    is_htmx = request.META.get("HTTP_HX_REQUEST") == "true"  # `headers` would parse the names of all
    response: HttpResponse
    if address := visit.next_address:
        response = HttpResponseRedirect(address, status=303)
    elif request.method != "POST":
        response = _draw(visit, outcomes.show(visit), is_fragment=False)
    else:
        outcome = actions.perform(visit)
        if outcome.address and not is_htmx and not visit.arrival.is_carried:
            response = HttpResponseRedirect(outcome.address, status=303)
        else:
            response = _draw(visit, outcome.screen(), is_fragment=is_htmx)
    visit.write_to(response)
    return response


@require_safe
def short(request: HttpRequest, code: str) -> HttpResponse:
    """Lead from the short address of a public page to the page. Values in the address are kept."""
    try:
        slug = sharing.address_of_short(short_code=code)
    except NotFound as refusal:
        raise Http404(refusal.message) from None
    query = request.META.get("QUERY_STRING", "")
    address = reverse("pages:respond", args=[slug])
    return HttpResponseRedirect(f"{address}?{query}" if query else address)


def _answers_as(visit: Visit, screen: Screen) -> AnswersAs | None:
    """Who can read the answers, and in whose name they are given; None if the screen shows neither."""
    mode, days = visit.project.privacy_mode, visit.project.keep_responses_days
    guest, person = visit.guest, visit.respondent.person
    if guest is not None:
        return AnswersAs(mode, guest.respondent.name, "link", keep_days=days)
    if screen.step is None:
        return None
    misses = "" if visit.respondent.is_member else rewards.missed(visit.project)
    back = urlencode({"next": visit.page.address})
    if person is None:
        sign_in = f"{reverse('account_login')}?{back}" if misses and not visit.browser.conversation_id else ""
        return AnswersAs(mode, misses=misses, sign_in=sign_in, keep_days=days)
    sign_out = f"{reverse('account_logout')}?{back}"
    return AnswersAs(mode, person.name, "sign_in", sign_out, misses, keep_days=days)


def _draw(visit: Visit, screen: Screen, *, is_fragment: bool) -> HttpResponse:
    if screen.copy is not None:
        visit.page = replace(visit.page, canonical="")
    mark = admission.privacy_mark(visit.project)
    hidden = Hidden(
        seal=visit.seal,
        csrf="" if visit.arrival.is_carried else rendering.token(visit.request),
        owner=visit.owner_of_typed,
        handover=visit.handover,
        privacy_mark=mark,
        ahead=visit.packed_ahead,
    )
    if is_fragment:
        tells_anew = visit.request.POST.get(forms.PRIVACY_MARK, mark) != mark
        answers_as = _answers_as(visit, screen) if tells_anew else None
        return rendering.fragment(visit.page, screen, hidden, answers_as=answers_as)
    page = visit.page
    if page.is_listed:
        page = replace(page, card=link_card.address_of(page, visit.project.community.name))
    answers_as = _answers_as(visit, screen)
    return rendering.page(page, screen, hidden, answers_as=answers_as, before=visit.past_before)


@require_safe
def card(request: HttpRequest, slug: str) -> HttpResponse:
    """The picture that other sites show with a link to the page; 404 unless the page is listed."""
    try:
        destination = addresses.find(slug=slug)
    except NotFound as refusal:
        raise Http404(refusal.message) from None
    page = theme.page_of(
        project=destination.project,
        community=destination.community,
        locale=destination.locale,
        is_framed=False,
        at=timezone.now(),
        brand=destination.brand,
    )
    if not page.is_listed:
        raise Http404
    shown = link_card.card_of(page, destination.community.name)
    response = HttpResponse(link_card.png(shown), content_type="image/png")
    is_of_content = request.GET.get("v") == shown.version
    age = "max-age=31536000, immutable" if is_of_content else "max-age=300"
    response.headers["Cache-Control"] = f"public, {age}"
    return response


@require_safe
def icon(request: HttpRequest, colour: str) -> HttpResponse:
    """Our icon in the colour of a brand."""
    if not brands.is_colour(colour):
        raise Http404
    drawn = _icon().replace(f"#{theme.ACCENTS[0]}", brands.palette(Look(colour), "light")["accent"])
    response = HttpResponse(drawn, content_type="image/svg+xml")
    response.headers["Cache-Control"] = "public, max-age=86400"
    return response


@cache
def _icon() -> str:
    return Path(str(finders.find("surveys/icon.svg"))).read_text(encoding="utf-8")
