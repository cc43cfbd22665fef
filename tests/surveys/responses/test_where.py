"""Responses selected by an expression, which means in SQL what it means in a conversation (rule 6.260)."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Callable
from functools import partial as partial_of
from typing import Any
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from communities.ground.statements import fetch_rows
from surveys.engine import where
from surveys.engine.script import Script
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services.exports.service import MEDIA_TYPES
from surveys.services.ground import selecting
from surveys.services.scripts import cache as script_cache
from tests.support.caller import Caller, faults
from tests.support.effort import examples
from tests.support.staff import Staff
from tests.support.surveys.imports import answers_of, imported, listed, partial, past

pytestmark = pytest.mark.django_db

COLOURS, DRINKS, PLACES = ["red", "2", "2.0x", "Ünder"], ["tea", "cola", "3", "milk"], ["Oslo", "Rome", "7"]
TEXTS = [
    "red",
    "2",
    "2.50",
    "-0",
    "a red car",
    "2026-01-31",
    "2024-02-29",
    "2023-02-29",
    "Ünder",
    "false",
    "0",
    "0" * 100 + "2",
]
NUMBERS = ["0", "2", "2.5", "-3", "12345678901234.5"]
WEIGHTS = [{"fire": 2}, {"fire": -1, "ice": 1}, {"ice": 0.25}, None]
SCRIPT: list[dict[str, Any]] = [
    {
        "type": "single_punch",
        "name": "colour",
        "prompt": "Which?",
        "options": [
            {"value": value, "score_values": weights} for value, weights in zip(COLOURS, WEIGHTS, strict=True)
        ],
        "correct_answer_indexes": [1],
    },
    {
        "type": "multi_punch",
        "name": "drinks",
        "prompt": "Which?",
        "options": [
            {"value": value, "score_values": weights} for value, weights in zip(DRINKS, WEIGHTS, strict=True)
        ],
        "required": False,
        "correct_answer_indexes": [0, 2],
    },
    {
        "type": "ranking",
        "name": "places",
        "prompt": "In which order?",
        "options": [{"value": value} for value in PLACES],
        "required": False,
    },
    {
        "type": "rating",
        "name": "stars",
        "prompt": "How many?",
        "scale": {"min": 1, "max": 5},
        "required": False,
    },
    {
        "type": "open_text",
        "name": "why",
        "prompt": "Why?",
        "required": False,
        "precondition": 'colour = "red"',
    },
    {"type": "open_text", "name": "other why", "prompt": "Why else?", "required": False},
    {"type": "open_numeric", "name": "number", "prompt": "How much?", "required": False},
    {
        "type": "calculated_block",
        "prompt": "",
        "name": "third",
        "calculated_formula": "([number] + [score_fire]) / 3",
    },
    {
        "type": "calculated_block",
        "name": "band",
        "prompt": "",
        "calculated_formula": "if [score] > 2 then high else argmax([score_fire], [score_ice])",
    },
]
BUCKETS = [{"name": "Fire", "key": "fire"}, {"name": "Ice", "key": "ice"}]


@pytest.fixture(scope="module")
def caller(kept_rows: None) -> Caller:
    return Caller()


@pytest.fixture(scope="module")
def project(caller: Caller) -> Any:
    chance = random.Random(7)
    made = caller.make(
        *SCRIPT, settings={"hidden_fields": ["city"]}, scoring={"enabled": True, "buckets": BUCKETS}
    )
    imported(caller, made, *(_response(chance, made) for _ in range(90)))
    return made


def _response(chance: random.Random, made: Any) -> dict[str, Any]:
    [places] = [each["options"] for each in made["script"]["blocks"] if each["name"] == "places"]
    colour = chance.choice(COLOURS)
    ranked = chance.sample([each["id"] for each in places], len(PLACES))
    possible: list[list[Any]] = [
        [("drinks", drink) for drink in chance.sample(DRINKS, chance.randint(1, 3))],
        [{"block_name": "places", "option_id": id, "value": str(n)} for n, id in enumerate(ranked, 1)],
        [("stars", chance.randint(1, 5))],
        *([[("why", chance.choice(TEXTS))]] if colour != "red" else []),
        [("other why", chance.choice(TEXTS))],
        [("number", chance.choice(NUMBERS))],
    ]
    given = [("colour", colour), *(each for part in possible if chance.random() < 0.75 for each in part)]
    fields: dict[str, Any] = {"metadata": {"city": chance.choice(TEXTS)}} if chance.random() < 0.7 else {}
    fields |= {"language": chance.choice(["de", "en-GB"])} if chance.random() < 0.7 else {}
    return (partial if chance.random() < 0.2 else past)(*given, **fields)


NAMES = [
    *(
        "colour",
        "drinks",
        "places",
        "stars",
        "why",
        "other_why",
        "number",
        "third",
        "band",
        "q1",
        "field.city",
    ),
    *(
        "score",
        "score_fire",
        "max_score",
        "score_correct_ice",
        "correct_answers",
        "max_correct_answers",
        "language",
    ),
]
LITERALS = [
    *(f'"{text}"' for text in (*COLOURS, *DRINKS, *PLACES, *TEXTS, "high", "Fire", "e", "de", "")),
    *(
        "0",
        "2",
        "2.5",
        "-3",
        "true",
        "false",
        "[]",
        '["red", 2]',
        '["2"]',
        '["tea", "3"]',
        '["Oslo", "Rome", 7]',
    ),
]


def _expression(chance: random.Random, depth: int = 0) -> str:
    if depth < 3 and chance.random() < 0.45:
        joined = [_expression(chance, depth + 1) for _ in range(2)]
        return chance.choice(
            [f"({joined[0]} AND {joined[1]})", f"({joined[0]} OR {joined[1]})", f"NOT ({joined[0]})"]
        )
    left, right = (
        chance.choice([*NAMES, *NAMES, *LITERALS, f"({chance.choice(NAMES)} = 2)"]) for _ in range(2)
    )
    sign = chance.choice(["=", "!=", "<", "<=", ">", ">=", "in", "in"])
    return left if chance.random() < 0.1 else f"{left} {sign} {right}"


def _script(project: Any) -> Script:
    return script_cache.script_of(Project.objects.get(pk=project["id"]))


def _selected(project: Any, script: Script, text: str) -> set[Any]:
    [(sql, values)] = selecting.parts(fields=(), where=text, script=lambda: script, state="c.state")
    return {
        id
        for (id,) in fetch_rows(
            f"SELECT c.id FROM surveys_conversation c WHERE c.project_id = %s AND {sql}",
            [int(project["id"]), *values],
        )
    }


def test_the_database_selects_as_the_engine_does(project: Any) -> None:
    """Rule 6.260."""
    chance = random.Random(11)
    script = _script(project)
    states = {
        each.pk: State.from_json(each.state) for each in Conversation.objects.filter(project_id=project["id"])
    }
    assert len(states) == 90
    split, numbers = 0, dict[str, int]()
    for _ in range(examples(400)):
        text = _expression(chance)
        expected = {key for key, state in states.items() if where.holds(text, script=script, state=state)}
        assert _selected(project, script, text) == expected, text
        numbers[text] = len(expected)
        split += 0 < len(expected) < len(states)
    assert split > examples(400) // 8
    among = "c.project_id = %s", [int(project["id"])]
    texts = list(numbers)
    for some in (texts[n : n + 20] for n in range(0, len(texts), 20)):
        counted = selecting.count(some, script=script, among=among)
        assert dict(zip(some, counted, strict=True)) == {text: numbers[text] for text in some}


def _query(text: str) -> str:
    return urlencode({"where": text})


FIRE = 'colour = "red" AND NOT drinks'


def test_the_listing_and_its_total_are_of_the_selected_responses(caller: Caller, project: Any) -> None:
    """Rules 6.260 and 6.261."""
    every = listed(caller, project)
    path = f"/projects/{project['id']}/responses?{_query(FIRE)}"
    first = caller.get(f"{path}&per_page=2").json()
    rest = caller.get(f"{path}&per_page=100&after={first['data'][-1]['id']}").json()

    expected = [
        each["id"]
        for each in every
        if ("colour", "red") in answers_of(each) and "drinks" not in dict(answers_of(each))
    ]
    assert [each["id"] for each in first["data"] + rest["data"]] == expected
    assert first["pagination"]["total"] == len(expected) > 2
    together = caller.get(f"{path}&status=completed&field.city=red").json()
    assert {each["id"] for each in together["data"]} < set(expected)


def test_exports_have_the_selected_responses(caller: Caller, project: Any) -> None:
    """Rule 6.260."""
    found = {each["id"] for each in listed(caller, project, f"&{_query(FIRE)}")}
    file = caller.get(f"/projects/{project['id']}/responses/export?format=csv&{_query(FIRE)}")
    rows = list(csv.DictReader(b"".join(file.streaming_content).decode().splitlines()))

    assert {row["id"] for row in rows} == found


@pytest.mark.parametrize("more", ["", "&segment_by=field.city", "&status=completed"])
def test_results_count_the_selected_responses(caller: Caller, project: Any, more: str) -> None:
    """Rule 6.260."""
    query = _query("score_fire >= 1 AND number > 0")
    status = "&status=completed" if "status" in more else ""
    found = listed(caller, project, f"&{query}{status}")
    told = caller.get(f"/projects/{project['id']}/analysis/results?{query}{more}").json()

    assert told["filters"]["where"] == "score_fire >= 1 AND number > 0"
    assert told["conversation_count"] == len(found) > 5
    [colour] = [each for each in told["blocks"] if each["block_name"] == "colour"]
    chosen = Counter(value for each in found for name, value in answers_of(each) if name == "colour")
    assert {each["value"]: each["count"] for each in colour["distribution"] if each["count"]} == chosen


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("colour =", "syntax_error", 9),
        ('color = "red"', "unknown_reference", 1),
        ('answer = "red"', "not_allowed", 1),
        ("", "blank", None),
        (" OR ".join(["number = 1"] * 51), "too_many", 701),
        (" OR ".join(f"field.f{n:02} = 1" for n in range(21)), "too_many", 341),
        ('"' + 2_000 * "a" + '"', "too_long", None),
        (" OR ".join(["drinks in why"] * 13), "too_long", None),  # 13 times 4 options of 100 characters
    ],
)
def test_faults_are_refused_with_their_column(
    caller: Caller, project: Any, text: str, code: str, column: int | None
) -> None:
    """Rule 6.263."""
    for path in ("responses", "responses/export", "analysis/results"):
        answer = caller.get(f"/projects/{project['id']}/{path}?{_query(text)}")
        assert faults(answer) == {("where", code)}, path
        assert answer.json()["violations"][0].get("column") == column


@pytest.mark.parametrize(
    "text",
    [
        " OR ".join(["number = 1"] * 50),
        " OR ".join(f"field.f{n:02} = 1 OR field.f{n:02} = 2" for n in range(20)),
        " OR ".join(["drinks in why"] * 12),
    ],
)
def test_as_much_as_is_allowed_is_taken(caller: Caller, project: Any, text: str) -> None:
    """Rules 6.263 and 6.278."""
    assert caller.get(f"/projects/{project['id']}/responses?{_query(text)}").status_code == 200


def test_role_member_cannot_select_by_what_it_does_not_see(caller: Caller) -> None:
    """Rule 6.262."""
    made = caller.make_open(
        SCRIPT[0], privacy_mode="transparent", scoring={"enabled": True, "buckets": BUCKETS}
    )
    member = caller.beside("member")

    for text in ("score > 1", "correct_answers = 1", 'colour = "red" OR score_fire > 0'):
        for path in ("responses", "responses/export", "analysis/results"):
            assert faults(member.get(f"/projects/{made['id']}/{path}?{_query(text)}")) == {
                ("where", "not_allowed")
            }
    assert member.get(f"/projects/{made['id']}/responses?{_query('colour')}").status_code == 200


def test_readers_of_shared_results_alone_cannot_select(caller: Caller) -> None:
    """Rule 6.264."""
    made = caller.make_open(SCRIPT[0], settings={"share_results": True}, privacy_mode="semi-private")
    member = caller.beside("member")

    answer = member.get(f"/projects/{made['id']}/analysis/results?{_query('unknown = 1')}")
    assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")


def test_many_names_are_counted_in_several_statements(project: Any) -> None:
    """A table has at most 1,664 columns (rule 6.278)."""
    script = _script(project)
    texts = [
        " OR ".join(f'field.f{n}_{at} = "1"' for at in range(49)) + ' OR colour = "red"' for n in range(20)
    ]
    among = "c.project_id = %s", [int(project["id"])]

    counts = selecting.count(texts, script=script, among=among)

    assert counts == [len(_selected(project, script, 'colour = "red"'))] * 20


@pytest.fixture
def doors(caller: Caller, project: Any) -> dict[str, Callable[[], Any]]:
    """The requests that select by an expression and hold no other slot."""
    staff = Staff(community=caller.community)
    at = int(project["id"])
    blocks = {block["name"]: block["id"] for block in project["script"]["blocks"]}
    response = Conversation.objects.filter(project_id=at).first()
    assert response is not None
    pages = {
        "responses": reverse("admin:surveys_project_responses", args=[at]),
        "response": reverse("admin:surveys_project_response", args=[at, response.pk]),
        "answers": reverse("admin:surveys_project_results_answers", args=[at, blocks["why"]]),
    }
    query = _query(FIRE)
    return {
        "interface": lambda: caller.get(f"/projects/{at}/responses?{query}"),
        **{name: partial_of(staff.client.get, f"{path}?{query}") for name, path in pages.items()},
    }


def test_one_community_selects_among_many_once_at_a_time(
    caller: Caller, project: Any, doors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 6.279."""
    monkeypatch.setattr(selecting, "MUCH_WORK", 0)
    monkeypatch.setattr(selecting, "SECONDS_TO_WAIT", 0.0)
    script = _script(project)

    before = {name: ask().status_code for name, ask in doors.items()}
    with selecting.slot(FIRE, responses=lambda: 1, script=lambda: script, community_id=caller.community.pk):
        refused = {name: ask() for name, ask in doors.items()}
    after = {name: ask().status_code for name, ask in doors.items()}

    assert before == after == dict.fromkeys(doors, 200)
    assert {(each.status_code, each["Retry-After"]) for each in refused.values()} == {(503, "5")}


