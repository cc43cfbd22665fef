"""Finding projects: what a key may see, and the lock under which one is changed."""

from __future__ import annotations

from datetime import datetime

from communities.errors import Forbidden, NotFound
from surveys.models import Project, ProjectQuerySet


def visible(*, community_id: int, sees_all: bool, at: datetime) -> ProjectQuerySet:
    """The projects of a community that a key may see: all, or those that are active (decisions 2.2)."""
    projects = Project.objects.in_community(community_id)
    return projects if sees_all else projects.live_at(at)


def one(projects: ProjectQuerySet, project_id: int) -> Project:
    """The project of this id among these. Raises NotFound."""
    project = projects.filter(pk=project_id).first()
    if project is None:
        raise NotFound("There is no such project.")
    return project


def get(*, community_id: int, project_id: int) -> Project:
    """A project with all that is told of it. Raises NotFound."""
    return one(Project.objects.in_community(community_id).for_telling(), project_id)


def told_in_order(projects: ProjectQuerySet, offset: int, length: int) -> list[Project]:
    """A part of these projects, in their order, each with all that is told of it.

    Their ids come first, so that counts are summed for this part alone, not for all to be sorted.
    """
    ids = list(projects.values_list("pk", flat=True)[offset : offset + length])
    loaded = Project.objects.for_telling().in_bulk(ids)
    return [loaded[each] for each in ids if each in loaded]


def lock(*, community_id: int, project_id: int, only_of: int | None) -> Project:
    """A project under a row lock, until the transaction ends.

    `only_of` is the user whose own projects may be changed, None where any may. The lock shuts out
    answers too, for as long as it is held. Raises NotFound and Forbidden.
    """
    project = one(Project.objects.in_community(community_id).select_for_update(), project_id)
    if only_of is not None and project.author_id != only_of:
        raise Forbidden("Only an admin may change a project that somebody else made.")
    return project
