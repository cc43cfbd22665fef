"""Ids of channels, games, servers and tiers as staff type or paste them."""

from __future__ import annotations

import pytest
from django.urls import reverse

from communities.identity_providers import targets
from communities.identity_providers.targets import BadTarget
from communities.models import VerifiedSource
from tests.support.cases import try_each
from tests.support.staff import Staff

CHANNEL = "UC0123456789abcdefghij-_"


@try_each(
    ("kind", "typed", "read"),
    [
        ("video.subscribes_to", f" {CHANNEL} ", CHANNEL),
        ("video.subscribes_to", f"https://www.youtube.com/channel/{CHANNEL}/videos", CHANNEL),
        ("game_store.owns", "https://store.steampowered.com/app/286160/Tabletop_Simulator/", "286160"),
        ("game_store.owns", "286160", "286160"),
        ("chat.in_server", "https://discord.com/channels/104211771020843417/1", "104211771020843417"),
        ("membership.has_tier", "https://www.patreon.com/join/club/checkout?rid=32188", "32188"),
        ("streaming.follows", "141981764", "141981764"),
        ("video.has_account", "", ""),
    ],
)
def test_an_id_is_found_in_what_was_pasted(kind: str, typed: str, read: str) -> None:
    provider, _, rule = kind.partition(".")

    assert targets.read(provider, rule, typed) == read


@try_each(
    ("kind", "typed"),
    [
        ("video.subscribes_to", "https://www.youtube.com/@HarbourChess"),
        ("video.subscribes_to", "HarbourChess"),
        ("video.subscribes_to", CHANNEL + "x"),
        ("game_store.owns", "TabletopSimulator"),
        ("streaming.subscribes_to", "harbourchess"),
        ("chat.in_server", "1234"),
        ("membership.supports", "0"),
    ],
)
def test_what_can_never_match_is_refused_with_where_the_id_is(kind: str, typed: str) -> None:
    provider, _, rule = kind.partition(".")

    with pytest.raises(BadTarget, match="id"):
        targets.read(provider, rule, typed)


@pytest.mark.django_db
def test_the_form_keeps_the_id_of_a_pasted_address_and_refuses_a_handle_at_its_field() -> None:
    staff, add = Staff("admin"), reverse("admin:communities_verifiedsource_add")
    form = {"kind": "game_store.owns", "label": "Owners"}

    refused = staff.client.post(
        add, {"kind": "video.subscribes_to", "target": "@HarbourChess", "label": "Subscribers"}
    )
    staff.client.post(add, {**form, "target": "https://store.steampowered.com/app/286160/"})
    source = VerifiedSource.objects.get()
    edit = reverse("admin:communities_verifiedsource_edit", args=[source.pk])
    wrong = staff.client.post(edit, {"label": "Owners", "target": "the game"})
    staff.client.post(edit, {"label": "Players", "target": "400"})

    assert "begin with UC, and not its name or handle" in refused.content.decode()
    assert "The game’s id: a number" in wrong.content.decode()
    assert source.target == "286160"
    source.refresh_from_db()
    assert (source.label, source.target) == ("Players", "400")
