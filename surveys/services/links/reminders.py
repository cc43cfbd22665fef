"""Planned reminders: at most three for a project, each sent once at its time in the name of its planner.

    plan(…), cancel(…)   for owners of the project
    send_due(at=…)       for the worker

The mails are those of `mailing.send`, with its limits and the planner's subject and text. One run writes to a
limited number of people; the next run writes to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import QuerySet

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound, Refusal, refuse
from communities.ground.transactions import in_transaction
from communities.services.people import staff
from surveys.models import Project, Reminder
from surveys.services.ground import access, history, lookup
from surveys.services.ground.batches import change_each
from surveys.services.links import mailing
from surveys.services.links.mailing import Choice, Reach, Who

MOST_PLANNED = 3  # of one project, which wait
LATEST = timedelta(days=365)
BATCH = 20  # reminders that one run sends at most
LEFT_OUT = (
    "{people} more got none, because the community has used up today's mails to unconfirmed addresses. "
    "Send a reminder to them tomorrow."
)
NOT_ALLOWED = "The person who planned this reminder may not send it any more."


@in_transaction
def plan(
    *, actor: Actor, project_id: int, due_at: datetime, subject: str, text: str, at: datetime
) -> Reminder:
    """Plan a reminder. Refuses a time that is over or more than a year away, an empty subject or text, and
    (Conflict) a fourth one.

    Raises NotFound and Forbidden for all but owners of the project.
    """
    project = _locked(actor, project_id)
    if not at < due_at <= at + LATEST:
        refuse("due_at", "invalid", "Choose a time in the future, within a year.")
    mailing.require_words(subject, text)
    if waiting(project=project).count() >= MOST_PLANNED:
        raise Conflict(f"At most {MOST_PLANNED} reminders can be planned at one time.")
    after = {"reminder": due_at}
    history.record(Action.PROJECT_UPDATED, project, actor=actor, at=at, after=after)
    return Reminder.objects.create(
        project=project, planned_by_id=actor.user_id, due_at=due_at, subject=subject, text=text
    )


@in_transaction
def cancel(*, actor: Actor, project_id: int, reminder_id: int, at: datetime) -> None:
    """Cancel a planned reminder. Raises NotFound, also for one that has ended, and Forbidden."""
    project = _locked(actor, project_id)
    reminder = waiting(project=project).filter(pk=reminder_id).first()
    if reminder is None:
        raise NotFound("There is no such reminder any more.")
    before = {"reminder": reminder.due_at}
    history.record(Action.PROJECT_UPDATED, project, actor=actor, at=at, before=before)
    reminder.delete()


def waiting(*, project: Project) -> QuerySet[Reminder]:
    """The planned reminders of a project, the next one first."""
    return Reminder.objects.filter(project=project, ended_at__isnull=True).order_by("due_at", "pk")


def words_of(reminder: Reminder) -> tuple[str, str]:
    """Its subject and text; the suggested ones if it was planned without."""
    if reminder.subject:
        return reminder.subject, reminder.text
    return mailing.default_text(reminder.project, is_reminder=True)


def ended(*, project: Project) -> Sequence[Reminder]:
    """The latest reminders that were sent or failed."""
    rows = Reminder.objects.filter(project=project, ended_at__isnull=False)
    return list(rows.order_by("-ended_at", "-pk")[:MOST_PLANNED])


def send_due(*, at: datetime) -> int:
    """Send the reminders whose time has come. Safe to run twice. Returns how many ended."""
    due = Reminder.objects.filter(ended_at__isnull=True, due_at__lte=at, project__deleted_at__isnull=True)
    return change_each(
        due.order_by("due_at", "pk"), lambda pk: _end(pk, at), most=BATCH, fault="reminders.fault"
    )


def _end(reminder_id: int, at: datetime) -> bool:
    """Send a reminder, or note why it could not be sent. Returns whether it has ended by that."""
    try:
        with in_transaction:
            reminder = _claimed(reminder_id)
            if reminder is None:
                return False
            reach = _send(reminder, at)
            reminder.mails += reach.sent_now
            if not reach.waiting:
                reminder.ended_at = at
                reminder.error = LEFT_OUT.format(people=f"{reach.over_sum:,}") if reach.over_sum else ""
            reminder.save(update_fields=["mails", "ended_at", "error"])
            return reminder.ended_at is not None
    except Refusal as refusal:
        with in_transaction:
            reminder = _claimed(reminder_id)
            if reminder is None:
                return False
            reminder.ended_at, reminder.error = at, refusal.message[:300]
            reminder.save(update_fields=["ended_at", "error"])
    return True


def _claimed(reminder_id: int) -> Reminder | None:
    """Lock a reminder that has not ended, unless another worker sends it."""
    rows = Reminder.objects.select_for_update(skip_locked=True, of=("self",)).select_related("project")
    return rows.filter(pk=reminder_id, ended_at__isnull=True).first()


def _send(reminder: Reminder, at: datetime) -> Reach:
    project = reminder.project
    actor = staff.actor_of(user_id=reminder.planned_by_id, community_id=project.community_id)
    if actor is None or not access.may_own(actor=actor, project=project):
        raise Conflict(NOT_ALLOWED)
    subject, text = words_of(reminder)
    choice = Choice(Who.NOT_BEGUN, reminded_before=reminder.due_at)
    return mailing.send(actor=actor, project_id=project.pk, choice=choice, subject=subject, text=text, at=at)


def _locked(actor: Actor, project_id: int) -> Project:
    project = lookup.lock(actor=actor, project_id=project_id)
    access.require_owner(actor=actor, project=project)
    return project


# --- What belongs to a person ---------------------------------------------------------------------------


def erase(*, community_id: int, user_id: int) -> None:
    """Delete the reminders that a person planned in a community."""
    Reminder.objects.filter(planned_by_id=user_id, project__community_id=community_id).delete()


def move(*, community_id: int, keep_id: int, drop_id: int) -> None:
    """Give the reminders of a user who is merged to the user who remains."""
    own = Reminder.objects.filter(planned_by_id=drop_id, project__community_id=community_id)
    own.update(planned_by_id=keep_id)
