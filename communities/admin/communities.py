"""All communities of the installation, for superusers, and the form for a new one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from communities.admin.community_forms import NewCommunityForm
from communities.forms import once
from communities.ground.errors import Refusal
from communities.ground.ids import id_of
from communities.models import Community
from communities.services.tenants import communities
from communities.services.tenants.member_search import as_words
from communities.staff import acting
from communities.staff.base import Nav, OperationsModelAdmin, OwnPages
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment, number


@admin.register(Community)
class CommunityAdmin(OwnPages[Community], OperationsModelAdmin[Community]):
    """The list of communities. A row links to the community's own page. Communities are not deleted here."""

    nav = Nav("Communities", "house", 70, is_operations=True)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self._require_superuser(request)
        spec: Listing[Community] = Listing(
            columns=[
                Column("Name", lambda row: row.name, is_title=True),
                Column("Id", lambda row: str(row.pk)),
                Column("Tier", lambda row: row.get_tier_display()),
                Column("Credits", lambda row: number(row.bot_credits), is_number=True),
                Column("Open projects", lambda row: number(row.active_project_count), is_number=True),
                Column("Made", lambda row: moment(row.created_date)),
            ],
            orders={
                "newest": Order("Highest id first", ("-id",)),
                "oldest": Order("Lowest id first", ("id",)),
            },
            searches="names, or a complete id",
            search=_search,
            filters=[Filter("tier", "Tier", Community.TierName.choices, _by_tier)],
            empty=Empty("There is no community yet.", "Make the first community", self.address("add")),
            address_of=_page_of,
        )
        tools = [("New community", self.address("add"))]
        return self.draw_list(request, spec, Community.objects.filter(test_of=None), tools, extra_context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Redirects to the page of the community's settings, which its admins use too."""
        self._require_superuser(request)
        community = Community.objects.filter(pk=id_of(object_id) or 0, test_of=None).first()
        if community is None:
            raise Http404
        return HttpResponseRedirect(_page_of(community))

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self._require_superuser(request)
        at = timezone.now()
        form = NewCommunityForm(
            request.POST if request.method == "POST" else None,
            initial={"id": communities.propose_id(at=at)},
        )
        if request.method == "POST" and form.is_valid():
            values = form.cleaned_data

            def make() -> str:
                community = communities.create_community(
                    by_user_id=acting.user_of(request).pk,
                    community_id=values["id"],
                    name=values["name"],
                    tier=values["tier"],
                    bot_credits=values["bot_credits"],
                    at=at,
                )
                messages.success(request, f"“{community.name}” is made, and you are its first admin.")
                return _page_of(community)

            try:
                return once.redirect(request, values["ticket"], make)
            except Refusal as refusal:
                form.add_error("id", refusal.message)
        context = {
            "title": "New community",
            "form": form,
            "button": "Make the community",
            "back": self.address("changelist"),
        }
        return self.render(request, "admin/form.html", context)

    def _require_superuser(self, request: HttpRequest) -> None:
        """Raise Http404 for other users, to whom this list does not exist."""
        if not self.has_view_permission(request):
            raise Http404


def _page_of(community: Community) -> str:
    return reverse("admin:communities_communitysettings_change", args=[community.pk])


def _search(rows: QuerySet[Any], term: str) -> QuerySet[Any]:
    community_id = id_of(term)
    words = SearchQuery(as_words(term), config="simple", search_type="raw")
    by_name = rows.alias(words=SearchVector("name", config="simple")).filter(words=words)
    found = Q(pk=community_id) | Q(pk__in=by_name.values("pk")[:100])
    return by_name if community_id is None else rows.filter(found)


def _by_tier(rows: QuerySet[Any], tier: str) -> QuerySet[Any]:
    return rows.filter(tier=tier)
