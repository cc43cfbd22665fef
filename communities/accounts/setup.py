"""The set-up wizard of a community, for its admins: a few short steps, each saved at once."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from communities import chosen_community
from communities.accounts.own_communities import for_admins, require_admin
from communities.accounts.setup_forms import STEPS, initial_of
from communities.models import Community
from communities.services.pictures import copies
from communities.services.pictures.copies import PictureState
from communities.services.tenants import setup
from communities.services.tenants.settings import get_settings

WHAT = "The settings"


@require_safe
@login_required
@for_admins(WHAT)
def begin(request: HttpRequest, community_id: int) -> HttpResponse:
    """Redirect to the first step."""
    require_admin(request, community_id)
    return HttpResponseRedirect(_address(community_id, 0))


@require_http_methods(["GET", "POST"])
@login_required
@for_admins(WHAT)
def step(request: HttpRequest, community_id: int, slug: str) -> HttpResponse:
    """Show one step; after a POST save it, and redirect to the next."""
    community = require_admin(request, community_id)
    position = next((n for n, each in enumerate(STEPS) if each.slug == slug), None)
    if position is None:
        raise Http404("There is no such step.")
    row = Community.objects.get(pk=community_id)
    form = STEPS[position].form(
        request.POST if request.method == "POST" else None,
        initial=initial_of(row, get_settings(community_id=community_id)),
    )
    is_last = position == len(STEPS) - 1
    if request.method == "POST" and form.is_valid():
        setup.save_step(
            actor=community.actor,
            of_community=form.of_community,
            of_settings=form.of_settings,
            is_last=is_last,
            at=timezone.now(),
        )
        return HttpResponseRedirect(_address(community_id, position + 1))
    context = {
        "community": row,
        "picture": _picture(row) if STEPS[position].slug == "name" else None,
        "form": form,
        "step": STEPS[position],
        "steps": [
            {
                "name": each.name,
                "address": _address(community_id, number),
                "state": "over" if number < position else "here" if number == position else "ahead",
            }
            for number, each in enumerate(STEPS)
        ],
        "position": position,
        "is_last": is_last,
        "back": _address(community_id, position - 1) if position else "",
    }
    return render(request, "account/setup_step.html", context, status=422 if form.errors else 200)


@require_safe
@login_required
@for_admins(WHAT)
def done(request: HttpRequest, community_id: int) -> HttpResponse:
    """The next possible actions. Before the wizard is completed, this redirects to its beginning."""
    community = require_admin(request, community_id)
    if not Community.objects.filter(pk=community_id, user_setup__isnull=False).exists():
        return HttpResponseRedirect(_address(community_id, 0))
    chosen_community.remember(request, community_id)  # The links lead to the community's pages in the admin.
    return render(request, "account/setup_done.html", {"community": community})


def _picture(community: Community) -> PictureState | None:
    """Return the state of the community's picture; None if the community has no picture."""
    address = community.icon_url
    return copies.state(community_id=community.pk, address=address) if address else None


def _address(community_id: int, position: int) -> str:
    if position == len(STEPS):
        return reverse("account_setup_done", args=[community_id])
    return reverse("account_setup_step", args=[community_id, STEPS[position].slug])
