"""Where the end of a conversation leads: `settings.end` and `settings.ends` (rules 6.180 to 6.183)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.caller import Caller, faults
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db(transaction=True)
COLOUR = {**QUESTION, "name": "colour"}
WEB = {"audience": {"participation": "open_web"}}
END = {"url": "https://example.com/thanks", "label": "To the club", "redirect": False}
RED = {"where": 'colour = "red"', "message": "Red it is.", "url": "https://example.com/red"}


def completed(caller: Caller, value: str = "red", **settings: Any) -> Any:
    talk = Talk(caller, caller.make_open(COLOUR, delivery=WEB, settings=settings))
    assert talk.told["end"] is None
    talk.answer(value)
    return talk.told


def test_the_end_is_told_with_the_id_of_the_response() -> None:
    told = completed(Caller(), end={"url": "https://example.com/?r=[response_id]&c=[colour]"})

    address = f"https://example.com/?r={told['id']}&c=red"
    assert told["end"] == {"url": address, "label": "Continue", "redirect": False}


@pytest.mark.parametrize(
    ("value", "url", "thanks"),
    [("red", RED["url"], "Red it is."), ("green", END["url"], "Thank you! Your answers have been saved.")],
)
def test_the_first_end_whose_expression_holds_is_shown(value: str, url: str, thanks: str) -> None:
    never = {**RED, "where": 'colour = "red" AND colour = "green"'}
    told = completed(Caller(), value, end=END, ends=[never, RED])

    assert (told["end"]["url"], told["thank_you"]) == (url, thanks)
    assert [block["prompt"] for block in told["outro"]] == [thanks]


def test_values_are_percent_encoded() -> None:
    caller = Caller()
    block = {"type": "open_text", "prompt": "Name?", "name": "name"}
    end = {"url": "https://example.com/?n=[name]&x=[nothing]"}
    talk = Talk(caller, caller.make_open(block, delivery=WEB, settings={"end": end}))

    talk.answer("Åsa & [co]/?#")

    encoded = "%C3%85sa%20%26%20%5Bco%5D%2F%3F%23"
    assert talk.told["end"]["url"] == f"https://example.com/?n={encoded}&x=%5Bnothing%5D"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "example.com",
        "javascript:alert(1)",
        "https://",
        "https://[colour].example.com/",
        "https://example.com@evil.example",
        "https://exa mple.com",
        "https://example.com:99999/",
        "https://example.com:x/",
        "https://-/",
        "https://./",
        "https://example..com/",
        "https://1.2.3.999/",
    ],
)
@pytest.mark.parametrize("name", ["end", "ends"])
def test_an_address_is_https_with_a_host(name: str, url: str) -> None:
    caller = Caller()
    project = caller.make(COLOUR)
    value = {"url": url} if name == "end" else [{**RED, "url": url}]

    answer = caller.patch(f"/projects/{project['id']}", {"settings": {name: value}})

    path = "settings.end.url" if name == "end" else "settings.ends[0].url"
    assert (answer.status_code, faults(answer)) == (400, {(path, "invalid")})


def test_an_anonymous_project_hands_on_no_answer_and_no_id() -> None:
    caller = Caller()
    tokens = {"end": {"url": "https://example.com/?r=[response_id]"}}
    project = caller.make(COLOUR, privacy_mode="anonymous")

    answer = caller.patch(f"/projects/{project['id']}", {"settings": tokens})
    assert faults(answer) == {("settings.end.url", "not_allowed")}
    assert caller.patch(f"/projects/{project['id']}", {"settings": {"end": END}}).status_code == 200

    open_one = caller.make(COLOUR, settings=tokens)
    answer = caller.patch(f"/projects/{open_one['id']}", {"settings": {"privacy_mode": "anonymous"}})
    assert faults(answer) == {("settings.end.url", "not_allowed")}


BY_ANSWER = {"where": 'colour = "red"', "message": "Red."}
CITY = {"city": ["Oslo", "Bergen"]}
BY_FIELD = {"where": 'field.city = "Oslo" AND language != "de"', "url": "https://example.com/oslo"}


@pytest.mark.parametrize(
    ("settings", "columns"),
    [
        ({"end": END, "ends": [BY_ANSWER]}, {0: 1}),
        ({"ends": [{**BY_FIELD, "where": 'field.city = "Oslo" OR colour = "red"'}]}, {0: 24}),
        ({"ends": [BY_FIELD, BY_ANSWER, {**BY_ANSWER, "where": "score > 1"}]}, {1: 1, 2: 1}),
        ({"end": END, "ends": [BY_FIELD]}, {}),
        ({"ends": [BY_ANSWER]}, {}),
        ({"ends": [{**BY_ANSWER, "message": "[On](https://example.org/red)"}]}, {0: 1}),
    ],
)
def test_an_anonymous_project_leads_nobody_to_an_address_by_answers(
    settings: dict[str, Any], columns: dict[int, int]
) -> None:
    """Rule 6.273."""
    caller = Caller()
    both = {**settings, "hidden_fields": CITY, "privacy_mode": "anonymous"}
    path = "/projects"
    body = {"name": "A", "type": "convo", "script": {"blocks": [COLOUR]}, "scoring_enabled": True}
    bare = {"privacy_mode": "anonymous", "hidden_fields": CITY}
    live = caller.make_open(COLOUR, settings=bare, scoring_enabled=True)
    shown = caller.make(COLOUR, settings={**both, "privacy_mode": "transparent"}, scoring_enabled=True)
    answers = [
        caller.post(path, {**body, "settings": both}),
        caller.patch(f"{path}/{live['id']}", {"settings": settings}),
        caller.patch(f"{path}/{shown['id']}", {"settings": {"privacy_mode": "anonymous"}}),
    ]

    for answer in answers:
        violations = answer.json().get("violations", [])
        found = {each["field"]: (each["code"], each.get("column")) for each in violations}
        assert found == {f"settings.ends[{n}].where": ("not_allowed", at) for n, at in columns.items()}


@pytest.mark.parametrize("setting", ["quotas", "ends"])
def test_all_expressions_together_search_for_so_much(setting: str) -> None:
    """Rule 6.278: options are searched for in texts at every end."""
    caller = Caller()
    drinks = {
        "name": "drinks",
        "type": "multi_punch",
        "prompt": "Which?",
        "options": [{"value": each} for each in "abcdefghijklmnopqrstuvwxyz"],
    }
    project = caller.make(drinks, {"name": "why", "type": "open_text", "prompt": "Why?"})
    item = (
        {"where": "drinks in why", "limit": 1}
        if setting == "quotas"
        else {"where": "drinks in why", "message": "m"}
    )

    def answer(count: int) -> Any:
        return caller.patch(f"/projects/{project['id']}", {"settings": {setting: [item] * count}})

    assert answer(7).status_code == 200
    assert faults(answer(8)) == {(f"settings.{setting}", "too_long")}


def test_the_end_changes_by_its_fields_and_is_cleared_by_null() -> None:
    caller = Caller()
    project = caller.make(COLOUR)
    path = f"/projects/{project['id']}"

    assert faults(caller.patch(path, {"settings": {"end": {"label": "Go"}}})) == {
        ("settings.end.url", "required")
    }
    caller.patch(path, {"settings": {"end": END}})
    caller.patch(path, {"settings": {"end": {"label": "Home"}}})
    assert caller.get(path).json()["settings"]["end"] == {**END, "label": "Home"}
    caller.patch(path, {"settings": {"end": None}})
    assert caller.get(path).json()["settings"]["end"] is None


# --- Pages ----------------------------------------------------------------------------------------


@pytest.fixture
def _pages(settings: Any, redis: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


REFRESH = '<meta http-equiv="refresh" content="0;url=https://example.com/thanks">'


@pytest.mark.usefixtures("_pages")
@pytest.mark.parametrize("redirect", [False, True])
@pytest.mark.parametrize("kind", ["convo", "poll"])
def test_a_page_shows_the_button_and_leads_on_at_once_where_asked(kind: str, redirect: bool) -> None:
    end = {**END, "redirect": redirect}
    made = (
        scenario.poll(participation="open_web", end=end)
        if kind == "poll"
        else scenario.project(TEXT, participation="open_web", end=end)
    )
    visitor = Visitor(made).look()

    visitor.send(**({"option": scenario.option_id(made, "q0", 0)} if kind == "poll" else {"value": "a"}))

    assert visitor.has_control(r'<a class="button" href="https://example.com/thanks"\s*>To the club</a>')
    assert (REFRESH in visitor.page) == redirect
    assert REFRESH not in visitor.look().page  # who comes back is not led away


@pytest.mark.usefixtures("_pages")
def test_htmx_gets_the_address_and_a_frame_the_button_alone() -> None:
    made = scenario.project(TEXT, participation="open_web", end={**END, "redirect": True})

    with_script = Visitor(made, htmx=True).look().send(value="a")
    framed = Visitor(made, is_framed=True).look().send(value="b")

    assert 'data-redirect="https://example.com/thanks"' in with_script.page
    assert "data-redirect" not in framed.page
    assert REFRESH not in framed.page
    assert framed.has_control(r'href="https://example.com/thanks"\s+target="_blank"')


@pytest.mark.usefixtures("_pages")
def test_thanks_that_change_reach_running_projects() -> None:
    end = {"where": 'q0 != ""', "message": "Bye.", "url": None, "label": None, "redirect": False}
    made = scenario.project(TEXT, participation="open_web", ends=[end])
    visitor = Visitor(made).look().send(value="a")
    assert "Bye." in visitor.page
    made.ends[0]["message"] = "Farewell."
    made.save()

    assert "Farewell." in visitor.look().page
    assert "Thank you." not in visitor.page
