"""Pictures of achievements, for anybody: they tell nothing but a number."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from xp import badges

WEEK = 7 * 24 * 60 * 60


@require_safe
@cache_control(public=True, max_age=WEEK)
def badge(request: HttpRequest, number: int) -> HttpResponse:
    """The badge that is drawn for an achievement's number, whether anybody has earned it or not."""
    return HttpResponse(badges.svg(number), content_type="image/svg+xml")
