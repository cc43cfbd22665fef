"""Roles that members have earned, and that wait until a chat platform grants them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.actors import Actor
from communities.admin_site.base import CommunityModelAdmin, Nav
from communities.admin_site.listing import Column, Empty, Filter, Listing, Order
from communities.admin_site.texts import moment, state
from xp.admin import profile
from xp.models import RoleGrant


@admin.register(RoleGrant)
class RoleGrantAdmin(CommunityModelAdmin[RoleGrant]):
    nav = Nav("Roles to grant", "person", 31)
    list_template = "admin/xp/rolegrant/list.html"

    def rows(self, actor: Actor) -> QuerySet[RoleGrant]:
        return super().rows(actor).select_related("member__user")

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[RoleGrant]:
        return Listing(
            columns=[
                Column("Member", lambda grant: profile.name_of(grant.member), is_title=True),
                Column("Gets the role", lambda grant: format_html("<code>{}</code>", grant.role_id)),
                Column("For", lambda grant: grant.project_name or "–"),
                Column("Since", lambda grant: moment(grant.created_at)),
                Column("State", state_of),
            ],
            orders={"newest": Order("Newest first", ("-id",))},
            filters=[Filter("state", "State", [("waiting", "Waiting"), ("granted", "Granted")], _by_state)],
            empty=Empty(
                "Surveys and achievements can give a role on the chat platform. Whoever earns one is "
                "listed here until it is granted."
            ),
            address_of=lambda grant: profile.address(grant.member_id),
        )

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """A role has no page of its own; the list leads to the member."""
        raise Http404


def state_of(grant: RoleGrant) -> SafeString:
    """Whether a role waits, in words with a sign."""
    if grant.carried_out_at is None:
        return state("Waiting", "pending")
    return format_html("{} {}", state("Granted", "done"), moment(grant.carried_out_at))


def _by_state(rows: Any, value: str) -> Any:
    return rows.filter(carried_out_at__isnull=value == "waiting")
