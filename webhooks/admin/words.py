"""How the admin words the states of webhooks and deliveries."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

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
    EventType.PROJECT_OPENED: "A project opened",
    EventType.PROJECT_CLOSED: "A project closed",
    EventType.PROJECT_DELETED: "A project was deleted",
    EventType.RESPONSE_SUBMITTED: "Somebody submitted a response",
    EventType.RESPONSE_DELETED: "A response was deleted",
    EventType.ANALYSIS_COMPLETED: "An analysis is finished",
    EventType.ANALYSIS_FAILED: "An analysis failed",
    EventType.WEBHOOK_PING: "A test message that you sent",
}


def state(word: str, sign: str) -> SafeString:
    """A state as a word with a sign in front of it."""
    return format_html('<span class="state {}">{}</span>', sign, word)


def webhook_state(webhook: Webhook) -> SafeString:
    """Whether a webhook sends, and why not."""
    if webhook.is_active:
        return state("On, failing", "bad") if webhook.failing_since else state("On", "good")
    if webhook.disabled_reason:
        return state(f"Switched off: {webhook.get_disabled_reason_display()}", "bad")
    return state("Off", "closed")


def delivery_state(delivery: Delivery) -> SafeString:
    """The state of a delivery."""
    return state(*DELIVERY_STATES[Status(delivery.status)])


def events_in_words(webhook: Webhook) -> str:
    """The events that a webhook receives."""
    return "All events" if ALL in webhook.events else ", ".join(webhook.events)
