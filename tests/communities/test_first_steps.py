"""The first steps of a new community are ticked off by what somebody did."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from django.utils import timezone

from communities.actors import Actor
from communities.admin.home import first_steps
from communities.services import settings
from communities.services.communities import create_community, propose_id
from tests.factories import StaffFactory

pytestmark = pytest.mark.django_db


def test_language_and_zone_are_ticked_off_once_somebody_has_chosen_them() -> None:
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
    actor = Actor(founder.pk, "admin", club.pk, "basic")

    def is_done() -> bool:
        steps = first_steps(RequestFactory().get("/admin/"), actor)
        return next(each.is_done for each in steps if "language, time zone" in each.text)

    before = is_done()
    settings.save_settings(actor=actor, changes={"time_zone": "Europe/Oslo"}, at=at)

    assert (before, is_done()) == (False, True)
