"""The page of the link that stands under mails to members: no more of them, without signing in.

Mail programs send the POST themselves when their own button is pressed (RFC 8058: One-Click). They bring
neither cookies nor a CSRF token; the signature in the address stands for the reader of the mail.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from communities.services import recipients

UNDO = "undo"


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, signed: str) -> HttpResponse:
    """GET asks, with one button, since programs open links to look at them. POST does it, or undoes it."""
    member = recipients.signed_member(signed)
    if member is None:
        raise Http404
    if request.method == "POST":
        if request.POST.get("do") == UNDO:
            recipients.accept_mails(member_id=member.pk)
            member.mail_refused_at = None
        else:
            recipients.refuse_mails(member_id=member.pk, at=timezone.now())
            member.mail_refused_at = member.mail_refused_at or timezone.now()
    context = {
        "community": member.community.name,
        "address": request.path,
        "has_refused": member.mail_refused_at is not None,
        "is_undone": request.method == "POST" and member.mail_refused_at is None,
    }
    return render(request, "account/unsubscribe.html", context)
