"""The address of a project's shared results, and its post in the chat."""

from __future__ import annotations

import uuid
from datetime import datetime

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict
from communities.ground.transactions import in_transaction
from surveys.models import Project
from surveys.services import events, public_messages
from surveys.services.ground import history, lookup
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
def post_again(*, actor: Actor, project_id: int, at: datetime) -> None:
    """Post a message again that was deleted in the chat. The new post notifies nobody. Raises Forbidden."""
    project = lookup.lock(actor=actor, project_id=project_id)
    if not project.is_live_at(at):
        raise Conflict("The project is not open, so there is nothing to post.")
    if not public_messages.was_deleted(project):
        raise Conflict("The post was not deleted.")
    public_messages.ask_to_post(project, at=at)
    history.record(Action.PROJECT_POSTED_AGAIN, project, actor=actor, at=at)
