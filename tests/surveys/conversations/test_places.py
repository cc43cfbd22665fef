"""Limits of completed responses: `max_completes` and `quotas` (rules 6.172 to 6.176, 6.185 to 6.187)."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from surveys.models import Conversation, Project, QuotaCount
from surveys.services.conversations import places
from surveys.services.ground import lookup, selecting
from tests.support.caller import Caller, faults
from tests.support.concurrency import run_together
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db(transaction=True)
COLOUR = {**QUESTION, "name": "colour"}
WHY = {"type": "open_text", "prompt": "Why?", "name": "why"}
WEB = {"audience": {"participation": "open_web"}}
IMPORTED = {"started_at": "2026-01-01T00:00:00Z", "submitted_at": "2026-01-01T00:10:00Z"}
RED = {"where": 'colour = "red"', "limit": 2, "message": "Enough red."}


def open_to_all(caller: Caller, *blocks: Any, **settings: Any) -> Any:
    return caller.make_open(*(blocks or (COLOUR,)), delivery=WEB, settings=settings)


def begin(caller: Caller, project: Any, **more: Any) -> Any:
    return caller.post(f"/projects/{project['id']}/conversations", more)


def answered(caller: Caller, project: Any, value: str, **more: Any) -> Any:
    """The answer of the request that completes a new conversation."""
    talk = Talk(caller, project, **more)
    return caller.post(f"{talk.path}/answers", {"block_id": talk.block["id"], "value": value})


def figures(caller: Caller, project: Any) -> list[tuple[str, int, int]]:
    stored = lookup.get(community_id=caller.community.pk, project_id=int(project["id"]))
    return [(each.where, each.limit, each.filled) for each in places.figures(stored)]


def is_full(answer: Any, field: str) -> bool:
    return (answer.status_code, faults(answer)) == (409, {(field, "full")})


# --- max_completes --------------------------------------------------------------------------------


def test_the_beginning_is_refused_once_all_places_are_taken() -> None:
    caller = Caller()
    project = open_to_all(caller, max_completes=2)

    for _ in range(2):
        Talk(caller, project).answer()

    assert is_full(begin(caller, project), "settings.max_completes")


def test_one_who_began_before_is_refused_at_the_end_and_stays_a_partial_response() -> None:
    caller = Caller()
    project = open_to_all(caller, WHY, COLOUR, max_completes=1)
    late, early = Talk(caller, project), Talk(caller, project)
    for talk in (late, early):
        talk.answer("because")
    early.answer()

    refused = caller.post(f"{late.path}/answers", {"block_id": late.block["id"], "value": "red"})

    assert is_full(refused, "settings.max_completes")
    found = caller.get(f"/projects/{project['id']}/responses?status=partial").json()["data"]
    assert [(each["id"], len(each["answers"])) for each in found] == [(late.told["id"], 1)]


def test_deleting_a_response_frees_its_place_also_for_one_who_waits() -> None:
    caller = Caller()
    project = open_to_all(caller, max_completes=1)
    waiting, done = Talk(caller, project), Talk(caller, project)
    done.answer()

    assert caller.delete(f"/responses/{done.told['id']}").status_code == 204

    waiting.answer()
    assert waiting.told["status"] == "completed"


@pytest.mark.parametrize("privacy", ["transparent", "anonymous"])
@pytest.mark.parametrize(
    "settings", [{"max_completes": 3}, {"quotas": [{**RED, "limit": 3, "message": None}]}]
)
def test_eight_at_one_time_do_not_exceed_the_limit(settings: dict[str, Any], privacy: str) -> None:
    caller = Caller()
    project = open_to_all(caller, privacy_mode=privacy, **settings)
    talks = [Talk(caller, project) for _ in range(8)]

    def finish(talk: Talk) -> int:
        body = {"block_id": talk.block["id"], "value": "red"}
        return caller.in_another_thread().post(f"{talk.path}/answers", body).status_code

    statuses = run_together(*[partial(finish, talk) for talk in talks])

    assert sorted(statuses) == [200] * 3 + [409] * 5
    assert Conversation.objects.filter(completed_at__isnull=False).count() == 3
    assert [filled for *_, filled in figures(caller, project)] == [3]


# --- Quotas ---------------------------------------------------------------------------------------


def test_a_quota_counts_the_responses_that_satisfy_it() -> None:
    caller = Caller()
    project = open_to_all(caller, quotas=[RED])

    told = [answered(caller, project, value).status_code for value in ("red", "green", "red", "green")]

    assert told == [200] * 4
    assert is_full(answered(caller, project, "red"), "settings.quotas[0]")
    assert answered(caller, project, "green").status_code == 200
    assert figures(caller, project) == [('colour = "red"', 2, 2)]


def test_responses_from_before_a_quota_count_too() -> None:
    caller = Caller()
    project = open_to_all(caller)
    for value in ("red", "green", "red"):
        answered(caller, project, value)

    caller.patch(f"/projects/{project['id']}", {"settings": {"quotas": [RED]}})

    assert figures(caller, project) == [('colour = "red"', 2, 2)]
    assert is_full(answered(caller, project, "red"), "settings.quotas[0]")


def test_deleting_a_response_frees_its_place_in_a_quota() -> None:
    caller = Caller()
    project = open_to_all(caller, quotas=[{**RED, "limit": 1}])
    talk = Talk(caller, project)
    talk.answer("red")
    caller.delete(f"/responses/{talk.told['id']}")

    assert answered(caller, project, "red").status_code == 200
    assert QuotaCount.objects.get().filled == 1


def test_a_quota_over_fields_refuses_the_beginning_of_those_alone() -> None:
    caller = Caller()
    quota = {"where": 'field.city = "Oslo"', "limit": 1}
    project = open_to_all(caller, hidden_fields=["city"], quotas=[quota])
    answered(caller, project, "red", metadata={"city": "Oslo"})

    assert is_full(begin(caller, project, metadata={"city": "Oslo"}), "settings.quotas[0]")
    assert begin(caller, project, metadata={"city": "Bergen"}).status_code == 201
    assert begin(caller, project).status_code == 201


def test_a_quota_over_the_language_counts_the_communitys() -> None:
    caller = Caller()
    caller.patch("/settings", {"locale": "de-AT"})
    project = open_to_all(caller, quotas=[{"where": 'language = "de"', "limit": 1}])
    answered(caller, project, "red")

    assert is_full(begin(caller, project), "settings.quotas[0]")


def test_a_changed_vote_moves_from_one_quota_to_another() -> None:
    caller = Caller()
    green = {"where": 'colour = "green"', "limit": 1}
    settings = {"quotas": [{**RED, "limit": 1}, green], "change_poll": True, "max_completes_per_user": None}
    project = caller.make_open(COLOUR, type="poll", delivery=WEB, settings=settings)
    talk = Talk(caller, project, external_id="ann")
    talk.answer("red")

    caller.post(f"{talk.path}/back", {})
    body = {"block_id": talk.project["script"]["blocks"][0]["id"], "value": "green"}
    assert caller.post(f"{talk.path}/answers", body).status_code == 200

    assert [filled for *_, filled in figures(caller, project)] == [0, 1]
    other = Talk(caller, project, external_id="bob")
    body["block_id"] = other.block["id"]
    assert is_full(caller.post(f"{other.path}/answers", body), "settings.quotas[1]")


def test_imports_take_places_and_are_not_refused() -> None:
    caller = Caller()
    project = open_to_all(caller, quotas=[{**RED, "limit": 1}], max_completes=1)
    answered(caller, project, "red")
    [line] = caller.get(f"/projects/{project['id']}/responses").json()["data"]

    assert caller.post(f"/projects/{project['id']}/responses", {"data": [line]}).status_code == 201

    assert [filled for *_, filled in figures(caller, project)] == [2, 2]


# --- How often responses are counted --------------------------------------------------------------


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


def test_a_quota_over_the_language_follows_the_communitys_in_both_directions() -> None:
    """Rule 6.187."""
    caller = Caller()
    caller.patch("/settings", {"locale": "de-AT"})
    project = open_to_all(caller, quotas=[{"where": 'language = "en"', "limit": 2}])
    answered(caller, project, "red")
    told = [figures(caller, project)[0][2]]

    for locale in ("en-GB", "de-AT"):
        caller.patch("/settings", {"locale": locale})
        told.append(figures(caller, project)[0][2])
    answered(caller, project, "red")
    caller.patch("/settings", {"locale": "en-GB"})

    assert told == [0, 1, 0]
    assert is_full(begin(caller, project), "settings.quotas[0]")
    assert figures(caller, project)[0][2] == 2


def test_a_deletion_in_another_language_is_counted_too() -> None:
    caller = Caller()
    caller.patch("/settings", {"locale": "en-GB"})
    project = open_to_all(caller, quotas=[{"where": 'language = "en"', "limit": 2}])
    talk = Talk(caller, project)
    talk.answer("red")

    caller.patch("/settings", {"locale": "de-AT"})
    caller.delete(f"/responses/{talk.told['id']}")
    caller.patch("/settings", {"locale": "en-GB"})

    assert figures(caller, project)[0][2] == 0


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


# --- Counts of a worker ---------------------------------------------------------------------------


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


# --- Expressions and the script -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "code", "column"),
    [
        ('color = "red"', "unknown_reference", 1),
        ('colour = "red" AND', "syntax_error", 19),
        ("colour = ", "syntax_error", 9),
        ("score > 3", "unknown_reference", 1),
        ('colour = "red" OR answer = 1', "not_allowed", 19),
        (" OR ".join(["colour = 1"] * 51), "too_many", 701),
    ],
)
@pytest.mark.parametrize("name", ["quotas", "ends"])
def test_an_expression_that_does_not_fit_is_refused_with_its_column(
    name: str, where: str, code: str, column: int
) -> None:
    caller = Caller()
    project = caller.make(COLOUR)
    element = {"where": where, **({"limit": 1} if name == "quotas" else {})}

    answer = caller.patch(f"/projects/{project['id']}", {"settings": {name: [element]}})

    [fault] = answer.json()["violations"]
    assert (answer.status_code, fault["field"]) == (400, f"settings.{name}[0].where")
    assert (fault["code"], fault["column"]) == (code, column)


@pytest.mark.parametrize(
    ("quota", "fault"),
    [
        ({"limit": 1}, ("settings.quotas[0].where", "required")),
        ({"where": "colour = 1"}, ("settings.quotas[0].limit", "required")),
        ({"where": "colour = 1", "limit": 0}, ("settings.quotas[0].limit", "too_small")),
        ({"where": " ", "limit": 1}, ("settings.quotas[0].where", "blank")),
    ],
)
def test_a_quota_needs_an_expression_and_a_limit(quota: dict[str, Any], fault: tuple[str, str]) -> None:
    caller = Caller()
    project = caller.make(COLOUR)

    assert faults(caller.patch(f"/projects/{project['id']}", {"settings": {"quotas": [quota]}})) == {fault}


@pytest.mark.parametrize(("count", "status"), [(20, 200), (21, 400)])
def test_a_project_has_at_most_twenty_quotas(count: int, status: int) -> None:
    caller = Caller()
    project = caller.make(COLOUR)

    body = {"settings": {"quotas": [RED] * count}}
    assert caller.patch(f"/projects/{project['id']}", body).status_code == status


def test_new_names_and_values_of_the_script_are_carried_into_expressions() -> None:
    caller = Caller()
    ends = [{"where": 'colour != "green"', "url": "https://example.com/?c=[colour]"}]
    project = caller.make(COLOUR, settings={"quotas": [RED], "ends": ends})
    block = project["script"]["blocks"][0]
    block["name"] = "shade of it"
    block["options"][0]["value"] = 'deep "red"'

    written = caller.put(f"/projects/{project['id']}/script", {"blocks": [block]})

    assert written.status_code == 200, written.content
    told = caller.get(f"/projects/{project['id']}").json()["settings"]
    assert told["quotas"][0]["where"] == 'shade_of_it = "deep ""red"""'
    assert told["ends"][0]["where"] == 'shade_of_it != "green"'
    assert told["ends"][0]["url"] == "https://example.com/?c=[shade of it]"


