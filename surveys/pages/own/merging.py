"""Merging two accounts of one person, after both are proven (`communities.accounts.providers.merging`)."""

from __future__ import annotations

from allauth.account.adapter import get_adapter
from allauth.mfa.models import Authenticator
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from communities.accounts.providers.freshness import require_fresh_sign_in
from communities.accounts.providers.merging import forget_proof, read_proof
from communities.ground.errors import Conflict
from communities.identity_providers import platforms
from surveys.services.people import own_responses
from surveys.services.people.merging import merge_proven_users


@never_cache
@require_http_methods(["GET", "POST"])
@login_required
def merge(request: HttpRequest) -> HttpResponse:
    """Show the owner of the proven account and what merging means; after a POST, merge.

    The source of the other account alone does not prove its second factor. In that case the person signs in
    to the other account with it, and connects an account of this one there.
    """
    at = timezone.now()
    proof = read_proof(request, at=at)
    if proof is None:
        return HttpResponseRedirect(reverse("socialaccount_connections"))
    has_factor = Authenticator.objects.filter(user_id=proof.drop_user_id).exists()
    refusal = ""
    if request.method == "POST" and not has_factor:
        require_fresh_sign_in(request)
        try:
            merge_proven_users(
                keep_id=proof.keep_user_id,
                drop_id=proof.drop_user_id,
                identity_id=proof.identity.pk,
                at=at,
            )
        except Conflict as conflict:
            refusal = conflict.message
        else:
            forget_proof(request)
            get_adapter(request).send_notification_mail("account/email/accounts_merged", request.user)
            messages.success(request, "Your two accounts are one now.")
            return HttpResponseRedirect(reverse("account"))
    context = {
        "proof": proof,
        "platform": platforms.NAMES[proof.identity.provider],
        "communities": [
            each.community for each in own_responses.memberships(user_id=proof.drop_user_id, at=at)
        ],
        "has_factor": has_factor,
        "refusal": refusal,
    }
    return render(request, "account/merge.html", context, status=409 if refusal else 200)
