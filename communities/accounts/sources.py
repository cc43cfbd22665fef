"""The identity sources that this installation offers, as pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from communities.sources import platforms


@dataclass(frozen=True, slots=True)
class OfferedSource:
    """A source with credentials: `id` is the contract's, `name` the platform's name for people."""

    id: str
    name: str

    @property
    def login_address(self) -> str:
        """The address to which the form posts; its fields are `next` and `process` (login or connect)."""
        return reverse("source_login", args=[self.id])


def offered_sources(request: HttpRequest) -> Sequence[OfferedSource]:
    """The sources that people can sign in with here, in a fixed order."""
    return [
        OfferedSource(each, platforms.NAMES[each])
        for each in settings.SIGN_IN_SOURCES
        if platforms.is_offered(each)
    ]
