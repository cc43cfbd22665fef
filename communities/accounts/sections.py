"""The sections of the account area. Apps of higher layers add their sections with `add`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from communities.accounts import chat, own_communities
from communities.accounts.offered_providers import offered_providers


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of the account area's navigation. `name` is the name of its URL; a lower `order` is first."""

    label: str
    name: str
    order: int
    is_for: Callable[[HttpRequest], bool]

    @property
    def address(self) -> str:
        return reverse(self.name)


def _everybody(request: HttpRequest) -> bool:
    return True


def _where_sources_are_offered(request: HttpRequest) -> bool:
    return bool(offered_providers(request))


sections: list[Section] = [
    Section("Overview", "account", 0, _everybody),
    Section("Your responses", "account_responses", 10, _everybody),
    Section("API keys", "account_keys", 30, own_communities.builds),
    Section("Chat", "account_chat", 45, chat.is_offered),
    Section("E-mail", "account_email", 50, _everybody),
    Section("Password", "account_change_password", 60, _everybody),
    Section("Passkeys and codes", "mfa_index", 70, _everybody),
    Section("Connected accounts", "socialaccount_connections", 75, _where_sources_are_offered),
    Section("Sessions", "usersessions_list", 80, _everybody),
    Section("Your data", "account_data", 90, _everybody),
]


def add(label: str, name: str, *, order: int, is_for: Callable[[HttpRequest], bool] = _everybody) -> None:
    """Add a section, for every signed-in user or for the users that `is_for` accepts."""
    sections.append(Section(label, name, order, is_for))
    sections.sort(key=lambda each: each.order)
