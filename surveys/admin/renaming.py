"""The page that renames a project. It is linked from the project's heading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from communities.ground.form_fields import TextField
from surveys.admin import project_forms
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.project_forms import ProjectForm, Section


class RenameForm(ProjectForm):
    """Only the name, which the tab Look has too."""

    paths: ClassVar[Mapping[str, str]] = {"name": "name"}
    sections: ClassVar[Sequence[Section]] = (Section("", "", "", ("name",)),)

    name = TextField(
        label="Name",
        max_length=200,
        help_text="The heading of the page that people answer, and the project’s name in lists.",
        widget=forms.TextInput(attrs={"autofocus": True}),
    )


@project_tab("rename")
def rename(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """Draw the form, or save the name. Raises PermissionDenied for those who may not edit the project."""
    if not page.may_edit:
        raise PermissionDenied
    answer = project_forms.show(request, page, RenameForm, "admin/surveys/project/rename.html")
    return HttpResponseRedirect(page.address("script")) if answer.status_code == 302 else answer
