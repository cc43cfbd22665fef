"""A person's own area: the overview, their responses, their data, leaving and erasing."""

from __future__ import annotations

import csv
import io
import json
import time
import tracemalloc
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from communities.gate import downloads
from communities.ground import slots as large_slots
from communities.ground.slots import Slots
from communities.models import Member, User
from communities.services.people import sign_ins
from surveys.models import Conversation, Project
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.people import own_data, own_responses
from tests.factories import CommunitySettingsFactory, EarnedAchievementFactory, StandingFactory
from tests.support.moments import LUNCHTIME, NOON
from tests.support.surveys import exports, scenario
from tests.support.surveys.plain_counts import pack_answer_rows
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


def _browser(user: User, *, proved_at: float | None = None) -> Client:
    """A browser in which somebody is signed in, and proved to be themselves at a time; by default now."""
    client = Client()
    client.force_login(user)
    session = client.session
    session[sign_ins.METHODS] = [
        {"method": "password", "at": proved_at or time.time(), "reauthenticated": True}
    ]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
    return client


def _text(response: Any) -> str:
    return response.content.decode()


def _answered(member: Member, *said: str, **fields: Any) -> Conversation:
    made = scenario.project({**TEXT, "prompt": "Why?"}, {**TEXT, "prompt": "And else?"}, **fields)
    respondent = admission.person(community_id=1, user_id=member.user_id)
    assert respondent is not None
    told = conversations.begin(project_id=made.pk, respondent=respondent, at=LUNCHTIME)
    scenario.say(told, *said)
    return Conversation.objects.get(pk=told.conversation.pk)


@pytest.mark.parametrize("page", ["", "responses/", "data/", "data/erase/", "data/leave/1/"])
def test_a_visitor_is_led_to_the_sign_in(page: str, client: Client) -> None:
    response = client.get(f"/account/{page}")

    assert response.status_code == 302
    assert response["Location"] == f"/account/login/?next=/account/{page}"


def test_the_overview_shows_memberships_with_xp_and_what_can_be_continued() -> None:
    member = scenario.member("Ann")
    CommunitySettingsFactory.create(community_id=1, xp_name="Gems")
    StandingFactory.create(member=member, xp_total=350)
    EarnedAchievementFactory.create(member=member, number=1, name="Early bird")
    running = _answered(member, "Because", name="Half done")

    page = _text(_browser(member.user).get("/account/"))

    assert "Community 1" in page
    assert "Level 2" in page
    assert "350 Gems" in page
    assert "Early bird" in page
    assert "Half done" in page
    assert f'href="/s/{running.project.slug}"' in page


@pytest.mark.parametrize(("count", "shown", "has_more"), [(2, 2, False), (3, 2, True)])
def test_the_overview_shows_the_newest_achievements(
    count: int, shown: int, has_more: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_responses, "MAX_ACHIEVEMENTS", 2)
    member = scenario.member("Ann")
    for n in range(count):
        EarnedAchievementFactory.create(
            member=member, number=n + 1, name=f"Badge {n + 1}", awarded_at=NOON + timedelta(hours=n)
        )

    page = _text(_browser(member.user).get("/account/"))

    assert [n + 1 for n in range(count) if f"Badge {n + 1}" in page] == [*range(count - shown + 1, count + 1)]
    assert ("You earned more before these." in page) == has_more


def test_the_overview_leads_to_what_is_open_and_not_begun() -> None:
    member = scenario.member("Ann")
    wanted = scenario.project(TEXT, name="Still to do")
    begun = _answered(member, "Because", "And", name="Done before").project
    closed = scenario.project(TEXT, name="Over")
    Project.objects.filter(pk=closed.pk).update(status="inactive", opens_at=None)
    elsewhere = scenario.project(TEXT, name="Of others", community=scenario.community(2))

    page = _text(_browser(member.user).get("/account/"))

    assert f'href="/s/{wanted.slug}"' in page
    assert "Still to do" in page
    for absent in (begun, closed, elsewhere):
        assert f'href="/s/{absent.slug}"' not in page


def test_responses_are_listed_newest_first_and_read_question_by_question() -> None:
    member = scenario.member("Ann")
    first = _answered(member, "Because", "Nothing", name="First survey")
    second = _answered(member, "Why not", name="Second survey")
    browser = _browser(member.user)

    listed = _text(browser.get("/account/responses/"))
    one = _text(browser.get(f"/account/responses/{first.pk}/"))

    assert listed.index("Second survey") < listed.index("First survey")
    assert f'href="/s/{second.project.slug}"' in listed  # to be continued
    assert f'href="/s/{first.project.slug}"' not in listed
    assert [text in one for text in ("Why?", "Because", "And else?", "Nothing")] == [True] * 4


def test_responses_of_others_and_anonymous_ones_are_not_there() -> None:
    member, other = scenario.member("Ann"), scenario.member("Bo")
    foreign = _answered(other, "Secret", name="Of Bo")
    anonymous = _answered(member, "Secret", name="Anonymous one", privacy_mode="anonymous")
    browser = _browser(member.user)

    assert "Nothing here yet" in _text(browser.get("/account/responses/"))
    for each in (foreign, anonymous):
        assert browser.get(f"/account/responses/{each.pk}/").status_code == 404


