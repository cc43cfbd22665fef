"""Forms for webhooks, with the checks of the interface."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.html import format_html

from communities.forms.once import TicketForm
from communities.ground import web_addresses
from communities.ground.form_fields import MomentField, TextField
from communities.ground.ids import id_of
from webhooks import projects
from webhooks.events import ALL, EventType
from webhooks.models import Delivery, Webhook
from webhooks.services.deliveries import NOT_ARRIVED
from webhooks.words import EVENT_MEANINGS

SOME, EVERY = "some", "all"
MOST_OFFERED = 50  # At most this many projects are offered.
_WRITTEN = {
    "which": "events",
    "about": "project_ids",
    "projects": "project_ids",
}  # The fields of the form are mapped to fields of the model.
EVENTS = [
    (value, format_html("<span>{} <code>{}</code></span>", EVENT_MEANINGS[EventType(value)], value))
    for value in EventType.values
    if value != EventType.WEBHOOK_PING  # Every webhook receives this event.
]


class WebhookForm(forms.Form):
    """The address of a webhook, and its events."""

    name = TextField(max_length=200, required=False, help_text="For you and your colleagues.")
    url = forms.CharField(
        label="Address (URL)",
        max_length=web_addresses.MAX_LENGTH,
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
    about = forms.ChoiceField(
        label="About which projects",
        choices=[(EVERY, "All projects, also new ones"), (SOME, "Only the projects below")],
        widget=forms.RadioSelect,
        initial=EVERY,
        required=False,
        help_text="Events that are about no project, such as an erased member, are sent all the same.",
    )
    projects = forms.MultipleChoiceField(
        label="Projects", required=False, widget=forms.CheckboxSelectMultiple
    )
    is_active = forms.BooleanField(
        label="On",
        required=False,
        initial=True,
        help_text="A webhook that is off receives only pings and what you send again by hand.",
    )

    def __init__(self, data: QueryDict | None, *, community_id: int, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        chosen = [*self.initial.get("projects", ()), *(data.getlist("projects") if data else ())]
        self._offer_projects(community_id, chosen)
        schemes = "https:// or http://" if settings.WEBHOOKS_ALLOW_HTTP else "https://"
        self.fields["url"].help_text += f" It must begin with {schemes}."

    def _offer_projects(self, community_id: int, chosen: Sequence[str]) -> None:
        """Offer the newest projects, and the chosen ones that the community still has."""
        ids = list(filter(None, map(id_of, chosen)))
        newest = projects.newest(community_id=community_id, count=MOST_OFFERED + 1)
        offered = dict(list(newest.items())[:MOST_OFFERED])
        offered |= projects.names_of(community_id=community_id, project_ids=ids)
        field = self.fields["projects"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(str(project_id), name) for project_id, name in offered.items()]
        if len(newest) > MOST_OFFERED:
            field.help_text = f"The newest {MOST_OFFERED}. The API takes any project."
        if not offered:
            field.help_text = "There are no projects yet."
        known = {str(project_id) for project_id in offered}  # A deleted project does not count as a change.
        self.initial["projects"] = [each for each in self.initial.get("projects", ()) if each in known]

    def clean_name(self) -> str | None:
        return self.cleaned_data["name"].strip() or None

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        try:
            web_addresses.check_url(
                url,
                allow_http=settings.WEBHOOKS_ALLOW_HTTP,
                allow_private=settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS,
            )
        except web_addresses.BadAddress as error:
            raise forms.ValidationError(f"The address {error.reason}", code=error.code) from None
        return url

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        if cleaned.get("which") == SOME and not cleaned.get("events"):
            self.add_error("events", "Choose at least one event.")
        if cleaned.get("about") == SOME and not cleaned.get("projects") and "projects" not in self.errors:
            self.add_error("projects", "Choose at least one project.")
        if cleaned.get("about") == EVERY and "projects" in self.changed_data and cleaned.get("projects"):
            self.add_error(
                "about", "You ticked single projects. Choose “Only the projects below”, or untick them."
            )
        if cleaned.get("which") == EVERY and "events" in self.changed_data and cleaned.get("events"):
            self.add_error(
                "which", "You ticked single events. Choose “Only the events below”, or untick them."
            )
        return cleaned

    @property
    def values(self) -> dict[str, Any]:
        """The values in the format of the service."""
        cleaned = self.cleaned_data
        events = [ALL] if cleaned["which"] == EVERY else cleaned["events"]
        return {
            "name": cleaned["name"],
            "url": cleaned["url"],
            "events": events,
            "project_ids": [int(each) for each in cleaned["projects"]] if cleaned["about"] == SOME else None,
            "is_active": cleaned["is_active"],
        }

    @property
    def changes(self) -> dict[str, Any]:
        """Only the changed values, so that a colleague's change of another field stays."""
        changed = {_WRITTEN.get(name, name) for name in self.changed_data}
        cleaned = self.cleaned_data
        if cleaned["which"] == EVERY and "which" not in self.changed_data:
            changed.discard("events")
        if not cleaned["about"] or (cleaned["about"] == EVERY and "about" not in self.changed_data):
            changed.discard("project_ids")
        return {name: value for name, value in self.values.items() if name in changed}


def initial_of(webhook: Webhook) -> dict[str, Any]:
    """The initial values of a webhook's form."""
    return {
        "name": webhook.name,
        "url": webhook.url,
        "which": EVERY if ALL in webhook.events else SOME,
        "events": webhook.events,
        "about": EVERY if webhook.project_ids is None else SOME,
        "projects": [str(each) for each in webhook.project_ids or ()],
        "is_active": webhook.is_active,
    }


class NewWebhookForm(WebhookForm, TicketForm):
    """A new webhook, whose secret is shown once; a form that is sent twice creates only one."""


class RedeliverForm(forms.Form):
    """The deliveries to send again: those that began in a range of time and were not delivered."""

    since = MomentField(label="From", required=True)
    until = MomentField(label="Until", help_text="Empty: until now.")
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
