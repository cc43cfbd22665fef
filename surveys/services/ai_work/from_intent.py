"""Projects that are created from an intent (rules 10.6, 10.7 and 10.41)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.ground.actors import Actor
from communities.ground.sent_text import paragraphs
from communities.ground.transactions import in_transaction
from surveys.ai import privacy
from surveys.ai.provider import ScriptRequest
from surveys.models import Job, Project
from surveys.services.ai_work import generation
from surveys.services.projects import service as projects
from surveys.services.projects.service import CreatedProject, ProjectPlan


@dataclass(frozen=True)
class Prepared:
    """A planned project, and the job that writes its script. The job may be unfinished."""

    plan: ProjectPlan
    generation_id: int


@dataclass(frozen=True)
class CreatedFromIntent:
    """A project created from an intent. If `is_pending`, the script follows later."""

    created: CreatedProject
    credits_used: int
    is_pending: bool


def prepare(
    *,
    actor: Actor,
    fields: Mapping[str, Any],
    claim: str | None,
    fingerprint: str,
    is_answered: Callable[[], bool],
    at: datetime,
) -> Prepared | None:
    """Plan a project from the fields of the interface and wait for its script, outside any transaction.

    The arguments, and None as a result, are explained in `generation.begin`. Refuses as `generation.begin`
    and `projects.plan_project` do.
    """
    fields = {**fields, "intent": paragraphs(fields["intent"])}
    names_privacy = "privacy_mode" in fields or "privacy_mode" in (fields.get("settings") or {})
    if not names_privacy and privacy.wished(fields["intent"]) == privacy.ANONYMOUS:
        fields["privacy_mode"] = Project.PrivacyMode.ANONYMOUS.value
    plan = projects.plan_project(actor=actor, fields=fields, at=at)
    generation_id = generation.begin(
        community_id=actor.community_id,
        request=_request_for(plan, fields),
        may_set_privacy=not names_privacy,
        claim=claim,
        fingerprint=fingerprint,
        is_answered=is_answered,
        at=at,
    )
    if generation_id is None:
        return None
    generation.wait(generation_id=generation_id)
    return Prepared(plan, generation_id)


def _request_for(plan: ProjectPlan, fields: Mapping[str, Any]) -> ScriptRequest:
    return ScriptRequest(
        intent=fields["intent"],
        type=plan.project.type,
        scoring=_wants_scoring(fields),
        bucket_names=plan.bucket_names,
        for_chat=plan.project.response_channel == Project.ResponseChannel.CHAT,
        locale=plan.settings.locale,
        community=plan.settings.community.name,
    )


def _wants_scoring(fields: Mapping[str, Any]) -> bool | None:
    """Whether the fields ask for scoring; None lets the provider decide."""
    if "scoring_enabled" in fields:
        return bool(fields["scoring_enabled"])
    scoring = fields.get("scoring", {})
    return False if scoring is None else scoring.get("enabled")


@in_transaction
def create_project(*, prepared: Prepared, at: datetime) -> CreatedFromIntent:
    """Create the planned project with the drafted script, or without a script if drafting takes too long.

    Raises Unavailable if no script could be written, and refuses an intent in a language that the provider
    does not write.
    """
    plan = prepared.plan
    work = generation.locked_unless_failed(prepared.generation_id)
    is_pending = work.status != Job.Status.COMPLETED
    if not is_pending:
        draft = generation.draft_of(work)
        is_scored = plan.project.scoring_enabled or (
            draft.scoring_enabled and work.request["scoring"] is None
        )
        if generation.makes_anonymous(work):
            projects.become_anonymous(plan.project, plan.new.script)
        plan = projects.plan_with_draft(plan=plan, blocks=draft.blocks, scoring=is_scored)
    created = projects.save_plan(
        plan=plan,
        generation=generation.as_json("pending" if is_pending else "completed", work, plan.project),
        at=at,
    )
    if is_pending:
        work.project, work.claim = created.project, None
        work.save(update_fields=["project", "claim"])
    else:
        work.delete()
    return CreatedFromIntent(created, work.credits_used, is_pending)
