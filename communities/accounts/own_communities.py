"""The communities of the signed-in user, for the pages of creators and admins: keys, webhooks, set-up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from communities import second_factors
from communities.ground.actors import Actor
from communities.models import CommunitySettings, Member, User
from communities.services.people import members

MAX_NAMED = 10  # At most this many admins are named.
_CACHE = "_own_communities"

View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True)
class OwnCommunity:
    """A community with the user's access there: `access` is one of `member`, `creator`, `admin`."""

    id: int
    name: str
    access: str
    tier: str
    zone: ZoneInfo
    user_id: int
    requires_second_factor: bool

    @property
    def is_admin(self) -> bool:
        return self.access == Member.Access.ADMIN

    @property
    def actor(self) -> Actor:
        return Actor(user_id=self.user_id, role=self.access, community_id=self.id, tier=self.tier)

    def local(self, moment: datetime) -> datetime:
        """A moment in the community's time zone; in UTC if the zone has no such date."""
        try:
            return moment.astimezone(self.zone)
        # Some users write the last hours of the year 9999 for “never”. These hours do not exist in eastern
        # zones.
        except OverflowError:
            return moment


class NotAnAdmin(Exception):
    """Only admins may do this, and the person is a member or a creator of `community`."""

    def __init__(self, community: OwnCommunity) -> None:
        super().__init__()
        self.community = community


def communities_of(request: HttpRequest) -> Sequence[OwnCommunity]:
    """Return the communities that the person is now a member of. Communities that they administer are
    first.
    """
    found: list[OwnCommunity] | None = getattr(request, _CACHE, None)
    if found is None:
        user = request.user
        assert isinstance(user, User)
        present = Member.objects.filter(user=user, left_at__isnull=True)
        rows = present.order_by("community__name", "community_id").values_list(
            "community_id",
            "community__name",
            "access",
            "community__tier",
            "community__settings__time_zone",
            "community__settings__require_second_factor",
        )
        own = [
            OwnCommunity(
                pk,
                name,
                access,
                tier,
                ZoneInfo(zone or CommunitySettings.DEFAULT_TIME_ZONE),
                user.pk,
                bool(requires_factor) and access != Member.Access.MEMBER,
            )
            for pk, name, access, tier, zone, requires_factor in rows
        ]
        ranks = [Member.Access.ADMIN, Member.Access.CREATOR, Member.Access.MEMBER]
        found = sorted(own, key=lambda each: ranks.index(Member.Access(each.access)))
        setattr(request, _CACHE, found)
    return found


def builds(request: HttpRequest) -> bool:
    """Whether the person is a creator or an admin of any community."""
    return request.user.is_authenticated and any(
        each.access != Member.Access.MEMBER for each in communities_of(request)
    )


def choices(request: HttpRequest) -> Sequence[OwnCommunity]:
    """The communities for the menu at the top of a page."""
    return [each for each in communities_of(request) if each.access != Member.Access.MEMBER]


def chosen(request: HttpRequest) -> OwnCommunity | None:
    """Return the community in the parameter `community` of the address, else the first community; None for
    people without a community.

    Raises Http404 if the person is no member of the community, and SecondFactorMissing. A person
    without a second factor gets the first community that requires none, if there is one.
    """
    own = communities_of(request)
    wanted = request.GET.get("community")
    if wanted is None:
        is_open = (each for each in own if not each.requires_second_factor)
        first = own[0] if own else None
        if first is not None and first.requires_second_factor and second_factors.is_missing(request):
            first = next(is_open, first)
        return None if first is None else _entered(request, first)
    return _entered(request, _named(own, wanted))


def require_admin(request: HttpRequest, community_id: int | str | None) -> OwnCommunity:
    """Return the community if the person is an admin there.

    Raises Http404 if the person is no member of the community, NotAnAdmin for members and creators, and
    SecondFactorMissing.
    """
    community = _entered(request, _named(communities_of(request), str(community_id)))
    if not community.is_admin:
        raise NotAnAdmin(community)
    return community


def _entered(request: HttpRequest, community: OwnCommunity) -> OwnCommunity:
    if community.requires_second_factor:
        second_factors.require(request, community.id, community.name)
    return community


def _named(own: Sequence[OwnCommunity], wanted: str) -> OwnCommunity:
    found = next((each for each in own if str(each.id) == wanted), None)
    if found is None:
        raise Http404("You are no member of such a community.")
    return found


def for_admins(what: str) -> Callable[[View], View]:
    """Answer members and creators with a page that names the admins.

    `what` is the topic of the page, in words.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except NotAnAdmin as refusal:
                return who_can(request, refusal.community, what, status=403)

        return guarded

    return decorate


def who_can(request: HttpRequest, community: OwnCommunity | None, what: str, *, status: int) -> HttpResponse:
    """Return the page that names the people who may create such objects here.

    Without a community, the page explains where to find a community.
    """
    context = {
        "what": what,
        "community": community,
        "communities": choices(request),
        "admins": _admins_of(community.id) if community else [],
    }
    return render(request, "account/for_admins.html", context, status=status)


def _admins_of(community_id: int) -> list[str]:
    present = Member.objects.filter(
        community_id=community_id, access=Member.Access.ADMIN, left_at__isnull=True, user__is_active=True
    )
    user_ids = list(present.order_by("pk").values_list("user_id", flat=True)[:MAX_NAMED])
    return sorted(members.display_names(community_id=community_id, user_ids=user_ids).values())
