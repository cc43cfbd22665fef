"""What respondents are told before their first answer, and what their device keeps (rules 7.111 to 7.113)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from communities.ground.errors import Conflict
from communities.models import CommunitySettings
from surveys.models import Conversation, PersonalLink, Project
from surveys.pages.respondent import browsers
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.people.merging import merge_users
from tests.factories import MemberFactory
from tests.support.caller import Caller, faults
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import link_for
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor, kept_id

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]
ADDRESS = "https://example.com/privacy"


def asks_where(address: str | None) -> None:
    CommunitySettings.objects.update_or_create(
        community=scenario.community(), defaults={"privacy_url": address}
    )


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("anonymous", "Your answers are anonymous"),
        ("transparent", "Everybody in the community can see"),
        ("semi-private", "Only the authors and the community’s admins can see"),
    ],
)
@pytest.mark.parametrize("kind", ["convo", "poll"])
def test_the_first_page_says_who_reads_and_how_long(kind: str, mode: str, words: str) -> None:
    fields: dict[str, Any] = {"participation": "open_web", "privacy_mode": mode, "keep_responses_days": 30}
    made = scenario.poll(**fields) if kind == "poll" else scenario.project(TEXT, **fields)
    asks_where(ADDRESS)

    page = Visitor(made).look().page

    assert words in page
    assert "Answers are deleted after 30 days." in page
    assert f'<a href="{ADDRESS}" target="_blank" rel="noopener">How this community handles data</a>' in page


def test_without_these_settings_nothing_more_is_said() -> None:
    made = scenario.project(TEXT, participation="open_web")
    asks_where(None)

    page = Visitor(made).look().page

    assert "deleted" not in page
    assert "handles data" not in page


TOLD = {
    "anonymous": "Your answers are anonymous",
    "transparent": "Everybody in the community can see the answers that you give here.",
    "semi-private": "Only the authors and the community’s admins can see the answers that you give here.",
}


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize(("was", "now"), list(pairwise([*TOLD, "anonymous"])))
@pytest.mark.parametrize("begins", ["convo", "poll", "statement"])
def test_no_answer_is_taken_from_a_page_that_told_of_another_privacy(
    begins: str, was: str, now: str, htmx: bool
) -> None:
    """Rule 7.820."""
    fields: dict[str, Any] = {"participation": "open_web", "privacy_mode": was}
    first = [SAYING, TEXT] if begins == "statement" else [TEXT]
    made = scenario.poll(**fields) if begins == "poll" else scenario.project(*first, **fields)
    visitor = Visitor(made, htmx=htmx).look()
    if begins == "statement":
        visitor.send("go")
    Conversation.objects.all().delete()  # as a change of the privacy does
    Project.objects.update(privacy_mode=now)
    answer = {"option": scenario.option_id(made, "q0", 0)} if begins == "poll" else {"value": "secret"}

    visitor.send(**answer)

    note = visitor.page.partition('role="status"')[2].partition("</p>")[0]
    assert TOLD[now] in note
    above = visitor.page.partition('id="answers-as"')[2].partition("</div>")[0]
    assert TOLD[now] in above
    assert "hx-swap-oob" in above or not htmx
    assert not Conversation.objects.exists()
    visitor.send("go" if begins == "statement" else "answer", **answer)
    assert Conversation.objects.count() == 1


@pytest.mark.parametrize(
    ("days", "words"), [(30, "Answers are deleted after 30 days."), (None, TOLD["transparent"])]
)
def test_no_answer_is_taken_from_a_page_that_told_of_other_days(days: int | None, words: str) -> None:
    """Rule 7.820."""
    made = scenario.project(TEXT, participation="open_web", keep_responses_days=10)
    visitor = Visitor(made).look()
    Project.objects.update(keep_responses_days=days)

    visitor.send(value="secret")

    assert words in visitor.page.partition('role="status"')[2].partition("</p>")[0]
    assert not Conversation.objects.exists()
    visitor.send(value="secret")
    assert Conversation.objects.exists()


def test_no_answer_is_taken_from_a_page_that_told_of_no_ai(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 7.820."""
    visitor = Visitor(scenario.project(TEXT, participation="open_web")).look()
    monkeypatch.setattr("surveys.services.conversations.admission.asks_further", lambda project, script: True)

    visitor.send(value="secret")

    assert "An AI may ask" in visitor.page.partition('role="status"')[2].partition("</p>")[0]
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("told", ["anonymous", "transparent.30"])
def test_the_privacy_is_that_of_the_page_also_if_it_changes_meanwhile(told: str) -> None:
    """Rules 7.820, 7.920."""
    made = scenario.project(TEXT)
    someone = replace(admission.visitor(visitor_id="x"), privacy_mark=told)

    with pytest.raises(Conflict):
        conversations.begin(project_id=made.pk, respondent=someone, at=timezone.now())


