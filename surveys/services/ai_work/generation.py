"""Work of a model that a request waits for: scripts, changed scripts, answers (rules 10.3 to 10.7, 10.50).

    prepare         plan the project, begin, wait                the request, before its transaction
      begin         a paid row, and a worker woken               in a short transaction
      wait          until the work is finished or time is up     holding no connection
    run             what the provider writes, if it is valid     the worker
    create_project  the project, with or without its script      the request's transaction
    fetch           the result of any other kind                 the request's transaction
    deliver         the script into a project created without    the worker
    take_up         what was lost or never fetched               the sweep

Credits are taken in `begin`. `create_project`, `fetch` and `deliver` spend them; any other end gives them
back. `revision` and `question` prepare the other kinds.
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
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from communities import services as communities
from communities.ground.actors import Actor
from communities.ground.errors import Conflict, InvalidRequest, Unavailable, refuse
from communities.ground.queue import wake
from communities.ground.sent_text import paragraphs
from communities.ground.transactions import in_transaction
from surveys import ai
from surveys.ai import privacy
from surveys.ai.numbers import unfounded, unfounded_words
from surveys.ai.provider import (
    LOCAL,
    Claim,
    Correction,
    ProposedScript,
    ProviderError,
    ReferencedFigure,
    ResultsQuestion,
    RevisionRequest,
    ScriptRequest,
    UnwrittenLanguage,
)
from surveys.engine.script import Violation
from surveys.models import Generation, Job, Project
from surveys.services import events
from surveys.services.ai_work import paying
from surveys.services.drafts import keys
from surveys.services.ground import access, jobs
from surveys.services.projects import service as projects
from surveys.services.projects.service import CreatedProject, ProjectPlan
from surveys.services.scripts import editing as scripts
from surveys.services.scripts import planning

MAKE = "surveys.make_script"
MOST_CORRECTIONS = 2
MOST_ANSWERS = 2  # to a question, if a claim of the first is not borne out by its figures
KEPT_FOR = timedelta(minutes=10)  # finished work, for a caller who disconnected and tries again
# A web process has four threads, and other requests need them too. Two requests may wait until the script is
# ready, and a third for a few seconds. Any further request waits only as long as an idle worker takes without
# a model; then it answers that the script is still being written.
_long_waits = threading.BoundedSemaphore(2)
_short_waits = threading.BoundedSemaphore(1)
SECONDS_OF_A_SHORT_WAIT = 5.0
SECONDS_OF_ANY_OTHER_WAIT = 0.5
_MIN_PAUSE, _MAX_PAUSE = 0.03, 0.5  # seconds between two queries

Kind = Generation.Kind
_WORDS = {Kind.SCRIPT: "intent", Kind.REVISION: "instruction", Kind.QUESTION: "question"}  # what is asked
_NOT_ASKED = ("project_id", "revision", "may_set_privacy")  # in a request, and nothing for the provider
Asked = ScriptRequest | RevisionRequest | ResultsQuestion
log = structlog.get_logger("colloquy.generation")


@dataclass(frozen=True)
class Prepared:
    """A planned project, and the work that writes its script, finished or not."""

    plan: ProjectPlan
    generation_id: int


@dataclass(frozen=True)
class CreatedFromIntent:
    """A project created from an intent. If `is_pending`, its script comes later."""

    created: CreatedProject
    credits_used: int
    is_pending: bool


# --- Requests -------------------------------------------------------------------------------------


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
    fields = {**fields, "intent": paragraphs(fields["intent"])}
    names_privacy = "privacy_mode" in fields or "privacy_mode" in (fields.get("settings") or {})
    if not names_privacy and privacy.wished(fields["intent"]) == privacy.ANONYMOUS:
        fields["privacy_mode"] = Project.PrivacyMode.ANONYMOUS.value
    plan = projects.plan_project(actor=actor, fields=fields, at=at)
    generation_id = begin(
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
        community=plan.settings.community.name,
    )


def met_and_unmet(generation: Generation, project: Project) -> tuple[list[str], list[str]]:
    """What was understood of a request and what was not met, with the project's privacy if it is another."""
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
    readers = "its creator and admins" if is_semi_private else "everybody in the community"
    return (
        f"You asked for confidential answers, and this project is {mode}: {readers} can see who answered "
        "what. Choose who may under Delivery before it opens."
    )


