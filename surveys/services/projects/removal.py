"""Deleting projects. In the admin they are hidden at once, restorable for ten minutes, then deleted for good.

`Project.objects` leaves out deleted projects, so no reader finds them. For the API a project is gone at once,
as its contract says; a worker deletes the rows of a large one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Length

from communities import services as communities
from communities.ground.actors import Actor, Level
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.ground.queue import wake
from communities.ground.transactions import in_transaction
from communities.ground.undo_period import UNDO_PERIOD
from communities.models.community import TEST_LIFETIME
from communities.services.people import project_grants
from surveys.models import Analysis, Completion, Conversation, Project
from surveys.services import events, public_messages
from surveys.services.ground import access, feed_order, history, lookup
from surveys.services.ground.batches import change_each
from surveys.services.projects import schedule
from webhooks.events import EventType

DELETE_OVERDUE = "surveys.delete_overdue_projects"
CANCEL_BULK = "surveys.cancel_bulk"
LARGE = 5_000  # conversations that one transaction deletes at most, but for the last ones
MUCH = 200_000  # rows of answers, or of completions, that it deletes at most: a second of the database
MOST_LISTED = 200
BATCH = 100  # projects that one run deletes at most; the next run takes the rest


@in_transaction
def delete_project(*, actor: Actor, project_id: int, at: datetime) -> None:
    """Delete a project with its script, conversations and answers (rule 2.18). Refuses an active project.

    The rows of a large project are deleted by a worker, and its event is written then; until then nobody
    finds the project, and nobody can restore it (rule 12.573).
    """
    project = _lock_to_delete(actor, project_id, at=at)
    history.record_deletion(Action.PROJECT_DELETED, project, actor=actor, at=at)
    if _is_large(project):
        project.opens_at = project.closes_at = None
        project.deleted_at = at - UNDO_PERIOD
        project.save(update_fields=[*schedule.STATE, "deleted_at"])
        wake(DELETE_OVERDUE)
    else:
        _delete_locked(project, at=at)


@in_transaction
def delete_for_now(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """Hide a project everywhere, until it is restored or deleted for good. Refuses an active project.

    A pending opening is cancelled, and stays cancelled if the project is restored.
    """
    project = _lock_to_delete(actor, project_id, at=at)
    if project.is_pending_at(at):
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
    return project is not None and delete_some_responses(project, at=at)


@in_transaction
def _delete_for_good(project_id: int, *, at: datetime) -> bool:
    """Delete a project for good, and return whether it was still overdue under its lock.

    A project that is still large is left to the worker that deletes its responses in batches.
    """
    project = _lock_overdue(project_id, at=at)
    if project is None or _is_large(project):
        return False
    history.record_deletion(Action.PROJECT_PURGED, project, actor=None, at=at)
    _delete_locked(project, at=at)
    return True


def _lock_overdue(project_id: int, *, at: datetime) -> Project | None:
    """The project, locked; None if it is restored, deleted, or another worker deletes it."""
    overdue = Project.with_deleted.filter(deleted_at__lte=at - UNDO_PERIOD)
    return overdue.select_for_update(skip_locked=True).filter(pk=project_id).first()


def delete_some_responses(project: Project, *, at: datetime) -> bool:
    """Delete one batch of the conversations of a locked project that is deleted. Returns whether more are
    left than `_delete_locked` should delete.
    """
    if not _is_large(project):
        return False
    values: Mapping[str, Any] = {
        "project": project.pk,
        "community": project.community_id,
        "at": at,
        "most": LARGE,
        "rows": MUCH,
    }
    with connection.cursor() as cursor:
        for statement in _SOME_ROWS:
            cursor.execute(statement, values)
    return True


def _is_large(project: Project) -> bool:
    """Whether its conversations, their answers, or its completions, are too many for one transaction.

    Completions outlive the responses, which `keep_responses_days` deletes.
    """
    if Completion.objects.filter(project_id=project.pk).order_by()[: MUCH + 1].count() > MUCH:
        return True
    first = Conversation.objects.filter(project_id=project.pk).order_by()[: LARGE + 1]
    sizes = first.values_list(Length("packed"), flat=True)  # bytes, of which a row of an answer has eight
    return len(sizes) > LARGE or sum(sizes) > 8 * MUCH


def _lock_to_delete(actor: Actor, project_id: int, *, at: datetime) -> Project:
    """Lock a project that its owner deletes, and count a pending one no longer. Refuses an active project."""
    project = lookup.lock(actor=actor, project_id=project_id)
    access.require_owner(actor=actor, project=project)
    schedule.settle(project, at=at)
    _require_inactive(project, at=at)
    if project.is_pending_at(at):
        communities.count_projects(community_id=actor.community_id, active=-1)
    return project


def _require_inactive(project: Project, *, at: datetime) -> None:
    """Refuse to delete an active project."""
    if project.is_live_at(at):
        raise Conflict("An active project cannot be deleted: close it first.")


def _delete_locked(project: Project, *, at: datetime) -> None:
    """Delete a project under its row lock. The caller has checked that it is neither live nor pending."""
    deleted = lookup.with_details([project.pk])[project.pk]
    events.project_changed(EventType.PROJECT_DELETED, deleted, at=at)
    public_messages.ask_to_remove(project, at=at)
    end_running_analyses(project)
    _delete_rows(project, at=at)
    project_grants.forget_project(project_id=project.pk)
    project.delete()


def end_running_analyses(project: Project) -> None:
    """Return credits of running analyses, which are deleted with the project (rule 10.20). A provider stops
    reading for them.
    """
    running = Analysis.objects.filter(Analysis.UNFINISHED, project=project)
    unread = sum(each.unread_credits for each in running)
    communities.return_credits(community_id=project.community_id, amount=unread)
    for each in running:
        if each.bulk_id is not None:
            wake(CANCEL_BULK, bulk_id=each.bulk_id)


# Conversations in the order of their ids, which the index of a project's conversations has. A row of an
# answer has eight bytes of `packed`.
_BATCH = """
    SELECT id FROM (
        SELECT id, sum(size) OVER (ORDER BY id) - size AS before FROM (
            SELECT id, octet_length(packed) / 8 AS size FROM surveys_conversation
            WHERE project_id = %(project)s ORDER BY id LIMIT %(most)s
        ) own
    ) part WHERE before < %(rows)s
