"""The address of a project's shared results."""

from __future__ import annotations

import uuid
from datetime import datetime

from communities.actors import Actor
from communities.audit_actions import Action
from communities.transactions import in_transaction
from surveys.models import Project
from surveys.services import events, history, lookup
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
