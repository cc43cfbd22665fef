"""Refusals of services, shown at the fields of a form."""

from __future__ import annotations

from typing import Any

from django.forms import BaseForm

from communities.ground.errors import Refusal


def add_to_form(form: BaseForm, refusal: Refusal, *, fields: dict[str, str] | None = None) -> None:
    """Add a refusal of a service to a form. `fields` maps names of the interface to names of the form."""
    form_fields: dict[str, Any] = fields or {}
    for each in refusal.violations:
        field = form_fields.get(each["field"], each["field"])
        form.add_error(field if field in form.fields else None, each["message"])
    if not refusal.violations:
        form.add_error(None, refusal.message)
