"""The list of members read from one on, and by their last change, while they change (rule 1.16)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from communities.models import Member
from surveys.services.people import service as people
from tests.factories import MemberFactory
from tests.support.caller import Caller, faults, refusal
from tests.support.moments import NOON
from tests.support.plans import analyse, fill_members
from tests.support.xp.leaderboard import leave, member, names
from xp.models import Standing

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def admin() -> Caller:
    return Caller()


def walked(
    caller: Caller, query: str, between: Callable[[list[Any]], None] = lambda _: None
) -> list[dict[str, Any]]:
    """All members, read page by page from the last one on. `between` runs after each page."""
    read: list[dict[str, Any]] = []
    while True:
        after = f"&after={read[-1]['id']}" if read else ""
        page = caller.get(f"/members?per_page=2&{query}{after}").json()
        read += page["data"]
        if not page["pagination"]["has_more"]:
            return read
        between(read)


def mixed(caller: Caller) -> None:
    """Members with equal names, with names in nicks, without names, and with equal or no times of joining."""
    for n, (name, nick) in enumerate((("b", None), ("", "B"), ("a", ""), ("", None), ("z", "a"), ("", None))):
        joined_at = None if n % 3 == 0 else NOON + (n % 2) * DAY
        member(caller, name, nick=nick, xp=n, joined_at=joined_at)


@pytest.mark.parametrize("sort", ["id", "name", "joined_at"])
def test_nobody_is_lost_or_doubled_while_ranks_change_and_others_come_and_go(
    admin: Caller, sort: str
) -> None:
    mixed(admin)
    whole = [row["id"] for row in admin.get(f"/members?sort={sort}").json()["data"]]
    guests: list[Member] = []

    def change(read: list[Any]) -> None:
        for standing in Standing.objects.order_by("pk"):
            Standing.objects.filter(pk=standing.pk).update(xp_total=100 - standing.xp_total)
        Member.objects.filter(
            pk__in=[guest.pk for guest in guests if str(guest.pk) != read[-1]["id"]]
        ).delete()
        if len(read) < 6:
            guests.append(member(admin, "0", joined_at=NOON - 9 * DAY))
            guests.append(member(admin, "zz", joined_at=NOON + 9 * DAY))

    read = [row["id"] for row in walked(admin, f"sort={sort}", change)]

    assert [each for each in read if each in whole] == whole


def test_a_page_after_a_member_is_in_the_order_of_ids_unless_sorted(admin: Caller) -> None:
    """Rule 1.720."""
    first, second, third = (member(admin, name, xp=xp) for name, xp in (("c", 1), ("a", 2), ("b", 3)))

    answer = admin.get(f"/members?after={first.pk}")

    assert names(answer) == [second.user.name, third.user.name]
    assert answer.json()["pagination"] == {"per_page": 25, "total": 4, "has_more": False}
    assert names(admin.get(f"/members?after={third.pk}&sort=name")) == ["c"]
    assert names(admin.get(f"/members?after={third.pk}")) == []
    assert names(admin.get("/members"))[1:] == ["c", "a", "b"]
    assert names(admin.get("/members?sort=rank"))[:3] == ["b", "a", "c"]


def test_a_page_after_a_member_keeps_the_filters_and_ranks(admin: Caller) -> None:
    first = member(admin, "x", xp=9)
    member(admin, "Ann", xp=1)
    member(admin, "Bo")
    member(admin, "Anna", xp=5)

    answer = admin.get(f"/members?after={first.pk}&search=ann")

    assert [(row["name"], row["rank"]) for row in answer.json()["data"]] == [("Ann", 3), ("Anna", 2)]
    assert answer.json()["pagination"]["total"] == 2


def test_a_member_who_has_left_is_a_place_and_one_who_is_gone_is_none(admin: Caller) -> None:
    left, gone, last = (member(admin, name) for name in ("left", "gone", "last"))
    leave(left)
    people.erase(actor=admin.actor, member_id=gone.pk, at=NOON)
    theirs = MemberFactory.create()

    assert names(admin.get(f"/members?after={left.pk}")) == [last.user.name]
    for after in (gone.pk, theirs.pk, 2**63 - 1):
        for sort in ("", "&sort=name", "&sort=joined_at"):
            answer = admin.get(f"/members?after={after}{sort}")
            assert refusal(answer) == (400, "invalid_request")
            assert faults(answer) == {("after", "not_found")}


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("after=1&sort=rank", ("after", "conflicting")),
        ("after=1&page=1", ("after", "conflicting")),
        ("after=0", ("after", "too_small")),
        ("after=x", ("after", "invalid")),
        ("updated_after=2026-01-31T10:00:00", ("updated_after", "invalid")),
    ],
)
def test_a_place_that_means_nothing_is_refused(admin: Caller, query: str, fault: tuple[str, str]) -> None:
    answer = admin.get(f"/members?{query}")

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {fault}


def test_members_are_filtered_by_their_last_change(admin: Caller) -> None:
    for n, name in enumerate("abc"):
        MemberFactory.create(
            community=admin.community, user__name=name, updated_at=NOON - 300 * DAY + timedelta(hours=n)
        )
    known = {"A admin"}  # changed just now
    since = NOON - 300 * DAY + timedelta(hours=1)

    def found(at: datetime) -> set[str | None]:
        return set(names(admin.get(f"/members?updated_after={at:%Y-%m-%dT%H:%M:%SZ}"))) - known

    assert found(since) == {"b", "c"}
    assert found(since + timedelta(seconds=1)) == {"c"}
    assert (
        admin.get("/members?per_page=1&updated_after=2999-01-01T00:00:00Z").json()["pagination"]["total"] == 0
    )


@pytest.mark.parametrize(
    ("sort", "index"), [("id", "communities_member_pkey|member_newest"), ("joined_at", "member_by_joining")]
)
def test_a_page_after_a_member_is_read_from_an_index(admin: Caller, sort: str, index: str) -> None:
    rows = fill_members(admin.community, 3_000)
    Member.objects.filter(pk__gt=rows[10].pk).update(joined_at=NOON)
    analyse(Member)

    with CaptureQueriesContext(connection) as queries:
        assert admin.get(f"/members?per_page=2&after={rows[1500].pk}&sort={sort}").status_code == 200

    [listing] = [each["sql"] for each in queries.captured_queries if "LIMIT 3" in each["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {listing}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert any(name in plan for name in index.split("|")), plan
    assert "Sort" not in plan
    assert "Seq Scan" not in plan
