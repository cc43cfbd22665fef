"""The account area's overview, and the person's own responses."""

from __future__ import annotations

import uuid

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from communities.accounts.frame import user_of
from communities.ground.errors import NotFound
from surveys.services.people import own_responses
from surveys.services.responses.reading import place_in


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """The responses that a person can continue, and their communities with XP."""
    user, at = user_of(request), timezone.now()
    context = {
        "unfinished": own_responses.unfinished(user_id=user.pk, at=at),
        "most": own_responses.MAX_SHOWN,
        "memberships": own_responses.memberships(user_id=user.pk, at=at),
    }
    return render(request, "account/overview.html", context)


@require_safe
@login_required
def responses(request: HttpRequest) -> HttpResponse:
    """The person's responses, the newest first; `before` is the id of the last one on the previous page."""
    shown, before = own_responses.page(
        user_id=user_of(request).pk, at=timezone.now(), before=_id(request.GET.get("before", ""))
    )
    context = {"responses": shown, "before": before, "is_first": "before" not in request.GET}
    return render(request, "account/responses.html", context)


@require_safe
@login_required
def response(request: HttpRequest, response_id: uuid.UUID) -> HttpResponse:
    """One response, question by question; `from` is the start of a part of a long one."""
    start = place_in(request.GET.get("from", ""))
    try:
        found = own_responses.read(
            user_id=user_of(request).pk, response_id=response_id, at=timezone.now(), start=start
        )
    except NotFound as refusal:
        raise Http404(refusal.message) from None
    context = {"response": found.response, "part": found.part, "start": start}
    return render(request, "account/response.html", context)


def _id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
