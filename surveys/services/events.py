"""Events of projects, responses, analyses and members, in the transaction of the change (decisions 10)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from surveys.models import Analysis, Conversation, Project
from surveys.services.anonymity import rounding_of
from surveys.services.representations import analysis as analysis_json
from surveys.services.representations.project import project_as_json
from surveys.services.representations.response import StoredAnswers, response_serializer
from webhooks.events import EventType
from webhooks.services import outbox


def project_changed(
    type: EventType, project: Project, *, at: datetime, happened_at: datetime | None = None
) -> None:
    """Emit an event with the project as it was at `happened_at`, which may be earlier than `at`.

    `project` comes from `Project.objects.with_details()`, or was created just now.
    """
    outbox.emit(
        community_id=project.community_id,
        type=type,
        data={"project": project_as_json(project, at=happened_at or at)},
        at=at,
        happened_at=happened_at,
        about=f"project {project.pk}",
        project_id=project.pk,
        person_id=project.author_id,
    )


def response_submitted(conversation: Conversation, stored: StoredAnswers, *, at: datetime) -> None:
    """Emit an event with a response that has just been completed, all answers included."""
    _emit_with_answers(EventType.RESPONSE_SUBMITTED, conversation, stored, at=at)


def response_updated(conversation: Conversation, stored: StoredAnswers, *, at: datetime) -> None:
    """Emit an event with a completed response after one of its answers was changed."""
    _emit_with_answers(EventType.RESPONSE_UPDATED, conversation, stored, at=at)


def _emit_with_answers(
    type: EventType, conversation: Conversation, stored: StoredAnswers, *, at: datetime
) -> None:
    person_id = conversation.user_id
    serialize = response_serializer(conversation.project)
    response = serialize(
        (
            conversation.pk,
            conversation.session_number,
            conversation.completed_at,
            None if person_id is None else str(person_id),
            conversation.platform_id,
            conversation.provider,
            conversation.started_at,
            conversation.updated_at,
            *(conversation.state.get(part) for part in ("scores", "results", "fields")),
            stored.blocks,
            stored.options,
            stored.texts,
        )
    )
    data = {"project_id": str(conversation.project_id), "response": response}
    _emit(type, conversation, data, at, person_id)


def response_deleted(conversation: Conversation, *, at: datetime) -> None:
    """Emit an event with the id of a response that was deleted, or of a vote that was retracted."""
    data = {"project_id": str(conversation.project_id), "response_id": str(conversation.pk)}
    _emit(EventType.RESPONSE_DELETED, conversation, data, at, None)


def analysis_ended(analysis: Analysis, project: Project, *, at: datetime) -> None:
    """Emit an event with an analysis that has just been completed, or has failed."""
    is_done = analysis.status == Analysis.Status.COMPLETED
    outbox.emit(
        community_id=project.community_id,
        type=EventType.ANALYSIS_COMPLETED if is_done else EventType.ANALYSIS_FAILED,
        data={"project_id": str(project.pk), "analysis": analysis_json.as_json(analysis)},
        at=at,
        about=f"analysis {analysis.pk}",
        project_id=project.pk,
        rounded_to=rounding_of(project),
    )


def member_erased(*, community_id: int, member_id: int, at: datetime) -> None:
    """Emit an event with the id of a member whose data was erased. It names nobody who still exists."""
    outbox.emit(
        community_id=community_id,
        type=EventType.MEMBER_ERASED,
        data={"member_id": str(member_id)},
        at=at,
        about=f"member {member_id}",
    )


def _emit(
    type: EventType,
    conversation: Conversation,
    data: Mapping[str, object],
    at: datetime,
    person_id: int | None,
) -> None:
    project = conversation.project
    outbox.emit(
        community_id=project.community_id,
        type=type,
        data=data,
        at=at,
        about=f"response {conversation.pk}",
        project_id=project.pk,
        person_id=person_id,
        rounded_to=rounding_of(project),
    )