def test_a_conversation_without_answers_ends_when_answers_are_to_be_kept_longer() -> None:
    """Rule 7.920."""
    author = Caller("admin")
    made = author.make_open(settings={"keep_responses_days": 30})
    Project.objects.update(participation="open_web")
    someone = admission.visitor(visitor_id="x")
    project = Project.objects.get()
    conversations.begin(project_id=project.pk, respondent=someone, at=timezone.now())
    link_for(MemberFactory.create(community=project.community), project, used_at=timezone.now())
    for days, left in ((10, True), (3650, False)):
        changed = author.patch(f"/projects/{made['id']}", {"settings": {"keep_responses_days": days}})
        assert changed.status_code == 200
        assert Conversation.objects.exists() is PersonalLink.objects.exclude(used_at=None).exists() is left


@pytest.mark.parametrize(
    ("address", "status"),
    [(ADDRESS, 200), (None, 200), ("", 200), ("http://example.com", 400), ("https://a@example.com", 400)],
)
def test_the_address_of_a_privacy_text_is_https(address: str | None, status: int) -> None:
    answer = Caller("admin").patch("/settings", {"privacy_url": address})

    assert answer.status_code == status
    if status == 200:
        assert answer.json()["privacy_url"] == (address or None)
    else:
        assert faults(answer) == {("privacy_url", "invalid")}


# --- What the device keeps --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["transparent", "anonymous"])
def test_no_cookie_and_no_form_holds_the_id_of_the_response_in_clear(mode: str) -> None:
    made = scenario.project(TEXT, TEXT, participation="open_web", privacy_mode=mode)
    visitor = Visitor(made).look().send(value="a")
    [conversation] = Conversation.objects.all()

    assert kept_id(visitor) == conversation.pk
    for form in (str(conversation.pk), conversation.pk.hex):
        assert not any(form in cookie.value for cookie in visitor.client.cookies.values())
        assert form not in visitor.response.content.decode()
    visitor.look()
    assert "Prompt 1." in visitor.page


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize("blocks", [[TEXT], [TEXT, CHOICE]])
def test_a_device_hides_the_answers_and_stays_one_that_has_answered(blocks: Any, htmx: bool) -> None:
    made = scenario.project(*blocks, participation="open_web", max_completes_per_user=1)
    visitor = Visitor(made, htmx=htmx).look().send(value="a secret")
    if len(blocks) == 2:
        visitor.send(option=scenario.option_id(made, "q1", 0))
    assert "Hide my answers on this device" in visitor.page

    visitor.send("hide")

    assert "a secret" not in visitor.page
    assert kept_id(visitor) == browsers.ANSWERED
    assert "a secret" not in visitor.look().page
    assert "You have answered this already." in visitor.page
    assert scenario.answers_of(made)[0] == ("Prompt 0.", "a secret")


def test_answers_that_are_not_complete_are_not_hidden() -> None:
    made = scenario.project(TEXT, TEXT, participation="open_web")
    visitor = Visitor(made).look().send(value="a")

    visitor.send("hide")

    assert "Prompt 1." in visitor.page
    assert kept_id(visitor) != browsers.ANSWERED


def test_an_anonymous_project_needs_no_such_button() -> None:
    made = scenario.project(TEXT, participation="open_web", privacy_mode="anonymous")
    visitor = Visitor(made).look().send(value="a secret")

    assert "Hide my answers" not in visitor.page
    assert kept_id(visitor) == browsers.ANSWERED
    assert "a secret" not in visitor.look().page


@pytest.mark.parametrize("mode", TOLD)
@pytest.mark.parametrize("participation", ["private", "open_web"])
@pytest.mark.parametrize("sends_first", [False, True])
def test_who_signs_in_at_the_browser_of_another_person_leaves_their_conversation(
    participation: str, mode: str, sends_first: bool
) -> None:
    """Rule 7.823."""
    made = scenario.project(TEXT, TEXT, participation=participation, privacy_mode=mode)
    ann, ben = scenario.member("Ann"), scenario.member("Ben")
    visitor = Visitor(made)
    visitor.client.force_login(ann.user)
    visitor.look().send(value="a secret")
    visitor.client.force_login(ben.user)

    if sends_first:  # the page of Ann is still open
        visitor.send(value="of Ben")
    else:
        visitor.look()

    assert "a secret" not in visitor.page
    visitor.look().send(value="of Ben").send(value="too")
    assert "Thank you." in visitor.page
    assert [value for _, value in scenario.answers_of(made)].count("of Ben") == 1
    of_ann = Conversation.objects.get(completed_at=None)
    assert (of_ann.user_id, of_ann.answers.count()) == (None if mode == "anonymous" else ann.user_id, 1)


