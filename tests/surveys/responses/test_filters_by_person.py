"""Responses of one person, by the ids that callers have for people (rule 1.14)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.models import Project
from tests.factories import IdentityFactory, MemberFactory
from tests.support.caller import Caller, faults
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Caller:
    return Caller("admin")


def made(admin: Caller, **fields: Any) -> Project:
    return scenario.project(TEXT, community=admin.community, author=admin.user, **fields)


def respond(admin: Caller, project: Project, **who: str) -> str:
    begun = admin.post(f"/projects/{project.pk}/conversations", who).json()
    body = {"block_id": begun["step"]["block"]["id"], "value": "Yes."}
    assert admin.post(f"/conversations/{begun['id']}/answers", body).status_code == 200
    return begun["id"]


def found(admin: Caller, project: Project, query: str) -> list[str]:
    answer = admin.get(f"/projects/{project.pk}/responses?{query}").json()
    assert answer["pagination"]["total"] == len(answer["data"])
    return [each["id"] for each in answer["data"]]


def test_by_member_user_and_platform_id(admin):
    member = MemberFactory.create(community=admin.community)
    IdentityFactory.create(user=member.user, platform_id="820000000000000042")
    project = made(admin)
    ann, customer = (
        respond(admin, project, member_id=str(member.pk)),
        respond(admin, project, external_id="C-1"),
    )
    respond(admin, project)

    assert found(admin, project, f"member_id={member.pk}") == [ann]
    assert found(admin, project, f"user_id={member.user_id}") == [ann]
    assert found(admin, project, "platform_id=820000000000000042") == [ann]
    assert found(admin, project, "platform_id=C-1") == [customer]
    assert found(admin, project, f"platform_id=C-1&member_id={member.pk}") == []
    assert found(admin, project, f"member_id={member.pk}&status=partial") == []


def test_nobody_is_found_by_ids_of_others(admin):
    other = Caller("admin")
    stranger = MemberFactory.create(community=other.community)
    project, theirs = made(admin), made(other)
    respond(admin, project)
    respond(other, theirs, external_id="C-1")
    respond(other, theirs, member_id=str(stranger.pk))

    for query in (f"member_id={stranger.pk}", "platform_id=C-1", "member_id=999999", "platform_id=nobody"):
        assert found(admin, project, query) == []


def test_anonymous_responses_are_nobodys(admin):
    member = MemberFactory.create(community=admin.community)
    project = made(admin, privacy_mode="anonymous")
    respond(admin, project, member_id=str(member.pk))
    respond(admin, project, external_id="C-1")

    for query in (f"member_id={member.pk}", f"user_id={member.user_id}", "platform_id=C-1"):
        assert found(admin, project, query) == []


@pytest.mark.parametrize(("query", "field"), [("member_id=x", "member_id"), ("platform_id=", "platform_id")])
def test_ids_that_cannot_be_are_refused(admin, query, field):
    refused = admin.get(f"/projects/{made(admin).pk}/responses?{query}")

    assert refused.status_code == 400
    assert {each for each, _ in faults(refused)} == {field}
