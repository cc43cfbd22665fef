"""A person's place in a community: all that is held of it, and how it goes (decisions 4).

What other apps hold of a person they tell and erase themselves; whoever stands above joins them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.admin.models import LogEntry
from django.db import connection

from communities.models import ApiKey, Community, Identity, Member
from communities.services.members import NoSuchMember

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Person:
    """A member, present or not. `external_ids` are the community's own names for them as a respondent."""

    community_id: int
    member_id: int
    user_id: int
    external_ids: tuple[str, ...]


def find(*, community_id: int, member_id: int) -> Person:
    """Who a member is. Refuses whoever is none."""
    members = Member.objects.filter(community_id=community_id, pk=member_id)
    user_id = members.values_list("user_id", flat=True).first()
    if user_id is None:
        raise NoSuchMember
    external = Identity.objects.filter(
        user_id=user_id, community_id=community_id, provider=Identity.Provider.WEB
    )
    return Person(community_id, member_id, user_id, tuple(external.values_list("platform_id", flat=True)))


# --- Telling ----------------------------------------------------------------------------------------


def held(*, person: Person) -> Json:
    """What is held of the person here: the member, their user, accounts and keys. Refuses whoever is gone."""
    of_user = {"user_id": person.user_id}
    member = Member.objects.filter(pk=person.member_id).select_related("user").first()
    if member is None:
        raise NoSuchMember
    keys = ApiKey.objects.filter(community_id=person.community_id, **of_user).order_by("pk")
    # Of this community and of all, not those that another community has a name for.
    accounts = [
        each
        for each in Identity.objects.filter(**of_user).order_by("pk")
        if each.community_id in (None, person.community_id)
    ]
    set_up = Community.objects.filter(pk=person.community_id, user_setup_id=person.user_id)
    return {
        "member": _member_as_json(member),
        "user": _user_as_json(member),
        "set_up_the_community": set_up.exists(),
        "identities": [{"provider": each.provider, "platform_id": each.platform_id} for each in accounts],
        "api_keys": list(map(_key_as_json, keys)),
    }


def _member_as_json(member: Member) -> Json:
    return {
        "id": str(member.pk),
        "community_id": str(member.community_id),
        "user_id": str(member.user_id),
        "access": member.access,
        "nick": member.nick,
        "avatar_url": member.avatar_url,
        "joined_at": member.joined_at,
        "left_at": member.left_at,
    }


def _user_as_json(member: Member) -> Json:
    user = member.user
    return {
        "id": str(user.pk),
        "name": user.name or None,
        "username": user.username,
        "email": user.email or None,
        "is_active": user.is_active,
        "is_staff": user.is_staff,
        "joined_at": user.date_joined,
        "last_login_at": user.last_login,
    }


def _key_as_json(key: ApiKey) -> Json:
    return {
        "id": str(key.pk),
        "name": key.name,
        "description": key.description,
        "key_prefix": key.key_prefix,
        "role": key.restricted_to,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }


# --- Erasing ----------------------------------------------------------------------------------------


def lock(*, community_id: int, member_id: int) -> None:
    """Wait for what is being given to a member, and keep more from coming until the transaction ends.

    Refuses whoever is no member any more.
    """
    if not Member.objects.select_for_update().filter(community_id=community_id, pk=member_id):
        raise NoSuchMember


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
