"""AI jobs: analyses with their state, cost and error, each with a link to its results, and the outcomes of
further questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.ground.actors import Actor, Level, Role
from communities.ground.ids import id_of
from communities.services.inviting import invitation_letters
from communities.services.mail import mails
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.failures import MOST_OF_ONE_KIND, Failure, add_failures
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment
from surveys.admin.frame import address_of
from surveys.ai import provider_is_free, spending
from surveys.models import Analysis, Job, Project, Reminder, ResponseFile, ResultsCount
from surveys.services.links import mailing

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
        follow_ups = follow_ups_in_words(
            spending.follow_ups_of(self.actor(request).community_id, at=timezone.now())
        )
        return super().changelist_view(request, {**(extra_context or {}), "follow_ups": follow_ups})

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


@add_failures
def failed_jobs(community_id: int | None, since: datetime) -> Iterator[Failure]:
    """Analyses that failed, unless a newer one of the same answers was begun, and counts of results."""
    same = {each: OuterRef(each) for each in ("project", "covers", "with_ai")}
    newer = Analysis.objects.filter(pk__gt=OuterRef("pk"), **same)
    analyses = Analysis.objects.exclude(Exists(newer)).defer("blocks_as_json", "checkpoint", "summary")
    lists: list[tuple[str, QuerySet[Any], str]] = [
        ("Analysis", analyses, "results"),
        ("Counting results", ResultsCount.objects.filter(violations__isnull=True).defer("sealed"), "results"),
        ("Importing a file", ResponseFile.objects.defer("sealed", "sealed_faults"), "responses_import"),
    ]
    for kind, rows, tab in lists:
        failed = rows.filter(
            status=Job.Status.FAILED, created_at__gte=since, project__deleted_at__isnull=True
        )
        if community_id is not None:
            failed = failed.filter(project__community_id=community_id)
        for row in failed.select_related("project").order_by("-pk")[:MOST_OF_ONE_KIND]:
            yield Failure(
                kind=kind,
                what=row.project.name,
                reason=row.error or "",
                at=row.completed_at or row.created_at,
                community_id=row.project.community_id,
                address=address_of(row.project_id, tab),
                again=address_of(row.project_id, tab),
                asks_first=True,
            )


@add_failures
def failed_reminders(community_id: int | None, since: datetime) -> Iterator[Failure]:
    """Planned reminders that could not be sent."""
    failed = Reminder.objects.exclude(error="").filter(ended_at__gte=since, project__deleted_at__isnull=True)
    if community_id is not None:
        failed = failed.filter(project__community_id=community_id)
    for row in failed.select_related("project").order_by("-ended_at")[:MOST_OF_ONE_KIND]:
        assert row.ended_at is not None
        links = address_of(row.project_id, "share_links")
        yield Failure(
            "Reminder",
            row.project.name,
            row.error,
            row.ended_at,
            row.project.community_id,
            links,
            links,
            True,
        )


@add_failures
def failed_mails(community_id: int | None, since: datetime) -> Iterator[Failure]:
    """Personal links and invitations that could not be sent. A mail's text is gone, so it is written anew.

    The reason leaves out what the server said, which may name the reader's address.
    """
    kinds = (mailing.KIND, invitation_letters.KIND)
    rows = list(mails.given_up(community_id=community_id, kinds=kinds, since=since)[:MOST_OF_ONE_KIND])
    of_project = {row.pk: id_of(row.kind.removeprefix(f"{mailing.KIND}:")) for row in rows}
    names = dict(Project.objects.filter(pk__in=filter(None, of_project.values())).values_list("pk", "name"))
    for row in rows:
        project_id = of_project[row.pk] or 0
        name = names.get(project_id)
        page = reverse("admin:communities_member_invite_people")
        yield Failure(
            kind="Mail",
            what=f"Personal link to {name}" if name else "Invitation",
            reason=f"The mail server did not take it ({row.last_error.partition(':')[0]}).",
            at=row.created_at,
            community_id=row.community_id,
            again=address_of(project_id, "share_links") if name else page,
            asks_first=True,
        )


def follow_ups_in_words(counts: Mapping[str, int]) -> str:
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
