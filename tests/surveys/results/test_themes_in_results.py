"""Themes in live results: counted in selected responses and in segments, from the rows of readings."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from surveys.models import Project
from surveys.services.counting import large
from surveys.services.drafts.logic import rows_of
from surveys.services.drafts.logic import text_of as text_of_rows
from surveys.services.ground import selecting
from surveys.services.results import figures
from surveys.services.scripts import cache as script_cache
from tests.support.caller import CHOICE, TEXT, Caller, faults
from tests.support.staff import text_of
from tests.support.surveys.analyses import Reads, analysed, connected, connecting, rich, tags_of  # noqa: F401
from tests.support.surveys.project_tabs import editor_state, superuser, tab
from tests.support.surveys.results import converse, results

pytestmark = pytest.mark.django_db

SEVERAL = {**CHOICE, "type": "multi_punch", "prompt": "Which tools?", "required": False}
STARS = {"type": "rating", "prompt": "How good?", "required": False}
# The campaign, the colour, the tools, the stars and the text; the last two have no text.
PEOPLE: list[tuple[str, Any, Any, Any, str | None]] = [
    ("mail", "red", ["red", "green"], 5, "#slow -"),
    ("mail", "red", ["red"], 4, "#slow #dear -"),
    ("mail", "green", ["green", "blue"], 5, "#dear +"),
    ("web", "green", None, None, "#kind +"),
    ("web", "green", ["blue"], 1, "nothing"),
    ("", "blue", ["blue"], 1, "#slow"),
    ("web", "red", ["red"], 2, None),
    ("mail", "blue", ["red"], 2, None),
]
OPEN_WEB = {"audience": {"participation": "open_web"}}


@pytest.fixture(scope="module")
def scene(kept_rows: None) -> tuple[Caller, dict[str, Any]]:
    caller = rich()
    colour = {**CHOICE, "name": "colour"}
    project = caller.make_open(colour, SEVERAL, STARS, TEXT, {**TEXT, "required": False}, delivery=OPEN_WEB)
    answered(caller, project, PEOPLE)
    with connected(Reads()):
        analysed(caller, Project.objects.get(pk=project["id"]))
    return caller, project


@pytest.fixture
def made(scene: tuple[Caller, dict[str, Any]], connect: Any) -> tuple[Caller, dict[str, Any]]:
    """A project of which an analysis has read all answers; one of the respondents has gone on."""
    connect(Reads())
    return scene


def answered(caller: Caller, project: dict[str, Any], people: Any) -> None:
    for number, (campaign, *said) in enumerate(people):
        sent: Any = {"metadata": {"campaign": campaign}} if campaign else {}
        said = [each for n, each in enumerate(said) if n != 3 or each is not None]
        converse(caller, project, [*said, None] if number == 0 else said, **sent)


def read(block: dict[str, Any]) -> tuple[int, dict[str, int]]:
    """How many answers were read, and how many mention each theme."""
    text = block["open_text"]
    return text["analysed_count"], {
        theme["title"]: theme["count"] for theme in text["themes"] if theme["count"]
    }


def recounted(people: Any) -> tuple[int, dict[str, int]]:
    """The same, counted by hand."""
    texts = [person[-1] for person in people if person[-1]]
    tags = [tag.capitalize() for text in texts for tag in set(tags_of(text))]
    return len(texts), {tag: tags.count(tag) for tag in tags}


def has(person: Any, place: int, value: str) -> bool:
    given = person[place]
    return value in given if isinstance(given, list) else value == ("" if given is None else str(given))


def test_results_count_the_themes_of_the_selected_answers(made: tuple[Caller, dict[str, Any]]) -> None:
    """Rule 10.97."""
    caller, project = made

    everything = results(caller, project)["blocks"][3]["open_text"]

    assert [theme["title"] for theme in everything["themes"]] == ["Slow", "Dear", "Kind"]
    assert everything["themes"][0] == {
        "title": "Slow",
        "description": "About slow.",
        "count": 3,
        "percentage": 50.0,
        "sentiment": "negative",
        "quotes": [],
    }
    assert everything["sentiment"] == {"positive": 2, "neutral": 2, "negative": 2}
    assert (everything["answer_count"], everything["analysed_count"]) == (6, 6)
    queries = {"field.campaign=mail": "mail", "field.campaign=": ""}
    for query, value in queries.items():
        chosen = [person for person in PEOPLE if person[0] == value]
        assert read(results(caller, project, f"?{query}")["blocks"][3]) == recounted(chosen)
    query = urlencode({"where": 'colour = "red"'})
    red = results(caller, project, f"?{query}")["blocks"][3]
    assert read(red) == recounted([person for person in PEOPLE if person[1] == "red"])
    assert read(results(caller, project, "?status=completed")["blocks"][3]) == (1, {"Slow": 1})
    assert read(results(caller, project, "?status=partial")["blocks"][3]) == recounted(PEOPLE[1:])


@pytest.mark.parametrize("place", [0, 1, 2, 3], ids=["field", "choice", "several", "scale"])
def test_each_segment_has_the_themes_of_the_question(made: tuple[Caller, dict[str, Any]], place: int) -> None:
    """Rule 10.97. A respondent who chose several options is in several segments."""
    caller, project = made
    by = "field.campaign" if place == 0 else str(project["script"]["blocks"][place - 1]["id"])

    told = results(caller, project, f"?segment_by={by}")

    block = told["blocks"][3]
    titles = [theme["title"] for theme in block["open_text"]["themes"]]
    assert len(block["segments"]) == len(told["segment_by"]["segments"])
    for segment in block["segments"]:
        chosen = [person for person in PEOPLE if has(person, place, segment["value"])]
        assert read(segment) == recounted(chosen)
        assert segment["response_count"] == segment["open_text"]["analysed_count"]
        assert [theme["title"] for theme in segment["open_text"]["themes"]] == titles
        for theme in segment["open_text"]["themes"]:
            share = theme["count"] / max(segment["open_text"]["analysed_count"], 1)
            assert theme["percentage"] == pytest.approx(100 * share, abs=0.01)
    assert block["segments"][0]["open_text"].keys() == {"themes", "sentiment", "analysed_count"}
    assert all(segment["open_text"] is None for segment in told["blocks"][0]["segments"])
    assert all(segment["open_text"] is None for segment in told["blocks"][4]["segments"])


def test_counts_follow_the_rows_at_once(made: tuple[Caller, dict[str, Any]]) -> None:
    """Rule 10.97. Renamed and merged themes, corrections, and answers that are not read yet."""
    caller, project = made
    path = f"/projects/{project['id']}/blocks/{project['script']['blocks'][3]['id']}"
    ids = {theme["title"]: theme["id"] for theme in caller.get(f"{path}/codebook").json()["themes"]}
    merged = {"themes": [{"id": ids["Slow"], "title": "Waiting"}, {"id": ids["Kind"], "title": "Kind"}]}
    caller.patch(f"{path}/codebook", {**merged, "merge": [{"from": [ids["Dear"]], "into": ids["Slow"]}]})
    answered(caller, project, [("web", "red", None, None, "#slow #kind")])

    block = results(caller, project)["blocks"][3]

    assert read(block) == (6, {"Waiting": 4, "Kind": 1})
    assert block["open_text"]["answer_count"] == 7


def test_cached_counts_of_many_responses_follow_an_analysis(
    made: tuple[Caller, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 10.97. An analysis changes no answer, so their number of changes does not tell of its readings."""
    caller, project = made
    monkeypatch.setattr(large, "LARGE", 1)
    answered(caller, project, [("web", "red", None, None, "#slow #kind")])
    before = read(results(caller, project)["blocks"][3])

    analysed(caller, Project.objects.get(pk=project["id"]))

    assert before == (6, {"Slow": 3, "Dear": 2, "Kind": 1})
    assert read(results(caller, project)["blocks"][3]) == (7, {"Slow": 4, "Dear": 2, "Kind": 2})


