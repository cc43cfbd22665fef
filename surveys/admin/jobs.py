"""AI jobs: analyses with their state, cost and error, each with a link to its results, and what became of
further questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.ground.actors import Actor, Level, Role
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment
from surveys.admin.frame import address_of
from surveys.ai import provider_is_free, spending
from surveys.models import Analysis, Job

STATES = {
    Job.Status.PENDING: ("Waiting", "pending"),
    Job.Status.RUNNING: ("Running", "pending"),
    Job.Status.COMPLETED: ("Finished", "done"),
    Job.Status.FAILED: ("Failed", "bad"),
}


# Why a further question was not asked, with the credits returned.
NOT_ASKED = {
    "failed": "because the AI model failed",
    "late": "because it came after the respondent had gone on",
    "credits": "because too few credits were left",
    "limit": "because the community or the project had too many",
    "none": "because the answer was clear enough",
}


@admin.register(Analysis)
class AnalysisAdmin(CommunityModelAdmin[Analysis]):
    nav = Nav("AI jobs", "job", 60)
    community_path = "project__community_id"
    least_role = Role.CREATOR
    list_template = "admin/surveys/ai_jobs.html"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        told = follow_ups_told(spending.follow_ups_of(self.actor(request).community_id, at=timezone.now()))
        return super().changelist_view(request, {**(extra_context or {}), "follow_ups": told})

    def rows(self, actor: Actor) -> QuerySet[Analysis]:
        present = super().rows(actor).filter(project__deleted_at__isnull=True)
        rows = present.select_related("project").defer("blocks_as_json", "checkpoint", "summary")
        if actor.is_admin:
            return rows
        owned = [pk for pk, level in actor.grants.items() if level == Level.OWN]
        return rows.filter(Q(project__author_id=actor.user_id) | Q(project_id__in=owned))

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


def follow_ups_told(counts: Mapping[str, int]) -> str:
    """Sentences on the further questions of the last days: how many were asked, and why others were not.

    Empty without any.
    """
    if not counts:
        return ""
    reasons = [f"{count:,} {NOT_ASKED[reason]}" for reason in NOT_ASKED if (count := counts.get(reason))]
    asked = f"Further questions in the last {spending.DAYS_TOLD} days: {counts.get('asked', 0):,} asked."
    return f"{asked} Not asked: {', '.join(reasons)}." if reasons else asked


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
