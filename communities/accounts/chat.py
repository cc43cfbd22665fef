"""The connection to the chat platform in the account area, for admins; the admin has the same page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from communities.accounts.own_communities import (
    OwnCommunity,
    builds,
    choices,
    chosen,
    for_admins,
    require_admin,
    who_can,
)
from communities.ground.errors import Refusal
from communities.services.chat import checking, installations, outbox, overview

WHAT = "Chat connections"


def is_offered(request: HttpRequest) -> bool:
    """Return whether the user sees this section of the account area."""
    return installations.is_configured() and builds(request)


@require_safe
@login_required
def page(request: HttpRequest) -> HttpResponse:
    """The state of the connection, what to do about it, and recent tasks on the platform."""
    community = chosen(request)
    if community is None or not community.is_admin:
        return who_can(request, community, WHAT, status=200)
    context = {
        "community": community,
        "communities": choices(request),
        "connection": overview.connection(community_id=community.id),
        "failed": overview.failed(community_id=community.id),
        "recent": overview.recent(community_id=community.id),
    }
    return render(request, "account/chat.html", context)


@require_POST
@login_required
@for_admins(WHAT)
def check(request: HttpRequest) -> HttpResponse:
    """Check the connection now."""
    community = require_admin(request, request.POST.get("community"))
    words, is_good = checking.check_by_hand(community_id=community.id, at=timezone.now())
    messages.add_message(request, messages.SUCCESS if is_good else messages.ERROR, words)
    return HttpResponseRedirect(_address(community))


@require_POST
@login_required
@for_admins(WHAT)
def try_again(request: HttpRequest, task_id: int) -> HttpResponse:
    """Retry a failed task."""
    community = require_admin(request, request.POST.get("community"))
    try:
        outbox.try_again(actor=community.actor, task_id=task_id, at=timezone.now())
    except Refusal as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "It is tried again now.")
    return HttpResponseRedirect(_address(community))


def _address(community: OwnCommunity) -> str:
    return f"{reverse('account_chat')}?community={community.id}"
