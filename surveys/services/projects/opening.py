"""Opening a project, at once or at a later time, and closing it again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from communities import services as communities
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, refuse_all
from communities.ground.transactions import in_transaction
from surveys.engine.rules import placeholders
from surveys.engine.rules import script as script_rules
from surveys.models import Project
from surveys.services import events, public_messages
from surveys.services.ground import access, field_groups, history, lookup
from surveys.services.projects import fields as project_fields
from surveys.services.projects import schedule
from surveys.services.projects import service as projects
from surveys.services.scripts import cache as script_cache
from webhooks.events import EventType

_WRITTEN = ("delivery", "participation", "response_channel", "poll_results_mode")


@in_transaction
def open_project(
    *, actor: Actor, project_id: int, fields: Mapping[str, Any] | None = None, at: datetime
) -> Project:
    """Open a project now, or schedule its opening (rules 2.1, 2.2 and 2.8).

    `fields` may contain a `delivery` group, which is merged, and the setting `poll_results_mode`.

    Refuses a project that is open or pending, has no question, has times in the past, or whose channel is
    missing.
    """
    project = lookup.lock(actor=actor, project_id=project_id)
    schedule.settle(project, at=at)
    if project.is_live_at(at):
        raise Conflict("The project is active already.")
    if project.is_pending_at(at):
        raise Conflict("The project waits for its scheduled opening already. Closing it cancels that.")

    before, fields_before = project.delivery, history.project_fields(project)
    settings = dict((fields or {}).get("settings") or {})
    project.poll_results_mode = settings.pop("poll_results_mode", project.poll_results_mode)
    assert not settings, "No other setting is written as a project opens."
    violations = []
    if fields and "delivery" in fields:
        violations += project_fields.apply_delivery(project, fields["delivery"], at=at)
    if project.delivery is None:  # from now on reads show how the project was delivered (rule 2.4)
        violations += project_fields.apply_delivery(project, {}, at=at)
    violations += access.ping_faults(actor=actor, after=project.delivery, before=before)
    if project.delivery and not violations:
        violations += field_groups.check_delivery(project.delivery, before=None, at=at)
    if violations:
        refuse_all(violations)
    access.require_premium(actor=actor, after=project.delivery, before=before)
    projects.require_post_channel(project)
    require_fitting_script(project, at=at)
    projects.require_chat_platform(project)

    project.opens_at = field_groups.time_of(project.delivery, "opening")
    project.closes_at = field_groups.time_of(project.delivery, "closing")
    if project.opens_at is None:
        project.status, project.opened_at = Project.Status.ACTIVE, at
    schedule.note_public(project, at=at)
    project.save(update_fields=[*schedule.STATE, *_WRITTEN])
    communities.count_projects(community_id=actor.community_id, active=1)
    opened = lookup.get(community_id=actor.community_id, project_id=project_id)
    history.record(
        Action.PROJECT_OPENED if opened.opens_at is None else Action.PROJECT_SCHEDULED,
        opened,
        actor=actor,
        at=at,
        before=fields_before,
        after=history.project_fields(opened),
    )
    if opened.opens_at is None:  # a scheduled opening is reported at its scheduled time
        events.project_changed(EventType.PROJECT_OPENED, opened, at=at)
        public_messages.ask_to_post(opened, at=at)
    return opened


def require_fitting_script(project: Project, *, at: datetime) -> None:
    """Refuse to open a script without a question, without a formula, or unfit for a poll or the chat
    (rule 2.3).
    """
    script = script_cache.script_of(project)
    violations = script_rules.check_formulas(script) + projects.chat_faults(project, script)
    violations += projects.server_faults(project, script, at=at)
    if project.is_poll and script.blocks:
        violations += script_rules.check_poll(script)
    if violations:
        refuse_all(violations)
    if not any(block.asks for block in script.blocks):
        raise Conflict("A project needs at least one question before it opens.")
    if block := placeholders.first_with_placeholder(script.blocks):
        raise Conflict(
            f"The block “{block.name}” has a placeholder. Replace each text between ⟦ and ⟧ before it opens."
        )


@in_transaction
def close_project(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """Stop admitting respondents, or cancel a pending opening (rules 2.1 and 2.2).

    Refuses an inactive project.
    """
    project = lookup.lock(actor=actor, project_id=project_id)
    schedule.settle(project, at=at)
    if not project.is_live_at(at) and not project.is_pending_at(at):
        raise Conflict("The project is not active.")

    was_live, before = project.is_live_at(at), history.project_fields(project)
    schedule.note_public(project, at=at)
    project.status = Project.Status.INACTIVE
    project.opens_at = project.closes_at = None
    project.save(update_fields=schedule.STATE)
    communities.count_projects(community_id=actor.community_id, active=-1)
    closed = lookup.get(community_id=actor.community_id, project_id=project_id)
    history.record(
        Action.PROJECT_CLOSED if was_live else Action.PROJECT_UNSCHEDULED,
        closed,
        actor=actor,
        at=at,
        before=before,
        after=history.project_fields(closed),
    )
    if was_live:
        events.project_changed(EventType.PROJECT_CLOSED, closed, at=at)
        public_messages.ask_at_closing(closed, at=at)
    return closed
