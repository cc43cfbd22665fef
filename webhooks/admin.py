"""The admin pages of webhooks, events and deliveries. Staff may switch a webhook on and off.

Neither the body of an event nor the response of an endpoint, which may repeat it, is shown. Bodies contain
answers that staff must not read, including those of semi-private and anonymous projects.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.admin import M, ReadAdmin
from communities.errors import NotFound
from webhooks.models import Delivery, Event, Webhook
from webhooks.services import webhooks


class ExplainedAdmin(ReadAdmin[M]):
    """A list with a subtitle that says where its rows come from, also when it is empty."""

    explanation: str
    lookups: frozenset[str]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the page's own filters and links: filters on hidden fields would reveal them."""
        return lookup in self.lookups

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "subtitle": self.explanation})


def link_to(row: Model, text: object) -> SafeString:
    """A link to the change page of a row."""
    address = reverse(f"admin:webhooks_{row._meta.model_name}_change", args=[row.pk])
    return format_html('<a href="{}">{}</a>', address, text)


def link_to_deliveries(**lookups: object) -> SafeString:
    """A link to the list of deliveries, filtered by these lookups."""
    address = reverse("admin:webhooks_delivery_changelist", query=lookups)
    return format_html('<a href="{}">Deliveries</a>', address)


@admin.register(Webhook)
class WebhookAdmin(ExplainedAdmin[Webhook]):
    explanation = "Admins of a community register webhooks through the API, which shows the secret once."
    list_display = (
        *("id", "name", "is_active", "deliveries", "community", "disabled_reason", "failing_since"),
        *("listens_to", "url"),
    )
    lookups = frozenset({"is_active__exact", "disabled_reason__exact", "disabled_reason__isnull"})
    list_display_links = ("id", "name")
    list_filter = ("is_active", "disabled_reason")
    list_select_related = ("community",)
    search_fields = ("=id", "name", "url", "=community__id", "community__name")
    ordering = ("-id",)
    fields = (
        *("community", "name", "url", "listens_to", "is_active", "disabled_reason", "failing_since"),
        *("secret_prefix", "previous_secret_expires_at", "created_at", "updated_at", "deliveries"),
    )
    readonly_fields = ("listens_to", "deliveries")
    actions = ("switch_on", "switch_off")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        return super().get_queryset(request).filter(deleted_at__isnull=True)

    @admin.display(description="listens to")
    def listens_to(self, webhook: Webhook) -> str:
        return ", ".join(webhook.events)

    @admin.display(description="deliveries")
    def deliveries(self, webhook: Webhook) -> SafeString:
        return link_to_deliveries(webhook__id__exact=webhook.pk)

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_webhook")

    @admin.action(description="Switch on and send due deliveries", permissions=["switch"])
    def switch_on(self, request: HttpRequest, selected: QuerySet[Webhook]) -> None:
        count = _switch(selected, is_active=True)
        self.message_user(request, f"Switched on: {count}. Due deliveries are sent now.", messages.SUCCESS)

    @admin.action(description="Switch off and hold due deliveries", permissions=["switch"])
    def switch_off(self, request: HttpRequest, selected: QuerySet[Webhook]) -> None:
        count = _switch(selected, is_active=False)
        self.message_user(request, f"Switched off: {count}. Due deliveries wait.", messages.SUCCESS)


def _switch(selected: QuerySet[Webhook], *, is_active: bool) -> int:
    """Change the webhooks. Returns how many; one that has been deleted in the meantime is skipped."""
    at, count = timezone.now(), 0
    to_change = selected.exclude(is_active=is_active).order_by("pk")
    for webhook_id, community_id in to_change.values_list("pk", "community_id"):
        with suppress(NotFound):
            webhooks.change(
                community_id=community_id, webhook_id=webhook_id, fields={"is_active": is_active}, at=at
            )
            count += 1
    return count


@admin.register(Event)
class EventAdmin(ExplainedAdmin[Event]):
    explanation = "Events that at least one webhook listened to. Bodies are kept for 30 days and never shown."
    lookups = frozenset({"type__exact"})
    list_display = ("created_at", "type", "community", "deliveries", "has_body", "rounding", "id")
    list_filter = ("type",)
    list_select_related = ("community",)
    search_fields = ("=id", "=community__id")
    ordering = ("-created_at",)
    # Leaves out the body and the person it names.
    fields = ("type", "community", "created_at", "rounding", "has_body", "deliveries")
    readonly_fields = ("has_body", "deliveries")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("body").annotate(has_body=Q(body__isnull=False))

    @admin.display(description="has a body", boolean=True)
    def has_body(self, event: Any) -> bool:
        return bool(event.has_body)

    @admin.display(description="deliveries")
    def deliveries(self, event: Event) -> SafeString:
        return link_to_deliveries(event__id__exact=event.pk)


@admin.register(Delivery)
class DeliveryAdmin(ExplainedAdmin[Delivery]):
    explanation = "One event for one webhook, with the outcome of the last attempt."
    lookups = frozenset({"status__exact", "event__type__exact", "event__id__exact", "webhook__id__exact"})
    list_display = (
        *("created_at", "status", "attempt_count", "response_status", "event_link", "webhook_link"),
        *("community", "due_at", "last_attempt_at", "id"),
    )
    list_filter = ("status", "event__type")
    list_select_related = ("event", "webhook__community")
    search_fields = ("=id", "=event__id", "=webhook__id", "=webhook__community__id")
    ordering = ("-created_at",)
    # Leaves out the endpoint's response, which may repeat the body.
    fields = (
        *("event_link", "webhook_link", "community", "status", "attempt_count", "due_at", "even_if_off"),
        *("response_status", "error", "last_attempt_at", "created_at"),
    )
    readonly_fields = ("event_link", "webhook_link", "community")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        deliveries = super().get_queryset(request).filter(webhook__deleted_at__isnull=True)
        return deliveries.defer("response_body", "event__body")

    @admin.display(description="event", ordering="event__type")
    def event_link(self, delivery: Delivery) -> SafeString:
        return link_to(delivery.event, delivery.event.get_type_display())

    @admin.display(description="webhook", ordering="webhook_id")
    def webhook_link(self, delivery: Delivery) -> SafeString:
        return link_to(delivery.webhook, delivery.webhook)

    @admin.display(description="community", ordering="webhook__community")
    def community(self, delivery: Delivery) -> str:
        return str(delivery.webhook.community)
