"""The texts that a provider writes for a job, and their checks (rules 10.5, 10.53, 10.54 and 10.77). This
module saves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import structlog
from django.utils import timezone

from surveys import ai
from surveys.ai import privacy
from surveys.ai.numbers import unfounded, unfounded_words
from surveys.ai.provider import (
    Claim,
    Correction,
    ProposedScript,
    ProviderError,
    ReferencedFigure,
    ResultsQuestion,
    RevisionRequest,
    ScriptRequest,
)
from surveys.engine.script import Violation
from surveys.models import Generation, Project
from surveys.services.drafts import keys
from surveys.services.ground import access, jobs
from surveys.services.scripts import planning

MOST_CORRECTIONS = 2
MOST_ANSWERS = 2  # A question gets a second answer if the figures do not confirm a claim of the first.
NEVER = 0  # As `retry_after`, this value means that a retry of the same request would end in the same way.
NO_VALID_SCRIPT = "The AI provider wrote no valid script. No credits were charged; try to reword the intent."
NO_VALID_REVISION = (
    "What the AI provider wrote for this `instruction` cannot be used as a script. Nothing was saved, and no "
    "credits were charged; try to reword it."
)

Kind = Generation.Kind
# The field of the request that contains the text for the provider.
WORDS = {Kind.SCRIPT: "intent", Kind.REVISION: "instruction", Kind.QUESTION: "question"}
# These fields of a request are not for the provider.
_NOT_ASKED = ("project_id", "revision", "may_set_privacy")
log = structlog.get_logger("colloquy.generation")


def write(job: Generation) -> dict[str, object]:
    """Have the provider write what a job is for, as JSON. Raises ProviderError."""
    return _answer(job) if job.kind == Kind.QUESTION else _draft_as_json(job, _valid_draft(job))


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
    """Check a draft by the rules for scripts written by hand, and by the rules for drafts only."""
    new, violations = planning.read_new(
        {"blocks": list(draft.blocks)},
        is_poll=request.type == Project.Type.POLL,
        scoring_enabled=draft.scoring_enabled,
        bucket_names=request.bucket_names,
        chat=request.for_chat,
        xp_limit=None,  # A draft has no action blocks.
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
    """Return the violations for which a write of the changed script would be refused. A model adds no XP, so
    no limit is checked.
    """
    project = Project.objects.filter(pk=project_id, deleted_at__isnull=True).first()
    if project is None:
        raise ProviderError(access.NO_PROJECT)
    body = {"blocks": keys.as_sent(keys.unnumbered(draft.blocks))}
    return planning.plan_script(project=project, body=body, xp_limit=None, at=timezone.now()).violations


def _draft_as_json(job: Generation, draft: ProposedScript) -> dict[str, object]:
    """Return the draft with the privacy that the request wishes, read from its words or by the model."""
    return {
        "privacy": privacy.stricter(privacy.wished(words_of(job)), draft.wishes.get("privacy_mode")),
        "blocks": keys.unnumbered(draft.blocks),
        "scoring_enabled": draft.scoring_enabled,
        "understood": list(draft.understood),
        "unmet": list(draft.unmet),
        "confidence": draft.confidence,
    }


def _answer(job: Generation) -> dict[str, object]:
    """The claims of the provider that agree with their figures (rule 10.53). Raises ProviderError."""
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
    """Return whether all figures of a claim are known and contain the numbers of the claim."""
    if not claim.references or not figures.keys() >= set(claim.references):
        return False
    named = [figures[reference] for reference in claim.references]
    averages = [figure.value for figure in named if figure.is_average]
    counted = [figure.value for figure in named if not figure.is_average]
    known = [*counted, *(figure.text for figure in named)]
    return not (unfounded(claim.text, known, averages) or unfounded_words(claim.text, known))


def words_of(job: Generation) -> str:
    """The words in which a job was requested."""
    return str(job.request[WORDS[Kind(job.kind)]])


def _request_of(job: Generation) -> Any:
    """Return the request to the provider, in the form of the job's kind."""
    fields = {name: value for name, value in job.request.items() if name not in _NOT_ASKED}
    if job.kind == Kind.QUESTION:
        figures = [ReferencedFigure(**figure) for figure in fields.pop("figures")]
        return ResultsQuestion(**fields, figures=figures)
    request = ScriptRequest if job.kind == Kind.SCRIPT else RevisionRequest
    return request(**{**fields, "bucket_names": tuple(fields["bucket_names"])})
