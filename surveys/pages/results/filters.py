"""The filters of results in the admin: a form whose values are kept in the URL's query string."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django import forms
from django.core.validators import MaxValueValidator
from django.http import QueryDict

from surveys import response_sources
from surveys.engine.flow.wording import heading
from surveys.engine.statistics import SEGMENT_TYPES
from surveys.services.results.figures import Selection
from surveys.services.scripts.cache import Catalogue

LAST_DAY = date(2999, 12, 31)
MAX_PROMPT = 70
COVERS = {"all": "All", "completed": "Completed", "partial": "Not completed"}


class ResultsForm(forms.Form):
    """Filters by status, date and channel, and the question to compare by. Days are inclusive, in `zone`."""

    status = forms.ChoiceField(choices=list(COVERS.items()), required=False)
    submitted_after = forms.DateField(required=False, validators=[MaxValueValidator(LAST_DAY)])
    submitted_before = forms.DateField(required=False, validators=[MaxValueValidator(LAST_DAY)])
    provider = forms.ChoiceField(required=False)
    segment_by = forms.TypedChoiceField(required=False, coerce=int, empty_value=None)

    def __init__(self, data: QueryDict, catalogue: Catalogue, *, zone: ZoneInfo) -> None:
        super().__init__(data)
        self.zone = zone
        self._choices("provider", [("", "All"), *response_sources.LABELS.items()])
        questions = [
            (str(pk), _short(heading(block.prompt, catalogue.script)))
            for pk, block in catalogue.blocks.items()
            if block.type in SEGMENT_TYPES
        ]
        self._choices("segment_by", [("", "Nothing"), *questions])

    def _choices(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean(self) -> dict[str, Any]:
        first, last = self.cleaned_data.get("submitted_after"), self.cleaned_data.get("submitted_before")
        if first and last and last < first:
            self.add_error("submitted_before", "The last day must not be before the first day.")
        return self.cleaned_data

    @property
    def covers(self) -> str:
        return self._cleaned("status") or "all"

    @property
    def divided_by(self) -> int | None:
        chosen: int | None = self._cleaned("segment_by")
        return chosen

    @property
    def selection(self) -> Selection:
        """The filters as a query. Invalid fields are left out; the form shows their errors."""
        first, last = self._cleaned("submitted_after"), self._cleaned("submitted_before")
        return Selection(
            covers=self.covers,
            submitted_after=first and self._midnight(first),
            submitted_before=last and self._midnight(last + timedelta(days=1)),
            provider=self._cleaned("provider") or None,
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether responses are filtered by date or channel."""
        selection = self.selection
        return any((selection.submitted_after, selection.submitted_before, selection.provider))

    @property
    def query(self) -> str:
        """The selection as a part of an address, to be followed by more."""
        names = ("submitted_after", "submitted_before", "provider")
        chosen = {"status": "" if self.covers == "all" else self.covers}  # all is no filter
        chosen |= {name: self._cleaned(name) for name in names}
        return urlencode({name: value for name, value in chosen.items() if value})

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.zone)

    def _cleaned(self, name: str) -> Any:
        return self.cleaned_data.get(name) if not self.errors.get(name) else None


def _short(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= MAX_PROMPT else f"{line[: MAX_PROMPT - 1]}\N{HORIZONTAL ELLIPSIS}"
