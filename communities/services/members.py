"""Members, and respondents whom a caller names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db import connection, transaction
from django.db.models import F, OuterRef, Subquery

from communities.errors import NotFound
from communities.models import ApiKey, CommunitySettings, Identity, Member, User
from communities.statements import prepared


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
    """The present member that a user is in a community, to give them something."""
    columns = [str(field.column) for field in CommunitySettings._meta.concrete_fields]
    with prepared() as cursor:
        cursor.execute(
            f"SELECT m.id, {', '.join(f's.{column}' for column in columns)} FROM communities_member m"
            " LEFT JOIN communities_communitysettings s ON s.community_id = m.community_id"
            " WHERE m.community_id = %s AND m.user_id = %s AND m.left_at IS NULL FOR KEY SHARE OF m",
            [community_id, user_id],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    if row[1] is None:
        return HeldMember(row[0], CommunitySettings(community_id=community_id))
    return HeldMember(row[0], CommunitySettings.from_db("default", columns, row[1:]))


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


# --- Erasing ----------------------------------------------------------------------------------------


def lock(*, community_id: int, member_id: int) -> None:
    """Wait for what is being given to a member, and keep more from coming until the transaction ends.

    Refuses whoever is no member any more.
    """
    if not Member.objects.select_for_update().filter(community_id=community_id, pk=member_id):
        raise NotFound("There is no such member.")


def erase_member(*, community_id: int, member_id: int, user_id: int) -> None:
    """Delete a member with their API keys and with the names that the community has for them.

    What other apps hold of the member has to be gone. Their user stays: see `erase_user`.
    """
    own = ApiKey.objects.filter(community_id=community_id, user_id=user_id)
    _forget_in_admin_log("apikey", list(own.values_list("pk", flat=True)))
    _forget_in_admin_log("member", [member_id])
    with connection.cursor() as cursor:
        # Django would look for dependents first. Constraints are checked at the commit.
        cursor.execute(
            """
            WITH keys AS (
                DELETE FROM communities_apikey WHERE community_id = %(community)s AND user_id = %(user)s
            ), names AS (
                DELETE FROM communities_identity WHERE community_id = %(community)s AND user_id = %(user)s
            ), setup AS (
                UPDATE communities_community SET user_setup_id = NULL
                WHERE id = %(community)s AND user_setup_id = %(user)s
            )
            DELETE FROM communities_member WHERE id = %(member)s
            """,
            {"community": community_id, "user": user_id, "member": member_id},
        )


def erase_user(*, user_id: int) -> bool:
    """Delete a user with their accounts on other platforms; False where somebody still knows them.

    Known is a member of any community, present or not, whoever holds an API key there, whom a community has
    a name for or was set up by; and staff, also who once did something in the admin. Other apps have to look
    for themselves.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH gone AS (
                SELECT id FROM communities_user person
                WHERE id = %s AND NOT is_staff AND NOT is_superuser
                    AND NOT EXISTS (SELECT FROM communities_member WHERE user_id = person.id)
                    AND NOT EXISTS (SELECT FROM communities_apikey WHERE user_id = person.id)
                    AND NOT EXISTS (SELECT FROM communities_community WHERE user_setup_id = person.id)
                    AND NOT EXISTS (SELECT FROM django_admin_log WHERE user_id = person.id)
                    AND NOT EXISTS (
                        SELECT FROM communities_identity
                        WHERE user_id = person.id AND community_id IS NOT NULL
                    )
                FOR UPDATE
            ),
            accounts AS (DELETE FROM communities_identity USING gone WHERE user_id = gone.id),
            groups AS (DELETE FROM communities_user_groups USING gone WHERE user_id = gone.id),
            rights AS (DELETE FROM communities_user_user_permissions USING gone WHERE user_id = gone.id)
            DELETE FROM communities_user person USING gone WHERE person.id = gone.id
            """,
            [user_id],
        )
        is_gone = bool(cursor.rowcount)
    if is_gone:
        _forget_in_admin_log("user", [user_id])
    return is_gone


def _forget_in_admin_log(model: str, ids: Collection[int]) -> None:
    """That staff did something, and when, stays in the log; whom they did it to does not."""
    LogEntry.objects.filter(
        content_type__app_label="communities", content_type__model=model, object_id__in=list(map(str, ids))
    ).update(object_id=None, object_repr="", change_message="")