POSITIONS: dict[str, Any] = {
    "quotas": [{"where": 'q1 = "red" AND q2 != ""', "limit": 1, "message": ""}],
    "end": {"url": "https://example.com/?c=[q1|none]", "label": "On", "redirect": False},
    "ends": [{"where": '(q1 = "red")', "url": "https://example.com/", "message": "You said [q1]."}],
}
NAMED = [
    'colour = "red" AND why != ""',
    "https://example.com/?c=[colour|none]",
    '(colour = "red")',
    "You said [colour].",
]


def texts_of(caller: Caller, project: Any) -> list[str]:
    """The texts of a project's settings that can name blocks."""
    told = caller.get(f"/projects/{project['id']}").json()["settings"]
    [end] = told["ends"]
    return [told["quotas"][0]["where"], told["end"]["url"], end["where"], end["message"]]


def test_positions_in_settings_are_saved_as_names() -> None:
    """Rule 6.185."""
    caller = Caller()
    made = caller.make(COLOUR, WHY, settings=POSITIONS)
    changed = caller.make(COLOUR, WHY)

    assert caller.patch(f"/projects/{changed['id']}", {"settings": POSITIONS}).status_code == 200

    assert [texts_of(caller, each) for each in (made, changed)] == [NAMED, NAMED]


