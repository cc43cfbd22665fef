"""Forms for webhooks, with the checks of the interface."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.utils.html import format_html

from communities.once import TicketForm
from webhooks import addresses
from webhooks.events import ALL, EventType
from webhooks.models import Delivery, Webhook
from webhooks.services.deliveries import NOT_ARRIVED
from webhooks.words import EVENT_MEANINGS

SOME, EVERY = "some", "all"
EVENTS = [
    (value, format_html("<span>{} <code>{}</code></span>", EVENT_MEANINGS[EventType(value)], value))
    for value in EventType.values
    if value != EventType.WEBHOOK_PING  # every webhook receives it
]


class WebhookForm(forms.Form):
    """Where a webhook sends, and which events."""

    name = forms.CharField(max_length=200, required=False, help_text="For you and your colleagues.")
    url = forms.CharField(
        label="Address (URL)",
        max_length=addresses.MAX_LENGTH,
        help_text="Where the events are sent by POST.",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/colloquy", "autocomplete": "off"}),
    )
    which = forms.ChoiceField(
        label="Which events",
        choices=[(EVERY, "All events, also kinds that are added later"), (SOME, "Only the events below")],
        widget=forms.RadioSelect,
        initial=EVERY,
    )
    events = forms.MultipleChoiceField(
        label="Events", choices=EVENTS, required=False, widget=forms.CheckboxSelectMultiple
    )
    is_active = forms.BooleanField(
        label="On",
        required=False,
        initial=True,
        help_text="A webhook that is off receives only pings and what you send again by hand.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        schemes = "https:// or http://" if settings.WEBHOOKS_ALLOW_HTTP else "https://"
        self.fields["url"].help_text += f" It must begin with {schemes}."

    def clean_name(self) -> str | None:
        return self.cleaned_data["name"].strip() or None

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        try:
            addresses.check_url(
                url,
                allow_http=settings.WEBHOOKS_ALLOW_HTTP,
                allow_private=settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS,
            )
        except addresses.BadAddress as error:
            raise forms.ValidationError(str(error).replace("`url`", "The address"), code=error.code) from None
        return url

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        if cleaned.get("which") == SOME and not cleaned.get("events"):
            self.add_error("events", "Choose at least one event.")
        if cleaned.get("which") == EVERY and "events" in self.changed_data and cleaned.get("events"):
            self.add_error(
                "which", "You ticked single events. Choose “Only the events below”, or untick them."
            )
        return cleaned

    @property
    def values(self) -> dict[str, Any]:
        """The values as the service takes them."""
        cleaned = self.cleaned_data
        events = [ALL] if cleaned["which"] == EVERY else cleaned["events"]
        return {
            "name": cleaned["name"],
            "url": cleaned["url"],
            "events": events,
            "is_active": cleaned["is_active"],
        }

    @property
    def changes(self) -> dict[str, Any]:
        """Only the changed values, so that a colleague's change of another field stays."""
        changed = {
            "events" if name == "which" else name
            for name in self.changed_data
            if name != "events" or self.cleaned_data["which"] == SOME
        }
        return {name: value for name, value in self.values.items() if name in changed}


def initial_of(webhook: Webhook) -> dict[str, Any]:
    """What the form of a webhook begins with."""
    return {
        "name": webhook.name,
        "url": webhook.url,
        "which": EVERY if ALL in webhook.events else SOME,
        "events": webhook.events,
        "is_active": webhook.is_active,
    }


class NewWebhookForm(WebhookForm, TicketForm):
    """A new webhook, whose secret is shown once, so that sending it twice makes one."""


class RedeliverForm(forms.Form):
    """Which deliveries to send again: those that began in a range of time and did not arrive."""

    since = forms.DateTimeField(
        label="From", widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    )
    until = forms.DateTimeField(
        label="Until",
        required=False,
        help_text="Empty: until now.",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    delivered_too = forms.BooleanField(
        label="Also those that were delivered",
        required=False,
        help_text="Your endpoint receives them a second time, with the same ids.",
    )

    def clean(self) -> dict[str, Any]:
        since: datetime | None = self.cleaned_data.get("since")
        until: datetime | None = self.cleaned_data.get("until")
        if since and until and until <= since:
            self.add_error("until", "This must be later than the beginning.")
        return self.cleaned_data

    @property
    def statuses(self) -> tuple[str, ...]:
        """The statuses of the deliveries that are sent again."""
        return (
            (*NOT_ARRIVED, Delivery.Status.DELIVERED) if self.cleaned_data["delivered_too"] else NOT_ARRIVED
        )
