"""The messages that were sent to a webhook: a log with filters, and one delivery with the endpoint's
answer.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import orjson
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from communities.accounts.own_communities import for_admins
from communities.ground.errors import Refusal
from webhooks import words
from webhooks.events import EventType
from webhooks.models import Delivery
from webhooks.pages.finding import WHAT, find_delivery, find_webhook, list_address
from webhooks.services import deliveries

PAGE_LENGTH = 25


@require_safe
@login_required
@for_admins(WHAT)
def log(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """A webhook's deliveries, the newest first; `before` is the id of the last one on the previous page."""
    community, webhook = find_webhook(request, webhook_id)
    status = _one_of(request.GET.get("status", ""), words.DELIVERY_STATES)
    event_type = _one_of(request.GET.get("event", ""), words.EVENT_MEANINGS)
    rows = deliveries.deliveries_of(
        community_id=community.id, webhook_id=webhook_id, status=status or None, event_type=event_type or None
    )
    last = _last_of_page_before(request, webhook_id)
    if last is not None:
        rows = rows.filter(Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, pk__lt=last.pk))
    found = list(rows.defer("event__body", "response_body")[: PAGE_LENGTH + 1])
    shown, has_more = found[:PAGE_LENGTH], len(found) > PAGE_LENGTH
    filters = {name: value for name, value in (("status", status), ("event", event_type)) if value}
    context = {
        "community": community,
        "webhook": webhook,
        "rows": shown,
        "older": f"?{urlencode({**filters, 'before': str(shown[-1].pk)})}" if has_more else "",
        "newest": f"?{urlencode(filters)}" if last is not None else "",
        "status": status,
        "event": event_type,
        "is_filtered": bool(filters),
        "list": list_address(community),
        "words": words,
    }
    return render(request, "account/deliveries.html", context)


@require_safe
@login_required
@for_admins(WHAT)
def delivery(request: HttpRequest, delivery_id: uuid.UUID) -> HttpResponse:
    """One delivery: its result, the sent message, and the endpoint's answer."""
    community, found = find_delivery(request, delivery_id)
    payload, arrived = deliveries.payload(found), deliveries.arrived_as(found)
    context = {
        "community": community,
        "delivery": found,
        "webhook": found.webhook,
        "meaning": words.EVENT_MEANINGS[EventType(found.event.type)],
        "state": words.delivery_state(found),
        "arrived": arrived,
        "is_waiting": found.status == Delivery.Status.PENDING,
        "attempts": deliveries.attempts_of(found),
        "payload": "" if payload is None else orjson.dumps(payload, option=orjson.OPT_INDENT_2).decode(),
        "list": list_address(community),
    }
    return render(request, "account/delivery.html", context)


@require_POST
@login_required
@for_admins(WHAT)
def again(request: HttpRequest, delivery_id: uuid.UUID) -> HttpResponse:
    """Send the event again as another delivery, and show the new delivery."""
    community, found = find_delivery(request, delivery_id)
    shown = found.pk
    try:
        shown = deliveries.redeliver(
            actor=community.actor, community_id=community.id, delivery_id=found.pk, at=timezone.now()
        ).pk
    except Refusal as refusal:
        messages.error(request, refusal.message)
    return HttpResponseRedirect(reverse("account_delivery", args=[shown]))


def _one_of(value: str, known: Iterable[str]) -> str:
    """The value if it is known, else an empty text, so that an unknown value in an address is no filter."""
    return value if value in {str(each) for each in known} else ""


def _last_of_page_before(request: HttpRequest, webhook_id: int) -> Delivery | None:
    try:
        before = uuid.UUID(request.GET.get("before", ""))
    except ValueError:
        return None
    return Delivery.objects.only("created_at").filter(pk=before, webhook_id=webhook_id).first()
