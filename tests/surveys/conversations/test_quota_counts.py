"""How often the responses of a quota are counted, and counts of a worker (rules 6.185, 6.186
and 6.270)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from surveys.models import QuotaCount
from surveys.services.conversations import places
from surveys.services.ground import lookup, selecting
from tests.support.caller import Caller
from tests.support.concurrency import run_together
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk
from tests.support.surveys.places import (
    COLOUR,
    RED,
    WEB,
    WHY,
    answered,
    begin,
    figures,
    is_full,
    open_to_all,
    pages,  # noqa: F401
)
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db(transaction=True)
IMPORTED = {"started_at": "2026-01-01T00:00:00Z", "submitted_at": "2026-01-01T00:10:00Z"}


@pytest.fixture
def counted(monkeypatch: Any) -> list[int]:
    """How many expressions each statement counted, in order."""
    found: list[int] = []
    count = selecting.count

    def noted(texts: Any, **more: Any) -> Any:
        found.append(len(texts))
        return count(texts, **more)

    monkeypatch.setattr(selecting, "count", noted)
    return found


@pytest.mark.usefixtures("pages")
def test_pages_count_the_responses_of_a_quota_once(counted: list[int]) -> None:
    """Rule 6.186."""
    quota = {"where": 'language != "xx"', "limit": 2, "message": ""}
    made = scenario.project(TEXT, participation="open_web", quotas=[quota])
    for _ in range(3):
        Visitor(made).look()
    for _ in range(2):
        Visitor(made).look().send(value="a")

    assert places.WORDS in Visitor(made).look().page
    assert counted == [1]


def test_eight_who_begin_at_one_time_count_once(counted: list[int]) -> None:
    caller = Caller()
    quota = {"where": 'field.city = "Oslo"', "limit": 1}
    project = open_to_all(caller, hidden_fields=["city"], quotas=[quota])

    def look() -> Any:
        return begin(caller.in_another_thread(), project, metadata={"city": "Oslo"}).status_code

    assert run_together(*[look] * 8) == [201] * 8
    assert len(counted) == 1


def test_another_message_keeps_the_counts_and_another_expression_does_not(counted: list[int]) -> None:
    caller = Caller()
    project = open_to_all(caller, quotas=[RED])
    answered(caller, project, "red")
    counted.clear()

    def changed(**fields: Any) -> list[tuple[str, int, int]]:
        caller.patch(f"/projects/{project['id']}", {"settings": {"quotas": [{**RED, **fields}]}})
        return figures(caller, project)

    assert changed(message="Other words.", limit=9) == [('colour = "red"', 9, 1)]
    assert counted == []
    assert changed(where='colour = "green"') == [('colour = "green"', 2, 0)]
    assert len(counted) == 1


def test_an_import_counts_its_own_responses_alone(monkeypatch: Any) -> None:
    """Rule 6.186."""
    caller = Caller()
    project = open_to_all(caller, quotas=[RED, {"where": 'colour = "green"', "limit": 9}])
    for value in ("red", "green", "red"):
        answered(caller, project, value)
    lines = caller.get(f"/projects/{project['id']}/responses").json()["data"]
    looked_at: list[Any] = []
    count = selecting.count

    def noted(texts: Any, *, among: Any, **more: Any) -> Any:
        looked_at.append(among)
        return count(texts, among=among, **more)

    monkeypatch.setattr(selecting, "count", noted)

    assert caller.post(f"/projects/{project['id']}/responses", {"data": lines}).status_code == 201

    [(sql, [ids])] = looked_at
    assert (sql, len(ids)) == ("c.id = ANY(%s)", 3)
    assert [filled for *_, filled in figures(caller, project)] == [4, 2]
    assert len(looked_at) == 1


GREEN = {"where": 'colour = "green"', "limit": 9}


def test_a_script_write_keeps_the_counts_of_quotas_that_mean_the_same(counted: list[int]) -> None:
    """Rule 6.186."""
    caller = Caller()
    quotas = [RED, GREEN, {"where": 'why != ""', "limit": 9}]
    project = open_to_all(caller, COLOUR, {**WHY, "required": False}, quotas=quotas)
    talk = Talk(caller, project)
    assert [talk.answer(value)["status"] for value in ("red", "because")] == ["active", "completed"]
    caller.post(f"/projects/{project['id']}/close", {})
    script = f"/projects/{project['id']}/script"
    colour = project["script"]["blocks"][0]
    counted.clear()

    assert caller.patch(f"{script}/blocks/{colour['id']}", {"prompt": "Other?"}).status_code == 200
    assert [filled for *_, filled in figures(caller, project)] == [1, 0, 1]
    assert counted == []
    options = [{**each, "value": each["value"].replace("green", "lime")} for each in colour["options"]]
    assert caller.patch(f"{script}/blocks/{colour['id']}", {"options": options}).status_code == 200
    assert [(where, filled) for where, _, filled in figures(caller, project)][1] == ('colour = "lime"', 0)
    assert counted == [1]


def test_a_script_write_that_changes_what_a_quota_means_has_it_counted_anew(counted: list[int]) -> None:
    caller = Caller()
    block = {**QUESTION, "name": "colour", "options": [{"value": "red"}, {"value": "lime", "label": "L"}]}
    project = open_to_all(caller, block, quotas=[{"where": 'colour in "red, green"', "limit": 9}])
    answered(caller, project, "lime")
    caller.post(f"/projects/{project['id']}/close", {})
    colour = project["script"]["blocks"][0]
    assert figures(caller, project)[0][2] == 0
    counted.clear()
    options = [{**each, "value": each["value"].replace("lime", "green")} for each in colour["options"]]

    path = f"/projects/{project['id']}/script/blocks/{colour['id']}"
    assert caller.patch(path, {"options": options}).status_code == 200

    assert (figures(caller, project)[0][2], counted) == (1, [1])


def test_a_quota_that_was_left_out_for_a_while_is_counted_anew() -> None:
    caller = Caller()
    project = open_to_all(caller, quotas=[RED, GREEN])
    answered(caller, project, "red")
    path = f"/projects/{project['id']}"

    caller.patch(path, {"settings": {"quotas": [GREEN]}})
    answered(caller, project, "red")
    caller.patch(path, {"settings": {"quotas": [RED, GREEN]}})

    assert [filled for *_, filled in figures(caller, project)] == [2, 0]


@pytest.fixture
def woken(monkeypatch: Any) -> list[int]:
    """The projects whose responses a worker was asked to count. Every count is too much for a request, and
    each step of a worker is one response.
    """
    found: list[int] = []
    monkeypatch.setattr(places, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(places, "wake", lambda _, project_id, **__: found.append(project_id))
    return found


def shown(caller: Caller, project: Any) -> list[tuple[int, bool]]:
    stored = lookup.get(community_id=caller.community.pk, project_id=int(project["id"]))
    return [(each.filled, each.is_counting) for each in places.figures(stored)]


def test_while_a_worker_counts_the_ends_wait_for_nothing(woken: list[int]) -> None:
    """Rule 6.270."""
    caller = Caller()
    project = open_to_all(caller)
    for value in ("red", "green", "red", "red"):
        answered(caller, project, value)
    caller.patch(f"/projects/{project['id']}", {"settings": {"quotas": [RED]}})

    assert answered(caller, project, "red").status_code == 200
    assert shown(caller, project) == [(0, True)]
    assert woken == [int(project["id"])]
    places.count(project_id=int(project["id"]))

    assert shown(caller, project) == [(4, False)]
    assert is_full(answered(caller, project, "red"), "settings.quotas[0]")
    assert answered(caller, project, "green").status_code == 200


def test_what_is_counted_so_far_refuses_already(woken: list[int]) -> None:
    """Rule 6.270."""
    caller = Caller()
    project = open_to_all(caller)
    for _ in range(3):
        answered(caller, project, "red")
    caller.patch(f"/projects/{project['id']}", {"settings": {"quotas": [RED]}})
    shown(caller, project)
    for _ in range(2):
        places._count_step(int(project["id"]), 1)

    assert shown(caller, project) == [(2, True)]
    assert is_full(answered(caller, project, "red"), "settings.quotas[0]")


@pytest.mark.parametrize("seed", range(4))
def test_what_changes_while_a_worker_counts_is_counted_once(woken: list[int], seed: int) -> None:
    """Rule 6.271."""
    chance = random.Random(seed)
    caller = Caller()
    settings: dict[str, object] = {"change_poll": True, "max_completes_per_user": None, "quotas": []}
    project = caller.make_open(COLOUR, type="poll", delivery=WEB, settings=settings)
    pk, block = int(project["id"]), project["script"]["blocks"][0]["id"]
    quotas = [{"where": f'colour = "{each}"', "limit": 99} for each in ("red", "green")]
    talks = [Talk(caller, project, external_id=f"v{n}") for n in range(14)]
    votes: dict[Talk, str] = {}
    imports = 0

    def vote(talk: Talk) -> None:
        value = chance.choice(("red", "green"))
        if talk in votes:
            caller.post(f"{talk.path}/back", {})
        body = {"block_id": block, "value": value}
        assert caller.post(f"{talk.path}/answers", body).status_code == 200
        votes[talk] = value

    for talk in talks[:8]:
        vote(talk)
    for n in range(2):  # the second quota begins to be counted while the first is
        caller.patch(f"/projects/{pk}", {"settings": {"quotas": quotas[: n + 1]}})
        shown(caller, project)
        for _ in range(3):
            places._count_step(pk, 1)
            vote(chance.choice(talks))
            gone = chance.choice([talk for talk in talks if talk in votes])
            talks.remove(gone)
            del votes[gone]
            assert caller.delete(f"/responses/{gone.told['id']}").status_code == 204
            imported = {**IMPORTED, "answers": [{"block_id": block, "value": "red"}]}
            assert caller.post(f"/projects/{pk}/responses", {"data": [imported]}).status_code == 201
            imports += 1
    while places._count_step(pk, 1):
        pass

    assert shown(caller, project) == [
        (list(votes.values()).count("red") + imports, False),
        (list(votes.values()).count("green"), False),
    ]


def test_a_count_that_takes_too_long_goes_on_in_smaller_steps(monkeypatch: Any) -> None:
    """Rule 6.277."""
    caller = Caller()
    project = open_to_all(caller)
    for value in ("red", "green", "red", "red", "red"):
        answered(caller, project, value)
    count, sizes = selecting.count, list[int]()

    def slow(texts: Any, *, among: Any, **more: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM surveys_conversation c WHERE {among[0]}", among[1])
            sizes.append(cursor.fetchone()[0])
            if sizes[-1] > 1:  # each response takes a while
                cursor.execute("SET LOCAL statement_timeout = 1")
                cursor.execute("SELECT pg_sleep(60)")
        return count(texts, among=among, **more)

    monkeypatch.setattr(selecting, "count", slow)
    monkeypatch.setattr(places, "MOST_AT_ONCE", 4000)

    caller.patch(f"/projects/{project['id']}", {"settings": {"quotas": [RED]}})
    assert shown(caller, project) == [(0, True)]
    assert answered(caller, project, "green").status_code == 200
    places.count(project_id=int(project["id"]))

    assert shown(caller, project) == [(4, False)]
    assert sizes == [5, 6, 2, 1, 1, 1, 1, 1, 1, 0]
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("30s",)


def test_a_worker_that_counts_is_left_alone_until_its_lease_is_over(woken: list[int]) -> None:
    caller = Caller()
    project = open_to_all(caller)
    answered(caller, project, "red")
    caller.patch(f"/projects/{project['id']}", {"settings": {"quotas": [RED]}})
    shown(caller, project)
    now, pk = timezone.now(), int(project["id"])

    places.take_up(at=now)
    QuotaCount.objects.update(leased_until=now + places.LEASE)
    places.take_up(at=now)
    places.count(project_id=pk)
    assert (woken, shown(caller, project)) == ([pk, pk], [(0, True)])
    places.take_up(at=now + places.LEASE)
    assert woken == [pk] * 3
