"""A project as JSON, the same in the interface and in events (rule 1.37)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings

from surveys.models import Project, buckets_in_order
from surveys.models.project import SETTINGS
from surveys.services.ground import field_groups


def project_as_json(project: Project, *, at: datetime) -> dict[str, Any]:
    """Every field of a project, with the status at this moment.

    `project` is loaded by `lookup.with_details`, which loads its author, buckets and counts.
    """
    is_live = project.is_live_at(at)
    return {
        "id": str(project.pk),
        "community_id": str(project.community_id),
        "name": project.name,
        "status": "active" if is_live else "inactive",
        "info": {
            "type": project.type,
            "created_at": field_groups.as_text(project.created_at),
            "updated_at": field_groups.as_text(project.updated_at),
            "block_count": project.block_count,
            "is_cloneable": project.is_cloneable,
            "author_id": None if project.author_id is None else str(project.author_id),
            "author_name": project.author.get_full_name() if project.author else None,
            "completion_count": project.completion_count,
            "response_count": project.response_count,
            "web_url": web_url(project),
            "short_url": short_url(project),
            "scheduled_open_at": field_groups.as_text(project.opens_at)
            if project.opens_at and project.opens_at > at
            else None,
            "results_url": results_url(project) if project.share_results else None,
        },
        "settings": {name: getattr(project, name) for name in SETTINGS},
        "delivery": project.delivery,
        "rewards": project.rewards,
        "presentation": project.presentation,
        "scoring": {
            "enabled": project.scoring_enabled,
            "buckets": [{"name": bucket.name, "order": bucket.order} for bucket in buckets_in_order(project)]
            if project.scoring_enabled
            else [],
        },
        "generation": project.generation,
    }


def web_url(project: Project) -> str:
    """The address of the respondent's page."""
    return f"{settings.BASE_URL}/s/{project.slug}"


def short_url(project: Project) -> str | None:
    """The short address of the respondent's page; None if the project is not public, or has none yet."""
    return f"{settings.BASE_URL}/q/{project.short_code}" if project.short_code and project.is_public else None


def results_url(project: Project) -> str:
    """The address of the public results page, which is available while the results are shared."""
    return f"{settings.BASE_URL}/r/{project.results_token}"
