"""The user who acts in a community, and their rights there.

This module knows no HTTP: each entrance creates its own actor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from communities.ground.tiers import TIERS


class Role(IntEnum):
    """The role of a member in a community; each role has the rights of the roles below it."""

    MEMBER = 0
    CREATOR = 1
    ADMIN = 2

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, access: str) -> Role:
        """The role of a member with this access."""
        return cls[access.upper()]


class Level(IntEnum):
    """An access to a project; each level has the rights of the levels below it (rule 1.80)."""

    NONE = 0
    READ = 1
    EDIT = 2
    OWN = 3

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, level: str) -> Level:
        """The level with this name."""
        return cls[level.upper()]


ALL_PROJECTS = 0  # in `Actor.grants`, in place of a project's id


@dataclass(frozen=True, slots=True)
class ActingKey:
    """The API key by which a user acts."""

    id: int
    prefix: str


@dataclass(frozen=True, slots=True)
class Actor:
    """A user who acts in one community, with their role and the community's tier at this moment.

    `role` is one of `member`, `creator` and `admin`, as in the interface. `key` is the API key by which the
    user acts; None if the user is signed in. The audit trail shows the key. `user_id` is 0 for work in the
    name of a person who no longer exists when it is done. Then the audit trail shows their `pseudonym`
    instead of the user. `grants` are the levels that a signed-in person was given, by the id of the project;
    a key never has any (rule 1.84).
    """

    user_id: int
    role: str
    community_id: int
    tier: str
    key: ActingKey | None = None
    pseudonym: str = ""
    grants: Mapping[int, Level] = field(default_factory=dict, compare=False)

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"

    @property
    def is_creator(self) -> bool:
        return self.role == "creator"

    @property
    def is_member(self) -> bool:
        """Whether the role is exactly `member`: neither creator nor admin."""
        return self.role == "member"

    @property
    def sees_drafts(self) -> bool:
        """Return whether the role sees projects that are not active (rules 1.27 and 1.83)."""
        return not self.is_member

    @property
    def sees_all_projects(self) -> bool:
        """Return whether the actor sees every project of the community, drafts of others included.

        A creator who is signed in does not; their key does (rule 1.83).
        """
        by_role = self.is_admin or (self.is_creator and self.key is not None)
        return by_role or ALL_PROJECTS in self.grants

    def level_given(self, project_id: int) -> Level:
        """The level that the actor was given on a project of the community."""
        levels = (self.grants.get(each, Level.NONE) for each in (project_id, ALL_PROJECTS))
        return max(levels)

    @property
    def edits_given_projects(self) -> bool:
        """Return whether the actor may edit any project that they were given."""
        return any(level >= Level.EDIT for level in self.grants.values())

    @property
    def has_premium_features(self) -> bool:
        return TIERS[self.tier].has_premium_features

    @property
    def requests_per_minute(self) -> int:
        return TIERS[self.tier].requests_per_minute

    def has_role(self, least: Role) -> bool:
        """Return whether the actor has this role or a higher role."""
        return Role[self.role.upper()] >= least
