"""AI jobs in the admin: state, cost and error of analyses."""

from __future__ import annotations

import html
from datetime import timedelta

import pytest
from django.utils import timezone
from redis.exceptions import RedisError

from communities.ground import redis_connection
from surveys.ai import spending
from tests.factories import MemberFactory, ProjectFactory, StaffFactory
from tests.support.staff import client_of, signed_in
from tests.support.surveys.project_tabs import analysis

pytestmark = pytest.mark.django_db
LIST = "/admin/surveys/analysis/"


def test_admins_see_state_cost_and_error() -> None:
    project = ProjectFactory.create(name="Club evening")
    analysis(project, "failed", error="The AI provider did not answer.", credits_used=3)

    page = html.unescape(client_of(project.community).get(LIST).content.decode())

    for expected in ("Club evening", "Failed", "The AI provider did not answer.", ">3<"):
        assert expected in page


def test_the_page_says_what_became_of_further_questions(redis: object) -> None:
    """Rule 10.100."""
    community = ProjectFactory.create().community
    client, now = client_of(community), timezone.now()
    assert "Further questions" not in client.get(LIST).content.decode()

    for days, outcomes in {0: ["asked", "failed", "credits"], 6: ["failed", "late"], 7: ["limit"]}.items():
        for outcome in outcomes:
            spending.count_follow_up(outcome, community_id=community.pk, at=now - timedelta(days=days))
    spending.count_follow_up("limit", community_id=community.pk + 1, at=now)
    page = client.get(LIST).content.decode()

    assert (
        "Further questions in the last 7 days: 1 asked. Not asked: 2 because the AI model failed, 1 because "
        "it came after the respondent had gone on, 1 because too few credits were left." in page
    )


@pytest.mark.usefixtures("redis")
def test_the_page_is_shown_without_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 10.100."""

    def refuse() -> None:
        raise RedisError

    monkeypatch.setattr(redis_connection, "client", refuse)

    assert spending.follow_ups_of(1, at=timezone.now()) == {}


def test_creators_see_their_own_and_members_none() -> None:
    project = ProjectFactory.create(name="Of a colleague")
    creator = StaffFactory.create(is_superuser=False)
    MemberFactory.create(community=project.community, user=creator, access="creator")
    own = ProjectFactory.create(community=project.community, name="Mine", author=creator)
    for each in (project, own):
        analysis(each)

    page = signed_in(creator).get(LIST).content.decode()

    assert "Mine" in page
    assert "Of a colleague" not in page
    assert client_of(project.community, "member").get(LIST).status_code == 404


def test_jobs_of_a_deleted_project_are_hidden_with_it() -> None:
    project = ProjectFactory.create(name="Club evening", deleted_at=timezone.now())
    job = analysis(project)
    client = client_of(project.community)

    assert "Club evening" not in client.get(LIST).content.decode()
    assert client.get(f"{LIST}{job.pk}/change/").status_code == 404
