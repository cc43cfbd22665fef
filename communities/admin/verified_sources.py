"""Verified sources: rules about accounts elsewhere that a project may require of its respondents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.forms import once
from communities.ground.actors import Actor
from communities.ground.errors import Refusal
from communities.ground.form_fields import TextField
from communities.identity_providers import platforms, rules, targets
from communities.models import VerifiedSource
from communities.services.tenants import verified_sources
from communities.staff import refusals
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.listing import Column, Empty, Listing, Order
from communities.staff.texts import moment, state

WHAT_THEY_ARE = (
    "A verified source asks something of an account elsewhere: that its owner subscribes to your channel, "
    "owns your game, or supports you. Choose them under Delivery of a project, and only such people can "
    "answer it."
)
# The choices for staff: provider and rule, in words.
_KINDS: Mapping[str, str] = {
    "chat.has_account": "has an account",
    "chat.in_server": "is on a server",
    "video.has_account": "has an account",
    "video.subscribes_to": "subscribes to a channel",
    "streaming.has_account": "has an account",
    "streaming.follows": "follows a channel",
    "streaming.subscribes_to": "subscribes to a channel",
    "game_store.has_account": "has an account",
    "game_store.owns": "owns a game",
    "membership.has_account": "has an account",
    "membership.supports": "supports a campaign",
    "membership.has_tier": "has a tier",
}
KINDS: Mapping[str, str] = {
    kind: f"{platforms.NAMES[kind.partition('.')[0]]}: {text}" for kind, text in _KINDS.items()
}


class SourceForm(forms.Form):
    label = TextField(
        max_length=200,
        help_text="What respondents read, such as “Subscribers of the Harbour stream”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    target = TextField(
        # A pasted address has at most this many characters; the id in the address is shorter.
        max_length=500,
        required=False,
        label="Id",
        help_text="Of the channel, game, server, campaign or tier. Leave it empty for “has an account”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def kind_asked(self) -> str:
        """Return the chosen provider and rule, with a dot between them; an empty text if none was chosen."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        """Find the id in the pasted text."""
        cleaned = self.cleaned_data
        provider, _, rule = self.kind_asked().partition(".")
        try:
            cleaned["target"] = targets.read(provider, rule, cleaned.get("target", ""))
        except targets.BadTarget as fault:
            self.add_error("target", str(fault))
        return cleaned


class EditForm(SourceForm):
    def __init__(self, data: Mapping[str, Any] | None, *, source: VerifiedSource) -> None:
        super().__init__(data, initial={"label": source.label, "target": source.target})
        self._kind = f"{source.provider}.{source.rule}"
        shape = targets.SHAPES.get((source.provider, source.rule))
        text = shape.hint if shape else "Leave it empty: it asks for the account alone."
        self.fields["target"].help_text = text

    def kind_asked(self) -> str:
        return self._kind


class NewSourceForm(SourceForm, once.CreationForm):
    kind = forms.ChoiceField(label="What it asks", widget=forms.RadioSelect)
    field_order = ("kind", "target", "label")

    def __init__(self, data: Mapping[str, Any] | None) -> None:
        super().__init__(data)
        kind = self.fields["kind"]
        assert isinstance(kind, forms.ChoiceField)
        kind.choices = [(key, _with_hint(key)) for key in KINDS if _is_known(key)]

    def kind_asked(self) -> str:
        return str(self.cleaned_data.get("kind", ""))


@admin.register(VerifiedSource)
class VerifiedSourceAdmin(CommunityModelAdmin[VerifiedSource]):
    nav = Nav("Verified sources", "verified", 55)

    def get_urls(self) -> list[URLPattern]:
        return [
            self.row_path("edit", self.edit_view),
            self.row_path("remove", self.remove_view),
            *super().get_urls(),
        ]

    def rows(self, actor: Actor) -> QuerySet[VerifiedSource]:
        return verified_sources.in_community(community_id=actor.community_id)

    def tools(self, request: HttpRequest, actor: Actor) -> list[tuple[str, str]]:
        return [("New source", self.address("add"))]

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[VerifiedSource]:
        return Listing(
            columns=[
                Column("Name", lambda source: source.label, is_title=True),
                Column("Asks", in_words),
                Column("Id", lambda source: source.target or "–"),
                Column("People can connect it", _state_of),
                Column("Number", lambda source: source.pk, is_number=True),
            ],
            orders={"oldest": Order("Oldest first", ("id",))},
            empty=Empty(WHAT_THEY_ARE, "Make the first source", self.address("add")),
            address_of=lambda source: self.address("change", source.pk),
        )

    def detail_view(self, request: HttpRequest, actor: Actor, row: VerifiedSource) -> HttpResponse:
        context = {
            "title": row.label,
            "facts": [
                ("Asks", in_words(row)),
                ("Id", row.target or "–"),
                ("People can connect it", _state_of(row)),
                ("Number in the API", row.pk),
                ("Made", moment(row.created_at)),
            ],
            "tools": [("Edit", self.address("edit", row.pk)), ("Remove…", self.address("remove", row.pk))],
            "back": self.address("changelist"),
            "back_label": "Verified sources",
        }
        return self.render(request, "admin/detail.html", context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        actor = self.actor(request)
        form = NewSourceForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            provider, _, rule = form.cleaned_data["kind"].partition(".")

            def make() -> str:
                source = verified_sources.add(
                    actor=actor,
                    provider=provider,
                    rule=rule,
                    target=form.cleaned_data["target"],
                    label=form.cleaned_data["label"],
                    at=timezone.now(),
                )
                messages.success(
                    request, f"“{source.label}” is made. Projects can ask for it under Delivery."
                )
                return self.address("changelist")

            try:
                return once.redirect(request, form.cleaned_data["ticket"], make)
            except Refusal as refusal:
                refusals.add_to_form(form, refusal, fields={"rule": "kind"})
        context = {
            "title": "New verified source",
            "form": form,
            "button": "Make the source",
            "back": self.address("changelist"),
        }
        return self.render(request, "admin/form.html", context)

    def edit_view(self, request: HttpRequest, actor: Actor, row: VerifiedSource) -> HttpResponse:
        """Edit the name and the id. The rule itself cannot be edited, because another rule is
        another source.
        """
        form = EditForm(request.POST if request.method == "POST" else None, source=row)
        if request.method == "POST" and form.is_valid():
            try:
                verified_sources.change(actor=actor, source_id=row.pk, at=timezone.now(), **form.cleaned_data)
            except Refusal as refusal:
                refusals.add_to_form(form, refusal)
            else:
                messages.success(request, "Saved.")
                return HttpResponseRedirect(self.address("change", row.pk))
        context = {"title": f"Edit “{row.label}”", "form": form, "back": self.address("change", row.pk)}
        return self.render(request, "admin/form.html", context)

    def remove_view(self, request: HttpRequest, actor: Actor, row: VerifiedSource) -> HttpResponse:
        """Ask for confirmation, then remove the source."""
        if request.method == "POST":
            verified_sources.remove(actor=actor, source_id=row.pk, at=timezone.now())
            messages.success(request, f"“{row.label}” is removed.")
            return HttpResponseRedirect(self.address("changelist"))
        context = {
            "title": f"Remove “{row.label}”?",
            "consequences": [
                "Nobody meets it any more. A project that asks for it alone lets nobody in, until you choose "
                "another source under its Delivery.",
                "People who are answering at this moment can finish. Responses stay as they are.",
            ],
            "button": "Remove the source",
            "is_dangerous": True,
            "back": self.address("change", row.pk),
        }
        return self.render(request, "admin/confirm.html", context)


def in_words(source: VerifiedSource) -> str:
    """The rule of a source in words, such as “YouTube: subscribes to a channel”."""
    return KINDS[f"{source.provider}.{source.rule}"]


def _with_hint(kind: str) -> SafeString:
    """A choice in words, with a hint where to find the required id."""
    provider, _, rule = kind.partition(".")
    shape = targets.SHAPES.get((provider, rule))
    hint = format_html(' <span class="hint">{}</span>', shape.hint) if shape else ""
    return format_html("<span>{}{}</span>", KINDS[kind], hint)


def _is_known(kind: str) -> bool:
    provider, _, rule = kind.partition(".")
    return rule in rules.RULES.get(provider, ())


def _state_of(source: VerifiedSource) -> object:
    """Return whether people can sign in with the platform here; otherwise nobody can meet the rule."""
    if settings.SIGN_IN_PROVIDERS[source.provider].is_offered:
        return state("Yes", "good")
    return state("No: this site has no credentials for it", "bad")
