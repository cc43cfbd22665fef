"""The home page of the admin: what needs attention, recent projects, and the first steps."""

from __future__ import annotations

import html
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from communities.models import Community, CommunitySettings, User
from tests.factories import BlockFactory, CommunityFactory, MemberFactory, ProjectFactory
from tests.support.staff import client_of
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture
def community() -> Community:
    return CommunityFactory.create()


def home(client: Client) -> str:
    response = client.get(reverse("admin:index"))
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def test_the_first_steps_are_ticked_by_doing_them(community: Community) -> None:
    admin = client_of(community)
    assert "Done:" not in home(admin)

    project = ProjectFactory.create(community=community, created_at=timezone.now())
    assert "</span>Create your first project</span>" in home(admin)
    BlockFactory.create(project=project)
    type(project).objects.update(question_count=1, status="active")
    CommunitySettings.objects.create(community=community)
    MemberFactory.create(community=community, access="creator")

    page = home(admin)
    assert page.count("Done:") == 4
    assert ">Receive the first response</a>" in page


def test_a_project_that_closes_today_needs_attention(community: Community) -> None:
    now = timezone.now()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    today = now + (midnight - now) / 2
    for name, closes_at in (("Club evening", today), ("Next week", now + timedelta(days=7))):
        ProjectFactory.create(community=community, name=name, status="active", closes_at=closes_at)

    page = home(client_of(community))

    assert "Club evening closes today" in page
    assert "Next week closes" not in page


def test_role_member_sees_open_projects_and_no_first_steps(community: Community) -> None:
    ProjectFactory.create(community=community, name="A draft")
    ProjectFactory.create(community=community, name="An open one", status="active")

    page = home(client_of(community, "member"))

    assert "An open one" in page
    assert "A draft" not in page
    assert "First steps" not in page


def test_nothing_of_another_community_is_told(community: Community) -> None:
    other = ProjectFactory.create(name="Elsewhere", status="active", closes_at=timezone.now())

    assert "Elsewhere" not in home(client_of(community))
    assert "Elsewhere" in home(client_of(other.community))


def test_staff_of_two_communities_switch_between_them(community: Community) -> None:
    client = client_of(community)
    other = CommunityFactory.create(name="Rowing Club")
    user_id = int(client.session["_auth_user_id"])
    MemberFactory.create(community=other, user=User.objects.get(pk=user_id), access="admin")
    ProjectFactory.create(community=other, name="Regatta")

    client.post(reverse("admin:switch_community", args=[other.pk]))
    assert "Regatta" in home(client)
    client.post(reverse("admin:switch_community", args=[community.pk]))
    assert "Regatta" not in home(client)


def test_nobody_switches_to_a_community_without_a_role(community: Community) -> None:
    other = CommunityFactory.create(name="Rowing Club")
    client = client_of(community)

    assert client.post(reverse("admin:switch_community", args=[other.pk])).status_code == 404
    assert "Rowing Club" not in home(client)


@pytest.mark.parametrize("access", ["creator", "member"])
def test_the_count_of_an_anonymous_project_of_others_changes_in_steps(access: str) -> None:
    made = scenario.project(TEXT, name="Secret", privacy_mode="anonymous")
    scenario.say(scenario.begin(made), "x")

    assert "1 response" in home(client_of(made.community))
    assert "0 responses completed" in home(client_of(made.community, access))
