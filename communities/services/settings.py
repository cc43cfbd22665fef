"""A community's settings, and its project counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F

from communities.models import Community, CommunitySettings


def get_settings(*, community_id: int) -> CommunitySettings:
    """Return the community's settings, or the defaults if none were ever saved."""
    try:
        return CommunitySettings.objects.get(pk=community_id)
    except CommunitySettings.DoesNotExist:
        return CommunitySettings(community_id=community_id)


def save_settings(*, community_id: int, changes: Mapping[str, Any]) -> CommunitySettings:
    """Change the given settings, and return all of them."""
    own = CommunitySettings.objects.filter(pk=community_id)
    if changes and not own.update(**changes):
        CommunitySettings.objects.bulk_create(
            [CommunitySettings(community_id=community_id)], ignore_conflicts=True
        )
        own.update(**changes)
    return get_settings(community_id=community_id)


def count_projects(*, community_id: int, total: int = 0, active: int = 0) -> None:
    """Add to the counts of all projects ever created, and of those that are live or pending."""
    Community.objects.filter(pk=community_id).update(
        total_project_count=F("total_project_count") + total,
        active_project_count=F("active_project_count") + active,
    )