def test_a_statement_that_selects_for_too_long_is_stopped(
    caller: Caller, project: Any, doors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules 6.279 and 6.701."""
    path = f"/projects/{project['id']}/responses/export?{_query(FIRE)}"
    doors |= {name: partial_of(caller.get, f"{path}&format={name}") for name in MEDIA_TYPES}
    monkeypatch.setattr(selecting, "MOST_SECONDS", 0.05)
    monkeypatch.setattr(selecting._Compiler, "condition", lambda *_: ("pg_sleep(1) IS NOT NULL", []))

    for name, ask in doors.items():
        refused = ask()
        assert (refused.status_code, refused["Retry-After"]) == (503, "5"), name
        assert "takes too long" in refused.content.decode(), name


def test_the_options_of_lists_are_work(project: Any) -> None:
    """Rule 6.279: a list is unpacked once, and looked through at each mention."""
    script = _script(project)
    drinks, places = len(DRINKS), len(PLACES)

    def listed(text: str) -> int:
        return (
            selecting.work([text], script=script)
            - selecting.work(['"1" = "1"'], script=script)
            - len(text)
            + 9
        )

    unpacked, looked_up = selecting._TO_LIST, selecting._TO_LOOK_UP
    assert listed('colour = "red"') == 0
    assert listed("drinks in places") == (unpacked + looked_up) * (drinks + places)
    assert listed("drinks in places OR places in drinks") == (unpacked + 2 * looked_up) * (drinks + places)


def test_two_lists_are_compared_without_walking_over_all_pairs(project: Any) -> None:
    """Rule 6.279: the elements of one are keys."""
    sql, _ = selecting.meaning("drinks in places", script=_script(project))

    assert "jsonb_exists_any" in sql
    assert "&&" not in sql
