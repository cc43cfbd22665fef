"""The words and symbols of the admin for the states of webhooks and deliveries."""

from __future__ import annotations

from django.utils.safestring import SafeString

from communities.staff.texts import state
from webhooks import words
from webhooks.models import Delivery, Webhook


def webhook_state(webhook: Webhook) -> SafeString:
    """Whether a webhook sends, and the reason if it does not."""
    return state(*words.webhook_state(webhook))


def delivery_state(delivery: Delivery) -> SafeString:
    """The state of a delivery."""
    return state(*words.delivery_state(delivery))
