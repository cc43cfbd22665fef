"""Who acts in a community, and what they may do there. No HTTP: each entrance makes its own actor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from communities.ground.tiers import TIERS


class Role(IntEnum):
    """What a member may do in a community; each role may do what the ones below it may."""

    MEMBER = 0
    CREATOR = 1
    ADMIN = 2

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, access: str) -> Role:
        """The role of a member with this access."""
        return cls[access.upper()]


@dataclass(frozen=True, slots=True)
class ActingKey:
    """The API key by which somebody acts."""

    id: int
    prefix: str


@dataclass(frozen=True, slots=True)
class Actor:
    """A user who acts in one community, with their role and the community's tier at this moment.

    `role` is one of `member`, `creator` and `admin`, as in the interface. `key` is the API key by which they
    act, None if they are signed in; the audit trail shows it. `user_id` is 0 for work of somebody who is gone
    before it is done: the audit trail shows their `pseudonym` in place of the user.
    """

    user_id: int
    role: str
    community_id: int
    tier: str
    key: ActingKey | None = None
    pseudonym: str = ""

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"

    @property
    def is_creator(self) -> bool:
        return self.role == "creator"

    @property
    def is_member(self) -> bool:
        """Whether `member` is all they are: neither a creator nor an admin."""
        return self.role == "member"

    @property
    def sees_drafts(self) -> bool:
        """Whether they see projects that are not active (rule 1.27)."""
        return not self.is_member

    @property
    def has_premium_features(self) -> bool:
        return TIERS[self.tier].has_premium_features

    @property
    def requests_per_minute(self) -> int:
        return TIERS[self.tier].requests_per_minute

    def has_role(self, least: Role) -> bool:
        """Whether their role is this one or above."""
        return Role[self.role.upper()] >= least
