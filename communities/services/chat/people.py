"""Who acts in chat. The platform signs what it tells of them, so nobody has to be asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from communities.models import Identity
from communities.rounding import Rounding
from communities.services import identities, members, platform_members
from communities.services.members import COLUMNS_OF_PERSON, KnownPerson, person_of
from communities.sources.chat import GuildMember
from communities.statements import prepared

NOTED_AGAIN = timedelta(minutes=30)  # although nothing has changed: then `roles_told_at` says how fresh it is

_PERSON = f"""
    SELECT here.nick, here.avatar_url, here.role_ids, {COLUMNS_OF_PERSON}
    FROM communities_community community
    LEFT JOIN communities_identity account ON account.provider = 'chat'
        AND account.platform_id = %(platform_id)s AND account.community_id IS NULL
    LEFT JOIN communities_user person ON person.id = account.user_id
    LEFT JOIN communities_member here ON here.user_id = person.id
        AND here.community_id = community.id AND here.left_at IS NULL
    WHERE community.id = %(community)s
"""


def known(
    *,
    community_id: int,
    platform_id: str,
    name: str,
    listed: GuildMember,
    at: datetime,
    rounded_to: Rounding | None = None,
) -> KnownPerson | None:
    """Somebody as a community knows them, by their account on the platform; None if it is no community.

    Makes a user and a member of somebody who is new, and keeps name, picture and roles up to date. One
    statement if nothing has changed. Their roles are those that the platform lists now. Whoever left the
    community in another way than by leaving its server is no member here. Nothing is written about somebody
    who is deactivated. Beside anonymous answers
    `rounded_to` rounds the times of somebody new, and nothing is written about others.
    """
    found = _find(community_id, platform_id)
    if found is None:
        return None
    stored, person = found
    if person is not None and not person.is_active:
        return person
    is_same = stored == (listed.nick or stored[0], listed.avatar_url, set(listed.role_ids))
    told_at = person.roles_told_at if person else None
    is_fresh = told_at is not None and at - told_at < NOTED_AGAIN
    # Beside an anonymous answer nothing is kept up to date: that row would be written just before the answer.
    is_kept = rounded_to is not None or (is_same and is_fresh)
    if person is None or person.member_id is None or not is_kept:
        user_id = person.user_id if person else None
        if user_id is None:
            user_id = identities.note(provider=Identity.Provider.CHAT, platform_id=platform_id, name=name)
        platform_members.note_listed(
            listed=listed, community_id=community_id, user_id=user_id, at=at, rounded_to=rounded_to
        )
        person = members.find_person(community_id=community_id, user_id=user_id)
        if person is None:  # deleted at this moment
            return None
    return replace(person, role_ids=frozenset(listed.role_ids), roles_told_at=at)


_Stored = tuple[str, str | None, set[str]]


def _find(community_id: int, platform_id: str) -> tuple[_Stored, KnownPerson | None] | None:
    with prepared() as cursor:
        cursor.execute(_PERSON, {"community": community_id, "platform_id": platform_id})
        row = cursor.fetchone()
    if row is None:
        return None
    nick, avatar_url, role_ids = row[:3]
    person = None if row[3] is None else person_of(row[3:])
    return (nick or "", avatar_url, set(role_ids or ())), person
