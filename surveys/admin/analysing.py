"""Starting an analysis on the Results tab, after a question if it costs credits, and its progress."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from communities.ground.errors import Forbidden, Refusal, Unavailable
from surveys.admin import results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.drawing.figures import overview
from surveys.drawing.figures.filters import COVERS
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ground import access

CONFIRM = "admin/surveys/project/analyse.html"
MOST_DIGITS = 18  # of the agreed credits


@project_tab("results")
@require_http_methods(["GET", "HEAD", "POST"])
def analyse(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """GET asks whether to spend the credits; POST starts the analysis, for no more than the agreed
    credits.
    """
    covers = (request.POST if request.method == "POST" else request.GET).get("covers", "all")
    if covers not in COVERS:
        raise Http404
    try:
        access.require_owner(actor=page.actor, project=page.project)
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    if request.method != "POST":
        return _ask(request, page, covers)
    agreed = request.POST.get("credits", "0")
    try:
        analysis.ask(
            actor=page.actor,
            project=page.project,
            with_ai=True,
            covers=covers,
            at=page.at,
            at_most=int(agreed) if agreed.isdecimal() and len(agreed) <= MOST_DIGITS else 0,
        )
    except analysis.CostsMore:  # new answers were given meanwhile
        return _ask(request, page, covers, status=409)
    except Refusal as refusal:
        return _draw(request, page, refusal, covers)
    return HttpResponseRedirect(f"{page.address()}?status={covers}#analysis", status=303)


@project_tab("results")
@require_GET
def progress(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The progress of the newest analysis, polled by the tab; makes htmx reload the page when it is
    finished.
    """
    page.require_responses_reader()
    covers = request.GET.get("covers", "all")
    if covers not in COVERS:
        raise Http404
    newest = analysis.latest(project=page.project, covers=covers, with_ai=True)
    if newest is None or newest.is_finished:
        return results.reload_page()
    render = results.fragment("results/progress.html", {"running": newest})
    return HttpResponse(render())


def _draw(request: HttpRequest, page: ProjectPage, refusal: Refusal, covers: str) -> HttpResponseBase:
    try:
        return results.draw(request, page, refusal=refusal, overrides={"status": covers})
    except Unavailable:  # other results are being counted: only the refusal is shown
        return results.refused(request, page, refusal)


def _ask(request: HttpRequest, page: ProjectPage, covers: str, *, status: int = 200) -> HttpResponseBase:
    """Ask whether to spend the credits. Redirects to the tab if there is nothing to pay or to analyse."""
    offer = overview.analysis_status(page.project, covers=covers).offer
    if offer is None or not offer.cost:
        return HttpResponseRedirect(f"{page.address()}?status={covers}#analysis")
    context = {
        "offer": offer,
        "covers": covers,
        "is_dearer": status != 200,
        "back": f"{page.address()}?status={covers}",
        "address": reverse("admin:surveys_project_results_analyse", args=[page.project.pk]),
    }
    return page.render(request, CONFIRM, context, status=status)
