"""The acting user of the admin, and the community in which they act.

A staff user acts in a community with their role as a member there, by rules 1.26 to 1.31, as API keys do.
Superusers act as admins of every community. Lists show the *current* community, which the switcher chooses;
the page of an object makes its community the current one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest
from django.utils import timezone

from communities import chosen_community, second_factors
from communities.ground.actors import Actor, Level, Role
from communities.models import Community, CommunitySettings, Member, User
from communities.services.people import project_grants

MAX_IN_SWITCHER = 30
_CACHE = "_acting_in"
_FIELDS = ("tier", "settings__time_zone", "settings__require_second_factor")


@dataclass(frozen=True, slots=True)
class StaffCommunity:
    """A community in which a user acts, with their role there, its time zone, and the access to projects that
    they were given.
    """

    id: int
    name: str
    role: str
    tier: str
    time_zone: str
    requires_second_factor: bool
    grants: Mapping[int, Level] = field(default_factory=dict)


def user_of(request: HttpRequest) -> User:
    """The user who is signed in to the admin."""
    return cast(User, request.user)


def communities_of(request: HttpRequest) -> list[StaffCommunity]:
    """The communities in which the user acts, by name: their own, and for superusers some of the others.

    At most MAX_IN_SWITCHER for superusers, who find the others in the list of communities.
    """
    return list(_acting(request).values())


def actor_in(request: HttpRequest, community_id: int) -> Actor | None:
    """The user as an actor in a community; None if they have no role there or the community is unknown.

    Every page about a community calls this. Raises SecondFactorMissing.
    """
    community = _find(request, community_id)
    if community is None:
        return None
    if community.requires_second_factor:
        second_factors.require(request, community.id, community.name)
    return Actor(
        user_id=user_of(request).pk,
        role=community.role,
        community_id=community.id,
        tier=community.tier,
        grants=community.grants,
    )


def require_actor(request: HttpRequest, community_id: int, *, least: Role = Role.MEMBER) -> Actor:
    """The user as an actor in a community with at least this role. Raises Http404."""
    actor = actor_in(request, community_id)
    if actor is None or not actor.has_role(least):
        raise Http404
    return actor


def current_community(request: HttpRequest) -> StaffCommunity | None:
    """Return the community whose lists the user sees; None if the user is in no community."""
    chosen = request.session.get(chosen_community.SESSION_KEY)
    community = _find(request, chosen) if isinstance(chosen, int) else None
    return community or next(iter(_acting(request).values()), None)


def current_actor(request: HttpRequest) -> Actor | None:
    """The user as an actor in the current community."""
    community = current_community(request)
    return None if community is None else actor_in(request, community.id)


def may_act(request: HttpRequest, *, least: Role) -> bool:
    """Whether the user has at least this role in the current community.

    Use this for parts that a page offers, not for data that the page shows, because no second factor is
    required.
    """
    community = current_community(request)
    return community is not None and Role[community.role.upper()] >= least


def make_current(request: HttpRequest, community_id: int) -> None:
    """Make a community the current one, from this request on. The caller has checked the user's role.

    From here on the request shows and reads times in the community's zone.
    """
    chosen_community.remember(request, community_id)
    if community := _find(request, community_id):
        timezone.activate(ZoneInfo(community.time_zone))


def _acting(request: HttpRequest) -> dict[int, StaffCommunity]:
    communities: dict[int, StaffCommunity] | None = getattr(request, _CACHE, None)
    if communities is None:
        communities = _read(user_of(request))
        setattr(request, _CACHE, communities)
    return communities


def _read(user: User) -> dict[int, StaffCommunity]:
    if not user.may_enter_admin:
        return {}
    members = Member.objects.filter(user=user, left_at__isnull=True)
    rows = members.order_by("community__name", "community_id").values_list(
        "community_id",
        "community__name",
        "access",
        *(f"community__{each}" for each in _FIELDS),
        project_grants.in_row(),
    )
    if not user.is_superuser:
        return {row[0]: _staff_community(*row) for row in rows}
    own = [_staff_community(row[0], row[1], "admin", *row[3:-1]) for row in rows]
    # The communities are sorted by id, which has an index. Sorting by name would sort a million names for
    # each page.
    others = Community.objects.filter(test_of=None).exclude(pk__in=[each.id for each in own]).order_by("pk")
    fields = others.values_list("pk", "name", *_FIELDS)[: max(0, MAX_IN_SWITCHER - len(own))]
    more = [_staff_community(row[0], row[1], "admin", *row[2:]) for row in fields]
    return {each.id: each for each in (*own, *sorted(more, key=lambda each: each.name.casefold()))}


def _find(request: HttpRequest, community_id: int) -> StaffCommunity | None:
    acting = _acting(request)
    if community_id in acting or not user_of(request).is_superuser:
        return acting.get(community_id)
    # The row is read, because the switcher contains only some of the communities that a superuser may enter.
    found = Community.objects.filter(pk=community_id, test_of=None)
    row = found.values_list("pk", "name", *_FIELDS).first()
    if row is None:
        return None
    acting[community_id] = _staff_community(row[0], row[1], "admin", *row[2:])
    return acting[community_id]


def _staff_community(
    pk: int,
    name: str,
    role: str,
    tier: str,
    time_zone: str | None,
    requires_second_factor: bool | None,
    grants: Sequence[Mapping[str, Any]] = (),
) -> StaffCommunity:
    """A community for the admin; without saved settings it has no time zone and no rule about second
    factors.
    """
    zone = time_zone or CommunitySettings.DEFAULT_TIME_ZONE
    levels = project_grants.levels(grants)
    return StaffCommunity(pk, name, role, tier, zone, bool(requires_second_factor), levels)
