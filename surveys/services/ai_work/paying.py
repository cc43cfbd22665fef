"""What a community pays before a model works for it, and how often (rules 10.3, 10.4 and 10.17).

Credits of work that fails or is cancelled are given back. The number of jobs in an hour limits what such work
can cost the operator. An analysis that fails keeps the credits for answers that were read.
"""

from __future__ import annotations

from django.conf import settings

from communities import services as communities
from communities.gate import throttling
from communities.ground.errors import Conflict
from communities.ground.words import plural
from surveys import ai


def pay(*, community_id: int, credits: int) -> None:
    """Count a job of AI, and take its credits where the provider is not free.

    Raises PaymentRequired if the community has too few, and Conflict with `retry_after` if it has had
    AI_JOBS_PER_COMMUNITY_AND_HOUR jobs begun in the last hour. A job refused for its credits counts too,
    and so does one of the local provider, which takes the time of a worker.
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


def may_ask_further(*, community_id: int) -> bool:
    """Whether a model may write a further question now: the community had few in the last hour, and can pay.

    Counts the question. `pay_for_follow_up` takes the credits once there is one.
    """
    most = settings.FOLLOW_UPS_PER_COMMUNITY_AND_HOUR
    taken = throttling.take_surely(f"colloquy:follow_ups:{community_id}", most, seconds=throttling.HOUR)
    return not taken.is_used_up and communities.can_pay_follow_up(
        community_id=community_id, credits_for_ten=settings.CREDITS_FOR_10_FOLLOW_UPS
    )


def pay_for_follow_up(*, community_id: int) -> bool:
    """Take the credits for each started ten further questions. False if the community has too few."""
    return communities.spend_for_follow_up(
        community_id=community_id, credits_for_ten=settings.CREDITS_FOR_10_FOLLOW_UPS
    )


def _count_job(community_id: int) -> throttling.Allowance:
    most = settings.AI_JOBS_PER_COMMUNITY_AND_HOUR
    return throttling.take_surely(f"colloquy:ai:{community_id}", most, seconds=throttling.HOUR)
