"""URL paths of webhooks, their deliveries and events, below `/v1/`."""

from __future__ import annotations

from django.urls import path

import communities.gate.fields  # noqa: F401 - registers `<id:...>`
from webhooks.api.deliveries import DeliveryViewSet
from webhooks.api.events import EventViewSet
from webhooks.api.webhooks import WebhookViewSet

_WEBHOOKS = "communities/<id:community_id>/webhooks"
_WEBHOOK = f"{_WEBHOOKS}/<id:webhook_id>"
_DELIVERY = "communities/<id:community_id>/deliveries/<uuid:delivery_id>"

urlpatterns = [
    path(_WEBHOOKS, WebhookViewSet.as_view({"get": "list", "post": "create"})),
    path(
        _WEBHOOK,
        WebhookViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path(f"{_WEBHOOK}/rotate_secret", WebhookViewSet.as_view({"post": "rotate_secret"})),
    path(f"{_WEBHOOK}/ping", WebhookViewSet.as_view({"post": "ping"})),
    path(f"{_WEBHOOK}/redeliver", WebhookViewSet.as_view({"post": "redeliver"})),
    path(f"{_WEBHOOK}/deliveries", DeliveryViewSet.as_view({"get": "list"})),
    path("communities/<id:community_id>/events", EventViewSet.as_view({"get": "list"})),
    path(_DELIVERY, DeliveryViewSet.as_view({"get": "retrieve"})),
    path(f"{_DELIVERY}/redeliver", DeliveryViewSet.as_view({"post": "redeliver"})),
]
