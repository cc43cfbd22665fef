"""Awards by hand (rule 8.6)."""

from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from communities.models import CommunitySettings, Member
from tests.support.api_requests import ask
from tests.support.caller import Caller, faults, refusal
from tests.support.surveys.scenario import at_most
from tests.support.xp.leaderboard import leave, member
from xp.models import XpEntry
from xp.services import achievements

pytestmark = pytest.mark.django_db

MILLION = 1_000_000


@pytest.fixture
def admin():
    return Caller("admin")


@pytest.fixture
def ann(admin):
    return member(admin, "Ann", chat="42")


def give(caller, member, body, **headers):
    return caller.post(f"/members/{member.pk}/xp", body, **headers)


# --- Awards -----------------------------------------------------------------------------------------


def test_an_award_returns_its_entry_and_the_member(admin, ann):
    before = timezone.now()

    response = give(admin, ann, {"amount": 120, "note": " Helped at the club evening "})

    entry = XpEntry.objects.get()
    assert response.status_code == 201
    assert response.json() == {
        "entry": {
            "id": entry.pk,
            "delta": 120,
            "balance_after": 120,
            "source_kind": "admin_manual",
            "source_ref": None,
            "session_number": None,
            "actor_name": "A admin",
            "actor_pseudonym": None,
            "survey_name": None,
            "note": "Helped at the club evening",
            "created_at": entry.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "member": admin.get(f"/members/{ann.pk}").json(),
    }
    assert before <= entry.created_at <= timezone.now()
    row = response.json()["member"]
    assert (row["xp_total"], row["xp_monthly"], row["level"], row["rank"]) == (120, 120, 1, 1)
    assert row["participation"] == 0


def test_a_deduction_stops_at_zero_and_says_so(admin, ann):
    give(admin, ann, {"amount": 30})

    taken, none_left = (give(admin, ann, {"amount": -50}).json() for _ in range(2))

    assert (taken["entry"]["delta"], taken["entry"]["balance_after"]) == (-30, 0)
    assert (none_left["entry"]["delta"], none_left["entry"]["balance_after"]) == (0, 0)
    assert none_left["member"]["xp_total"] == 0
    assert XpEntry.objects.count() == 3


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"amount": 0}, ("amount", "not_allowed")),
        ({"amount": 1.5}, ("amount", "invalid_type")),
        ({"amount": 5.5}, ("amount", "invalid_type")),
        ({"amount": True}, ("amount", "invalid_type")),
        ({"amount": "5"}, ("amount", "invalid_type")),
        ({"amount": None}, ("amount", "null")),
        ({"amount": [5]}, ("amount", "invalid_type")),
        ({}, ("amount", "required")),
        ({"amount": MILLION + 1}, ("amount", "too_large")),
        ({"amount": -MILLION - 1}, ("amount", "too_small")),
        ({"amount": 2**63}, ("amount", "too_large")),
        ({"amount": 5, "note": "x" * 501}, ("note", "too_long")),
        ({"amount": 5, "note": 7}, ("note", "invalid_type")),
    ],
)
def test_an_invalid_award_is_refused(admin, ann, body, fault):
    response = give(admin, ann, body)

    assert refusal(response) == (400, "invalid_request")
    assert faults(response) == {fault}
    assert not XpEntry.objects.exists()


@pytest.mark.parametrize(("switch", "status"), [(False, 409), (None, 201), (True, 201)])
def test_no_award_if_xp_is_switched_off(admin, ann, switch, status):
    CommunitySettings.objects.update(use_xp=switch)

    assert give(admin, ann, {"amount": 5}).status_code == status
    assert XpEntry.objects.count() == (status == 201)


def test_no_award_to_a_member_who_has_left(admin, ann):
    leave(ann)

    assert refusal(give(admin, ann, {"amount": 5})) == (409, "conflict")
    assert not XpEntry.objects.exists()


def test_an_unknown_member_is_not_found(admin):
    stranger = member(Caller(), "Stranger")

    for member_id in ("0", "abc", "-1", "9" * 19, "999999999", stranger.pk):
        assert refusal(admin.post(f"/members/{member_id}/xp", {"amount": 5})) == (404, "not_found")
    assert not XpEntry.objects.exists()


