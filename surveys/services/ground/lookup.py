"""Reading projects: those that an actor may see, and one project under the row lock that every change
takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache

from django.db.models import Q, prefetch_related_objects

from communities.ground.actors import Actor
from communities.ground.errors import NotFound
from communities.ground.statements import columns_of, instance_of, prepared, width_of
from communities.models import User
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


def in_community(*, community_id: int, project_id: int, lock: str = "") -> Project:
    """A project of a community. Raises NotFound.

    `lock` is a row lock that the transaction holds until its end: `FOR UPDATE` or `FOR NO KEY UPDATE`.

    The SQL is written by hand: building the same query with the ORM took half of the CPU time of reading a
    script.
    """
    with prepared() as cursor:
        cursor.execute(_statement(lock), [project_id, community_id])
        row = cursor.fetchone()
    if row is None:
        raise NotFound(access.NO_PROJECT)
    return instance_of(Project, row)


@cache
def _statement(lock: str) -> str:
    return (
        f"SELECT {columns_of(Project, 'p')} FROM surveys_project p"
        f" WHERE p.id = %s AND p.community_id = %s AND p.deleted_at IS NULL {lock}"
    ).rstrip()


def get(*, community_id: int, project_id: int) -> Project:
    """A project with everything that its JSON shows. Raises NotFound."""
    project = with_details([project_id]).get(project_id)
    if project is None or project.community_id != community_id or project.deleted_at is not None:
        raise NotFound(access.NO_PROJECT)
    return project


def with_details(ids: Collection[int]) -> dict[int, Project]:
    """The projects with these ids, deleted ones too, with author, buckets and counts, which their JSON shows.

    The counts are `completion_count`, `response_count` and `listed_count`.
    """
    with prepared() as cursor:
        cursor.execute(_statement_with_details(), [list(ids)])
        rows = cursor.fetchall()
    author_at = width_of(Project)
    counts_at = author_at + width_of(User)
    projects = []
    for row in rows:
        project = instance_of(Project, row[:author_at])
        author = instance_of(User, row[author_at:counts_at])
        # An author who was merged in this moment is gone, and the foreign key is only checked at the commit.
        Project.author.field.set_cached_value(project, author if author.pk else None)
        project.completion_count, project.response_count, project.listed_count = row[counts_at:]
        projects.append(project)
    # The JSON shows no buckets while scoring is off.
    prefetch_related_objects([project for project in projects if project.scoring_enabled], "buckets")
    return {project.pk: project for project in projects}


@cache
def _statement_with_details() -> str:
    return f"""
    SELECT {columns_of(Project, "p")}, {columns_of(User, "author")}, counts.*
    FROM surveys_project p
    LEFT JOIN communities_user author ON author.id = p.author_id
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(completed), 0)::bigint, coalesce(sum(answered), 0)::bigint,
            coalesce(sum(listed), 0)::bigint
        FROM surveys_tally WHERE project_id = p.id
    ) counts
    WHERE p.id = ANY(%s::bigint[])
    """


def seen(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """A project that the actor may see (`visible`). Raises NotFound."""
    project = in_community(community_id=actor.community_id, project_id=project_id)
    _require_visible(actor, project, at)
    return project


def seen_with_details(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """A project that the actor may see, with everything that its JSON shows. Raises NotFound."""
    project = get(community_id=actor.community_id, project_id=project_id)
    _require_visible(actor, project, at)
    return project


def _require_visible(actor: Actor, project: Project, at: datetime) -> None:
    if not access.may_see(actor=actor, project=project, at=at):
        raise NotFound(access.NO_PROJECT)


def load_page(projects: ProjectQuerySet, offset: int, length: int) -> list[Project]:
    """A page of these projects, in their order, with everything that their JSON shows.

    The ids are read first, so that counts are summed only for the projects of this page.
    """
    ids = list(projects.values_list("pk", flat=True)[offset : offset + length])
    loaded = with_details(ids)
    return [loaded[project_id] for project_id in ids if project_id in loaded]


def lock(*, actor: Actor, project_id: int) -> Project:
    """A project that the actor may edit, under a row lock until the transaction ends.

    Answers to the project wait for the lock. Raises NotFound and Forbidden.
    """
    project = in_community(community_id=actor.community_id, project_id=project_id, lock="FOR UPDATE")
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
