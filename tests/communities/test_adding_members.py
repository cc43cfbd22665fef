"""Adding and changing members over the interface (rules 1.14 and 1.15)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from communities.models import ApiKey, AuditEntry, Identity, Member, User
from communities.services.people import identities
from tests.factories import IdentityFactory, MemberFactory
from tests.support.caller import Caller, faults, refusal
from tests.support.cases import try_each
from tests.support.concurrency import run_together

pytestmark = pytest.mark.django_db

MARIT = {"platform_id": "820000000000000042", "nick": "marit"}


@pytest.fixture
def admin() -> Caller:
    return Caller("admin")


def add(admin: Caller, **fields: Any) -> dict[str, Any]:
    answer = admin.post("/members", fields)
    assert answer.status_code in (200, 201), answer.content
    return answer.json()


def test_a_member_is_added_and_read_back(admin):
    answer = admin.post("/members", MARIT)

    added = answer.json()
    assert answer.status_code == 201
    assert {key: added[key] for key in ("platform_id", "nick", "name", "access", "left_at")} == {
        **MARIT,
        "name": None,
        "access": "member",
        "left_at": None,
    }
    assert added["user_id"] == str(Member.objects.get(pk=added["id"]).user_id)
    assert admin.get(f"/members/{added['id']}").json() == added


def test_a_second_post_with_the_same_platform_id_changes_nothing(admin):
    first = add(admin, **MARIT)

    again = admin.post("/members", MARIT | {"nick": "Other", "access": "admin"})

    assert (again.status_code, again.json()) == (200, first)
    assert AuditEntry.objects.filter(action="member.created").count() == 1


def test_a_member_who_has_left_is_returned_as_they_are(admin):
    first = add(admin, **MARIT)
    Member.objects.filter(pk=first["id"]).update(left_at=timezone.now())

    again = admin.post("/members", MARIT)

    assert again.status_code == 200
    assert again.json()["left_at"] is not None


def test_somebody_who_signed_in_and_joined_is_the_member_with_that_id(admin):
    owner = IdentityFactory.create(platform_id=MARIT["platform_id"])
    member = MemberFactory.create(community=admin.community, user=owner.user)

    again = admin.post("/members", MARIT)

    assert (again.status_code, again.json()["id"]) == (200, str(member.pk))


def test_who_signs_in_with_the_account_is_the_member(admin):
    added = add(admin, **MARIT)

    identity = identities.sign_in(
        provider="chat", platform_id=MARIT["platform_id"], name="Marit", at=timezone.now()
    )

    assert str(identity.user_id) == added["user_id"]


@try_each(
    ("body", "fault"),
    [
        ({}, ("nick", "required")),
        ({"nick": ""}, ("nick", "blank")),
        ({"nick": None}, ("nick", "null")),
        ({"nick": "x" * 201}, ("nick", "too_long")),
        ({"nick": "x", "access": "owner"}, ("access", "invalid_choice")),
        ({"nick": "x", "platform_id": ""}, ("platform_id", "blank")),
        ({"nick": "x", "platform_id": 42}, ("platform_id", "invalid_type")),
        ({"members": []}, ("members", "too_short")),
        ({"members": [{"nick": "a"}, {}]}, ("members[1].nick", "required")),
        ({"members": [{"nick": "a"}] * 101}, ("members", "too_long")),
        ({"members": [MARIT, MARIT]}, ("members[1].platform_id", "duplicate")),
    ],
)
def test_faults_are_named(admin, body, fault):
    answer = admin.post("/members", body)

    assert answer.status_code == 400
    assert fault[0] in {field for field, _ in faults(answer)}
    assert Member.objects.filter(community=admin.community).count() == 1


def test_many_are_added_in_their_order(admin):
    marit = add(admin, **MARIT)
    people = [{"nick": "Ola"}, MARIT, {"nick": "Kari", "access": "creator", "platform_id": "77"}]

    answer = admin.post("/members", {"members": people})

    data = answer.json()["data"]
    assert answer.status_code == 201
    assert [each["nick"] for each in data] == ["Ola", "marit", "Kari"]
    assert data[1] == marit
    assert (data[2]["access"], data[2]["platform_id"]) == ("creator", "77")
    assert admin.post("/members", {"members": people[1:]}).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_requests_at_once_add_one_member(admin):
    callers = [admin.in_another_thread() for _ in range(4)]

    answers = run_together(*(partial(caller.post, "/members", MARIT) for caller in callers))

    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert Identity.objects.filter(provider="chat").count() == 1
    assert Member.objects.filter(community=admin.community).count() == 2
    assert User.objects.count() == 2


def test_name_access_and_account_are_changed(admin):
    added = add(admin, **MARIT)

    changed = admin.patch(
        f"/members/{added['id']}", {"nick": "Marit", "access": "creator", "platform_id": "9"}
    )

    new = {"nick": "Marit", "access": "creator", "platform_id": "9"}
    assert changed.json() == added | new | {"updated_at": changed.json()["updated_at"]}
    assert list(Identity.objects.values_list("platform_id", flat=True)) == ["9"]
    entries = list(
        AuditEntry.objects.filter(action="member.updated").order_by("pk").values_list("after", flat=True)
    )
    assert {"access": "creator"} in entries
    assert {"nick": "changed", "platform_id": "changed"} in entries
    assert admin.patch(f"/members/{added['id']}", {"platform_id": None}).json()["platform_id"] is None


def test_the_only_admin_keeps_their_access(admin):
    own = Member.objects.get(user=admin.user)

    assert refusal(admin.patch(f"/members/{own.pk}", {"access": "member"})) == (409, "conflict")


def test_a_member_who_has_left_is_not_changed(admin):
    gone = MemberFactory.create(community=admin.community, left_at=timezone.now())

    assert refusal(admin.patch(f"/members/{gone.pk}", {"nick": "x"})) == (409, "conflict")
    assert admin.patch("/members/999999", {"nick": "x"}).status_code == 404


def test_an_account_that_somebody_has_is_not_taken(admin):
    add(admin, **MARIT)
    other = add(admin, nick="Ola")

    taken = admin.patch(f"/members/{other['id']}", {"platform_id": MARIT["platform_id"], "nick": "Olav"})

    assert refusal(taken) == (409, "conflict")
    assert admin.get(f"/members/{other['id']}").json() == other


@pytest.mark.parametrize("how", ["proven", "password", "staff"])
def test_nobody_is_given_a_way_into_the_account_of_somebody_who_signs_in(admin, how):
    member = MemberFactory.create(community=admin.community)
    if how == "proven":
        IdentityFactory.create(user=member.user, platform_id="5", proven_at=timezone.now())
    if how == "password":
        member.user.set_password("correct horse battery staple")
        member.user.save()
    if how == "staff":
        User.objects.filter(pk=member.user_id).update(is_staff=True)

    assert refusal(admin.patch(f"/members/{member.pk}", {"platform_id": "9"})) == (409, "conflict")
    assert not Identity.objects.filter(platform_id="9").exists()


def test_a_key_loses_its_role_at_once_when_its_users_access_changes(admin):
    creator = admin.beside("creator")
    member = Member.objects.get(user=creator.user)
    assert creator.post("/projects", {"name": "One", "type": "convo"}).status_code == 201

    admin.patch(f"/members/{member.pk}", {"access": "member"})

    assert creator.post("/projects", {"name": "Two", "type": "convo"}).status_code == 403


def test_keys_tell_their_role(admin):
    restricted = admin.post("/api_keys", {"name": "Website", "role": "creator"}).json()
    creator = admin.beside("creator")

    roles = {each["id"]: each["role"] for each in admin.get("/api_keys").json()["data"]}

    assert restricted["role"] == "creator"
    own = ApiKey.objects.get(user=creator.user)
    assert roles[restricted["id"]] == "creator"
    assert roles[str(own.pk)] == "creator"
    assert set(roles.values()) == {"admin", "creator"}
    Member.objects.filter(user=creator.user).update(left_at=timezone.now())
    again = {each["id"]: each["role"] for each in admin.get("/api_keys").json()["data"]}
    assert again[str(own.pk)] is None
