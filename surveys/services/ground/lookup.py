"""Reading projects: those that an actor may see, and one project under the row lock that every change
takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache

from django.db.models import Q

from communities.ground.actors import Actor
from communities.ground.errors import NotFound
from communities.ground.statements import columns_of, instance_of, prepared
from surveys.models import Project, ProjectQuerySet
from surveys.services.ground import access


def visible(*, actor: Actor, at: datetime) -> ProjectQuerySet:
    """The projects of a community that the actor may see, as `access.may_see` decides for one."""
    projects: ProjectQuerySet = Project.objects.in_community(actor.community_id)
    if actor.sees_all_projects:
        return projects
    if not (actor.sees_drafts or actor.grants):
        return projects.live_at(at)
    begun = Q(status=Project.Status.ACTIVE) | Q(opens_at__lte=at)
    if actor.sees_drafts:
        by_role = begun | Q(opened_at__isnull=False) | Q(author_id=actor.user_id)
    else:
        by_role = begun & ~Q(closes_at__lte=at)
    return projects.filter(by_role | Q(pk__in=list(actor.grants)))


def one(projects: ProjectQuerySet, project_id: int) -> Project:
    """The project with this id in a queryset. Raises NotFound."""
    project = projects.filter(pk=project_id).first()
    if project is None:
        raise NotFound(access.NO_PROJECT)
    return project


def in_community(*, community_id: int, project_id: int) -> Project:
    """A project of a community. Raises NotFound.

    The SQL is written by hand: building the same query with the ORM took half of the CPU time of reading a
    script.
    """
    with prepared() as cursor:
        cursor.execute(_statement(), [project_id, community_id])
        row = cursor.fetchone()
    if row is None:
        raise NotFound(access.NO_PROJECT)
    return instance_of(Project, row)


@cache
def _statement() -> str:
    return (
        f"SELECT {columns_of(Project, 'p')} FROM surveys_project p"
        " WHERE p.id = %s AND p.community_id = %s AND p.deleted_at IS NULL"
    )


def seen(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """A project that the actor may see (`visible`). Raises NotFound."""
    project = in_community(community_id=actor.community_id, project_id=project_id)
    if not access.may_see(actor=actor, project=project, at=at):
        raise NotFound(access.NO_PROJECT)
    return project


def get(*, community_id: int, project_id: int) -> Project:
    """A project with everything that its JSON shows. Raises NotFound."""
    return one(Project.objects.in_community(community_id).with_details(), project_id)


def load_page(projects: ProjectQuerySet, offset: int, length: int) -> list[Project]:
    """A page of these projects, in their order, with everything that their JSON shows.

    The ids are read first, so that counts are summed only for the projects of this page.
    """
    ids = list(projects.values_list("pk", flat=True)[offset : offset + length])
    loaded = Project.objects.with_details().in_bulk(ids)
    return [loaded[project_id] for project_id in ids if project_id in loaded]


def lock(*, actor: Actor, project_id: int) -> Project:
    """A project that the actor may edit, under a row lock until the transaction ends.

    Answers to the project wait for the lock. Raises NotFound and Forbidden.
    """
    project = one(Project.objects.in_community(actor.community_id).select_for_update(), project_id)
    access.require_editor(actor=actor, project=project)
    return project


def project_names(community_id: int, project_ids: Collection[int]) -> Mapping[int, str]:
    """The names of those of these projects that the community has, by id."""
    projects = Project.objects.in_community(community_id).filter(pk__in=project_ids)
    return dict(projects.values_list("pk", "name"))


def newest_project_names(community_id: int, count: int) -> Mapping[int, str]:
    """The names of the community's newest projects by id, newest first."""
    projects = Project.objects.in_community(community_id).order_by("-created_at", "-pk")
    return dict(projects.values_list("pk", "name")[:count])
