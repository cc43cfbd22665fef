"""The addresses of the script editor: route below the project, view, and name. Its parts add theirs here."""

from __future__ import annotations

from collections.abc import Callable

from django.http.response import HttpResponseBase

from surveys.admin.script import logic, views

View = Callable[..., HttpResponseBase]

SCRIPT_ROUTES: list[tuple[str, View, str]] = [
    ("script/", views.page, "script"),
    ("script/draft/", views.draft, "script_draft"),
    ("script/save/", views.save, "script_save"),
    ("script/duplicate/", views.duplicate, "script_duplicate"),
    ("script/scoring/", views.scoring, "script_scoring"),
    ("script/logic/", logic.logic, "script_logic"),
    ("script/flow/", logic.flow, "script_flow"),
    ("script/archived/", views.archived, "script_archived"),
    ("script/export/", views.export, "script_export"),
    ("script/blocks/<int:block_id>/answers/", views.answers, "script_answers"),
]
