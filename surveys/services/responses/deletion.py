"""Deleting a response in the admin. The response is first marked. Ten minutes later the response is deleted,
unless somebody removes the mark.

A marked response leaves the admin's list at once. All other parts of the application, such as the interface,
still count the response, because it has not changed. Removing the mark changes no counts, and on anonymous
projects no figure changes twice. The interface deletes at once (`service.delete`), as its contract says.

On anonymous projects every time stored with a response is rounded to the hour, so the ten minutes end at the
next full hour.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings

from communities.ground import rounding
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound
from communities.ground.rounding import Rounding
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.ground.undo_period import UNDO_PERIOD
from communities.services.trail import presence
from surveys.models import Conversation, Project, ResponseDeletion
from surveys.services.conversations import removal, repository
from surveys.services.ground import access, anonymity, history
from surveys.services.ground.batches import change_each
from surveys.services.responses import quotes
from surveys.services.responses import service as responses
from surveys.services.responses.service import NO_RESPONSE

HOUR = timedelta(hours=1)
MOST_AT_ONCE = 500
MOST_LISTED = 20
MOST_FORGOTTEN = 5_000
IS_DELETED = "This response is already deleted."


@in_transaction
def mark(*, response_id: uuid.UUID, project: Project, actor: Actor, at: datetime) -> ResponseDeletion:
    """Mark a response to be deleted.

    A response that is marked again keeps its time. Refuses as `service.delete` does.
    """
    access.require_owner(actor=actor, project=project, missing=NO_RESPONSE)
    row = Conversation.objects.filter(pk=response_id, project_id=project.pk).defer("state", "packed").first()
    if row is None or not row.is_response:
        raise NotFound(NO_RESPONSE)
    marked, is_new = ResponseDeletion.objects.get_or_create(
        response_id=response_id,
        defaults={"project": project, "deletes_at": _end(project, at), "requested_by_id": actor.user_id},
    )
    if is_new:
        history.record_response(Action.RESPONSE_DELETION_PLANNED, project, response_id, actor=actor, at=at)
    return marked


@in_transaction
def unmark(*, response_id: uuid.UUID, project: Project, actor: Actor, at: datetime) -> None:
    """Keep a marked response. Raises NotFound if the response is not marked."""
    access.require_owner(actor=actor, project=project, missing=NO_RESPONSE)
    count, _ = ResponseDeletion.objects.filter(response_id=response_id, project_id=project.pk).delete()
    if not count:
        raise NotFound(IS_DELETED)
    history.record_response(Action.RESPONSE_DELETION_UNDONE, project, response_id, actor=actor, at=at)


def is_marked(*, response_id: uuid.UUID, project: Project) -> bool:
    """Whether this is a response of the project that will be deleted."""
    return ResponseDeletion.objects.filter(response_id=response_id, project=project).exists()


def marked(*, project: Project) -> Sequence[ResponseDeletion]:
    """The responses of a project that will be deleted, the next first; at most MOST_LISTED."""
    return list(ResponseDeletion.objects.filter(project=project).order_by("deletes_at", "pk")[:MOST_LISTED])


def delete_due(*, at: datetime) -> int:
    """Delete the marked responses whose waiting time is over.

    Returns the number of deleted responses. An error at one response does not stop the others. Responses of a
    deleted project wait: they are deleted with the project, or as soon as it is restored.
    """
    present = ResponseDeletion.objects.filter(project__deleted_at__isnull=True)
    return change_each(
        present.filter(deletes_at__lte=at).order_by("deletes_at", "pk"),
        lambda response_id: _delete(response_id, at),
        most=MOST_AT_ONCE,
        fault="response_deletion.fault",
    )


def delete_expired(*, at: datetime) -> int:
    """Delete responses that are older than their project keeps them (rule 7.110).

    Returns the number of deleted responses. Each response is deleted in its own transaction, at most
    MOST_AT_ONCE completed and as many unfinished responses of a project in one run.
    """
    keeping = Project.objects.filter(keep_responses_days__isnull=False).order_by("pk")
    count = 0
    for project in list(keeping):
        # A time that was rounded down may mean the end of its hour or day.
        latest = rounding.length(anonymity.rounding_of(project))
        before = at - timedelta(days=project.keep_responses_days or 0) - latest
        expire = partial(_expire, before=before, at=at)
        own = Conversation.objects.filter(project_id=project.pk)
        completed = own.filter(completed_at__lt=before).order_by("completed_at", "pk")
        unfinished = own.filter(completed_at__isnull=True, updated_at__lt=before).order_by("updated_at", "pk")
        for rows in (completed, unfinished):
            count += change_each(rows, expire, most=MOST_AT_ONCE, fault="response_expiry.fault")
    return count


def forget_unanswered(*, at: datetime) -> int:
    """Delete conversations that have no answer and no move since UNANSWERED_DAYS (rule 12.572).

    Returns the number of deleted conversations, at most MOST_FORGOTTEN in one run.
    """
    before = at - timedelta(days=settings.UNANSWERED_DAYS)
    unanswered = Conversation.objects.filter(
        is_listed=False, completed_at__isnull=True, updated_at__lt=before, project__deleted_at__isnull=True
    ).order_by("updated_at", "pk")
    return change_each(
        unanswered,
        lambda conversation_id: _forget(conversation_id, before=before, at=at),
        most=MOST_FORGOTTEN,
        fault="conversation_expiry.fault",
    )


@again_after_deadlock
@in_transaction
def _forget(conversation_id: uuid.UUID, *, before: datetime, at: datetime) -> bool:
    conversation = repository.lock(conversation_id=conversation_id)
    if conversation is None or conversation.is_response or conversation.updated_at >= before:
        return False
    removal.forget(conversation=conversation, at=at)
    return True


@again_after_deadlock
@in_transaction
def _expire(conversation_id: uuid.UUID, *, before: datetime, at: datetime) -> bool:
    conversation = repository.lock(conversation_id=conversation_id)
    if conversation is None or (conversation.completed_at or conversation.updated_at) >= before:
        return False
    quotes.remove(project_id=conversation.project_id, conversation_id=conversation.pk)
    removal.expire(conversation=conversation, at=at)
    return True


@again_after_deadlock
@in_transaction
def _delete(response_id: uuid.UUID, at: datetime) -> bool:
    """Delete one response, unless it was unmarked, deleted, or emptied by its respondent meanwhile.

    The conversation is locked before its mark, in the same order as when a whole project is deleted.
    """
    conversation = repository.lock(conversation_id=response_id)
    marks = ResponseDeletion.objects.filter(pk=response_id)
    mark = marks.select_for_update(of=("self",)).select_related("project__community").first()
    if mark is None:
        return False
    marks.delete()
    if conversation is None or not conversation.is_response:
        return False
    community = mark.project.community
    # The response is deleted in the name of an admin. The person who marked the response was allowed to
    # delete it, even if they have lost the role since. For an erased person the audit trail shows the
    # pseudonym. The audit trail names nobody who was a superuser at that time and is neither a superuser nor
    # a member now.
    actor = Actor(mark.requested_by_id or 0, "admin", community.pk, community.tier)
    if not presence.hold(actor=actor):
        actor = replace(actor, user_id=0, pseudonym=mark.requested_under)
    responses.delete(response_id=response_id, actor=actor, at=at)
    return True


def _end(project: Project, at: datetime) -> datetime:
    end = at + UNDO_PERIOD
    if not project.is_anonymous:
        return end
    hour = rounding.down(end, Rounding.HOUR)
    return end if hour == end else hour + HOUR
