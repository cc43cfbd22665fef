"""Work of a model that a request waits for: scripts, changed scripts, answers (rules 10.3 to 10.7, 10.50).

    begin     a paid row, and a worker woken               the request, in a short transaction
    wait      until the work is finished or time is up     the request, holding no connection
    run       what the provider writes, if it is valid     the worker (`writing`)
    fetch     the result                                   the request's transaction
    deliver   the script into a project created without    the worker
    take_up   what was lost or never fetched               the sweep

`begin` takes the credits. `fetch`, `deliver` and `from_intent.create_project` spend the credits; any other
end returns them. `from_intent`, `revision` and `question` prepare the kinds of work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from communities import services as communities
from communities.ground import privacy_words
from communities.ground.errors import Conflict, InvalidRequest, Unavailable, refuse
from communities.ground.queue import wake
from communities.ground.sent_text import paragraphs
from communities.ground.transactions import in_transaction
from surveys import ai
from surveys.ai import privacy
from surveys.ai.provider import (
    LOCAL,
    ProposedScript,
    ProviderError,
    ResultsQuestion,
    RevisionRequest,
    ScriptRequest,
    UnwrittenLanguage,
)
from surveys.models import Generation, Job, Project
from surveys.services import events
from surveys.services.ai_work import paying, writing
from surveys.services.ground import jobs
from surveys.services.projects import service as projects
from surveys.services.scripts import editing as scripts

MAKE = "surveys.make_script"
# Finished work remains for this time, for a caller who disconnected and tries again.
KEPT_FOR = timedelta(minutes=10)
# A web process has four threads, and other requests need threads, too. Two requests may wait until the script
# is ready, and a third for a few seconds. Any further request waits only as long as an idle worker takes
# without a model. Then its response says that the script is still being written.
_long_waits = threading.BoundedSemaphore(2)
_short_waits = threading.BoundedSemaphore(1)
SECONDS_OF_A_SHORT_WAIT = 5.0
SECONDS_OF_ANY_OTHER_WAIT = 0.5
_MIN_PAUSE, _MAX_PAUSE = 0.03, 0.5  # The seconds between two queries.

Kind = Generation.Kind
Asked = ScriptRequest | RevisionRequest | ResultsQuestion
log = structlog.get_logger("colloquy.generation")


# --- Requests -------------------------------------------------------------------------------------


@in_transaction
def begin(
    *,
    community_id: int,
    request: Asked,
    kind: str = Kind.SCRIPT,
    revised: Project | None = None,
    may_set_privacy: bool = False,
    claim: str | None = None,
    fingerprint: str = "",
    requested_by: int | None = None,
    is_answered: Callable[[], bool] = lambda: False,
    at: datetime,
) -> int | None:
    """Have a worker write what is requested, and return the id of that work.

    `revised` is the project whose script is changed. With `may_set_privacy` the new project becomes anonymous
    if the request wishes anonymity. `claim` and `fingerprint` are hashes of the idempotency key and of the
    whole request: a retry joins the work of the first request and pays nothing. Returns None if `is_answered`
    says that the first request has its response by now. Without a claim the `fingerprint` only marks the
    work. `requested_by` is the user who follows the work in the admin. Refuses a different request under the
    same claim, and refuses as `paying.pay` does.
    """
    asked = asdict(request)
    words = writing.WORDS[Kind(kind)]
    fields = {
        "community_id": community_id,
        "kind": kind,
        "request": {
            **asked,
            words: paragraphs(asked[words]),
            **(_place_of(revised) if revised else {}),
            "may_set_privacy": may_set_privacy,
        },
        "fingerprint": fingerprint,
        "requested_by_id": requested_by,
        "created_at": at,
    }
    if claim is None:
        generation, is_new = Generation.objects.create(**fields), True
    else:
        generation, is_new = Generation.objects.get_or_create(claim=claim, defaults=fields)
        if generation.fingerprint != fingerprint:
            raise Conflict("This Idempotency-Key was used for another request.")
    if is_new and is_answered():
        generation.delete()
        return None
    if is_new:
        generation.credits_used = cost(kind)
        generation.save(update_fields=["credits_used"])
        paying.pay(community_id=community_id, credits=generation.credits_used)
    wake(MAKE, generation_id=generation.pk)
    return generation.pk


def _place_of(project: Project) -> dict[str, int]:
    """Return the project and the revision of a changed script. The provider gets neither."""
    return {"project_id": project.pk, "revision": project.revision}


def cost(kind: str) -> int:
    """Return the number of credits that one piece of work costs."""
    if ai.provider_is_free():
        return 0
    return settings.CREDITS_FOR_A_QUESTION if kind == Kind.QUESTION else settings.CREDITS_FOR_A_SCRIPT


def wait(*, generation_id: int) -> None:
    """Wait until the work has ended or SECONDS_TO_WAIT_FOR_A_SCRIPT is over. Holds no connection."""
    with _seconds_to_wait() as seconds:
        deadline, pause = time.monotonic() + seconds, _MIN_PAUSE
        while (remaining := deadline - time.monotonic()) > 0 and not _has_ended(generation_id):
            jobs.close_connection()
            time.sleep(min(pause, remaining))
            pause = min(pause * 1.3, _MAX_PAUSE)


def _has_ended(generation_id: int) -> bool:
    return not Generation.objects.filter(Job.UNFINISHED, pk=generation_id).exists()


@contextmanager
def _seconds_to_wait() -> Iterator[float]:
    """How many seconds this request may wait. Counts its thread as waiting inside the block."""
    limit = settings.SECONDS_TO_WAIT_FOR_A_SCRIPT
    for waits, seconds in ((_long_waits, limit), (_short_waits, min(limit, SECONDS_OF_A_SHORT_WAIT))):
        if waits.acquire(blocking=False):
            try:
                yield seconds
            finally:
                waits.release()
            return
    yield min(limit, SECONDS_OF_ANY_OTHER_WAIT)


@in_transaction
def fetch(*, generation_id: int | None) -> Generation:
    """Return finished work for which no project waits. The row is deleted, and the credits are spent.

    `generation_id` is what `begin` returned. Raises Unavailable if the work failed, or is not ready yet.
    """
    if generation_id is None:  # The stored response expired after the claim was checked.
        raise Conflict("The response to this Idempotency-Key has just expired; please retry.", retry_after=1)
    generation = locked_unless_failed(generation_id)
    if generation.status != Job.Status.COMPLETED:
        raise Unavailable(NOT_READY, retry_after=SECONDS_UNTIL_READY)
    Generation.objects.filter(pk=generation_id).delete()
    return generation


def require_end(*, generation_id: int, claim: str | None) -> None:
    """Raise Unavailable if the work has not ended after the wait and the caller has no key for a retry.

    In that case the work is cancelled, and its credits are returned.
    """
    if claim is None and _gave_up(generation_id):
        raise Unavailable(NO_KEY, retry_after=SECONDS_UNTIL_READY)


@in_transaction
def _gave_up(generation_id: int) -> bool:
    unfinished = Generation.objects.select_for_update().filter(Job.UNFINISHED, pk=generation_id).first()
    if unfinished is None:
        return False
    communities.return_credits(community_id=unfinished.community_id, amount=unfinished.credits_used)
    unfinished.delete()
    return True


def locked_unless_failed(generation_id: int) -> Generation:
    generation = Generation.objects.select_for_update().filter(pk=generation_id).first()
    if generation and generation.status == Job.Status.FAILED and generation.retry_after == writing.NEVER:
        refuse(writing.WORDS[Kind(generation.kind)], "invalid", generation.error or GONE)
    if generation is None or generation.status == Job.Status.FAILED:
        raise Unavailable(
            (generation and generation.error) or GONE,
            retry_after=(generation and generation.retry_after) or 30,
        )
    return generation


# --- Work -----------------------------------------------------------------------------------------

NOT_READY = "This is not ready yet. Send the same request with the same Idempotency-Key to wait for it."
NO_KEY = (
    "This takes longer than a request waits, so it was given up. No credits were charged. "
    "Send an Idempotency-Key: then the same request joins the work that has begun."
)
SECONDS_UNTIL_READY = 5
GONE = "The work was given up. No credits were charged; please try again."
SCRIPT_FAILED = "The script could not be made. No credits were charged; please try again."
FAILED = {
    Kind.SCRIPT: SCRIPT_FAILED,
    Kind.REVISION: "The script could not be changed. No credits were charged; please try again.",
    Kind.QUESTION: "The question could not be answered. No credits were charged; please try again.",
}
ALREADY_WRITTEN = "The project already has a script, so the one made from the intent was discarded."


def run(*, generation_id: int) -> None:
    """Have the provider write, in a worker. A second run changes nothing."""
    jobs.carry_out(
        Generation,
        generation_id,
        work=lambda job: _complete(job, writing.write(job)),
        fail=_fail,
        foreseen=ProviderError,
        now=timezone.now,
    )
    deliver(generation_id=generation_id, at=timezone.now())


@in_transaction
def _complete(job: Generation, draft: Mapping[str, object]) -> None:
    generation = jobs.locked(job)
    generation.draft = draft
    generation.status, generation.completed_at = Job.Status.COMPLETED, timezone.now()
    generation.save(update_fields=["draft", "status", "completed_at"])


@in_transaction
def _fail(job: Generation, failure: Exception | None, _at: datetime) -> None:
    generation, message = jobs.locked(job), FAILED[Kind(job.kind)]
    if isinstance(failure, ProviderError):
        message, generation.retry_after = failure.message, failure.retry_after
    if isinstance(failure, UnwrittenLanguage):
        generation.retry_after = writing.NEVER
    _end_as_failed(generation, message)


def _end_as_failed(generation: Generation, message: str) -> None:
    """Return the credits, and release the idempotency key so that the caller can try again."""
    communities.return_credits(community_id=generation.community_id, amount=generation.credits_used)
    generation.status, generation.completed_at, generation.error = Job.Status.FAILED, timezone.now(), message
    generation.credits_used, generation.claim = 0, None
    generation.save(update_fields=["status", "completed_at", "error", "retry_after", "credits_used", "claim"])


@in_transaction
def deliver(*, generation_id: int, at: datetime) -> None:
    """Write a finished script into the project that was created without a script, or record a failure.

    Like every change of a project, `deliver` locks the project first.
    """
    finished = Generation.objects.filter(pk=generation_id, project__isnull=False).exclude(Job.UNFINISHED)
    project_id = finished.values_list("project_id", flat=True).first()
    if project_id is None:
        return
    project = Project.objects.select_for_update().filter(pk=project_id).first()
    generation = finished.select_for_update().first()
    if project is None or generation is None:
        return
    if generation.status == Job.Status.COMPLETED and (error := _write_script(project, generation, at)):
        _end_as_failed(generation, error)
    project.generation = as_json(generation.status, generation, project)
    project.save(update_fields=["generation"])
    events.project_updated(project, at=at)
    generation.delete()


def _write_script(project: Project, generation: Generation, at: datetime) -> str | None:
    """Write the draft as the project's script. Returns the reason if that is not possible."""
    if project.revision or project.block_count:
        return ALREADY_WRITTEN
    draft = draft_of(generation)
    try:
        with transaction.atomic():
            if draft.scoring_enabled and generation.request["scoring"] is None:
                project.scoring_enabled = True
                project.save(update_fields=["scoring_enabled"])
            if makes_anonymous(generation):
                projects.make_anonymous(project, at=at)
            scripts.write_script(actor=None, project=project, body={"blocks": list(draft.blocks)}, at=at)
    except (InvalidRequest, Conflict) as refusal:
        return f"The script no longer fits the project: {refusal.message}"
    return None