def _wants_scoring(fields: Mapping[str, Any]) -> bool | None:
    """Whether the fields ask for scoring; None lets the provider decide."""
    if "scoring_enabled" in fields:
        return bool(fields["scoring_enabled"])
    scoring = fields.get("scoring", {})
    return False if scoring is None else scoring.get("enabled")


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
    if that is wished. `claim` and `fingerprint` are hashes of the idempotency
    key and of the whole request: a retry joins the work of the first request and pays nothing. If that one
    `is_answered` by now, nothing is left to do, and None is returned. Without a claim the `fingerprint` only
    marks the work, and `requested_by` is the user who follows it in the admin. Refuses another request under
    the same claim, and as `paying.pay` does.
    """
    asked = asdict(request)
    words = _WORDS[Kind(kind)]
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
    """Where a changed script comes from, beside what the provider is asked."""
    return {"project_id": project.pk, "revision": project.revision}


def cost(kind: str) -> int:
    """The credits that one piece of work takes."""
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
def create_project(*, prepared: Prepared, at: datetime) -> CreatedFromIntent:
    """Create the planned project with the script that was drafted, or without it if that takes too long.

    Raises Unavailable if no script could be written, and refuses an intent in a language that the provider
    does not write.
    """
    plan = prepared.plan
    generation = _locked_unless_failed(prepared.generation_id)
    is_pending = generation.status != Job.Status.COMPLETED
    if not is_pending:
        draft = _draft_of(generation)
        is_scored = plan.project.scoring_enabled or (
            draft.scoring_enabled and generation.request["scoring"] is None
        )
        if _makes_anonymous(generation):
            projects.become_anonymous(plan.project)
        plan = projects.plan_with_draft(plan=plan, blocks=draft.blocks, scoring=is_scored)
    created = projects.save_plan(
        plan=plan,
        generation=_as_json("pending" if is_pending else "completed", generation, plan.project),
        at=at,
    )
    if is_pending:
        generation.project, generation.claim = created.project, None
        generation.save(update_fields=["project", "claim"])
    else:
        generation.delete()
    return CreatedFromIntent(created, generation.credits_used, is_pending)


def _makes_anonymous(generation: Generation) -> bool:
    """Whether the wish for anonymous answers, as the model understood it, is for us to meet."""
    draft = generation.draft or {}
    return bool(generation.request.get("may_set_privacy")) and draft.get("privacy") == privacy.ANONYMOUS


@in_transaction
def fetch(*, generation_id: int | None) -> Generation:
    """Finished work that no project waits for; its row is deleted, and its credits are spent.

    `generation_id` is what `begin` returned. Raises Unavailable if the work failed, or is not ready yet.
    """
    if generation_id is None:  # the stored response expired after the claim was looked at
        raise Conflict("The response to this Idempotency-Key has just expired; please retry.", retry_after=1)
    generation = _locked_unless_failed(generation_id)
    if generation.status != Job.Status.COMPLETED:
        raise Unavailable(NOT_READY, retry_after=SECONDS_UNTIL_READY)
    Generation.objects.filter(pk=generation_id).delete()
    return generation


def require_end(*, generation_id: int, claim: str | None) -> None:
    """After the wait: raise Unavailable if the work has not ended and its caller has no key to join it again.

    Then the work is given up, and its credits are returned.
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


