"""Pages on which staff change the themes of an open question, and correct the reading of one answer.

Both pages are below a project's results, for people who may edit the project.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.forms.boundfield import BoundField
from django.http import Http404, HttpRequest, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from communities.forms import once
from communities.forms.once import CreationForm
from communities.ground.errors import Conflict, Forbidden, InvalidRequest, NotFound
from communities.ground.form_fields import TextField
from communities.ground.ids import id_of
from communities.staff.refusals import add_to_form
from surveys.admin import results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.respondents import names_of, noun_of, title_of
from surveys.ai.provider import MAX_THEME_DESCRIPTION, MAX_THEME_TITLE
from surveys.drawing.figures import overview
from surveys.drawing.figures.texts import SENTIMENTS
from surveys.engine.flow.wording import heading
from surveys.models import Project, Theme
from surveys.services.ai_work import codebook
from surveys.services.ai_work.codebook import MAX_THEMES, Merge, ReadCodebook, ThemeChange
from surveys.services.ai_work.readings import MAX_THEMES_OF_ANSWER
from surveys.services.ground import access
from surveys.services.responses import reading
from surveys.services.results import written
from surveys.services.scripts import cache as script_cache

THEMES = "admin/surveys/project/themes.html"
ANSWER = "admin/surveys/project/answer.html"
KEEP, REMOVE, MERGE = "keep", "remove", "into-"
MAX_NEW = 3  # themes that one submission of the form adds
INVALID, CHANGED = 422, 409
CHANGED_MEANWHILE = (
    "The themes were changed while you had this form open, so nothing was saved. What you typed is still "
    "here, and the form says where the stored text differs. Look it through, then save again."
)
GONE_MEANWHILE = "Removed or merged meanwhile, with what you typed for it: “{}”."
NOT_SINGLE = "Choose a theme that stays: this one is removed or merged itself."
NO_TITLE = "Type a title, or choose to remove the theme."
THEME_IS_GONE = "A theme that you chose was removed or merged meanwhile. Choose again."


class ThemesForm(CreationForm):
    """All themes of a question, each with its planned change, and a few new ones."""

    version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any] | None, *, version: int, themes: Sequence[Theme]) -> None:
        super().__init__(data, initial={"version": version})
        self.themes = themes
        for theme in themes:
            self._add_theme(f"{theme.pk}", theme)
            fate = [(KEEP, "Keep it"), (REMOVE, "Remove it: its answers stay, without this theme")]
            fate += [(f"{MERGE}{each.pk}", f"Merge into “{each.title}”") for each in themes if each != theme]
            self.fields[f"fate_{theme.pk}"] = forms.ChoiceField(label="On saving", choices=fate)
        self.new: Sequence[int] = range(min(MAX_NEW, MAX_THEMES - len(themes)))
        if data is not None:
            self.new = [n for n in range(MAX_NEW) if f"title_new{n}" in data]
        for n in self.new:
            self._add_theme(f"new{n}", None)

    def _add_theme(self, key: str, theme: Theme | None) -> None:
        self.fields[f"title_{key}"] = TextField(
            label="Title", required=False, max_length=MAX_THEME_TITLE, initial=theme.title if theme else ""
        )
        self.fields[f"description_{key}"] = TextField(
            label="Description",
            required=False,
            max_length=MAX_THEME_DESCRIPTION,
            initial=theme.description if theme else "",
            widget=forms.Textarea(attrs={"rows": 2}),
        )
        self.fields[f"pinned_{key}"] = forms.BooleanField(
            label="Pinned", required=False, initial=theme.is_pinned if theme else True
        )

    @property
    def rows(self) -> list[tuple[str, list[BoundField]]]:
        """Each existing theme: its stored title, and its fields."""
        return [(theme.title, self._fields_of(f"{theme.pk}")) for theme in self.themes]

    @property
    def new_rows(self) -> list[tuple[str, list[BoundField]]]:
        """The fields of new themes."""
        return [(f"New theme {n + 1}", self._fields_of(f"new{n}")) for n in self.new]

    def _fields_of(self, key: str) -> list[BoundField]:
        names = (f"{part}_{key}" for part in ("title", "description", "pinned", "fate"))
        return [self[name] for name in names if name in self.fields]

    def clean(self) -> None:
        """Refuse themes without a title, and merges into a theme that is removed."""
        ending = [f"{theme.pk}" for theme in self.themes if self._fate(theme) != KEEP]
        for theme in self.themes:
            fate = self._fate(theme)
            if fate == KEEP and not self._typed("title", f"{theme.pk}"):
                self._refuse_once(f"title_{theme.pk}", NO_TITLE)
            if fate.removeprefix(MERGE) in ending:
                self._refuse_once(f"fate_{theme.pk}", NOT_SINGLE)
        for n in self.new:
            if self._typed("description", f"new{n}") and not self._typed("title", f"new{n}"):
                self._refuse_once(f"title_new{n}", "Type a title, or leave the description empty too.")

    def _refuse_once(self, name: str, message: str) -> None:
        if name not in self.errors:
            self.add_error(name, message)

    def _typed(self, part: str, key: str) -> Any:
        return self.cleaned_data.get(f"{part}_{key}")

    def _fate(self, theme: Theme) -> str:
        return str(self._typed("fate", f"{theme.pk}") or KEEP)

    @property
    def kept_keys(self) -> list[str]:
        """The keys of the remaining themes of the question, as far as the form contains them, in order."""
        kept = [f"{theme.pk}" for theme in self.themes if self._fate(theme) == KEEP]
        return kept + [f"new{n}" for n in self.new if self._typed("title", f"new{n}")]

    def wanted(self) -> list[ThemeChange]:
        """The themes of `kept_keys` with the submitted titles."""
        return [
            ThemeChange(
                self._typed("title", key),
                self._typed("description", key),
                self._typed("pinned", key),
                id_of(key),
            )
            for key in self.kept_keys
        ]

    def merges(self) -> list[Merge]:
        """The merges, one for each theme into which others are merged."""
        sources: dict[int, list[int]] = {}
        for theme in self.themes:
            if self._fate(theme).startswith(MERGE):
                sources.setdefault(int(self._fate(theme).removeprefix(MERGE)), []).append(theme.pk)
        return [Merge(ids, into) for into, ids in sources.items()]

    def refuse(self, refusal: InvalidRequest) -> None:
        """Show the refusal of the service, at the faulty titles."""
        fields = {f"themes[{n}].title": f"title_{key}" for n, key in enumerate(self.kept_keys)}
        add_to_form(self, refusal, fields=fields)


@project_tab("results")
@require_http_methods(["GET", "HEAD", "POST"])
def themes(request: HttpRequest, page: ProjectPage, block_id: int) -> HttpResponseBase:
    """GET draws the themes of a question as a form; POST saves them, unless they have changed meanwhile."""
    try:
        access.require_owner(actor=page.actor, project=page.project)
        book = codebook.read(project=page.project, block_id=block_id)
    except NotFound:
        raise Http404 from None
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    if request.method != "POST":
        return _draw(
            request, page, block_id, ThemesForm(None, version=book.version, themes=book.themes), status=200
        )
    sent = [theme for theme in book.themes if f"title_{theme.pk}" in request.POST]
    form = ThemesForm(request.POST, version=book.version, themes=sent)
    if not form.is_valid():
        return _draw(request, page, block_id, form, status=INVALID)

    def save() -> str:
        # A form with a part of the themes leaves the other themes unchanged.
        rest = [ThemeChange(theme.title, id=theme.pk) for theme in book.themes if theme not in sent]
        codebook.change(
            project=page.project,
            block_id=block_id,
            themes=[*form.wanted(), *rest],
            merges=form.merges(),
            actor=page.actor,
            at=page.at,
            versions_allowed={form.cleaned_data["version"]},
        )
        messages.success(request, "Saved.")
        return request.path

    try:
        return once.redirect(request, form.cleaned_data["ticket"], save)
    except InvalidRequest as refusal:
        form.refuse(refusal)
        return _draw(request, page, block_id, form, status=INVALID)
    except Conflict:
        book = codebook.read(project=page.project, block_id=block_id)
        return _draw(request, page, block_id, _after_a_change(request.POST, book), status=CHANGED)


def _after_a_change(data: QueryDict, book: ReadCodebook) -> ThemesForm:
    """The form with the typed values, on top of themes that were changed meanwhile."""
    mixed = data.copy()
    mixed["version"] = f"{book.version}"
    for theme in book.themes:
        if f"title_{theme.pk}" not in data:
            mixed[f"title_{theme.pk}"] = theme.title
            mixed[f"description_{theme.pk}"] = theme.description
            mixed[f"fate_{theme.pk}"] = KEEP
            if theme.is_pinned:
                mixed[f"pinned_{theme.pk}"] = "on"
    form = ThemesForm(mixed, version=book.version, themes=book.themes)
    for theme in book.themes:
        for part, stored in (("title", theme.title), ("description", theme.description)):
            field = form[f"{part}_{theme.pk}"]
            if field.value() != stored:
                field.help_text = f"Stored now: “{stored}”"
    form.add_error(None, CHANGED_MEANWHILE)
    there = {f"title_{theme.pk}" for theme in book.themes}
    for name, title in data.items():
        if name.startswith("title_") and not name.startswith("title_new") and name not in there:
            form.add_error(None, GONE_MEANWHILE.format(title))
    return form


def _draw(
    request: HttpRequest, page: ProjectPage, block_id: int, form: ThemesForm, *, status: int
) -> HttpResponseBase:
    context = {
        "form": form,
        "prompt": _prompt(page.project, block_id),
        "most": MAX_THEMES,
        "offer": overview.analysis_status(page.project, covers="all").offer,
        "back": f"{page.address()}#question-{block_id}",
        "analysis_address": f"{page.address()}#analysis",
    }
    return page.render(request, THEMES, context, status=status)


def _prompt(project: Project, block_id: int) -> str:
    catalogue = script_cache.of(project).catalogue
    return heading(catalogue.blocks[block_id].prompt, catalogue.script)


# --- One answer -------------------------------------------------------------------------------------------


class ReadingForm(forms.Form):
    """The reading of an answer by a person."""

    themes = forms.TypedMultipleChoiceField(
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=f"At most {MAX_THEMES_OF_ANSWER}; none if the answer fits none.",
        error_messages={"invalid_choice": THEME_IS_GONE},
    )
    sentiment = forms.ChoiceField(
        required=False, widget=forms.RadioSelect, choices=[*SENTIMENTS.items(), ("", "Cannot be judged")]
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None,
        *,
        themes: Sequence[Theme],
        now: reading.AnswerReading | None,
    ) -> None:
        initial = {"themes": list(now.themes), "sentiment": now.sentiment or ""} if now else {"sentiment": ""}
        super().__init__(data, initial=initial)
        choice = self.fields["themes"]
        assert isinstance(choice, forms.TypedMultipleChoiceField)
        choice.choices = [(theme.pk, theme.title) for theme in themes]
        if not themes:
            del self.fields["themes"]

    def clean_themes(self) -> list[int]:
        """The ids of the chosen themes. Refuses more themes than an answer can have."""
        chosen: list[int] = self.cleaned_data["themes"]
        if len(chosen) > MAX_THEMES_OF_ANSWER:
            raise forms.ValidationError(
                f"Choose at most {MAX_THEMES_OF_ANSWER} themes, those that the answer is about most."
            )
        return chosen


@project_tab("results")
@require_http_methods(["GET", "HEAD", "POST"])
def answer(
    request: HttpRequest, page: ProjectPage, block_id: int, response_id: uuid.UUID
) -> HttpResponseBase:
    """GET draws the reading of one answer as a form; POST corrects it."""
    project = page.project
    try:
        access.require_owner(actor=page.actor, project=project)
        access.require_responses_reader(actor=page.actor, project=project, at=page.at)
        book = codebook.read(project=project, block_id=block_id)
    except NotFound:
        raise Http404 from None
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    row = written.answer(project=project, block_id=block_id, response_id=response_id)
    if row is None:
        raise Http404
    readings = reading.answer_readings(project=project, response_ids=[response_id])
    now = readings.get((response_id, block_id))
    form = ReadingForm(request.POST if request.method == "POST" else None, themes=book.themes, now=now)
    back = _back(request, page, block_id, response_id)
    if form.is_bound and form.is_valid():
        try:
            codebook.correct(
                actor=page.actor,
                response_id=response_id,
                block_id=block_id,
                themes=form.cleaned_data.get("themes", []),
                sentiment=form.cleaned_data["sentiment"] or None,
                at=page.at,
            )
        except NotFound:
            raise Http404 from None
        except InvalidRequest:
            form.add_error("themes" if "themes" in form.fields else None, THEME_IS_GONE)
        else:
            messages.success(request, "Put right. No analysis changes it again.")
            return HttpResponseRedirect(back)
    context = {
        "form": form,
        "prompt": _prompt(project, block_id),
        "text": row.text,
        "asked": row.asked or (),
        "who": title_of(project, row, names_of(project, [row])),
        "noun": noun_of(project),
        "is_corrected": now is not None and now.is_corrected,
        "has_themes": bool(book.themes),
        "themes_address": reverse("admin:surveys_project_results_themes", args=[project.pk, block_id]),
        "back": back,
    }
    return page.render(request, ANSWER, context, status=INVALID if form.errors else 200)


def _back(request: HttpRequest, page: ProjectPage, block_id: int, response_id: uuid.UUID) -> str:
    """The previous page of the reader: the response, or the list with its filters."""
    if request.GET.get("from") == "response":
        return reverse("admin:surveys_project_response", args=[page.project.pk, response_id])
    address = reverse("admin:surveys_project_results_answers", args=[page.project.pk, block_id])
    query = request.GET.urlencode()
    return f"{address}{'?' if query else ''}{query}#answer-{response_id}"
