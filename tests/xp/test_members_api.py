from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from communities.models import CommunitySettings
from tests.factories import IdentityFactory
from tests.support.caller import Caller, faults, refusal
from tests.support.cases import try_each
from tests.support.xp.leaderboard import JANUARY, LATE_IN_JANUARY, achievement, leave, member, names, ranks
from xp.services import leaderboard, members

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    """An admin whose member has neither a name nor XP, and so is last among the present members."""
    caller = Caller("admin")
    caller.user.name = ""
    caller.user.save(update_fields=["name"])
    return caller


def changed_at(member):
    member.refresh_from_db()
    return f"{member.updated_at:%Y-%m-%dT%H:%M:%SZ}"


def test_a_members_json_has_all_that_they_earned(admin):
    """Rules 1.13 and 1.17."""
    ann = member(
        admin,
        "Ann Lee",
        nick="annie",
        avatar_url="https://pictures.example.org/ann.png",
        access="creator",
        joined_at=datetime(2025, 5, 1, 9, 0, 0, 999, tzinfo=UTC),
        chat="820000000000000042",
        xp=340,
        in_month=40,
        participation=9,
    )
    achievement(ann, number=7, name="Completed: Openings", project_id=12)
    achievement(
        ann,
        number=3,
        name="Regular",
        image_url="https://pictures.example.org/regular.png",
        awarded_at=LATE_IN_JANUARY - timedelta(days=1),
    )

    assert admin.get(f"/members/{ann.pk}").json() == {
        "id": str(ann.pk),
        "user_id": str(ann.user_id),
        "platform_id": "820000000000000042",
        "name": "Ann Lee",
        "nick": "annie",
        "avatar_url": "https://pictures.example.org/ann.png",
        "access": "creator",
        "rank": 1,
        "xp_total": 340,
        "xp_monthly": 40,
        "level": 2,
        "participation": 9,
        "achievements": [
            {
                "id": "3",
                "name": "Regular",
                "image_url": "https://pictures.example.org/regular.png",
                "project_id": None,
                "awarded_at": "2026-01-30T23:59:59Z",
            },
            {
                "id": "7",
                "name": "Completed: Openings",
                "image_url": f"{settings.BASE_URL}/badges/7.svg",
                "project_id": "12",
                "awarded_at": "2026-01-31T23:59:59Z",
            },
        ],
        "joined_at": "2025-05-01T09:00:00Z",
        "left_at": None,
        "updated_at": changed_at(ann),
    }


def test_a_new_members_json_has_zeros_and_nulls(admin):
    own = admin.community.members.get()

    assert admin.get(f"/members/{own.pk}").json() == {
        "id": str(own.pk),
        "user_id": str(own.user_id),
        "platform_id": None,
        "name": None,
        "nick": None,
        "avatar_url": None,
        "access": "admin",
        "rank": 1,
        "xp_total": 0,
        "xp_monthly": 0,
        "level": 0,
        "participation": 0,
        "achievements": [],
        "joined_at": None,
        "left_at": None,
        "updated_at": changed_at(own),
    }


def test_the_platform_id_is_that_of_the_first_chat_account(admin):
    ann = member(admin, "Ann")
    IdentityFactory.create(user=ann.user, provider="web", platform_id="w", community=admin.community)
    IdentityFactory.create(user=ann.user, provider="video", platform_id="v")
    IdentityFactory.create(user=ann.user, platform_id="2")
    IdentityFactory.create(user=ann.user, platform_id="1")

    assert admin.get(f"/members/{ann.pk}").json()["platform_id"] == "2"


# --- Ranks ------------------------------------------------------------------------------------------


def test_equal_members_share_a_rank_and_members_without_xp_come_last(admin):
    for name, xp in (("a", 30), ("b", None), ("c", 50), ("d", 50), ("e", 0), ("f", 10)):
        member(admin, name, xp=xp)

    assert ranks(admin.get("/members?sort=rank")) == [
        ("c", 1),
        ("d", 1),
        ("a", 3),
        ("f", 4),
        (None, 5),
        ("b", 5),
        ("e", 5),
    ]


