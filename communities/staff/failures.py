"""The page “Failed work”: background work that failed, in one list with its reason and a way to try it again.

Each app adds its own work with `add_failures`. Nothing is stored for the list: the rows of the work say it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nlargest

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from communities.ground.actors import Actor, Role
from communities.ground.words import plural
from communities.models import Community
from communities.staff import acting
from communities.staff.home import Attention, add_attention
from communities.staff.pages import Nav, staff_page

SHOWN_FOR = timedelta(days=30)
RECENTLY = timedelta(days=7)
WITH_OWN_WORDS = ("Webhook", "Discord")  # kinds for which the home page has sentences of their own
MOST_OF_ONE_KIND, MOST = 50, 100


@dataclass(frozen=True, slots=True)
class Failure:
    """Work that failed. `again` is an address that tries it again, by a form or on a page that asks first."""

    kind: str
    what: str
    reason: str
    at: datetime
    community_id: int | None
    address: str = ""  # of a page with more
    again: str = ""
    asks_first: bool = False


# The newest failures of a community since a time, or of all communities for the operators.
FailureSource = Callable[[int | None, datetime], Iterable[Failure]]
_sources: list[FailureSource] = []


def add_failures(source: FailureSource) -> FailureSource:
    """Register a function that returns at most MOST_OF_ONE_KIND failures of each kind. A decorator."""
    _sources.append(source)
    return source


def newest(community_id: int | None, *, at: datetime) -> Sequence[Failure]:
    """The newest failures, at most MOST."""
    found = (each for source in _sources for each in source(community_id, at - SHOWN_FOR))
    return nlargest(MOST, found, key=lambda each: each.at)


@add_attention
def recent_failures(request: HttpRequest, actor: Actor) -> Sequence[Attention]:
    """The number of other failures of the last seven days (rule 12.953)."""
    if not actor.is_admin:
        return []
    since = timezone.now() - RECENTLY
    failures = (each for source in _sources for each in source(actor.community_id, since))
    count = sum(each.kind not in WITH_OWN_WORDS for each in failures)
    text = f"{plural(count, 'task')} in the background failed this week."
    return [Attention(text, reverse("admin:failed-work"))] if count else []


@staff_page("failed-work", Nav("Failed work", "health", 66), least=Role.ADMIN)
def failed_work(request: HttpRequest) -> HttpResponse:
    """The list of the current community; for operators on request that of all communities."""
    actor = acting.current_actor(request)
    is_operator = acting.user_of(request).is_superuser
    is_of_all = is_operator and request.GET.get("of") == "all"
    if actor is None and not is_of_all:
        raise Http404
    failures = newest(None if is_of_all or actor is None else actor.community_id, at=timezone.now())
    ids = {each.community_id for each in failures if each.community_id is not None}
    found = Community.objects.filter(pk__in=ids) if is_of_all else Community.objects.none()
    tests = set(found.filter(test_of__isnull=False).values_list("pk", flat=True))
    failures = [each for each in failures if each.community_id not in tests]
    names = dict(found.values_list("pk", "name"))
    context = {
        **admin.site.each_context(request),
        "title": "Failed work",
        "rows": [{"failure": each, "community": names.get(each.community_id or 0, "–")} for each in failures],
        "is_operator": is_operator,
        "is_of_all": is_of_all,
        "days": SHOWN_FOR.days,
        "is_full": len(failures) == MOST,
    }
    return TemplateResponse(request, "admin/failed_work.html", context)
