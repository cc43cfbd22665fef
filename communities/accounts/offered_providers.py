"""The identity providers that this installation offers, as pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from communities.identity_providers import platforms


@dataclass(frozen=True, slots=True)
class OfferedProvider:
    """An identity provider with credentials: `id` is the contract's name, `name` the platform's."""

    id: str
    name: str

    @property
    def login_address(self) -> str:
        """The address to which the form posts; its fields are `next` and `process` (login or connect)."""
        return reverse("source_login", args=[self.id])


def offered_providers(request: HttpRequest) -> Sequence[OfferedProvider]:
    """The identity providers that people can sign in with here, in a fixed order."""
    return [
        OfferedProvider(each, platforms.NAMES[each])
        for each in settings.SIGN_IN_PROVIDERS
        if platforms.is_offered(each)
    ]
