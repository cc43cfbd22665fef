"""A community's credits for AI: spent before the work, and returned if it fails (rules 10.3 and 10.4)."""

from __future__ import annotations

from django.db.models import Case, F, IntegerField, Q, QuerySet, When

from communities.ground.errors import PaymentRequired
from communities.ground.words import plural
from communities.models import Community


def spend_credits(*, community_id: int, amount: int) -> None:
    """Take credits, all or none. Two requests cannot spend the same credit. Raises PaymentRequired."""
    if not amount:
        return
    enough = Community.objects.filter(pk=community_id, bot_credits__gte=amount)
    if not enough.update(bot_credits=F("bot_credits") - amount):
        left = Community.objects.values_list("bot_credits", flat=True).get(pk=community_id)
        raise PaymentRequired(
            f"This takes {plural(amount, 'credit')}, and the community has {plural(left, 'credit')} left."
        )


def return_credits(*, community_id: int, amount: int) -> None:
    """Give back credits that were taken for work that failed."""
    if amount:
        Community.objects.filter(pk=community_id).update(bot_credits=F("bot_credits") + amount)


def can_pay_follow_up(*, community_id: int, credits_for_ten: int, kept: int) -> bool:
    """Whether the credits suffice for `spend_for_follow_up`. Changes nothing."""
    return _payers(community_id, credits_for_ten, kept).exists()


def spend_for_follow_up(*, community_id: int, credits_for_ten: int, kept: int) -> bool:
    """Take the credits for further questions, with the first of each ten.

    Returns False if fewer than `kept` credits would be left.
    """
    paid = F("bot_credits") - credits_for_ten
    return bool(
        _payers(community_id, credits_for_ten, kept).update(
            bot_credits=Case(
                When(follow_ups_of_ten=0, then=paid), default=F("bot_credits"), output_field=IntegerField()
            ),
            follow_ups_of_ten=(F("follow_ups_of_ten") + 1) % 10,
        )
    )


def return_follow_up(*, community_id: int, credits_for_ten: int) -> None:
    """Take back the credits that were taken for a further question that was not asked."""
    returned = F("bot_credits") + credits_for_ten
    Community.objects.filter(pk=community_id).update(
        bot_credits=Case(
            When(follow_ups_of_ten=1, then=returned), default=F("bot_credits"), output_field=IntegerField()
        ),
        follow_ups_of_ten=(F("follow_ups_of_ten") + 9) % 10,
    )


def _payers(community_id: int, credits_for_ten: int, kept: int) -> QuerySet[Community]:
    """Return the community if its next further question is already paid, or if it has the credits for the
    question and `kept` more.
    """
    least = credits_for_ten + kept if credits_for_ten else 0
    may_pay = Q(follow_ups_of_ten__gt=0) | Q(bot_credits__gte=least)
    return Community.objects.filter(may_pay, pk=community_id)