@pytest.mark.parametrize(
    ("name", "where", "message"),
    [
        (None, 'Q0 = "red"', "You said [Q0]."),
        ("language", 'Language = "red"', "You said [language]."),
        ("answer", 'Answer = "red"', "You said [Answer]."),
        ("and", '(And) = "red"', "You said [and]."),
        ("fav game", 'fav_game = "red"', "You said [fav game]."),
    ],
)
def test_a_position_becomes_the_name_as_texts_write_it(name: str | None, where: str, message: str) -> None:
    caller = Caller()
    end = {"where": 'q1 = "red"', "url": "https://example.com/", "message": "You said [q1]."}
    unnamed = {key: value for key, value in QUESTION.items() if key != "name"}
    project = caller.make({**unnamed, **({"name": name} if name else {})}, settings={"ends": [end]})

    [told] = caller.get(f"/projects/{project['id']}").json()["settings"]["ends"]
    again = caller.patch(f"/projects/{project['id']}", {"settings": {"ends": [told]}})

    assert (told["where"], told["message"]) == (where, message)
    assert again.json()["settings"]["ends"] == [told]


@pytest.mark.parametrize("is_open", [True, False])
def test_blocks_that_move_do_not_move_what_settings_mean(is_open: bool) -> None:
    """Rule 6.185, also for settings that were stored with positions."""
    caller = Caller()
    project = caller.make_open(COLOUR, WHY, delivery=WEB) if is_open else caller.make(COLOUR, WHY)
    Project.objects.filter(pk=project["id"]).update(**POSITIONS)
    blocks = [{**block, "position": n} for n, block in enumerate(project["script"]["blocks"][:2], 1)]
    new = {"type": "open_text", "prompt": "New", "name": "first", "position": 0}

    written = caller.put(f"/projects/{project['id']}/script", {"blocks": [new, *blocks]})

    assert written.status_code == 200, written.content
    assert texts_of(caller, project) == NAMED


