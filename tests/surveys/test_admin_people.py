"""A person's responses, data and erasure on their profile in the admin."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse

from communities.models import AuditEntry, Member
from surveys.models import Conversation
from tests.factories import ConversationFactory, MemberFactory, ProjectFactory
from tests.support.moments import NOON
from tests.support.staff import Staff, text_of
from tests.support.xp.ledger import award

pytestmark = pytest.mark.django_db


def ann_of(staff: Staff, **fields: Any) -> Member:
    return MemberFactory.create(community=staff.community, nick="Ann Solberg", **fields)


def respond(member: Member, name: str, **fields: Any) -> Conversation:
    project = ProjectFactory.create(community=member.community, name=name, is_open=True, **fields)
    return ConversationFactory.create(
        project=project, user=member.user, provider="chat", completed_at=NOON, session_number=1
    )


@pytest.mark.parametrize(
    ("access", "seen"),
    [
        ("admin", ["Clear", "Half", "Own"]),
        ("creator", ["Clear", "Own"]),
        ("member", ["Clear"]),
    ],
)
def test_responses_are_listed_of_projects_that_one_may_read(access: str, seen: list[str]) -> None:
    staff = Staff(access)
    ann = ann_of(staff)
    respond(ann, "Clear")
    respond(ann, "Half", privacy_mode="semi-private")
    respond(ann, "Own", privacy_mode="semi-private", author=staff.user if access == "creator" else None)
    respond(ann, "Hidden", privacy_mode="anonymous")
    respond(MemberFactory.create(user=ann.user), "Foreign")

    said = text_of(staff.get("communities_member_change", ann.pk))

    names = ["Clear", "Half", "Own", "Hidden", "Foreign"]
    assert [name for name in names if f"{name} Completed" in said or f"{name} ✓" in said] == seen


def test_a_response_leads_to_its_page() -> None:
    staff = Staff()
    ann = ann_of(staff)
    response = respond(ann, "Clear")

    page = staff.get("communities_member_change", ann.pk).content.decode()

    assert reverse("admin:surveys_project_response", args=[response.project_id, response.pk]) in page


def test_a_persons_data_comes_as_a_file_and_that_is_recorded() -> None:
    staff = Staff()
    ann = ann_of(staff)
    award(ann, 30, note="Kind words")
    respond(ann, "Clear")

    asked = text_of(staff.get("communities_member_data", ann.pk))
    answer = staff.post("communities_member_data", ann.pk)

    assert "everything that this community stores" in asked
    assert f'filename="ann-solberg-{ann.pk}.json"' in answer["Content-Disposition"]
    data = json.loads(b"".join(answer.streaming_content))
    assert data["member"]["nick"] == "Ann Solberg"
    assert data["xp_ledger"][0]["note"] == "Kind words"
    assert len(data["responses"]) == 1
    assert AuditEntry.objects.get(action="member.exported").actor_id == staff.user.pk


def test_erasing_asks_for_the_name_and_says_what_follows() -> None:
    staff = Staff()
    ann = ann_of(staff)
    response = respond(ann, "Clear")

    asked = text_of(staff.get("communities_member_erase", ann.pk))
    wrong = staff.post("communities_member_erase", ann.pk, name="Ann")

    assert "cannot be undone" in asked
    assert "This is not the name." in text_of(wrong)
    assert Member.objects.filter(pk=ann.pk).exists()

    answer = staff.post("communities_member_erase", ann.pk, follow=True, name=" Ann  Solberg ")

    assert "The person is erased." in text_of(answer)
    assert not Member.objects.filter(pk=ann.pk).exists()
    response.refresh_from_db()
    assert response.user_id is None


def test_a_hostile_name_stays_text_where_it_is_to_be_typed() -> None:
    staff = Staff()
    hostile = MemberFactory.create(community=staff.community, nick="<form action=//evil.example><b>Ann")

    asked = staff.get("communities_member_erase", hostile.pk).content.decode()
    wrong = staff.post("communities_member_erase", hostile.pk, name="Ann").content.decode()

    assert "&lt;b&gt;Ann" in asked
    assert "<b>Ann" not in asked + wrong
