"""Every form takes texts in one form, and only possible times (rules 1.5 to 1.8)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from communities.ground.form_fields import TextField
from tests.support.cases import try_each

# Fields of strings that are no texts: addresses, tickets, and what django-allauth asks for.
NO_TEXTS = {
    "ticket",
    "url",
    "where",
    "image_url",
    "thumbnail_url",
    "achievement_image_url",
    "end_url",
    "privacy_url",
    "logo_url",
    "background_url",
    "accent_color",
    "background_color",
}
EAST = timezone(timedelta(hours=12))
IMPOSSIBLE = [
    datetime(1, 1, 1, tzinfo=EAST),
    datetime(999, 1, 1, tzinfo=EAST),
    datetime(1969, 12, 31, tzinfo=EAST),
    datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-12))),
]


def forms_of(base: type[forms.BaseForm]) -> Iterator[type[forms.BaseForm]]:
    for each in base.__subclasses__():
        if each.__module__.partition(".")[0] in ("communities", "surveys", "webhooks", "xp"):
            yield each
        yield from forms_of(each)


def fields() -> dict[str, forms.Field]:
    """The fields of all our forms, by form and name."""
    importlib.import_module(settings.ROOT_URLCONF)  # imports all views
    return {
        f"{form.__module__}.{form.__name__}.{name}": field
        for form in forms_of(forms.BaseForm)
        for name, field in getattr(form, "base_fields", {}).items()
    }


def test_every_text_of_a_form_has_one_form() -> None:
    found = fields()

    careless = [
        name
        for name, field in found.items()
        if type(field) is forms.CharField
        and field.strip  # a password is taken as it is
        and name.rpartition(".")[2] not in NO_TEXTS
        and not name.startswith("communities.accounts.")
    ]

    assert careless == []
    assert sum(isinstance(field, TextField) for field in found.values()) > 30


@try_each("moment", IMPOSSIBLE)
def test_every_day_and_time_of_a_form_is_possible(moment: datetime) -> None:
    days = {name: each for name, each in fields().items() if type(each) is forms.DateField}
    times = {name: each for name, each in fields().items() if isinstance(each, forms.DateTimeField)}

    for day in days.values():
        with pytest.raises(ValidationError):
            day.clean(moment.date())
    for each in times.values():
        with pytest.raises(ValidationError):
            each.run_validators(moment)

    assert len(days) >= 3
    assert len(times) >= 4


def test_a_text_of_a_form_is_stripped_composed_and_measured_afterwards() -> None:
    field = TextField(max_length=3)

    assert field.clean(" Zoe\u0308\n") == "Zo\u00eb"
    with pytest.raises(ValidationError, match="required"):
        field.clean("\u200b\u3164")
    assert TextField(required=False).clean("\u200b") == ""
