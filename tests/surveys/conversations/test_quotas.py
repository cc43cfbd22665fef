"""Quotas: the responses that each counts, and its expression (rules 6.172 to 6.176)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.models import Project, QuotaCount
from tests.support.caller import Caller, faults
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
)

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_a_quota_over_the_language_counts_that_of_responses() -> None:
    """Rule 6.402."""
    caller = Caller()
    project = open_to_all(caller, quotas=[{"where": 'language = "de"', "limit": 1}])
    answered(caller, project, "red", language="de-AT")

    assert is_full(begin(caller, project, language="de"), "settings.quotas[0]")
    assert begin(caller, project, language="fr").status_code == 201
    assert begin(caller, project).status_code == 201


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


def test_an_anonymous_project_tells_nobody_which_quota_is_full() -> None:
    """Rule 7.120."""
    caller = Caller()
    quotas = [
        {"where": f'field.city = "{city}"', "limit": 1, "message": f"Enough of {city}."}
        for city in ("Oslo", "Rome")
    ]
    fields = {"city": ["Oslo", "Rome"]}
    project = open_to_all(caller, COLOUR, quotas=quotas, privacy_mode="anonymous", hidden_fields=fields)
    talks = {city: [Talk(caller, project, metadata={"city": city}) for _ in "12"] for city in fields["city"]}

    told = []
    for first, late in talks.values():
        assert first.answer("red")["status"] == "completed"
        path, block = f"{late.path}/answers", late.block["id"]
        told.append(caller.post(path, {"block_id": block, "value": "red"}))

    assert is_full(told[0], "settings.quotas")
    assert {**told[0].json(), "request_id": ""} == {**told[1].json(), "request_id": ""}
    assert is_full(begin(caller, project, metadata={"city": "Rome"}), "settings.quotas[1]")


def test_no_quota_of_an_anonymous_project_names_answers() -> None:
    """Rule 1.185."""
    caller = Caller()
    by_field = {"where": 'field.city = "Oslo"', "limit": 1, "message": "Enough of Oslo."}
    settings = {"quotas": [by_field, RED], "hidden_fields": {"city": ["Oslo"]}}
    project = caller.make(COLOUR, settings=settings)

    answer = caller.patch(f"/projects/{project['id']}", {"settings": {"privacy_mode": "anonymous"}})

    assert faults(answer) == {("settings.quotas[1].where", "not_allowed")}
    assert answer.json()["violations"][0]["column"] == 1


def test_members_read_no_quotas_and_no_ends() -> None:
    """Rule 7.121."""
    caller = Caller()
    end = {"where": RED["where"], "url": "https://a.example/red"}
    project = open_to_all(caller, quotas=[RED], ends=[end])
    listed, one = "/projects", f"/projects/{project['id']}"

    for access, count in (("admin", 1), ("creator", 1), ("member", 0)):
        reader = caller.beside(access)
        told = [reader.get(one).json(), *reader.get(listed).json()["data"]]
        assert [len(each["settings"]["quotas"]) for each in told] == [count, count]
        assert [len(each["settings"]["ends"]) for each in told] == [count, count]
