"""On anonymous projects nothing that is stored joins a personal link to an answer (rule 7.16)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from communities.models import Member, User
from surveys.models import Conversation
from tests.support.dumps import dump
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import arrive, arrive_without_cookies, link_for, private

pytestmark = pytest.mark.django_db
USER_ID, MEMBER_ID, NAME = 7_770_001_117, 8_880_002_228, "Ann Onymous"
# `xp_standing` tells that a member took part somewhere, neither where nor when.
OF_ANSWERS = {
    *("surveys_conversation", "surveys_answer", "surveys_tally", "surveys_completion", "surveys_sealedgifts"),
    "webhooks_event",
}


@pytest.fixture(autouse=True)
def in_no_hurry(settings):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


def member() -> Member:
    user = User.objects.create(pk=USER_ID, name=NAME)
    return Member.objects.create(pk=MEMBER_ID, community=scenario.community(), user=user)


def made_yesterday(privacy_mode: str):
    yesterday = timezone.now() - timedelta(days=1)
    project = private(
        scenario.TEXT,
        scenario.TEXT,
        privacy_mode=privacy_mode,
        max_completes_per_user=1,
        created_at=yesterday,
    )
    return link_for(member(), project, at=yesterday, mailed_at=yesterday)


@pytest.mark.parametrize("come", [arrive, arrive_without_cookies])
def test_nothing_of_a_link_or_its_member_differs_after_an_anonymous_answer(come):
    link = made_yesterday("anonymous")
    before = dump()

    visitor = come(link).send(value="My words").send("back").send(value="My words")
    running = dump()
    visitor.send(value="More")
    over = dump()

    assert visitor.has_control("Thank you")
    for after in (running, over):
        changed = {table for table in after if after[table] != before[table]}
        assert changed <= OF_ANSWERS
        for table in changed:
            new = after[table] - before[table]
            assert not [row for row in new for trace in _traces(link) if trace in row]
            assert not [row for row in new if re.search(r"T\d\d:(?!00:00)", row)]
    names = ("user_id", "platform_id", "respondent", "sealed_respondent")
    assert list(Conversation.objects.values_list(*names)) == [(None,) * 4]


def _traces(link) -> list[str]:
    return [str(USER_ID), str(MEMBER_ID), NAME, "user:", str(link.pk), link.pk.hex, repr(link.pk)]


def test_a_project_that_is_not_anonymous_tells_who_it_was_and_when_the_link_was_opened():
    link = made_yesterday("transparent")

    arrive(link).send(value="My words")

    link.refresh_from_db()
    assert link.used_at
    assert Conversation.objects.get().user_id == USER_ID


def test_the_limit_holds_for_the_member_of_a_link_though_nobody_is_known():
    link = made_yesterday("anonymous")
    arrive(link).send(value="One").send(value="Two")

    again = arrive_without_cookies(link)

    assert again.has_control("You have answered already")


def test_the_page_says_that_nothing_joins_the_link_to_the_answers():
    assert arrive(made_yesterday("anonymous")).has_control(
        "nothing that we store joins them to you or to this link"
    )


def test_other_projects_do_not_say_so():
    assert not arrive(made_yesterday("semi-private")).has_control("nothing that we store")
