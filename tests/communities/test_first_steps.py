"""The first steps of a new community are ticked after somebody has done them."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from django.utils import timezone

from communities.admin.home import first_steps
from communities.ground.actors import Actor
from communities.services.tenants import settings, setup
from communities.services.tenants.communities import create_community, propose_id
from tests.factories import StaffFactory

pytestmark = pytest.mark.django_db


def new_club() -> Actor:
    at = timezone.now()
    founder = StaffFactory.create(is_superuser=True)
    club = create_community(
        by_user_id=founder.pk,
        community_id=propose_id(at=at),
        name="Rowing Club",
        tier="basic",
        bot_credits=0,
        at=at,
    )
    return Actor(founder.pk, "admin", club.pk, "basic")


def ticks(actor: Actor) -> dict[str, bool]:
    """The steps of settings by the field that each leads to, and whether they are ticked off."""
    steps = first_steps(RequestFactory().get("/admin/"), actor)
    return {each.address.partition("#id_")[2]: each.is_done for each in steps if "#" in each.address}


SETTINGS = {"locale": "nb", "time_zone": "Europe/Oslo", "default_anonymous_mode": "yes"}


@pytest.mark.parametrize("chosen", SETTINGS)
def test_a_setting_is_ticked_off_once_somebody_has_chosen_that_one(chosen: str) -> None:
    actor = new_club()
    before = ticks(actor)

    settings.save_settings(actor=actor, changes={chosen: SETTINGS[chosen]}, at=timezone.now())

    assert before == dict.fromkeys(SETTINGS, False)
    assert ticks(actor) == {name: name == chosen for name in SETTINGS}


def test_a_default_that_is_chosen_again_stays_ticked_off() -> None:
    actor = new_club()
    for zone in ("Europe/Oslo", "UTC"):
        settings.save_settings(actor=actor, changes={"time_zone": zone}, at=timezone.now())

    assert ticks(actor)["time_zone"]


def test_saving_the_suggested_zone_as_it_is_ticks_off_its_step() -> None:
    actor = new_club()

    kept = [settings.keep_settings(actor=actor, names=["time_zone"], at=timezone.now()) for _ in range(2)]

    assert [list(each) for each in kept] == [["time_zone"], []]
    assert ticks(actor) == {name: name == "time_zone" for name in SETTINGS}


def test_the_set_up_ticks_off_what_it_asks_for() -> None:
    actor = new_club()
    privacy = {"default_anonymous_mode": "no"}

    setup.save_step(actor=actor, of_community={}, of_settings=privacy, is_last=True, at=timezone.now())

    assert ticks(actor) == {"locale": False, "time_zone": False, "default_anonymous_mode": True}
