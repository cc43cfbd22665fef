"""Questions about results, answered from figures alone (rules 10.53 to 10.56).

prepare(actor=…, project_id=…, question=…, …)    begin, and wait for the answer
answer(actor=…, project_id=…, generation_id=…)   the answer, with the figures on which it rests
begin(actor=…, project=…, question=…, at=…)      the same for somebody who follows it on a page
look(actor=…, project=…, job_id=…)               how far it is; the answer once there is one
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.crypto import salted_hmac

from communities import services as communities
from communities.ground.actors import Actor
from communities.ground.errors import NotFound, refuse
from communities.ground.sent_text import sent_text
from communities.ground.transactions import in_transaction
from communities.services.trail import presence
from surveys.ai.provider import MAX_QUESTION, ResultsQuestion
from surveys.models import Generation, Job, Project
from surveys.services.ai_work import generation, result_figures
from surveys.services.ground import access, lookup

Json = dict[str, Any]
KIND = Generation.Kind.QUESTION
CANNOT_BE_TOLD = "This cannot be told from these data."
NO_JOB = "There is no such question. Its answer was kept for ten minutes."
_MARK = "question:"  # The fingerprints of these jobs begin with this mark.


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question in the form that the person who asked sees. `answer` is None until the answer exists."""

    id: int
    question: str
    status: str
    answer: Json | None
    error: str | None

    @property
    def is_running(self) -> bool:
        return self.status in (Job.Status.PENDING, Job.Status.RUNNING)


def prepare(
    *,
    actor: Actor,
    project_id: int,
    question: str,
    claim: str | None,
    fingerprint: str,
    is_answered: Callable[[], bool],
    at: datetime,
) -> int | None:
    """Have a question answered and wait for the answer, outside any transaction.

    The arguments, and None as a result, are explained in `generation.begin`. Refuses as
    `result_figures.readable` and `generation.begin` do.
    """
    project = lookup.in_community(community_id=actor.community_id, project_id=project_id)
    generation_id = generation.begin(
        community_id=actor.community_id,
        kind=KIND,
        request=_request(actor, project, question, at),
        claim=claim,
        fingerprint=fingerprint,
        is_answered=is_answered,
        at=at,
    )
    if generation_id is not None:
        generation.wait(generation_id=generation_id)
        generation.require_end(generation_id=generation_id, claim=claim)
    return generation_id


def answer(*, actor: Actor, project_id: int, generation_id: int | None, at: datetime) -> Json:
    """Return the answer. Refuses as `generation.fetch` does, and refuses people who may not read results any
    more.
    """
    project = lookup.in_community(community_id=actor.community_id, project_id=project_id)
    access.require_results_reader(actor=actor, project=project, at=at)
    return _as_json(generation.fetch(generation_id=generation_id))


def begin(*, actor: Actor, project: Project, question: str, ticket: str, at: datetime) -> int:
    """Have a question answered for somebody who follows it on the Results page; returns the job's id.

    The same question under the same `ticket`, for example from a form that is sent twice, is asked once.
    Refuses an empty question and a question that is too long, and refuses as `prepare` does.
    """
    question = sent_text(question)
    if not question:
        refuse("question", "required", "Write a question about these results.")
    if len(question) > MAX_QUESTION or "\x00" in question:
        refuse("question", "too_long", f"`question` must have at most {MAX_QUESTION} visible characters.")
    request = _request(actor, project, question, at)
    with in_transaction:
        presence.require(actor=actor)
        job_id = generation.begin(
            community_id=actor.community_id,
            kind=KIND,
            request=request,
            claim=salted_hmac("surveys.question", f"{actor.user_id}:{ticket}:{question}").hexdigest(),
            fingerprint=f"{_MARK}{project.pk}",
            requested_by=actor.user_id,
            at=at,
        )
    assert job_id is not None  # `begin` returns None only for a claim whose answer is stored elsewhere.
    return job_id


@in_transaction
def look(*, actor: Actor, project: Project, job_id: int, at: datetime) -> AskedQuestion:
    """Return the progress of the actor's own question on this project. The first look at the answer spends
    its credits.

    Raises NotFound for a question that does not exist any more, or that belongs to another user or project.
    Refuses people who may not read the results any more.
    """
    access.require_results_reader(actor=actor, project=project, at=at)
    own = Generation.objects.filter(community_id=actor.community_id, requested_by_id=actor.user_id)
    job = own.select_for_update().filter(pk=job_id, fingerprint=f"{_MARK}{project.pk}").first()
    if job is None:
        raise NotFound(NO_JOB)
    found = _as_json(job) if job.status == Job.Status.COMPLETED else None
    if found and job.credits_used:
        job.credits_used = 0  # The deletion of the row must return no credits.
        job.save(update_fields=["credits_used"])
    return AskedQuestion(job.pk, job.request["question"], job.status, found, job.error)


def _request(actor: Actor, project: Project, question: str, at: datetime) -> ResultsQuestion:
    return ResultsQuestion(
        question=question,
        figures=result_figures.readable(actor=actor, project=project, at=at),
        locale=communities.get_settings(community_id=project.community_id).locale,
    )


def _as_json(job: Generation) -> Json:
    claims = (job.draft or {})["claims"]
    used = {reference for claim in claims for reference in claim["references"]}
    return {
        "question": job.request["question"],
        "answer": " ".join(claim["text"] for claim in claims) or CANNOT_BE_TOLD,
        "claims": claims,
        "figures": [figure for figure in job.request["figures"] if figure["reference"] in used],
        "can_be_told": bool(claims),
        "generated_by": job.generated_by,
        "credits_used": job.credits_used,
    }
