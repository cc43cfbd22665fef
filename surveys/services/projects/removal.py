"""Deleting projects in the admin: hidden at once, restorable for ten minutes, then deleted for good.

`Project.objects` leaves out deleted projects, so no reader finds them. For the API a project
is gone at once (`service.delete_project`), as its contract says; a large one is deleted here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from communities import services as communities
from communities.ground.actors import Actor, Level
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.ground.transactions import in_transaction
from communities.ground.undo_period import UNDO_PERIOD
from communities.models.community import TEST_LIFETIME
from surveys.models import Project
from surveys.services import events
from surveys.services.ground import access, history, lookup
from surveys.services.ground.batches import change_each
from surveys.services.projects import schedule
from surveys.services.projects import service as projects

MOST_LISTED = 200
BATCH = 100  # projects that one run deletes at most; the next run takes the rest


@in_transaction
def delete_for_now(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """Hide a project everywhere, until it is restored or deleted for good. Refuses an active project.

    A pending opening is cancelled, and stays cancelled if the project is restored.
    """
    project = lookup.lock(actor=actor, project_id=project_id)
    access.require_owner(actor=actor, project=project)
    schedule.settle(project, at=at)
    projects.require_inactive(project, at=at)
    if project.is_pending_at(at):
        communities.count_projects(community_id=actor.community_id, active=-1)
        project.opens_at = project.closes_at = None
    project.deleted_at, project.deleted_by_id = at, actor.user_id
    project.save(update_fields=[*schedule.STATE, "deleted_at", "deleted_by"])
    history.record_deletion(Action.PROJECT_DELETED, project, actor=actor, at=at)
    return project


@in_transaction
def restore(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """Restore a deleted project.

    Refuses after its ten minutes are over; raises NotFound for other projects.
    """
    deleted = Project.with_deleted.in_community(actor.community_id).filter(deleted_at__isnull=False)
    project = deleted.select_for_update().filter(pk=project_id).first()
    if project is None:
        raise NotFound(access.NO_PROJECT)
    access.require_owner(actor=actor, project=project)
    if not is_restorable(project, at=at):
        raise Conflict("The ten minutes in which the project could be restored are over.")
    project.deleted_at = project.deleted_by = None
    project.save(update_fields=["deleted_at", "deleted_by"])
    events.project_updated(project, at=at)  # a pending opening was cancelled
    history.record(Action.PROJECT_RESTORED, project, actor=actor, at=at)
    return project


def is_restorable(project: Project, *, at: datetime) -> bool:
    """Whether a deleted project can still be restored."""
    return project.deleted_at is not None and at < project.deleted_at + UNDO_PERIOD


def restorable(*, actor: Actor, at: datetime) -> Sequence[Project]:
    """The deleted projects that the actor may restore, latest first, at most MOST_LISTED."""
    deleted = Project.with_deleted.in_community(actor.community_id).filter(deleted_at__gt=at - UNDO_PERIOD)
    if not actor.is_admin:
        owned = Q(pk__in=[pk for pk, level in actor.grants.items() if level == Level.OWN])
        deleted = deleted.filter(owned | Q(author_id=actor.user_id) if actor.is_creator else owned)
    return list(deleted.order_by("-deleted_at", "-pk")[:MOST_LISTED])


def delete_overdue(*, at: datetime) -> int:
    """Delete all projects for good that can no longer be restored. Returns the number of deleted projects."""
    overdue = Project.with_deleted.filter(deleted_at__lte=at - UNDO_PERIOD)
    return change_each(
        overdue.order_by("deleted_at", "pk"),
        lambda project_id: _delete_in_batches(project_id, at=at),
        most=BATCH,
        fault="removal.fault",
        key_name="project_id",
    )


def delete_old_tests(*, at: datetime) -> int:
    """Hide the projects that test keys made more than 30 days ago, also open ones, so that `delete_overdue`
    deletes them for good. Returns how many.
    """
    old = Project.objects.filter(community__test_of__isnull=False, created_at__lte=at - TEST_LIFETIME)
    return change_each(
        old.order_by("pk"),
        lambda project_id: _give_up(project_id, at=at),
        most=BATCH,
        fault="removal.fault",
        key_name="project_id",
    )


@in_transaction
def _give_up(project_id: int, *, at: datetime) -> bool:
    project = Project.objects.select_for_update(skip_locked=True).filter(pk=project_id).first()
    if project is None:
        return False
    schedule.settle(project, at=at)
    if project.is_live_at(at) or project.is_pending_at(at):
        communities.count_projects(community_id=project.community_id, active=-1)
    project.status, project.opens_at, project.closes_at = Project.Status.INACTIVE, None, None
    project.deleted_at = at - UNDO_PERIOD
    project.save(update_fields=[*schedule.STATE, "deleted_at"])
    return True


def _delete_in_batches(project_id: int, *, at: datetime) -> bool:
    """Delete a project for good, a large one in many transactions. Returns whether it was still overdue."""
    while _delete_some_responses(project_id, at=at):
        pass
    return _delete_for_good(project_id, at=at)


@in_transaction
def _delete_some_responses(project_id: int, *, at: datetime) -> bool:
    project = _lock_overdue(project_id, at=at)
    return project is not None and projects.delete_some_responses(project, at=at)


@in_transaction
def _delete_for_good(project_id: int, *, at: datetime) -> bool:
    """Delete a project for good, and return whether it was still overdue under its lock.

    A project that is still large is left to the worker that deletes its responses in batches.
    """
    project = _lock_overdue(project_id, at=at)
    if project is None or projects.is_large(project):
        return False
    history.record_deletion(Action.PROJECT_PURGED, project, actor=None, at=at)
    projects.delete_locked(project, at=at)
    return True


def _lock_overdue(project_id: int, *, at: datetime) -> Project | None:
    """The project, locked; None if it is restored, deleted, or another worker deletes it."""
    overdue = Project.with_deleted.filter(deleted_at__lte=at - UNDO_PERIOD)
    return overdue.select_for_update(skip_locked=True).filter(pk=project_id).first()
