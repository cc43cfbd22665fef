"""Results over time: responses of each day, week or month, and how far people came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from communities.ground.errors import Forbidden, InvalidRequest, Unavailable
from communities.ground.words import plural
from surveys.admin import results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.drawing.figures.charts import NPS_PARTS, DataTable, signed
from surveys.engine.flow.wording import heading
from surveys.services.counting.divisions import words_of_period
from surveys.services.results import participation
from surveys.services.results.participation import Participation
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.cache import Catalogue


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A day, week or month. Positions and sizes are percent of the drawing; `begun` is empty for scores."""

    x: str
    width: str
    completed: str
    completed_top: str
    begun: str = ""
    begun_top: str = ""


@dataclass(frozen=True, slots=True)
class TimeChart:
    """Columns from the first to the last day, the highest number, and the same data as a table.

    `least` is the number at the lower edge if the columns begin at a line in the middle, else empty.
    """

    columns: Sequence[TimeColumn]
    first: str
    last: str
    most: str
    description: str
    table: DataTable
    least: str = ""


def time_chart(found: Participation) -> TimeChart | None:
    """The responses of each day, week or month; None without responses."""
    spans = found.spans
    if not spans:
        return None
    most = max(max(each.begun, each.completed) for each in spans)
    step = 100 / len(spans)

    def column(n: int) -> TimeColumn:
        begun, completed = (count / most * 100 for count in (spans[n].begun, spans[n].completed))
        sizes = (n * step, step * 0.8, completed, 100 - completed, begun, 100 - begun)
        return TimeColumn(*(f"{each:.2f}" for each in sizes))

    names = [words_of_period(found.period, each.begins_on) for each in spans]
    rows = [(name, f"{each.begun:,}", f"{each.completed:,}") for name, each in zip(names, spans, strict=True)]
    return TimeChart(
        [column(n) for n in range(len(spans))],
        names[0],
        names[-1],
        f"{most:,}",
        f"Columns from {names[0]} to {names[-1]}, at most {most:,}. The table below has the numbers.",
        DataTable((found.period.capitalize(), "Begun", "Completed"), rows),
    )


def reach_table(found: Participation, catalogue: Catalogue) -> DataTable:
    """How many were asked each question, answered it, and left there."""
    rows = [
        (
            heading(catalogue.blocks[each.block_id].prompt, catalogue.script),
            f"{each.seen:,}",
            f"{each.answered:,}",
            f"{each.left:,}",
        )
        for each in found.blocks
        if each.block_id in catalogue.blocks
    ]
    return DataTable(("Question", "Saw it", "Answered", "Left here"), rows)


def score_charts(
    scores: Mapping[int, Sequence[tuple[str, Mapping[str, Any]]]], catalogue: Catalogue
) -> list[tuple[str, TimeChart]]:
    """The net promoter scores of each question over time, below its heading."""
    return [
        (heading(catalogue.blocks[block_id].prompt, catalogue.script), _score_chart(spans))
        for block_id, spans in scores.items()
        if spans and block_id in catalogue.blocks
    ]


def _score_chart(spans: Sequence[tuple[str, Mapping[str, Any]]]) -> TimeChart:
    """Columns that begin at 0 in the middle, for the times that have a score."""
    head = ("Completed", "Score", "Promoters", "Passives", "Detractors")
    step, first, last = 100 / len(spans), spans[0][0], spans[-1][0]
    scores = [float(nps["score"]) for _, nps in spans]
    sizes = [(n * step, step * 0.8, abs(each) / 2, 50 - max(each, 0) / 2) for n, each in enumerate(scores)]
    rows = [
        (name, signed(nps["score"]), *(f"{nps[part]:,}" for part in reversed(NPS_PARTS)))
        for name, nps in spans
    ]
    return TimeChart(
        [TimeColumn(*(f"{each:.2f}" for each in column)) for column in sizes],
        first,
        last,
        "100",
        f"Columns from {first} to {last}, from {signed(min(scores))} to {signed(max(scores))}. "
        "The table below has the numbers.",
        DataTable(head, rows),
        least=signed(-100),
    )


def screened_out(found: Participation) -> str:
    """How many were screened out, in words; empty for none."""
    count = found.screened_out
    return f"{plural(count, 'response')} {'was' if count == 1 else 'were'} screened out." if count else ""


def duration(seconds: float | None) -> str:
    """A median time in words, such as `2 minutes 5 seconds`; empty for none."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return plural(round(minutes / 60), "hour")
    return f"{plural(minutes, 'minute')} {plural(rest, 'second')}" if minutes else plural(rest, "second")


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
        "chart": time_chart(found),
        "duration": duration(found.seconds),
        "screened_out": screened_out(found),
        "reach": reach_table(found, catalogue),
        "scores": score_charts(scores, catalogue),
    }
    fragment = results.fragment("results/over_time.html", context)
    return page.render(request, results.TEMPLATE, {"fragment": fragment})