def test_a_block_at_a_position_that_a_setting_names_cannot_be_removed() -> None:
    caller = Caller()
    project = caller.make(COLOUR, WHY)
    Project.objects.filter(pk=project["id"]).update(quotas=POSITIONS["quotas"])

    answer = caller.put(f"/projects/{project['id']}/script", {"blocks": project["script"]["blocks"][1:]})

    assert (answer.status_code, faults(answer)) == (400, {("blocks", "in_use")})


def test_a_block_named_language_is_not_the_variable() -> None:
    caller = Caller()
    project = caller.make(COLOUR, settings={"quotas": [RED, {"where": 'language = "de"', "limit": 1}]})
    block = {**project["script"]["blocks"][0], "name": "language"}

    caller.put(f"/projects/{project['id']}/script", {"blocks": [block]})

    told = caller.get(f"/projects/{project['id']}").json()["settings"]["quotas"]
    assert [each["where"] for each in told] == ['Language = "red"', 'language = "de"']


def test_a_block_that_an_expression_names_cannot_be_removed() -> None:
    caller = Caller()
    project = caller.make(COLOUR, WHY, settings={"quotas": [RED]})

    answer = caller.put(f"/projects/{project['id']}/script", {"blocks": project["script"]["blocks"][1:]})

    assert (answer.status_code, faults(answer)) == (400, {("blocks", "in_use")})
    assert "`settings.quotas[0].where`" in answer.json()["violations"][0]["message"]


