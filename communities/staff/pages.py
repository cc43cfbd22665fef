"""Pages of the admin that belong to no model, each with its entry in the side bar. Apps add their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import NamedTuple

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from communities.ground.actors import Role
from communities.staff import acting

View = Callable[[HttpRequest], HttpResponseBase]


class Nav(NamedTuple):
    """An entry of the side bar. `icon` is a symbol of `admin/icons.svg`; entries are sorted by `order`."""

    label: str
    icon: str
    order: int
    is_operations: bool = False


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page at `/admin/<name>/` for people with the role `least` in the current community; without one, for
    superusers.
    """

    name: str
    nav: Nav | None
    view: View
    least: Role | None

    def is_for(self, request: HttpRequest) -> bool:
        """Whether the user may see it."""
        is_superuser = acting.user_of(request).is_superuser
        return is_superuser or (self.least is not None and acting.may_act(request, least=self.least))


site_pages: list[SitePage] = []


def staff_page(name: str, nav: Nav | None = None, *, least: Role | None = None) -> Callable[[View], View]:
    """Add a page to the site, for people with this role, or for superusers. For others it looks absent.

    Without `nav` it has no entry in the side bar. A decorator. The view itself checks the community whose
    data it shows (`acting.current_actor`).
    """

    def added(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest) -> HttpResponseBase:
            if not page.is_for(request):
                raise Http404
            return view(request)

        page = SitePage(name, nav, guarded, least)
        site_pages.append(page)
        return guarded

    return added
