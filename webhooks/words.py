"""The words for webhooks, events and deliveries.

A state is a text and a symbol: `good`, `done`, `pending`, `closed` or `bad`.
"""

from __future__ import annotations

from webhooks.events import ALL, EventType
from webhooks.models import Delivery, Webhook

Status = Delivery.Status
DELIVERY_STATES = {
    Status.PENDING: ("Waiting", "pending"),
    Status.DELIVERED: ("Delivered", "done"),
    Status.FAILED: ("Failed, will be tried again", "pending"),
    Status.ABANDONED: ("Given up", "bad"),
}
EVENT_MEANINGS = {
    EventType.PROJECT_CREATED: "A project was created",
    EventType.PROJECT_UPDATED: "A project or its script changed",
    EventType.PROJECT_OPENED: "A project opened",
    EventType.PROJECT_CLOSED: "A project closed",
    EventType.PROJECT_DELETED: "A project was deleted",
    EventType.RESPONSE_SUBMITTED: "Somebody submitted a response",
    EventType.RESPONSE_UPDATED: "Somebody changed a response that they had submitted",
    EventType.RESPONSE_DELETED: "A response was deleted",
    EventType.ANALYSIS_COMPLETED: "An analysis is finished",
    EventType.ANALYSIS_FAILED: "An analysis failed",
    EventType.MEMBER_UPDATED: "A member joined, left or changed",
    EventType.MEMBER_ERASED: "A person's data was erased",
    EventType.WEBHOOK_PING: "A test message that you sent",
}


def webhook_state(webhook: Webhook) -> tuple[str, str]:
    """Whether a webhook sends, and the reason if it does not: a text and a symbol."""
    if webhook.is_active:
        return ("On, failing", "bad") if webhook.failing_since else ("On", "good")
    if webhook.disabled_reason:
        return f"Switched off: {webhook.get_disabled_reason_display()}", "bad"
    return "Off", "closed"


def delivery_state(delivery: Delivery) -> tuple[str, str]:
    """The state of a delivery: a text and a symbol."""
    if delivery.arrived_when_sent_again:
        return "Delivered when sent again", "done"
    return DELIVERY_STATES[Status(delivery.status)]


def events_in_words(webhook: Webhook) -> str:
    """The events that a webhook receives."""
    return "All events" if ALL in webhook.events else ", ".join(webhook.events)
