"""Planned openings and closings, which do not move when their community changes its time zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from communities.ground.actors import Actor
from communities.ground.words import plural
from communities.staff.texts import moment
from communities.staff.zone_changes import add_notes
from surveys.admin.frame import address_of
from surveys.admin.header import next_times
from surveys.models import Project
from surveys.services.ground import field_groups

MOST_NAMED = 10
MOST_READ = 200


@add_notes
def after_a_change_of_zone(actor: Actor, before: ZoneInfo, after: ZoneInfo) -> Sequence[SafeString]:
    """A message about the openings and closings that are at another time of day now, with a link to change
    each.
    """
    at = timezone.now()
    projects = _planned(actor, at)[:MOST_READ]
    moved = [line for project in projects for line in _moved(project, at, before, after)]
    if not moved:
        return []
    rest = len(moved) - MOST_NAMED
    note = format_html(
        "Planned times stay at their moment, so they are at another time of day in {}: {}{}",
        after.key,
        format_html_join("; ", "{}", ((line,) for line in moved[:MOST_NAMED])),
        f"; and {plural(rest, 'other')}." if rest > 0 else ". Change them there if they should move.",
    )
    return [note]


def _planned(actor: Actor, at: datetime) -> QuerySet[Project]:
    """The community's projects with a planned opening or closing, drafts included."""
    text, planned = field_groups.as_text(at), Q(opens_at__gt=at) | Q(closes_at__gt=at)
    for schedule in ("opening", "closing"):
        planned |= Q(
            **{f"delivery__{schedule}__mode": "scheduled", f"delivery__{schedule}__time__gt": text},
        )
    own: QuerySet[Project] = Project.objects.in_community(actor.community_id)
    return own.filter(planned).order_by("-created_at", "-pk")


def _moved(project: Project, at: datetime, before: ZoneInfo, after: ZoneInfo) -> Iterator[SafeString]:
    for verb, time in next_times(project, at):
        if time.astimezone(before).replace(tzinfo=None) == time.astimezone(after).replace(tzinfo=None):
            continue
        with timezone.override(before):
            earlier = moment(time)
        with timezone.override(after):
            yield format_html(
                '<a href="{}">{}</a> {} {} (was {})',
                address_of(project.pk, "delivery"),
                project.name,
                f"is {verb}" if verb.startswith("planned") else verb,
                moment(time),
                earlier,
            )
