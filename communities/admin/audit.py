"""The history of a community, for its admins: every change, with before and after, and as a file."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from communities.ground.actors import Actor
from communities.ground.errors import Unavailable
from communities.models import AuditEntry
from communities.staff import audit_trail
from communities.staff.base import CommunityModelAdmin
from communities.staff.listing import Listing
from communities.staff.pages import Nav


@admin.register(AuditEntry)
class AuditEntryAdmin(CommunityModelAdmin[AuditEntry]):
    nav = Nav("History", "history", 65)

    def rows(self, actor: Actor) -> QuerySet[AuditEntry]:
        return audit_trail.rows(actor=actor)

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[AuditEntry]:
        return audit_trail.listing(
            request,
            kinds=list(audit_trail.KINDS),
            address_of=lambda entry: self.address("change", entry.pk),
            links_for=actor,
        )

    def tools(self, request: HttpRequest, actor: Actor) -> list[tuple[str, str]]:
        query = request.GET.copy()
        for name in ("after", "before", "sort"):
            query.pop(name, None)
        return [
            (label, f"{self.address('export', format)}?{query.urlencode()}")
            for label, format in (("Download as CSV", "csv"), ("Download as JSON lines", "ndjson"))
        ]

    def get_urls(self) -> list[URLPattern]:
        export = path(
            "export/<str:format>/",
            self.admin_site.admin_view(self.export_view),
            name="communities_auditentry_export",
        )
        return [export, *super().get_urls()]

    def export_view(self, request: HttpRequest, format: str) -> HttpResponseBase:
        """A file of the entries that match the filters."""
        actor = self.actor(request)
        if format not in audit_trail.FORMATS:
            raise Http404
        try:
            return audit_trail.export(
                request, actor=actor, project_id=None, format=format, file_name="History"
            )
        except Unavailable as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect(self.address("changelist"))

    def detail_view(self, request: HttpRequest, actor: Actor, row: AuditEntry) -> HttpResponse:
        context = {
            "title": audit_trail.what_changed(row),
            "facts": audit_trail.facts(row),
            "differences": audit_trail.differences(row),
            "back": self.address("changelist"),
        }
        return self.render(request, "admin/communities/auditentry/detail.html", context)
