"""Forms that must be processed only once, even after a double click, after Back, or after a reload of a page
with a secret.

Browsers store none of our pages, so Back fetches the form again, with another ticket. `account/tickets.js`
puts the ticket of the sent form back into the form.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import timedelta

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone

from communities.ground import rounding
from communities.ground.rounding import Rounding
from communities.models import IdempotentRequest

REMEMBERED_FOR = timedelta(days=1)
SENT_BEFORE = (
    "This form was sent before, so nothing new was made. This is what it made then; to make another, open "
    "a new form."
)

CHANGED_SINCE = "What you changed in the form since then was not saved."


def new_ticket() -> str:
    """A random name for one submission of a form."""
    return secrets.token_urlsafe(12)


def use(request: HttpRequest, ticket: str) -> bool:
    """Mark a ticket of the signed-in user as used. Returns False if it was used before.

    Call this inside the transaction of the form's action. If two requests are sent together, the second
    waits; if the first is refused, its ticket stays unused.
    """
    _, is_new = _claim(request, ticket)
    return is_new


def redirect(request: HttpRequest, ticket: str, make: Callable[[], str]) -> HttpResponseRedirect:
    """Create an object once for a ticket, and redirect to its address, which `make` returns.

    The ticket and all rows that `make` writes are one transaction. A second request with the ticket waits for
    the first, creates nothing, and redirects to the address of the object that the first request created. If
    `make` raises, the ticket remains unused.
    """
    with transaction.atomic():
        _, is_new = _claim(request, ticket)
        if is_new:
            address = make()
            note(request, ticket, address)
        else:
            address = noted(request, ticket, default=request.path)
            say_sent_before(request, SENT_BEFORE)
    return HttpResponseRedirect(address)


def say_sent_before(request: HttpRequest, words: str) -> None:
    """Show `words` to a person who sent a form twice, and say whether their changes were lost."""
    claim, _ = _claim(request, request.POST.get("ticket", ""))
    if claim.fingerprint == _fingerprint(request):
        messages.info(request, words)
    else:
        messages.warning(request, f"{words} {CHANGED_SINCE}")


def note(request: HttpRequest, ticket: str, address: str) -> None:
    """Store the address of the object that was created with a used ticket, for a page that shows a secret
    first.
    """
    claim, _ = _claim(request, ticket)
    claim.headers = {"Location": address}
    claim.save(update_fields=["headers"])


def noted(request: HttpRequest, ticket: str, *, default: str) -> str:
    """The address of the object that was created with a used ticket."""
    claim, _ = _claim(request, ticket)
    return str((claim.headers or {}).get("Location", default))


def _claim(request: HttpRequest, ticket: str) -> tuple[IdempotentRequest, bool]:
    """The row of a ticket of the signed-in user, and whether it is new."""
    sent_by = f"a form, sent by {request.user.pk}: {ticket}"
    return IdempotentRequest.objects.get_or_create(
        claim=hashlib.sha256(sent_by.encode()).hexdigest(),
        defaults={
            "fingerprint": _fingerprint(request),
            "expires_at": rounding.down(timezone.now() + REMEMBERED_FOR, Rounding.HOUR),
        },
    )


def _fingerprint(request: HttpRequest) -> str:
    """A hash of the values of a form.

    Nobody can guess the values from the hash, because the form's ticket is not stored.
    """
    sent = sorted((name, values) for name, values in request.POST.lists() if not _is_of_the_page(name))
    return hashlib.sha256(f"{request.POST.get('ticket', '')}: {sent}".encode()).hexdigest()


def _is_of_the_page(name: str) -> bool:
    """Whether a value comes from the loaded page, and not from the person who filled in the form."""
    return name in ("csrfmiddlewaretoken", "ticket") or name.startswith("initial-")


class TicketForm(forms.Form):
    """A form that contains a ticket."""

    ticket = forms.CharField(widget=forms.HiddenInput, initial=new_ticket, max_length=40)


class CreationForm(TicketForm):
    """The form of a new object. A form without a ticket counts as sent for the first time."""

    ticket = forms.CharField(widget=forms.HiddenInput, initial=new_ticket, max_length=40, required=False)

    def clean_ticket(self) -> str:
        return self.cleaned_data["ticket"] or new_ticket()
