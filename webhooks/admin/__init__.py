"""The admin pages of this app."""

from webhooks.admin import deliveries, events, home, webhooks  # noqa: F401 - they register
