"""The addresses of a project's tabs and of their requests, below `/admin/surveys/project/<id>/`.

Every view here is wrapped in the site's `admin_view`, which requires a sign-in. Views that return JSON check
their requests themselves: see `script.requests`.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import admin
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from surveys.admin import (
    analysing,
    answers,
    asking,
    crossing,
    dashboard,
    exporting,
    history,
    importing,
    participation,
    pictures,
    responses,
    results,
    themes,
)
from surveys.admin.preview.urls import PREVIEW_ROUTES
from surveys.admin.script.urls import SCRIPT_ROUTES
from surveys.admin.settings_urls import SETTINGS_ROUTES
from surveys.admin.start.urls import START_ROUTES

View = Callable[..., HttpResponseBase]


def project_urls() -> list[URLPattern]:
    """The patterns of all tabs, named `surveys_project_<name>`."""
    return [_path(route, view, name) for route, view, name in ROUTES]


def _path(route: str, view: View, name: str) -> URLPattern:
    if not getattr(view, "answers_json", False):
        view = admin.site.admin_view(view)
    return path(f"<int:project_id>/{route}", view, name=f"surveys_project_{name}")


ROUTES: list[tuple[str, View, str]] = [
    *SCRIPT_ROUTES,
    *PREVIEW_ROUTES,
    *START_ROUTES,
    *SETTINGS_ROUTES,
    ("results/", results.results, "results"),
    ("results/answers/<int:block_id>/", answers.answers, "results_answers"),
    ("results/answers/<int:block_id>/<uuid:response_id>/", themes.answer, "results_answer"),
    ("results/themes/<int:block_id>/", themes.themes, "results_themes"),
    ("results/over-time/", participation.over_time, "results_over_time"),
    ("results/export/", results.export, "results_export"),
    ("results/exported/", exporting.exported, "results_exported"),
    ("results/cross/", crossing.cross, "cross"),
    ("results/dashboard/", dashboard.dashboard, "dashboard"),
    ("results/picture/<str:card>.<str:kind>", pictures.chart, "picture"),
    ("results/counting/", results.counting, "results_counting"),
    ("results/analyse/", analysing.analyse, "results_analyse"),
    ("results/analysis/", analysing.progress, "results_analysis"),
    ("results/ask/", asking.ask, "results_ask"),
    ("results/ask/<int:job_id>/", asking.answer, "results_ask_answer"),
    ("responses/", responses.responses, "responses"),
    ("responses/import/", importing.page_of_file, "responses_import"),
    ("responses/import/file/", importing.receive, "responses_import_file"),
    ("responses/import/progress/", importing.progress, "responses_import_progress"),
    ("responses/import/faults/", importing.faults, "responses_import_faults"),
    ("responses/<uuid:response_id>/", responses.response, "response"),
    ("responses/<uuid:response_id>/delete/", responses.delete, "response_delete"),
    ("responses/<uuid:response_id>/restore/", responses.restore, "response_restore"),
    ("history/", history.history, "history"),
    ("history/<uuid:entry_id>/", history.entry, "history_entry"),
    ("history/export/<str:format>/", history.export, "history_export"),
]
