"""AI jobs: analyses with their state, cost and error. Each links to the project's results."""

from __future__ import annotations

from datetime import datetime

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.ground.actors import Actor, Role
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment
from surveys.admin.frame import address_of
from surveys.ai import provider_is_free
from surveys.models import Analysis, Job

STATES = {
    Job.Status.PENDING: ("Waiting", "pending"),
    Job.Status.RUNNING: ("Running", "pending"),
    Job.Status.COMPLETED: ("Finished", "done"),
    Job.Status.FAILED: ("Failed", "bad"),
}


@admin.register(Analysis)
class AnalysisAdmin(CommunityModelAdmin[Analysis]):
    nav = Nav("AI jobs", "job", 60)
    community_path = "project__community_id"
    least_role = Role.CREATOR

    def rows(self, actor: Actor) -> QuerySet[Analysis]:
        present = super().rows(actor).filter(project__deleted_at__isnull=True)
        rows = present.select_related("project").defer("blocks_as_json", "checkpoint", "summary")
        return rows if actor.is_admin else rows.filter(project__author_id=actor.user_id)

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[Analysis]:
        free = " They are free here." if provider_is_free() else ""
        return Listing(
            columns=[
                Column("Project", lambda row: row.project.name, is_title=True),
                Column("State", _state),
                Column("Error", lambda row: row.error or "–"),
                Column("Credits", lambda row: row.credits_used, is_number=True),
                Column("By", lambda row: row.generated_by or "–"),
                Column("Asked", lambda row: moment(row.created_at)),
                Column("Took", lambda row: _duration(row.created_at, row.completed_at), is_number=True),
            ],
            orders={"newest": Order("Newest first", ("-pk",))},
            filters=[
                Filter(
                    "status",
                    "State",
                    [(value, word) for value, (word, _) in STATES.items()],
                    lambda rows, value: rows.filter(status=value),
                )
            ],
            empty=Empty(
                "Analyses read open answers and find themes. Start one on the Results tab of a project."
                + free
            ),
            address_of=lambda row: address_of(row.project_id, "results"),
        )

    def detail_view(self, request: HttpRequest, actor: Actor, row: Analysis) -> HttpResponse:
        return HttpResponseRedirect(address_of(row.project_id, "results"))


def _state(row: Analysis) -> SafeString:
    word, sign = STATES[Job.Status(row.status)]
    if row.status == Job.Status.RUNNING:
        word = f"{word}, {row.progress:.0%} done"
    return format_html('<span class="state {}">{}</span>', sign, word)


def _duration(began: datetime, ended: datetime | None) -> str:
    if ended is None:
        return "–"
    seconds = (ended - began).total_seconds()
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
