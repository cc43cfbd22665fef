"""The set-up of a community by one of its admins: each step is saved at once, and the end is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.transactions import in_transaction
from communities.models import Community
from communities.services.tenants.communities import change_community
from communities.services.tenants.settings import save_settings
from communities.services.trail import audit


@in_transaction
def save_step(
    *,
    actor: Actor,
    of_community: Mapping[str, Any],
    of_settings: Mapping[str, Any],
    is_last: bool,
    at: datetime,
) -> None:
    """Save the fields of one step.

    The last step records the actor as the person who completed the set-up (`user_setup`).
    """
    if of_community:
        change_community(actor=actor, changes=of_community, at=at)
    if of_settings:
        save_settings(actor=actor, changes=of_settings, at=at)
    if is_last:
        _complete(actor=actor, at=at)


def _complete(*, actor: Actor, at: datetime) -> None:
    row = Community.objects.select_for_update(no_key=True).get(pk=actor.community_id)
    row.user_setup_id = actor.user_id
    row.save(update_fields=["user_setup"])
    audit.record(
        actor=actor,
        action=Action.COMMUNITY_SET_UP,
        on=audit.Subject(row.pk, "community", row.pk, row.name),
        at=at,
    )
