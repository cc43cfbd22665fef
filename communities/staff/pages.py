"""Pages of the admin that belong to no model, each with its entry in the side bar. Apps add their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import NamedTuple

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

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
    """A page at `/admin/<name>/`, only for superusers."""

    name: str
    nav: Nav
    view: View

    def is_for(self, request: HttpRequest) -> bool:
        """Whether the user may see it."""
        return acting.user_of(request).is_superuser


site_pages: list[SitePage] = []


def superusers_page(name: str, nav: Nav) -> Callable[[View], View]:
    """Add a page for superusers to the site. For other users it looks absent. A decorator."""

    def added(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest) -> HttpResponseBase:
            if not acting.user_of(request).is_superuser:
                raise Http404
            return view(request)

        site_pages.append(SitePage(name, nav, guarded))
        return guarded

    return added
