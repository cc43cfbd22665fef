"""The tab of a project's results: charts, filters, segments, the analysis of texts, and exports.

People who may read single responses (`access.may_read_people`) see everything. Other people who may read the
results see the shared results: aggregates over all responses, which change in steps on anonymous projects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.template import loader
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from communities.gate.downloads import download
from communities.gate.envelope import STATUS
from communities.ground.errors import Forbidden, InvalidRequest, NotFound, Refusal, Unavailable
from communities.ground.slots import of_community
from communities.staff.texts import moment
from surveys.admin import asked, exporting
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.respondents import names_of, title_of
from surveys.drawing.figures import aggregate, overview
from surveys.drawing.figures.fields import field_cards
from surveys.drawing.figures.filters import ConditionForm, ResultsForm
from surveys.drawing.figures.overview import StaffCard
from surveys.drawing.figures.scores import score_cards, variable_cards
from surveys.drawing.figures.weighting import words_of
from surveys.engine.flow.wording import heading
from surveys.models import ResultsCount
from surveys.services.ai_work import codebook
from surveys.services.counting import sent_fields, weights
from surveys.services.exports import service as exports
from surveys.services.ground import access
from surveys.services.results import figures, readers, written
from surveys.services.results.figures import ALL, Figures
from surveys.services.results.shared import SharedResults
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.cache import Catalogue

TEMPLATE = "admin/surveys/project/results.html"
REFUSED = "admin/surveys/project/refused.html"
BAD_REQUEST = 400
NO_CONTENT = 204
LONGEST_EXCERPT = 280  # characters
PART_IGNORED = (
    "These are the results of all responses: filters and comparisons, which could single out a person, are "
    "for the project's creator and admins."
)
PART_COUNTED = "These are the results of everything. What you selected is being counted:"
SCORES_COUNTED = "Scores and calculated results are being counted:"


@project_tab("results")
@require_safe
def results(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The tab. If the service refuses, the reason is shown instead of the results."""
    try:
        return draw_for_reader(request, page)
    except (Forbidden, Unavailable) as refusal:
        return refused(request, page, refusal)


