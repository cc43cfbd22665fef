"""Form fields: for a text of people, such as a name, and for a time in the time zone of the form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField
from django.utils import dateformat, timezone

from communities.ground.sent_text import sent_text
from communities.ground.sent_time import check_moment


class TextField(forms.CharField):
    """A text as `sent_text` returns it. The length of the returned text is checked (rules 1.6 and 1.7)."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return (sent_text(text) or self.empty_value) if isinstance(text, str) else text


class MomentField(forms.DateTimeField):
    """A time in the current time zone, in the format of browsers. The zone is shown beside the input."""

    def __init__(self, *, label: str, help_text: str = "", required: bool = False) -> None:
        widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})
        super().__init__(
            label=label, help_text=help_text, required=required, widget=widget, validators=[check_moment]
        )

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> BoundField:
        bound = super().get_bound_field(form, field_name)
        bound.help_text = f"{self.help_text} Time zone: {timezone.get_current_timezone_name()}.".strip()
        return bound

    def prepare_value(self, value: Any) -> Any:
        try:
            return super().prepare_value(value)
        except OverflowError:  # In eastern zones, the end of the year 9999 does not exist.
            return value.replace(tzinfo=None)

    def to_python(self, value: Any) -> datetime | None:
        try:
            return super().to_python(value)
        except ValidationError as fault:
            if fault.code != "ambiguous_timezone" or not fault.params:
                raise
            raise ValidationError(self._of_a_changed_clock(fault.params["datetime"])) from fault

    def _of_a_changed_clock(self, moment: datetime) -> str:
        """Return the message for a time that does not exist, or that exists twice, on a day when the clocks
        change.
        """
        zone = timezone.get_current_timezone()
        there = moment.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None)
        when = dateformat.format(moment, "j F Y, H:i")
        if there != moment:
            return (
                f"{when} does not exist in {zone}, because the clocks are put forward past it. "
                "Choose a time an hour earlier or later."
            )
        return (
            f"{when} comes twice in {zone}, because the clocks are put back. "
            "Choose a time an hour earlier or later."
        )

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether the time was changed. The input shows no seconds, which the API may have set, so a
        value without seconds is no change.
        """
        if isinstance(initial, datetime):
            initial = initial.replace(second=0, microsecond=0)
        return super().has_changed(initial, data)
