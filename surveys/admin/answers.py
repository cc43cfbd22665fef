"""The page below a project's results with all answers to one open question.

Only people who may read single responses see it. The filters are those of the results.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from communities.ground.errors import Forbidden, Unavailable
from communities.staff import listing
from communities.staff.listing import Column, Empty, Filter, Listing, Order, Walk
from communities.staff.texts import moment
from surveys import response_sources
from surveys.admin import results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.respondents import STATUSES, SUSPECTED, names_of, noun_of, title_of
from surveys.drawing.figures.texts import SENTIMENTS
from surveys.engine.flow.wording import heading
from surveys.engine.language.values import day_in_words
from surveys.services.ai_work import codebook
from surveys.services.ground import access
from surveys.services.responses import reading
from surveys.services.responses import service as response_service
from surveys.services.responses.reading import AnswerReading
from surveys.services.results import written
from surveys.services.results.written import WrittenAnswers
from surveys.services.scripts import cache as script_cache

TEMPLATE = "admin/surveys/project/answers.html"
LONGEST = 2_000  # characters of an answer in the list
UNFIT = ("none", "No theme")
DAYS = ("submitted_after", "submitted_before")


@project_tab("results")
@require_safe
def answers(request: HttpRequest, page: ProjectPage, block_id: int) -> HttpResponseBase:
    """The answers to an open question, or the texts for an option of a choice, newest first.

    An invalid filter is left out.
    """
    try:
        access.require_responses_reader(actor=page.actor, project=page.project, at=page.at)
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    project = page.project
    catalogue = script_cache.of(project).catalogue
    block = catalogue.blocks.get(block_id)
    if block is None or (block.type != "open_text" and block.other is None):
        raise Http404
    other_id = block.other.id if block.other else None
    form = results.results_form(request, page)
    form.full_clean()
    found = written.answers(project=project, block_id=block_id, selection=form.selection, other_id=other_id)
    keeps = {name: f"{form.cleaned_data[name]}" for name in (*DAYS, "where") if form.cleaned_data.get(name)}
    asked = request.GET.urlencode()
    spec = _listing(page, block, found, keeps, asked and f"?{asked}")
    try:
        with response_service.selecting_slot(project, form.selection.where):
            list_page = listing.draw(request, spec, found.rows)
    except Unavailable as refusal:
        return results.refused(request, page, refusal)
    query = f"?{form.query}" if form.query else ""
    is_read = block.is_read and other_id is None
    context = {
        "themes_address": (
            reverse("admin:surveys_project_results_themes", args=[project.pk, block_id])
            if page.may_own and is_read
            else ""
        ),
        "page": list_page,
        "prompt": heading(block.prompt, catalogue.script),
        "noun": noun_of(project),
        "keeps": keeps,
        "last_day": form["submitted_before"].value() or "",
        "last_day_fault": next(iter(form.errors.get("submitted_before", ())), ""),
        "hidden": [(name, value) for name, value in list_page.hidden if name not in DAYS],
        "condition": form,
        "script_address": page.address("script") if page.may_edit else "",
        "zone": form.zone,
        "zone_reason": form.zone_reason,
        "back": f"{page.address()}{query}#question-{block_id}",
    }
    return page.render(request, TEMPLATE, context)


def _listing(
    page: ProjectPage, block: Any, found: WrittenAnswers, keeps: Mapping[str, str], query: str
) -> Listing[Any]:
    project, names = page.project, dict[int, str]()
    titles = codebook.ids_by_title(project_id=project.pk).get(block.id, {})
    readings: dict[tuple[uuid.UUID, int], AnswerReading] = {}

    def by_theme(rows: Any, value: str) -> Any:
        theme = None if value == UNFIT[0] else int(value)
        return written.with_theme(rows, block_id=block.id, theme=theme)

    def by_sentiment(rows: Any, value: str) -> Any:
        return written.with_sentiment(rows, block_id=block.id, sentiment=value)

    def address(row: Any) -> str:
        return reverse("admin:surveys_project_response", args=[project.pk, row.pk])

    def text(row: Any) -> SafeString | str:
        if len(row.text) <= LONGEST:
            return day_in_words(row.text) if block.format == "date" else str(row.text)
        return format_html('{}… <a href="{}">Read the rest</a>', row.text[:LONGEST], address(row))

    def load(rows: Sequence[Any]) -> None:
        names.update(names_of(project, rows))
        readings.update(reading.answer_readings(project=project, response_ids=[row.pk for row in rows]))

    def read_as(row: Any) -> Mapping[str, object]:
        found = readings.get((row.pk, block.id))
        correction = reverse("admin:surveys_project_results_answer", args=[project.pk, block.id, row.pk])
        is_offered = page.may_own and block.section != "intro" and (found or titles) and not block.other
        address = f"{correction}{query}" if is_offered else ""
        return {"reading": found, "correct_address": address, "asked": written.asked_of(row, longest=LONGEST)}

    filters = [Filter("provider", "Source", list(response_sources.LABELS.items()), _as_selected)]
    if titles:
        filters += [
            Filter("theme", "Theme", [*((f"{pk}", title) for title, pk in titles.items()), UNFIT], by_theme),
            Filter("sentiment", "Sentiment", list(SENTIMENTS.items()), by_sentiment),
        ]
    if project.was_open_to_web:
        filters.append(Filter("suspected", "Robots", SUSPECTED, _as_selected))
    if not project.is_poll:
        filters.insert(0, Filter("status", "Status", STATUSES, _as_selected))
    return Listing(
        columns=[
            Column("Answer", text),
            Column(noun_of(project).capitalize(), lambda row: title_of(project, row, names), is_title=True),
            Column("Last change", lambda row: moment(row.updated_at)),
            Column("Read as", read_as),
        ],
        orders={"newest": Order("By id" if project.is_anonymous else "Newest first", found.order)},
        filters=filters,
        searches="words in the answers",
        search=lambda rows, term: written.containing(
            rows, block_id=block.id, term=term, other_id=block.other and block.other.id
        ),
        empty=Empty(
            "Every written answer to this question appears here as soon as it is given.",
            "Share the project",
            page.address("share"),
        ),
        address_of=address,
        load=load,
        keeps=keeps,
        walk=Walk(found.walked, f"{noun_of(project)}s") if found.walked is not None else None,
        rows_template="admin/surveys/project/answer_rows.html",
    )


def _as_selected(rows: Any, value: str) -> Any:
    """The rows, which the filter has selected already."""
    return rows
