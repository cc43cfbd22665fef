"""Who responds, and whether a project admits them (decisions 13.1)."""

from __future__ import annotations

from dataclasses import dataclass

from communities.errors import Forbidden, refuse
from communities.services import members
from surveys.models import Project


@dataclass(frozen=True, slots=True)
class Respondent:
    """Somebody who responds, as far as they are known.

    `who` identifies them within a community, for limits and for resuming; None for a nameless respondent, who
    is always new. `platform_id` and `provider` appear in a Response. `user_id` is None for web visitors, and
    for an `external_id` until a user is stored for it (never on anonymous projects).
    """

    who: str | None = None
    user_id: int | None = None
    provider: str = "web"
    platform_id: str | None = None
    name: str = ""
    external_id: str | None = None
    is_member: bool = False


NAMELESS = Respondent()
MOST_DIGITS = 18  # of an id: below 2**63


def member(*, community_id: int, member_id: str) -> Respondent:
    """A present member of the community by id. Refuses any other id."""
    found = None
    if member_id.isascii() and member_id.isdigit() and len(member_id) <= MOST_DIGITS:
        found = members.find_identity(community_id=community_id, member_id=int(member_id))
    if found is None:
        refuse("member_id", "not_found", "`member_id` is not the id of a present member of this community.")
    return _of(found)


def signed_in(*, community_id: int, user_id: int) -> Respondent | None:
    """A signed-in person as a member of the community; None if they are not a member."""
    found = members.find_identity(community_id=community_id, user_id=user_id)
    return None if found is None else _of(found)


def external(*, external_id: str) -> Respondent:
    """A respondent of the caller's own, known by the caller's name for them."""
    return Respondent(who=f"external:{external_id}", platform_id=external_id, external_id=external_id)


def visitor(*, visitor_id: str) -> Respondent:
    """A browser, known by its visitor id."""
    return Respondent(who=f"visitor:{visitor_id}")


def check(*, project: Project, respondent: Respondent) -> None:
    """Refuse a respondent whom this project does not admit."""
    audience = (project.delivery or {}).get("audience") or {}
    if audience.get("required_role_ids") or audience.get("verified_source_ids"):
        raise Forbidden(
            "This project asks for roles or verified accounts, which cannot be looked up "
            "while no chat platform is connected."
        )
    if project.participation == Project.Participation.PRIVATE and not respondent.is_member:
        raise Forbidden("This project is private: only members of the community may respond.")


def _of(found: members.MemberIdentity) -> Respondent:
    return Respondent(
        who=f"user:{found.user_id}",
        user_id=found.user_id,
        provider=found.provider,
        platform_id=found.platform_id,
        name=found.name,
        is_member=True,
    )
