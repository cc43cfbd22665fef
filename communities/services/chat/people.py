"""The person who acts in chat.

The platform signs its data about that person, so no further request is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from communities.ground import queue
from communities.ground.rounding import Rounding
from communities.ground.statements import prepared
from communities.identity_providers.chat import GuildMember
from communities.services.people import identities, members, platform_members
from communities.services.people.members import COLUMNS_OF_PERSON, KnownPerson, person_of

# The row is written again after this time even if nothing has changed, so that `roles_told_at` shows how
# fresh the roles are.
NOTED_AGAIN = timedelta(minutes=30)

_PERSON = f"""
    SELECT here.nick, here.avatar_url, here.role_ids, account.proven_at IS NOT NULL, account.has_written,
        {COLUMNS_OF_PERSON}
    FROM communities_community community
    LEFT JOIN LATERAL (
        SELECT known.user_id, known.proven_at, known.community_id IS NULL AND EXISTS (
            SELECT FROM communities_identity written
            WHERE written.provider = 'chat' AND written.platform_id = %(platform_id)s
                AND written.community_id = community.id
        ) AS has_written
        FROM communities_identity known
        WHERE known.provider = 'chat' AND known.platform_id = %(platform_id)s
            AND (known.community_id IS NULL OR known.community_id = community.id)
        ORDER BY known.community_id NULLS FIRST LIMIT 1
    ) account ON TRUE
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
    """A person as a community knows them, by their account on the platform; None if the community does not
    exist.

    Creates a user and a member for a new person, and updates name, picture and roles. The community's own
    entries for the account become the person's. Runs one statement if nothing has changed. The roles are
    those that the platform lists now. A person who left the community in another way than by leaving its
    server is no member here. Nothing is written about a deactivated person. With anonymous answers,
    `rounded_to` rounds the times of a new person, and nothing is written about others.
    """
    found = _find(community_id, platform_id)
    if found is None:
        return None
    stored, person = found
    if person is not None and not person.is_active:
        return person
    is_same = stored.has(listed)
    told_at = person.roles_told_at if person else None
    is_fresh = told_at is not None and at - told_at < NOTED_AGAIN
    # With an anonymous answer nothing is updated: the updated row would be written just before the answer.
    is_kept = rounded_to is not None or (is_same and is_fresh)
    if stored.has_written and rounded_to is None:
        queue.wake(identities.JOIN, user_id=person.user_id if person else None, community_id=community_id)
    if person is None or person.member_id is None or not stored.is_proven or not is_kept:
        user_id = person.user_id if person and stored.is_proven else None
        if user_id is None:
            user_id = identities.note_acting(
                community_id=community_id,
                platform_id=platform_id,
                name=name,
                at=at,
                rounded_to=rounded_to,
            )
        platform_members.note_listed(
            listed=listed, community_id=community_id, user_id=user_id, at=at, rounded_to=rounded_to
        )
        person = members.find_person(community_id=community_id, user_id=user_id)
        if person is None:  # The person was deleted at this moment.
            return None
    return replace(person, role_ids=frozenset(listed.role_ids), roles_told_at=at)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The stored data about the owner of an account as a member, and about the account.

    `is_proven`: the person has signed in with the account, or has acted here before. `has_written`: the
    person has signed in with the account, and this community's own entry for it is not joined to them yet.
    """

    nick: str
    avatar_url: str | None
    role_ids: frozenset[str]
    is_proven: bool
    has_written: bool

    def has(self, listed: GuildMember) -> bool:
        """Return whether the platform lists the same data."""
        same_nick = not listed.nick or listed.nick == self.nick
        return same_nick and self.avatar_url == listed.avatar_url and self.role_ids == {*listed.role_ids}


def _find(community_id: int, platform_id: str) -> tuple[_Stored, KnownPerson | None] | None:
    with prepared() as cursor:
        cursor.execute(_PERSON, {"community": community_id, "platform_id": platform_id})
        row = cursor.fetchone()
    if row is None:
        return None
    nick, avatar_url, role_ids, is_proven, has_written, *columns = row
    person = None if columns[0] is None else person_of(columns)
    return _Stored(nick or "", avatar_url, frozenset(role_ids or ()), is_proven, bool(has_written)), person
