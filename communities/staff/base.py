"""The base classes of all model admins. Our admin site accepts no other.

CommunityModelAdmin    rows of one community, for its staff by their role there
OperationsModelAdmin   rows of the whole installation, for superusers
OwnPages               without Django's own pages: all that there are, we build
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from communities.ground.actors import Actor, Role
from communities.ground.form_fields import TextField
from communities.ground.ids import id_of
from communities.staff import acting, listing
from communities.staff.listing import Listing
from communities.staff.pages import Nav as Nav

M = TypeVar("M", bound=models.Model)

FORM_FIELDS: Mapping[type[models.Field[Any, Any]], Mapping[str, Any]] = {
    models.CharField: {"form_class": TextField},
    models.TextField: {"form_class": TextField},
    models.EmailField: {},  # Otherwise the field would have the form field of a CharField.
    models.URLField: {"assume_scheme": "https"},
}


class SiteModelAdmin(admin.ModelAdmin[M]):
    """The rules of all model admins: people with `has_view_permission` may read rows, and nothing else.

    `nav` is None for rows without a list in the side bar.
    """

    nav: ClassVar[Nav | None] = None
    list_template: ClassVar[str] = "admin/listing.html"
    formfield_overrides = FORM_FIELDS
    show_full_result_count = False

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        """Leaves out Django's short address of a row, which redirects without checking the row's
        community.
        """
        return [each for each in super().get_urls() if each.name is not None]

    def address(self, page: str, *args: object) -> str:
        """The address of one of this model's pages: `changelist`, `add`, `change`, `delete`."""
        meta = self.model._meta
        return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=args)

    def draw_list(
        self,
        request: HttpRequest,
        spec: Listing[M],
        rows: QuerySet[M],
        tools: Sequence[tuple[str, str]],
        extra_context: Mapping[str, Any] | None,
    ) -> HttpResponse:
        """A list page. `tools` are the buttons above it, as labels and addresses."""
        context = {
            "title": self.nav.label if self.nav else str(self.model._meta.verbose_name_plural).capitalize(),
            "page": listing.draw(request, spec, rows),
            "tools": tools,
        }
        return self.render(request, self.list_template, {**context, **(extra_context or {})})

    def render(
        self, request: HttpRequest, template: str, context: Mapping[str, object], *, status: int = 200
    ) -> TemplateResponse:
        """A page in the frame of the site. `title` in the context is its heading."""
        shell = {**self.admin_site.each_context(request), "opts": self.model._meta, "nav_current": self.nav}
        return TemplateResponse(request, template, {**shell, **context}, status=status)


class OwnPages(SiteModelAdmin[M]):
    """Leaves out Django's own pages that add and delete rows and show their history."""

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        raise Http404

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        raise Http404

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        raise Http404


class CommunityModelAdmin(OwnPages[M]):
    """Rows of one community. Nothing can be added, changed or deleted unless a subclass adds a page for it.

    The list shows the current community; the page of a row makes the row's community the current one. For
    people without a role there, or with a lower role than `least_role`, a row looks absent.
    """

    community_path: ClassVar[str] = "community_id"
    least_role: ClassVar[Role] = Role.ADMIN

    # --- Permissions ------------------------------------------------------------------------------------

    def rows(self, actor: Actor) -> QuerySet[M]:
        """The rows of the actor's community that the actor may see."""
        return self.model._default_manager.filter(**{self.community_path: actor.community_id})

    def actor(self, request: HttpRequest) -> Actor:
        """The user as an actor in the current community. Raises Http404 without the role for these rows."""
        actor = acting.current_actor(request)
        if actor is None or not actor.has_role(self.least_role):
            raise Http404
        return actor

    def open_row(self, request: HttpRequest, object_id: str) -> tuple[Actor, M]:
        """A row with the actor in its community, which becomes the current one. Raises Http404."""
        actor = self.actor_of(request, object_id)
        row = self.rows(actor).filter(pk=object_id).first()
        if row is None:
            raise Http404
        acting.make_current(request, actor.community_id)
        return actor, row

    def actor_of(self, request: HttpRequest, object_id: str) -> Actor:
        """The user as an actor in the community of a row, which may be a deleted one.

        Raises Http404 if the user has no role there, or too low a role (rule 1.36).
        """
        return acting.require_actor(request, self._community_of(object_id), least=self.least_role)

    def row_path(self, name: str, view: Callable[[HttpRequest, Actor, M], HttpResponse]) -> URLPattern:
        """The address of a further page of each row, named `<app>_<model>_<name>`, for `get_urls`."""

        def opened(request: HttpRequest, object_id: str) -> HttpResponse:
            return view(request, *self.open_row(request, object_id))

        meta = self.model._meta
        return path(
            f"<path:object_id>/{name}/",
            self.admin_site.admin_view(opened),
            name=f"{meta.app_label}_{meta.model_name}_{name}",
        )

    def _community_of(self, object_id: str) -> int:
        try:
            pk = self.model._meta.pk.to_python(object_id)
            values = self.model._default_manager.filter(pk=pk).values_list(self.community_path).first()
        except (ValidationError, ValueError, TypeError) as fault:  # The text is not an id of this model.
            raise Http404 from fault
        if values is None or values[0] is None:
            raise Http404
        return int(values[0])

    def has_view_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return acting.may_act(request, least=self.least_role)

    # --- The list -------------------------------------------------------------------------------------

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[M]:
        """The content of the list for this actor."""
        raise NotImplementedError

    def tools(self, request: HttpRequest, actor: Actor) -> list[tuple[str, str]]:
        """Buttons above the list: labels and addresses. The first button is the main one."""
        return []

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        actor = self.actor(request)
        spec, tools = self.listing(request, actor), self.tools(request, actor)
        return self.draw_list(request, spec, self.rows(actor), tools, extra_context)

    # --- One row --------------------------------------------------------------------------------------

    def detail_view(self, request: HttpRequest, actor: Actor, row: M) -> HttpResponse:
        """The page of a row that the actor may see."""
        raise NotImplementedError

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return self.detail_view(request, *self.open_row(request, object_id))


class CommunityPage(CommunityModelAdmin[M]):
    """A page about the community itself, which needs no row: its id is that of the community. The list
    redirects to the page of the current community.
    """

    community_path = "pk"

    def page(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        """The page, for an actor in its community."""
        raise NotImplementedError

    def open_community(self, request: HttpRequest, object_id: str) -> Actor:
        """An actor in the community with this id, which becomes the current one. Raises Http404."""
        actor = self.actor_of(request, object_id)
        acting.make_current(request, actor.community_id)
        return actor

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return HttpResponseRedirect(self.address("change", self.actor(request).community_id))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return self.page(request, self.open_community(request, object_id))

    def _community_of(self, object_id: str) -> int:
        if (community_id := id_of(object_id)) is None:
            raise Http404
        return community_id


class OperationsModelAdmin(SiteModelAdmin[M]):
    """Rows of the whole installation, read-only and only for superusers, unless a subclass changes that.

    The list is ours if `listing` describes one, else Django's; the page of a row is Django's form.
    """

    def listing(self, request: HttpRequest) -> Listing[M] | None:
        """The content of the list; None for Django's own list."""
        return None

    def tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Buttons above our list: labels and addresses. The first button is the main one."""
        return []

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        spec = self.listing(request)
        if spec is None:
            return super().changelist_view(request, extra_context)
        return self.draw_list(request, spec, self.get_queryset(request), self.tools(request), extra_context)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Refuse first: Django's page would look for the row before it checks the permission, and so reveal
        which ids exist.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    def has_view_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return acting.user_of(request).is_superuser
