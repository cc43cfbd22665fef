"""Personal links in a real browser: as their members open them, and as staff send them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, Route, expect

from communities.models import Mail, MailRefusal, Member
from surveys.models import Answer, Conversation, PersonalLink
from surveys.services.links import addresses
from tests.support.browser.controls import go_on, question
from tests.support.browser.sizes import expect_to_fit
from tests.support.mails import unsubscribe_url
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import link_for, path_of, private
from tests.support.surveys.project_tabs import project_staff, tab

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True, caret="initial")


def block_cookies(page: Page) -> None:
    """No response gives a cookie, so no request brings one."""

    def without(route: Route) -> None:
        response = route.fetch(max_redirects=0)
        page.context.clear_cookies()  # which fetching has kept
        headers = {name: value for name, value in response.headers.items() if name != "set-cookie"}
        route.fulfill(status=response.status, headers=headers, body=response.body())

    page.route("**/*", without)


def test_with_cookies_the_address_is_clean_and_a_reload_goes_on(windows: Any, check_every_look: Any) -> None:
    marit = scenario.member("Marit")
    link = link_for(marit, private(scenario.TEXT, scenario.TEXT))

    page = windows.open(path_of(link))

    expect(page).to_have_url(f"{windows.address}/s/{link.project.slug}")
    expect(page.get_by_text("You answer as Marit")).to_be_visible()
    check_every_look(page)
    picture(page, "link-step")
    page.get_by_role("textbox").fill("Because")
    go_on(page)
    question(page, "Prompt 1.")
    page.reload()
    question(page, "Prompt 1.")
    expect(page.get_by_text("You answer as Marit")).to_be_visible()
    page.get_by_role("button", name="Not you?").click()
    expect(page.get_by_text("You answer as Marit")).to_have_count(0)
    assert Conversation.objects.get().user_id == marit.user_id


def test_on_a_phone_without_cookies_and_scripts_a_link_answers_a_private_project(
    windows: Any, check_accessibility: Any
) -> None:
    marit = scenario.member("Marit")
    link = link_for(marit, private(scenario.TEXT, scenario.TEXT))
    page = windows.open(phone=True, java_script_enabled=False)
    block_cookies(page)

    page.goto(path_of(link))
    expect(page.get_by_text("You answer as Marit")).to_be_visible()
    picture(page, "link-phone")
    for words in ("Because", "Therefore"):
        page.get_by_role("textbox").fill(words)
        page.get_by_role("button", name="Continue").click()
        assert addresses.signed(link.pk) not in page.url

    expect(page.get_by_text("Thank you.")).to_be_visible()
    assert page.context.cookies() == []
    assert sorted(Answer.objects.values_list("value", flat=True)) == ["Because", "Therefore"]
    assert Conversation.objects.get().user_id == marit.user_id


def test_without_cookies_the_script_takes_the_secret_out_of_the_address(windows: Any) -> None:
    marit = scenario.member("Marit")
    link = link_for(marit, private(scenario.TEXT, scenario.TEXT))
    page = windows.open(phone=True)
    block_cookies(page)

    page.goto(path_of(link))

    expect(page).to_have_url(f"{windows.address}/s/{link.project.slug}")
    page.get_by_role("textbox").fill("Because")
    go_on(page)
    question(page, "Prompt 1.")
    assert Conversation.objects.get().user_id == marit.user_id


def test_a_link_revoked_meanwhile_keeps_what_was_typed_in_sight(windows: Any, check_every_look: Any) -> None:
    link = link_for(scenario.member("Marit"), private(scenario.TEXT, scenario.TEXT))
    page = windows.open(path_of(link))
    PersonalLink.objects.update(revoked_at=link.created_at)

    page.get_by_role("textbox").fill("A long thought")
    page.get_by_role("button", name="Continue").click()

    expect(page.get_by_text("This link was withdrawn.")).to_be_visible()
    expect(page.get_by_label("Your answer, which was not saved")).to_have_value("A long thought")
    expect(page.get_by_text("You answer as Marit")).to_have_count(0)
    check_every_look(page)
    picture(page, "link-revoked")
    page.get_by_role("button", name="Go on without this link").click()
    expect(page.get_by_text("This link was withdrawn.")).to_have_count(0)


def test_staff_send_links_and_see_how_far_they_are(windows: Any, check_every_look: Any) -> None:
    staff, project = project_staff(), private(name="First moves")
    for name in ("Marit", "Olav", "Priya"):
        member = scenario.member(name)
        if name != "Priya":
            Member.objects.filter(pk=member.pk).update(email=f"{name.lower()}@example.org")
    page = windows.open()
    name = settings.SESSION_COOKIE_NAME
    cookie = staff.client.cookies[name].value
    page.context.add_cookies([{"name": name, "value": cookie, "url": windows.address}])

    page.goto(tab(project.pk, "share"))
    picture(page, "share-desk")
    page.get_by_role("link", name="Personal links").click()
    page.wait_for_url("**/share/links/")
    check_every_look(page)
    page.get_by_role("link", name="Send links").click()
    page.wait_for_url("**/share/links/send/")
    check_every_look(page)
    for size in ("desk", "phone"):
        page.set_viewport_size({"width": 1280 if size == "desk" else 390, "height": 800})
        picture(page, f"send-{size}")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="Send 2 mails?")).to_be_visible()
    check_every_look(page)
    picture(page, "preview-desk")
    page.get_by_role("button", name="Send 2 mails").click()
    expect(page.get_by_text("2 mails will be sent now.")).to_be_visible()
    check_every_look(page)
    picture(page, "links-desk")
    page.set_viewport_size({"width": 390, "height": 800})
    picture(page, "links-phone")
    page.get_by_role("link", name="Marit").click()
    page.wait_for_url("**/share/links/*-*/")  # a click does not wait for the page that it opens
    expect_to_fit(page)
    check_every_look(page)
    picture(page, "link-one-desk")

    assert Mail.objects.count() == 2


def test_unsubscribing_takes_one_button_without_scripts(windows: Any, check_every_look: Any) -> None:
    member = scenario.member("Marit")
    url = unsubscribe_url(member, "marit@example.org")
    page = windows.open(url[url.index("/mail/") :])

    check_every_look(page)
    picture(page, "unsubscribe")
    page.get_by_role("button", name="Unsubscribe").click()
    expect(page.get_by_role("heading", name="You get no more mails")).to_be_visible()
    check_every_look(page)
    picture(page, "unsubscribed")

    assert MailRefusal.objects.exists()
