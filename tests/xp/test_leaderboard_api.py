"""The leaderboard (rules 8.9 and 8.10)."""

from datetime import date

import pytest

from communities.models import CommunitySettings
from tests.support.caller import Caller, faults, refusal
from tests.support.xp.leaderboard import leave, member, ranks

pytestmark = pytest.mark.django_db

LONG_AGO = date(2020, 1, 1)


@pytest.fixture
def admin():
    return Caller("admin")


def test_the_leaderboard_lists_present_members_with_xp_most_first(admin):
    for name, xp in (("a", 30), ("none", None), ("c", 50), ("zero", 0), ("f", 10)):
        member(admin, name, xp=xp)
    leave(member(admin, "gone", xp=99))

    response = admin.get("/leaderboard")

    assert ranks(response) == [("c", 1), ("a", 2), ("f", 3)]
    assert response.json()["pagination"] == {"page": 1, "per_page": 25, "total": 3, "has_more": False}


@pytest.mark.parametrize("period", ["all", "month"])
@pytest.mark.parametrize("per_page", [1, 2, 3, 4, 25])
def test_equal_members_share_a_rank_across_pages(admin, period, per_page):
    for name, xp in (("a", 9), ("b", 9), ("c", 5), ("d", 5), ("e", 5), ("f", 1)):
        member(admin, name, xp=xp, in_month=xp)

    pages = [
        ranks(admin.get(f"/leaderboard?period={period}&per_page={per_page}&page={page}"))
        for page in range(1, -(-6 // per_page) + 1)
    ]

    rows = [each for page in pages for each in page]
    assert rows == [("a", 1), ("b", 1), ("c", 3), ("d", 3), ("e", 3), ("f", 6)]


def test_the_monthly_leaderboard_ranks_by_xp_of_the_month(admin):
    member(admin, "rich", xp=900, in_month=0)
    member(admin, "back", xp=500, in_month=-5)
    member(admin, "old", xp=800, in_month=70, month=LONG_AGO)
    member(admin, "first", xp=60, in_month=60)
    member(admin, "next", xp=300, in_month=20)
    leave(member(admin, "gone", xp=400, in_month=400))

    month = admin.get("/leaderboard?period=month")

    assert ranks(month) == [("first", 1), ("next", 2)]
    assert month.json()["pagination"]["total"] == 2
    assert [each["xp_monthly"] for each in month.json()["data"]] == [60, 20]
    assert ranks(admin.get("/leaderboard?period=all")) == [
        ("rich", 1),
        ("old", 2),
        ("back", 3),
        ("next", 4),
        ("first", 5),
    ]


def test_a_switched_off_leaderboard_is_a_conflict(admin):
    member(admin, "Ann", xp=5)
    statuses = []
    for switch in (False, None, True):
        CommunitySettings.objects.update(use_leader_board=switch)
        statuses.append(admin.get("/leaderboard").status_code)

    assert statuses == [409, 200, 200]
    CommunitySettings.objects.update(use_leader_board=False)
    assert refusal(admin.get("/leaderboard")) == (409, "conflict")


def test_each_community_has_its_own_leaderboard(admin):
    member(admin, "Ann", xp=5, in_month=5)
    stranger = Caller()
    member(stranger, "Stranger", xp=50, in_month=50)

    assert ranks(admin.get("/leaderboard")) == [("Ann", 1)]
    assert ranks(stranger.get("/leaderboard?period=month")) == [("Stranger", 1)]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("period=week", "period"),
        ("periode=month", "periode"),
        ("sort=name", "sort"),
        ("access=admin", "access"),
        ("page=0", "page"),
        ("per_page=101", "per_page"),
    ],
)
def test_an_invalid_query_is_refused(admin, query, field):
    response = admin.get(f"/leaderboard?{query}")

    assert refusal(response) == (400, "invalid_request")
    assert {name for name, _ in faults(response)} == {field}
