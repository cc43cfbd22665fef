"""Pages on which admins create, change, test and delete a community's webhooks. A secret is shown once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from communities.accounts.own_communities import (
    choices,
    chosen,
    for_admins,
    require_admin,
    who_can,
)
from communities.accounts.providers.freshness import require_fresh_sign_in
from communities.forms import once
from communities.ground.errors import Refusal
from webhooks import words
from webhooks.forms import NewWebhookForm, WebhookForm, initial_of
from webhooks.models import Delivery, Webhook
from webhooks.pages.finding import WHAT, find_webhook, list_address
from webhooks.services import deliveries, webhooks

RECENT = 5  # A webhook's page shows this many deliveries.
MAX_COUNTED = 1000
SENT_TWICE = (
    "This form was sent before, so nothing was changed this time. Its secret was shown then and cannot be "
    "shown again; if you did not copy it, make a new one."
)


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """A community's webhooks with their last deliveries, and the webhooks that can be restored."""
    community = chosen(request)
    if community is None or not community.is_admin:
        return who_can(request, community, WHAT, status=200)
    rows = list(Webhook.objects.in_community(community.id).order_by("-pk"))
    last = _last_deliveries(rows)
    about = webhooks.projects_in_short(community_id=community.id, webhooks=rows)
    context = {
        "community": community,
        "communities": choices(request),
        "rows": [
            {
                "webhook": row,
                "state": words.webhook_state(row),
                "about": about[row.pk],
                "last": last.get(row.pk),
            }
            for row in rows
        ],
        "deleted": webhooks.restorable(community_id=community.id, at=timezone.now()).order_by("-pk"),
        "words": words,
    }
    return render(request, "account/webhooks.html", context)


@require_http_methods(["GET", "POST"])
@login_required
@for_admins(WHAT)
def new(request: HttpRequest) -> HttpResponse:
    """Make a webhook, and show its secret."""
    community = require_admin(request, request.GET.get("community"))
    require_fresh_sign_in(request)
    form = NewWebhookForm(request.POST if request.method == "POST" else None, community_id=community.id)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                if not once.use(request, form.cleaned_data["ticket"]):
                    return _sent_twice(request, list_address(community))
                webhook, secret = webhooks.register(
                    actor=community.actor, community_id=community.id, at=timezone.now(), **form.values
                )
        except Refusal as refusal:
            form.add_error(None, refusal.message)
        else:
            return _show_secret(request, webhook, secret, is_new=True)
    context = {
        "title": "New webhook",
        "button": "Make the webhook",
        "form": form,
        "webhook": None,
        "list": list_address(community),
        "back": list_address(community),
    }
    return render(request, "account/webhook_form.html", context, status=422 if form.errors else 200)


