"""What the audit trail records of webhooks: no secret, and of a URL only where it leads."""

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
    """What entries tell of a webhook."""
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
    """Write an entry about a webhook whose fields were as in `before`, if any differs now."""
    after = shown(webhook)
    if has_new_url and after["url"] == before["url"]:
        after["url"] = f"{after['url']} (changed)"  # in the part that is not shown
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
    """The start of a URL. The rest may be a secret, as many services put a token into the path."""
    parts = urlsplit(url)
    is_whole = parts.path in ("", "/") and not parts.query
    return f"{parts.scheme}://{parts.netloc}/{'' if is_whole else '…'}"