def sign_out(visitor: Visitor) -> None:
    """Sign out as people do. The session that remains has the message about it."""
    page = visitor.client.get(reverse("account_logout")).content.decode()
    token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    visitor.client.post(reverse("account_logout"), {"csrfmiddlewaretoken": token})
    assert visitor.client.cookies[settings.SESSION_COOKIE_NAME].value


@pytest.mark.parametrize("mode", TOLD)
@pytest.mark.parametrize("sends_first", [False, True])
@pytest.mark.parametrize("deletes_cookies", [False, True])
def test_nobody_goes_on_in_the_conversation_of_somebody_who_has_signed_out(
    mode: str, sends_first: bool, deletes_cookies: bool
) -> None:
    """Rules 7.823 and 7.981."""
    made = scenario.project(TEXT, TEXT, participation="open_web", privacy_mode=mode)
    ann = scenario.member("Ann")
    visitor = Visitor(made, htmx=deletes_cookies)
    visitor.client.force_login(ann.user)
    visitor.look().send(value="a secret")
    sign_out(visitor)
    if deletes_cookies:
        visitor.client.cookies.clear()

    if sends_first:  # the page of Ann is still open
        visitor.send(value="typed by Ann")
        assert "You are signed out, so this was not saved." in visitor.page
        assert "typed by Ann" in visitor.page
    else:
        visitor.look()

    assert "a secret" not in visitor.page
    assert Conversation.objects.get().answers.count() == 1
    if mode != "anonymous":
        visitor.client.force_login(ann.user)
        assert "a secret" in visitor.look().page


@pytest.mark.parametrize("sends_first", [False, True])
@pytest.mark.parametrize("comes_next", [True, False])
def test_answers_that_an_address_gave_one_person_are_not_given_for_the_next(
    comes_next: bool, sends_first: bool
) -> None:
    """Rule 7.982."""
    made = scenario.project(TEXT, {**TEXT, "name": "reason"}, TEXT, participation="open_web")
    ann, ben = scenario.member("Ann"), scenario.member("Ben")
    visitor = Visitor(made)
    visitor.client.force_login(ann.user)
    visitor.look("?reason=a+secret").send(value="of Ann")
    assert "a secret" in visitor.page
    sign_out(visitor)
    if comes_next:
        visitor.client.force_login(ben.user)

    for _ in range(2):
        visitor.send(value="of the next") if sends_first else visitor.look()
        assert "a secret" not in visitor.page
        sends_first = True


def test_a_person_goes_on_at_their_browser_after_a_merge_and_a_new_sign_in() -> None:
    """Rule 7.823."""
    made = scenario.project(TEXT, TEXT, participation="open_web", privacy_mode="anonymous")
    ann, ben = scenario.member("Ann"), scenario.member("Ben")
    visitor = Visitor(made)
    visitor.client.force_login(ann.user)
    visitor.look().send(value="a secret")
    merge_users(keep_id=ben.user_id, drop_id=ann.user_id, at=timezone.now())

    visitor.client.force_login(ben.user)

    assert "a secret" in visitor.look().page
    assert visitor.send(value="too").status == 200
    assert Conversation.objects.get().completed_at


@pytest.mark.parametrize("cookie", ["x", "!", "A" * 400])
def test_a_cookie_that_is_not_ours_counts_as_none(cookie: str) -> None:
    made = scenario.project(TEXT, participation="open_web")
    visitor = Visitor(made).look()
    visitor.client.cookies[browsers.CONVERSATION] = cookie

    visitor.look()

    assert (visitor.status, "Prompt 0." in visitor.page) == (200, True)


def test_a_cookie_adds_no_parts_to_the_seal_of_a_form() -> None:
    """Rule 7.980."""
    made = scenario.project(TEXT, TEXT, participation="open_web")
    link = link_for(scenario.member("Ann"), made)
    visitor = Visitor(made).look().send(value="of a stranger")
    kept = visitor.client.cookies[browsers.CONVERSATION].value
    padded = kept + "=" * (-len(kept) % 4)
    assert browsers.unsealed_id(kept, made.slug)

    for forged in (f"{padded}.7.7.{link.pk}.e30=", f"{kept[:4]}.{kept[4:]}", f"{padded}.", f".{kept}"):
        visitor.client.cookies[browsers.CONVERSATION] = forged
        assert browsers.unsealed_id(forged, made.slug) is None
        assert str(link.pk) not in visitor.look().hidden["seal"]


def test_a_cookie_of_another_project_counts_as_none() -> None:
    first, second = (scenario.project(TEXT, TEXT, participation="open_web") for _ in range(2))
    visitor = Visitor(first).look().send(value="a")
    other = Visitor(second)
    other.client.cookies[browsers.CONVERSATION] = visitor.client.cookies[browsers.CONVERSATION].value

    assert "Prompt 0." in other.look().page