def _locked_unless_failed(generation_id: int) -> Generation:
    generation = Generation.objects.select_for_update().filter(pk=generation_id).first()
    if generation and generation.status == Job.Status.FAILED and generation.retry_after == NEVER:
        refuse(_WORDS[Kind(generation.kind)], "invalid", generation.error or GONE)
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
NEVER = 0  # as `retry_after`: only another request may end in another way
GONE = "The work was given up. No credits were charged; please try again."
SCRIPT_FAILED = "The script could not be made. No credits were charged; please try again."
FAILED = {
    Kind.SCRIPT: SCRIPT_FAILED,
    Kind.REVISION: "The script could not be changed. No credits were charged; please try again.",
    Kind.QUESTION: "The question could not be answered. No credits were charged; please try again.",
}
NO_VALID_SCRIPT = "The AI provider wrote no valid script. No credits were charged; try to reword the intent."
NO_VALID_REVISION = (
    "What the AI provider wrote for this `instruction` cannot be used as a script. Nothing was saved, and no "
    "credits were charged; try to reword it."
)
ALREADY_WRITTEN = "The project already has a script, so the one made from the intent was discarded."


def run(*, generation_id: int) -> None:
    """Have the provider write, in a worker. Running it twice is harmless."""
    jobs.carry_out(
        Generation,
        generation_id,
        work=lambda job: _complete(
            job, _answer(job) if job.kind == Kind.QUESTION else _draft_as_json(job, _valid_draft(job))
        ),
        fail=_fail,
        foreseen=ProviderError,
        now=timezone.now,
    )
    deliver(generation_id=generation_id, at=timezone.now())


def _valid_draft(job: Generation) -> ProposedScript:
    """Have the provider write or change a script, corrected until it is valid. Raises ProviderError."""
    provider, request = ai.get_provider(), _request_of(job)
    is_new, correction = job.kind == Kind.SCRIPT, None
    write = provider.draft_script if is_new else provider.revise_script
    for _ in range(1 + MOST_CORRECTIONS):
        jobs.renew(job, at=timezone.now(), generated_by=provider.name)
        job.generated_by = provider.name
        jobs.close_connection()
        draft = write(request, correction)
        if is_new and request.scoring is not None:
            draft = replace(draft, scoring_enabled=request.scoring)
        violations = (
            [each.as_json() for each in violations_of(draft, request)]
            if is_new
            else _violations_of_revision(draft, project_id=job.request["project_id"])
        )
        log.info("generation.drafted", generation_id=job.pk, violations=len(violations))
        if not violations:
            return draft
        correction = Correction(draft, violations)
    if is_new:
        raise ProviderError(NO_VALID_SCRIPT)
    raise ProviderError(NO_VALID_REVISION, retry_after=NEVER)


def violations_of(draft: ProposedScript, request: ScriptRequest) -> Sequence[Violation]:
    """Check a draft by the rules for scripts written by hand, and by those for drafts only."""
    new, violations = scripts.read_new(
        {"blocks": list(draft.blocks)},
        is_poll=request.type == Project.Type.POLL,
        scoring_enabled=draft.scoring_enabled,
        bucket_names=request.bucket_names,
        chat=request.for_chat,
        xp_limit=None,  # a draft has no action blocks
    )
    if not violations and not any(block.asks for block in new.script.blocks):
        violations.append(
            Violation("script.blocks", "required", "`blocks` must contain at least one question.")
        )
    for n, block in enumerate(draft.blocks):
        if block.get("type") == "action_block":
            message = "`type` cannot be `action_block` in a draft; only the author can add rewards."
            violations.append(Violation(f"script.blocks[{n}].type", "not_allowed", message))
    return violations


def _violations_of_revision(draft: ProposedScript, *, project_id: int) -> Sequence[Mapping[str, object]]:
    """What a write of the changed script would be refused for. A model adds no XP, so no limit is checked."""
    project = Project.objects.filter(pk=project_id, deleted_at__isnull=True).first()
    if project is None:
        raise ProviderError(access.NO_PROJECT)
    body = {"blocks": keys.as_sent(keys.unnumbered(draft.blocks))}
    return planning.plan_script(project=project, body=body, xp_limit=None, at=timezone.now()).violations


def _draft_as_json(job: Generation, draft: ProposedScript) -> dict[str, object]:
    """The draft, with the privacy that its request wishes, by its words or as the model understood them."""
    wished = privacy.wished(words_of(job))
    return {
        "privacy": privacy.stricter(wished, draft.wishes.get("privacy_mode")),
        "blocks": keys.unnumbered(draft.blocks),
        "scoring_enabled": draft.scoring_enabled,
        "understood": list(draft.understood),
        "unmet": list(draft.unmet),
        "confidence": draft.confidence,
    }


