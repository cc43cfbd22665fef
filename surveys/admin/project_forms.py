"""The base of the forms with which staff change a project.

A form's fields are fields of the contract, by their paths (rule 1.37). The submitted values are compared with
the values that the sender saw, and only the sender's changes are written. So two people who change different
fields do not overwrite each other. The API's rules apply to the values (`ProjectIn`), and the API's service
writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify

from communities.gate.validation import bound_serializer, serializer_violations
from communities.ground.errors import Refusal, ViolationJson
from communities.ground.form_fields import MomentField, TextField
from communities.staff.site import time_zone_of
from surveys.admin.frame import ProjectPage
from surveys.api.project_in import ProjectIn
from surveys.models import Project
from surveys.services.ground import access
from surveys.services.projects import server_rules
from surveys.services.projects import service as projects
from surveys.services.representations.project import project_as_json

_QUOTED = re.compile(r"`([^`]+)`")
_ROW = re.compile(r"\w+\.\w+\[(\d+)\]")
_BLOCK = re.compile(r"script\.blocks\[(\d+)\]")
_OF_SCRIPT = {
    "value": "an option",
    "label": "an option’s label",
    "options": "the list of options",
    "prompt": "the text",
    "emoji": "its emoji",
    "follow_ups": "“Further questions”",
}


@dataclass(frozen=True, slots=True)
class Section:
    """Fields that belong together, with a picture of their effect (a symbol of `pictures.svg`)."""

    title: str
    text: str
    picture: str
    names: Sequence[str]
    more: str = ""  # a template with further text, drawn below the fields
    is_rare: bool = False  # folded, with a line that says what is set in it
    is_open: bool = False
    set_fields: str = ""

    @property
    def anchor(self) -> str:
        """The name of the section in addresses. Django's admin styles names such as `branding`."""
        return f"section-{slugify(self.title)}"


class IdsField(TextField):
    """Ids, one on each line."""

    def __init__(self, *, label: str, help_text: str = "") -> None:
        widget = forms.Textarea(attrs={"rows": 2, "inputmode": "numeric"})
        super().__init__(label=label, help_text=help_text, required=False, widget=widget)


class ProjectForm(forms.Form):
    """Fields of a project. `paths` maps the form's names to paths of the contract."""

    paths: ClassVar[Mapping[str, str]] = {}
    sections: ClassVar[Sequence[Section]] = ()
    compares: ClassVar[bool] = True  # with the values that the sender saw, so that only changes are written

    def __init__(self, data: Mapping[str, Any] | None, *, page: ProjectPage) -> None:
        self.page, self.project = page, page.project
        super().__init__(data, initial=self.values_of(page.project))
        closed = access.closed_settings(actor=page.actor, project=page.project)
        for name, field in self.fields.items():
            field.show_hidden_initial = self.compares and name in self.paths
            field.disabled = field.disabled or name in closed or not page.may_edit

    def values_of(self, project: Project) -> dict[str, Any]:
        """The form's values of the project."""
        known = project_as_json(project, at=self.page.at)
        return {name: self.shown(name, _at(known, path)) for name, path in self.paths.items()}

    def shown(self, name: str, value: Any) -> Any:
        """A value of the contract in the format of the form's field."""
        if isinstance(self.base_fields[name], MomentField):
            return datetime.fromisoformat(value) if value else None
        if isinstance(value, list):
            return "\n".join(str(each) for each in value)
        return value

    def sent(self, name: str, value: Any) -> Any:
        """A value of the form in the format of the contract."""
        if isinstance(value, datetime):
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if isinstance(self.fields[name], IdsField):
            return value.split()
        return None if value == "" else value

    def changes(self, among: Collection[str] | None = None) -> dict[str, Any]:
        """The fields to write, as the API takes them: all, or those that the sender changed.

        Only the names `among` these are included.
        """
        changed = self.changed_data if self.compares else self.paths
        names = [name for name in changed if among is None or name in among]
        fields: dict[str, Any] = {}
        for name in names:
            if name in self.paths and name in self.fields:
                _set(fields, self.paths[name], self.sent(name, self.cleaned_data.get(name)))
        return fields

    def checked_changes(self) -> dict[str, Any] | None:
        """The validated fields to write; None with errors at the fields if they break the API's rules."""
        fields = self.changes()
        own = {name: fields.pop(name) for name in ("is_cloneable",) if name in fields}
        serializer = bound_serializer(ProjectIn, fields, partial=True)
        if not serializer.is_valid():
            self._add(serializer_violations(serializer))
            return None
        return {**serializer.validated_data, **own}

    def refuse(self, refusal: Refusal) -> None:
        """Show a refusal: at the faulty fields, else above the form."""
        if refusal.violations:
            self._add(refusal.violations)
        else:
            self.add_error(None, self._in_words(refusal.message))

    def after_saving(self) -> Sequence[str]:
        """Messages for the sender about the values that were just saved."""
        return ()

    def _add(self, violations: Iterable[ViolationJson]) -> None:
        for each in violations:
            name = self._name_of(each["field"])
            if block := _BLOCK.match(each["field"]):
                self.add_error(None, self._of_the_script(int(block[1]) + 1, each["message"]))
            else:
                self.add_error(name, _placed(each["field"], self._in_words(each["message"], name)))

    def _of_the_script(self, number: int, message: str) -> SafeString:
        """A fault of the script that prevents this change, with a link to the script."""
        words = _QUOTED.sub(lambda match: _OF_SCRIPT.get(match[1], self._choice(match[1])), message)
        return format_html(
            'Block {} of the script: {} <a href="{}">Script</a>',
            number,
            f"{words[:1].upper()}{words[1:]}",
            self.page.address("script"),
        )

    def _name_of(self, path: str) -> str | None:
        """The form's field at a path, or at the path that contains it."""
        for name, own in self.paths.items():
            if path == own or path.startswith((f"{own}.", f"{own}[")):
                return name
        return None

    def _in_words(self, message: str, name: str | None = None) -> str:
        """A message of the API in the words of the form: labels replace the names of fields."""

        own = self.paths[name] if name else ""

        def label(match: re.Match[str]) -> str:
            path = match[1]
            if name and (own == path or own.endswith(f".{path}")):
                return str(self.fields[name].label)
            beside = self._name_of(f"{own.rpartition('.')[0]}.{path}") or self._name_of(path)
            return f"“{self.fields[beside].label if beside else self._choice(path)}”"

        return _QUOTED.sub(label, message)

    def _choice(self, value: str) -> str:
        """The words of a choice with this value, in the first field that has one."""
        choices = (dict(getattr(field, "choices", ())) for field in self.fields.values())
        return next((str(each[value]) for each in choices if value in each), value.rpartition(".")[2])

    @property
    def drawn_sections(self) -> list[tuple[Section, list[BoundField]]]:
        """The sections with the fields that this project has."""
        sections = [
            (each, [self[name] for name in each.names if name in self.fields]) for each in self.sections
        ]
        return [(self._folded(each, fields), fields) for each, fields in sections if fields or each.more]

    def _folded(self, section: Section, fields: Sequence[BoundField]) -> Section:
        """A rare section with the labels of the fields that are set; open if one of them has a fault."""
        if not section.is_rare:
            return section
        labels = [str(each.label) for each in fields if each.initial not in (None, "", False, [], ())]
        return replace(section, set_fields=", ".join(labels), is_open=any(each.errors for each in fields))


