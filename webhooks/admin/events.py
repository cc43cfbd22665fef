"""The events of the whole installation, for superusers. Bodies are not shown."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse

from communities.staff.base import Nav, OperationsModelAdmin
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment
from webhooks.models import Event
from webhooks.words import EVENT_MEANINGS


@admin.register(Event)
class EventAdmin(OperationsModelAdmin[Event]):
    nav = Nav("Events", "event", 73, is_operations=True)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        rows = super().get_queryset(request).select_related("community").defer("body")
        return rows.annotate(has_body=Q(body__isnull=False))

    def listing(self, request: HttpRequest) -> Listing[Event]:
        return Listing(
            columns=[
                Column("Event", lambda row: row.type, is_title=True),
                Column("Community", lambda row: row.community.name),
                Column("When", lambda row: moment(row.created_at)),
                Column("Body", lambda row: "kept" if row.has_body else "deleted"),
                Column("Id", lambda row: row.pk),
            ],
            orders={"newest": Order("Newest first", ("-created_at", "-pk"))},
            filters=[
                Filter(
                    "type",
                    "Event",
                    [(value, value) for value in EVENT_MEANINGS],
                    lambda rows, value: rows.filter(type=value),
                ),
            ],
            empty=Empty("Events are kept for 30 days, and longer if they were sent to a webhook."),
            parts=[Q(type=value) for value in EVENT_MEANINGS],
        )

    def change_view(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Events have no pages of their own: the list shows everything that may be shown."""
        raise Http404
