from datetime import timedelta
from typing import Any

import pytest

from surveys.models import Project
from tests.factories import ProjectFactory
from tests.support.caller import TEXT, Caller, faults, refusal
from tests.support.cases import try_each
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db


def names(answer):
    return [project["name"] for project in answer.json()["data"]]


def test_in_the_order_of_ids_in_pages():
    """Rule 1.720."""
    caller = Caller()
    for n in range(3):
        caller.make(name=f"P{n}")

    first = caller.get("/projects?per_page=2")
    second = caller.get("/projects?per_page=2&page=2")
    beyond = caller.get("/projects?page=9")

    assert names(first) == ["P0", "P1"]
    assert first.json()["pagination"] == {"page": 1, "per_page": 2, "total": 3, "has_more": True}
    assert names(second) == ["P2"]
    assert second.json()["pagination"]["has_more"] is False
    assert (beyond.status_code, names(beyond)) == (200, [])


def test_filters_choose_and_combine():
    caller = Caller()
    other = caller.beside("creator")
    caller.make(name="Chess vote", type="poll")
    caller.make_open(TEXT, name="Chess survey")
    other.make(name="Go 100%")

    assert names(caller.get("/projects?type=poll")) == ["Chess vote"]
    assert names(caller.get("/projects?status=active")) == ["Chess survey"]
    assert names(caller.get("/projects?status=inactive&sort=name")) == ["Chess vote", "Go 100%"]
    assert names(caller.get("/projects?search=CHESS&sort=name")) == ["Chess survey", "Chess vote"]
    assert names(caller.get("/projects?search=%25")) == ["Go 100%"]
    assert names(caller.get(f"/projects?author_id={other.user.pk}")) == ["Go 100%"]
    assert names(caller.get("/projects?search=chess&status=inactive")) == ["Chess vote"]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [("created_at", ["b", "A", "C"]), ("-created_at", ["C", "A", "b"]), ("name", ["A", "b", "C"])],
)
def test_projects_are_sorted_as_asked(sort, expected):
    caller = Caller()
    for n, name in enumerate(["b", "A", "C"]):
        made = caller.make(name=name)
        Project.objects.filter(pk=made["id"]).update(created_at=NOON + timedelta(days=n))

    assert names(caller.get(f"/projects?sort={sort}")) == expected


@try_each(
    ("query", "field"),
    [
        ("statuss=active", "statuss"),
        ("status=open", "status"),
        ("type=quiz", "type"),
        ("sort=size", "sort"),
        ("author_id=me", "author_id"),
        ("page=0", "page"),
        ("after=1&page=1", "after"),
        ("after=0", "after"),
        ("after=9223372036854775808", "after"),
        ("updated_after=2026-01-31T10:00:00", "updated_after"),
        ("per_page=101", "per_page"),
    ],
)
def test_a_query_that_is_not_understood_is_refused(query, field):
    answer = Caller().get(f"/projects?{query}")

    assert refusal(answer) == (400, "invalid_request")
    assert {name for name, _ in faults(answer)} == {field}


@pytest.mark.parametrize(
    ("method", "path"),
    [("get", ""), ("patch", ""), ("delete", ""), ("post", "/open"), ("post", "/close"), ("put", "/script")],
)
def test_addresses_without_query_parameters_refuse_any(method, path):
    caller = Caller()

    answer = caller.call(method, f"/projects/{caller.make(TEXT)['id']}{path}?force=1")

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {("force", "not_allowed")}


def test_a_member_sees_active_projects_alone():
    admin = Caller()
    member = admin.beside("member")
    hidden = admin.make(TEXT, name="Draft")
    shown = admin.make_open(TEXT, name="Open")

    assert names(member.get("/projects")) == ["Open"]
    assert names(member.get("/projects?status=inactive")) == []
    assert member.get(f"/projects/{shown['id']}").status_code == 200
    assert member.get(f"/projects/{shown['id']}/script").status_code == 200
    assert refusal(member.get(f"/projects/{hidden['id']}")) == (404, "not_found")
    assert refusal(member.get(f"/projects/{hidden['id']}/script")) == (404, "not_found")


def test_the_status_in_a_list_is_that_of_the_moment():
    caller = Caller()
    made = caller.make_open(TEXT)
    Project.objects.filter(pk=made["id"]).update(closes_at=NOON)

    assert names(caller.get("/projects?status=active")) == []
    assert caller.get("/projects?status=inactive").json()["data"][0]["status"] == "inactive"


@pytest.mark.parametrize("project_id", ["0", "-1", "abc", "9" * 19, "9" * 40, "1.5"])
def test_what_is_no_project_is_not_found(project_id):
    assert refusal(Caller().get(f"/projects/{project_id}")) == (404, "not_found")


def test_another_community_sees_nothing():
    made = Caller().make_open(TEXT)
    stranger = Caller()

    assert names(stranger.get("/projects")) == []
    assert refusal(stranger.get(f"/projects/{made['id']}")) == (404, "not_found")
    assert refusal(stranger.get(f"/projects/{made['id']}/script")) == (404, "not_found")


