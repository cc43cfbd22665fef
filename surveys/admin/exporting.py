"""Files of responses in the admin: the offered formats, the number of rows, and the progress of a
download.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from django.core.cache import cache
from django.http import HttpRequest, JsonResponse, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET
from django_redis.exceptions import ConnectionInterrupted

from communities.ground.errors import InvalidRequest, Refusal
from surveys.admin.frame import ProjectPage, project_tab
from surveys.models import Project
from surveys.services.exports.cells import FileOptions
from surveys.services.exports.service import INSTALLED

FORMATS = {
    "csv": "CSV",
    "xlsx": "Excel",
    "sav": "SPSS",
    "parquet": "Parquet",
    "json": "JSON",
    "ndjson": "NDJSON",
}
# The options of each format at one press: sheets for people mark missing answers (rules 6.63 to 6.65).
AS_OFFERED = {"csv": "&missing=marked&bom=1", "xlsx": "&missing=marked"}
TABLES = ("csv", "xlsx", "parquet", "sav")  # these may have codes, and all but SPSS a row for each answer
_LONG_SPSS = "An SPSS file has one response in a row. Choose another file for one answer in a row."
_LONG_MARKED = (
    "With one answer in a row there are no rows for missing answers. Choose one response in a row to mark "
    "them."
)
_LARGE_SPSS = (
    "These responses do not fit into an SPSS file. Choose fewer days with the filters, or download Parquet "
    "or CSV, which hold any number of responses."
)
LARGE = 20_000  # responses; takes some seconds
KEPT_FOR = 600  # seconds
_WATCH = re.compile(r"[0-9a-f-]{36}").fullmatch


@dataclass(frozen=True, slots=True)
class Offer:
    """The files of the selected responses. `watch` is the address of their progress; empty for small files.

    `address` with `filters` accepts the choices of a form: the kind of file, codes, a row for each answer.
    """

    count: int
    noun: str
    files: list[tuple[str, str]]
    watch: str
    address: str = ""
    tables: list[tuple[str, str]] = field(default_factory=list)
    filters: list[tuple[str, str]] = field(default_factory=list)


def choice_of(query: QueryDict, *, solutions: bool) -> FileOptions | None:
    """The requested file, with or without `solutions`; None for a file that no page offers.

    Raises InvalidRequest for two combinations that the form allows but no file supports: an SPSS file with a
    row for each answer, and marks of missing answers with a row for each answer.
    """
    choice = FileOptions(
        format=query.get("format", "csv"),
        codes=query.get("values") == "codes",
        own_values=query.get("values") == "values",
        marks_missing=query.get("missing") == "marked",
        is_long=query.get("form") == "long",
        with_bom=query.get("bom") == "1",
        solutions=solutions,
    )
    is_of_table = choice.codes or choice.own_values or choice.marks_missing or choice.is_long
    if choice.format not in FORMATS or (choice.format not in TABLES and is_of_table):
        return None
    if choice.is_long and choice.marks_missing:
        raise InvalidRequest(_LONG_MARKED)
    if choice.format == "sav" and choice.is_long:
        raise InvalidRequest(_LONG_SPSS)
    return choice


def in_words(refusal: Refusal, choice: FileOptions | None) -> Refusal:
    """A refusal in the words of the tab, because the interface's names would not help there."""
    is_too_large = isinstance(refusal, InvalidRequest) and any(
        each["field"] == "format" and each["code"] == "too_many" for each in refusal.violations
    )
    if choice is not None and choice.format == "sav" and is_too_large:
        return InvalidRequest(_LARGE_SPSS)
    return refusal


def offered(page: ProjectPage, *, query: str, count: int) -> Offer:
    """The files of `count` responses, selected by the filters of `query`."""
    project = page.project
    address = reverse("admin:surveys_project_results_export", args=[project.pk])
    rest = f"&{query}" if query else ""
    files = [
        (label, f"{address}?format={format}{AS_OFFERED.get(format, '')}{rest}")
        for format, label in FORMATS.items()
        if format in INSTALLED
    ]
    watch = reverse("admin:surveys_project_results_exported", args=[project.pk]) if count >= LARGE else ""
    return Offer(
        count=count,
        noun="vote" if project.is_poll else "response",
        files=files,
        watch=watch,
        address=address,
        tables=[(format, FORMATS[format]) for format in TABLES if format in INSTALLED],
        filters=parse_qsl(query),
    )


def noter(request: HttpRequest, project: Project) -> Callable[[int], None] | None:
    """A function that stores the number of rows in the file, if the page watches this download."""
    watch = request.GET.get("watch", "")
    if not _WATCH(watch):
        return None
    key = _key(project.pk, watch)

    def note(rows: int) -> None:
        with suppress(ConnectionInterrupted):  # the file is worth more than its progress
            cache.set(key, rows, KEPT_FOR)

    return note


@project_tab("results")
@require_GET
def exported(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The number of rows that a watched download has written: `{"rows": number}`, null before the first."""
    page.require_responses_reader()
    return JsonResponse({"rows": cache.get(_key(page.project.pk, request.GET.get("watch", "")[:36]))})


def _key(project_id: int, watch: str) -> str:
    return f"export:{project_id}:{watch}"
