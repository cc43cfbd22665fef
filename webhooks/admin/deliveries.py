"""The messages that were sent to webhooks: for each delivery the outcome, the payload and the endpoint's
answer.
"""

from __future__ import annotations

import uuid
from typing import Any

import orjson
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.ground.actors import Actor
from communities.ground.errors import Refusal
from communities.staff.base import CommunityModelAdmin
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment
from webhooks.admin import words
from webhooks.events import EventType
from webhooks.models import Delivery, Webhook
from webhooks.services import deliveries
from webhooks.words import DELIVERY_STATES, EVENT_MEANINGS


@admin.register(Delivery)
class DeliveryAdmin(CommunityModelAdmin[Delivery]):
    community_path = "webhook__community_id"

    def rows(self, actor: Actor) -> QuerySet[Delivery]:
        own = Webhook.objects.in_community(actor.community_id).values_list("pk", flat=True)
        return (
            Delivery.objects.filter(webhook_id__in=list(own))
            .select_related("event", "webhook")
            .defer("event__body", "response_body")
        )

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[Delivery]:
        own = Webhook.objects.in_community(actor.community_id).order_by("-pk")
        return Listing(
            columns=[
                Column("Event", lambda row: EVENT_MEANINGS[EventType(row.event.type)], is_title=True),
                Column("State", words.delivery_state),
                Column("Webhook", lambda row: row.webhook.name or row.webhook.url),
                Column("Attempts", lambda row: row.attempt_count, is_number=True),
                Column("Answer", lambda row: row.response_status or row.error or "–"),
                Column("Created", lambda row: moment(row.created_at)),
            ],
            orders={"newest": Order("Newest first", ("-created_at", "-pk"))},
            filters=[
                Filter(
                    "status",
                    "State",
                    [(value, word) for value, (word, _) in DELIVERY_STATES.items()],
                    lambda rows, value: rows.filter(status=value),
                ),
                Filter(
                    "webhook",
                    "Webhook",
                    [(str(each.pk), each.name or each.url) for each in own],
                    lambda rows, value: rows.filter(webhook_id=int(value)),
                ),
            ],
            empty=Empty("Nothing has been sent to a webhook yet. Each message and its outcome appears here."),
            address_of=lambda row: self.address("change", row.pk),
            parts=[Q(webhook_id=each.pk) for each in own],
        )

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<uuid:object_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"webhooks_delivery_{name}",
            )
            for name, view in (("redeliver", self.redeliver_view), ("progress", self.progress_view))
        ]
        return [*own, *super().get_urls()]

    def detail_view(self, request: HttpRequest, actor: Actor, row: Delivery) -> HttpResponse:
        return self.render(request, "admin/webhooks/delivery/detail.html", self._context(row))

    def _context(self, row: Delivery) -> dict[str, Any]:
        full = Delivery.objects.select_related("event", "webhook").get(pk=row.pk)
        payload, arrived = deliveries.payload(full), deliveries.arrived_as(full)
        is_waiting = full.status == Delivery.Status.PENDING
        return {
            "title": EVENT_MEANINGS[EventType(full.event.type)],
            "delivery": full,
            "webhook_address": reverse("admin:webhooks_webhook_change", args=[full.webhook_id]),
            "progress_address": self.address("progress", full.pk) if is_waiting else "",
            "redeliver_address": self.address("redeliver", full.pk),
            "can_redeliver": payload is not None,
            "attempts": [
                {"at": moment(each.at), "outcome": each.outcome, "milliseconds": each.milliseconds}
                for each in deliveries.attempts_of(full)
            ],
            "payload": orjson.dumps(payload, option=orjson.OPT_INDENT_2).decode() if payload else "",
            "facts": [
                ("State", words.delivery_state(full)),
                *([("Arrived as", self._link(arrived))] if arrived else []),
                ("Attempts", full.attempt_count),
                ("Created", moment(full.created_at)),
                ("Last attempt", moment(full.last_attempt_at)),
                ("Next attempt", moment(full.due_at)),
                ("Answer", full.response_status or full.error or "None yet"),
                ("Event id", full.event_id),
            ],
        }

    def _link(self, delivery: Delivery) -> SafeString:
        """Another delivery of the same event, named by its time."""
        address = self.address("change", delivery.pk)
        return format_html('<a href="{}">the delivery of {}</a>', address, moment(delivery.created_at))

    def progress_view(self, request: HttpRequest, object_id: uuid.UUID) -> HttpResponse:
        """The part of the page that changes while the first attempt is running."""
        _, row = self.open_row(request, str(object_id))
        return self.render(request, "admin/webhooks/delivery/progress.html", self._context(row))

    def redeliver_view(self, request: HttpRequest, object_id: uuid.UUID) -> HttpResponse:
        """Send the event again as another delivery, and show the new delivery."""
        actor, row = self.open_row(request, str(object_id))
        address = self.address("change", row.pk)
        if request.method == "POST":
            try:
                again = deliveries.redeliver(
                    actor=actor, community_id=actor.community_id, delivery_id=row.pk, at=timezone.now()
                )
                address = self.address("change", again.pk)
            except Refusal as refusal:
                messages.error(request, refusal.message)
        return HttpResponseRedirect(address)
