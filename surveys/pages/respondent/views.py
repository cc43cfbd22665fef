"""The respondent's page: one address, looked at or answered."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.template import loader
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from communities.errors import NotFound
from surveys.models import Project
from surveys.pages import security, theme
from surveys.pages.respondent import actions, visitors
from surveys.pages.respondent.actions import PageRequest
from surveys.pages.respondent.screens import APPENDED, NOTHING, NOTHING_MORE, STEP, Screen
from surveys.pages.words import WORDS
from surveys.services.conversations import admission
from surveys.services.conversations.admission import Respondent
from surveys.services.projects import addresses


@csrf_exempt  # checked in `moves.take`, which keeps what was typed; frames are checked by their seal
@require_http_methods(["GET", "HEAD", "POST"])
def talk(request: HttpRequest, slug: str) -> HttpResponse:
    """GET shows what waits and changes nothing; POST does what the form asks for.

    With htmx the answer is the next step alone, else a redirect, so that a reload sends nothing twice.
    In a frame without cookies there is nothing to redirect to: the seal in the form is all there is.
    """
    desk = _desk(request, slug)
    is_post = request.method == "POST"
    scene = actions.take(desk) if is_post else actions.show(desk)
    is_htmx = request.headers.get("HX-Request") == "true"
    if is_post and not is_htmx and not desk.page.is_framed and _is_taken(request, scene):
        response: HttpResponse = HttpResponseRedirect(_next_address(desk, scene), status=303)
    else:
        response = _drawn(desk, scene, is_turn=is_post and is_htmx)
    if desk.page.is_framed:
        security.allow_frames(response)
    else:
        visitors.remember(response, desk.read, desk.visit, slug=slug, path=desk.page.address)
    response["Cache-Control"] = "private, no-cache"
    response["Vary"] = "Cookie, HX-Request"
    return response


def _desk(request: HttpRequest, slug: str) -> PageRequest:
    at = timezone.now()
    try:
        found = addresses.find(slug=slug)
    except NotFound as refusal:
        raise Http404(refusal.message) from None
    project, is_framed = found.project, request.GET.get("embed") == "1"
    read = visitors.read(request, slug=slug, is_framed=is_framed, is_anonymous=project.is_anonymous, at=at)
    page = theme.page_of(project=project, community=found.community, locale=found.locale, is_framed=is_framed)
    respondent = _respondent(request, project, is_framed, read.visit.visitor)
    return PageRequest(request, project, page, read, read.visit, respondent, at)


def _respondent(request: HttpRequest, project: Project, is_framed: bool, visitor_id: str) -> Respondent:
    """A signed-in member, else a browser; never a member in a frame, which another site could steer."""
    if not is_framed and request.user.is_authenticated:
        member = admission.signed_in(community_id=project.community_id, user_id=request.user.pk)
        if member is not None:
            return member
    return admission.visitor(visitor_id=visitor_id)


def _is_taken(request: HttpRequest, scene: Screen) -> bool:
    """Whether the scene can be drawn again from what is stored, so that a redirect loses nothing.

    What an anonymous conversation gave is known in this moment alone.
    """
    gives = scene.context.get("prize") or scene.context.get("earned")
    if gives and scene.told is not None and scene.told.project.is_anonymous:
        return False
    if scene.part == STEP:
        return scene.status == 200 and not scene.context.get("note")
    return scene.told is not None or bool(scene.context.get("results"))


def _next_address(desk: PageRequest, scene: Screen) -> str:
    if _asks_to(desk, "change"):
        return f"{desk.page.address}?change=1#step"
    if _asks_to(desk, "again"):
        return f"{desk.page.address}?again=1"
    at = len(scene.told.state.path) if scene.told else 0
    return f"{desk.page.address}?at={at}#step"


def _asks_to(desk: PageRequest, do: str) -> bool:
    return desk.request.POST.get("do") == do


def _token(request: HttpRequest) -> str:
    """What the next form proves to be ours with: as the last one did, where that was found good.

    Each time a new one with its cookie took 0.07 ms, and hid nothing, as no response is compressed.
    """
    is_good = getattr(request, "csrf_processing_done", False)
    sent: str = request.POST.get("csrfmiddlewaretoken", "") if is_good else ""
    return sent or get_token(request)


def _drawn(desk: PageRequest, scene: Screen, *, is_turn: bool) -> HttpResponse:
    is_framed = desk.page.is_framed
    slug = desk.project.slug
    context = {
        **NOTHING_MORE,
        **scene.context,
        "page": desk.page,
        "words": WORDS,
        "part": scene.part,
        "is_turn": is_turn,
        "seal": visitors.seal(desk.visit, slug=slug, is_framed=is_framed),
        "csrf": "" if is_framed else _token(desk.request),
    }
    if not is_turn:
        template = "respondent/talk.html"
        context["past"] = scene.whole_past()
    else:
        template = "respondent/turn.html"
        context["said"] = scene.said
        context["keeps_past"] = scene.change == NOTHING or (scene.change == APPENDED and scene.said is None)
        if scene.said is None and not context["keeps_past"]:
            context["past"] = scene.whole_past()
    return HttpResponse(loader.get_template(template).render(context), status=scene.status)
