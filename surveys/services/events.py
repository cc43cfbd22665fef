"""What surveys tell those who listen by webhooks, each in the transaction of its change (decisions 10)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from surveys.models import Analysis, Conversation, Project
from surveys.services.representations import analysis as analysis_json
from surveys.services.representations.project import project_as_json
from surveys.services.representations.response import StoredAnswers, teller
from webhooks.events import EventType
from webhooks.rounding import Rounding
from webhooks.services import outbox


def project_changed(
    type: EventType, project: Project, *, at: datetime, happened_at: datetime | None = None
) -> None:
    """Tell of a project as it was told at the moment of its change, which may be before it is written.

    `project` comes from `Project.objects.for_telling()`, or has been made just now.
    """
    outbox.emit(
        community_id=project.community_id,
        type=type,
        data={"project": project_as_json(project, at=happened_at or at)},
        at=at,
        happened_at=happened_at,
        about=f"project {project.pk}",
        person_id=project.author_id,
    )


def response_submitted(conversation: Conversation, stored: StoredAnswers, *, at: datetime) -> None:
    """Tell of a conversation that has just been completed, with all that it holds."""
    person_id = conversation.user_id
    response = teller(conversation.project)(
        (
            conversation.pk,
            conversation.session_number,
            conversation.completed_at,
            None if person_id is None else str(person_id),
            conversation.platform_id,
            conversation.provider,
            conversation.started_at,
            stored.blocks,
            stored.options,
            stored.texts,
        )
    )
    data = {"project_id": str(conversation.project_id), "response": response}
    _tell(EventType.RESPONSE_SUBMITTED, conversation, data, at, person_id)


def response_deleted(conversation: Conversation, *, at: datetime) -> None:
    """Tell that a response is gone, as its id alone; a vote that was taken back too."""
    data = {"project_id": str(conversation.project_id), "response_id": str(conversation.pk)}
    _tell(EventType.RESPONSE_DELETED, conversation, data, at, None)


def analysis_ended(analysis: Analysis, project: Project, *, at: datetime) -> None:
    """Tell of an analysis that has just been completed, or has failed."""
    is_done = analysis.status == Analysis.Status.COMPLETED
    outbox.emit(
        community_id=project.community_id,
        type=EventType.ANALYSIS_COMPLETED if is_done else EventType.ANALYSIS_FAILED,
        data={"project_id": str(project.pk), "analysis": analysis_json.as_json(analysis)},
        at=at,
        about=f"analysis {analysis.pk}",
        rounded_to=_rounding(project),
    )


def _tell(
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
        person_id=person_id,
        rounded_to=_rounding(project),
    )


def _rounding(project: Project) -> Rounding | None:
    """No exact time may stand beside an anonymous response (decisions 8.8)."""
    if not project.is_anonymous:
        return None
    return Rounding.DAY if project.rounds_times_to_day else Rounding.HOUR
