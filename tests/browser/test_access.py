"""Access to projects, invitations by link, members from lists, and failed work in a real browser."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Page, expect

from communities.models import Member
from surveys.models import PersonalLink, Project
from surveys.services.links import reminders
from tests.factories import MemberFactory
from tests.support.browser.sizes import DESK, PHONE
from tests.support.caller import TEXT, Caller
from tests.support.staff import Staff
from tests.support.surveys.project_tabs import analysis

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages


def sign_in(windows: Any, staff: Staff) -> Page:
    page = windows.open()
    name = settings.SESSION_COOKIE_NAME
    cookie = staff.client.cookies[name].value
    page.context.add_cookies([{"name": name, "value": cookie, "url": windows.address}])
    return page


def take_pictures(page: Page, name: str) -> None:
    for size, window in (("desk", DESK), ("phone", PHONE)) if PICTURES else ():
        page.set_viewport_size(window)
        page.screenshot(path=Path(str(PICTURES)) / f"{name}-{size}.png", full_page=True)
    page.set_viewport_size(DESK)


class Club:
    """An admin, two members, and an open project with links, a failed analysis and a planned reminder."""

    def __init__(self) -> None:
        boss = Caller()
        self.staff = Staff(community=boss.community)
        made = boss.make_open(TEXT, name="Your year at the club", privacy_mode="semi-private")
        self.project = Project.objects.get(pk=made["id"])
        for nick, attributes in (("Marit Solberg", {"team": "North"}), ("Jonas", {})):
            MemberFactory.create(community=boss.community, nick=nick, user__name="", attributes=attributes)
        self.member = Member.objects.get(nick="Marit Solberg")
        now = timezone.now()
        PersonalLink.objects.create(
            project=self.project, member=self.member, created_at=now, mailed_at=now, expires_at=now
        )
        reminders.plan(
            actor=boss.actor,
            project_id=self.project.pk,
            due_at=now + timedelta(days=2),
            subject="Once more",
            text="Hello [name]",
            at=now,
        )
        analysis(self.project, "failed", error="The AI provider did not answer.", created_at=now)

    def at(self, name: str) -> str:
        return f"/admin/surveys/project/{self.project.pk}/{name}/"


def test_every_page_is_accessible_and_fits(windows: Any, check_every_look: Callable[[Page], None]) -> None:
    club = Club()
    page = sign_in(windows, club.staff)
    addresses = {
        "people-empty": club.at("share/people"),
        "people-found": f"{club.at('share/people')}?search=marit",
        "links": club.at("share/links"),
        "share": club.at("share"),
        "failed-work": "/admin/failed-work/",
        "invite": "/admin/communities/member/invite/",
        "reading": f"/admin/communities/member/{club.member.pk}/reading/",
        "list": "/admin/members-from-list/",
    }

    for name, address in addresses.items():
        page.goto(address)
        take_pictures(page, name)
        check_every_look(page)


def test_a_member_is_found_and_given_access(windows: Any, check_every_look: Callable[[Page], None]) -> None:
    club = Club()
    page = sign_in(windows, club.staff)
    page.goto(club.at("share"))

    page.get_by_role("link", name="People with access").click()
    page.get_by_role("searchbox").fill("marit")
    page.get_by_role("button", name="Search").click()
    page.get_by_label("Access of Marit Solberg").select_option("Edits")
    page.get_by_role("button", name="Give access").click()

    expect(page.get_by_role("status")).to_contain_text("Saved.")
    expect(page.get_by_role("row", name="Marit Solberg")).to_contain_text("Edits")
    take_pictures(page, "people")
    check_every_look(page)
    page.goto(f"/admin/communities/member/{club.member.pk}/change/")
    expect(page.get_by_text("Access to projects")).to_be_visible()
    take_pictures(page, "profile")


def test_a_link_is_made_and_shown_once(windows: Any, check_every_look: Callable[[Page], None]) -> None:
    club = Club()
    page = sign_in(windows, club.staff)
    page.goto(club.at("share/people"))

    page.get_by_role("button", name="Make a link instead").click()

    link = page.get_by_label("Link", exact=True)
    address = link.input_value()
    assert "/account/invitations/" in address
    take_pictures(page, "link")
    check_every_look(page)
    holder = windows.open()
    holder.goto(f"/account/invitations/{address.partition('/account/invitations/')[2]}")
    expect(holder.get_by_role("button", name="Send me the invitation")).to_be_visible()
    take_pictures(holder, "link-holder")
    check_every_look(holder)


def test_a_file_of_members_is_read_looked_through_and_added(
    windows: Any, check_every_look: Callable[[Page], None]
) -> None:
    club = Club()
    page = sign_in(windows, club.staff)
    page.goto("/admin/members-from-list/")
    rows = "Name,E-mail,Team\nGrace Hopper,grace@example.org,North\nAda,no address,South\n"

    page.get_by_label("File (CSV or XLSX)").set_input_files(
        {"name": "people.csv", "mimeType": "text/csv", "buffer": rows.encode()}
    )

    expect(page.get_by_text("1 new, 0 known by their address, 1 faulty.")).to_be_visible()
    expect(page.get_by_text("Line 3: “no address” is not an e-mail address.")).to_be_visible()
    take_pictures(page, "list-found")
    check_every_look(page)
    page.get_by_role("button", name="Add 1 member").click()
    expect(page.get_by_text("1 member added, 1 fault left out.")).to_be_visible()
    assert Member.objects.get(email="grace@example.org").attributes == {"team": "North"}
