"""Webhooks: registered, changed, removed; their secrets, and pings (decisions 10, 14.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from communities.errors import Conflict, NotFound
from communities.models import Community
from webhooks import signing
from webhooks.events import EventType
from webhooks.models import Delivery, Webhook
from webhooks.services import outbox, sealing

MOST_WEBHOOKS = 20  # of a community
ROTATED_SECRET_LIVES = timedelta(hours=24)


def as_json(webhook: Webhook) -> dict[str, object]:
    """A webhook as it is told (interface 2.10), and why the service itself switched it off."""
    return {
        "id": str(webhook.pk),
        "community_id": str(webhook.community_id),
        "name": webhook.name,
        "url": webhook.url,
        "events": webhook.events,
        "secret_prefix": webhook.secret_prefix,
        "is_active": webhook.is_active,
        "created_at": webhook.created_at,
        "updated_at": webhook.updated_at,
        "disabled_reason": webhook.disabled_reason,
    }


def find(*, community_id: int, webhook_id: int) -> Webhook:
    """Refuses one that the community does not have."""
    webhook = Webhook.objects.in_community(community_id).filter(pk=webhook_id).first()
    return _existing(webhook)


@transaction.atomic
def register(
    *,
    community_id: int,
    url: str,
    events: Iterable[str],
    name: str | None,
    is_active: bool,
    at: datetime,
) -> tuple[Webhook, str]:
    """A new webhook and its signing secret. Refuses more than 20 of a community."""
    # Two at once shall not both be the 20th.
    Community.objects.select_for_update(no_key=True).get(pk=community_id)
    if Webhook.objects.in_community(community_id).count() >= MOST_WEBHOOKS:
        raise Conflict(f"A community has at most {MOST_WEBHOOKS} webhooks: delete one first.")
    secret = signing.new_secret()
    webhook = Webhook.objects.create(
        community_id=community_id,
        name=name,
        url=url,
        events=_each_once(events),
        sealed_secret=sealing.seal(secret, community_id=community_id),
        secret_prefix=secret[: signing.PREFIX_LENGTH],
        is_active=is_active,
        created_at=at,
        updated_at=at,
    )
    return webhook, secret


@transaction.atomic
def change(*, community_id: int, webhook_id: int, fields: Mapping[str, Any], at: datetime) -> Webhook:
    """Change the fields that are given: url, events, name, is_active.

    Another address, or switching it on, begins anew: what failed before counts no more.
    """
    webhook = _locked(community_id, webhook_id)
    if not fields:
        return webhook
    if fields.get("is_active") or fields.get("url", webhook.url) != webhook.url:
        webhook.failing_since = webhook.disabled_reason = None
    for name, value in fields.items():
        setattr(webhook, name, _each_once(value) if name == "events" else value)
    webhook.updated_at = at
    webhook.save(update_fields=[*fields, "failing_since", "disabled_reason", "updated_at"])
    return webhook


@transaction.atomic
def remove(*, community_id: int, webhook_id: int, at: datetime) -> None:
    """Nothing more is sent to it, and its secrets are gone. Its rows go later, so that nobody waits."""
    webhook = _locked(community_id, webhook_id)
    webhook.deleted_at = webhook.updated_at = at
    webhook.is_active = False
    webhook.sealed_secret = b""
    webhook.sealed_previous_secret = webhook.previous_secret_expires_at = None
    webhook.save(
        update_fields=[
            "deleted_at",
            "updated_at",
            "is_active",
            "sealed_secret",
            "sealed_previous_secret",
            "previous_secret_expires_at",
        ]
    )


@transaction.atomic
def rotate_secret(*, community_id: int, webhook_id: int, at: datetime) -> tuple[Webhook, str]:
    """A new signing secret; the old one signs too for 24 hours, or until the next rotation."""
    webhook = _locked(community_id, webhook_id)
    secret = signing.new_secret()
    webhook.sealed_previous_secret = webhook.sealed_secret
    webhook.previous_secret_expires_at = at + ROTATED_SECRET_LIVES
    webhook.sealed_secret = sealing.seal(secret, community_id=community_id)
    webhook.secret_prefix = secret[: signing.PREFIX_LENGTH]
    webhook.updated_at = at
    webhook.save(
        update_fields=[
            "sealed_previous_secret",
            "previous_secret_expires_at",
            "sealed_secret",
            "secret_prefix",
            "updated_at",
        ]
    )
    return webhook, secret


def signing_secrets(webhook: Webhook, *, at: datetime) -> list[str]:
    """What signs now: the secret, and behind it the one before while it lives. Not for deleted webhooks."""
    sealed = [webhook.sealed_secret]
    expires_at = webhook.previous_secret_expires_at
    if webhook.sealed_previous_secret is not None and expires_at is not None and at < expires_at:
        sealed.append(webhook.sealed_previous_secret)
    return [sealing.unseal(each, community_id=webhook.community_id) for each in sealed]


@transaction.atomic
def ping(*, community_id: int, webhook_id: int, at: datetime) -> Delivery:
    """Tell a webhook about itself, whatever it listens to and even while it is off."""
    webhook = _locked(community_id, webhook_id)
    delivery_id = outbox.emit_to(
        webhook_id=webhook.pk,
        community_id=community_id,
        type=EventType.WEBHOOK_PING,
        data={"webhook": as_json(webhook)},
        at=at,
    )
    return Delivery.objects.select_related("event").get(pk=delivery_id)


def _locked(community_id: int, webhook_id: int) -> Webhook:
    # Without the key, or everybody who writes an event for it would wait.
    own = Webhook.objects.in_community(community_id).select_for_update(no_key=True)
    return _existing(own.filter(pk=webhook_id).first())


def _existing(webhook: Webhook | None) -> Webhook:
    if webhook is None:
        raise NotFound("There is no such webhook.")
    return webhook


def _each_once(events: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(events))
