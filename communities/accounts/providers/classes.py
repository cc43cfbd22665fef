"""The identity providers: how a sign-in begins, and which data proves an account when the browser returns."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import urlencode

from allauth.socialaccount.providers.base import Provider, ProviderAccount
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from communities.gate import throttling
from communities.identity_providers import (
    chat,
    game_store,
    membership,
    oauth2,
    openid2,
    platforms,
    streaming,
    video,
)
from communities.identity_providers.failures import BadProof, PlatformUnavailable
from communities.identity_providers.oauth2 import Tokens
from communities.identity_providers.profiles import Profile


@dataclass(frozen=True, slots=True)
class Proof:
    """The owner of an account, and the tokens to store."""

    profile: Profile
    tokens: Tokens | None


class PlatformAccount(ProviderAccount):
    """An account in the words of django-allauth's mails."""

    def to_str(self) -> str:
        return str(self.account.extra_data.get("name") or self.account.uid)


class PlatformProvider(Provider):
    """The code that the five providers share."""

    account_class = PlatformAccount
    supports_redirect = True
    package = "communities.accounts.providers"

    def get_login_url(self, request: HttpRequest, **parameters: str) -> str:
        address = reverse("source_login", args=[self.id])
        return f"{address}?{urlencode(parameters)}" if parameters else address

    def redirect(
        self, request: HttpRequest, process: str, next_url: str | None = None, data: Any = None, **_: Any
    ) -> HttpResponse:
        """Send the browser to the platform, by a page: browsers restrict a form to its own site, redirects
        included.
        """
        secret = {"verifier": oauth2.new_verifier(), "nonce": secrets.token_urlsafe(24)}
        state = self.stash_redirect_state(request, process, next_url, user=request.user.pk, **secret)
        address = self.address(state=state, asks_again=process == "connect", **secret)
        return render(request, "socialaccount/leaving.html", {"name": self.name, "address": address})

    @property
    def callback(self) -> str:
        """The address that is registered at the platform: always below BASE_URL, whatever the header Host
        contains.
        """
        return f"{settings.BASE_URL}{reverse('source_callback', args=[self.id])}"

    def address(self, *, state: str, verifier: str, nonce: str, asks_again: bool) -> str:
        """The platform's address for the browser."""
        return oauth2.authorize_address(
            self.id,
            redirect_uri=self.callback,
            state=state,
            verifier=verifier,
            nonce=nonce,
            asks_again=asks_again,
        )

    def prove(self, request: HttpRequest, state: dict[str, Any], *, at: datetime) -> Proof:
        """Check the data with which the browser has returned.

        Raises BadProof, PlatformUnavailable, TokenRefused.
        """
        code = request.GET.get("code", "")
        if not code:
            raise BadProof("There is no code.")
        tokens = oauth2.exchange(
            self.id, code=code, redirect_uri=self.callback, verifier=state["verifier"], at=at
        )
        return Proof(self.profile(tokens, nonce=state["nonce"], at=at), tokens)

    def profile(self, tokens: Tokens, *, nonce: str, at: datetime) -> Profile:
        raise NotImplementedError


class ChatProvider(PlatformProvider):
    id: ClassVar = "chat"
    name: ClassVar = platforms.NAMES["chat"]

    def profile(self, tokens: Tokens, *, nonce: str, at: datetime) -> Profile:
        return chat.profile(tokens.access)


class VideoProvider(PlatformProvider):
    id: ClassVar = "video"
    name: ClassVar = platforms.NAMES["video"]

    def profile(self, tokens: Tokens, *, nonce: str, at: datetime) -> Profile:
        return video.profile(tokens.id_token, nonce=nonce, at=at)


class StreamingProvider(PlatformProvider):
    id: ClassVar = "streaming"
    name: ClassVar = platforms.NAMES["streaming"]

    def profile(self, tokens: Tokens, *, nonce: str, at: datetime) -> Profile:
        return streaming.profile(tokens.access)


class MembershipProvider(PlatformProvider):
    id: ClassVar = "membership"
    name: ClassVar = platforms.NAMES["membership"]

    def profile(self, tokens: Tokens, *, nonce: str, at: datetime) -> Profile:
        return membership.profile(tokens.access)


class GameStoreProvider(PlatformProvider):
    """OpenID 2.0, which provides no token."""

    id: ClassVar = "game_store"
    name: ClassVar = platforms.NAMES["game_store"]

    def address(self, *, state: str, verifier: str, nonce: str, asks_again: bool) -> str:
        return openid2.authorize_address(return_to=self._return_to(state), realm=f"{settings.BASE_URL}/")

    def prove(self, request: HttpRequest, state: dict[str, Any], *, at: datetime) -> Proof:
        if any(len(values) > 1 for _, values in request.GET.lists()):
            raise BadProof("A parameter is there twice.")
        answer = request.GET.dict()
        return_to = self._return_to(answer.get("state", ""))
        platform_id = openid2.read_assertion(answer, return_to=return_to, at=at)
        # Without Redis each process has its own list. The state, which is used once, refuses a replay anyway.
        seconds = 2 * int(openid2.NONCE_LASTS.total_seconds())
        nonce = throttling.hashed(answer["openid.response_nonce"])
        if throttling.take_surely(f"colloquy:openid-nonce:{nonce}", 1, seconds=seconds).is_used_up:
            raise BadProof("The nonce was used before.")
        openid2.confirm(answer)
        return Proof(self._named(platform_id), None)

    def _return_to(self, state: str) -> str:
        return f"{self.callback}?{urlencode({'state': state})}"

    def _named(self, platform_id: str) -> Profile:
        try:
            return game_store.profile(platform_id)
        except PlatformUnavailable:  # The person's identity is proven; only the name is missing.
            return Profile(platform_id, "")


PROVIDERS = (ChatProvider, VideoProvider, StreamingProvider, GameStoreProvider, MembershipProvider)
