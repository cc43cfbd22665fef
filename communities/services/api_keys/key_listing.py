"""The list of API keys for people: the current rights of each key, whether the key works, and who made and
rotated it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import TextChoices

from communities.models import ApiKey, Member
from communities.services.people import members

MAX_OVER = 50  # At most this many keys that no longer work are listed.


class KeyState(TextChoices):
    """Whether a key works, in words."""

    IN_USE = "in_use", "In use"
    REVOKED = "revoked", "Revoked"
    EXPIRED = "expired", "Expired"
    ORPHANED = "orphaned", "Refused: its maker has left"


SCOPES = {
    ApiKey.Scope.ALL: "Everything that its role may",
    ApiKey.Scope.READ: "Reading only",
    ApiKey.Scope.CONVERSATIONS: "Conversations, and reading projects and scripts",
}


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key with values that its row alone does not contain.

    Names are empty if nobody may know them any more.
    """

    key: ApiKey
    role: str
    state: KeyState
    maker: str
    rotated_by: str

    @property
    def scope(self) -> str:
        """The requests that the key may send, in words."""
        return SCOPES[ApiKey.Scope(self.key.scope)]

    @property
    def works(self) -> bool:
        return self.state == KeyState.IN_USE


def keys_of(*, community_id: int, at: datetime) -> list[ListedKey]:
    """A community's keys, the newest first: all that are not revoked, and the latest revoked ones."""
    rows = ApiKey.objects.filter(community_id=community_id).order_by("-pk")
    present = list(rows.filter(revoked_at__isnull=True))
    return listed(
        community_id=community_id, keys=[*present, *rows.filter(revoked_at__isnull=False)[:MAX_OVER]], at=at
    )


def listed(*, community_id: int, keys: Sequence[ApiKey], at: datetime) -> list[ListedKey]:
    """These keys of a community with the values that their rows do not contain."""
    access = present_access(community_id=community_id, user_ids={key.user_id for key in keys})
    names = names_of(community_id=community_id, keys=keys)
    return [
        ListedKey(
            key,
            key.restricted_to or access.get(key.user_id, ""),
            state_of(key, at=at, access=access),
            names.get(key.user_id, ""),
            names.get(key.rotated_by_id or 0, ""),
        )
        for key in keys
    ]


def state_of(key: ApiKey, *, at: datetime, access: Mapping[int, str]) -> KeyState:
    """The state of a key. Keys of people who have left, and so are not in `access`, are refused."""
    if key.revoked_at is not None:
        return KeyState.REVOKED
    if not key.is_active_at(at):
        return KeyState.EXPIRED
    return KeyState.IN_USE if key.user_id in access else KeyState.ORPHANED


def present_access(*, community_id: int, user_ids: Collection[int]) -> dict[int, str]:
    """The access of the users who are present members, by user id. Their keys have the same access."""
    present = Member.objects.filter(
        community_id=community_id, user_id__in=user_ids, left_at__isnull=True, user__is_active=True
    )
    return dict(present.values_list("user_id", "access"))


def names_of(*, community_id: int, keys: Sequence[ApiKey]) -> dict[int, str]:
    """The names of those who made and rotated these keys, by user id."""
    ids = {each for key in keys for each in (key.user_id, key.rotated_by_id) if each is not None}
    return dict(members.display_names(community_id=community_id, user_ids=ids))
