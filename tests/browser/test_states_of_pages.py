"""Pages in states of their own: other ends, refusals, polls and faces."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from surveys.engine.script import Scale
from surveys.models import Project
from tests.support.browser.controls import choose, go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)
SHOTS = os.environ.get("SHOTS")
Check = Callable[[Page], None]
FACES = {
    "type": "rating",
    "max": 5,
    "scale": Scale("emoji", None, None, None),
    "options": [{"value": f"{n}", "emoji": face} for n, face in enumerate("😡🙁😐🙂😍", start=1)],
}


def shoot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


def opened(windows: Any, made: Any, **options: Any) -> Page:
    page: Page = windows.open(f"/s/{made.slug}", **options)
    return page


def test_an_end_of_its_own(windows: Any, check_every_look: Check) -> None:
    end = {
        "where": 'colour = "red"',
        "message": "Red is **great**.",
        "url": "https://a.example/",
        "label": "Go",
    }
    made = scenario.project({**CHOICE, "name": "colour"}, ends=[{**end, "redirect": False}])
    page = opened(windows, made)

    choose(page, "red")
    go_on(page)

    expect(page.get_by_role("link", name="Go", exact=True)).to_be_visible()
    shoot(page, "state-end")
    check_every_look(page)


def test_a_refusal_at_the_end_and_at_the_review(windows: Any, check_every_look: Check) -> None:
    for review in (False, True):
        made = scenario.project(TEXT, {**CHOICE, "name": "colour"}, max_completes=1, review=review)
        page = opened(windows, made)
        page.get_by_label("Prompt 0.").fill("because")
        go_on(page)
        question(page, "Prompt 1.")
        scenario.say(scenario.begin(made), "because", 0)
        choose(page, "red")
        go_on(page)
        if review:
            page.get_by_role("button", name="Send my answers").click()

        question(page, "We have all the answers that we need.")
        shoot(page, f"state-full-{'review' if review else 'end'}")
        check_every_look(page)


POLL: dict[str, Any] = {"type": "poll", "change_poll": True, "max_completes_per_user": 1}


@pytest.mark.parametrize(
    ("mode", "privacy_mode"),
    [
        ("public", "transparent"),
        ("public", "anonymous"),
        ("voters_only", "anonymous"),
        ("hidden", "transparent"),
    ],
)
def test_a_poll_before_and_after_a_vote_and_closed(
    windows: Any, check_accessibility: Check, mode: str, privacy_mode: str
) -> None:
    made = scenario.project(CHOICE, **POLL, poll_results_mode=mode, privacy_mode=privacy_mode)
    page = opened(windows, made)
    shoot(page, f"poll-{privacy_mode}-{mode}-1")
    check_accessibility(page)
    choose(page, "red")
    page.get_by_role("button", name="Vote").click()
    question(page, "Thank you.")
    shoot(page, f"poll-{privacy_mode}-{mode}-2")
    check_accessibility(page)

    Project.objects.filter(pk=made.pk).update(status="inactive", opened_at=timezone.now())
    page.goto(f"/s/{made.slug}")
    shoot(page, f"poll-{privacy_mode}-{mode}-3")
    check_accessibility(page)
    stranger = opened(windows, made)
    shoot(stranger, f"poll-{privacy_mode}-{mode}-4")
    check_accessibility(stranger)


def test_faces_have_words_that_can_be_seen(windows: Any, check_every_look: Check) -> None:
    """Rule 6.297."""
    page = opened(windows, scenario.project(FACES))

    expect(page.locator(".cells .point")).to_have_text(["1", "2", "3", "4", "5"])
    shoot(page, "state-faces")
    check_every_look(page)
