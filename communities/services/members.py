"""Members, and respondents whom a caller names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, Subquery

from communities.models import Identity, Member, User


@dataclass(frozen=True, slots=True)
class Known:
    """A present member, as a respondent: by which account the platform knows them."""

    user_id: int
    name: str
    provider: str
    platform_id: str | None


def find(*, community_id: int, member_id: int | None = None, user_id: int | None = None) -> Known | None:
    """A present member by their id or their user's; None where there is none."""
    on_chat = Identity.objects.filter(user=OuterRef("user"), provider=Identity.Provider.CHAT).order_by("pk")
    members = Member.objects.filter(community_id=community_id, left_at__isnull=True)
    by_id: dict[str, Any] = {"user_id": user_id} if member_id is None else {"pk": member_id}
    row = (
        members.filter(**by_id)
        .annotate(on_chat=Subquery(on_chat.values("platform_id")[:1]), user_name=F("user__name"))
        .values_list("user_id", "nick", "user_name", "on_chat")
        .first()
    )
    if row is None:
        return None
    found_user_id, nick, name, on_chat_id = row
    provider = Identity.Provider.CHAT if on_chat_id else Identity.Provider.WEB
    return Known(found_user_id, nick or name, provider, on_chat_id)


def display_name(*, community_id: int, user_id: int) -> str:
    """What a user is called in a community: the nick there, else the name; empty where neither is known."""
    nick = Member.objects.filter(user=OuterRef("pk"), community_id=community_id).values("nick")[:1]
    row = User.objects.filter(pk=user_id).annotate(nick=Subquery(nick)).values_list("nick", "name").first()
    return (row[0] or row[1]) if row else ""


def user_for_external_id(*, community_id: int, external_id: str) -> int:
    """The user behind a caller's own name for a respondent, made at its first use."""
    named = {"provider": Identity.Provider.WEB, "platform_id": external_id, "community_id": community_id}
    known = Identity.objects.filter(**named).values_list("user_id", flat=True).first()
    if known is not None:
        return known
    with transaction.atomic():
        user = User.objects.create()
        # Does nothing where a twin was first, which is waited for; a failed insert would end the transaction.
        Identity.objects.bulk_create([Identity(user=user, **named)], ignore_conflicts=True)
        user_id = Identity.objects.values_list("user_id", flat=True).get(**named)
        if user_id != user.pk:
            user.delete()
    return user_id


@transaction.atomic
def create_member(*, community_id: int, name: str, access: str, at: datetime) -> Member:
    """A new person, and their place in a community."""
    user = User.objects.create(name=name)
    return Member.objects.create(community_id=community_id, user=user, access=access, joined_at=at)
