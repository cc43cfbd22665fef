"""Mails to the owner of an API key: a new key acts in the owner's name, or a key has a new secret."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.urls import reverse

from communities.ground.actors import Actor
from communities.models import ApiKey, Community
from communities.services.mail import mails
from communities.services.mail.letters import Letter, compose
from communities.services.mail.recipients import proven_address
from communities.services.people import members

KIND = mails.declare("api_key_notice", mails.Consent.CONFIRMED)
ALARM = "If you did not expect this, revoke the key at once and look at the sessions in your account."


def tell_of_new_key(key: ApiKey, *, at: datetime) -> None:
    """Notify the maker that a new key acts in their name."""
    _write(key, "New API key: {}", "A new API key acts in your name from now on.", [], at=at)


def tell_of_rotation(key: ApiKey, *, actor: Actor, at: datetime) -> None:
    """Notify the maker that their key has a new secret, and who rotated it if another person did."""
    more = []
    if actor.user_id != key.user_id:
        names = members.display_names(community_id=key.community_id, user_ids=[actor.user_id])
        more = [("Rotated by", names.get(actor.user_id, "another admin"))]
    text = "Your API key has a new secret. The earlier one works for another 24 hours."
    _write(key, "API key rotated: {}", text, more, at=at)


def _write(key: ApiKey, subject: str, text: str, more: list[tuple[str, str]], *, at: datetime) -> None:
    """Write the mail, if the owner has proven an address."""
    address = proven_address(user_id=key.user_id)
    if address is None:
        return
    community = Community.objects.values_list("name", flat=True).get(pk=key.community_id)
    letter = Letter(
        subject.format(key.name),
        [text],
        facts=[
            ("Key", key.name),
            ("Begins with", key.key_prefix),
            ("Community", community),
            ("When", f"{at:%-d %B %Y, %H:%M} UTC"),
            *more,
        ],
        action=(
            "Look at the keys",
            f"{settings.BASE_URL}{reverse('account_keys')}?community={key.community_id}",
        ),
        closing=[ALARM],
    )
    mails.write(
        compose(letter, to=address), kind=KIND, at=at, community_id=key.community_id, user_id=key.user_id
    )