# --- Sweep ----------------------------------------------------------------------------------------


def take_up(*, at: datetime) -> None:
    """Wake workers for waiting and abandoned work, and delete work that nobody fetched."""
    jobs.give_up(Generation, fail=_fail, at=at)
    undelivered = Generation.objects.filter(project__isnull=False).exclude(Job.UNFINISHED)
    for generation_id in [*jobs.waiting(Generation, at=at), *undelivered.values_list("pk", flat=True)[:1000]]:
        wake(MAKE, generation_id=generation_id)
    _clear(at)


@in_transaction
def _clear(at: datetime) -> None:
    """Delete finished work that nobody fetched or whose project was deleted, and return its credits."""
    old = Generation.objects.filter(Q(completed_at__lt=at - KEPT_FOR), project__isnull=True)
    unfetched = old.exclude(Job.UNFINISHED).order_by("community_id", "pk")
    for generation in unfetched.select_for_update(skip_locked=True)[:1000]:
        communities.return_credits(community_id=generation.community_id, amount=generation.credits_used)
        generation.delete()


def met_and_unmet(generation: Generation, project: Project) -> tuple[list[str], list[str]]:
    """Return sentences about what was understood and not met, and about the project's privacy if the request
    wished another.
    """
    draft = generation.draft or {}
    understood, unmet = draft.get("understood", []), draft.get("unmet", [])
    wished = draft.get("privacy")
    if project.is_anonymous or wished not in (privacy.ANONYMOUS, privacy.CONFIDENTIAL):
        return understood, unmet
    others = [sentence for sentence in understood if not privacy.names_privacy(sentence)]
    return others, [_unmet_privacy(wished, project), *unmet]


