"""Writes of a project's script, each with the event of the project's change (rules 1.41 and 9.6).

All script writes use this module. `scripts.editing` applies the rules, and emits no events.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from communities.ground.actors import Actor
from communities.ground.transactions import in_transaction
from surveys.models import Project
from surveys.services import events
from surveys.services.scripts import editing
from surveys.services.scripts.editing import Written
from surveys.services.scripts.planning import Plan


@in_transaction
def replace_script(
    *,
    actor: Actor,
    project_id: int,
    body: Mapping[str, object],
    revisions_allowed: Collection[int] | None,
    at: datetime,
) -> Written:
    """Replace the script by the submitted blocks. Refuses as `editing.replace_script` does."""
    written = editing.replace_script(
        actor=actor, project_id=project_id, body=body, revisions_allowed=revisions_allowed, at=at
    )
    return _announced(written, at)


@in_transaction
def patch_block(
    *,
    actor: Actor,
    project_id: int,
    block_id: int,
    body: Mapping[str, object],
    revisions_allowed: Collection[int] | None,
    at: datetime,
) -> Written:
    """Change the submitted fields of one block. Refuses as `editing.replace_script` does."""
    written = editing.patch_block(
        actor=actor,
        project_id=project_id,
        block_id=block_id,
        body=body,
        revisions_allowed=revisions_allowed,
        at=at,
    )
    return _announced(written, at)


@in_transaction
def save_plan(*, actor: Actor, project: Project, plan: Plan, at: datetime) -> Written:
    """Save a plan for a project that the caller has locked since. Raises the plan's refusal."""
    return _announced(editing.save_plan(actor=actor, project=project, plan=plan, at=at), at)


def _announced(written: Written, at: datetime) -> Written:
    if written.is_changed:
        events.project_updated(written.project, at=at)
    return written
