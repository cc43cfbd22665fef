"""AI jobs in the admin: state, cost and error of analyses."""

from __future__ import annotations

import html

import pytest
from django.utils import timezone

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
