"""Scripts that AI writes from an intent (decisions 11.2 to 11.4).

    prepare         plan the project, begin, wait                the request, before its transaction
      begin         a paid row, and a worker woken               in a short transaction
      wait          until the work is finished or time is up     holding no connection
    run             drafts, corrected until one is valid         the worker
    create_project  the project, with or without its script      the request's transaction
    deliver         the script into a project created without    the worker
    take_up         what was lost or never fetched               the sweep

Credits are taken in `begin`. `create_project` and `deliver` spend them; any other end gives them back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q
from django.utils import timezone

from communities import services as communities
from communities.actors import Actor
from communities.errors import Conflict, InvalidRequest, Unavailable
from communities.faults import log_fault
from communities.queue import wake
from communities.transactions import in_transaction
from surveys import ai
from surveys.ai.provider import Correction, ProviderError, ScriptDraft, ScriptRequest
from surveys.engine.script import Violation
from surveys.models import Generation, Job, Project
from surveys.services import jobs
from surveys.services.projects import service as projects
from surveys.services.projects.service import Created, ProjectPlan
from surveys.services.scripts import editing as scripts

MAKE = "surveys.make_script"
MOST_CORRECTIONS = 2
KEPT_FOR = timedelta(minutes=10)  # a finished one, for a caller who broke off and tries again
# A web process has four threads, and others wish to be served meanwhile: two requests may wait as long as it
# takes, a third a little, and the last thread is hardly kept. Who finds no place waits for as long as an idle
# worker takes without a model, and is told that the script is still being made.
_places = threading.BoundedSemaphore(2)
_short_places = threading.BoundedSemaphore(1)
SECONDS_IN_A_SHORT_PLACE = 5.0
SECONDS_WITHOUT_A_PLACE = 0.5
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.03, 0.5  # seconds between two looks

log = structlog.get_logger("colloquy.generation")


@dataclass(frozen=True)
class Prepared:
    """A planned project, and the work that writes its script, finished or not."""

    plan: ProjectPlan
    generation_id: int


@dataclass(frozen=True)
class CreatedFromIntent:
    """A project created from an intent. If `is_pending`, its script comes later."""

    created: Created
    credits_used: int
    is_pending: bool


# --- Asked for ------------------------------------------------------------------------------------


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

    The arguments and None are as in `begin`. Refuses as `projects.plan_project` and `begin` do.
    """
    plan = projects.plan_project(actor=actor, fields=fields, at=at)
    generation_id = begin(
        community_id=actor.community_id,
        request=_request_for(plan, fields),
        claim=claim,
        fingerprint=fingerprint,
        is_answered=is_answered,
        at=at,
    )
    if generation_id is None:
        return None
    wait(generation_id=generation_id)
    return Prepared(plan, generation_id)


def _request_for(plan: ProjectPlan, fields: Mapping[str, Any]) -> ScriptRequest:
    return ScriptRequest(
        intent=fields["intent"],
        type=plan.project.type,
        scoring=_wants_scoring(fields),
        bucket_names=plan.bucket_names,
        for_chat=plan.project.response_channel == Project.ResponseChannel.CHAT,
        locale=plan.settings.locale,
    )


def _wants_scoring(fields: Mapping[str, Any]) -> bool | None:
    """What was said about scoring; None leaves it to what the intent needs."""
    if "scoring_enabled" in fields:
        return bool(fields["scoring_enabled"])
    scoring = fields.get("scoring", {})
    return False if scoring is None else scoring.get("enabled")


@in_transaction
def begin(
    *,
    community_id: int,
    request: ScriptRequest,
    claim: str | None = None,
    fingerprint: str = "",
    is_answered: Callable[[], bool] = lambda: False,
    at: datetime,
) -> int | None:
    """Have a worker write a script, and return the id of that work.

    `claim` and `fingerprint` are hashes of the idempotency key and of the whole request: a retry joins the
    work of the first request and pays nothing. If that one `is_answered` by now, nothing is left to do, and
    None is returned. Refuses another request under the same claim, and too few credits.
    """
    fields = {"community_id": community_id, "request": asdict(request), "created_at": at}
    if claim is None:
        generation, is_new = Generation.objects.create(**fields), True
    else:
        fields["fingerprint"] = fingerprint
        generation, is_new = Generation.objects.get_or_create(claim=claim, defaults=fields)
        if generation.fingerprint != fingerprint:
            raise Conflict("This Idempotency-Key was used for another request.")
    if is_new and is_answered():
        generation.delete()
        return None
    if is_new:
        generation.credits_used = 0 if ai.provider_is_free() else settings.CREDITS_FOR_A_SCRIPT
        generation.save(update_fields=["credits_used"])
        communities.spend_credits(community_id=community_id, amount=generation.credits_used)
    wake(MAKE, generation_id=generation.pk)
    return generation.pk


