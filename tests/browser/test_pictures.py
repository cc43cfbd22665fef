"""Pictures in a real browser: pages load them only from this site (rule 7.15)."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect

from surveys.models import Project
from surveys.services.ground import field_groups
from tests.support.browser.controls import choose, go_on, question
from tests.support.browser.editor import wait_until_still
from tests.support.picture_host import PictureHost
from tests.support.pictures import copied, drawn
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import project_staff, tab
from tests.support.surveys.rewards import QUESTION, giving, project
from tests.support.surveys.scenario import SAYING, TEXT
from xp.services import achievements

pytestmark = pytest.mark.django_db(transaction=True)
# Pictures that the browser has loaded, each as wide as its file.
ALL_DRAWN = "images => Promise.all(images.map(image => image.decode()))"
REFUSED = """address => new Promise(done => {
  document.addEventListener("securitypolicyviolation", event => done(event.effectiveDirective));
  document.body.append(Object.assign(new Image(), { src: address }));
})"""
SHIFT = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => list.getEntries().forEach(each => { sum += each.value; }))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 200);
})"""


def hosts_of(page: Page) -> set[str]:
    """The hosts that a page asks for anything, from now on."""
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    return hosts


def test_an_anonymous_survey_loads_no_picture_from_its_author(windows: Any) -> None:
    own = {name: f"https://author.example/{name}.png" for name in ("a", "b", "c", "d", "e")}
    community_id = scenario.community().pk
    made = project(
        {**SAYING, "prompt": f"[Look]({own['e']}) ![here]({own['e']})", "image_url": own["a"]},
        {**QUESTION, "image_url": own["b"], "thumbnail_url": own["c"]},
        giving("give_achievement", prompt="For the wall.", xp_role_id=7),
        privacy_mode=Project.PrivacyMode.ANONYMOUS,
    )
    achievements.define(community_id=community_id, number=7, name="Owl", image_url=own["d"])
    for name in ("b", "d"):  # the others have not been fetched
        copied(community_id, own[name], width=1200, height=900)
    client = Client()
    client.force_login(scenario.member().user)
    page = signed_in_at(windows, client, "/healthz")
    hosts = hosts_of(page)

    page.goto(f"/s/{made.slug}")
    expect(page.locator("#answer img")).to_have_count(0)
    go_on(page)
    expect(page.locator("#answer img.picture")).to_have_count(1)
    page.locator("#answer img").evaluate_all(ALL_DRAWN)
    box = page.locator("#answer img.picture").bounding_box()
    choose(page, "red")
    go_on(page)
    question(page, "For the wall.")
    page.locator("#question img").evaluate_all(ALL_DRAWN)

    assert box is not None
    assert (round(box["width"]), round(box["height"])) == (230, 173)  # the window is low (rule 6.444)
    assert hosts == {urlsplit(windows.address).netloc}


def test_the_page_leaves_room_for_a_picture(windows: Any) -> None:
    """Rules 6.444, 6.740 and 6.861."""
    address = "https://author.example/a.png"
    broad = "https://author.example/b.png"
    made = scenario.project(
        {**QUESTION, "image_url": address}, *[{**TEXT, "image_url": each} for each in (address, broad)]
    )
    copied(made.community_id, address, width=1200, height=900)
    copied(made.community_id, broad, width=1200, height=480)
    page = windows.open(f"/s/{made.slug}", phone=True)

    page.locator("#answer img").evaluate_all(ALL_DRAWN)

    assert page.evaluate(SHIFT) < 0.01
    box = page.locator("#answer img.picture").bounding_box()
    assert box is not None
    assert box["width"] / box["height"] == pytest.approx(4 / 3, abs=0.05)
    assert page.evaluate("document.querySelector('#question').getBoundingClientRect().top < innerHeight / 2")
    assert page.evaluate("document.querySelector('#answer img').clientHeight < innerHeight / 4")

    page.set_viewport_size({"width": 320, "height": 640})
    page.locator("#answer .option").first.click()
    go_on(page)
    question(page, "Prompt 1.")
    wait_until_still(page.locator("#question"))
    assert page.locator("#question").bounding_box()["y"] < 640 / 2

    go_on(page)
    question(page, "Prompt 2.")
    box = page.locator("#answer img.picture").bounding_box()
    assert box is not None
    assert box["width"] / box["height"] == pytest.approx(1200 / 480, abs=0.05)


def test_a_browser_refuses_a_picture_of_another_host(windows: Any) -> None:
    """If a page had one after all: the policy is what keeps the author from learning of it."""
    with PictureHost() as author:
        address = author.serve("/a.png", drawn())
        page = windows.open(f"/s/{scenario.project(QUESTION).slug}")

        refused = page.evaluate(REFUSED, address)

        assert refused == "img-src"
        assert author.asked == []
        assert "img-src 'self' data:" in windows.complaints.pop()


def test_staff_see_our_copy_beside_its_address_and_why_there_is_none(windows: Any) -> None:
    with PictureHost() as author:
        address = author.serve("/a.png", drawn())
        rewards = {**field_groups.empty("rewards"), "achievement_image_url": address}
        staff = project_staff()
        made = scenario.project(QUESTION, author=staff.user, rewards=rewards, delivery=None)
        copy = copied(made.community_id, address)
        page = signed_in_at(windows, staff.client, tab(made.pk, "rewards"))
        hosts = hosts_of(page)
        field = page.get_by_label("Its picture", exact=True)
        shown = page.locator(".field img.thumbnail")

        expect(shown).to_have_attribute("src", f"/pictures/{copy.name}")
        expect(page.locator(".badge-preview img")).to_have_attribute("src", f"/pictures/{copy.name}")
        field.fill("https://author.example/b.png")
        field.blur()
        expect(page.get_by_role("status").filter(has_text="once the address is saved")).to_be_visible()
        expect(shown).to_be_hidden()
        field.fill("http://author.example/b.png")
        field.blur()
        expect(page.get_by_role("status").filter(has_text="must begin with https://")).to_be_visible()

        assert hosts == {urlsplit(windows.address).netloc}
        assert author.asked == []


def signed_in_at(windows: Any, client: Client, path: str) -> Page:
    """A page of the site, with the session of this client."""
    page: Page = windows.open()
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": windows.address}])
    page.goto(path)
    return page
