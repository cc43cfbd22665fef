"""The form of a new API key: its purpose, its rights, and its lifetime."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import dateformat

from communities.forms.once import TicketForm
from communities.ground.form_fields import TextField
from communities.ground.sent_time import check_day
from communities.models import ApiKey
from communities.services.api_keys.key_listing import SCOPES

LIFETIMES = {"30": "30 days", "90": "90 days", "365": "1 year"}
ON_DATE, NEVER = "date", "never"
ROLES = [
    ("", "Admin: everything in this community, settings, webhooks and other keys included"),
    ("creator", "Creator: makes projects, and works on the projects you made"),
]


class NewKeyForm(TicketForm):
    name = TextField(
        max_length=200, help_text="Where the key will be used, so that others know what stops without it."
    )
    description = TextField(
        max_length=1000, required=False, widget=forms.Textarea(attrs={"rows": 2}), label="Description"
    )
    role = forms.ChoiceField(
        choices=ROLES, required=False, widget=forms.RadioSelect, label="What it may do", initial="creator"
    )
    scope = forms.ChoiceField(
        choices=[(scope.value, words) for scope, words in SCOPES.items()],
        required=False,
        widget=forms.RadioSelect,
        label="Which requests it may send",
        initial=ApiKey.Scope.ALL.value,
        help_text="A website that only shows results needs no more than reading.",
    )
    mode = forms.ChoiceField(
        choices=[(ApiKey.Mode.LIVE.value, "Live data"), (ApiKey.Mode.TEST.value, "Test data")],
        required=False,
        widget=forms.RadioSelect,
        label="What it works with",
        initial=ApiKey.Mode.LIVE.value,
        help_text="Test data is apart from everything else here, and is deleted after 30 days.",
    )
    lifetime = forms.ChoiceField(widget=forms.RadioSelect, label="It works for", initial="365")
    last_day = forms.DateField(
        required=False,
        validators=[check_day],
        widget=forms.DateInput(attrs={"type": "date"}),
        label="Last day",
        help_text="Only for “until a day of your choice”.",
    )

    def __init__(self, *args: Any, at: datetime, zone: ZoneInfo, is_admin: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._at, self._zone = at, zone
        if not is_admin:
            del self.fields["role"]
        lifetime = self.fields["lifetime"]
        assert isinstance(lifetime, forms.ChoiceField)
        lifetime.choices = [
            *((days, f"{label}, until {self._day_after(int(days))}") for days, label in LIFETIMES.items()),
            (ON_DATE, "Until a day of your choice"),
            (NEVER, "Without an end"),
        ]

    def _day_after(self, days: int) -> str:
        return dateformat.format((self._at + timedelta(days=days)).astimezone(self._zone), "j F Y")

    def clean_scope(self) -> str:
        return self.cleaned_data["scope"] or ApiKey.Scope.ALL.value

    def clean_mode(self) -> str:
        return self.cleaned_data["mode"] or ApiKey.Mode.LIVE.value

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("lifetime") == ON_DATE and "last_day" not in self.errors:
            day = values.get("last_day")
            if day is None:
                self.add_error("last_day", "Choose the last day on which the key works.")
            elif self._end_of(day) <= self._at:
                self.add_error("last_day", "This day is over already.")
        return values

    @property
    def expires_at(self) -> datetime | None:
        """When the key of a valid form expires; None for a key without expiry."""
        lifetime = self.cleaned_data["lifetime"]
        if lifetime == NEVER:
            return None
        if lifetime == ON_DATE:
            return self._end_of(self.cleaned_data["last_day"])
        return self._at + timedelta(days=int(lifetime))

    def _end_of(self, day: Any) -> datetime:
        """The first moment after a day in the community's time zone."""
        return datetime.combine(day + timedelta(days=1), time(), self._zone)
