"""The page below a project's results that crosses two questions, and its table as a file or a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from communities.ground.errors import Forbidden, InvalidRequest, Unavailable
from communities.ground.spreadsheets import csv_line, neutralise
from communities.staff.texts import moment
from surveys.admin import pictures, results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.drawing.figures import comparison_picture, picture
from surveys.drawing.figures.crossing import SHARES, CrossForm, DrawnTable, draw
from surveys.models import ResultsCount
from surveys.services.ground import access
from surveys.services.results import readers
from surveys.services.results.crossing import CrossTable

TEMPLATE = "admin/surveys/project/cross.html"
CSV = "csv"
UNWEIGHTED = "Unweighted"
BOM = "\ufeff"  # so that spreadsheets read the file as UTF-8


@project_tab("results")
@require_safe
def cross(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The page, with a table once rows and columns are chosen; with `as` the table as a file or a picture."""
    try:
        access.require_responses_reader(actor=page.actor, project=page.project, at=page.at)
        form = results.results_form(request, page, kind=CrossForm)
        assert isinstance(form, CrossForm)
        found = _read(page, form)
    except (Forbidden, Unavailable) as refusal:
        return results.refused(request, page, refusal)
    is_running = isinstance(found, ResultsCount)
    noun = "vote" if page.project.is_poll else "response"
    table = draw(found, form, noun=noun) if isinstance(found, CrossTable) else None
    kind = request.GET.get("as", "")
    if table is not None and kind == CSV:
        return _file(page, table)
    table = table.without_empty() if table is not None else None
    if table is not None and table.count and kind in picture.CONTENT_TYPES:
        return _picture(page, form, table, kind, noun=noun)
    address = reverse("admin:surveys_project_cross", args=[page.project.pk])
    context = {
        "project": page.project,
        "noun": noun,
        "at": page.at,
        "moment": moment,
        "form": form,
        "is_filtered": bool(form.query),
        "address": address,
        "script_address": page.address("script") if page.may_edit else "",
        "table": table,
        "counting": found if is_running else None,
        "file_address": f"{address}?{form.whole_query}&as=",
        "has_choices": form.has_questions,
    }
    return page.render(
        request,
        TEMPLATE,
        {
            "fragment": results.fragment("results/cross.html", context),
            "script_address": context["script_address"],
            "back": f"{page.address()}?{form.query}" if form.query else page.address(),
            "is_wrong": bool(form.errors),
            "is_running": is_running,
        },
        status=200 if form.is_valid() else results.BAD_REQUEST,
    )


def _read(page: ProjectPage, form: CrossForm) -> CrossTable | ResultsCount | None:
    """The table for the form; None until both are chosen, and if the form shows why there is none."""
    form.full_clean()
    if form.errors or form.rows is None or form.columns is None:
        return None
    try:
        return readers.cross(
            actor=page.actor,
            project=page.project,
            selection=form.weighted,
            rows=form.rows,
            columns=form.columns,
            at=page.at,
        )
    except InvalidRequest as refusal:
        if not form.add_refusal(refusal):
            raise
        return None


def _file(page: ProjectPage, table: DrawnTable) -> HttpResponse:
    lines = ([neutralise(cell) for cell in line] for line in _lines(table))
    content = b"".join(map(csv_line, lines))
    response = HttpResponse(BOM.encode() + content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="cross-table-{page.project.pk}.csv"'
    return response


def _picture(page: ProjectPage, form: CrossForm, table: DrawnTable, kind: str, *, noun: str) -> HttpResponse:
    foot = pictures.foot_of(page, form, table.all_responses)
    drawing = comparison_picture.crossed(table, noun=noun, palette=pictures.PALETTE, foot=foot)
    return picture.download(drawing, kind=kind, name=f"cross-table-{page.project.pk}")


def _lines(table: DrawnTable) -> Iterator[Sequence[str]]:
    """The counts, the shares of rows, columns and the whole, and what is said about them."""
    is_weighted = bool(table.weighting)
    yield [f"{table.rows} × {table.columns}", *table.heads, "All", *([UNWEIGHTED] if is_weighted else [])]
    for line in table.lines:
        own = [str(line.responses)] if is_weighted else []
        yield [line.text, *(str(cell.count) for cell in line.cells), str(line.count), *own]
    yield [
        "All",
        *map(str, table.sums),
        str(table.count),
        *([str(table.all_responses)] if is_weighted else []),
    ]
    if is_weighted:
        yield [UNWEIGHTED, *map(str, table.responses), "", str(table.all_responses)]
    for key, text in SHARES.items():
        yield []
        yield [f"Percentages of {text}", *table.heads]
        for line in table.lines:
            yield [line.text, *(f"{cell.shares[key]:g}" for cell in line.cells)]
    yield []
    yield from ([sentence] for sentence in chain(table.weighting, table.sentences, table.notes))