def test_an_award_does_not_reach_the_user_in_another_community(admin, ann):
    elsewhere = Caller("admin")
    double = Member.objects.create(community=elsewhere.community, user=ann.user)

    give(admin, ann, {"amount": 5})

    assert elsewhere.get(f"/members/{double.pk}").json()["xp_total"] == 0


def test_a_retried_award_counts_once(admin, ann):
    key = {"Idempotency-Key": str(uuid4())}

    first, again = (give(admin, ann, {"amount": 5}, **key) for _ in range(2))

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert again["Idempotency-Replayed"] == "true"
    assert refusal(give(admin, ann, {"amount": 6}, **key)) == (409, "conflict")
    assert admin.get(f"/members/{ann.pk}").json()["xp_total"] == 5


def test_a_refused_award_leaves_its_key_free(admin, ann):
    key = {"Idempotency-Key": str(uuid4())}
    CommunitySettings.objects.update(use_xp=False)
    refused = give(admin, ann, {"amount": 5}, **key)
    CommunitySettings.objects.update(use_xp=True)

    done = give(admin, ann, {"amount": 5}, **key)

    assert (refused.status_code, done.status_code) == (409, 201)


def give_at_once(caller, member, awards):
    """The responses to concurrent awards. Each award is an amount and an Idempotency-Key."""

    def send(award):
        amount, key = award
        path = f"/v1/communities/{caller.community.pk}/members/{member.pk}/xp"
        try:
            return ask(
                "POST", path, key=caller.secret, body={"amount": amount}, headers={"Idempotency-Key": key}
            )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(awards)) as pool:
        return list(pool.map(send, awards))


@pytest.mark.django_db(transaction=True)
def test_concurrent_awards_add_up():
    admin = Caller("admin")
    ann = member(admin, "Ann")

    responses = give_at_once(admin, ann, [(amount, str(uuid4())) for amount in range(1, 31)])

    assert {response.status_code for response in responses} == {201}
    entries = sorted((response.json()["entry"] for response in responses), key=lambda entry: entry["id"])
    balances = [entry["balance_after"] for entry in entries]
    assert balances == list(accumulate(entry["delta"] for entry in entries))
    assert admin.get(f"/members/{ann.pk}").json()["xp_total"] == sum(range(31)) == balances[-1]


@pytest.mark.django_db(transaction=True)
def test_concurrent_awards_with_one_key_count_once():
    admin = Caller("admin")
    ann = member(admin, "Ann")

    responses = give_at_once(admin, ann, [(5, str(uuid4()))] * 8)

    assert {response.status_code for response in responses} == {201}
    assert len({response.content for response in responses}) == 1
    assert XpEntry.objects.get().delta == 5


# --- Achievements -----------------------------------------------------------------------------------


def test_achievements_are_listed_by_number(admin):
    place = {"community_id": admin.community.pk}
    achievements.define(**place, name="Regular", number=7, role_id="820000000000000001")
    achievements.define(**place, name="First", number=2, image_url="https://pictures.example.org/2.png")
    achievements.define(community_id=Caller().community.pk, name="Elsewhere")

    assert admin.get("/achievements").json() == {
        "data": [
            {
                "id": "2",
                "name": "First",
                "image_url": "https://pictures.example.org/2.png",
                "role_id": None,
            },
            {
                "id": "7",
                "name": "Regular",
                "image_url": f"{settings.BASE_URL}/badges/7.svg",
                "role_id": "820000000000000001",
            },
        ],
        "pagination": {"page": 1, "per_page": 25, "total": 2, "has_more": False},
    }


@pytest.mark.parametrize("count", [1, 3, 30])
def test_a_page_of_achievements_costs_two_statements(admin, count):
    for number in range(count):
        achievements.define(community_id=admin.community.pk, name=f"No. {number}")
    admin.get("/achievements")

    with at_most(2):
        assert len(admin.get("/achievements?per_page=100").json()["data"]) == count
