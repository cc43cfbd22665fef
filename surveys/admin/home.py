"""The parts of the home page about projects: projects that close today, recent ones, low credits, first
steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from communities.ground.actors import Actor
from communities.ground.words import plural
from communities.models import Community
from communities.staff.home import (
    Attention,
    Card,
    FirstStep,
    add_attention,
    add_cards,
    add_first_steps,
)
from communities.staff.texts import time_of_day
from surveys.admin.frame import address_of, first_address
from surveys.admin.header import count_in_words, figures_of, state_cell
from surveys.ai import provider_is_free
from surveys.services.ground import lookup

FEW_CREDITS = 5
RECENT = 6
MOST_PROJECTS_OF_BEGINNERS = 10


@add_attention
def closing_today(request: HttpRequest, actor: Actor) -> Sequence[Attention]:
    """Projects that are scheduled to close today, in the community's time zone."""
    if actor.is_member and not actor.grants:
        return []
    at = timezone.now()
    midnight = timezone.localtime(at).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    closing = lookup.visible(actor=actor, at=at).filter(closes_at__gt=at, closes_at__lte=midnight)
    return [
        Attention(
            f"{each.name} closes today at {time_of_day(each.closes_at)}.",
            address_of(each.pk, "delivery"),
        )
        for each in closing.order_by("closes_at", "pk")[:RECENT]
    ]


@add_attention
def low_credits(request: HttpRequest, actor: Actor) -> Sequence[Attention]:
    """A warning if the credits are nearly used up and AI costs credits."""
    if not actor.is_admin or provider_is_free():
        return []
    credits = Community.objects.values_list("bot_credits", flat=True).get(pk=actor.community_id)
    if credits >= FEW_CREDITS:
        return []
    address = reverse("admin:communities_communitysettings_change", args=[actor.community_id])
    return [Attention(f"{plural(credits, 'credit')} left for AI.", address)]


@add_cards
def recent_projects(request: HttpRequest, actor: Actor) -> Sequence[Card]:
    """The newest projects that the actor may see; those to which they were given access come first."""
    at = timezone.now()
    visible = lookup.visible(actor=actor, at=at).order_by("-created_at", "-pk")
    newest = list(visible.filter(pk__in=actor.grants)[:RECENT]) if actor.grants else []
    newest += visible.exclude(pk__in=actor.grants)[: RECENT - len(newest)]
    figures = figures_of(newest, actor, at)
    projects = [
        {
            "name": each.name,
            "address": first_address(actor, each),
            "state": state_cell(each, at),
            "count": count_in_words(each, figures[each.pk], at),
        }
        for each in newest
    ]
    card = {"projects": projects, "may_create": actor.sees_drafts}
    return [Card(10, "admin/surveys/home/recent_projects.html", card)]


@add_first_steps
def first_steps(request: HttpRequest, actor: Actor) -> Sequence[FirstStep]:
    """The first steps from an empty community to the first response."""
    if not actor.sees_drafts:
        return []
    at = timezone.now()
    seen = lookup.visible(actor=actor, at=at).order_by("-created_at", "-pk")
    projects = lookup.load_page(seen, 0, MOST_PROJECTS_OF_BEGINNERS + 1)
    if len(projects) > MOST_PROJECTS_OF_BEGINNERS:
        return []
    newest = projects[0].pk if projects else None
    listing = reverse("admin:surveys_project_changelist")
    has_questions = any(each.question_count for each in projects)
    has_response = any(each.listed_count for each in projects)
    has_opened = has_response or any(each.is_live_at(at) for each in projects)
    return [
        FirstStep(
            10, "Create your first project", reverse("admin:surveys_project_add"), is_done=newest is not None
        ),
        FirstStep(
            20, "Write its questions", address_of(newest, "script") if newest else listing, has_questions
        ),
        FirstStep(30, "Open it", address_of(newest, "delivery") if newest else listing, has_opened),
        FirstStep(
            40,
            "Receive the first response",
            address_of(newest, "share") if newest else listing,
            has_response,
        ),
    ]