def _unmet_privacy(wished: str, project: Project) -> str:
    mode, is_semi_private = project.privacy_mode, project.privacy_mode == Project.PrivacyMode.SEMI_PRIVATE
    if wished == privacy.ANONYMOUS:
        return (
            f"You asked for anonymous answers, and this project is {mode}. "
            "Choose Anonymous under Delivery before it opens."
        )
    words = privacy_words.SEMI_PRIVATE if is_semi_private else privacy_words.TRANSPARENT
    return (
        f"You asked for confidential answers, and this project is {mode}. {words.sentence} "
        "Choose who may under Delivery before it opens."
    )


def as_json(status: str, generation: Generation, project: Project) -> dict[str, object]:
    """The project's `generation` (rules 10.6, 10.8, 10.41 and 10.94)."""
    by, draft = generation.generated_by or settings.AI_PROVIDER, generation.draft or {}
    understood, unmet = met_and_unmet(generation, project)
    return {
        "status": status,
        "generated_by": by,
        "error": generation.error,
        "method": method_of(generation),
        "confidence": draft.get("confidence"),
        "understood": understood,
        "unmet": unmet,
    }


def method_of(generation: Generation) -> str:
    """Return the method of a script: a `template` fitted to the words of the intent, or a `model`."""
    return "template" if (generation.generated_by or settings.AI_PROVIDER) == LOCAL else "model"


def makes_anonymous(generation: Generation) -> bool:
    """Return whether the application has to make the project anonymous, by the model's reading of the
    request.
    """
    draft = generation.draft or {}
    return bool(generation.request.get("may_set_privacy")) and draft.get("privacy") == privacy.ANONYMOUS


def draft_of(generation: Generation) -> ProposedScript:
    assert generation.draft is not None
    return ProposedScript(generation.draft["blocks"], generation.draft["scoring_enabled"])
