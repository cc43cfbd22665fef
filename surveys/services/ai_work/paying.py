"""The price that a community pays before a model works, and limits on the number of jobs (rules 10.3, 10.4
and 10.17).

Credits of failed and cancelled work are returned. The limit of jobs in an hour bounds the operator's costs of
such work. A failed analysis keeps the credits for answers that were read.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from communities import services as communities
from communities.gate import throttling
from communities.ground.errors import Conflict
from communities.ground.words import plural
from surveys import ai


def pay(*, community_id: int, credits: int) -> None:
    """Count a job of AI, and take its credits if the provider is not free.

    Raises PaymentRequired if the community has too few credits. Raises Conflict with `retry_after` if the
    community began AI_JOBS_PER_COMMUNITY_AND_HOUR jobs in the last hour. A job that is refused for its
    credits counts, too, and so does a job of the local provider, which takes the time of a worker.
    """
    allowance = _count_job(community_id)
    if allowance.is_used_up:
        minutes = plural(-(-allowance.retry_after // 60), "minute")
        raise Conflict(
            f"A community can have {allowance.limit:,} scripts, analyses and answers made with AI in "
            f"an hour. Please try again in {minutes}.",
            retry_after=allowance.retry_after,
        )
    if not ai.provider_is_free():
        communities.spend_credits(community_id=community_id, amount=credits)


def pay_for_follow_up(*, community_id: int, project_id: int) -> str | None:
    """Count a further question and take the credits for each started ten, before a model writes it.

    Returns None, or the reason why no question may be written now: the project or the community has reached
    its `limit`, or has no `credits` left. A refused question is not counted, so a project at its limit does
    not use up the limit of other projects.
    """
    counted = (
        (
            f"colloquy:follow_ups:project:{project_id}",
            settings.FOLLOW_UPS_PER_PROJECT_AND_DAY,
            throttling.DAY,
        ),
        (
            f"colloquy:follow_ups:community:{community_id}",
            settings.FOLLOW_UPS_PER_COMMUNITY_AND_HOUR,
            throttling.HOUR,
        ),
    )
    taken: list[str] = []
    for name, most, seconds in counted:
        if throttling.take_surely(name, most, seconds=seconds).is_used_up:
            _give_back(taken)
            return "limit"
        taken.append(name)
    is_paid = communities.spend_for_follow_up(
        community_id=community_id,
        credits_for_ten=settings.CREDITS_FOR_10_FOLLOW_UPS,
        kept=settings.CREDITS_KEPT_FROM_FOLLOW_UPS,
    )
    if not is_paid:
        _give_back(taken)
    return None if is_paid else "credits"


def return_follow_up(*, community_id: int) -> None:
    """Undo the count and the credits of a further question that was not asked."""
    communities.return_follow_up(
        community_id=community_id, credits_for_ten=settings.CREDITS_FOR_10_FOLLOW_UPS
    )


def _give_back(names: Sequence[str]) -> None:
    for name in names:
        throttling.give_back(name)


def _count_job(community_id: int) -> throttling.Allowance:
    most = settings.AI_JOBS_PER_COMMUNITY_AND_HOUR
    return throttling.take_surely(f"colloquy:ai:{community_id}", most, seconds=throttling.HOUR)