def premium(form: ProjectForm, name: str) -> None:
    """Mark a field as premium, and lock it on the basic tier unless it has a value to clear."""
    field = form.fields[name]
    has_it = form.page.actor.has_premium_features
    hint = "" if has_it else " It needs the premium tier; this community is on the basic tier."
    field.help_text = format_html('<span class="badge">Premium</span> {}{}', field.help_text, hint)
    field.disabled = field.disabled or not (has_it or form.initial.get(name))


def show(
    request: HttpRequest,
    page: ProjectPage,
    form_class: type[ProjectForm],
    template: str = "admin/surveys/project/settings.html",
    *,
    context: Callable[[ProjectForm], Mapping[str, object]] = lambda form: {},
) -> HttpResponse:
    """A tab with a form: draw it, or save the changes. Raises PermissionDenied."""
    data = request.POST if request.method == "POST" else None
    if data is not None and not page.may_edit:
        raise PermissionDenied
    form = form_class(data, page=page)
    if data is not None and form.is_valid() and _save(request, page, form):
        return HttpResponseRedirect(page.address())
    zone = time_zone_of(request).key
    full_context = {"form": form, "zone": zone, **context(form)}
    return page.render(request, template, full_context, status=200)


def _save(request: HttpRequest, page: ProjectPage, form: ProjectForm) -> bool:
    fields = form.checked_changes()
    if fields is None:
        return False
    if not fields:
        messages.info(request, "Nothing was changed.")
        return True
    try:
        server_rules.look(community_id=page.project.community_id, fields=fields, at=page.at)
        projects.update_project(actor=page.actor, project_id=page.project.pk, fields=fields, at=page.at)
    except Refusal as refusal:
        form.refuse(refusal)
        return False
    messages.success(request, "Saved.")
    for warning in form.after_saving():
        messages.warning(request, warning)
    return True


def _placed(path: str, message: str) -> str:
    """The message with the number of the row, if the path is that of a list's element in a group."""
    row = _ROW.match(path)
    return message if row is None else f"Row {int(row[1]) + 1}: {message}"


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _set(fields: dict[str, Any], path: str, value: Any) -> None:
    *groups, last = path.split(".")
    for group in groups:
        fields = fields.setdefault(group, {})
    fields[last] = value
