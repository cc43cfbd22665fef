"""The addresses of “Start from…”: route below the project, view, and name."""

from __future__ import annotations

from collections.abc import Callable

from django.http.response import HttpResponseBase

from surveys.admin.start import views

START_ROUTES: list[tuple[str, Callable[..., HttpResponseBase], str]] = [
    ("script/generate/", views.generate, "script_generate"),
    ("script/generate/<int:job_id>/", views.job, "script_generate_job"),
    ("script/convert/", views.convert, "script_convert"),
    ("script/templates/", views.templates, "script_templates"),
    ("script/projects/", views.projects, "script_projects"),
    ("script/versions/", views.versions, "script_versions"),
]