def test_readers_of_shared_results_get_titles_and_counts(made: tuple[Caller, dict[str, Any]]) -> None:
    """Rule 10.98."""
    caller, project = made
    Project.objects.filter(pk=project["id"]).update(privacy_mode="semi-private", share_results=True)

    told = results(caller.beside("member"), project)["blocks"][3]["open_text"]

    assert told["themes"][0]["title"] == "Slow"
    assert {theme["description"] for theme in told["themes"]} == {""}


def test_readers_of_shared_anonymous_results_get_no_live_themes(connect: Any) -> None:
    """Rule 10.98."""
    connect(Reads())
    caller = rich()
    project = caller.make_open(
        TEXT, delivery=OPEN_WEB, privacy_mode="anonymous", settings={"share_results": True}
    )
    for n in range(6):
        converse(caller, project, [f"#slow {n}"])
    analysed(caller, Project.objects.get(pk=project["id"]))

    assert read(results(caller, project)["blocks"][0]) == (6, {"Slow": 6})
    assert results(caller.beside("member"), project)["blocks"][0]["open_text"] is None


def test_a_project_without_open_questions_costs_no_look_at_readings() -> None:
    caller = Caller()
    project = caller.make_open(CHOICE, STARS, delivery=OPEN_WEB)
    converse(caller, project, ["red", 3])

    with CaptureQueriesContext(connection) as queries:
        results(caller, project, f"?segment_by={project['script']['blocks'][0]['id']}")

    sent = "".join(each["sql"] for each in queries)
    assert "surveys_tally" in sent
    assert not [each for each in ("reading", "theme", "codebook") if f"surveys_{each}" in sent]


