"""The ledger over the interface (rules 8.1 and 8.5)."""

from datetime import timedelta

import pytest

from communities.models import Member, User
from tests.support.caller import Caller, faults, refusal
from tests.support.moments import NOON
from tests.support.surveys.scenario import at_most
from tests.support.xp.leaderboard import leave, member
from xp.models import XpEntry
from xp.services import ledger

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return Caller("admin")


def award(member, amount=10, **fields):
    columns = {"kind": XpEntry.SourceKind.ACTION_BLOCK, "at": NOON, **fields}
    return ledger.award(member_id=member.pk, community_id=member.community_id, amount=amount, **columns)


def own_member(caller):
    return Member.objects.get(community=caller.community, user=caller.user)


def test_the_ledger_lists_every_entry_newest_first(admin):
    ann = member(admin, "Ann")
    first = award(
        ann,
        30,
        kind=XpEntry.SourceKind.SURVEY_COMPLETION,
        source_ref=12,
        session_number=2,
        survey_name="Openings",
    )
    second = award(
        ann,
        -50,
        kind=XpEntry.SourceKind.ADMIN_MANUAL,
        actor_id=member(admin, "Ingrid").user_id,
        note="Counted twice",
        at=NOON + timedelta(minutes=1, microseconds=7),
    )
    award(member(admin, "Bob"))

    assert admin.get(f"/members/{ann.pk}/xp").json() == {
        "data": [
            {
                "id": second.pk,
                "delta": -30,
                "balance_after": 0,
                "source_kind": "admin_manual",
                "source_ref": None,
                "session_number": None,
                "actor_name": "Ingrid",
                "actor_pseudonym": None,
                "survey_name": None,
                "note": "Counted twice",
                "created_at": "2026-01-31T12:01:00Z",
            },
            {
                "id": first.pk,
                "delta": 30,
                "balance_after": 30,
                "source_kind": "survey_completion",
                "source_ref": 12,
                "session_number": 2,
                "actor_name": None,
                "actor_pseudonym": None,
                "survey_name": "Openings",
                "note": None,
                "created_at": "2026-01-31T12:00:00Z",
            },
        ],
        "pagination": {"page": 1, "per_page": 25, "total": 2, "has_more": False},
    }


@pytest.mark.parametrize(("access", "status"), [("member", 403), ("creator", 403), ("admin", 200)])
def test_only_admins_may_read_the_ledger_of_others(admin, access, status):
    ann = member(admin, "Ann")

    response = admin.beside(access).get(f"/members/{ann.pk}/xp")

    assert response.status_code == status
    assert status == 200 or response.json()["error"] == "forbidden"


def test_an_admins_restricted_key_may_read_their_own_ledger_only(admin):
    ann = member(admin, "Ann")
    admin.community.api_keys.update(restricted_to="creator")

    assert refusal(admin.get(f"/members/{ann.pk}/xp")) == (403, "forbidden")
    assert admin.get(f"/members/{own_member(admin).pk}/xp").status_code == 200


def test_the_ledger_of_a_member_who_left_can_be_read(admin):
    ann = member(admin, "Ann")
    award(ann)
    leave(ann)

    assert len(admin.get(f"/members/{ann.pk}/xp").json()["data"]) == 1


def test_the_users_member_of_another_community_is_not_found(admin):
    elsewhere = Caller("admin")
    double = Member.objects.create(community=elsewhere.community, user=admin.user)

    assert refusal(admin.get(f"/members/{double.pk}/xp")) == (404, "not_found")


@pytest.mark.parametrize(
    ("query", "field"), [("sort=id", "sort"), ("page=0", "page"), ("per_page=101", "per_page")]
)
def test_an_invalid_query_is_refused(admin, query, field):
    response = admin.get(f"/members/{member(admin).pk}/xp?{query}")

    assert refusal(response) == (400, "invalid_request")
    assert {name for name, _ in faults(response)} == {field}


@pytest.mark.parametrize("entries", [1, 3, 30])
def test_a_page_costs_three_statements(admin, entries):
    ann = Member.objects.create(community=admin.community, user=User.objects.create())
    for _ in range(entries):
        award(ann)
    admin.get(f"/members/{ann.pk}/xp")

    with at_most(3):  # the member, the count, the entries
        assert len(admin.get(f"/members/{ann.pk}/xp?per_page=100").json()["data"]) == entries


@pytest.mark.parametrize("entries", [1, 3, 30])
def test_actor_names_cost_one_statement_more(admin, entries):
    ann = member(admin, "Ann")
    for number in range(entries):
        award(ann, actor_id=member(admin, f"Admin {number}").user_id)
    admin.get(f"/members/{ann.pk}/xp")

    with at_most(4):
        rows = admin.get(f"/members/{ann.pk}/xp?per_page=100").json()["data"]

    assert [each["actor_name"] for each in rows] == [f"Admin {number}" for number in range(entries)][::-1]


def test_an_actor_who_is_no_longer_a_member_has_no_name(admin):
    ann, boss = member(admin, "Ann"), member(admin, "Ingrid")
    award(ann, actor_id=boss.user_id)
    boss.delete()

    (entry,) = admin.get(f"/members/{ann.pk}/xp").json()["data"]

    assert entry["actor_name"] is None
