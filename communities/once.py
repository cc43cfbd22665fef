"""Forms that must not be sent twice, for example by reloading the page that shows a new secret."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django import forms
from django.http import HttpRequest
from django.utils import timezone

from communities import rounding
from communities.models import IdempotentRequest
from communities.rounding import Rounding

REMEMBERED_FOR = timedelta(days=1)


def new_ticket() -> str:
    """A random name for one sending of a form."""
    return secrets.token_urlsafe(12)


def use(request: HttpRequest, ticket: str) -> bool:
    """Use up a ticket of the signed-in user. Returns False if it was used before.

    Call it inside the transaction of what the form does: of two that are sent together the second waits, and
    if the first is refused its ticket stays unused.
    """
    sent_by = f"a form, sent by {request.user.pk}: {ticket}"
    _, is_new = IdempotentRequest.objects.get_or_create(
        claim=hashlib.sha256(sent_by.encode()).hexdigest(),
        defaults={
            "fingerprint": "form",
            "expires_at": rounding.down(timezone.now() + REMEMBERED_FOR, Rounding.HOUR),
        },
    )
    return is_new


class TicketForm(forms.Form):
    """A form that carries a ticket."""

    ticket = forms.CharField(widget=forms.HiddenInput, initial=new_ticket, max_length=40)
