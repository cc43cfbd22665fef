"""API keys: admins create, rotate and revoke them. A secret is shown on one page, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.forms import once
from communities.forms.keys import NewKeyForm
from communities.gate.authentication import caller_cache
from communities.ground.actors import Actor
from communities.ground.errors import Conflict, Refusal
from communities.models import ApiKey, Member
from communities.services.api_keys import key_listing, keys
from communities.staff import refusals
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.site import time_zone_of
from communities.staff.texts import moment, state

WHAT_KEYS_ARE = (
    "An API key lets a website or a program work with this community's projects. It acts in the name of "
    "the person who made it."
)
SENT_TWICE = (
    "This form was sent before, so nothing was changed this time. Its secret was shown then and cannot be "
    "shown again; rotate the key for a new one."
)


@admin.register(ApiKey)
class ApiKeyAdmin(CommunityModelAdmin[ApiKey]):
    nav = Nav("API keys", "key", 50)

    def get_urls(self) -> list[URLPattern]:
        return [
            self.row_path("rotate", self.rotate_view),
            self.row_path("revoke", self.revoke_view),
            *super().get_urls(),
        ]

    def tools(self, request: HttpRequest, actor: Actor) -> list[tuple[str, str]]:
        return [("New API key", self.address("add"))]

    # --- Reading --------------------------------------------------------------------------------------

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[ApiKey]:
        at, names, access = timezone.now(), dict[int, str](), dict[int, str]()

        def load(rows: Sequence[ApiKey]) -> None:
            names.update(_names(actor, rows))
            access.update(_access_of_makers(actor, rows))

        return Listing(
            columns=[
                Column("Name", lambda key: key.name, is_title=True),
                Column("Role", lambda key: role_of(key, access)),
                Column("May send", lambda key: key_listing.SCOPES[ApiKey.Scope(key.scope)]),
                Column("Begins with", lambda key: format_html("<code>{}…</code>", key.key_prefix)),
                Column("State", lambda key: state_of(key, at, access)),
                Column("Last used", lambda key: moment(key.last_used_at) if key.last_used_at else "Never"),
                Column("Works until", lambda key: moment(key.expires_at) if key.expires_at else "No end"),
                Column("Made by", lambda key: names.get(key.user_id, "–")),
            ],
            orders={"newest": Order("Newest first", ("-id",))},
            filters=[Filter("state", "State", [("live", "In use"), ("revoked", "Revoked")], _by_state)],
            empty=Empty(WHAT_KEYS_ARE, "Make the first API key", self.address("add")),
            address_of=lambda key: self.address("change", key.pk),
            load=load,
        )

    def detail_view(self, request: HttpRequest, actor: Actor, row: ApiKey) -> HttpResponse:
        at, names, access = timezone.now(), _names(actor, [row]), _access_of_makers(actor, [row])
        rotated = moment(row.rotated_at)
        if row.rotated_by_id:
            rotated = format_html("{} by {}", rotated, names.get(row.rotated_by_id, "somebody who left"))
        facts: list[tuple[str, object]] = [
            ("State", state_of(row, at, access)),
            ("Role", role_of(row, access)),
            ("May send", key_listing.SCOPES[ApiKey.Scope(row.scope)]),
            ("Begins with", format_html("<code>{}…</code>", row.key_prefix)),
            ("Made by", names.get(row.user_id, "–")),
            ("Made", moment(row.created_at)),
            ("Last used", moment(row.last_used_at) if row.last_used_at else "Never"),
            ("Works until", moment(row.expires_at) if row.expires_at else "No end"),
            ("Last rotated", rotated if row.rotated_at else "Never"),
        ]
        if row.is_active_at(at) and row.previous_expires_at and row.previous_expires_at > at:
            facts.append(("Its earlier secret works until", moment(row.previous_expires_at)))
        context = {
            "title": row.name,
            "subtitle": row.description,
            "facts": facts,
            "tools": self._tools_of(row, at),
            "back": self.address("changelist"),
            "back_label": "API keys",
        }
        return self.render(request, "admin/detail.html", context)

    def _tools_of(self, key: ApiKey, at: datetime) -> list[tuple[str, str]]:
        rotate = [("Rotate…", self.address("rotate", key.pk))] if key.is_active_at(at) else []
        revoke = [("Revoke…", self.address("revoke", key.pk))] if key.revoked_at is None else []
        return [*rotate, *revoke]

    # --- Changing -------------------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        actor, at = self.actor(request), timezone.now()
        own = key_listing.present_access(community_id=actor.community_id, user_ids=[actor.user_id])
        access = own.get(actor.user_id)
        form = NewKeyForm(
            request.POST if request.method == "POST" else None,
            at=at,
            zone=time_zone_of(request),
            is_admin=access == Member.Access.ADMIN,
        )
        if access is not None and request.method == "POST" and form.is_valid():
            try:
                with transaction.atomic():
                    if not once.use(request, form.cleaned_data["ticket"]):
                        return self._sent_twice(request, form.cleaned_data["ticket"])
                    key, secret = keys.create_key(
                        actor=actor,
                        community_id=actor.community_id,
                        user_id=actor.user_id,
                        name=form.cleaned_data["name"],
                        description=form.cleaned_data["description"] or None,
                        restricted_to=form.cleaned_data.get("role") or None,
                        scope=form.cleaned_data["scope"],
                        mode=form.cleaned_data["mode"],
                        expires_at=form.expires_at,
                        at=at,
                    )
                    once.note(request, form.cleaned_data["ticket"], self.address("change", key.pk))
            except Refusal as refusal:
                refusals.add_to_form(form, refusal)
            else:
                return self._show_secret(request, key, secret, title="The key is made")
        context = {
            "title": "New API key",
            "form": form,
            "button": "Make the key",
            "back": self.address("changelist"),
            "access": access,
        }
        return self.render(request, "admin/communities/apikey/new.html", context)

    def rotate_view(self, request: HttpRequest, actor: Actor, row: ApiKey) -> HttpResponse:
        """Ask for confirmation, then give the key a new secret and show it."""
        form, at = once.TicketForm(request.POST if request.method == "POST" else None), timezone.now()
        if request.method == "POST" and form.is_valid():
            try:
                with transaction.atomic():
                    if not once.use(request, form.cleaned_data["ticket"]):
                        return self._sent_twice(request, form.cleaned_data["ticket"])
                    key, secret = keys.rotate_key(actor=actor, key_id=row.pk, at=at)
            except Conflict as refusal:
                refusals.add_to_form(form, refusal)
            else:
                title = "The key has a new secret"
                return self._show_secret(request, key, secret, title=title, has_earlier=True)
        maker = _names(actor, [row]).get(row.user_id, "its maker")
        acts_for_another = [
            f"The key still acts in the name of {maker}. The history records that you rotated it."
        ]
        context = {
            "title": f"Rotate “{row.name}”?",
            "consequences": [
                "The key gets a new secret, which is shown to you once.",
                "Its current secret works for another 24 hours, so that you can replace it without a gap.",
                *(acts_for_another if row.user_id != actor.user_id else []),
            ],
            "form": form,
            "button": "Rotate the key",
            "back": self.address("change", row.pk),
        }
        return self.render(request, "admin/confirm.html", context)

    def revoke_view(self, request: HttpRequest, actor: Actor, row: ApiKey) -> HttpResponse:
        """Ask for confirmation, then revoke the key."""
        if request.method == "POST":
            with transaction.atomic():
                keys.revoke_key(
                    actor=actor, community_id=actor.community_id, key_id=row.pk, at=timezone.now()
                )
                # The cache is emptied, so that the change is effective in this process even while Redis is
                # down.
                transaction.on_commit(caller_cache.clear)
            messages.success(request, f"“{row.name}” is revoked.")
            return HttpResponseRedirect(self.address("change", row.pk))
        used = (
            format_html("It was last used on {}.", moment(row.last_used_at))
            if row.last_used_at
            else "It was never used."
        )
        context = {
            "title": f"Revoke “{row.name}”?",
            "consequences": [
                "From now on, requests with this key are refused.",
                used,
                "This cannot be undone. A new key has another secret.",
            ],
            "button": "Revoke the key",
            "is_dangerous": True,
            "back": self.address("change", row.pk),
        }
        return self.render(request, "admin/confirm.html", context)

    def _show_secret(
        self, request: HttpRequest, key: ApiKey, secret: str, *, title: str, has_earlier: bool = False
    ) -> HttpResponse:
        context = {
            "title": title,
            "key": key,
            "secret": secret,
            "has_earlier": has_earlier,
            "address": self.address("change", key.pk),
        }
        return self.render(request, "admin/communities/apikey/secret.html", context)

    def _sent_twice(self, request: HttpRequest, ticket: str) -> HttpResponse:
        once.say_sent_before(request, SENT_TWICE)
        return HttpResponseRedirect(once.noted(request, ticket, default=self.address("changelist")))


def role_of(key: ApiKey, access: Mapping[int, str]) -> str:
    """Return the current role of a key. It is the role to which the key is restricted, or the role of its
    maker in `access`.
    """
    return (key.restricted_to or access.get(key.user_id, "–")).capitalize()


def state_of(key: ApiKey, at: datetime, access: Mapping[int, str]) -> SafeString:
    """The state of a key in words, with a symbol. Keys of people who have left are refused."""
    found = key_listing.state_of(key, at=at, access=access)
    return state(found.label, "good" if found == key_listing.KeyState.IN_USE else "bad")


def _by_state(rows: Any, value: str) -> Any:
    return rows.filter(revoked_at__isnull=value == "live")


def _access_of_makers(actor: Actor, rows: Sequence[ApiKey]) -> dict[int, str]:
    """Return the access of the makers who are present members, by user id. A key has the access of
    its maker.
    """
    user_ids = {key.user_id for key in rows}
    return key_listing.present_access(community_id=actor.community_id, user_ids=user_ids)


def _names(actor: Actor, rows: Sequence[ApiKey]) -> dict[int, str]:
    return key_listing.names_of(community_id=actor.community_id, keys=rows)