"""
_SOME_ROWS = (
    f"""
        INSERT INTO surveys_deletedresponse (response_id, community_id, project_id, changed_in, due_at)
        SELECT id, %(community)s, project_id, {feed_order.NOW}, %(at)s FROM surveys_conversation
        WHERE id = ANY(ARRAY({_BATCH})) AND changed_in IS NOT NULL
    """,
    f"""
        DELETE FROM surveys_reading WHERE conversation_id = ANY(ARRAY({_BATCH}))
            AND block_id IN (SELECT id FROM surveys_block WHERE project_id = %(project)s)
    """,
    f"DELETE FROM surveys_answer WHERE conversation_id = ANY(ARRAY({_BATCH}))",
    f"DELETE FROM surveys_conversation WHERE id = ANY(ARRAY({_BATCH}))",
    """
        DELETE FROM surveys_completion WHERE project_id = %(project)s AND respondent = ANY(ARRAY(
            SELECT respondent FROM surveys_completion WHERE project_id = %(project)s
            ORDER BY respondent LIMIT %(rows)s
        ))
    """,
)
_NOTE_DELETIONS = f"""
    INSERT INTO surveys_deletedresponse (response_id, community_id, project_id, changed_in, due_at)
    SELECT id, %s, project_id, {feed_order.NOW}, %s FROM surveys_conversation
    WHERE project_id = %s AND changed_in IS NOT NULL
"""


def _delete_rows(project: Project, *, at: datetime) -> None:
    """Delete tables that may contain millions of rows, each in one statement; the cascade deletes the rest.

    The feed reports each response as deleted.

    Django's cascade would load every row first. Constraints are checked at the commit, so any order of
    deletions works.
    """
    of_project = "(SELECT id FROM surveys_block WHERE project_id = %s)"
    statements = (
        f"DELETE FROM surveys_reading WHERE block_id IN {of_project}",
        f"DELETE FROM surveys_theme WHERE block_id IN {of_project}",
        "DELETE FROM surveys_codebook WHERE project_id = %s",
        "DELETE FROM surveys_conversation WHERE project_id = %s",
        f"DELETE FROM surveys_answer WHERE block_id IN {of_project}",
        "DELETE FROM surveys_completion WHERE project_id = %s",
        "DELETE FROM surveys_tally WHERE project_id = %s",
        f"DELETE FROM surveys_option WHERE block_id IN {of_project}",
        "DELETE FROM surveys_block WHERE project_id = %s",
    )
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # otherwise a large project could never be deleted
        cursor.execute(_NOTE_DELETIONS, [project.community_id, at, project.pk])
        for statement in statements:
            cursor.execute(statement, [project.pk])


def delete_unanswered(project: Project, *, at: datetime) -> None:
    """Delete the conversations of a project in which nobody has answered yet."""
    with connection.cursor() as cursor:  # Django's cascade would load every row
        cursor.execute(_NOTE_DELETIONS, [project.community_id, at, project.pk])
        cursor.execute("DELETE FROM surveys_conversation WHERE project_id = %s", [project.pk])
