"""A project's results for staff of the installation, guarded by the admin's permissions.

The page requires `view_project`. Starting an analysis, which may cost the community credits, requires
`change_project`. Quotes and exports show single people's answers and require `view_conversation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404
from django.template import loader
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from communities.errors import InvalidRequest, Refusal, Unavailable
from communities.http.downloads import download
from communities.http.envelope import STATUS
from surveys.models import Project, ResultsCount
from surveys.pages import errors, theme
from surveys.pages.results import overview
from surveys.pages.results.filters import COVERS, ResultsForm
from surveys.services.analysis import service as analysis
from surveys.services.exports import service as exports
from surveys.services.results import figures, very_large
from surveys.services.results.figures import Figures
from surveys.services.scripts import editing as scripts

BAD_REQUEST = 400
VIEW_RESULTS = "surveys.view_project"
START_ANALYSIS = "surveys.change_project"
VIEW_ANSWERS = "surveys.view_conversation"
FORMATS = {"csv": "CSV", "xlsx": "Excel", "json": "JSON", "ndjson": "NDJSON"}
P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def _for_staff(permission: str) -> Callable[[View[P]], View[P]]:
    """Require staff with this permission. Visitors are sent to the admin's sign-in page; others get a 403."""

    def guarded(view: View[P]) -> View[P]:
        @wraps(view)
        def checked(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not (request.user.is_staff and request.user.has_perm(permission)):
                raise PermissionDenied
            try:
                response = view(request, *args, **kwargs)
            except Unavailable as refusal:  # the process is counting other results
                response = errors.unavailable(refusal.retry_after)
            response.headers.setdefault("Cache-Control", "private, no-store")
            return response

        return login_required(checked, login_url="admin:login")

    return guarded


@_for_staff(VIEW_RESULTS)
@require_safe
def results(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the results page."""
    return _page(request, _project(project_id))


@_for_staff(VIEW_RESULTS)
@require_http_methods(["GET", "HEAD", "POST"])
def analyse(request: HttpRequest, project_id: int) -> HttpResponse:
    """POST starts an analysis; GET, polled by the page, returns its progress."""
    project = _project(project_id)
    if request.method != "POST":
        return _progress(request, project)
    if not request.user.has_perm(START_ANALYSIS):
        raise PermissionDenied
    covers = request.POST.get("covers", "all")
    if covers not in COVERS:
        raise Http404
    try:
        analysis.ask(project=project, with_ai=True, covers=covers, at=timezone.now())
    except Refusal as refusal:
        return _page(request, project, refusal=refusal, overrides={"status": covers})
    return HttpResponseRedirect(f"{_address(project)}?status={covers}#analysis", status=303)


@_for_staff(VIEW_ANSWERS)
@require_safe
def export(request: HttpRequest, project_id: int) -> HttpResponseBase:
    """Stream the filtered responses as a file."""
    project = _project(project_id)
    form = _form(request, project)
    format = request.GET.get("format", "csv")
    if format not in FORMATS or not form.is_valid():
        raise Http404
    try:
        file = exports.export(
            project=project, format=format, selection=form.selection, with_bom=request.GET.get("bom") == "1"
        )
        return download(request, content_type=file.content_type, file_name=file.file_name, chunks=file.chunks)
    except Refusal as refusal:  # too many columns for a workbook, or too many downloads are running
        return _page(request, project, refusal=refusal)


# --- Parts ------------------------------------------------------------------------------------------


def _project(project_id: int) -> Project:
    return get_object_or_404(Project.objects.select_related("community"), pk=project_id)


def _address(project: Project) -> str:
    return reverse("pages:staff-results", args=[project.pk])


def _form(request: HttpRequest, project: Project, overrides: Mapping[str, str] | None = None) -> ResultsForm:
    blocks = scripts.catalogue(project_id=project.pk, revision=project.revision).blocks
    data = request.GET.copy()
    data.update(overrides or {})
    return ResultsForm(data, blocks)


def _page(
    request: HttpRequest,
    project: Project,
    *,
    refusal: Refusal | None = None,
    overrides: Mapping[str, str] | None = None,
) -> HttpResponse:
    at = timezone.now()
    form = _form(request, project, overrides)
    can_view_answers = request.user.has_perm(VIEW_ANSWERS)
    counted, is_busy = _count(project, form, at)
    refusal = refusal or is_busy
    analysis_status = overview.analysis_status(project, covers=form.covers)
    cards = overview.cards_of(
        project, counted, analysis_status.done, divided_by=form.divided_by, with_quotes=can_view_answers
    )
    context = {
        "page": theme.PLAIN,
        "project": project,
        "state": _state(project, at),
        "at": at,
        "form": form,
        "is_filtered": bool(form.query),
        "divided_by": _prompt(project, form.divided_by),
        "facts": overview.facts_of(counted),
        "is_empty": not counted.conversation_count,
        "funnel": None if project.is_poll else overview.funnel_of(counted),
        "cards": [each for each in cards if not each.card.is_removed],
        "removed": [each for each in cards if each.card.is_removed],
        "analysis_status": analysis_status,
        "has_texts": any(each.is_read for each in cards),
        "refusal": refusal.message if refusal else "",
        "formats": FORMATS if can_view_answers else {},
        "hides_quotes": not can_view_answers and any(each.text_analysis for each in cards),
        "can_start_analysis": request.user.has_perm(START_ANALYSIS),
        "csrf": get_token(request),
        "address": _address(project),
    }
    status = STATUS[refusal.code] if refusal else 200 if form.is_valid() else BAD_REQUEST
    return _render("results/staff.html", context, status=status)


def _count(project: Project, form: ResultsForm, at: datetime) -> tuple[Figures, Refusal | None]:
    """Count what the form asks for. If segments are refused, add the error to the form and count without.

    While a worker counts, count everything, and say so.
    """
    form.full_clean()
    try:
        counted = very_large.count(
            project=project, selection=form.selection, segment_by=form.divided_by, at=at
        )
    except InvalidRequest as refusal:
        form.add_error("segment_by", refusal.message)
        return _count_without_segments(project, form, at)
    return _or_everything(project, counted)


def _count_without_segments(
    project: Project, form: ResultsForm, at: datetime
) -> tuple[Figures, Refusal | None]:
    counted = very_large.count(project=project, selection=form.selection, segment_by=None, at=at)
    return _or_everything(project, counted)


def _or_everything(project: Project, counted: Figures | ResultsCount) -> tuple[Figures, Refusal | None]:
    if isinstance(counted, Figures):
        return counted, None
    message = (
        f"These are the results of all responses. The part that you asked for is being counted: "
        f"{counted.progress:.0%} is done. Please reload the page in a moment."
    )
    return figures.count(project=project), Unavailable(message)


def _progress(request: HttpRequest, project: Project) -> HttpResponse:
    """Return the newest analysis's progress; once it is finished, tell htmx to reload the page."""
    newest = analysis.latest(project=project, covers=request.GET.get("covers", "all"), with_ai=True)
    if newest is None or newest.is_finished:
        response = HttpResponse(status=204)
        response["HX-Refresh"] = "true"
        return response
    context = {"running": newest, "address": _address(project)}
    return _render("results/progress.html", context)


def _render(template: str, context: Mapping[str, object], *, status: int = 200) -> HttpResponse:
    return HttpResponse(loader.get_template(template).render(dict(context)), status=status)


def _prompt(project: Project, block_id: int | None) -> str:
    if block_id is None:
        return ""
    return scripts.catalogue(project_id=project.pk, revision=project.revision).blocks[block_id].prompt


def _state(project: Project, at: datetime) -> str:
    if project.is_live_at(at):
        return "Open"
    return "Opens later" if project.is_pending_at(at) else "Closed"
