"""The list of projects: their state, the number of answers, and the share of completed ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from communities.ground.actors import Actor, Role
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.listing import BulkAction, Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment, number
from surveys.admin import creation, header, selected
from surveys.admin.frame import first_address
from surveys.admin.header import Figures
from surveys.admin.look import community_preview
from surveys.admin.urls import project_urls
from surveys.models import Project
from surveys.services.ground import lookup

MOST_CLOSED_JUST_NOW = 500
NOTHING = "–"


@admin.register(Project)
class ProjectAdmin(CommunityModelAdmin[Project]):
    """The list, and the actions on the selected projects. A project's own pages are its tabs."""

    nav = Nav("Projects", "project", 10)
    least_role = Role.MEMBER

    def get_urls(self) -> list[URLPattern]:
        site = self.admin_site
        acts = [
            path(f"{act}/", site.admin_view(view), name=f"surveys_project_{name}")
            for act, view, name in selected.ROUTES
        ]
        look = path(
            "look-of-community/<int:community_id>/",
            site.admin_view(community_preview),
            name="surveys_project_community_look",
        )
        return [*acts, look, *project_urls(), *super().get_urls()]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return creation.may_create(request)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return creation.new_project(self, request)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        _, project = self.open_row(request, object_id)
        return HttpResponseRedirect(f"{reverse('admin:surveys_project_delete_selected')}?id={project.pk}")

    def detail_view(self, request: HttpRequest, actor: Actor, row: Project) -> HttpResponse:
        return HttpResponseRedirect(first_address(actor, row))

    # --- The list -------------------------------------------------------------------------------------

    def rows(self, actor: Actor) -> QuerySet[Project]:
        projects = lookup.visible(actor=actor, at=timezone.now()).select_related("author")
        return projects.annotate(name_in_lower_case=Lower("name"))  # an index contains the name in this form

    def tools(self, request: HttpRequest, actor: Actor) -> list[tuple[str, str]]:
        return [("New project", self.address("add"))] if actor.has_role(Role.CREATOR) else []

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"deleted": selected.restorable(self.actor(request), timezone.now())}
        response = super().changelist_view(request, {**context, **(extra_context or {})})
        response.template_name = "admin/surveys/project/listing.html"  # type: ignore[attr-defined]
        return response

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[Project]:
        at = timezone.now()
        figures: dict[int, Figures] = {}

        def load(projects: Sequence[Project]) -> None:
            figures.update(header.figures_of(projects, actor, at))

        may_write = actor.has_role(Role.CREATOR)
        return Listing(
            columns=_columns(figures, at),
            orders={
                "newest": Order("Newest first", ("-created_at", "-id")),
                "name": Order("Name", ("name_in_lower_case", "id")),
            },
            filters=_filters(actor, at),
            searches="names of projects",
            search=lambda rows, words: rows.named(words),  # type: ignore[attr-defined]
            keys_first=True,
            actions=_actions() if may_write else (),
            empty=Empty(
                "A project is a survey or a poll: its questions, who may answer them, and the responses.",
                step="Make the first project" if may_write else "",
                address=self.address("add") if may_write else "",
            )
            if actor.sees_drafts
            else Empty("No survey or poll is open at the moment."),
            address_of=partial(first_address, actor),
            load=load,
        )


def _actions() -> Sequence[BulkAction]:
    return (
        BulkAction("Close", reverse("admin:surveys_project_close_selected")),
        BulkAction("Clone", reverse("admin:surveys_project_clone_selected")),
        BulkAction("Delete", reverse("admin:surveys_project_delete_selected"), is_dangerous=True),
    )


def _columns(figures: dict[int, Figures], at: datetime) -> Sequence[Column]:
    return (
        Column("Name", lambda project: project.name, is_title=True),
        Column("Status", lambda project: header.state_cell(project, at)),
        Column("Responses", lambda project: _responses(project, figures[project.pk], at), is_number=True),
        Column("Completed", lambda project: _rate(figures[project.pk]), is_number=True),
        Column("Last answer", lambda project: moment(figures[project.pk].last_answer_at)),
        Column("Author", lambda project: project.author.get_full_name() if project.author else NOTHING),
        Column("Type", lambda project: "Poll" if project.is_poll else "Survey"),
    )


def _responses(project: Project, figures: Figures, at: datetime) -> str:
    if header.state_of(project, at).sign == "draft":
        return NOTHING
    if figures.responses is None:
        return f"{number(figures.completed)} completed"
    return number(figures.responses)


def _rate(figures: Figures) -> str:
    return figures.completion_rate or NOTHING


def _filters(actor: Actor, at: datetime) -> Sequence[Filter]:
    states = Filter(
        "status",
        "Status",
        (("open", "Open"), ("pending", "Opens later"), ("closed", "Closed or draft")),
        lambda rows, state: _in_state(rows, state, at),
    )
    types = Filter(
        "type", "Type", (("convo", "Surveys"), ("poll", "Polls")), lambda rows, type: rows.filter(type=type)
    )
    authors = Filter(
        "author", "Author", (("me", "Mine"),), lambda rows, _: rows.filter(author_id=actor.user_id)
    )
    return (states, types, authors) if actor.sees_drafts else (types,)


def _in_state(rows: QuerySet[Any], state: str, at: datetime) -> QuerySet[Any]:
    """Projects that are open, waiting to open, or neither, so that an index has the newest of each."""
    active = Q(status=Project.Status.ACTIVE) | Q(opens_at__isnull=False)
    over = rows.filter(closes_at__lte=at).values_list("pk", flat=True)
    if state == "open":
        return rows.filter(active).live_at(at)  # type: ignore[attr-defined, no-any-return]
    if state == "pending":
        return rows.filter(active, opens_at__gt=at)
    inactive = Q(status=Project.Status.INACTIVE, opens_at__isnull=True)
    # Projects whose closing time has passed in the last two seconds, before their rows are updated.
    ids = list(over[:MOST_CLOSED_JUST_NOW])
    return rows.filter(inactive | Q(pk__in=ids)) if ids else rows.filter(inactive)
