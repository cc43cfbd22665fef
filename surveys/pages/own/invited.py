"""An invitation of a known member that a person with an account opens: the member becomes part of the
account.
"""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from communities.accounts.frame import user_of
from communities.accounts.providers.freshness import require_fresh_sign_in
from communities.ground.errors import Conflict, NotFound, Refusal
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.models import User
from communities.services.inviting import invitations
from surveys.services.people.merging import merge_users

GONE = 410


@never_cache
@require_http_methods(["GET", "POST"])
@login_required
def merge(request: HttpRequest, token: str) -> HttpResponse:
    """Describe what joining means for the signed-in account; after a POST, join."""
    at, user = timezone.now(), user_of(request)
    try:
        invitation = invitations.find(token=token, at=at)
    except (NotFound, Conflict) as refusal:
        return render(request, "account/invitation_over.html", {"refusal": refusal.message}, status=GONE)
    if invitation.member is None or invitation.member.user_id == user.pk:
        return HttpResponseRedirect(reverse("account_invitation", args=[token]))
    refusal_text = ""
    if request.method == "POST":
        require_fresh_sign_in(request)
        try:
            _join(token, user, at)
        except Refusal as refusal:
            refusal_text = refusal.message
        else:
            messages.success(request, f"You are a member of {invitation.community.name} now.")
            return HttpResponseRedirect(reverse("account"))
    context = {"invitation": invitation, "token": token, "refusal": refusal_text}
    return render(request, "account/invitation_merge.html", context, status=409 if refusal_text else 200)


@again_after_deadlock
@in_transaction
def _join(token: str, user: User, at: datetime) -> None:
    """Merge the invitation's member, who has no way to sign in, into a user."""
    invitation = invitations.take(token=token, at=at, user=user)
    if invitation.member is not None and invitation.member.user_id != user.pk:
        merge_users(keep_id=user.pk, drop_id=invitation.member.user_id, at=at)
    invitations.admit(invitation, user=User.objects.get(pk=user.pk), at=at)
