"""The page below a project's results with its dashboard, and the form that chooses its charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase

from communities.ground.errors import Forbidden, InvalidRequest, Unavailable
from communities.ground.form_fields import TextField
from communities.staff.texts import moment
from surveys.admin import results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.drawing.figures import overview
from surveys.drawing.figures.charts import Card
from surveys.drawing.figures.filters import ConditionForm
from surveys.drawing.figures.weighting import words_of
from surveys.engine.flow.wording import heading
from surveys.models import Dashboard, ResultsCount
from surveys.services.counting import weights
from surveys.services.ground import access
from surveys.services.representations.project import results_url
from surveys.services.results import dashboards, readers
from surveys.services.results.figures import Figures
from surveys.services.scripts import cache as script_cache

TEMPLATE = "admin/surveys/project/dashboard.html"
UP, DOWN = "up", "down"


class DashboardForm(ConditionForm):
    """The charts in their order, and what they count."""

    title = TextField(
        label="Title",
        max_length=dashboards.MAX_TITLE,
        required=False,
        help_text="Above the charts, for instance “Members in the north”. Without one, the project’s name.",
    )
    charts = forms.MultipleChoiceField(label="Charts", required=False)
    weight_by = forms.ChoiceField(
        label="Weigh by",
        required=False,
        help_text="A declared field whose numbers weigh the responses. All charts are marked as weighted.",
    )
    is_shared = forms.BooleanField(
        label="Show this dashboard at the address of the shared results",
        required=False,
        help_text="In the place of all questions, to everybody who has the address. With a condition or a "
        "weight, questions with fewer than 5 answers are not shown there, and of numbers only the mean.",
    )

    def __init__(self, data: QueryDict, page: ProjectPage, questions: Mapping[int, str]) -> None:
        project = page.project
        super().__init__(
            data,
            script_cache.of(project).catalogue.script,
            solutions=access.may_read_solutions(actor=page.actor, project=project),
        )
        self._sent = data
        self.questions = {str(pk): heading(prompt, self.script) for pk, prompt in questions.items()}
        names = weights.offered(project)
        self.fields["charts"].choices = list(self.questions.items())  # type: ignore[attr-defined]
        self.fields["weight_by"].choices = [("", "Nothing"), *((name, name) for name in names)]  # type: ignore[attr-defined]
        self.fields["where"].label = "Responses with"
        if not names and not data.get("weight_by"):
            del self.fields["weight_by"]

    @property
    def rows(self) -> list[tuple[str, str, bool]]:
        """The questions in their order, each with its id and whether its chart is chosen."""
        checked = self._sent.getlist("charts")
        named = [
            each for each in dict.fromkeys([*self._sent.getlist("order"), *checked]) if each in self.questions
        ]
        moved, _, step = str(self._sent.get("move", "")).partition(":")
        order = [*named, *(each for each in self.questions if each not in named)]
        if moved in order:
            place = order.index(moved)
            order.remove(moved)
            order.insert(max(0, place + (1 if step == DOWN else -1)), moved)
        return [(each, self.questions[each], each in checked) for each in order]

    def add_refusal(self, refusal: InvalidRequest) -> None:
        """Add the violations of a service to the fields that they name."""
        for each in refusal.violations:
            name = "charts" if each["field"] == "block_ids" else str(each["field"])
            self.add_error(name if name in self.fields else None, str(each["message"]))


@project_tab("results")
def dashboard(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """Draw the dashboard and its form; keep or remove it. A button that moves a chart keeps nothing yet."""
    try:
        access.require_responses_reader(actor=page.actor, project=page.project, at=page.at)
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    own = dashboards.of(page.project)
    if request.method != "POST":
        return _drawn(request, page, own, DashboardForm(_kept_in(own, request.GET), page, _questions(page)))
    if not page.may_edit:
        raise PermissionDenied
    form = DashboardForm(request.POST, page, _questions(page))
    if "remove" in request.POST:
        dashboards.remove(actor=page.actor, project_id=page.project.pk, at=page.at)
        messages.success(request, "The dashboard is removed.")
        return HttpResponseRedirect(page.address("dashboard"))
    if "move" in request.POST:
        return _drawn(request, page, own, form, is_open=True)
    if form.is_valid() and _kept(page, form):
        messages.success(request, "Saved.")
        return HttpResponseRedirect(page.address("dashboard"))
    return _drawn(request, page, own, form, is_open=True, status=results.BAD_REQUEST)


def _kept(page: ProjectPage, form: DashboardForm) -> bool:
    chosen = form.cleaned_data
    try:
        dashboards.change(
            actor=page.actor,
            project_id=page.project.pk,
            title=chosen["title"],
            block_ids=[int(each) for each, _, is_chosen in form.rows if is_chosen],
            where=chosen["where"],
            weight_by=chosen.get("weight_by", ""),
            is_shared=chosen["is_shared"],
            at=page.at,
        )
    except InvalidRequest as refusal:
        form.add_refusal(refusal)
        return False
    return True


def _questions(page: ProjectPage) -> Mapping[int, str]:
    return dashboards.questions(page.project)


def _kept_in(own: Dashboard | None, filters: QueryDict) -> QueryDict:
    """The values of the form before anything was sent: those of the dashboard, or of the results' filters."""
    data = QueryDict(mutable=True)
    if own is None:
        data.update({name: filters.get(name, "") for name in ("where", "weight_by")})
    else:
        data.setlist("charts", [str(each) for each in own.block_ids])
        data.update({"title": own.title, "where": own.where, "weight_by": own.weight_by})
        if own.is_shared:
            data["is_shared"] = "on"
    return data


