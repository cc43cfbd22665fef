"""Every time in a form of the admin names its zone, and is refused in our words where the clocks change."""

from __future__ import annotations

from collections.abc import Iterator

from django import forms
from django.utils import timezone

from communities.ground.form_fields import MomentField
from communities.staff.texts import moment
from surveys.admin.delivery import DeliveryForm
from surveys.admin.opening import OpenForm
from tests.support.cases import try_each
from webhooks.forms import RedeliverForm


def all_forms(base: type[forms.BaseForm] = forms.BaseForm) -> Iterator[type[forms.BaseForm]]:
    for each in base.__subclasses__():
        yield each
        yield from all_forms(each)


def test_every_time_of_our_forms_is_a_moment_field() -> None:
    times = {
        (each.__name__, name): type(field)
        for each in all_forms()
        if each.__module__.split(".")[0] in ("communities", "surveys", "webhooks", "xp")
        for name, field in getattr(each, "base_fields", {}).items()
        if isinstance(field, forms.DateTimeField)
    }

    assert set(times.values()) == {MomentField}
    assert {form.__name__ for form in (DeliveryForm, OpenForm, RedeliverForm)} <= {name for name, _ in times}


@try_each(
    ("typed", "said"),
    [
        ("2026-03-29T02:30", "29 March 2026, 02:30 does not exist in Europe/Oslo"),
        ("2026-10-25T02:30", "25 October 2026, 02:30 comes twice in Europe/Oslo"),
    ],
)
def test_the_lost_and_the_doubled_hour_are_refused_at_the_field(typed: str, said: str) -> None:
    with timezone.override("Europe/Oslo"):
        form = RedeliverForm({"since": typed})

        assert str(form.errors["since"][0]).startswith(said)
        assert "Choose a time an hour earlier or later." in form.errors["since"][0]


def test_the_zone_is_named_beside_the_input_and_in_lists() -> None:
    with timezone.override("Europe/Oslo"):
        form = RedeliverForm({"since": "2026-07-01T12:00"})
        assert form.is_valid()

        assert form["since"].help_text == "Time zone: Europe/Oslo."
        assert "12:00 CEST</time>" in moment(form.cleaned_data["since"])
