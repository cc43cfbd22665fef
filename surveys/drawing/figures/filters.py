"""The filters of results in the admin: a form whose values are kept in the URL's query string."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django import forms
from django.http import QueryDict

from communities.ground.errors import InvalidRequest
from communities.ground.sent_text import sent_text
from communities.ground.sent_time import DAYS_REVERSED, check_day
from surveys import response_sources
from surveys.drawing.figures import divisions
from surveys.engine.language.lexer import MAX_LENGTH
from surveys.engine.script import Script
from surveys.services.ground import metadata, selecting
from surveys.services.results import dividing
from surveys.services.results.figures import Selection
from surveys.services.scripts.cache import Catalogue

MAX_PROMPT = 70
FIELD = "field."
# The values of a field's menu: empty for all, `=` and a value, or this one, which no value can equal.
NOT_GIVEN = "none"
SUSPECTED = {"": "All", "false": "Without suspected ones", "true": "Suspected ones only"}
COVERS = {"all": "All", "completed": "Completed", "partial": "Partial"}


@dataclass(frozen=True, slots=True)
class SentField:
    """A field to filter by, and its parameter in the address."""

    name: str

    @property
    def parameter(self) -> str:
        return f"{FIELD}{self.name}"


def _named_in(data: QueryDict) -> list[str]:
    """The names of the fields by which an address filters."""
    names = [parameter.removeprefix(FIELD) for parameter in data if parameter.startswith(FIELD)]
    return [name for name in names if metadata.is_key(name)]


class BandsField(forms.CharField):
    """The numbers at which bands begin, such as `18, 30, 50`."""

    def __init__(self) -> None:
        super().__init__(required=False, max_length=300)

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        try:
            return ",".join(map(str, dividing.bounds_of(text, "bands"))) if text else ""
        except InvalidRequest as refusal:
            raise forms.ValidationError([str(each["message"]) for each in refusal.violations]) from refusal


class ConditionForm(forms.Form):
    """An expression that selects responses, such as `colour = "red"`.

    It may name scores only with `solutions`.
    """

    where = forms.CharField(required=False, max_length=MAX_LENGTH)

    def __init__(self, data: QueryDict, script: Script, *, solutions: bool) -> None:
        super().__init__(data)
        self.script, self._solutions = script, solutions

    def clean_where(self) -> str:
        where: str = self.cleaned_data["where"]
        try:
            selecting.refuse_faults(where or None, script=lambda: self.script, solutions=self._solutions)
        except InvalidRequest as refusal:
            raise forms.ValidationError([str(each["message"]) for each in refusal.violations]) from refusal
        return where

    @property
    def condition(self) -> Selection:
        """The selection by the expression alone; everything if it has faults, which the form shows."""
        return Selection(where=self._cleaned("where") or None)

    def _cleaned(self, name: str) -> Any:
        return self.cleaned_data.get(name) if not self.errors.get(name) else None


class ResultsForm(ConditionForm):
    """Filters by status, date, channel and fields, and the field to compare by.

    Days are inclusive, in `zone`. `fields` are the offered fields, each with values. Fields that only the
    address names can be chosen too, up to the number that a response can have. `weights` are the fields that
    may weigh responses.
    """

    status = forms.ChoiceField(choices=list(COVERS.items()), required=False)
    submitted_after = forms.DateField(required=False, validators=[check_day])
    submitted_before = forms.DateField(required=False, validators=[check_day])
    provider = forms.ChoiceField(required=False)
    dividing: Mapping[str, str] = {"segment_by": "bands"}  # menus of divisions, each with its bands
    suspected = forms.ChoiceField(choices=list(SUSPECTED.items()), required=False)
    bands = BandsField()
    weight_by = forms.ChoiceField(required=False)

    def __init__(
        self,
        data: QueryDict,
        catalogue: Catalogue,
        *,
        zone: ZoneInfo,
        fields: Mapping[str, Sequence[str]],
        zone_reason: str = "",
        solutions: bool = True,
        languages: bool = True,
        themed: Collection[int] = (),
        weights: Sequence[str] = (),
    ) -> None:
        super().__init__(data, catalogue.script, solutions=solutions)
        self.zone, self.zone_reason, self._catalogue = zone, zone_reason, catalogue
        self._choices("provider", [("", "All"), *response_sources.LABELS.items()])
        self.has_weights = bool(weights)
        self._choices("weight_by", [("", "Nothing"), *((name, name) for name in weights)])
        known = dict(fields)
        others = [name for name in _named_in(data) if name not in known]
        self.has_too_many_fields = len(others) > metadata.MAX_FIELDS
        known |= dict.fromkeys(others[: metadata.MAX_FIELDS], ())
        self.sent_fields = [SentField(name) for name in known]
        for field in self.sent_fields:
            self._add_field(field, known[field.name], data.get(field.parameter, ""))
        names = [field.name for field in self.sent_fields]
        menu = divisions.menu(
            catalogue, fields=names, languages=languages, themed=themed, solutions=solutions, short=_short
        )
        self.has_questions = menu[0][0] == divisions.QUESTIONS
        for name in self.dividing:
            self.fields[name] = forms.ChoiceField(choices=[("", "Nothing"), *menu], required=False)

    def _add_field(self, field: SentField, values: Sequence[str], chosen: str) -> None:
        offered = [*values]
        is_possible = len(chosen) <= metadata.MAX_VALUE + 1 and "\0" not in chosen
        if chosen.startswith("=") and chosen[1:] not in offered and is_possible:
            offered.append(chosen[1:])
        menu = [("", "All"), *((f"={value}", _short(value) or "(empty)") for value in offered)]
        self.fields[field.parameter] = forms.ChoiceField(
            choices=[*menu, (NOT_GIVEN, "Not given")], required=False
        )

    def _choices(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def add_refusal(self, refusal: InvalidRequest) -> bool:
        """Add a refusal of a service to the fields that it names. Returns False if it names none of them."""
        faults = [each for each in refusal.violations if each["field"] in self.fields]
        faults = [each for each in faults if each["field"] not in self.errors]
        for each in faults:
            self.add_error(str(each["field"]), str(each["message"]))
        return bool(faults)

    def clean(self) -> dict[str, Any]:
        if self.has_too_many_fields:
            self.add_error(None, f"The address has more than {metadata.MAX_FIELDS} fields of its own.")
        first, last = self.cleaned_data.get("submitted_after"), self.cleaned_data.get("submitted_before")
        if first and last and last < first:
            self.add_error("submitted_before", DAYS_REVERSED)
        return self.cleaned_data

    @property
    def covers(self) -> str:
        return self._cleaned("status") or "all"

    @property
    def divided_by(self) -> int | str | None:
        return self._divided("segment_by")

    def _divided(self, name: str) -> int | str | None:
        """What a menu and the bands beside it say."""
        bands = self._cleaned(self.dividing[name]) or ""
        chosen = self._cleaned(name) or ""
        return divisions.text_of(chosen, bands, zone=self.zone, catalogue=self._catalogue)

    @property
    def active(self) -> int:
        """The number of filters and weights that are chosen."""
        return len(self.in_words) + bool(self._cleaned("weight_by"))

    @property
    def is_divided(self) -> bool:
        return any(self._cleaned(name) for name in self.dividing)

    @property
    def whole_query(self) -> str:
        """The selection and what divides it, as in the address."""
        names = [name for pair in self.dividing.items() for name in pair]
        chosen = {name: value for name in names if (value := self._cleaned(name))}
        return "&".join(filter(None, (self.query, urlencode(chosen))))

    @property
    def selection(self) -> Selection:
        """The filters as a query. Invalid fields are left out; the form shows their errors."""
        first, last = self._cleaned("submitted_after"), self._cleaned("submitted_before")
        return replace(
            self.condition,
            covers=self.covers,
            submitted_after=first and self._midnight(first),
            submitted_before=last and self._midnight(last + timedelta(days=1)),
            provider=self._cleaned("provider") or None,
            suspected=(chosen == "true") if (chosen := self._cleaned("suspected")) else None,
            fields=tuple(sorted(self._sent().items())),
        )

    @property
    def weighted(self) -> Selection:
        """The selection with what weighs its responses."""
        return replace(self.selection, weight_by=self._cleaned("weight_by") or None)

    def _sent(self) -> dict[str, str]:
        """The chosen value of each field; empty for responses without a value."""
        chosen = {field.name: self._cleaned(field.parameter) for field in self.sent_fields}
        return {
            name: "" if value == NOT_GIVEN else sent_text(value[1:])
            for name, value in chosen.items()
            if value
        }

    @property
    def is_narrowed(self) -> bool:
        """Whether responses are filtered by date, channel, fields or an expression."""
        chosen = self.selection
        days = (chosen.submitted_after, chosen.submitted_before)
        is_marked = chosen.suspected is not None
        return any((*days, chosen.provider, is_marked, chosen.fields, chosen.where))

    @property
    def query(self) -> str:
        """The selection and its weight as a part of an address; further parameters may follow."""
        names = ["submitted_after", "submitted_before", "provider", "suspected", "where", "weight_by"]
        names += [field.parameter for field in self.sent_fields]
        chosen = {"status": "" if self.covers == "all" else self.covers}  # all means no filter
        chosen |= {name: self._cleaned(name) for name in names}
        return urlencode({name: value for name, value in chosen.items() if value})

    @property
    def in_words(self) -> list[str]:
        """The selection in words, such as "campaign is poster", for printed pages, which do not show the
        form.
        """
        words = []
        if self.covers != "all":
            words.append(COVERS[self.covers].lower())
        first, last = self._cleaned("submitted_after"), self._cleaned("submitted_before")
        if first:
            words.append(f"submitted from {_day(first)} ({self.zone})")
        if last:
            words.append(f"submitted up to {_day(last)} ({self.zone})")
        if provider := self._cleaned("provider"):
            words.append(f"source is {response_sources.LABELS[provider]}")
        if suspected := self._cleaned("suspected"):
            words.append(SUSPECTED[suspected].lower())
        for name, value in self._sent().items():
            words.append(f"{name} is {value}" if value else f"{name} was not given")
        if where := self._cleaned("where"):
            words.append(f"where {where}")
        return words

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.zone)


def _day(day: date) -> str:
    return f"{day:%-d %B %Y}"


def _short(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= MAX_PROMPT else f"{line[: MAX_PROMPT - 1]}\N{HORIZONTAL ELLIPSIS}"
