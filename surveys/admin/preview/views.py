"""The preview in its frame, and the requests of the panel around it."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from communities.ground.errors import InvalidRequest, refuse
from communities.ground.translation import in_language
from surveys.admin.frame import ProjectPage, open_project
from surveys.admin.preview import page as previewed
from surveys.admin.script.requests import Json, answer, script_json
from surveys.drawing import rendering, security, theme
from surveys.drawing.forms import past_before
from surveys.drawing.parts import AnswersAs, Screen
from surveys.drawing.rendering import Hidden
from surveys.drawing.theme import Page
from surveys.engine.intake import videos
from surveys.services.conversations import admission
from surveys.services.previews import service as previews
from surveys.services.previews import view as preview_json
from surveys.services.previews.service import Preview

MAX_KEY = 100


@require_http_methods(["GET", "HEAD", "POST"])
def preview(request: HttpRequest, project_id: int) -> HttpResponseBase:
    """The respondent's page on the actor's draft, or on a `template`. A form changes only the preview.

    As on the real page, a plain form is answered with a redirect, and htmx gets only the next step.
    """
    opened = open_project(request, project_id, tab="script")
    template = request.GET.get("template")
    try:
        current = _open(opened, template)
    except InvalidRequest as refusal:
        raise Http404(refusal.message) from None
    page = _page(opened, template)
    with in_language(page.lang):
        return _respond(request, current, page)


def _respond(request: HttpRequest, current: Preview, page: Page) -> HttpResponseBase:
    is_htmx = request.headers.get("HX-Request") == "true"
    if request.method != "POST":
        screen, needs_page = previewed.show(current, page), True
    else:
        moved = previewed.perform(current.carried_by(request.POST.get("seal", "")), page, request.POST)
        current, screen, needs_page = moved.preview, moved.screen, moved.needs_page
    is_kept = current.remember()
    if is_kept and not is_htmx and not needs_page:
        return HttpResponseRedirect(page.address, status=303)
    return _drawn(request, current, page, screen, is_fragment=is_htmx)


@script_json("GET", may_read=True)
def state(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """The path through the draft so far, by the keys of blocks, with answers, scores and calculated
    results.
    """
    return answer(preview_json.as_json(_open(page, request.GET.get("template")).view()))


@script_json("POST", may_read=True)
def restart(request: HttpRequest, page: ProjectPage, body: Json) -> HttpResponseBase:
    """Begin again, or jump to the block with the key `at`, with the answers given so far."""
    key = body.get("at")
    if key is not None and not (isinstance(key, str) and len(key) <= MAX_KEY):
        refuse("at", "invalid_type", "`at` must be the key of a block.")
    current = _open(page, request.GET.get("template"))
    moved = current.restarted() if key is None else current.jumped(key)
    moved.remember()
    return answer(preview_json.as_json(moved.view()))


def _open(page: ProjectPage, template: str | None) -> Preview:
    return previews.open_preview(actor=page.actor, project=page.project, template=template, at=page.at)


def _page(opened: ProjectPage, template: str | None) -> Page:
    """The look of the project's page. Its forms post to the preview, and search engines do not list it."""
    community = opened.project.community
    locale = previews.locale_of(opened.project)
    page = theme.page_of(
        project=opened.project,
        community=community,
        locale=locale,
        is_framed=False,
        brand=previews.brand_of(opened.project),
    )
    address = reverse("admin:surveys_project_script_preview", args=[opened.project.pk])
    query = f"?{urlencode({'template': template})}" if template else ""
    return replace(page, address=address + query)


def _drawn(
    request: HttpRequest, current: Preview, page: Page, screen: Screen, *, is_fragment: bool
) -> HttpResponse:
    mark = admission.privacy_mark(current.project)
    hidden = Hidden(seal=current.seal(), csrf=rendering.token(request), privacy_mark=mark)
    if is_fragment:
        response = rendering.fragment(page, screen, hidden)
    else:  # a preview that only follows the editor leaves the focus there
        is_sent = request.method == "POST"
        project, answers_as = current.project, None
        if screen.step is not None:
            answers_as = AnswersAs(project.privacy_mode, keep_days=project.keep_responses_days)
        response = rendering.page(
            page, screen, hidden, answers_as=answers_as, before=past_before(request), takes_focus=is_sent
        )
    security.allow_own_frames(response)
    security.allow_players(response, videos.origins(current.source.script.videos))
    response["Cache-Control"] = "private, no-store"
    return response
