"""Members, achievements, API keys and the community's page in a real browser."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse
from playwright.sync_api import Page, expect

from communities.models import ApiKey, CommunitySettings, Member
from tests.factories import (
    ApiKeyFactory,
    ConversationFactory,
    IdentityFactory,
    MemberFactory,
    ProjectFactory,
)
from tests.support.moments import NOON
from tests.support.staff import Staff
from tests.support.xp.ledger import award
from xp.services import achievements, roles

pytestmark = pytest.mark.django_db(transaction=True)

PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages
NAMES = ("Marit Solberg", "Jonas", "Priya", "Tomasz", "Aiko", "Lea", "Oleg", "Fatima", "Björn", "Chidi")


def club() -> tuple[Staff, Member]:
    """An admin of a club with ten members, of whom the first has much XP."""
    staff = Staff()
    members = [
        MemberFactory.create(community=staff.community, nick=nick, user__name="", joined_at=NOON)
        for nick in NAMES
    ]
    for number, name in enumerate(("Marathon", "Early bird", "A hundred answers"), start=1):
        achievements.define(community_id=staff.community.pk, name=name)
        achievements.grant(
            member_id=members[0].pk, number=number, name=name, image_url=None, project_id=1, at=NOON
        )
    for place, member in enumerate(members):
        award(member, 640 - 60 * place, note="Helped at the club evening", actor_id=staff.user.pk)
    award(members[0], -25, note="Counted twice", actor_id=staff.user.pk)
    roles.grant(
        member_id=members[0].pk,
        role_id="8820017",
        project_id=1,
        project_name="Your year at the club",
        at=NOON,
    )
    IdentityFactory.create(user=members[0].user)
    project = ProjectFactory.create(community=staff.community, name="Your year at the club", is_open=True)
    ConversationFactory.create(project=project, user=members[0].user, completed_at=NOON)
    ApiKeyFactory.create(community=staff.community, user=staff.user, name="Website")
    ApiKeyFactory.create(community=staff.community, user=staff.user, name="Old", revoked_at=NOON)
    return staff, members[0]


def sign_in(windows: Any, staff: Staff, **options: object) -> Page:
    page = windows.open(**options)
    name = settings.SESSION_COOKIE_NAME
    cookie = staff.client.cookies[name].value
    page.context.add_cookies([{"name": name, "value": cookie, "url": windows.address}])
    return page


def address(name: str, *args: object) -> str:
    return reverse(f"admin:{name}", args=args)


def addresses(staff: Staff, member: Member) -> dict[str, str]:
    key = ApiKey.objects.get(name="Website").pk
    return {
        "members": address("communities_member_changelist"),
        "profile": address("communities_member_change", member.pk),
        "ledger": address("communities_member_ledger", member.pk),
        "award": address("communities_member_award", member.pk),
        "access": address("communities_member_access", member.pk),
        "erase": address("communities_member_erase", member.pk),
        "achievements": address("xp_achievement_changelist"),
        "achievement": address("xp_achievement_change", 0),
        "roles": address("xp_rolegrant_changelist"),
        "keys": address("communities_apikey_changelist"),
        "key": address("communities_apikey_change", key),
        "new key": address("communities_apikey_add"),
        "revoke": address("communities_apikey_revoke", key),
        "community": address("communities_communitysettings_change", staff.community.pk),
    }


def take_picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def test_every_page_is_accessible_and_fits(windows: Any, check_every_look: Callable[[Page], None]) -> None:
    staff, member = club()
    number = achievements.in_community(community_id=staff.community.pk)[0].pk
    page = sign_in(windows, staff)

    for name, place in addresses(staff, member).items():
        page.goto(place.replace("/achievement/0/", f"/achievement/{number}/"))
        take_picture(page, name)
        check_every_look(page)


def test_an_api_key_is_made_by_keyboard_and_its_secret_copied_once(
    windows: Any, check_accessibility: Callable[[Page], None]
) -> None:
    staff, _ = club()
    page = sign_in(windows, staff)
    page.goto(address("communities_apikey_changelist"))
    page.get_by_role("link", name="New API key").press("Enter")

    page.get_by_label("Name", exact=True).fill("Bot")
    page.get_by_label("Name", exact=True).press("Enter")

    secret = page.get_by_label("Secret of “Bot”")
    expect(secret).to_be_focused()
    check_accessibility(page)
    take_picture(page, "secret-light")
    value = secret.input_value()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == value
    assert re.fullmatch(r"cq_live_[\w-]{43}", value)
    assert value not in page.url
    page.get_by_role("link", name="I have copied it").click()
    assert value not in page.content()


def test_xp_is_given_after_a_question_and_erasing_somebody_takes_their_typed_name(windows: Any) -> None:
    staff, member = club()
    page = sign_in(windows, staff)
    page.goto(address("communities_member_change", member.pk))
    page.get_by_role("link", name="Give or take XP").click()

    page.get_by_label("How much XP").fill("40")
    page.get_by_label("Note optional").fill("For the tournament")
    page.get_by_role("button", name="Go on").click()

    expect(page.get_by_text("The total changes from 615 to 655 XP.")).to_be_visible()
    take_picture(page, "award-question-light")
    page.get_by_role("button", name="Give 40 XP").click()
    entry = page.get_by_role("row", name=re.compile("For the tournament"))
    expect(entry).to_contain_text("+40")
    expect(page.get_by_text("655 XP", exact=False).first).to_be_visible()

    page.goto(address("communities_member_change", member.pk))
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Erase this person").click()

    page.get_by_label("Type the name of the person").fill("Marit")
    page.get_by_role("button", name="Erase this person").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not the name.")
    assert Member.objects.filter(pk=member.pk).exists()
    page.get_by_label("Type the name of the person").fill("Marit Solberg")
    page.get_by_role("button", name="Erase this person").click()

    expect(page.get_by_text("The person is erased.")).to_be_visible()
    assert not Member.objects.filter(pk=member.pk).exists()


def test_the_preview_follows_the_words_of_thanks_and_a_zone_is_found(windows: Any) -> None:
    staff, _ = club()
    page = sign_in(windows, staff)
    page.goto(address("communities_communitysettings_change", staff.community.pk))
    preview = page.get_by_role("group", name="Preview", exact=True)
    expect(preview).to_contain_text("Your answers have been saved.")

    page.get_by_label("Sober, as on a form").check()
    expect(preview).to_contain_text("Your response has been recorded.")
    page.get_by_label("Your own words optional").fill("See you on Tuesday!")
    page.get_by_label("Your own words", exact=True).check()
    expect(preview).to_contain_text("See you on Tuesday!")
    page.get_by_label("Time zone").fill("europe/nowhere")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_label("Time zone").fill("Europe/Oslo")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Saved.")).to_be_visible()
    saved = CommunitySettings.objects.get(pk=staff.community.pk)
    assert (saved.time_zone, saved.thank_you_custom_message) == ("Europe/Oslo", "See you on Tuesday!")