# --- Anonymous projects ---------------------------------------------------------------------------

TEA = {**QUESTION, "name": "tea", "options": [{"value": "yes"}, {"value": "no"}]}


def test_an_anonymous_project_tells_nobody_which_quota_is_full() -> None:
    """Rule 7.120."""
    caller = Caller()
    quotas = [{**RED, "limit": 1, "message": None}, {"where": 'tea = "yes"', "limit": 1}]
    fields = {"where": 'field.city = "Oslo"', "limit": 1, "message": "Enough of Oslo."}
    settings = {"quotas": [*quotas, fields], "privacy_mode": "anonymous", "hidden_fields": {"city": ["Oslo"]}}
    project = open_to_all(caller, COLOUR, TEA, **settings)
    late = Talk(caller, project, metadata={"city": "Oslo"})

    def end(colour: str, tea: str, talk: Talk | None = None) -> Any:
        talk = talk or Talk(caller, project)
        talk.answer(colour)
        return caller.post(f"{talk.path}/answers", {"block_id": talk.block["id"], "value": tea})

    assert end("green", "yes").status_code == 200
    before = end("red", "yes")
    assert end("red", "no").status_code == 200
    after = end("red", "yes")
    talk = Talk(caller, project, metadata={"city": "Oslo"})
    assert end("green", "no", talk).status_code == 200

    assert is_full(before, "settings.quotas")
    told = [{**each.json(), "request_id": ""} for each in (before, after, end("green", "no", late))]
    assert told[0] == told[1] == told[2]
    assert is_full(begin(caller, project, metadata={"city": "Oslo"}), "settings.quotas[2]")


def test_a_quota_over_answers_has_no_words_of_its_own_on_an_anonymous_project() -> None:
    """Rule 7.120."""
    caller = Caller()
    by_field = {"where": 'field.city = "Oslo"', "limit": 1, "message": "Enough of Oslo."}
    settings = {"quotas": [by_field, RED], "hidden_fields": {"city": ["Oslo"]}}
    project = caller.make(COLOUR, settings=settings)

    answer = caller.patch(f"/projects/{project['id']}", {"settings": {"privacy_mode": "anonymous"}})

    assert faults(answer) == {("settings.quotas[1].message", "not_allowed")}


def test_members_read_no_quotas() -> None:
    """Rule 7.121."""
    caller = Caller()
    project = open_to_all(caller, quotas=[RED])
    listed, one = "/projects", f"/projects/{project['id']}"

    for access, count in (("admin", 1), ("creator", 1), ("member", 0)):
        reader = caller.beside(access)
        told = [reader.get(one).json(), *reader.get(listed).json()["data"]]
        assert [len(each["settings"]["quotas"]) for each in told] == [count, count]


# --- What it costs --------------------------------------------------------------------------------


def test_a_project_without_limits_locks_and_counts_nothing() -> None:
    made = scenario.project(TEXT)
    told = scenario.begin(made)

    with scenario.at_most(3):  # the conversation, its move, its event
        scenario.say(told, "a")


# --- Pages ----------------------------------------------------------------------------------------


@pytest.fixture
def pages(settings: Any, redis: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


@pytest.mark.usefixtures("pages")
def test_a_full_project_says_so_before_anything_is_typed() -> None:
    made = scenario.project(TEXT, participation="open_web", max_completes=1)
    Visitor(made).look().send(value="a")

    visitor = Visitor(made).look()

    assert places.WORDS in visitor.page
    assert "Nothing more is stored." in visitor.page
    assert 'name="value"' not in visitor.page


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize("htmx", [False, True])
def test_who_comes_too_late_reads_the_quotas_message_and_what_happens_to_the_answers(htmx: bool) -> None:
    quota = {"where": 'q1 != ""', "limit": 1, "message": "Enough of those, thanks."}
    made = scenario.project(TEXT, TEXT, participation="open_web", quotas=[quota])
    late = Visitor(made, htmx=htmx).look().send(value="first")
    Visitor(made).look().send(value="a").send(value="b")

    late.send(value="a long thought")

    assert "Enough of those, thanks." in late.page
    assert "kept as an unfinished response" in late.page
    assert "a long thought" in late.page
    assert scenario.counts(made)["completed"] == 1
