"""The addresses of a project's page and of its shared results, its post in the chat, and who has access."""

from __future__ import annotations

import uuid
from datetime import datetime

from communities.ground.actors import Actor, Level
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.ground.transactions import in_transaction
from communities.services.people import project_grants
from surveys.models import Project
from surveys.models.project import new_short_code
from surveys.services import events, public_messages
from surveys.services.ground import access, history, lookup
from surveys.services.projects import schedule


@in_transaction
def renew_results_address(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """Give the shared results a new address; the old one stops working at once. Raises Forbidden."""
    project = lookup.lock(actor=actor, project_id=project_id)
    is_settled = schedule.settle(project, at=at)
    project.results_token = uuid.uuid4()
    project.save(update_fields=["results_token", *(schedule.STATE if is_settled else ())])
    events.project_updated(project, at=at)
    history.record(Action.RESULTS_ADDRESS_RENEWED, project, actor=actor, at=at)
    return project


@in_transaction
def shorten_address(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """Give the page a short address, which it keeps. Raises Forbidden, and Conflict unless it is public."""
    project = lookup.lock(actor=actor, project_id=project_id)
    if not project.is_public:
        raise Conflict("Only a project that anyone with the link may answer has a short address.")
    if project.short_code is not None:
        return project
    is_settled = schedule.settle(project, at=at)
    project.short_code = next(code for code in iter(new_short_code, "") if not _is_taken(code))
    project.save(update_fields=["short_code", *(schedule.STATE if is_settled else ())])
    events.project_updated(project, at=at)
    history.record(Action.PROJECT_ADDRESS_SHORTENED, project, actor=actor, at=at)
    return project


@in_transaction
def give_access(*, actor: Actor, project_id: int, member_id: int, level: Level, at: datetime) -> None:
    """Give a member of the community this level on the project; `Level.NONE` takes it.

    Raises NotFound and Forbidden for all but owners of the project, and refuses as `project_grants.change`.
    """
    # Locked, because a row that is written beside the project's deletion would outlive the project.
    project = lookup.in_community(
        community_id=actor.community_id, project_id=project_id, lock="FOR NO KEY UPDATE"
    )
    access.require_owner(actor=actor, project=project)
    project_grants.change(actor=actor, member_id=member_id, project_id=project.pk, level=level, at=at)


def _is_taken(short_code: str) -> bool:
    return Project.with_deleted.filter(short_code=short_code).exists()


def address_of_short(*, short_code: str) -> str:
    """The slug of the public project with this short address, in any case of letters. Raises NotFound."""
    project: Project | None = Project.objects.filter(short_code=short_code.lower()).first()
    if project is None or not project.is_public:
        raise NotFound("There is no survey at this address.")
    return project.slug


@in_transaction
def post_again(*, actor: Actor, project_id: int, at: datetime) -> None:
    """Post a message again that was deleted in the chat. The new post notifies nobody. Raises Forbidden."""
    project = lookup.lock(actor=actor, project_id=project_id)
    if not project.is_live_at(at):
        raise Conflict("The project is not open, so there is nothing to post.")
    if not public_messages.was_deleted(project):
        raise Conflict("The post was not deleted.")
    public_messages.ask_to_post(project, at=at)
    history.record(Action.PROJECT_POSTED_AGAIN, project, actor=actor, at=at)
