"""A community's settings, and the counts kept on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F

from communities.models import Community, CommunitySettings


def get_settings(*, community_id: int) -> CommunitySettings:
    """The community's settings; a community that never saved any has the defaults."""
    found = CommunitySettings.objects.filter(pk=community_id).first()
    return found or CommunitySettings(community_id=community_id)


def save_settings(*, community_id: int, changes: Mapping[str, Any]) -> CommunitySettings:
    """Change the settings that are given, and answer all of them."""
    settings, _ = CommunitySettings.objects.update_or_create(
        community_id=community_id, defaults=dict(changes)
    )
    return settings


def count_projects(*, community_id: int, total: int = 0, active: int = 0) -> None:
    """Add to the counts of projects ever created, and of projects live or pending."""
    Community.objects.filter(pk=community_id).update(
        total_project_count=F("total_project_count") + total,
        active_project_count=F("active_project_count") + active,
    )
