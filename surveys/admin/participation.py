"""Results over time: responses of each day, week or month, and how far people came."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from communities.ground.errors import Forbidden, InvalidRequest, Unavailable
from surveys.admin import results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.drawing.figures import participation as drawing
from surveys.services.results import participation
from surveys.services.scripts import cache as script_cache


@project_tab("results")
@require_safe
def over_time(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The page, for the responses that the filters of the address select. A refusal is shown instead."""
    project = page.project
    try:
        page.require_responses_reader()
        form = results.results_form(request, page)
        form.full_clean()
        zone = page.zone_of_days(request)
        found = participation.read(
            actor=page.actor, project=project, selection=form.selection, zone=zone, at=page.at
        )
        scores = participation.scores(project=project, selection=form.selection, found=found)
    except (Forbidden, InvalidRequest, Unavailable) as refusal:
        return results.refused(request, page, refusal)
    catalogue = script_cache.of(project).catalogue
    context = {
        "form": form,
        "noun": "vote" if project.is_poll else "response",
        "is_poll": project.is_poll,
        "is_anonymous": project.is_anonymous,
        "back": f"{page.address()}?{form.query}" if form.query else page.address(),
        "chart": drawing.time_chart(found),
        "duration": drawing.duration(found.seconds),
        "screened_out": drawing.screened_out(found),
        "reach": drawing.reach_table(found, catalogue),
        "scores": drawing.score_tables(scores, catalogue),
    }
    fragment = results.fragment("results/over_time.html", context)
    return page.render(request, results.TEMPLATE, {"fragment": fragment})