def wait(*, generation_id: int) -> None:
    """Wait until a script is made or could not be, but no longer than the settings say. Holds nothing."""
    with _seconds_to_wait() as seconds:
        ends, pause = time.monotonic() + seconds, _SHORTEST_PAUSE
        while (left := ends - time.monotonic()) > 0 and not _is_over(generation_id):
            jobs.let_go()
            time.sleep(min(pause, left))
            pause = min(pause * 1.3, _LONGEST_PAUSE)


def _is_over(generation_id: int) -> bool:
    return not Generation.objects.filter(Job.UNFINISHED, pk=generation_id).exists()


@contextmanager
def _seconds_to_wait() -> Iterator[float]:
    """How long this request may wait; the thread that it keeps is counted meanwhile."""
    most = settings.SECONDS_TO_WAIT_FOR_A_SCRIPT
    for places, seconds in ((_places, most), (_short_places, min(most, SECONDS_IN_A_SHORT_PLACE))):
        if places.acquire(blocking=False):
            try:
                yield seconds
            finally:
                places.release()
            return
    yield min(most, SECONDS_WITHOUT_A_PLACE)


@in_transaction
def create_project(*, prepared: Prepared, at: datetime) -> CreatedFromIntent:
    """Create the planned project with the script that was drafted, or without it if that takes too long.

    Raises Unavailable if no script could be written.
    """
    plan = prepared.plan
    own = Generation.objects.select_for_update().filter(pk=prepared.generation_id).first()
    if own is None or own.status == Job.Status.FAILED:
        raise Unavailable((own and own.error) or SCRIPT_FAILED, retry_after=(own and own.retry_after) or 30)
    is_pending = own.status != Job.Status.COMPLETED
    if not is_pending:
        draft = _draft_of(own)
        is_scored = plan.project.scoring_enabled or (draft.scoring_enabled and own.request["scoring"] is None)
        plan = projects.plan_with_draft(plan=plan, blocks=draft.blocks, scoring=is_scored)
    created = projects.save_plan(
        plan=plan,
        generation=_told("pending" if is_pending else "completed", own),
        at=at,
    )
    if is_pending:
        own.project, own.claim = created.project, None
        own.save(update_fields=["project", "claim"])
    else:
        own.delete()
    return CreatedFromIntent(created, own.credits_used, is_pending)


# --- Made -----------------------------------------------------------------------------------------

SCRIPT_FAILED = "The script could not be made. No credits were charged; please try again."
NO_VALID_SCRIPT = "The AI provider wrote no valid script. No credits were charged; try to reword the intent."
ALREADY_WRITTEN = "The project already has a script, so the one made from the intent was discarded."


def run(*, generation_id: int) -> None:
    """Draft the script, as a worker does. Whoever comes second, or too late, changes nothing."""
    job = jobs.take(Generation, generation_id, at=timezone.now())
    if job is not None:
        try:
            draft = _drafted(job)
        except jobs.TakenOver:
            return
        except ProviderError as failure:
            _fail(job, failure.message, retry_after=failure.retry_after)
        except (OperationalError, InterfaceError):  # the lease runs out, and another worker goes on
            raise
        except Exception as fault:  # or its caller would wait in vain
            log_fault(jobs.log, "generation.fault", fault, generation_id=generation_id)
            _fail(job, SCRIPT_FAILED)
        else:
            _complete(job, draft)
    deliver(generation_id=generation_id, at=timezone.now())


def _drafted(job: Generation) -> ScriptDraft:
    """A valid script. Raises ProviderError where the provider wrote none, also when told what was wrong."""
    provider, request = ai.get_provider(), _request_of(job)
    correction = None
    for _ in range(1 + MOST_CORRECTIONS):
        jobs.keep(job, at=timezone.now(), generated_by=provider.name)
        job.generated_by = provider.name
        jobs.let_go()
        draft = provider.draft_script(request, correction)
        if request.scoring is not None:
            draft = replace(draft, scoring_enabled=request.scoring)
        violations = faults_of(draft, request)
        log.info("generation.drafted", generation_id=job.pk, violations=len(violations))
        if not violations:
            return draft
        correction = Correction(draft, [violation.as_json() for violation in violations])
    raise ProviderError(NO_VALID_SCRIPT)


def faults_of(draft: ScriptDraft, request: ScriptRequest) -> Sequence[Violation]:
    """What is wrong with a draft: what would be wrong were it written by hand, and what no draft may hold."""
    new, violations = scripts.read_new(
        {"blocks": list(draft.blocks)},
        is_poll=request.type == Project.Type.POLL,
        scoring_enabled=draft.scoring_enabled,
        bucket_names=request.bucket_names,
        chat=request.for_chat,
    )
    if not violations and not any(block.asks for block in new.script.blocks):
        violations.append(Violation("script.blocks", "required", "`blocks` must hold at least one question."))
    for n, block in enumerate(draft.blocks):
        if block.get("type") == "action_block":
            message = "`type` cannot be `action_block` in a draft; only the author can add rewards."
            violations.append(Violation(f"script.blocks[{n}].type", "not_allowed", message))
    return violations


