"""Webhooks: registering, changing and deleting them, their secrets, and pings (chapter 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import QuerySet

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound, refuse
from communities.ground.transactions import in_transaction
from communities.ground.undo_period import UNDO_PERIOD
from communities.ground.words import plural
from communities.models import Community
from webhooks import projects, signatures
from webhooks.events import EventType
from webhooks.models import Delivery, Webhook
from webhooks.services import history, outbox, sealed_secrets

T = TypeVar("T")
MOST_WEBHOOKS = 20  # A community has at most this many webhooks.
PREVIOUS_SECRET_LIFETIME = timedelta(hours=24)
_DELETED = ("deleted_at", "updated_at", "was_active", "is_active")


def as_json(webhook: Webhook) -> dict[str, object]:
    """A webhook as the interface shows it (rule 9.1), and why the service disabled it."""
    return {
        "id": str(webhook.pk),
        "community_id": str(webhook.community_id),
        "name": webhook.name,
        "url": webhook.url,
        "events": webhook.events,
        "project_ids": None if webhook.project_ids is None else list(map(str, webhook.project_ids)),
        "secret_prefix": webhook.secret_prefix,
        "is_active": webhook.is_active,
        "created_at": webhook.created_at,
        "updated_at": webhook.updated_at,
        "disabled_reason": webhook.disabled_reason,
    }


def find(*, community_id: int, webhook_id: int) -> Webhook:
    """A webhook of the community. Refuses one that the community does not have."""
    return _existing(Webhook.objects.in_community(community_id).filter(pk=webhook_id).first())


@in_transaction
def register(
    *,
    actor: Actor | None,
    community_id: int,
    url: str,
    events: Iterable[str],
    name: str | None,
    is_active: bool,
    project_ids: Sequence[int] | None = None,
    at: datetime,
) -> tuple[Webhook, str]:
    """Create a webhook (rules 9.4 and 1.25). Returns it with its signing secret. Refuses the 21st of a
    community.

    With `project_ids`, the webhook receives events about projects only for these projects.
    """
    _require_projects(community_id, project_ids)
    # The lock ensures that two concurrent requests cannot both create the 20th webhook.
    Community.objects.select_for_update(no_key=True).get(pk=community_id)
    _require_room(community_id)
    secret = signatures.new_secret()
    webhook = Webhook.objects.create(
        community_id=community_id,
        name=name,
        url=url,
        events=_without_duplicates(events),
        project_ids=project_ids and _without_duplicates(project_ids),
        sealed_secret=sealed_secrets.seal(secret, community_id=community_id),
        secret_prefix=secret[: signatures.PREFIX_LENGTH],
        is_active=is_active,
        created_at=at,
        updated_at=at,
    )
    history.record(Action.WEBHOOK_CREATED, webhook, actor=actor, at=at, after=history.shown(webhook))
    return webhook, secret


@in_transaction
def change(
    *, actor: Actor | None, community_id: int, webhook_id: int, fields: Mapping[str, Any], at: datetime
) -> Webhook:
    """Change the given fields: url, events, name, is_active, project_ids.

    A new URL, or switching the webhook on, resets the count of failures and the reason it was disabled.
    """
    webhook = lock(community_id=community_id, webhook_id=webhook_id)
    if not fields:
        return webhook
    _require_projects(community_id, fields.get("project_ids"))
    before, has_new_url = history.shown(webhook), fields.get("url", webhook.url) != webhook.url
    if fields.get("is_active") or has_new_url:
        webhook.failing_since = webhook.disabled_reason = None
    for name, value in fields.items():
        setattr(webhook, name, _without_duplicates(value) if isinstance(value, list) else value)
    webhook.updated_at = at
    webhook.save(update_fields=[*fields, "failing_since", "disabled_reason", "updated_at"])
    history.record_change(webhook, actor=actor, at=at, before=before, has_new_url=has_new_url)
    return webhook


@in_transaction
def remove(*, actor: Actor | None, community_id: int, webhook_id: int, at: datetime) -> None:
    """Mark a webhook as deleted and erase its secrets. Housekeeping removes its rows later."""
    webhook = _marked_deleted(lock(community_id=community_id, webhook_id=webhook_id), actor=actor, at=at)
    webhook.sealed_secret = b""
    webhook.sealed_previous_secret = webhook.previous_secret_expires_at = None
    webhook.save(
        update_fields=[*_DELETED, "sealed_secret", "sealed_previous_secret", "previous_secret_expires_at"]
    )


@in_transaction
def remove_with_undo(*, actor: Actor, community_id: int, webhook_id: int, at: datetime) -> None:
    """Mark a webhook as deleted. Its secrets are kept as long as `restore` is possible."""
    _marked_deleted(lock(community_id=community_id, webhook_id=webhook_id), actor=actor, at=at).save(
        update_fields=_DELETED
    )


def restorable(*, community_id: int, at: datetime) -> QuerySet[Webhook]:
    """The webhooks that `restore` accepts."""
    deleted = Webhook.objects.filter(community_id=community_id, deleted_at__gt=at - UNDO_PERIOD)
    return deleted.exclude(sealed_secret=b"")


@in_transaction
def restore(*, actor: Actor, community_id: int, webhook_id: int, at: datetime) -> Webhook:
    """Restore a webhook that was deleted in the last ten minutes, on or off as it was.

    Refuses a webhook that was deleted earlier, or over the API, which erases its secret; and the 21st of a
    community.
    """
    Community.objects.select_for_update(no_key=True).get(pk=community_id)
    deleted = restorable(community_id=community_id, at=at)
    webhook = deleted.select_for_update(no_key=True).filter(pk=webhook_id).first()
    if webhook is None:
        raise NotFound("This webhook cannot be brought back any more.")
    _require_room(community_id)
    webhook.deleted_at, webhook.updated_at = None, at
    webhook.is_active = webhook.was_active
    webhook.save(update_fields=["deleted_at", "updated_at", "is_active"])
    history.record(Action.WEBHOOK_RESTORED, webhook, actor=actor, at=at, after=history.shown(webhook))
    return webhook


@in_transaction
def rotate_secret(
    *, actor: Actor | None, community_id: int, webhook_id: int, at: datetime
) -> tuple[Webhook, str]:
    """Create a new signing secret (rule 9.3).

    The old one also signs for 24 hours, or until the next rotation.
    """
    webhook = lock(community_id=community_id, webhook_id=webhook_id)
    before: history.Shown = {"secret_prefix": webhook.secret_prefix}
    secret = signatures.new_secret()
    webhook.sealed_previous_secret = webhook.sealed_secret
    webhook.previous_secret_expires_at = at + PREVIOUS_SECRET_LIFETIME
    webhook.sealed_secret = sealed_secrets.seal(secret, community_id=community_id)
    webhook.secret_prefix = secret[: signatures.PREFIX_LENGTH]
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
    after: history.Shown = {"secret_prefix": webhook.secret_prefix}
    history.record(Action.WEBHOOK_SECRET_ROTATED, webhook, actor=actor, at=at, before=before, after=after)
    return webhook, secret


def signing_secrets(webhook: Webhook, *, at: datetime) -> list[str]:
    """The secrets that sign at a moment: the current one, then the previous one until it expires.

    Deleted webhooks have none; do not call this for them.
    """
    sealed = [webhook.sealed_secret]
    expires_at = webhook.previous_secret_expires_at
    if webhook.sealed_previous_secret is not None and expires_at is not None and at < expires_at:
        sealed.append(webhook.sealed_previous_secret)
    return [sealed_secrets.unseal(secret, community_id=webhook.community_id) for secret in sealed]


@in_transaction
def ping(*, actor: Actor | None, community_id: int, webhook_id: int, at: datetime) -> Delivery:
    """Send a webhook the event `webhook.ping`, even if it is off or not subscribed to it."""
    webhook = lock(community_id=community_id, webhook_id=webhook_id)
    delivery_id = outbox.emit_to(
        webhook_id=webhook.pk,
        community_id=community_id,
        type=EventType.WEBHOOK_PING,
        data={"webhook": as_json(webhook)},
        at=at,
    )
    history.record(Action.WEBHOOK_PINGED, webhook, actor=actor, at=at)
    return Delivery.objects.select_related("event").get(pk=delivery_id)


def _marked_deleted(webhook: Webhook, *, actor: Actor | None, at: datetime) -> Webhook:
    """Mark a webhook as deleted; the caller saves it."""
    history.record(Action.WEBHOOK_DELETED, webhook, actor=actor, at=at, before=history.shown(webhook))
    webhook.deleted_at = webhook.updated_at = at
    webhook.was_active, webhook.is_active = webhook.is_active, False
    return webhook


def _require_room(community_id: int) -> None:
    """Refuse more than MOST_WEBHOOKS; the caller has locked the community."""
    if Webhook.objects.in_community(community_id).count() >= MOST_WEBHOOKS:
        raise Conflict(f"A community has at most {MOST_WEBHOOKS} webhooks: delete one first.")


def lock(*, community_id: int, webhook_id: int) -> Webhook:
    """A webhook under a row lock until the transaction ends. Raises NotFound."""
    # FOR NO KEY UPDATE, because FOR UPDATE would block every transaction that writes an event for it.
    webhooks = Webhook.objects.in_community(community_id).select_for_update(no_key=True)
    return _existing(webhooks.filter(pk=webhook_id).first())


def _existing(webhook: Webhook | None) -> Webhook:
    if webhook is None:
        raise NotFound("There is no such webhook.")
    return webhook


def projects_in_words(webhook: Webhook) -> str:
    """The names of the projects about which a webhook receives events."""
    if webhook.project_ids is None:
        return "All projects"
    names = projects.names_of(community_id=webhook.community_id, project_ids=webhook.project_ids)
    return ", ".join(_project_in_words(each, names) for each in webhook.project_ids)


def projects_in_short(*, community_id: int, webhooks: Iterable[Webhook]) -> dict[int, str]:
    """The projects about which each of a community's webhooks receives events: all, one by its name, or their
    number.
    """
    chosen = {each.pk: each.project_ids for each in webhooks}
    single = {ids[0] for ids in chosen.values() if ids and len(ids) == 1}
    names = projects.names_of(community_id=community_id, project_ids=single) if single else {}

    def in_short(ids: Sequence[int] | None) -> str:
        if ids is None:
            return "All projects"
        return _project_in_words(ids[0], names) if len(ids) == 1 else plural(len(ids), "project")

    return {webhook_id: in_short(ids) for webhook_id, ids in chosen.items()}


def _project_in_words(project_id: int, names: Mapping[int, str]) -> str:
    return names.get(project_id, f"a deleted project ({project_id})")


def _require_projects(community_id: int, project_ids: Sequence[int] | None) -> None:
    known = projects.names_of(community_id=community_id, project_ids=project_ids) if project_ids else {}
    for n, project_id in enumerate(project_ids or ()):
        if project_id not in known:
            refuse(f"project_ids[{n}]", "not_found", "There is no such project.")


def _without_duplicates(values: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(values))
