"""The routes of a sign-in with another platform: the redirect to it, the return, and possible errors."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import structlog
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import get_next_redirect_url
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from communities import sign_in
from communities.accounts import failures
from communities.accounts.providers.classes import PROVIDERS, PlatformProvider, Proof
from communities.accounts.providers.freshness import require_fresh_sign_in
from communities.accounts.providers.merging import keep_proof
from communities.gate import throttling
from communities.ground import queue
from communities.identity_providers import platforms
from communities.identity_providers.failures import BadProof, PlatformUnavailable, TokenRefused
from communities.models import Identity
from communities.services.people import identities, platform_members, source_tokens
from communities.services.people.identities import BelongsToAnother

ATTEMPTS = 60  # One address has at most this many attempts in WINDOW.
WINDOW = 600  # The length in seconds.
_CLASSES = {each.id: each for each in PROVIDERS}

log = structlog.get_logger("colloquy.sources")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Ask for confirmation, and redirect to the platform only after a POST.

    `process` is login, connect, or confirm: a signed-in person proves again who they are.
    """
    provider = _provider(request, provider_id)
    sent = request.POST if request.method == "POST" else request.GET
    process = sent.get("process", "")
    process = process if process in ("connect", "confirm") else "login"
    next_url = get_next_redirect_url(request)
    if process != "login" and not request.user.is_authenticated:
        return redirect("account_login")
    if request.method != "POST":
        context = {"provider": provider, "process": process, "next_url": next_url or ""}
        return render(request, "socialaccount/login.html", context)
    if _is_limited(request):
        return _failure(request, provider, "many", HTTPStatus.TOO_MANY_REQUESTS)
    if process == "connect":
        require_fresh_sign_in(request)
    return provider.redirect(request, process, next_url)


@never_cache
@require_GET
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """The address to which the platform returns the browser."""
    provider = _provider(request, provider_id)
    state = statekit.unstash_state(
        request, provider_id=provider.sub_id, state_id=request.GET.get("state", "")
    )
    if state is None or state["user"] != request.user.pk:
        return _failure(request, provider, "expired", HTTPStatus.BAD_REQUEST)
    if request.GET.get("error") == "access_denied" or request.GET.get("openid.mode") == "cancel":
        return _failure(request, provider, "cancelled", HTTPStatus.OK)
    at = timezone.now()
    try:
        if "error" in request.GET:
            raise BadProof(f"The platform says {request.GET['error'][:100]!r}.")
        proof = provider.prove(request, state, at=at)
    except (BadProof, TokenRefused) as failure:
        return _failure(request, provider, "refused", HTTPStatus.BAD_REQUEST, cause=str(failure))
    except PlatformUnavailable as failure:
        log.warning("sources.unavailable", provider=provider_id, cause=str(failure))
        return _failure(request, provider, "unavailable", HTTPStatus.SERVICE_UNAVAILABLE)
    if state["process"] == "confirm":
        return _confirm(request, provider, proof, state)
    if state["process"] == "connect":
        return _connect(request, provider, proof, state)
    return _sign_in(request, provider, proof, state)


@never_cache
@login_required
@require_GET
def sign_in_again(request: HttpRequest) -> HttpResponse:
    """Ask a person to confirm who they are by an identity provider. The page is for people without any other
    way to sign in.
    """
    own = {each.provider for each in identities.connected(user_id=int(request.user.pk or 0))}
    next_url = get_next_redirect_url(request) or reverse("account")
    return render(request, "socialaccount/sign_in_again.html", {"own": own, "next_url": next_url})


def _provider(request: HttpRequest, provider_id: str) -> PlatformProvider:
    if provider_id not in _CLASSES or not platforms.is_offered(provider_id):
        raise Http404
    provider: PlatformProvider = get_adapter(request).get_provider(request, provider_id)
    return provider


def _is_limited(request: HttpRequest) -> bool:
    return throttling.take_surely(_limited_as(request), ATTEMPTS, seconds=WINDOW).is_used_up


def _limited_as(request: HttpRequest) -> str:
    return f"colloquy:rate:source:{throttling.hashed(throttling.address_of(request))}"


