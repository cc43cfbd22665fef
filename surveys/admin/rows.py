"""A list of objects in a form: a row of inputs for each object, and empty rows for new ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.template import loader
from django.utils.safestring import SafeString, mark_safe

from communities.ground.sent_text import sent_text

NEW_ROWS = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One input of each row: a `text`, a `number`, a `url`, a `checkbox`, or a `where`: an expression, for
    which a browser with JavaScript shows rows of conditions.
    """

    key: str
    label: str
    kind: str = "text"
    placeholder: str = ""


class RowsWidget(forms.Widget):
    """Rows of inputs, named `<name>-<row>-<key>`. A row without any text is left out."""

    template_name = "admin/surveys/project/rows.html"

    def __init__(self, columns: Sequence[Column], most: int) -> None:
        super().__init__()
        self.columns, self.most = columns, most
        self.notes: Mapping[str, Sequence[str]] = {}  # below the rows, by the value of their first input

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        objects = [*(value or []), *({} for _ in range(NEW_ROWS))][: max(self.most, len(value or []))]
        first = self.columns[0].key
        context["rows"] = [
            (
                [(column, f"{name}-{row}-{column.key}", each.get(column.key)) for column in self.columns],
                self.notes.get(each.get(first) or "", ()),
            )
            for row, each in enumerate(objects)
        ]
        return context

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[dict[str, Any]]:
        rows = {int(row) for row in _rows_of(name, data)}
        found = [
            {each.key: _read(each, data.get(f"{name}-{row}-{each.key}")) for each in self.columns}
            for row in sorted(rows)
        ]
        return [each for each in found if any(value not in (None, False) for value in each.values())]

    def use_required_attribute(self, initial: Any) -> bool:
        return False

    def id_for_label(self, id_: str) -> str:
        return f"{id_}-0-{self.columns[0].key}"

    use_fieldset = True

    def _render(self, template_name: str, context: Any, renderer: Any = None) -> SafeString:
        # Django draws widgets with an engine of its own, which does not know the project's templates.
        return mark_safe(loader.get_template(template_name).render(context))


class _HiddenRows(forms.HiddenInput):
    """The rows that the sender saw, as JSON."""

    def format_value(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value or [], ensure_ascii=False)

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        try:
            return json.loads(data.get(name) or "[]")
        except ValueError:
            return []


class RowsField(forms.Field):
    """A list of objects with these columns, at most `most` of them."""

    hidden_widget = _HiddenRows

    def __init__(self, *, label: str, columns: Sequence[Column], most: int, help_text: str) -> None:
        super().__init__(
            label=label, required=False, help_text=help_text, widget=RowsWidget(columns, most), initial=list
        )

    def leave_out(self, key: str) -> None:
        """Draw the rows without a column, whose values stay empty."""
        assert isinstance(self.widget, RowsWidget)
        self.widget.columns = [each for each in self.widget.columns if each.key != key]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(_filled(initial) != _filled(data))


def _filled(rows: Any) -> list[dict[str, Any]]:
    """The rows without what is empty, which a row that was stored earlier may lack."""
    return [{key: value for key, value in row.items() if value not in (None, False)} for row in rows or ()]


def _rows_of(name: str, data: Mapping[str, Any]) -> list[str]:
    start = f"{name}-"
    parts = (key.removeprefix(start).partition("-")[0] for key in data if key.startswith(start))
    return [row for row in parts if row.isascii() and row.isdigit() and len(row) < 4]


def _read(column: Column, sent: Any) -> Any:
    """The value as the interface takes it; a number that is none stays text, which the interface refuses."""
    if column.kind == "checkbox":
        return sent is not None
    text = sent_text(sent or "")
    if column.kind == "number" and text.isascii() and text.isdigit() and len(text) < 12:
        return int(text)
    return text or None
