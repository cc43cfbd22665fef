"""The list of projects: filtered, in one of several orders, by page or after a project (rule 1.16)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Lower

from communities.ground.errors import NotFound
from surveys.models import Project, ProjectQuerySet
from surveys.services.ground import access, lookup

# The sort key of each order, and whether it is descending. Equal values are sorted by id.
ORDER: Mapping[str, tuple[F | Lower, bool]] = {
    "created_at": (F("created_at"), False),
    "-created_at": (F("created_at"), True),
    "name": (Lower("name"), False),
    "id": (F("pk"), False),
}


def matching(visible: ProjectQuerySet, filters: Mapping[str, Any], *, at: datetime) -> ProjectQuerySet:
    """The projects that match the given filters among `status`, `type`, `author_id`, `search` and
    `updated_after`.
    """
    matches, live = visible, visible.live_at(at)
    if filters.get("status") == "active":
        matches = live
    elif filters.get("status") == "inactive":
        matches = matches.exclude(pk__in=live.values("pk"))
    if "type" in filters:
        matches = matches.filter(type=filters["type"])
    if "author_id" in filters:
        matches = matches.filter(author_id=filters["author_id"])
    if "search" in filters:
        matches = matches.filter(name__icontains=filters["search"])
    if "updated_after" in filters:
        matches = matches.filter(updated_at__gte=filters["updated_after"])
    return matches


def page(matches: ProjectQuerySet, offset: int, length: int, *, sort: str) -> list[Project]:
    """Projects at an offset of an order, with everything that their JSON shows."""
    return lookup.load_page(_ordered(matches, sort), offset, length)


def page_after(
    matches: ProjectQuerySet,
    after: int,
    length: int,
    *,
    sort: str,
    visible: ProjectQuerySet,
    community_id: int,
) -> list[Project]:
    """The projects after a given one in an order; the cost is the same at any depth.

    The given project must be visible, and need not match. In the order of ids it may also be a deleted
    project of the community. So paging continues when the last project of a page is deleted before the next
    page is read. Raises NotFound otherwise.
    """
    expression, descends = ORDER[sort]
    place = visible.filter(pk=after).values_list(expression, flat=True).first()
    if place is None and sort == "id":
        deleted = Project.with_deleted.in_community(community_id).exclude(deleted_at=None)
        place = deleted.filter(pk=after).values_list("pk", flat=True).first()
    if place is None:
        raise NotFound(access.NO_PROJECT)
    side = "lt" if descends else "gt"
    beyond = Q(**{f"place__{side}": place}) | Q(**{f"pk__{side}": after}, place=place)
    # The first condition implies the second; the second makes the index usable.
    following = matches.alias(place=expression).filter(beyond, **{f"place__{side}e": place})
    return lookup.load_page(_ordered(following, sort), 0, length)


def _ordered(matches: ProjectQuerySet, sort: str) -> ProjectQuerySet:
    expression, descends = ORDER[sort]
    places = (expression, F("pk"))
    return matches.order_by(*(each.desc() if descends else each.asc() for each in places))