@require_safe
@login_required
@for_admins(WHAT)
def detail(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """One webhook, with its latest deliveries."""
    community, webhook = find_webhook(request, webhook_id)
    recent = deliveries.deliveries_of(community_id=community.id, webhook_id=webhook_id)
    context = {
        "community": community,
        "webhook": webhook,
        "state": words.webhook_state(webhook),
        "events": words.events_in_words(webhook),
        "projects": webhooks.projects_in_words(webhook),
        "recent": recent[:RECENT],
        "earlier_signs": bool(
            webhook.previous_secret_expires_at and webhook.previous_secret_expires_at > timezone.now()
        ),
        "list": list_address(community),
        "words": words,
    }
    return render(request, "account/webhook.html", context)


@require_http_methods(["GET", "POST"])
@login_required
@for_admins(WHAT)
def edit(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Change the address, the events, the name, or switch it on or off."""
    community, webhook = find_webhook(request, webhook_id)
    require_fresh_sign_in(request)
    form = WebhookForm(
        request.POST if request.method == "POST" else None,
        community_id=community.id,
        initial=initial_of(webhook),
    )
    if request.method == "POST" and form.is_valid():
        webhooks.change(
            actor=community.actor,
            community_id=community.id,
            webhook_id=webhook_id,
            fields=form.changes,
            at=timezone.now(),
        )
        messages.success(request, "Saved." if form.changes else "Nothing was changed.")
        return HttpResponseRedirect(_address(webhook))
    context = {
        "title": f"Edit {_name_of(webhook)}",
        "button": "Save",
        "form": form,
        "webhook": webhook,
        "list": list_address(community),
        "back": _address(webhook),
    }
    return render(request, "account/webhook_form.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
@for_admins(WHAT)
def switch(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Switch a webhook on or off, as the button says."""
    community, webhook = find_webhook(request, webhook_id)
    is_active = request.POST.get("to") == "on"
    webhooks.change(
        actor=community.actor,
        community_id=community.id,
        webhook_id=webhook_id,
        fields={"is_active": is_active},
        at=timezone.now(),
    )
    messages.success(request, f"The webhook is {'on' if is_active else 'off'}.")
    return HttpResponseRedirect(_address(webhook))


@require_http_methods(["GET", "POST"])
@login_required
@for_admins(WHAT)
def rotate(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Ask for confirmation, then create a new signing secret and show it."""
    community, webhook = find_webhook(request, webhook_id)
    require_fresh_sign_in(request)
    form = once.TicketForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            if not once.use(request, form.cleaned_data["ticket"]):
                return _sent_twice(request, _address(webhook))
            changed, secret = webhooks.rotate_secret(
                actor=community.actor, community_id=community.id, webhook_id=webhook_id, at=timezone.now()
            )
        return _show_secret(request, changed, secret, is_new=False)
    context = {"form": form, "webhook": webhook, "list": list_address(community), "back": _address(webhook)}
    return render(request, "account/webhook_rotate.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
@for_admins(WHAT)
def ping(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Send a test message, and show the endpoint's answer."""
    community, _ = find_webhook(request, webhook_id)
    delivery = webhooks.ping(
        actor=community.actor, community_id=community.id, webhook_id=webhook_id, at=timezone.now()
    )
    return HttpResponseRedirect(reverse("account_delivery", args=[delivery.pk]))


@require_http_methods(["GET", "POST"])
@login_required
@for_admins(WHAT)
def delete(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Ask for confirmation, then delete the webhook. It can be restored for ten minutes."""
    community, webhook = find_webhook(request, webhook_id)
    require_fresh_sign_in(request)
    if request.method == "POST":
        webhooks.remove_with_undo(
            actor=community.actor, community_id=community.id, webhook_id=webhook_id, at=timezone.now()
        )
        return HttpResponseRedirect(list_address(community))
    context = {
        "webhook": webhook,
        "waiting": Delivery.objects.filter(webhook=webhook, due_at__isnull=False)[: MAX_COUNTED + 1].count(),
        "most": MAX_COUNTED,
        "list": list_address(community),
        "back": _address(webhook),
    }
    return render(request, "account/webhook_delete.html", context)


@require_POST
@login_required
@for_admins(WHAT)
def restore(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Restore a webhook that was deleted in the last ten minutes."""
    community, webhook = find_webhook(request, webhook_id, even_deleted=True)
    try:
        webhooks.restore(
            actor=community.actor, community_id=community.id, webhook_id=webhook_id, at=timezone.now()
        )
    except Refusal as refusal:
        messages.error(request, refusal.message)
        return HttpResponseRedirect(list_address(community))
    messages.success(request, "The webhook is back.")
    return HttpResponseRedirect(_address(webhook))


def _last_deliveries(rows: Sequence[Webhook]) -> Mapping[int, Delivery]:
    newest = Delivery.objects.filter(webhook=OuterRef("pk")).order_by("-created_at", "-pk")
    ids = Webhook.objects.filter(pk__in=[row.pk for row in rows]).values_list(
        Subquery(newest.values("pk")[:1]), flat=True
    )
    found = Delivery.objects.filter(pk__in=[each for each in ids if each]).defer("response_body")
    return {each.webhook_id: each for each in found}


def _name_of(webhook: Webhook) -> str:
    return webhook.name or webhook.url


def _address(webhook: Webhook) -> str:
    return reverse("account_webhook", args=[webhook.pk])


def _sent_twice(request: HttpRequest, address: str) -> HttpResponse:
    once.say_sent_before(request, SENT_TWICE)
    return HttpResponseRedirect(address)


def _show_secret(request: HttpRequest, webhook: Webhook, secret: str, *, is_new: bool) -> HttpResponse:
    context = {"webhook": webhook, "secret": secret, "is_new": is_new, "back": _address(webhook)}
    return render(request, "account/webhook_secret.html", context)
