"""The public view of badges, the pictures of achievements. A badge reveals nothing but its number."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from xp import badges

WEEK = 7 * 24 * 60 * 60


@require_safe
@cache_control(public=True, max_age=WEEK)
def badge(request: HttpRequest, number: int) -> HttpResponse:
    """The badge for an achievement's number as SVG. Answers for any number, defined or not."""
    return HttpResponse(badges.svg(number), content_type="image/svg+xml")