def _failure(
    request: HttpRequest,
    provider: PlatformProvider,
    reason: str,
    status: HTTPStatus,
    cause: str | None = None,
) -> HttpResponse:
    """Show the error. The error is logged, unless the person cancelled."""
    if reason != "cancelled":
        failures.record(
            request,
            "platform",
            reason,
            account=_account(request),
            provider=provider.id,
            cause=cause,
        )
    context = {"provider": provider, "reason": reason}
    return render(request, "socialaccount/failure.html", context, status=status)


def _account(request: HttpRequest) -> str | None:
    """The account of a person who confirms who they are, as a keyed hash."""
    return sign_in.account_of(request.user.pk) if request.user.is_authenticated else None


def _sign_in(
    request: HttpRequest, provider: PlatformProvider, proof: Proof, state: dict[str, Any]
) -> HttpResponse:
    profile, at = proof.profile, timezone.now()
    identity = identities.sign_in(
        provider=provider.id, platform_id=profile.platform_id, name=profile.name, at=at
    )
    _remember(identity, proof)
    # django-allauth finds the user by the mirrored account, and continues with second factors and limits.
    account = SocialAccount(provider=provider.id, uid=profile.platform_id, extra_data={"name": profile.name})
    signing_in = SocialLogin(user=None, account=account, provider=provider)
    signing_in.state = {"process": "login", "next": state.get("next")}
    response: HttpResponse = complete_social_login(request, signing_in)
    if request.user.is_authenticated:  # A sign-in is not counted for its address (rule 12.11).
        throttling.give_back(_limited_as(request))
    return response


def _confirm(
    request: HttpRequest, provider: PlatformProvider, proof: Proof, state: dict[str, Any]
) -> HttpResponse:
    """Accept the platform's account as proof that the signed-in person is at the browser.

    Only an account that is connected to this person is a proof.
    """
    if not identities.belongs_to(
        user_id=int(request.user.pk or 0), provider=provider.id, platform_id=proof.profile.platform_id
    ):
        failures.record(request, "platform", "other_account", account=_account(request), provider=provider.id)
        messages.error(request, f"That is another {provider.name} account. Please use the one you connected.")
        address = f"{reverse('source_sign_in_again')}?{urlencode({'next': state.get('next') or ''})}"
        return redirect(address)
    request.session.cycle_key()
    record_authentication(
        request,
        request.user,
        "socialaccount",
        provider=provider.id,
        uid=proof.profile.platform_id,
        reauthenticated=True,
    )
    return redirect(state.get("next") or "account")


def _connect(
    request: HttpRequest, provider: PlatformProvider, proof: Proof, state: dict[str, Any]
) -> HttpResponse:
    if not request.user.is_authenticated:
        return redirect("account_login")
    profile, at = proof.profile, timezone.now()
    try:
        identity = identities.connect(
            user_id=request.user.pk,
            provider=provider.id,
            platform_id=profile.platform_id,
            name=profile.name,
            at=at,
        )
    except BelongsToAnother as conflict:
        keep_proof(request, conflict, at=at)
        return redirect("account_merge")
    _remember(identity, proof)
    messages.success(request, f"Your {provider.name} account is connected.")
    get_account_adapter(request).send_notification_mail(
        "socialaccount/email/account_connected", request.user, context={"platform": provider.name}
    )
    return redirect(state.get("next") or "socialaccount_connections")


def _remember(identity: Identity, proof: Proof) -> None:
    """Store the tokens, and ask the chat platform in which servers the person is a member.

    The worker joins the communities' entries for the account, so that no community can delay a sign-in.
    """
    at = timezone.now()
    queue.wake(identities.JOIN, user_id=identity.user_id)
    if proof.tokens is None:
        return
    source_tokens.save(
        identity_id=identity.pk,
        access=proof.tokens.access,
        refresh=proof.tokens.refresh,
        expires_at=proof.tokens.expires_at,
    )
    if identity.provider == Identity.Provider.CHAT:
        platform_members.refresh_at_sign_in(identity_id=identity.pk, user_id=identity.user_id, at=at)
