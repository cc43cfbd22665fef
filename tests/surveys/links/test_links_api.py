"""Personal links over the interface (rule 6.4)."""

from __future__ import annotations

import csv
import io
import uuid
from datetime import timedelta

import openpyxl
import pytest
from django.test import Client
from django.utils import timezone

from communities.models import AuditEntry, Member
from surveys.models import PersonalLink
from tests.factories import MemberFactory
from tests.support.caller import Caller, faults, refusal
from tests.support.surveys.scenario import at_most

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return Caller()


@pytest.fixture
def project(admin):
    return admin.make_open()


def members(caller: Caller, *names: str) -> list[Member]:
    return [MemberFactory.create(community=caller.community, user__name=name) for name in names]


def links_of(project) -> str:
    return f"/projects/{project['id']}/links"


def body_of(answer) -> bytes:
    return b"".join(answer.streaming_content)


def test_a_link_admits_the_member_for_30_days(admin, project):
    (marit,) = members(admin, "Marit")

    answer = admin.post(links_of(project), {"member_id": str(marit.pk)})

    assert answer.status_code == 201
    told = answer.json()
    link = PersonalLink.objects.get(pk=told["id"])
    assert set(told) == {"id", "member_id", "url", "expires_at", "metadata"}
    assert told["member_id"] == str(marit.pk)
    assert link.expires_at - link.created_at == timedelta(days=30)
    assert told["expires_at"] == f"{link.expires_at:%Y-%m-%dT%H:%M:%SZ}"
    assert (link.member, link.created_by, link.mailed_at) == (marit, admin.user, None)
    path = told["url"][told["url"].index("/s/") :]
    assert b"You answer as <b>Marit</b>" in Client().get(path, follow=True).content


def test_many_links_are_told_in_the_order_of_their_members(admin, project):
    people = members(admin, "Ann", "Bo", "Cy")

    answer = admin.post(links_of(project), {"member_ids": [str(each.pk) for each in reversed(people)]})

    assert answer.status_code == 201
    assert [each["member_id"] for each in answer.json()["data"]] == [
        str(each.pk) for each in reversed(people)
    ]
    assert len({each["url"] for each in answer.json()["data"]}) == 3
    entry = AuditEntry.objects.get(action="link.created")
    assert (entry.object_id, entry.project_id, entry.after) == (None, int(project["id"]), {"links": 3})


def test_a_thousand_links_take_few_statements(admin, project):
    community = admin.community
    user = admin.user
    people = [MemberFactory.create(community=community) for _ in range(3)]
    ids = [str(each.pk) for each in people]

    with at_most(14):
        assert admin.post(links_of(project), {"member_ids": ids[:1]}).status_code == 201
    with at_most(14):
        assert admin.post(links_of(project), {"member_ids": ids}).status_code == 201
    assert PersonalLink.objects.filter(created_by=user).count() == 4


@pytest.mark.parametrize("body", [{}, {"member_id": "{ann}", "member_ids": ["{ann}"]}])
def test_one_member_or_many_but_not_both_or_none(admin, project, body):
    (ann,) = members(admin, "Ann")
    sent = {key: str(ann.pk) if isinstance(value, str) else [str(ann.pk)] for key, value in body.items()}

    answer = admin.post(links_of(project), sent)

    assert refusal(answer) == (400, "invalid_request")
    assert {field for field, _ in faults(answer)} == {"member_id"}


def test_one_unknown_id_refuses_all_and_is_named_by_its_index(admin, project):
    ann, gone = members(admin, "Ann", "Gone")
    gone.left_at = timezone.now()
    gone.save()
    foreign = MemberFactory.create()
    ids = [ann.pk, gone.pk, foreign.pk, "no id", 10**30, ann.pk]

    answer = admin.post(links_of(project), {"member_ids": [str(each) for each in ids]})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {
        *((f"member_ids[{index}]", "not_found") for index in (1, 2, 3, 4)),
        ("member_ids[5]", "duplicate"),
    }
    assert not PersonalLink.objects.exists()


@pytest.mark.parametrize(("count", "code"), [(0, "too_few"), (1001, "too_many")])
def test_one_to_a_thousand_at_once(admin, project, count, code):
    answer = admin.post(links_of(project), {"member_ids": [str(n + 1) for n in range(count)]})

    assert faults(answer) == {("member_ids", code)}


def test_the_list_is_newest_first_and_tells_no_address(admin, project):
    people = members(admin, "Ann", "Bo", "Cy")
    for each in people:
        admin.post(links_of(project), {"member_id": str(each.pk)})

    answer = admin.get(f"{links_of(project)}?per_page=2")

    told = answer.json()
    assert [each["name"] for each in told["data"]] == ["Cy", "Bo"]
    assert told["pagination"] == {"page": 1, "per_page": 2, "total": 3, "has_more": True}
    assert told["data"][0].keys() == {
        *("id", "member_id", "name", "created_at", "expires_at", "revoked_at", "used_at", "mailed_at"),
        "metadata",
    }
    assert b"link=" not in answer.content


