"""A community's credits for AI: spent before the work, and returned if it fails (rules 10.3 and 10.4)."""

from __future__ import annotations

from django.db.models import F

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
