"""API keys in the account area, for admins. A secret is shown on one page, once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from communities.accounts.own_communities import (
    OwnCommunity,
    choices,
    chosen,
    communities_of,
    for_admins,
    require_admin,
    who_can,
)
from communities.accounts.providers.freshness import require_fresh_sign_in
from communities.forms import once
from communities.forms.keys import NewKeyForm
from communities.gate import throttling
from communities.gate.authentication import caller_cache
from communities.ground.errors import Conflict, Refusal
from communities.ground.tiers import TIERS
from communities.models import ApiKey, Community
from communities.services.api_keys import key_listing, keys
from communities.services.api_keys.key_listing import ListedKey

WHAT = "API keys"
SENT_TWICE = (
    "This form was sent before, so nothing was changed this time. Its secret was shown then and cannot be "
    "shown again; rotate the key for a new one."
)


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A key in the list, with times in the community's time zone. `used` is None if the use is unknown."""

    listed: ListedKey
    community: OwnCommunity
    used: int | None

    @property
    def key(self) -> ApiKey:
        return self.listed.key

    def local(self, moment: datetime) -> datetime:
        return self.community.local(moment)


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """The keys of a community, and their use of the tier's limit."""
    community = chosen(request)
    if community is None or not community.is_admin:
        return who_can(request, community, WHAT, status=200)
    found = key_listing.keys_of(community_id=community.id, at=timezone.now())
    used = throttling.used_by_keys([each.key.pk for each in found if each.works])
    shown = [ShownKey(each, community, None if used is None else used.get(each.key.pk, 0)) for each in found]
    context = {
        "community": community,
        "communities": choices(request),
        "working": [each for each in shown if each.listed.works],
        "over": [each for each in shown if not each.listed.works],
        "row": Community.objects.get(pk=community.id),
        "limit": TIERS[community.tier].requests_per_minute,
        "knows_use": used is not None,
    }
    return render(request, "account/keys.html", context)


@require_http_methods(["GET", "POST"])
@login_required
@for_admins(WHAT)
def new(request: HttpRequest) -> HttpResponse:
    """Create a key, and show its secret."""
    community = require_admin(request, request.GET.get("community"))
    require_fresh_sign_in(request)
    at = timezone.now()
    form = NewKeyForm(
        request.POST if request.method == "POST" else None, at=at, zone=community.zone, is_admin=True
    )
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                if not once.use(request, form.cleaned_data["ticket"]):
                    return _sent_twice(request, community)
                key, secret = keys.create_key(
                    actor=community.actor,
                    community_id=community.id,
                    user_id=community.user_id,
                    name=form.cleaned_data["name"],
                    description=form.cleaned_data["description"] or None,
                    restricted_to=form.cleaned_data["role"] or None,
                    scope=form.cleaned_data["scope"],
                    mode=form.cleaned_data["mode"],
                    expires_at=form.expires_at,
                    at=at,
                )
        except Refusal as refusal:
            form.add_error(None, refusal.message)
        else:
            return _show_secret(request, community, key, secret, is_new=True)
    context = {"form": form, "community": community, "back": _address(community)}
    return render(request, "account/key_new.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@login_required
@for_admins(WHAT)
def rotate(request: HttpRequest, key_id: int) -> HttpResponse:
    """Ask for confirmation, then give the key a new secret and show it."""
    community, found = _find(request, key_id)
    require_fresh_sign_in(request)
    form = once.TicketForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                if not once.use(request, form.cleaned_data["ticket"]):
                    return _sent_twice(request, community)
                key, secret = keys.rotate_key(actor=community.actor, key_id=key_id, at=timezone.now())
        except Conflict as refusal:
            form.add_error(None, refusal.message)
        else:
            return _show_secret(request, community, key, secret, is_new=False)
    context = {"form": form, "community": community, "listed": found, "back": _address(community)}
    return render(request, "account/key_rotate.html", context, status=409 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@login_required
@for_admins(WHAT)
def revoke(request: HttpRequest, key_id: int) -> HttpResponse:
    """Ask for confirmation, then revoke the key."""
    community, found = _find(request, key_id)
    require_fresh_sign_in(request)
    if request.method == "POST":
        with transaction.atomic():
            keys.revoke_key(
                actor=community.actor, community_id=community.id, key_id=key_id, at=timezone.now()
            )
            # The cache is emptied, so that the change is effective in this process even while Redis is down.
            transaction.on_commit(caller_cache.clear)
        messages.success(request, f"“{found.key.name}” is revoked.")
        return HttpResponseRedirect(_address(community))
    context = {
        "community": community,
        "shown": ShownKey(found, community, None),
        "back": _address(community),
    }
    return render(request, "account/key_revoke.html", context)


def _find(request: HttpRequest, key_id: int) -> tuple[OwnCommunity, ListedKey]:
    """Return a key in a community of the signed-in person.

    Raises Http404 for other keys, and NotAnAdmin if the person is no admin there.
    """
    own = [each.id for each in communities_of(request)]
    key = ApiKey.objects.filter(pk=key_id, community_id__in=own).first()
    if key is None:
        raise Http404("There is no such key.")
    community = require_admin(request, key.community_id)
    (found,) = key_listing.listed(community_id=community.id, keys=[key], at=timezone.now())
    return community, found


def _address(community: OwnCommunity) -> str:
    return f"{reverse('account_keys')}?community={community.id}"


def _sent_twice(request: HttpRequest, community: OwnCommunity) -> HttpResponse:
    once.say_sent_before(request, SENT_TWICE)
    return HttpResponseRedirect(_address(community))


def _show_secret(
    request: HttpRequest, community: OwnCommunity, key: ApiKey, secret: str, *, is_new: bool
) -> HttpResponse:
    previous, ends = key.previous_expires_at, key.expires_at
    context = {
        "community": community,
        "key": key,
        "secret": secret,
        "is_new": is_new,
        "earlier_until": None if is_new or previous is None else community.local(previous),
        "ends": None if ends is None else community.local(ends),
        "first_address": f"{settings.BASE_URL}/v1/communities/{community.id}",
        "back": _address(community),
    }
    return render(request, "account/key_secret.html", context)
