"""The frame of a project's tabs: who may open one, the header above it, and how it is drawn.

A tab is a function `(request, page) -> response`, decorated with `project_tab`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from communities.ground.actors import Actor, Level
from communities.ground.errors import NotFound, Refusal
from communities.ground.rounding import Rounding
from communities.staff import acting
from communities.staff.site import time_zone_of
from surveys.admin import header
from surveys.models import Project
from surveys.services.ground import access, lookup
from surveys.services.ground.anonymity import rounding_of

# In the order of the tabs above a project (rule 12.15).
TABS = ("script", "delivery", "look", "rewards", "results", "responses", "share", "history")
SELECTING = ("results", "responses")  # tabs of responses that an expression in the address selects


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """A project that the actor may see, opened at a moment on one of its tabs."""

    project: Project
    actor: Actor
    tab: str
    at: datetime

    @property
    def may_edit(self) -> bool:
        """Whether the actor may change its script and settings."""
        return access.may_edit(actor=self.actor, project=self.project)

    @property
    def may_own(self) -> bool:
        """Whether the actor has the rights of its creator, also over its responses."""
        return access.may_own(actor=self.actor, project=self.project)

    @property
    def may_read_counts(self) -> bool:
        """Whether the actor may know how many have answered what in the script that they edit.

        On anonymous projects only owners may, because each new answer would change the count (rule 7.12).
        """
        return self.may_own or (self.may_edit and not self.project.is_anonymous)

    def require_responses_reader(self) -> None:
        """Raise Http404 for actors who may not read single responses."""
        try:
            access.require_responses_reader(actor=self.actor, project=self.project, at=self.at)
        except Refusal:
            raise Http404 from None

    def zone_of_days(self, request: HttpRequest) -> ZoneInfo:
        """The time zone for filters by day: the community's, like all other times on the page.

        It is UTC if times beside responses are rounded to days of UTC.
        """
        return ZoneInfo("UTC") if self.zone_reason else time_zone_of(request)

    @property
    def zone_reason(self) -> str:
        """The reason why that zone is not the community's; empty if it is."""
        is_rounded = rounding_of(self.project) == Rounding.DAY
        return ", because the times of answers are rounded to days of UTC here" if is_rounded else ""

    def address(self, tab: str = "") -> str:
        """The address of one of the project's tabs; without a name, of this tab."""
        return address_of(self.project.pk, tab or self.tab)

    def render(
        self, request: HttpRequest, template: str, context: Mapping[str, object], *, status: int = 200
    ) -> TemplateResponse:
        """Draw the tab in the frame. The template extends `admin/surveys/project/frame.html`."""
        where = request.GET.get("where", "")
        condition = f"?{urlencode({'where': where})}" if where else ""
        frame = {
            **admin.site.each_context(request),
            "title": self.project.name,
            "project": self.project,
            "actor": self.actor,
            "may_edit": self.may_edit,
            "may_own": self.may_own,
            "header": header.header_of(self.project, self.actor, self.at),
            "at": self.at,
            "tabs": [
                {
                    "label": tab.capitalize(),
                    "address": self.address(tab) + (condition if tab in SELECTING else ""),
                    "is_here": tab == self.tab,
                }
                for tab in TABS
                if _shows(tab, self.actor, self.project)
            ],
        }
        return TemplateResponse(request, template, {**frame, **context}, status=status)


Tab = Callable[..., HttpResponseBase]  # of the request, the ProjectPage, and other parts of the address


def address_of(project_id: int, tab: str) -> str:
    """The address of a project's tab."""
    return reverse(f"admin:surveys_project_{tab}", args=[project_id])


def _opens(tab: str, actor: Actor, project: Project) -> bool:
    """Whether a tab opens for an actor who may see the project.

    The tabs of the script and the settings show more than the interface shows to role member. A member
    therefore needs access to this project (rule 1.88). The tabs of responses check each part themselves.
    """
    return tab in SELECTING or access.may_read_solutions(actor=actor, project=project)


def _shows(tab: str, actor: Actor, project: Project) -> bool:
    """Whether a tab stands above the project: it opens, and does not only say who may read it."""
    may = {"responses": access.may_read_people, "history": access.may_own}.get(tab)
    return _opens(tab, actor, project) and (may is None or may(actor=actor, project=project))


def first_address(actor: Actor, project: Project) -> str:
    """The address of the tab that a list leads to: the results for a reader of results, else the first."""
    is_reader = access.level_of(actor=actor, project=project) == Level.READ
    tabs = ["results"] if is_reader else (tab for tab in TABS if _shows(tab, actor, project))
    return address_of(project.pk, next(iter(tabs)))


def open_project(request: HttpRequest, project_id: int, *, tab: str) -> ProjectPage:
    """A project whose tab the user may open; its community becomes the current one. Raises Http404."""
    at = timezone.now()
    community_id = Project.objects.filter(pk=project_id).values_list("community_id", flat=True).first()
    if community_id is None:
        raise Http404
    actor = acting.require_actor(request, community_id)
    try:
        project = lookup.seen_with_details(actor=actor, project_id=project_id, at=at)
    except NotFound as failure:
        raise Http404 from failure
    if not _opens(tab, actor, project):
        raise Http404
    acting.make_current(request, community_id)
    return ProjectPage(project, actor, tab, at)


def project_tab(tab: str) -> Callable[[Tab], Callable[..., HttpResponseBase]]:
    """Open the project of the address before the view is called.

    Raises Http404 for users who may not see it.
    """

    def opened(view: Tab) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def wrapped(request: HttpRequest, project_id: int, **parts: object) -> HttpResponseBase:
            return view(request, open_project(request, project_id, tab=tab), **parts)

        return wrapped

    return opened