def test_members_who_left_have_no_rank_and_come_last(admin):
    leave(member(admin, "gone", xp=99))
    leave(member(admin, "gone without", xp=None))
    member(admin, "here", xp=10)

    listed = admin.get("/members?sort=rank")

    assert ranks(listed) == [("here", 1), (None, 2), ("gone", None), ("gone without", None)]
    assert listed.json()["data"][2]["left_at"] == "2026-01-31T23:59:59Z"
    assert listed.json()["data"][2]["xp_total"] == 99


@pytest.mark.parametrize("limit", [0, 4, members.INDEX_SCAN_LIMIT])
@pytest.mark.parametrize("query", ["sort=rank", "sort=name", "sort=joined_at", "access=member"])
def test_ranks_do_not_depend_on_the_page_size(admin, query, limit, monkeypatch):
    monkeypatch.setattr(members, "INDEX_SCAN_LIMIT", limit)
    for number, xp in enumerate((5, None, 7, 7, 7, 0, 3, 9)):
        leave(member(admin, "gone", xp=xp)) if xp == 9 else member(admin, f"m{number}", xp=xp)
    whole = ranks(admin.get(f"/members?{query}"))

    for per_page in (1, 2, 3, 5, 100):
        pages = [
            ranks(admin.get(f"/members?{query}&per_page={per_page}&page={page}"))
            for page in range(1, -(-len(whole) // per_page) + 1)
        ]
        assert [each for page in pages for each in page] == whole, per_page
    assert dict(whole) | {None: 0} == {
        "m2": 1,
        "m3": 1,
        "m4": 1,
        "m0": 4,
        "m6": 5,
        "m1": 6,
        "m5": 6,
        "gone": None,
        None: 0,
    }


@pytest.mark.parametrize(("switch", "rank"), [(True, 1), (None, 1), (False, None)])
def test_ranks_are_null_if_the_leaderboard_is_switched_off(admin, switch, rank):
    ann = member(admin, "Ann", xp=5)
    member(admin, "Bob", xp=3)
    CommunitySettings.objects.update(use_leader_board=switch)

    assert admin.get(f"/members/{ann.pk}").json()["rank"] == rank
    assert [name for name, _ in ranks(admin.get("/members?sort=rank"))] == ["Ann", "Bob", None]
    assert ranks(admin.get("/members?sort=rank"))[0] == ("Ann", rank)


def test_members_of_other_communities_are_not_counted(admin):
    other = Caller()
    member(other, "Stranger", xp=1000)
    member(admin, "Ann", xp=1)

    assert ranks(admin.get("/members?sort=rank")) == [("Ann", 1), (None, 2)]


# --- Months -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "monthly"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), 40),
        (LATE_IN_JANUARY, 40),
        (datetime(2026, 2, 1, tzinfo=UTC), 0),
        (datetime(2026, 2, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), 40),
        (datetime(2026, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-1))), 0),
        (datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC), 0),
    ],
)
def test_a_month_begins_and_ends_in_utc(admin, at, monthly):
    ann = member(admin, "Ann", xp=90, in_month=40, month=JANUARY)
    places = {"community_id": admin.community.pk, "at": at}

    row = members.get(member_id=ann.pk, **places)
    board = leaderboard.page(0, 25, period="month", **places)

    assert (row["xp_total"], row["xp_monthly"]) == (90, monthly)
    assert [row["xp_monthly"] for row in board] == ([monthly] if monthly else [])
    assert leaderboard.count(period="month", **places) == len(board)


def test_xp_of_the_month_may_be_negative(admin):
    ann = member(admin, "Ann", xp=90, in_month=-10)

    assert admin.get(f"/members/{ann.pk}").json()["xp_monthly"] == -10


# --- Filters and orders -----------------------------------------------------------------------------