@project_tab("results")
@require_http_methods(["GET", "HEAD"])
def export(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """Stream the responses that the filters select, as a file. A refusal is shown on the tab."""
    form = results_form(request, page)
    if not form.is_valid():
        raise Http404
    try:
        access.require_responses_reader(actor=page.actor, project=page.project, at=page.at)
    except Forbidden as refusal:
        return refused(request, page, refusal)
    choice = None
    try:
        solutions = access.may_read_solutions(actor=page.actor, project=page.project)
        choice = exporting.choice_of(request.GET, solutions=solutions)
        if choice is None:
            raise Http404
        file = exports.export(
            project=page.project,
            options=choice,
            selection=form.selection,
            note=exporting.noter(request, page.project),
        )
        response = download(request, file, owner=of_community(page.actor.community_id))
        if request.method == "GET":
            exports.note_export(actor=page.actor, project=page.project, format=choice.format, at=page.at)
        return response
    except Refusal as refusal:  # too large for its kind of file, or too many downloads are running
        return draw(request, page, refusal=exporting.in_words(refusal, choice))


@project_tab("results")
@require_GET
def counting(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The progress of a worker that counts the filtered results; makes htmx reload the page at the end."""
    form = None
    if access.may_read_people(actor=page.actor, project=page.project):
        form = results_form(request, page)
        if not form.is_valid():
            raise Http404
    try:
        seen = read(page, form)
    except (Forbidden, NotFound):
        raise Http404 from None
    except Refusal:
        return reload_page()
    if not isinstance(seen, ResultsCount):
        return reload_page()
    return HttpResponse(fragment("results/counting.html", {"counting": _progress_of(page, form, seen)})())


# --- Drawing ----------------------------------------------------------------------------------------


def draw_for_reader(
    request: HttpRequest, page: ProjectPage, *, refusal: Refusal | None = None
) -> HttpResponseBase:
    """The tab with the parts that this reader may see, and with a refusal if there was one.

    Raises Forbidden and Unavailable.
    """
    access.require_results_reader(actor=page.actor, project=page.project, at=page.at)
    if access.may_read_people(actor=page.actor, project=page.project):
        return draw(request, page, refusal=refusal)
    return _draw_shared(request, page, refusal=refusal)


def draw(
    request: HttpRequest,
    page: ProjectPage,
    *,
    refusal: Refusal | None = None,
    overrides: Mapping[str, str] | None = None,
) -> HttpResponseBase:
    """The tab for people who may read single responses. `overrides` replace filters of the address.

    Raises Unavailable while the process counts other results of many responses.
    """
    project = page.project
    form = results_form(request, page, overrides)
    totals, job = _count(page, form)
    status = overview.analysis_status(project, covers=form.covers)
    texts = overview.texts_of(
        totals, status.done, is_narrowed=form.is_narrowed or totals.weighting is not None
    )
    is_filtered = bool(form.query)
    solutions = access.may_read_solutions(actor=page.actor, project=page.project)
    right: Mapping[int, int] = {}
    if solutions and job is None and totals.weighting is None:
        right = figures.right_sets(project=project, script=form.script, selection=form.selection)
    cards = overview.cards_of(
        project,
        totals,
        texts,
        is_filtered=is_filtered,
        marks_solutions=solutions,
        right_sets=right,
    )
    context = {
        **_frame_of(request, page),
        "form": form,
        "is_filtered": is_filtered,
        "cross_address": _cross_address(page, form),
        "board_address": f"{page.address('dashboard')}?{form.query}",
        "picture_query": f"?{form.query}" if form.query else "",
        "compared_query": f"?{form.whole_query}",
        "divided_by": compared_by(totals, form),
        "weighting": words_of(totals.weighting, noun=_noun_of(page)),
        "facts": overview.facts_of(totals, is_poll=project.is_poll),
        "is_empty": not totals.conversation_count,
        "funnel": None if project.is_poll else overview.funnel_of(project, totals),
        "fields": field_cards(totals, is_filtered=is_filtered),
        "scores": score_cards(totals, is_filtered=is_filtered),
        "variables": variable_cards(totals, is_filtered=is_filtered),
        "is_partial": form.covers == "partial",
        "cards": [each for each in cards if not each.card.is_removed],
        "removed": [each for each in cards if each.card.is_removed],
        "analysis_status": status,
        "has_texts": any(each.is_read for each in cards),
        "written": _written(page, form, totals),
        "theme_pages": _theme_pages(page, form, cards),
        "refusal": refusal.message if refusal else "",
        "counting": _progress_of(page, form, job) if job else None,
        "exports": exporting.offered(page, query=form.query, count=_selected(totals)),
        "may_analyse": page.may_own,
        "credits_left": project.community.bot_credits,
        "csrf": get_token(request),
    }
    box = asked.box_of(request, page)
    code = STATUS[refusal.code] if refusal else 200 if form.is_valid() else BAD_REQUEST
    return page.render(
        request,
        TEMPLATE,
        {
            "fragment": fragment("results/staff.html", {**context, "box": box}),
            "script_address": context["script_address"],
            "is_wrong": bool(refusal or form.errors),
            "is_running": bool(status.running or job or asked.is_running(box)),
        },
        status=code,
    )


def _draw_shared(
    request: HttpRequest, page: ProjectPage, *, refusal: Refusal | None = None
) -> HttpResponseBase:
    """The tab for other people: the shared results as the interface returns them."""
    box = asked.box_of(request, page)
    seen = aggregate.read(page.project, actor=page.actor, at=page.at)
    context = {
        **_frame_of(request, page),
        "seen": seen,
        "facts": seen.facts,
        "is_partial": False,
        "analysis_status": None,
        "divided_by": "",
        "written": {},
        "theme_pages": {},
        "notice": PART_IGNORED if request.GET.keys() - {asked.PARAMETER} else "",
        "refusal": refusal.message if refusal else "",
        "box": box,
        "counting": _progress_of(page, None, seen.job) if seen.job else None,
    }
    return page.render(
        request,
        TEMPLATE,
        {
            "fragment": fragment("results/staff_shared.html", context),
            "is_wrong": bool(refusal),
            "is_running": bool(seen.job or asked.is_running(box)),
        },
        status=STATUS[refusal.code] if refusal else 200,
    )


def refused(request: HttpRequest, page: ProjectPage, refusal: Refusal) -> HttpResponseBase:
    """The tab with a sentence instead of the refused results."""
    response = page.render(request, REFUSED, {"refusal": refusal.message}, status=STATUS[refusal.code])
    if isinstance(refusal, Unavailable):
        response["Retry-After"] = str(refusal.retry_after)
    return response


def fragment(template: str, context: Mapping[str, object]) -> partial[SafeString]:
    """A part of the tab, from the templates of the public pages; it is drawn together with the frame.

    So its times are shown in the time zone of the frame.
    """

    def drawn() -> SafeString:
        html = loader.get_template(template, using="jinja2").render(dict(context))
        return mark_safe(html)  # the template has escaped its values

    return partial(drawn)


def reload_page() -> HttpResponse:
    """A response that makes htmx reload the page."""
    response = HttpResponse(status=NO_CONTENT)
    response["HX-Refresh"] = "true"
    return response


def results_form(
    request: HttpRequest,
    page: ProjectPage,
    overrides: Mapping[str, str] | None = None,
    kind: type[ResultsForm] = ResultsForm,
) -> ResultsForm:
    """The filters of the address."""
    project = page.project
    catalogue = script_cache.of(project).catalogue
    data = request.GET.copy()
    data.update(overrides or {})
    zone, fields = page.zone_of_days(request), sent_fields.offered(project=project)
    is_read = any(block.is_read for block in catalogue.blocks.values())
    return kind(
        data,
        catalogue,
        zone=zone,
        zone_reason=page.zone_reason,
        fields=fields,
        solutions=access.may_read_solutions(actor=page.actor, project=page.project),
        languages=not project.is_anonymous,
        themed=codebook.ids_by_title(project_id=project.pk) if is_read else (),
        weights=weights.offered(project),
    )


def condition_form(request: HttpRequest, page: ProjectPage) -> ConditionForm:
    """The expression of the address."""
    project = page.project
    return ConditionForm(
        request.GET,
        script_cache.of(project).catalogue.script,
        solutions=access.may_read_solutions(actor=page.actor, project=page.project),
    )


def _frame_of(request: HttpRequest, page: ProjectPage) -> dict[str, object]:
    """The context that every part needs."""
    return {
        "project": page.project,
        "may_edit": page.may_edit,
        "noun": _noun_of(page),
        "at": page.at,
        "moment": moment,
        "address": page.address(),
        "pictures": f"{page.address()}picture/",
        "picture_query": "",
        "share_address": page.address("share"),
        "responses_address": page.address("responses"),
        "script_address": page.address("script") if page.may_edit else "",
    }


def _noun_of(page: ProjectPage) -> str:
    return "vote" if page.project.is_poll else "response"


def _count(page: ProjectPage, form: ResultsForm) -> tuple[Figures, ResultsCount | None]:
    """Count the results for the form, without refused filters and segments: the form shows the reasons.

    While a worker counts, count everything, and return its job too.
    """
    form.full_clean()
    counted = None
    while counted is None:
        try:
            counted = read(page, form)
        except InvalidRequest as refusal:
            if not form.add_refusal(refusal):  # each time, fewer filters remain that can be refused
                raise
    if isinstance(counted, ResultsCount):
        return figures.count(project=page.project, derives=False, counts_themes=True), counted
    assert isinstance(counted, Figures)
    return counted, None


def read(page: ProjectPage, form: ResultsForm | None) -> Figures | ResultsCount | SharedResults:
    """The results for the form; without a form, all that the reader may see."""
    return readers.read(
        actor=page.actor,
        project=page.project,
        selection=form.weighted if form else ALL,
        segment_by=form.divided_by if form else None,
        at=page.at,
    )


def _progress_of(page: ProjectPage, form: ResultsForm | None, job: ResultsCount) -> dict[str, object]:
    address = reverse("admin:surveys_project_results_counting", args=[page.project.pk])
    query = form.whole_query if form else ""
    text = PART_COUNTED if query else SCORES_COUNTED
    return {"progress": job.progress, "address": f"{address}?{query}", "text": text}


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """The written answers on a question's card. `address` is the page with all of them."""

    excerpts: Sequence[Excerpt]
    count: int
    address: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of an answer, and its response: its respondent and time, and its address.

    `asked` are the further questions about it, each with its answer.
    """

    text: str
    title: str
    at: datetime
    address: str
    asked: Sequence[Mapping[str, str | None]] = ()


def _selected(totals: Figures) -> int:
    """The number of selected responses, those without a usable weight included."""
    left_out = totals.weighting["left_out"].values() if totals.weighting else ()
    return totals.conversation_count + sum(left_out)


def _written(page: ProjectPage, form: ResultsForm, totals: Figures) -> Mapping[int, WrittenPart]:
    """The newest written answers to each open question that has some, and the newest texts for an option of a
    choice, by block.
    """
    project = page.project
    counts = {
        each["block_id"]: each["response_count"]
        for each in totals.blocks
        if each["block_type"] == "open_text" and each["response_count"]
    }
    catalogue = script_cache.of(project).catalogue
    others = _others(catalogue, totals)
    counts |= {block_id: count for block_id, (_, count) in others.items() if count}
    newest = written.newest(
        project=project,
        block_ids=list(counts),
        selection=form.selection,
        others={block_id: option_id for block_id, (option_id, _) in others.items()},
    )
    names = names_of(project, [row for rows in newest.values() for row in rows])

    def excerpt(row: Any) -> Excerpt:
        text = Truncator(catalogue.as_read(row.block_id, row.text)).chars(LONGEST_EXCERPT)
        address = reverse("admin:surveys_project_response", args=[project.pk, row.pk])
        asked = written.asked_of(row, longest=LONGEST_EXCERPT)
        return Excerpt(text, title_of(project, row, names), row.updated_at, address, asked)

    def part(block_id: int, count: int) -> WrittenPart:
        address = reverse("admin:surveys_project_results_answers", args=[project.pk, block_id])
        query = f"?{form.query}" if form.query else ""
        return WrittenPart([excerpt(row) for row in newest.get(block_id, ())], count, f"{address}{query}")

    return {block_id: part(block_id, count) for block_id, count in counts.items()}


def _others(catalogue: Catalogue, totals: Figures) -> Mapping[int, tuple[int, int]]:
    """The options of choices for which texts are written, each with how many chose it, by block."""
    found: dict[int, tuple[int, int]] = {}
    for entry in totals.blocks if catalogue.others else ():
        for line in entry["distribution"] or ():
            if line["option_id"] in catalogue.others:
                found[entry["block_id"]] = line["option_id"], line["count"]
    return found


@dataclass(frozen=True, slots=True)
class ThemePages:
    """Addresses of a question: the page that changes its themes, if the reader may, and its answers by theme
    title.
    """

    edit: str
    answers: Mapping[str, str]


def _theme_pages(
    page: ProjectPage, form: ResultsForm, cards: Sequence[StaffCard]
) -> Mapping[int, ThemePages]:
    """The addresses of themes for each question whose answers are read, by block."""
    project = page.project
    themes = codebook.ids_by_title(project_id=project.pk)

    def pages(block_id: int) -> ThemePages:
        edit = reverse("admin:surveys_project_results_themes", args=[project.pk, block_id])
        answers = reverse("admin:surveys_project_results_answers", args=[project.pk, block_id])
        query = f"{form.query}&" if form.query else ""
        links = {title: f"{answers}?{query}theme={pk}" for title, pk in themes.get(block_id, {}).items()}
        return ThemePages(edit if page.may_own else "", links)

    return {each.card.id: pages(each.card.id) for each in cards if each.is_read}


def compared_by(totals: Figures, form: ResultsForm) -> str:
    """The readable name of the division of the figures."""
    by = totals.segment_by
    return "" if by is None else heading(by["title"], form.script) if by["prompt"] else by["title"]


def _cross_address(page: ProjectPage, form: ResultsForm) -> str:
    """The page that crosses two questions; empty without a question that divides responses."""
    if not form.has_questions:
        return ""
    address = reverse("admin:surveys_project_cross", args=[page.project.pk])
    return f"{address}?{form.query}" if form.query else address
