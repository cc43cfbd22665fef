"""The addresses of the preview: route below the project, view, and name."""

from __future__ import annotations

from collections.abc import Callable

from django.http.response import HttpResponseBase

from surveys.admin.preview import views

PREVIEW_ROUTES: list[tuple[str, Callable[..., HttpResponseBase], str]] = [
    ("script/preview/", views.preview, "script_preview"),
    ("script/preview/state/", views.state, "script_preview_state"),
    ("script/preview/restart/", views.restart, "script_preview_restart"),
]
