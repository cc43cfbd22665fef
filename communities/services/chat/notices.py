"""Mails to a community's admins: that the bot was removed from their server."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.urls import reverse

from communities.models import Community, Member
from communities.services.mail import mails
from communities.services.mail.letters import Letter, compose
from communities.services.mail.recipients import proven_address

KIND = mails.declare("chat_removed_notice", mails.Consent.CONFIRMED)
MOST_ADMINS = 50


def tell_of_removal(*, community_id: int, at: datetime) -> None:
    """Write to each admin who has proven an address, in the caller's transaction."""
    name = Community.objects.values_list("name", flat=True).get(pk=community_id)
    admins = Member.objects.filter(community_id=community_id, access=Member.Access.ADMIN, left_at=None)
    for user_id in admins.order_by("pk").values_list("user_id", flat=True)[:MOST_ADMINS]:
        address = proven_address(user_id=user_id)
        if address is None:
            continue
        letter = Letter(
            f"The bot is not in the server of {name} any more",
            [
                "Our bot was removed from your server on Discord. Open surveys and polls there cannot be "
                "answered any more, and nobody gets the roles that they earn.",
                "Add the bot again to go on. Nothing is lost: what waits is done then.",
            ],
            facts=[("Community", name), ("Noticed", f"{at:%-d %B %Y, %H:%M} UTC")],
            action=(
                "Add the bot again",
                f"{settings.BASE_URL}{reverse('account_chat')}?community={community_id}",
            ),
        )
        message = compose(letter, to=address)
        mails.write(message, kind=KIND, at=at, community_id=community_id, user_id=user_id)
