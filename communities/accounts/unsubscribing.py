"""The page of the unsubscribe link in mails to members: it works without signing in.

Mail programs send the POST themselves when somebody presses their own button (RFC 8058: One-Click). They send
neither cookies nor a CSRF token, so the signature in the address identifies the reader of the mail.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from communities.models import Community
from communities.services.mail import recipients

UNDO = "undo"


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, signed: str) -> HttpResponse:
    """Show one button for a GET request, because programs open links in mails to check them.

    A POST unsubscribes, or undoes that.
    """
    reader = recipients.signed_reader(signed)
    community = Community.objects.filter(pk=reader.community_id).first() if reader else None
    if reader is None or community is None:
        raise Http404
    if request.method == "POST":
        if request.POST.get("do") == UNDO:
            recipients.accept_mails(reader)
        else:
            recipients.refuse_mails(reader, at=timezone.now())
    hashes = [reader.address_hash]
    has_refused = bool(recipients.refused_hashes(community_id=community.pk, hashes=hashes))
    context = {
        "community": community.name,
        "address": request.path,
        "has_refused": has_refused,
        "is_undone": request.method == "POST" and not has_refused,
    }
    return render(request, "account/unsubscribe.html", context)