def test_themes_count_for_the_number_of_segments(
    made: tuple[Caller, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 10.97. Three colours, three tools, five stars and two texts are 13 entries, and 15 of themes."""
    caller, project = made
    colour = project["script"]["blocks"][0]["id"]
    monkeypatch.setattr(figures, "MAX_SEGMENT_NUMBERS", 3 * 28)
    results(caller, project, f"?segment_by={colour}")
    monkeypatch.setattr(figures, "MAX_SEGMENT_NUMBERS", 3 * 28 - 1)

    refused = caller.get(f"/projects/{project['id']}/analysis/results?segment_by={colour}")

    assert faults(refused) == {("segment_by", "too_many")}


def test_the_results_page_compares_themes_and_follows_filters(made: tuple[Caller, dict[str, Any]]) -> None:
    """Rule 10.97."""
    _, project = made
    colour = project["script"]["blocks"][0]["id"]
    page = tab(int(project["id"]), "results")

    whole = text_of(superuser().get(page))
    compared = text_of(superuser().get(f"{page}?segment_by={colour}"))
    narrowed = text_of(superuser().get(f"{page}?field.campaign=%3Dweb"))

    assert "Themes of 6 answers" in whole
    assert "#slow #dear -" in whole.split("Newest answers")[0]  # a quote
    assert "A red 2 of 3 answered" in compared
    assert "Slow A red: 100% (2) B green: 0% (0) C blue: 100% (1)" in compared
    assert "Themes of 2 answers" in narrowed
    assert "6 answers to Why?" in whole  # the summary
    assert "6 answers to Why?" not in narrowed


def test_themes_divide_the_results(made: tuple[Caller, dict[str, Any]]) -> None:
    """Rule 6.324."""
    caller, project = made
    text = project["script"]["blocks"][3]

    told = results(caller, project, f"?segment_by={text['id']}")

    segments = told["segment_by"]["segments"]
    assert [(each["label"], each["count"]) for each in segments] == [
        ("Slow", 3), ("Dear", 2), ("Kind", 1), ("No theme", 1),
    ]  # fmt: skip
    for n, name in enumerate(["slow", "dear", "kind"]):
        inside = [person for person in PEOPLE if name in tags_of(person[-1] or "")]
        assert told["blocks"][2]["segments"][n]["response_count"] == len(
            [person for person in inside if person[3] is not None]
        )
    refused = caller.get(
        f"/projects/{project['id']}/analysis/results?segment_by={project['script']['blocks'][4]['id']}"
    )
    assert faults(refused) == {("segment_by", "not_found")}


BY_READINGS = {
    '"Slow" in themes.q4': lambda tags, tone: "slow" in tags,
    'themes.q4 = ["Slow", "Dear"]': lambda tags, tone: tags == {"slow", "dear"},
    'sentiment.q4 = "negative" AND NOT "Dear" in themes.Q3': lambda tags, tone: (
        tone == "-" and "dear" not in tags
    ),
    "NOT themes.q4 AND q4": lambda tags, tone: not tags,
    'sentiment.q4 in ["positive", "neutral"]': lambda tags, tone: tone != "-",
    '"Unknown" in themes.q4 OR themes.q5': lambda tags, tone: False,
}


@pytest.mark.parametrize("text", BY_READINGS)
def test_themes_and_sentiments_select_responses(made: tuple[Caller, dict[str, Any]], text: str) -> None:
    """Rule 6.963."""
    caller, project = made
    query, path = urlencode({"where": text}), f"/projects/{project['id']}"
    chosen = [
        person
        for person in PEOPLE
        if person[-1] and BY_READINGS[text](set(tags_of(person[-1])), person[-1][-1])
    ]

    listed = caller.get(f"{path}/responses?{query}").json()
    exported = b"".join(caller.get(f"{path}/responses/export?format=ndjson&{query}").streaming_content)
    told = results(caller, project, f"?{query}&segment_by=field.campaign")
    page = tab(project["id"], "results_answers", project["script"]["blocks"][3]["id"])
    written = text_of(superuser().get(f"{page}?{query}"))

    assert listed["pagination"]["total"] == len(listed["data"]) == exported.count(b"\n") == len(chosen)
    assert told["conversation_count"] == len(chosen)
    segments = {each["value"]: each["count"] for each in told["segment_by"]["segments"]}
    assert segments.get("mail", 0) == len([person for person in chosen if person[0] == "mail"])
    assert written.count("Put the themes right") == len(chosen)


def test_nothing_but_selections_names_themes(made: tuple[Caller, dict[str, Any]]) -> None:
    """Rules 6.963 and 6.964."""
    caller, project = made
    path, text = f"/projects/{project['id']}", '"Slow" in themes.q4'
    blocks = [each["id"] for each in project["script"]["blocks"]]

    for other, column in (('"a" in themes.q1', 8), ('sentiment.nobody = "x"', 1)):
        refused = caller.get(f"{path}/responses?{urlencode({'where': other})}")
        assert faults(refused) == {("where", "unknown_reference")}
        assert refused.json()["violations"][0]["column"] == column
        assert "names no open question" in refused.json()["message"]
    quota = {"quotas": [{"where": text, "limit": 5}]}
    assert faults(caller.patch(path, {"settings": quota})) == {
        ("settings.quotas[0].where", "unknown_reference")
    }
    board = {"title": "", "block_ids": blocks[:1], "where": text, "weight_by": None, "is_shared": False}
    assert faults(caller.put(f"{path}/dashboard", board)) == {("where", "unknown_reference")}
    condition = {"precondition": text, "type": "open_text", "prompt": "More?"}
    assert faults(caller.put(f"{path}/script", {"blocks": [*project["script"]["blocks"], condition]})) == {
        ("blocks[5].precondition", "unknown_reference")
    }


def test_a_look_into_readings_counts_as_work(made: tuple[Caller, dict[str, Any]]) -> None:
    """Rule 6.279."""
    script = script_cache.script_of(Project.objects.get(pk=made[1]["id"]))
    plain, reading = (selecting.work([f'"Slow" in {name}'], script=script) for name in ("q4", "themes.q4"))

    assert reading - plain > selecting._TO_LOOK_INTO_READINGS - 100


def test_rows_of_conditions_offer_themes_and_sentiments(made: tuple[Caller, dict[str, Any]]) -> None:
    """Rule 6.963."""
    _, project = made
    known = editor_state(superuser(), project["id"])["vocabulary"]["readings"]
    page = superuser().get(tab(project["id"])).content.decode()

    assert [(each["name"], each["kind"], each["choices"]) for each in known] == [
        ("themes.Q3", "choices", ["Dear", "Kind", "Slow"]),
        ("sentiment.Q3", "choice", ["positive", "neutral", "negative"]),
    ]
    read = rows_of(text='"Slow" in themes.Q3', lists=[known[0]["name"]])
    assert read["condition"] == {"variable": "themes.Q3", "op": "in", "value": ["Slow"]}
    assert text_of_rows(condition=read["condition"], kind=read["kind"])["text"] == 'themes.Q3 in ["Slow"]'
    assert 'data-where="readings"' in page
