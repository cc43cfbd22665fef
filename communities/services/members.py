"""Members, and respondents whom a caller names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, Subquery

from communities.errors import NotFound
from communities.models import CommunitySettings, Identity, Member, User
from communities.statements import columns_of, instance_of, prepared
from communities.transactions import in_transaction


class NoSuchMember(NotFound):
    def __init__(self) -> None:
        super().__init__("There is no such member.")


@dataclass(frozen=True, slots=True)
class Place:
    """A member, present or not, as far as it matters what may be done."""

    user_id: int
    has_left: bool


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


def place_of(*, community_id: int, member_id: int) -> Place:
    """Who a member is, and whether they have left. Refuses whoever is none."""
    members = Member.objects.filter(community_id=community_id, pk=member_id)
    row = members.values_list("user_id", "left_at").first()
    if row is None:
        raise NoSuchMember
    user_id, left_at = row
    return Place(user_id, has_left=left_at is not None)


def present(*, community_id: int, user_id: int) -> int | None:
    """The id of the present member that a user is in a community."""
    with prepared() as cursor:
        cursor.execute(
            "SELECT id FROM communities_member WHERE community_id = %s AND user_id = %s AND left_at IS NULL",
            [community_id, user_id],
        )
        row = cursor.fetchone()
    return row[0] if row else None


@dataclass(frozen=True, slots=True)
class HeldMember:
    """A present member, kept from being erased until the transaction ends, with the community's settings."""

    member_id: int
    settings: CommunitySettings


def hold(*, community_id: int, user_id: int) -> HeldMember | None:
    """The present member that a user is in a community, to give them something: one move at a time does."""
    with prepared() as cursor:
        cursor.execute(
            f"SELECT m.id, {columns_of(CommunitySettings, 's')} FROM communities_member m"
            " LEFT JOIN communities_communitysettings s ON s.community_id = m.community_id"
            " WHERE m.community_id = %s AND m.user_id = %s AND m.left_at IS NULL FOR NO KEY UPDATE OF m",
            [community_id, user_id],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    if row[1] is None:
        return HeldMember(row[0], CommunitySettings(community_id=community_id))
    return HeldMember(row[0], instance_of(CommunitySettings, row[1:]))


def display_name(*, community_id: int, user_id: int) -> str:
    """What a user is called in a community: the nick there, else the name; empty where neither is known."""
    nick = Member.objects.filter(user=OuterRef("pk"), community_id=community_id).values("nick")[:1]
    row = User.objects.filter(pk=user_id).annotate(nick=Subquery(nick)).values_list("nick", "name").first()
    return (row[0] or row[1]) if row else ""


def names_of(*, community_id: int, user_ids: Collection[int]) -> Mapping[int, str]:
    """What users are called in a community: those of them who are its members, present or not, or staff.

    Not the others, though they be known elsewhere: whoever is erased here has no name here.
    """
    if not user_ids:
        return {}
    here = Member.objects.filter(user=OuterRef("pk"), community_id=community_id)
    known = User.objects.filter(Exists(here) | Q(is_staff=True), pk__in=user_ids)
    rows = known.annotate(nick=Subquery(here.values("nick")[:1])).values_list(
        "pk", "nick", "name", "username", "is_staff"
    )
    # The user name of whoever is not of the staff is made up.
    names = {pk: nick or name or (username if staff else "") for pk, nick, name, username, staff in rows}
    return {user_id: name for user_id, name in names.items() if name}


def user_for_external_id(*, community_id: int, external_id: str) -> int:
    """The user behind a caller's own name for a respondent, made at its first use."""
    named = {"provider": Identity.Provider.WEB, "platform_id": external_id, "community_id": community_id}
    known = Identity.objects.filter(**named).values_list("user_id", flat=True).first()
    if known is not None:
        return known
    with in_transaction:
        user = User.objects.create()
        # Does nothing where a twin was first, which is waited for; a failed insert would end the transaction.
        Identity.objects.bulk_create([Identity(user=user, **named)], ignore_conflicts=True)
        user_id = Identity.objects.values_list("user_id", flat=True).get(**named)
        if user_id != user.pk:
            user.delete()
    return user_id


@in_transaction
def create_member(*, community_id: int, name: str, access: str, at: datetime) -> Member:
    """A new person, and their place in a community."""
    user = User.objects.create(name=name)
    return Member.objects.create(community_id=community_id, user=user, access=access, joined_at=at)
