"""The frame of each account page: the signed-in person, the sections, and messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest
from django.utils.functional import cached_property

from communities import second_factors
from communities.accounts.offered_providers import OfferedProvider, offered_providers
from communities.accounts.sections import Section, sections
from communities.models import User


def user_of(request: HttpRequest) -> User:
    """Return the user who is signed in. Call this only in views that have checked that somebody is
    signed in.
    """
    assert isinstance(request.user, User)
    return request.user


@dataclass(frozen=True)
class Frame:
    """The values of the frame. Each value is read only when a template uses it, so that other pages cost
    nothing.
    """

    request: HttpRequest

    @cached_property
    def messages(self) -> Sequence[Message]:
        return list(messages.get_messages(self.request))

    @cached_property
    def providers(self) -> Sequence[OfferedProvider]:
        return offered_providers(self.request)

    @cached_property
    def sections(self) -> Sequence[Section]:
        return [each for each in sections if each.is_for(self.request)]

    @property
    def person(self) -> str:
        """Return the name of the user who is signed in; an empty text if nobody is signed in."""
        user = self.request.user
        return user.get_full_name() if user.is_authenticated else ""

    @property
    def forgotten_at(self) -> datetime | None:
        """Return the time when the signed-in user made all remembered browsers require a code again."""
        return user_of(self.request).browsers_forgotten_at

    @property
    def asking_for_last_factor(self) -> Sequence[str]:
        """The communities whose pages for staff close if the only second factor is removed."""
        user = user_of(self.request)
        return second_factors.asked_by(user) if second_factors.is_last(user) else []

    @property
    def may_enter_admin(self) -> bool:
        """Whether the user who is signed in may enter the admin."""
        return self.request.user.is_authenticated and user_of(self.request).may_enter_admin

    @property
    def is_superuser(self) -> bool:
        return user_of(self.request).is_superuser

    def is_here(self, section: Section) -> bool:
        path, address = self.request.path, section.address
        return path == address if section.name == "account" else path.startswith(address)


def context(request: HttpRequest) -> dict[str, object]:
    """A context processor for Jinja templates that are rendered with a request."""
    return {"frame": Frame(request)}
