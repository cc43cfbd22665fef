"""Scripts that AI writes into a staff member's draft of an existing project, and changes of such drafts.

    begin(actor=…, project_id=…, intent=…)     pay, and have a worker write it
    begin_revision(…, instruction=…)           the same for a change of the draft as it is kept
    look(actor=…, project_id=…, job_id=…)      how far it is; the blocks once it is finished
    cancel(actor=…, project_id=…, job_id=…)    stop, and get the credits back
    forget(community_id=…, user_id=…)          the same for all jobs of somebody who goes
    requested_by(community_id=…, user_id=…)    what somebody asked for, as personal data

A job is a row of `generation` without a project to deliver to. The editor fetches the blocks and puts them
into the draft, where the author can undo them. The fetch spends the credits. If the work fails, or nobody
fetches the blocks within ten minutes, the credits are returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities import services as communities
from communities.ground.actors import Actor
from communities.ground.errors import Conflict, NotFound, refuse
from communities.ground.sent_text import sent_text
from communities.ground.transactions import in_transaction
from communities.services.trail import presence
from surveys.ai.provider import MAX_INSTRUCTION, MAX_INTENT, ScriptRequest
from surveys.models import Generation, Job, Project
from surveys.services.ai_work import generation, revision, writing
from surveys.services.drafts import checking, keys, starting
from surveys.services.drafts import service as drafts
from surveys.services.ground import lookup
from surveys.services.representations import script as script_json
from surveys.services.scripts import cache as script_cache

NO_JOB = "There is no such work. It may have been cancelled, or its result was kept for ten minutes only."
IS_LIVE = (
    "While the project is open, only wording can be changed: close it, or duplicate it as a new version."
)
ALREADY = "A script is being written for this draft already. Wait for it, or cancel it."
HAS_FAULTS = "The draft has faults. Correct them first; AI then changes what is valid."
_MARK = "draft:"  # The fingerprints of these jobs begin with this mark.


@dataclass(frozen=True, slots=True)
class GeneratedScript:
    """A job as its owner sees it. `blocks` has a value once the job is completed, and `error` if the job
    failed.

    `understood` and `unmet` are sentences about the request.
    """

    id: int
    status: str
    credits: int
    seconds: float
    blocks: Sequence[Any] | None
    is_scored: bool
    error: str | None
    understood: Sequence[str] = ()
    unmet: Sequence[str] = ()
    method: str = "model"


@in_transaction
def begin(*, actor: Actor, project_id: int, intent: str, at: datetime) -> GeneratedScript:
    """Have a worker write a script for the actor's draft. The actor must be allowed to edit the project.

    Refuses an empty intent, an intent that is too long, an open project, a second job for the same draft, and
    too few credits (PaymentRequired). Raises ActorGone if the actor's user has been erased or merged.
    """
    drafts.editable(actor=actor, project_id=project_id)
    intent = _required(intent, "intent", "Say in a sentence what you want to ask.", most=MAX_INTENT)
    project = _locked_project(actor, project_id, at)
    return _begun(actor, project, request=_request(project, intent), at=at)


@in_transaction
def begin_revision(*, actor: Actor, project_id: int, instruction: str, at: datetime) -> GeneratedScript:
    """Have a worker change the actor's draft, or the script if there is no draft, as instructed.

    Refuses as `begin` does, and refuses a draft with faults. Raises Conflict where no model is configured.
    """
    project = drafts.editable(actor=actor, project_id=project_id)
    instruction = _required(instruction, "instruction", "Say what to change.", most=MAX_INSTRUCTION)
    revision.require_model()
    project = _locked_project(actor, project_id, at)
    draft = drafts.get(actor=actor, project=project)
    script = script_cache.script_of(project)
    blocks: Sequence[Any] = draft.blocks if draft else script_json.all_blocks(project, script)
    walked = [each for each in blocks if not (isinstance(each, dict) and each.get("section") == "outro")]
    if checking.dry_run(actor=actor, project=project, blocks=walked, at=at).violations:
        raise Conflict(HAS_FAULTS)
    request = revision.request_of(project, blocks=keys.numbered(walked), instruction=instruction)
    return _begun(actor, project, request=request, kind=Generation.Kind.REVISION, revised=project, at=at)


@in_transaction
def look(*, actor: Actor, project_id: int, job_id: int, at: datetime) -> GeneratedScript:
    """The progress of a job. The first look at its blocks spends its credits.

    Raises NotFound for a job that does not exist any more, or that belongs to another user or project.
    """
    project = drafts.editable(actor=actor, project_id=project_id)
    job = _locked(actor, project_id, job_id)
    written = _written(job, project, at)
    if written.blocks is not None and job.credits_used:
        job.credits_used = 0  # The deletion of the row must return no credits.
        job.save(update_fields=["credits_used"])
    return written


@in_transaction
def cancel(*, actor: Actor, project_id: int, job_id: int) -> None:
    """Stop a job and return its credits. A worker that runs the job discards its result. Raises NotFound."""
    drafts.editable(actor=actor, project_id=project_id)
    job = _locked(actor, project_id, job_id)
    _stop(job)


@in_transaction
def forget(*, community_id: int, user_id: int) -> None:
    """Delete the jobs of a user in a community, and return the credits to the community.

    The caller has locked the user's membership. New jobs wait for that lock (`presence`).
    """
    jobs = Generation.objects.filter(community_id=community_id, requested_by_id=user_id)
    for job in jobs.select_for_update().order_by("pk"):
        _stop(job)


def requested_by(*, community_id: int, user_id: int) -> list[dict[str, object]]:
    """Return the texts that a person sent to AI in a community, for as long as the jobs exist."""
    jobs = Generation.objects.filter(community_id=community_id, requested_by_id=user_id).order_by("pk")
    return [
        {
            "project_id": job.fingerprint.rpartition(":")[2],
            "kind": job.kind,
            "intent": writing.words_of(job),
            "status": job.status,
            "created_at": job.created_at,
        }
        for job in jobs.defer("draft")
    ]


def _stop(job: Generation) -> None:
    communities.return_credits(community_id=job.community_id, amount=job.credits_used)
    job.delete()


def _required(text: str, name: str, missing: str, *, most: int) -> str:
    text = sent_text(text)
    if not text:
        refuse(name, "required", missing)
    if len(text) > most:
        refuse(name, "too_long", f"`{name}` must have at most {most:,} characters.")
    if "\x00" in text:
        refuse(name, "invalid", f"`{name}` must not contain null characters.")
    return text


def _locked_project(actor: Actor, project_id: int, at: datetime) -> Project:
    """Return the locked project, so that the second of two clicks sees the job of the first click. Refuses a
    second job.
    """
    project = lookup.lock(actor=actor, project_id=project_id)
    presence.require(actor=actor)
    if project.is_live_at(at):
        raise Conflict(IS_LIVE)
    if _own(actor, project_id).filter(Job.UNFINISHED).exists():
        raise Conflict(ALREADY)
    return project


def _begun(
    actor: Actor, project: Project, *, request: generation.Asked, at: datetime, **fields: Any
) -> GeneratedScript:
    job_id = generation.begin(
        community_id=actor.community_id,
        request=request,
        fingerprint=_fingerprint(project.pk),
        requested_by=actor.user_id,
        at=at,
        **fields,
    )
    assert job_id is not None  # `begin` returns None only for a claim that already has an answer.
    return _written(Generation.objects.get(pk=job_id), project, at)


def _request(project: Project, intent: str) -> ScriptRequest:
    """Return the request for a script that suits the project. The script has points only if the project has
    scoring.
    """
    script = script_cache.script_of(project)
    community_settings = communities.get_settings(community_id=project.community_id)
    return ScriptRequest(
        intent=intent,
        type=project.type,
        scoring=project.scoring_enabled,
        bucket_names=tuple(bucket.name for bucket in script.buckets),
        for_chat=project.response_channel == Project.ResponseChannel.CHAT,
        locale=community_settings.locale,
        community=community_settings.community.name,
    )


def _own(actor: Actor, project_id: int) -> Any:
    """The actor's jobs for their draft of a project."""
    return Generation.objects.filter(
        community_id=actor.community_id,
        requested_by_id=actor.user_id,
        fingerprint=_fingerprint(project_id),
    )


def _fingerprint(project_id: int) -> str:
    """Return a fingerprint that marks a job for a draft of this project. Jobs of the API have
    hashes instead.
    """
    return f"{_MARK}{project_id}"


def _locked(actor: Actor, project_id: int, job_id: int) -> Generation:
    job: Generation | None = _own(actor, project_id).select_for_update().filter(pk=job_id).first()
    if job is None:
        raise NotFound(NO_JOB)
    return job


def _written(job: Generation, project: Project, at: datetime) -> GeneratedScript:
    draft = job.draft if job.status == Job.Status.COMPLETED else None
    understood, unmet = generation.met_and_unmet(job, project) if draft else ((), ())
    return GeneratedScript(
        id=job.pk,
        status=job.status,
        credits=job.credits_used,
        seconds=max(0.0, (at - job.created_at).total_seconds()),
        blocks=starting.complete(draft["blocks"]) if draft else None,
        is_scored=bool(draft and draft["scoring_enabled"]),
        error=job.error,
        understood=understood,
        unmet=unmet,
        method=generation.method_of(job),
    )
