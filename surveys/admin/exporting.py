"""Files of responses in the admin: which are offered, how many rows they have, and how far one has come."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from django.core.cache import cache
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET
from django_redis.exceptions import ConnectionInterrupted

from surveys.admin.frame import ProjectPage, project_tab
from surveys.models import Project

FORMATS = {"csv": "CSV", "xlsx": "Excel", "json": "JSON", "ndjson": "NDJSON"}
LARGE = 20_000  # responses; takes some seconds
KEPT_FOR = 600  # seconds
_WATCH = re.compile(r"[0-9a-f-]{36}").fullmatch


@dataclass(frozen=True, slots=True)
class Offer:
    """The files of what is selected. `watch` is the address of their progress; empty for small files."""

    count: int
    noun: str
    files: list[tuple[str, str]]
    watch: str


def offered(page: ProjectPage, *, query: str, count: int) -> Offer:
    """The files of `count` responses, selected by the filters of `query`."""
    project = page.project
    address = reverse("admin:surveys_project_results_export", args=[project.pk])
    rest = f"&{query}" if query else ""
    files = [
        (label, f"{address}?format={format}{'&bom=1' if format == 'csv' else ''}{rest}")
        for format, label in FORMATS.items()
    ]
    watch = reverse("admin:surveys_project_results_exported", args=[project.pk]) if count >= LARGE else ""
    return Offer(count, "vote" if project.is_poll else "response", files, watch)


def noter(request: HttpRequest, project: Project) -> Callable[[int], None] | None:
    """A function that notes how many rows are in the file so far, if the page watches this download."""
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
    """How many rows a watched download has written so far: `{"rows": number}`, null before the first."""
    page.require_responses_reader()
    return JsonResponse({"rows": cache.get(_key(page.project.pk, request.GET.get("watch", "")[:36]))})


def _key(project_id: int, watch: str) -> str:
    return f"export:{project_id}:{watch}"
