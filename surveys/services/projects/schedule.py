"""Scheduled opening and closing of projects.

The scheduled time decides whether a project is live (`Project.is_live_at`). The functions here update the
rows to match it.
"""

from __future__ import annotations

from datetime import datetime

from communities import services as communities
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict
from communities.ground.transactions import in_transaction
from surveys.models import Project
from surveys.services import events, public_messages
from surveys.services.ground import field_groups, history, lookup
from surveys.services.ground.batches import change_each
from webhooks.events import EventType

# The fields that an opening or closing changes.
STATE = ("status", "opens_at", "closes_at", "opened_at", "was_open_to_web")
BATCH = 500  # projects that one tick updates at most; the next tick takes the rest


def settle(project: Project, *, at: datetime) -> bool:
    """Update a locked project in memory to its state at a moment, and emit events.

    Returns whether the project must be saved. Every change of a project calls this first. So a scheduled
    opening or closing is reported exactly once, with its scheduled time, whether a tick runs on time, late,
    twice or never.
    """
    opens_at = project.opens_at if project.opens_at and project.opens_at <= at else None
    closes_at = project.closes_at if project.closes_at and project.closes_at <= at else None
    if opens_at is None and closes_at is None:
        return False
    stored = lookup.get(community_id=project.community_id, project_id=project.pk)
    note_public(project, at=at)
    if opens_at is not None:
        events.project_changed(EventType.PROJECT_OPENED, stored, at=at, happened_at=opens_at)
        public_messages.ask_to_post(project, at=at)
        _note_status(Action.PROJECT_OPENED, project, Project.Status.ACTIVE, at=opens_at)
        project.status = Project.Status.ACTIVE
        project.opened_at, project.opens_at = opens_at, None
    if closes_at is not None:
        events.project_changed(EventType.PROJECT_CLOSED, stored, at=at, happened_at=closes_at)
        public_messages.ask_at_closing(project, at=at)
        _note_status(Action.PROJECT_CLOSED, project, Project.Status.INACTIVE, at=closes_at)
        project.status = Project.Status.INACTIVE
        project.closes_at = None
        communities.count_projects(community_id=project.community_id, active=-1)
    return True


def _note_status(action: Action, project: Project, status: str, *, at: datetime) -> None:
    """Record in the audit trail that the service opens or closes a project on schedule."""
    history.record(
        action, project, actor=None, at=at, before={"status": project.status}, after={"status": status}
    )


def note_public(project: Project, *, at: datetime) -> None:
    """Set in memory that a project has been open to the web, which allows others to clone it from then on."""
    project.was_open_to_web = project.was_open_to_web or project.is_public_at(at)


def follow_delivery(project: Project, *, at: datetime) -> None:
    """Apply changed times of the delivery group to a project that is live or pending.

    Refuses to make a pending opening manual: it is cancelled by closing the project.
    """
    if project.is_live_at(at):
        project.closes_at = field_groups.time_of(project.delivery, "closing")
    elif project.is_pending_at(at):
        project.opens_at = field_groups.time_of(project.delivery, "opening")
        if project.opens_at is None:
            raise Conflict(
                "The project waits for its scheduled opening. Close it to cancel that, then open it."
            )
        project.closes_at = field_groups.time_of(project.delivery, "closing")


def open_and_close_due(*, at: datetime) -> int:
    """Open and close all projects whose scheduled time has passed. Returns the number of changed projects.

    Runs may overlap: each skips the rows that another run has locked.
    """
    return change_each(
        Project.objects.due_to_change(at=at).order_by("pk"),
        lambda project_id: _settle_one(project_id, at=at),
        most=BATCH,
        fault="schedules.fault",
        key_name="project_id",
    )


def catch_up(project: Project, *, at: datetime) -> None:
    """Update a project that a respondent enters before the tick, so that its opening precedes their answers.

    Skips a project that another transaction has locked. Anonymous projects wait for the tick, because a row
    written together with the first answer would show when that respondent answered.
    """
    if not project.is_anonymous and project.opens_at is not None and project.opens_at <= at:
        _settle_one(project.pk, at=at)


@in_transaction
def _settle_one(project_id: int, *, at: datetime) -> bool:
    project = Project.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=project_id).first()
    if project is None or not settle(project, at=at):
        return False
    project.save(update_fields=STATE)
    return True
