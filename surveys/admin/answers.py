"""The page below a project's results with all that people wrote in answer to one question.

For those who may read single responses, and nobody else. The filters are those of the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from communities.ground.errors import Forbidden
from communities.staff import listing
from communities.staff.listing import Column, Empty, Filter, Listing, Order, Walk
from communities.staff.texts import moment
from surveys import response_sources
from surveys.admin import results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.respondents import STATUSES, names_of, noun_of, title_of
from surveys.engine.flow.wording import heading
from surveys.services.ground import access
from surveys.services.results import written
from surveys.services.results.written import WrittenAnswers
from surveys.services.scripts import editing as scripts

TEMPLATE = "admin/surveys/project/answers.html"
LONGEST = 2_000  # characters of an answer in the list
DAYS = ("submitted_after", "submitted_before")


@project_tab("results")
@require_safe
def answers(request: HttpRequest, page: ProjectPage, block_id: int) -> HttpResponseBase:
    """The answers to an open question, newest first. A filter that cannot be read is left out."""
    try:
        access.require_responses_reader(actor=page.actor, project=page.project, at=page.at)
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    project = page.project
    catalogue = scripts.catalogue(project_id=project.pk, revision=project.revision)
    block = catalogue.blocks.get(block_id)
    if block is None or block.type != "open_text":
        raise Http404
    form = results.results_form(request, page)
    form.full_clean()
    found = written.answers(project=project, block_id=block_id, selection=form.selection)
    keeps = {name: f"{form.cleaned_data[name]}" for name in DAYS if form.cleaned_data.get(name)}
    list_page = listing.draw(request, _listing(page, block_id, found, keeps), found.rows)
    query = f"?{form.query}" if form.query else ""
    context = {
        "page": list_page,
        "prompt": heading(block.prompt, catalogue.script),
        "noun": noun_of(project),
        "keeps": keeps,
        "last_day": form["submitted_before"].value() or "",
        "last_day_fault": next(iter(form.errors.get("submitted_before", ())), ""),
        "hidden": [(name, value) for name, value in list_page.hidden if name not in keeps],
        "zone": form.zone,
        "zone_reason": form.zone_reason,
        "back": f"{page.address()}{query}#question-{block_id}",
    }
    return page.render(request, TEMPLATE, context)


def _listing(
    page: ProjectPage, block_id: int, found: WrittenAnswers, keeps: Mapping[str, str]
) -> Listing[Any]:
    project, names = page.project, dict[int, str]()

    def address(row: Any) -> str:
        return reverse("admin:surveys_project_response", args=[project.pk, row.pk])

    def text(row: Any) -> SafeString | str:
        if len(row.text) <= LONGEST:
            return str(row.text)
        return format_html('{}… <a href="{}">Read the rest</a>', row.text[:LONGEST], address(row))

    def load(rows: Sequence[Any]) -> None:
        names.update(names_of(project, rows))

    filters = [Filter("provider", "Source", list(response_sources.LABELS.items()), _as_selected)]
    if not project.is_poll:
        filters.insert(0, Filter("status", "Status", STATUSES, _as_selected))
    return Listing(
        columns=[
            Column("Answer", text),
            Column(noun_of(project).capitalize(), lambda row: title_of(project, row, names), is_title=True),
            Column("Last change", lambda row: moment(row.updated_at)),
        ],
        orders={"newest": Order("By id" if project.is_anonymous else "Newest first", found.order)},
        filters=filters,
        searches="words in the answers",
        search=lambda rows, term: written.containing(rows, block_id=block_id, term=term),
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
    """The rows, which are selected by the filter already."""
    return rows
