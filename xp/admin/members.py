"""The list of a community's members, and their profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from communities.ground.actors import Actor, Role
from communities.models import Member
from communities.services import get_settings
from communities.services.tenants.member_search import find_members
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment, number
from xp import levels
from xp.admin import inviting, membership, profile
from xp.models import Standing
from xp.services import members

ACCESS = [("admin", "Admin"), ("creator", "Creator"), ("member", "Member")]
PRESENCE = [("present", "Present"), ("left", "Left")]


@admin.register(Member)
class MemberAdmin(CommunityModelAdmin[Member]):
    """Everybody in the community may read its members (rule 1.26)."""

    nav = Nav("Members", "people", 20)
    least_role = Role.MEMBER

    def get_urls(self) -> list[URLPattern]:
        invite = path(
            "invite/", self.admin_site.admin_view(self.invite_view), name="communities_member_invite_people"
        )
        return [invite, *profile.urls(), *super().get_urls()]

    def invite_view(self, request: HttpRequest) -> HttpResponse:
        here, back = self.address("invite_people"), self.address("changelist")
        return inviting.page(request, self.actor(request), here=here, back=back)

    def rows(self, actor: Actor) -> QuerySet[Member]:
        return super().rows(actor).select_related("user")

    def tools(self, request: HttpRequest, actor: Actor) -> list[tuple[str, str]]:
        if not actor.is_admin:
            return []
        return [
            ("Invite people", self.address("invite_people")),
            ("Add a member", self.address("add")),
            ("Add from a list", reverse("admin:members-from-list")),
        ]

    # --- The list -------------------------------------------------------------------------------------

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list. If it is sorted by XP, it reads standings, which have an index in that order.

        A list by XP shows only present members who have XP. It has no filters, because the matching members
        may be rare among the standings, and a search for them would read all standings.
        """
        if request.GET.get("sort") != "xp":
            return super().changelist_view(request, extra_context)
        actor = self.actor(request)
        standings: QuerySet[Any] = Standing.objects.filter(
            community_id=actor.community_id, xp_total__gt=0, member__left_at__isnull=True
        )
        return self.draw_list(
            request,
            replace(self.listing(request, actor), filters=()),
            standings.select_related("member__user"),
            self.tools(request, actor),
            extra_context,
        )

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[Any]:
        by_id = dict[int, Standing]()
        xp_name = get_settings(community_id=actor.community_id).name_of_xp

        def load(rows: Sequence[Member | Standing]) -> None:
            if rows and isinstance(rows[0], Member):
                by_id.update(Standing.objects.in_bulk([row.pk for row in rows]))

        def standing_of(row: Member | Standing) -> Standing | None:
            return row if isinstance(row, Standing) else by_id.get(row.pk)

        def total(row: Member | Standing) -> int:
            standing = standing_of(row)
            return standing.xp_total if standing else 0

        def completed(row: Member | Standing) -> int:
            standing = standing_of(row)
            return standing.participation if standing else 0

        return Listing(
            columns=[
                Column("Name", lambda row: profile.name_of(_member(row)), is_title=True),
                Column("Access", lambda row: _member(row).get_access_display()),
                Column(xp_name, lambda row: number(total(row)), is_number=True),
                Column("Level", lambda row: levels.level_of(total(row)), is_number=True),
                Column("Surveys completed", lambda row: number(completed(row)), is_number=True),
                Column("Joined", lambda row: moment(_member(row).joined_at)),
                Column("Left", lambda row: moment(_member(row).left_at)),
            ],
            orders={
                "newest": Order("Last added first", ("-id",)),
                "xp": Order(
                    f"Most {xp_name} first: present members who have some", ("-xp_total", "member_id")
                ),
            },
            filters=[
                Filter("access", "Access", ACCESS, _by_access),
                Filter("presence", "Presence", PRESENCE, _by_presence),
            ],
            searches="names, or a complete platform id",
            search=lambda rows, term: rows.filter(pk__in=find(actor, term)),
            empty=Empty(
                "Members are the people of this community: those who answer, those who make surveys, and "
                "its admins."
            ),
            address_of=lambda row: self.address("change", row.pk),
            load=load,
        )

    # --- One member -----------------------------------------------------------------------------------

    def detail_view(self, request: HttpRequest, actor: Actor, row: Member) -> HttpResponse:
        standing_json = members.profile(community_id=actor.community_id, member_id=row.pk, at=timezone.now())
        settings = get_settings(community_id=actor.community_id)
        level, total = standing_json["level"], standing_json["xp_total"]
        context = {
            "title": profile.name_of(row),
            "tools": profile.tools(actor, row, xp_name=settings.name_of_xp),
            "back": self.address("changelist"),
            "back_label": "Members",
            "row": row,
            "standing": standing_json,
            "rank": _rank(standing_json["rank"]),
            "xp_name": settings.name_of_xp,
            "level_begins": levels.needed_for(level),
            "level_ends": levels.needed_for(level + 1),
            "missing": levels.to_next(total),
            "done": total - levels.needed_for(level),
            "needed": levels.needed_for(level + 1) - levels.needed_for(level),
            "sections": profile.sections(request, actor, row),
        }
        return self.render(request, "admin/communities/member/profile.html", context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return membership.add(request, self.actor(request), back=self.address("changelist"))


def find(actor: Actor, term: str) -> list[int]:
    """The ids of the members that match a term. Only admins can search for accounts outside the chat."""
    return find_members(community_id=actor.community_id, term=term, by_all_accounts=actor.is_admin)


def _member(row: Member | Standing) -> Member:
    return row if isinstance(row, Member) else row.member


def _rank(rank: int | None) -> str:
    """A rank, up to the last rank that is counted on profiles."""
    is_counted = rank is None or rank <= members.LAST_COUNTED
    return number(rank) if is_counted else f"After {number(members.LAST_COUNTED)}"


def _by_access(rows: QuerySet[Any], access: str) -> QuerySet[Any]:
    return rows.filter(access=access)


def _by_presence(rows: QuerySet[Any], presence: str) -> QuerySet[Any]:
    return rows.filter(left_at__isnull=presence == "present")