def _drawn(
    request: HttpRequest,
    page: ProjectPage,
    own: Dashboard | None,
    form: DashboardForm,
    *,
    is_open: bool = False,
    status: int = 200,
) -> HttpResponse:
    refusal, job, counted = "", None, None
    try:
        counted = _counted(page, own) if own is not None else None
    except (InvalidRequest, Unavailable) as refused:
        refusal = refused.message
    if isinstance(counted, ResultsCount):
        counted, job = None, counted
    project = page.project
    noun = "vote" if project.is_poll else "response"
    cards = _cards(page, own, counted) if own is not None and counted is not None else []
    context = {
        "project": project,
        "noun": noun,
        "at": page.at,
        "moment": moment,
        "board": own,
        "cards": cards,
        "counted": counted,
        "weighting": words_of(counted.weighting, noun=noun) if counted is not None else [],
        "refusal": refusal,
        "counting": job,
        "pictures": f"{page.address()}picture/",
        "picture_query": _query(own),
    }
    return page.render(
        request,
        TEMPLATE,
        {
            "fragment": results.fragment("results/dashboard.html", context),
            "form": form,
            "board": own,
            "is_open": is_open or own is None,
            "is_wrong": bool(form.is_bound and status != 200),
            "is_running": job is not None,
            "back": page.address(),
            "share_address": page.address("share"),
            "script_address": page.address("script"),
            "results_url": results_url(project) if project.share_results else "",
        },
        status=status,
    )


def _query(own: Dashboard | None) -> str:
    """The selection of a dashboard as filters of the results."""
    narrowed = {"where": own.where, "weight_by": own.weight_by} if own is not None else {}
    query = urlencode({name: value for name, value in narrowed.items() if value})
    return f"?{query}" if query else ""


def _counted(page: ProjectPage, own: Dashboard) -> Figures | ResultsCount:
    found = readers.read(
        actor=page.actor, project=page.project, selection=dashboards.selection_of(own), at=page.at
    )
    assert isinstance(found, Figures | ResultsCount)
    return found


def _cards(page: ProjectPage, own: Dashboard, counted: Figures) -> Sequence[Card]:
    project = page.project
    cards = overview.cards_of(project, counted, {}, is_filtered=own.is_narrowed)
    by_id = {each.card.id: each.card for each in cards if not each.card.is_removed}
    chosen = [by_id[each] for each in own.block_ids if each in by_id]
    return [replace(card, number=number) for number, card in enumerate(chosen, start=1)]
