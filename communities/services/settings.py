"""A community's settings, and its project counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import F

from communities import second_factors
from communities.actors import Actor
from communities.audit_actions import Action
from communities.models import Community, CommunitySettings
from communities.services import audit
from communities.transactions import in_transaction


def get_settings(*, community_id: int) -> CommunitySettings:
    """Return the community's settings, or the defaults if none were ever saved."""
    try:
        return CommunitySettings.objects.get(pk=community_id)
    except CommunitySettings.DoesNotExist:
        return CommunitySettings(community_id=community_id)


@in_transaction
def save_settings(*, actor: Actor, changes: Mapping[str, Any], at: datetime) -> CommunitySettings:
    """Change the given settings of the actor's community, and return all of them.

    Raises OwnFactorMissing if the actor asks the staff for a second factor and has none.
    """
    community_id = actor.community_id
    if not changes:
        return get_settings(community_id=community_id)
    row = _locked(community_id)
    before = {name: getattr(row, name) for name in changes}
    if changes.get(second_factors.FIELD) and not row.require_second_factor:
        second_factors.require_own(user_id=actor.user_id)
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(update_fields=list(changes))
    audit.record_change(
        actor=actor,
        action=Action.SETTINGS_UPDATED,
        on=audit.Subject(community_id, "settings", community_id),
        at=at,
        before=before,
        after=changes,
    )
    return row


def _locked(community_id: int) -> CommunitySettings:
    """The settings under a row lock, created if none were ever saved."""
    own = CommunitySettings.objects.select_for_update(no_key=True).filter(pk=community_id)
    row = own.first()
    if row is None:
        CommunitySettings.objects.bulk_create(
            [CommunitySettings(community_id=community_id)], ignore_conflicts=True
        )
        row = own.get()
    return row


def count_projects(*, community_id: int, total: int = 0, active: int = 0) -> None:
    """Add to the counts of all projects ever created, and of those that are live or pending."""
    Community.objects.filter(pk=community_id).update(
        total_project_count=F("total_project_count") + total,
        active_project_count=F("active_project_count") + active,
    )