def _answer(job: Generation) -> dict[str, object]:
    """The claims of the provider that their figures bear out (rule 10.53). Raises ProviderError."""
    provider, question = ai.get_provider(), _request_of(job)
    figures = {figure.reference: figure for figure in question.figures}
    founded: list[Claim] = []
    for _ in range(MOST_ANSWERS):
        jobs.renew(job, at=timezone.now(), generated_by=provider.name)
        job.generated_by = provider.name
        jobs.close_connection()
        claims = provider.answer_question(question)
        founded = [claim for claim in claims if _is_founded(claim, figures)]
        log.info("generation.answered", generation_id=job.pk, claims=len(claims), founded=len(founded))
        if len(founded) == len(claims):
            break
    return {"claims": [asdict(claim) for claim in founded]}


def _is_founded(claim: Claim, figures: Mapping[str, ReferencedFigure]) -> bool:
    """Whether all figures of a claim are known, and hold its numbers."""
    if not claim.references or not figures.keys() >= set(claim.references):
        return False
    named = [figures[reference] for reference in claim.references]
    averages = [figure.value for figure in named if figure.is_average]
    counted = [figure.value for figure in named if not figure.is_average]
    known = [*counted, *(figure.text for figure in named)]
    return not (unfounded(claim.text, known, averages) or unfounded_words(claim.text, known))


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
        generation.retry_after = NEVER
    _end_as_failed(generation, message)


def _end_as_failed(generation: Generation, message: str) -> None:
    """Return the credits, and release the idempotency key so that the caller can try again."""
    communities.return_credits(community_id=generation.community_id, amount=generation.credits_used)
    generation.status, generation.completed_at, generation.error = Job.Status.FAILED, timezone.now(), message
    generation.credits_used, generation.claim = 0, None
    generation.save(update_fields=["status", "completed_at", "error", "retry_after", "credits_used", "claim"])


@in_transaction
def deliver(*, generation_id: int, at: datetime) -> None:
    """Write a finished script into the project that was created without it, or record that there is none.

    Like every change of a project, this locks the project first.
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
    project.generation = _as_json(generation.status, generation, project)
    project.save(update_fields=["generation"])
    events.project_updated(project, at=at)
    generation.delete()


def _write_script(project: Project, generation: Generation, at: datetime) -> str | None:
    """Write the draft as the project's script. Returns the reason if that is not possible."""
    if project.revision or project.block_count:
        return ALREADY_WRITTEN
    draft = _draft_of(generation)
    try:
        with transaction.atomic():
            if draft.scoring_enabled and generation.request["scoring"] is None:
                project.scoring_enabled = True
                project.save(update_fields=["scoring_enabled"])
            if _makes_anonymous(generation):
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


def _as_json(status: str, generation: Generation, project: Project) -> dict[str, object]:
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
    """How a script is written: a `template` fitted to the words of the intent, or by a `model`."""
    return "template" if (generation.generated_by or settings.AI_PROVIDER) == LOCAL else "model"


def words_of(job: Generation) -> str:
    """The words in which somebody asked for a job."""
    return str(job.request[_WORDS[Kind(job.kind)]])


def _request_of(job: Generation) -> Any:
    """What the provider is asked: a request of the job's kind."""
    fields = {name: value for name, value in job.request.items() if name not in _NOT_ASKED}
    if job.kind == Kind.QUESTION:
        figures = [ReferencedFigure(**figure) for figure in fields.pop("figures")]
        return ResultsQuestion(**fields, figures=figures)
    request = ScriptRequest if job.kind == Kind.SCRIPT else RevisionRequest
    return request(**{**fields, "bucket_names": tuple(fields["bucket_names"])})


def _draft_of(generation: Generation) -> ProposedScript:
    assert generation.draft is not None
    return ProposedScript(generation.draft["blocks"], generation.draft["scoring_enabled"])