def test_a_long_list_goes_on_with_older_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_responses, "PAGE_LENGTH", 2)
    member = scenario.member("Ann")
    for name in ("One", "Two", "Three"):
        _answered(member, "Because", name=f"Survey {name}")
    browser = _browser(member.user)

    page = _text(browser.get("/account/responses/"))
    older = page.partition('href="/account/responses/?before=')[2].partition('"')[0]
    rest = _text(browser.get(f"/account/responses/?before={older}"))

    assert ("Survey Three" in page, "Survey One" in page) == (True, False)
    assert ("Survey One" in rest, "Survey Two" in rest) == (True, False)


def test_data_come_as_an_archive_of_json_and_tables() -> None:
    member = scenario.member("Ann")
    _answered(member, "=1+1", "Nothing")

    response: Any = _browser(member.user).post("/account/data/export/")

    archive = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))
    data = json.loads(archive.read("data.json"))
    rows = list(csv.reader(io.StringIO(archive.read("responses.csv").decode())))
    assert 'filename="colloquy-data.zip"' in response["Content-Disposition"]
    assert sorted(archive.namelist()) == ["README.txt", "data.json", "responses.csv", "xp.csv"]
    assert data["account"]["name"] == "Ann"
    assert data["communities"][0]["member"]["id"] == str(member.pk)
    assert [row[-1] for row in rows] == ["answer", "'=1+1", "Nothing"]


def test_answers_to_communities_that_one_is_no_member_of_are_in_the_archive() -> None:
    member = scenario.member("Ann")
    _answered(member, "From afar")
    Member.objects.all().delete()

    response: Any = _browser(member.user).post("/account/data/export/")

    archive = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))
    assert b"From afar" in archive.read("data.json")
    assert b"From afar" in archive.read("responses.csv")


def _peak(user: User) -> int:
    """Bytes of memory that an export takes at once, without the archive itself."""
    tracemalloc.start()
    try:
        size = sum(map(len, own_data.export(user_id=user.pk, at=LUNCHTIME)))
        return tracemalloc.get_traced_memory()[1] - size
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_a_long_history_takes_the_memory_of_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_data, "IN_MEMORY", 1_000)
    peaks = []
    for name, count in (("Ann", 2_000), ("Bo", 6_000)):
        member = scenario.member(name)
        made = scenario.project({**CHOICE}, {"type": "nps"}, TEXT)
        exports.fill(made, count)
        Conversation.objects.filter(project=made).update(user_id=member.user_id)
        pack_answer_rows()
        _peak(member.user)  # what the first loads stays
        peaks.append(_peak(member.user))

    assert peaks[1] < peaks[0] + 1_000_000


def test_a_person_downloads_their_data_once_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 11.30."""
    slots = Slots(2)
    monkeypatch.setattr(downloads, "_slots", slots)
    monkeypatch.setattr(downloads, "SECONDS_TO_WAIT", 0.01)
    member = scenario.member("Ann")
    slots.acquire(large_slots.of_community(member.community_id), timeout=0)
    browser = _browser(member.user)
    browser.raise_request_exception = False  # a page answers it with 503
    running: Any = browser.post("/account/data/export/")

    slots.release(large_slots.of_community(member.community_id))
    refused = browser.post("/account/data/export/")

    assert (running.status_code, refused.status_code, slots.free) == (200, 503, 1)
    running.close()
    assert slots.free == 2


@pytest.mark.parametrize("page", ["data/export/", "data/erase/", "data/leave/1/"])
def test_who_has_not_proved_themselves_lately_is_asked_to(page: str) -> None:
    member = scenario.member("Ann")
    member.user.set_password("correct horse")
    member.user.save()
    browser = _browser(member.user, proved_at=time.time() - 301)

    response = browser.post(f"/account/{page}", {"confirmation": "erase"})

    assert response.status_code == 302
    assert response["Location"].startswith("/account/reauthenticate/")
    assert Member.objects.exists()


def test_erasing_needs_the_word_and_signs_out() -> None:
    member = scenario.member("Ann")
    browser = _browser(member.user)

    refused = browser.post("/account/data/erase/", {"confirmation": "yes"})
    erased = browser.post("/account/data/erase/", {"confirmation": " Erase "})

    assert (refused.status_code, "Type the word" in _text(refused)) == (422, True)
    assert "Your account is erased" in _text(erased)
    assert not User.objects.exists()
    assert browser.get("/account/").status_code == 302


def test_leaving_one_community() -> None:
    member = scenario.member("Ann")
    browser = _browser(member.user)

    asked = browser.get("/account/data/leave/1/")
    browser.post("/account/data/leave/1/", {"confirmation": "erase"})

    assert "Leave Community 1?" in _text(asked)
    assert not Member.objects.exists()
    assert User.objects.exists()
    assert browser.get("/account/data/leave/1/").status_code == 404


def test_the_only_admin_is_told_why_they_cannot_go() -> None:
    member = scenario.member("Ann")
    Member.objects.update(access="admin")

    response = _browser(member.user).post("/account/data/erase/", {"confirmation": "erase"})

    assert response.status_code == 422
    assert "only admin of Community 1" in _text(response)
    assert User.objects.exists()
