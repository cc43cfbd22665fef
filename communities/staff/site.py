"""The admin site: the sign-in, the side bar, the switcher between communities, the home page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth import logout
from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from communities.ground.errors import Conflict, Forbidden, InvalidRequest, NotFound, Refusal
from communities.second_factors import SecondFactorMissing
from communities.staff import acting, home, pictures
from communities.staff.base import CommunityModelAdmin, OperationsModelAdmin, SiteModelAdmin
from communities.staff.pages import site_pages

View = Callable[..., HttpResponseBase]


class Site(AdminSite):
    """Django's admin site in our design. It accepts only admin classes that check who may see their rows."""

    site_header = site_title = "Colloquy"
    index_title = "Home"
    enable_nav_sidebar = False  # Our side bar is in `admin/base.html`.

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Register an admin class. Raises ImproperlyConfigured for a class that checks no community.

        Two kinds of admin classes are left out. Django's own class of groups is replaced by
        `communities.admin.users`, and the rows of django-allauth's classes belong to the people in the
        account area.
        """
        if getattr(admin_class, "__module__", "").startswith(("django.contrib.auth.", "allauth.")):
            return
        allowed = (CommunityModelAdmin, OperationsModelAdmin)
        if not (isinstance(admin_class, type) and issubclass(admin_class, allowed)):
            name = getattr(admin_class or ModelAdmin, "__name__", admin_class)
            raise ImproperlyConfigured(
                f"{name} must derive from CommunityModelAdmin or OperationsModelAdmin, "
                "so that nobody sees the rows of another community."
            )
        super().register(model_or_iterable, admin_class, **options)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Staff sign in in the account area (rule 12.10), which redirects to the page that they wanted."""
        wanted = request.GET.get("next") or request.POST.get("next") or reverse("admin:index")
        if self.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        if request.user.is_authenticated:
            return render(request, "account/not_staff.html", {"next": wanted}, status=403)
        return HttpResponseRedirect(f"{reverse('account_login')}?{urlencode({'next': wanted})}")

    def logout(  # type: ignore[override]  # the stubs know of no redirect
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST":  # A link on another site must not sign anybody out.
            logout(request)
        return HttpResponseRedirect(reverse("account_login"))

    def password_change(  # type: ignore[override]  # the stubs know of no redirect
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return HttpResponseRedirect(reverse("account_change_password"))

    def password_change_done(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return HttpResponseRedirect(reverse("account"))

    def has_permission(self, request: HttpRequest) -> bool:
        return request.user.is_authenticated and acting.user_of(request).may_enter_admin

    def admin_view(self, view: View, cacheable: bool = False) -> View:  # type: ignore[override]
        """Read and show times in the time zone of the community that the page belongs to.

        An unexpected refusal of a service, for example because a colleague has just deleted the object,
        becomes a page with the reason.
        """

        def zoned(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            with timezone.override(time_zone_of(request)):
                try:
                    response = view(request, *args, **kwargs)
                # `communities.accounts.middleware` explains the exception to the person.
                except SecondFactorMissing:
                    raise
                except NotFound as refusal:
                    raise Http404(refusal.message) from refusal
                except (Conflict, Forbidden, InvalidRequest) as refusal:
                    response = self._refused(request, refusal)
                if isinstance(response, SimpleTemplateResponse) and not response.is_rendered:
                    response.render()  # The response is rendered here, because the zone ends with the view.
            return response

        for name in ("csrf_exempt", "model_admin", "admin_site", "takes_file", "takes_questionnaire"):
            if hasattr(view, name):
                setattr(zoned, name, getattr(view, name))
        guarded: View = super().admin_view(zoned, cacheable)
        return guarded

    def _refused(self, request: HttpRequest, refusal: Refusal) -> TemplateResponse:
        context = {**self.each_context(request), "title": "That did not work", "refusal": refusal.message}
        status = 403 if isinstance(refusal, Forbidden) else 409
        return TemplateResponse(request, "admin/refused.html", context, status=status)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        switch = path(
            "community/<int:community_id>/",
            self.admin_view(self.switch_community),
            name="switch_community",
        )
        picture = path("picture/", self.admin_view(pictures.state), name="picture")
        upload = path("picture/upload/", self.admin_view(pictures.upload), name="picture_upload")
        pages = [path(f"{each.name}/", self.admin_view(each.view), name=each.name) for each in site_pages]
        return [switch, picture, upload, *pages, *super().get_urls()]

    @property
    def urls(self) -> Any:
        return self.get_urls(), "admin", self.name

    def switch_community(self, request: HttpRequest, community_id: int) -> HttpResponseBase:
        """Make another community the current one, and redirect to the home page."""
        acting.require_actor(request, community_id)
        return _switch(request, community_id)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        community = acting.current_community(request)
        actor = acting.current_actor(request)
        context = {
            **self.each_context(request),
            "title": community.name if community else "Welcome",
            "attention": home.attention(request, actor) if actor else [],
            "first_steps": home.first_steps(request, actor) if actor else [],
            "cards": home.cards(request, actor) if actor else [],
            **(extra_context or {}),
        }
        request.current_app = self.name
        return TemplateResponse(request, "admin/home.html", context)

    def app_index(
        self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Redirects Django's page of one app to the home page, because the side bar links to every page."""
        return HttpResponseRedirect(reverse("admin:index"))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """The frame of every page: the user, the community, and the side bar."""
        if not self.has_permission(request):
            return {**super().each_context(request), "nav": [], "nav_operations": []}
        entries = self._nav(request)
        return {
            "site_title": self.site_title,
            "site_header": self.site_header,
            "site_url": None,
            "has_permission": True,
            "available_apps": [],
            "is_popup": False,
            "is_nav_sidebar_enabled": False,
            "log_entries": None,
            "community": acting.current_community(request),
            "communities": acting.communities_of(request),
            "nav": [each for each in entries if not each["is_operations"]],
            "nav_operations": [each for each in entries if each["is_operations"]],
        }

    def _nav(self, request: HttpRequest) -> list[dict[str, Any]]:
        lists = [
            (each.nav, each.address("changelist"))
            for each in self._registry.values()
            if isinstance(each, SiteModelAdmin) and each.nav and each.has_module_permission(request)
        ]
        pages = [
            (each.nav, reverse(f"admin:{each.name}"))
            for each in site_pages
            if each.nav and each.is_for(request)
        ]
        entries = [
            {**nav._asdict(), "address": address, "is_here": request.path.startswith(address)}
            for nav, address in (*lists, *pages)
        ]
        return sorted(entries, key=lambda entry: (entry["order"], entry["label"]))


@require_POST
def _switch(request: HttpRequest, community_id: int) -> HttpResponse:
    acting.make_current(request, community_id)
    return HttpResponseRedirect(reverse("admin:index"))


def time_zone_of(request: HttpRequest) -> ZoneInfo:
    """The time zone in which a page shows times: the current community's, else UTC."""
    community = acting.current_community(request) if request.user.is_authenticated else None
    return ZoneInfo(community.time_zone if community else "UTC")
