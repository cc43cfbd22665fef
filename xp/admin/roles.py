"""Roles that members have earned, and that wait until the chat platform grants them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.ground.actors import Actor
from communities.ground.errors import Refusal
from communities.services.chat import overview
from communities.services.chat.guilds import Guild
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment, state
from xp.admin import profile
from xp.models import RoleGrant
from xp.services import role_grants

STATES = {
    "waiting": "Waiting",
    "granted": "Granted",
    "refused": "Could not be granted",
    "skipped": "Not in the server",
}


@admin.register(RoleGrant)
class RoleGrantAdmin(CommunityModelAdmin[RoleGrant]):
    nav = Nav("Roles to grant", "person", 31)
    list_template = "admin/xp/rolegrant/list.html"

    def rows(self, actor: Actor) -> QuerySet[RoleGrant]:
        return super().rows(actor).select_related("member__user")

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[RoleGrant]:
        guild = overview.snapshot(community_id=actor.community_id)
        return Listing(
            columns=[
                Column("Member", lambda grant: profile.name_of(grant.member), is_title=True),
                Column("Gets the role", lambda grant: name_of_role(guild, grant.role_id)),
                Column("For", lambda grant: grant.project_name or "–"),
                Column("Since", lambda grant: moment(grant.created_at)),
                Column("State", self.state_with_button),
            ],
            orders={"newest": Order("Newest first", ("-id",))},
            filters=[Filter("state", "State", list(STATES.items()), _by_state)],
            empty=Empty(
                "Surveys and achievements can give a role on the chat platform. Whoever earns one is "
                "listed here until it is granted."
            ),
            address_of=lambda grant: profile.address(grant.member_id),
        )

    def get_urls(self) -> list[URLPattern]:
        again = path(
            "<int:object_id>/again/", self.admin_site.admin_view(self.again_view), name="xp_rolegrant_again"
        )
        return [again, *super().get_urls()]

    def state_with_button(self, grant: RoleGrant) -> SafeString:
        """The state of a role, and a button to request it again if the platform refused it."""
        if grant.state != "refused":
            return state_of(grant)
        return format_html(
            '{}<button type="submit" class="button second" form="again-form" formaction="{}" '
            'formmethod="post">Try again</button>',
            state_of(grant),
            self.address("again", grant.pk),
        )

    def again_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Ask the platform for a role again, and redirect to the list, or to the member's profile."""
        actor, grant = self.open_row(request, str(object_id))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            role_grants.try_again(actor=actor, grant_id=grant.pk, at=timezone.now())
        except Refusal as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(request, "The role is asked for again.")
        is_from_profile = "from_profile" in request.POST
        address = profile.address(grant.member_id) if is_from_profile else self.address("changelist")
        return HttpResponseRedirect(address)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """A role has no page of its own; this redirects to the list, which links to the member."""
        raise Http404


def name_of_role(guild: Guild | None, role_id: str) -> SafeString:
    """A role by its name, or by its id if the server is not known."""
    role = guild.roles.get(role_id) if guild else None
    return format_html("{}", role.name) if role else format_html("<code>{}</code>", role_id)


def state_of(grant: RoleGrant) -> SafeString:
    """The state of a role, in words with a symbol, and the reason."""
    if grant.carried_out_at is not None:
        return format_html("{} {}", state(STATES["granted"], "done"), moment(grant.carried_out_at))
    if grant.state == "refused":
        return format_html('{}<p class="hint">{}</p>', state(STATES["refused"], "bad"), grant.refusal)
    return state(STATES[grant.state], "closed" if grant.state == "skipped" else "pending")


def _by_state(rows: Any, value: str) -> Any:
    if value == "granted":
        return rows.filter(carried_out_at__isnull=False)
    rows = rows.filter(carried_out_at__isnull=True)
    if value == "skipped":
        return rows.filter(skipped_at__isnull=False)
    rows = rows.filter(skipped_at__isnull=True)
    return rows.exclude(refusal="") if value == "refused" else rows.filter(refusal="")
