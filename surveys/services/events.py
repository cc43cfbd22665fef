"""Events of projects, responses, analyses and members, in the transaction of the change (chapter 9)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from surveys.models import Analysis, Conversation, Project
from surveys.services.ground import lookup
from surveys.services.ground.anonymity import rounding_of
from surveys.services.representations import analysis as analysis_json
from surveys.services.representations.project import project_as_json
from surveys.services.representations.response import StoredAnswers, response_serializer
from webhooks.events import EventType
from webhooks.services import outbox
from webhooks.services.outbox import Happening
from xp.services import members


def project_changed(
    type: EventType, project: Project, *, at: datetime, happened_at: datetime | None = None
) -> None:
    """Emit an event with the project in its state at `happened_at`, which may be earlier than `at`.

    `project` is loaded by `lookup.with_details`, or was created just now.
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


def project_updated(project: Project, *, at: datetime) -> None:
    """Emit the event of a project that has just been changed, with its current state.

    Creating, opening, closing and deleting have other events.
    """
    stored = lookup.get(community_id=project.community_id, project_id=project.pk)
    project_changed(EventType.PROJECT_UPDATED, stored, at=at)


def response_submitted(conversation: Conversation, stored: StoredAnswers, *, at: datetime) -> None:
    """Emit an event with a response that has just been completed, all answers included."""
    responses_submitted(conversation.project, [(conversation, stored)], at=at)


def responses_submitted(
    project: Project, responses: Sequence[tuple[Conversation, StoredAnswers]], *, at: datetime
) -> None:
    """Emit the event of `response_submitted` for each of these responses of a project, by one statement."""
    _emit_with_answers(EventType.RESPONSE_SUBMITTED, project, responses, at=at)


def response_updated(conversation: Conversation, stored: StoredAnswers, *, at: datetime) -> None:
    """Emit an event with a completed response after one of its answers was changed."""
    _emit_with_answers(EventType.RESPONSE_UPDATED, conversation.project, [(conversation, stored)], at=at)


def _emit_with_answers(
    type: EventType,
    project: Project,
    responses: Sequence[tuple[Conversation, StoredAnswers]],
    *,
    at: datetime,
) -> None:
    if not responses:
        return
    serialize = response_serializer(project)
    told = [
        _happening(conversation, conversation.user_id, response=serialize(_row(conversation, stored)))
        for conversation, stored in responses
    ]
    _emit(type, project, told, at)


def _row(conversation: Conversation, stored: StoredAnswers) -> tuple[object, ...]:
    """A response as `response_serializer` takes it."""
    person_id = conversation.user_id
    return (
        conversation.pk,
        conversation.session_number,
        None if conversation.is_screened_out else conversation.completed_at,
        None if person_id is None else str(person_id),
        conversation.platform_id,
        conversation.provider,
        conversation.started_at,
        conversation.updated_at,
        *(conversation.state.get(part) for part in ("scores", "results", "fields")),
        stored.blocks,
        stored.options,
        stored.texts,
        None,  # a new answer has no reading yet
        conversation.state.get("follow_ups"),
        conversation.state.get("other"),
        conversation.state.get("consent"),
        conversation.is_suspected,
        conversation.outcome,
        conversation.state.get("language"),
    )


def _happening(conversation: Conversation, person_id: int | None, **data: object) -> Happening:
    fields = {"project_id": str(conversation.project_id), **data}
    return Happening(f"response {conversation.pk}", fields, person_id)


def response_deleted(conversation: Conversation, *, at: datetime) -> None:
    """Emit an event with the id of a response that was deleted, or of a vote that was retracted."""
    deletion = _happening(conversation, None, response_id=str(conversation.pk))
    _emit(EventType.RESPONSE_DELETED, conversation.project, [deletion], at)


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


def members_updated(
    *, community_id: int, member_ids: Collection[int], at: datetime, happened_at: datetime | None = None
) -> None:
    """Emit an event with each of these members in their current state, by one statement.

    Members who have left are left out.
    """
    rows = members.of_ids(list(member_ids), community_id=community_id, at=at)
    outbox.emit_many(
        community_id=community_id,
        type=EventType.MEMBER_UPDATED,
        happenings=[
            Happening(f"member {row['id']}", {"member": row}, person_id=int(row["user_id"])) for row in rows
        ],
        at=at,
        happened_at=happened_at,
    )


def member_erased(*, community_id: int, member_id: int, at: datetime) -> None:
    """Emit an event with the id of a member whose data was erased (rule 7.19).

    The event contains no name of a person.
    """
    outbox.emit(
        community_id=community_id,
        type=EventType.MEMBER_ERASED,
        data={"member_id": str(member_id)},
        at=at,
        about=f"member {member_id}",
    )


def _emit(type: EventType, project: Project, happenings: Sequence[Happening], at: datetime) -> None:
    """Emit events about responses of one project."""
    outbox.emit_many(
        community_id=project.community_id,
        type=type,
        happenings=happenings,
        at=at,
        project_id=project.pk,
        rounded_to=rounding_of(project),
    )
