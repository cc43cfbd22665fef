"""Responses from a file, below the tab Responses: choosing it, matching its columns, checking, importing.

One page shows the step that the project's file is at, so it may be left and opened again at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from urllib.parse import unquote

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from communities.gate.downloads import attachment
from communities.gate.envelope import error_response
from communities.ground.errors import Refusal, Unavailable
from communities.ground.form_fields import MomentField, TextField
from communities.ground.spreadsheets import csv_line, neutralise
from communities.ground.words import plural
from communities.services.tenants.places import common_time_zones
from communities.staff import refusals
from communities.staff.site import time_zone_of
from surveys.admin.frame import ProjectPage, Tab, project_tab
from surveys.admin.results import refused, reload_page
from surveys.models import Job, ResponseFile
from surveys.services.exports.service import MEDIA_TYPES, file_name
from surveys.services.imports import files, tables
from surveys.services.imports.files import OpenFile
from surveys.services.imports.matching import BESIDE, Matching, Questions
from surveys.services.imports.readings import Readings, Way, Ways
from surveys.services.imports.walking import import_slot

PAGE = "admin/surveys/project/import.html"
PROGRESS = "admin/surveys/project/import_progress.html"
SAMPLES = 3
SHOWN_COLUMNS = 50  # of a page: each has a menu with all questions
MAX_SAMPLE = 60  # characters
SHOWN_FAULTS = 20
FAULT_HEADERS = ("line", "column", "what is wrong")
Step = ResponseFile.Step
Choices = list[tuple[str, str | list[tuple[str, str]]]]


def _owners_page(view: Tab) -> Tab:
    """A page for people who may import responses: those who own the project."""

    @wraps(view)
    def wrapped(request: HttpRequest, page: ProjectPage, **parts: object) -> HttpResponseBase:
        if not page.may_own:
            raise PermissionDenied
        return view(request, page, **parts)

    return project_tab("responses")(wrapped)


class PasteForm(forms.Form):
    """Rows copied from a spreadsheet, for browsers without scripts."""

    rows = TextField(
        label="Or paste the rows",
        max_length=500_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="Copied from a spreadsheet, with the names of the columns in the first row.",
    )


class MatchingForm(forms.Form):
    """The target of each column of a page, and how its cells are read. `first` is one of their indexes."""

    zone = forms.ChoiceField(label="Times are in", help_text="For times that name no zone themselves.")
    moment = MomentField(label="Time of responses without one", required=True)

    def __init__(self, data: QueryDict | None = None, *, opened: OpenFile, first: int) -> None:
        self.matching = matching = opened.matching
        last = (len(matching.columns) - 1) // SHOWN_COLUMNS * SHOWN_COLUMNS
        self.first = min(last, first // SHOWN_COLUMNS * SHOWN_COLUMNS)
        self.shown = range(self.first, min(self.first + SHOWN_COLUMNS, len(matching.columns)))
        super().__init__(data, initial={"zone": matching.zone, "moment": _moment(matching)})
        self.readings = readings = Readings(opened.table, matching, opened.found)
        zones = dict.fromkeys(["UTC", matching.zone, *common_time_zones()])
        self.fields["zone"].choices = [(each, each) for each in zones]  # type: ignore[attr-defined]
        for index in self.shown:
            header, target = opened.table.headers[index], matching.columns[index]
            self.fields[f"column_{index}"] = forms.ChoiceField(
                label=header or f"Column {index + 1}",
                required=False,
                choices=_choices(opened.found, header, target, matching.hints.get(str(index), "")),
                initial=target,
            )
            ways = readings.ways(index) if target else Ways([])
            if len(ways.all) > 1:
                self.fields[f"reading_{index}"] = forms.ChoiceField(
                    label=f"{header or index + 1} is read as",
                    required=False,
                    choices=[("", "As the column shows" if ways.is_clear else "Choose"), *_named(ways.all)],
                    initial=matching.readings.get(str(index), ""),
                )
            if opened.found.block(target):
                self.fields[f"missing_{index}"] = TextField(
                    label=f"Cells of {header or index + 1} that are no answer",
                    required=False,
                    max_length=500,
                    initial="; ".join(readings.marks(index)),
                    widget=forms.TextInput(attrs={"placeholder": "No answer: NA; -99"}),
                )

    @property
    def chosen(self) -> Matching:
        """The matching that was sent. If the target of a column changes, the choices for its cells are
        discarded.
        """
        cleaned, before = self.cleaned_data, self.matching
        columns = [cleaned.get(f"column_{n}", target) for n, target in enumerate(before.columns)]
        readings, missing = {**before.readings}, {**before.missing}
        for index in self.shown:
            key = str(index)
            if columns[index] != before.columns[index]:
                readings.pop(key, None)
                missing.pop(key, None)
                continue
            if f"reading_{key}" in self.data:
                readings[key] = cleaned.get(f"reading_{key}", "")
            field = self.fields.get(f"missing_{key}")
            if f"missing_{key}" in self.data and field and cleaned[f"missing_{key}"] != field.initial:
                marks = cleaned[f"missing_{key}"].split(";")
                missing[key] = [each for mark in marks if (each := mark.strip())]
        return replace(
            before,
            columns=columns,
            zone=cleaned["zone"],
            moment=cleaned["moment"].isoformat(),
            readings={key: way for key, way in readings.items() if way},
            missing=missing,
        )


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column of the file as the page draws it."""

    header: str
    samples: Sequence[str]
    field: forms.BoundField
    reading: forms.BoundField | None
    missing: forms.BoundField | None
    facts: Sequence[str]
    is_clear: bool
    hint: str


