"""Questions on the Results tab: asked by its box, and polled by it while the answer is being found."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET, require_POST

from communities.ground.errors import Forbidden, NotFound, Refusal, Unavailable
from surveys.admin import asked, results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.services.ai_work import question


@project_tab("results")
@require_POST
def ask(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """Have a question answered, and lead back to the tab, which shows how far it is."""
    try:
        job_id = question.begin(
            actor=page.actor,
            project=page.project,
            question=request.POST.get("question", ""),
            ticket=request.POST.get("ticket", ""),
            at=page.at,
        )
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    except Refusal as refusal:
        return _draw(request, page, refusal)
    return HttpResponseRedirect(f"{page.address()}?{asked.PARAMETER}={job_id}#ask", status=303)


@project_tab("results")
@require_GET
def answer(request: HttpRequest, page: ProjectPage, job_id: int) -> HttpResponseBase:
    """How far the answer is, polled by the tab; at the end the answer itself."""
    try:
        found = question.look(actor=page.actor, project=page.project, job_id=job_id, at=page.at)
    except (Forbidden, NotFound):
        raise Http404 from None
    return HttpResponse(results.fragment("results/answer.html", asked.of_asked(page, found))())


def _draw(request: HttpRequest, page: ProjectPage, refusal: Refusal) -> HttpResponseBase:
    try:
        return results.draw_for_reader(request, page, refusal=refusal)
    except (Forbidden, Unavailable):  # what was refused is said alone
        return results.refused(request, page, refusal)
