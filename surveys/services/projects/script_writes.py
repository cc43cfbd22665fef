"""Writes of a project's script, each with the event of the project's change (rules 1.41 and 9.6).

All script writes use this module. `scripts.editing` applies the rules, and emits no events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import product

from django.db.models import F

from communities.ground.actors import Actor
from communities.ground.transactions import in_transaction
from communities.models import CommunitySettings
from surveys.models import Block, Project
from surveys.services import events
from surveys.services.ground import lookup
from surveys.services.scripts import editing, outro
from surveys.services.scripts.editing import Written
from surveys.services.scripts.planning import Plan
from webhooks.events import EventType


@in_transaction
def replace_script(
    *,
    actor: Actor,
    project_id: int,
    body: Mapping[str, object],
    at: datetime,
) -> Written:
    """Replace the script by the submitted blocks. Refuses as `editing.replace_script` does."""
    written = editing.replace_script(actor=actor, project_id=project_id, body=body, at=at)
    return _announced(written, at)


@in_transaction
def patch_block(
    *,
    actor: Actor,
    project_id: int,
    block_id: int,
    body: Mapping[str, object],
    at: datetime,
) -> Written:
    """Change the submitted fields of one block. Refuses as `editing.replace_script` does."""
    written = editing.patch_block(
        actor=actor,
        project_id=project_id,
        block_id=block_id,
        body=body,
        at=at,
    )
    return _announced(written, at)


@in_transaction
def save_plan(*, actor: Actor, project: Project, plan: Plan, at: datetime) -> Written:
    """Save a plan for a project that the caller has locked since. Raises the plan's refusal."""
    return _announced(editing.save_plan(actor=actor, project=project, plan=plan, at=at), at)


@in_transaction
def follow_thanks(*, before: CommunitySettings, after: CommunitySettings, at: datetime) -> None:
    """Let the projects of a community follow its changed thanks, unless they have their own (rule 1.56)."""
    for type, mode in product(Project.Type, Project.PrivacyMode):
        kind = Project(type=type, privacy_mode=mode)
        was, now = (outro.thanks(kind, each) for each in (before, after))
        if (was.prompt, was.continue_) == (now.prompt, now.continue_):
            continue
        found = Block.objects.filter(
            project__community_id=after.community_id,
            project__type=type,
            project__privacy_mode=mode,
            section=Block.Section.OUTRO,
            name=outro.THANK_YOU,
            prompt=was.prompt,
            **({"advance": asdict(was.continue_)} if was.continue_ else {"advance__isnull": True}),
        )
        projects = Project.with_deleted.filter(pk__in=found.values("project_id")).order_by("pk")
        locked = list(projects.select_for_update(no_key=True).values_list("pk", flat=True))
        found.filter(project_id__in=locked).update(
            prompt=now.prompt, advance=asdict(now.continue_) if now.continue_ else None
        )
        Project.with_deleted.filter(pk__in=locked).update(revision=F("revision") + 1)
        for project in lookup.with_details(locked).values():
            if project.deleted_at is None:
                events.project_changed(EventType.PROJECT_UPDATED, project, at=at)


def _announced(written: Written, at: datetime) -> Written:
    if written.is_changed:
        events.project_updated(written.project, at=at)
    return written