def _moment(matching: Matching) -> object:
    return forms.DateTimeField().to_python(matching.moment)


def _named(ways: Sequence[Way]) -> list[tuple[str, str]]:
    return [(way.key, way.words[:1].upper() + way.words[1:]) for way in ways]


def _choices(found: Questions, header: str, target: str, hint: str) -> Choices:
    """The targets that a column may have. The options of a question are offered once the column is matched
    with it.
    """
    own = found.options_of(target)
    questions = [(key, text) for key, text in found.titles.items() if key[:2] in ("b:", "t:")]
    names = [*found.fields, header.removeprefix("field."), target.removeprefix("f:")]
    fields = [(f"f:{name}", name) for name in dict.fromkeys(names) if found.is_target(f"f:{name}")]
    groups: list[tuple[str, list[tuple[str, str]]]] = [
        ("Perhaps", [(hint, found.titles[hint])] if hint in found.titles and not own else []),
        ("One of its options", [(key, found.titles[key]) for key in own]),
        ("Questions", questions),
        ("Beside the answers", list(BESIDE.items())),
        ("Fields", fields),
    ]
    return [("", "Not imported"), *((name, members) for name, members in groups if members)]


# --- Pages ------------------------------------------------------------------------------------------


@_owners_page
@require_http_methods(["GET", "HEAD", "POST"])
def page_of_file(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The step of the project's file; POST changes the file, its matching or its step."""
    do = request.POST.get("do", "")
    if do == "paste":
        return _paste(request, page)
    reads = do not in ("import", "discard") and ResponseFile.objects.filter(project=page.project).exists()
    try:
        with import_slot(community_id=page.project.community_id) if reads else nullcontext():
            return _change(request, page, do) if request.method == "POST" else _draw(request, page)
    except Unavailable as busy:
        return refused(request, page, busy)


@_owners_page
@require_POST
def receive(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """Keep the file in the body, and return the address of the page that matches it, or what is wrong."""
    try:
        _receive(request, page, name=unquote(request.headers.get("X-File-Name", "")), data=request.body)
    except Refusal as refusal:
        return error_response(refusal, request)
    return JsonResponse({"address": page.address("responses_import")})


receive.takes_questionnaire = True  # type: ignore[attr-defined]  # `gate.bodies` admits larger bodies


@_owners_page
@require_safe
def progress(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """How far the worker is, polled by the page, which is loaded again at the end."""
    row = ResponseFile.objects.filter(project=page.project).first()
    if row is None or row.is_finished:
        return reload_page()
    return TemplateResponse(request, PROGRESS, {"file": row, "is_import": row.step == Step.IMPORTING})


@_owners_page
@require_safe
def faults(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The faulty rows as CSV: line, column, and what is wrong."""
    opened = files.look(actor=page.actor, project=page.project)
    if opened is None:
        raise Http404
    lines = [csv_line(FAULT_HEADERS)]
    for each in opened.faults:
        lines.append(csv_line([str(each.line), neutralise(each.column), neutralise(each.message)]))
    response = HttpResponse(b"\xef\xbb\xbf" + b"".join(lines), content_type=MEDIA_TYPES["csv"])
    response["Content-Disposition"] = attachment(file_name(f"{page.project.name} faults", "csv"))
    return response


def _receive(request: HttpRequest, page: ProjectPage, *, name: str, data: bytes) -> None:
    with import_slot(community_id=page.project.community_id):
        files.receive(
            actor=page.actor,
            project=page.project,
            name=name,
            data=data,
            zone=time_zone_of(request).key,
            at=page.at,
        )


def _paste(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    form = PasteForm(request.POST)
    if form.is_valid():
        try:
            _receive(request, page, name="Pasted rows", data=form.cleaned_data["rows"].encode())
        except Unavailable as busy:
            form.add_error("rows", busy.message)
            response = _draw(request, page, paste=form)
            response.status_code, response["Retry-After"] = 503, str(busy.retry_after)
            return response
        except Refusal as refusal:
            form.add_error("rows", refusal.message)
    if form.errors:
        return _draw(request, page, paste=form)
    return HttpResponseRedirect(page.address("responses_import"), status=303)


def _change(request: HttpRequest, page: ProjectPage, do: str) -> HttpResponseBase:
    try:
        if do in ("update", "check", "before", "after"):
            return _match(request, page, do)
        if do == "change":
            _match_again(page)
        elif do == "import":
            files.begin_import(actor=page.actor, project=page.project, at=page.at)
        elif do == "discard":
            files.discard(actor=page.actor, project=page.project)
    except Refusal as refusal:
        messages.error(request, refusal.message)
    return HttpResponseRedirect(page.address("responses_import"), status=303)


def _match(request: HttpRequest, page: ProjectPage, do: str) -> HttpResponseBase:
    opened = files.look(actor=page.actor, project=page.project)
    if opened is None:
        return HttpResponseRedirect(page.address("responses_import"), status=303)
    form = MatchingForm(request.POST, opened=opened, first=_first(request.POST))
    if form.is_valid():
        try:
            files.match(actor=page.actor, project=page.project, chosen=form.chosen)
        except Refusal as refusal:
            refusals.add_to_form(form, refusal)
    if form.errors:
        return _draw(request, page, form=form)
    if do == "check":
        try:
            readings = Readings(opened.table, form.chosen, opened.found)
            files.refuse_unclear(readings, form.shown)
            files.check(actor=page.actor, project=page.project)
        except Refusal as refusal:
            messages.error(request, refusal.message)
            do = "update"
    first = form.first + {"before": -SHOWN_COLUMNS, "after": SHOWN_COLUMNS}.get(do, 0)
    shown = f"?first={first}" if first > 0 and do != "check" else ""
    return HttpResponseRedirect(page.address("responses_import") + shown, status=303)


def _first(sent: QueryDict) -> int:
    """The index of the first column of the page; zero for anything else."""
    text = sent.get("first", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0


def _match_again(page: ProjectPage) -> None:
    """Go back to the matching."""
    opened = files.look(actor=page.actor, project=page.project)
    if opened is not None:
        files.match(actor=page.actor, project=page.project, chosen=opened.matching)


def _draw(
    request: HttpRequest,
    page: ProjectPage,
    *,
    form: MatchingForm | None = None,
    paste: PasteForm | None = None,
) -> HttpResponseBase:
    opened = None if paste else files.look(actor=page.actor, project=page.project)
    context: dict[str, object] = {
        "back": page.address("responses"),
        "paste": paste or PasteForm(),
        "form": paste,
        "receive_address": page.address("responses_import_file"),
        "most_rows": tables.MAX_ROWS,
    }
    if opened is not None:
        context |= _of_file(opened, form, _first(request.GET)) | {"file": opened.row}
    has_errors = (form is not None and form.errors) or (paste is not None and paste.errors)
    return page.render(request, PAGE, context, status=422 if has_errors else 200)


def _of_file(opened: OpenFile, form: MatchingForm | None, first: int) -> dict[str, object]:
    row, counts = opened.row, opened.row.counts
    context: dict[str, object] = {
        "is_running": not row.is_finished,
        "is_import": row.step == Step.IMPORTING,
        "is_matching": row.step == Step.MATCHING,
        "has_failed": row.status == Job.Status.FAILED,
        "rows": plural(row.row_count, "row"),
        **{name: counts.get(name, 0) for name in ("new", "partial", "known", "faulty")},
        "new_in_words": plural(counts.get("new", 0), "response"),
        "notes": opened.table.notes,
    }
    if row.step == Step.MATCHING:
        form = form or MatchingForm(opened=opened, first=first)
        columns = list(_columns(opened, form))
        matched = sum(bool(each) for each in opened.matching.columns)
        others = [form[name] for name in ("zone", "moment")]
        return context | {
            "form": form,
            "columns": columns,
            "width": len(opened.matching.columns),
            "last": form.shown.stop,
            "matched": matched,
            "others": others,
        }
    found = opened.faults
    titles = opened.found.titles
    read = [
        (opened.table.headers[n] or f"Column {n + 1}", titles.get(target, target[2:]), facts)
        for n, facts in opened.facts
        if (target := opened.matching.columns[n])
    ]
    return context | {
        "read": read,
        "faults": found[:SHOWN_FAULTS],
        "more_faults": max(0, len(found) - SHOWN_FAULTS),
    }


def _columns(opened: OpenFile, form: MatchingForm) -> Iterator[ColumnRow]:
    for index in form.shown:
        header = opened.table.headers[index]
        samples = list(dict.fromkeys(opened.table.column(index)))[:SAMPLES]
        short = [each if len(each) <= MAX_SAMPLE else f"{each[:MAX_SAMPLE]}…" for each in samples]
        target, hint = opened.matching.columns[index], opened.matching.hints.get(str(index), "")
        names = (f"reading_{index}", f"missing_{index}")
        reading, missing = (form[name] if name in form.fields else None for name in names)
        yield ColumnRow(
            header or f"Column {index + 1}",
            short,
            form[f"column_{index}"],
            reading,
            missing,
            facts=list(form.readings.facts(index)) if target else [],
            is_clear=not target or form.readings.ways(index).is_clear,
            hint="" if target else opened.found.titles.get(hint, hint[2:]),
        )
