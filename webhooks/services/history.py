"""The fields of webhooks in the audit trail: no secret, and only the origin of a URL."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlsplit

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.rounding import Rounding
from communities.services.trail import audit
from webhooks.models import Webhook

Shown = dict[str, object]


def shown(webhook: Webhook) -> Shown:
    """The fields of a webhook for entries."""
    return {
        "name": webhook.name,
        "url": _origin(webhook.url),
        "events": webhook.events,
        "project_ids": webhook.project_ids,
        "is_active": webhook.is_active,
    }


def record(
    action: Action,
    webhook: Webhook,
    *,
    actor: Actor | None,
    at: datetime,
    before: Shown | None = None,
    after: Shown | None = None,
    rounded_to: Rounding | None = None,
) -> None:
    """Write an entry about a webhook. Without an `actor` the service itself acted."""
    audit.record(
        actor=actor,
        action=action,
        on=_subject(webhook),
        at=at,
        before=before,
        after=after,
        rounded_to=rounded_to,
    )


def record_change(
    webhook: Webhook, *, actor: Actor | None, at: datetime, before: Shown, has_new_url: bool
) -> None:
    """Write an entry about a webhook with the earlier fields `before`, if any of them differs now."""
    after = shown(webhook)
    if has_new_url and after["url"] == before["url"]:
        after["url"] = f"{after['url']} (changed)"  # The change is in the part of the URL that is not shown.
    audit.record_change(
        actor=actor,
        action=Action.WEBHOOK_UPDATED,
        on=_subject(webhook),
        at=at,
        before=before,
        after=after,
    )


def _subject(webhook: Webhook) -> audit.Subject:
    return audit.Subject(webhook.community_id, "webhook", webhook.pk, webhook.name or _origin(webhook.url))


def _origin(url: str) -> str:
    """The origin of a URL. The rest may be a secret, because many services put a token into the path."""
    parts = urlsplit(url)
    is_whole = parts.path in ("", "/") and not parts.query
    return f"{parts.scheme}://{parts.netloc}/{'' if is_whole else '…'}"