def test_a_link_is_told_as_used_but_not_on_anonymous_projects(admin, project):
    hidden = admin.make_open(privacy_mode="anonymous")
    (ann,) = members(admin, "Ann")
    for each in (project, hidden):
        url = admin.post(links_of(each), {"member_id": str(ann.pk)}).json()["url"]
        Client().get(url[url.index("/s/") :], follow=True)

    assert admin.get(links_of(project)).json()["data"][0]["used_at"] is not None
    assert admin.get(links_of(hidden)).json()["data"][0]["used_at"] is None


def test_a_revoked_link_admits_nobody_and_revoking_again_changes_nothing(admin, project):
    (ann,) = members(admin, "Ann")
    made = admin.post(links_of(project), {"member_id": str(ann.pk)}).json()

    first = admin.delete(f"{links_of(project)}/{made['id']}")
    at = PersonalLink.objects.get().revoked_at
    second = admin.delete(f"{links_of(project)}/{made['id']}")

    assert (first.status_code, second.status_code) == (204, 204)
    assert PersonalLink.objects.get().revoked_at == at
    assert AuditEntry.objects.filter(action="link.revoked").count() == 1
    assert Client().get(made["url"][made["url"].index("/s/") :]).status_code == 403


def test_a_link_is_revoked_by_its_id_alone(admin, project):
    (ann,) = members(admin, "Ann")
    made = admin.post(links_of(project), {"member_id": str(ann.pk)}).json()

    statuses = [admin.delete(f"/links/{link_id}").status_code for link_id in (made["id"], uuid.uuid4())]

    assert statuses == [204, 404]
    assert PersonalLink.objects.get().revoked_at is not None


def test_a_link_of_another_project_is_not_found(admin, project):
    other = admin.make_open()
    (ann,) = members(admin, "Ann")
    made = admin.post(links_of(project), {"member_id": str(ann.pk)}).json()

    answer = admin.delete(f"{links_of(other)}/{made['id']}")

    assert refusal(answer) == (404, "not_found")


def test_the_file_holds_names_addresses_and_no_formulas(admin, project):
    ann, bo, gone = members(admin, "=Ann", "Bo", "Gone")
    bo.email = "bo@example.org"
    bo.save()
    made = [admin.post(links_of(project), {"member_id": str(each.pk)}).json() for each in (ann, bo, gone)]
    gone.left_at = timezone.now()
    gone.save()
    admin.post(links_of(project), {"member_id": str(bo.pk)})
    admin.delete(f"{links_of(project)}/{made[0]['id']}")
    again = admin.post(links_of(project), {"member_id": str(ann.pk)}).json()

    text = body_of(admin.get(f"{links_of(project)}/export")).decode()
    book = body_of(admin.get(f"{links_of(project)}/export?format=xlsx"))

    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["member_id", "name", "email", "url", "expires_at", "id", "metadata"]
    assert rows[1][:4] == [str(bo.pk), "Bo", "bo@example.org", made[1]["url"]]
    assert rows[-1][:4] == [str(ann.pk), "'=Ann", "", again["url"]]
    assert len(rows) == 4
    sheet = openpyxl.load_workbook(io.BytesIO(book)).active
    header, *cells = ([cell or "" for cell in row] for row in sheet.iter_rows(values_only=True))
    assert header == rows[0]
    assert [[*row[:4], str(row[4])] for row in cells] == [
        [row[0], row[1].removeprefix("'"), *row[2:4], row[4].replace("T", " ").removesuffix("Z")]
        for row in rows[1:]
    ]
    assert AuditEntry.objects.filter(action="link.exported").count() == 2


def test_erasing_a_person_deletes_their_links_and_forgets_which_they_made(admin, project):
    maker = admin.beside("admin")
    (ann,) = members(admin, "Ann")
    admin.post(links_of(project), {"member_id": str(ann.pk)})
    kept = maker.post(links_of(project), {"member_id": str(admin.community.members.first().pk)}).json()
    maker_member = Member.objects.get(user=maker.user)
    data = admin.get(f"/members/{ann.pk}/data").json()

    admin.delete(f"/members/{ann.pk}/data")
    assert admin.delete(f"/members/{maker_member.pk}/data").status_code == 204

    assert [each["project_id"] for each in data["personal_links"]] == [project["id"]]
    assert [(str(each.pk), each.created_by_id) for each in PersonalLink.objects.all()] == [(kept["id"], None)]