@in_transaction
def _complete(job: Generation, draft: ScriptDraft) -> None:
    try:
        own = jobs.locked(job)
    except jobs.TakenOver:
        return
    own.draft = {"blocks": list(draft.blocks), "scoring_enabled": draft.scoring_enabled}
    own.status, own.completed_at = Job.Status.COMPLETED, timezone.now()
    own.save(update_fields=["draft", "status", "completed_at"])


@in_transaction
def _fail(job: Generation, message: str, *, retry_after: int | None = None) -> None:
    try:
        own = jobs.locked(job)
    except jobs.TakenOver:
        return
    own.retry_after = retry_after
    _end_in_vain(own, message)


def _end_in_vain(own: Generation, message: str) -> None:
    """Give the credits back, and let the caller's key be free for another try."""
    communities.return_credits(community_id=own.community_id, amount=own.credits_used)
    own.status, own.completed_at, own.error = Job.Status.FAILED, timezone.now(), message
    own.credits_used, own.claim = 0, None
    own.save(update_fields=["status", "completed_at", "error", "retry_after", "credits_used", "claim"])


@in_transaction
def deliver(*, generation_id: int, at: datetime) -> None:
    """Put a finished script into the project that was made without it; or tell that there is none.

    The project is locked first, as by all who change one.
    """
    finished = Generation.objects.filter(pk=generation_id, project__isnull=False).exclude(Job.UNFINISHED)
    found = finished.values_list("project_id", flat=True).first()
    if found is None:
        return
    project = Project.objects.select_for_update().filter(pk=found).first()
    own = finished.select_for_update().first()
    if project is None or own is None:
        return
    if own.status == Job.Status.COMPLETED and (refused := _refusal_of_writing(project, own, at)):
        _end_in_vain(own, refused)
    project.generation = _told(own.status, own)
    project.save(update_fields=["generation"])
    own.delete()


def _refusal_of_writing(project: Project, own: Generation, at: datetime) -> str | None:
    """Write the draft as the project's script; why that cannot be, where it cannot."""
    if project.revision or project.block_count:
        return ALREADY_WRITTEN
    draft = _draft_of(own)
    try:
        with transaction.atomic():
            if draft.scoring_enabled and own.request["scoring"] is None:
                project.scoring_enabled = True
                project.save(update_fields=["scoring_enabled"])
            scripts.write_script(project=project, body={"blocks": list(draft.blocks)}, at=at)
    except (InvalidRequest, Conflict) as refusal:
        return f"The script no longer fits the project: {refusal.message}"
    return None


# --- Left behind ----------------------------------------------------------------------------------


def take_up(*, at: datetime) -> None:
    """Wake workers for what waits or was left by one that died, and clear what nobody came back for."""
    for generation_id in jobs.given_up(Generation, at=at):
        _give_up(generation_id, at)
    undelivered = Generation.objects.filter(project__isnull=False).exclude(Job.UNFINISHED)
    for generation_id in [*jobs.waiting(Generation, at=at), *undelivered.values_list("pk", flat=True)[:1000]]:
        wake(MAKE, generation_id=generation_id)
    _clear(at)


@in_transaction
def _give_up(generation_id: int, at: datetime) -> None:
    own = Generation.objects.select_for_update().filter(pk=generation_id).first()
    if own is not None and generation_id in jobs.given_up(Generation, at=at):  # still, under the lock
        _end_in_vain(own, SCRIPT_FAILED)


@in_transaction
def _clear(at: datetime) -> None:
    """Give back what was taken for scripts that nobody fetched. Their projects, if any, are gone."""
    left = Generation.objects.filter(Q(completed_at__lt=at - KEPT_FOR), project__isnull=True)
    found = left.exclude(Job.UNFINISHED).order_by("community_id", "pk")
    for own in found.select_for_update(skip_locked=True)[:1000]:
        communities.return_credits(community_id=own.community_id, amount=own.credits_used)
        own.delete()


def _told(status: str, own: Generation) -> dict[str, object]:
    """The project's `generation` (decisions 14.7)."""
    return {
        "status": status,
        "generated_by": own.generated_by or settings.AI_PROVIDER,
        "error": own.error,
    }


def _request_of(job: Generation) -> ScriptRequest:
    return ScriptRequest(**{**job.request, "bucket_names": tuple(job.request["bucket_names"])})


def _draft_of(own: Generation) -> ScriptDraft:
    assert own.draft is not None
    return ScriptDraft(own.draft["blocks"], own.draft["scoring_enabled"])