def test_a_page_costs_the_same_however_long(django_assert_num_queries):
    caller = Caller()
    caller.make_open(TEXT, scoring_enabled=True)
    caller.get("/projects")
    with django_assert_num_queries(4):  # how many, which, the projects, their buckets
        assert len(names(caller.get("/projects?per_page=100"))) == 1
    for _ in range(19):
        caller.make(TEXT, scoring_enabled=True)

    caller.get("/projects")  # the key was looked up a while ago
    with django_assert_num_queries(4):
        assert len(names(caller.get("/projects?per_page=100"))) == 20


def test_anonymous_projects_cost_one_statement_more_on_a_page_for_members(django_assert_num_queries):
    admin = Caller()
    member = admin.beside("member")
    for count in (1, 3):
        while len(names(member.get("/projects"))) < count:
            admin.make_open(TEXT, privacy_mode="anonymous")
        with django_assert_num_queries(4):  # no buckets, but what was shown of the projects last
            assert len(names(member.get("/projects"))) == count


def test_what_a_member_does_not_see_is_not_found_and_what_they_see_is_forbidden() -> None:
    admin = Caller()
    hidden, live = admin.make(TEXT), admin.make_open(TEXT)
    member = admin.beside("member")

    statuses = [
        member.patch(f"/projects/{made['id']}", {"name": "Mine"}).status_code for made in (hidden, live)
    ]

    assert statuses == [404, 403]


# --- From a project on ----------------------------------------------------------------------------


def walked(caller, query, between=lambda read: None):
    """The names of all projects, read page by page from the last one on. `between` runs after each page."""
    read: list[dict[str, Any]] = []
    while True:
        after = f"&after={read[-1]['id']}" if read else ""
        page = caller.get(f"/projects?per_page=2&{query}{after}").json()
        read += page["data"]
        if not page["pagination"]["has_more"]:
            return [project["name"] for project in read]
        between(read)


@pytest.mark.parametrize("sort", ["id", "-created_at"])
def test_nobody_is_lost_or_doubled_while_others_come_and_go(sort):
    caller = Caller()
    rows = [ProjectFactory.create(community=caller.community, name=name) for name in "ccaabbbaD"]
    Project.objects.filter(pk__in=[each.pk for each in rows[:3]]).update(created_at=NOON - timedelta(days=1))
    expected = [project["name"] for project in caller.get(f"/projects?sort={sort}").json()["data"]]
    others = Project.objects.filter(name__in=["0", "z"])

    def come_and_go(read):
        if len(read) < 7:
            others.exclude(pk=read[-1]["id"]).delete()
            for name, days in (("0", timedelta(days=-9)), ("z", timedelta(days=9))):
                ProjectFactory.create(community=caller.community, name=name, created_at=NOON + days)

    names_read = walked(caller, f"sort={sort}", come_and_go)

    assert [name for name in names_read if name not in ("0", "z")] == expected


def test_a_page_after_a_project_is_in_the_order_of_ids_unless_sorted():
    caller = Caller()
    a, b, c = (ProjectFactory.create(community=caller.community, name=name) for name in "cab")

    answer = caller.get(f"/projects?after={a.pk}")

    assert names(answer) == [b.name, c.name] == ["a", "b"]
    assert answer.json()["pagination"] == {"per_page": 25, "total": 3, "has_more": False}
    assert names(caller.get(f"/projects?after={c.pk}&sort=name")) == ["c"]
    assert names(caller.get(f"/projects?after={c.pk}")) == []


def test_only_a_project_that_is_there_for_the_reader_is_a_place():
    caller = Caller()
    draft, gone = (ProjectFactory.create(community=caller.community) for _ in range(2))
    Project.objects.filter(pk=gone.pk).update(deleted_at=NOON)
    theirs = ProjectFactory.create()

    for reader, after in ((caller, gone), (caller, theirs), (caller.beside("member"), draft)):
        for sort in ("", "&sort=name"):
            if after == gone and not sort:
                continue
            answer = reader.get(f"/projects?after={after.pk}{sort}")
            assert refusal(answer) == (400, "invalid_request")
            assert faults(answer) == {("after", "not_found")}


def test_a_copy_goes_on_behind_a_project_that_was_deleted_meanwhile():
    caller = Caller()
    first, _ = (ProjectFactory.create(community=caller.community, name=name) for name in ("First", "Last"))
    Project.objects.filter(pk=first.pk).update(deleted_at=NOON)

    assert names(caller.get(f"/projects?after={first.pk}")) == ["Last"]


def test_projects_are_filtered_by_their_last_change():
    caller = Caller()
    for n, name in enumerate("abc"):
        ProjectFactory.create(community=caller.community, name=name, updated_at=NOON + timedelta(hours=n))

    assert names(caller.get("/projects?updated_after=2026-01-31T13:00:00Z")) == ["b", "c"]
    assert names(caller.get("/projects?updated_after=2026-01-31T13:00:01Z")) == ["c"]