def test_filters_combine(admin):
    ann = member(admin, "Ann Lee", nick="Queen", access="creator")
    member(admin, "Bob 100%", nick=None)
    member(admin, "Cy_", nick="ann's friend")

    assert names(admin.get("/members?access=creator")) == ["Ann Lee"]
    assert names(admin.get("/members?access=member&sort=name")) == ["Cy_", "Bob 100%"]
    assert names(admin.get("/members?search=ANN")) == ["Ann Lee", "Cy_"]
    assert names(admin.get("/members?search=ann&access=creator")) == ["Ann Lee"]
    assert names(admin.get("/members?search=queen")) == ["Ann Lee"]
    assert names(admin.get("/members?search=%25")) == ["Bob 100%"]
    assert names(admin.get("/members?search=_")) == ["Cy_"]
    assert names(admin.get(f"/members?search={ann.pk}")) == ["Ann Lee"]
    assert names(admin.get("/members?search=nobody")) == []
    assert names(admin.get("/members?search=" + "9" * 30)) == []


def test_a_member_is_found_by_the_ids_that_others_know_them_by(admin):
    ann, ben = member(admin, "Ann"), member(admin, "Ben")
    account = IdentityFactory.create(user=ann.user)
    IdentityFactory.create(user=ben.user, provider="video", platform_id=account.platform_id)

    assert names(admin.get(f"/members?platform_id={account.platform_id}")) == ["Ann"]
    assert names(admin.get(f"/members?user_id={ben.user_id}")) == ["Ben"]
    assert names(admin.get(f"/members?user_id={ben.user_id}&platform_id={account.platform_id}")) == []
    assert names(admin.get(f"/members?platform_id={account.platform_id[:-1]}")) == []
    assert names(admin.get("/members?user_id=0")) == []


def test_a_part_of_an_id_finds_nobody(admin):
    ann = member(admin, "Ann", pk=812_345)

    assert names(admin.get(f"/members?search={ann.pk}")) == ["Ann"]
    assert names(admin.get("/members?search=81234")) == []


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", ["B", "x", "Zoe", None]),  # ada, B, zoe
        ("joined_at", ["Zoe", "x", None, "B"]),
        ("rank", ["Zoe", None, "x", "B"]),
    ],
)
def test_members_are_sorted_as_asked(admin, sort, expected):
    member(admin, "x", nick="b2", joined_at=LATE_IN_JANUARY)
    member(admin, "B", joined_at=None)
    member(admin, "Zoe", xp=3, joined_at=LATE_IN_JANUARY - timedelta(days=3))

    assert names(admin.get(f"/members?sort={sort}")) == expected


@try_each(
    ("query", "field"),
    [
        ("acess=admin", "acess"),
        ("access=owner", "access"),
        ("sort=xp", "sort"),
        ("sort=-rank", "sort"),
        ("period=month", "period"),
        ("search=%00", "search"),
        ("page=0", "page"),
        ("per_page=101", "per_page"),
    ],
)
def test_an_invalid_query_is_refused(admin, query, field):
    response = admin.get(f"/members?{query}")

    assert refusal(response) == (400, "invalid_request")
    assert {name for name, _ in faults(response)} == {field}


# --- Access ----------------------------------------------------------------------------------------


def test_members_of_another_community_are_not_found(admin):
    ann = member(admin, "Ann")
    stranger = Caller("admin")

    theirs, absent = stranger.get(f"/members/{ann.pk}"), stranger.get("/members/999999999")

    assert refusal(theirs) == (404, "not_found")
    assert theirs.content == absent.content
    assert "Ann" not in names(stranger.get("/members"))


# --- Cost -------------------------------------------------------------------------------------------


def statements(caller, path):
    caller.get(path)
    with CaptureQueriesContext(connection) as captured:
        assert caller.get(path).status_code == 200
    return len(captured)


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/members?per_page=100&sort=rank", 7),
        ("/members?per_page=100", 6),
        ("/members?per_page=100&search=m", 6),
        ("/leaderboard?per_page=100", 6),
        ("/leaderboard?per_page=100&period=month", 6),
    ],
)
def test_a_page_costs_the_same_however_long(admin, path, most):
    counted = []
    for more in (1, 2, 27):
        for number in range(more):
            earner = member(admin, f"m{number}", xp=number + 1, in_month=number + 1, chat=f"{more}-{number}")
            for _ in range(number % 4):
                achievement(earner)
        counted.append(statements(admin, path))

    assert counted == [most] * 3
