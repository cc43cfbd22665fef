"""Webhooks and deliveries of the communities in which the person is an admin."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest
from django.urls import reverse

from communities.accounts.own_communities import OwnCommunity, communities_of, require_admin
from webhooks.models import Delivery, Webhook

WHAT = "Webhooks"


def find_webhook(
    request: HttpRequest, webhook_id: int, *, even_deleted: bool = False
) -> tuple[OwnCommunity, Webhook]:
    """Return the webhook and its community. Raises Http404 for a webhook of a community that the person is
    not in, and NotAnAdmin if they are a member or a creator there.
    """
    webhook = Webhook.objects.filter(pk=webhook_id, community_id__in=_own_ids(request)).first()
    if webhook is None or (webhook.deleted_at is not None and not even_deleted):
        raise Http404("There is no such webhook.")
    return require_admin(request, webhook.community_id), webhook


def find_delivery(request: HttpRequest, delivery_id: uuid.UUID) -> tuple[OwnCommunity, Delivery]:
    """Return the delivery and its community. Raises as `find_webhook` does. Deliveries of a deleted webhook
    are not found.
    """
    delivery = (
        Delivery.objects.select_related("event", "webhook")
        .filter(pk=delivery_id, webhook__community_id__in=_own_ids(request), webhook__deleted_at__isnull=True)
        .first()
    )
    if delivery is None:
        raise Http404("There is no such delivery.")
    return require_admin(request, delivery.webhook.community_id), delivery


def list_address(community: OwnCommunity) -> str:
    """The address of a community's list of webhooks."""
    return f"{reverse('account_webhooks')}?community={community.id}"


def _own_ids(request: HttpRequest) -> list[int]:
    return [each.id for each in communities_of(request)]
