"""GET /v1/templates, and templates made into projects."""

from __future__ import annotations

import pytest

from communities.ground.errors import InvalidRequest
from surveys.ai.local.drafts import library
from surveys.services.scripts import templates
from tests.support.caller import Caller, faults, refusal
from tests.support.instruments.respondent import Sitting, opened

pytestmark = pytest.mark.django_db

IDS = [template.id for template in library.all_templates()]
TOLD = {
    "id",
    "name",
    "description",
    "type",
    "category",
    "question_count",
    "estimated_minutes",
    "scoring_enabled",
}


def get(caller: Caller, path: str = ""):
    return caller.client.get(f"/v1/templates{path}", headers={"X-API-Key": caller.secret})


def listed(caller: Caller, query: str = "") -> list[str]:
    answer = get(caller, f"?per_page=100{query}")
    assert answer.status_code == 200, answer.content
    return [each["id"] for each in answer.json()["data"]]


@pytest.mark.parametrize("role", ["member", "creator", "admin"])
def test_any_role_lists_all_of_them_by_category_and_name(role: str) -> None:
    assert listed(Caller(role)) == IDS


def test_a_list_has_pages() -> None:
    answer = get(Caller(), "?page=2&per_page=10").json()

    assert [each["id"] for each in answer["data"]] == IDS[10:20]
    assert answer["pagination"] == {"page": 2, "per_page": 10, "total": len(IDS), "has_more": True}


def test_a_list_tells_what_each_is_without_its_script() -> None:
    first = get(Caller()).json()["data"][0]

    assert first.keys() == TOLD


@pytest.mark.parametrize("type", ["convo", "poll"])
def test_a_list_of_one_type(type: str) -> None:
    assert listed(Caller(), f"&type={type}") == [
        each.id for each in library.all_templates() if each.type == type
    ]


@pytest.mark.parametrize(
    "query", ["?type=survey", "?category=volcanoes", "?kind=poll", "?page=0", "?search="]
)
def test_a_filter_that_is_none_is_refused(query: str) -> None:
    assert refusal(get(Caller(), query)) == (400, "invalid_request")


def test_one_is_read_with_its_script_and_buckets() -> None:
    told = get(Caller("member"), "/personality-quiz").json()

    assert told.keys() == TOLD | {"scoring", "script"}
    assert told["scoring"]["buckets"][0] == {"name": "Explorer", "order": 0}
    assert told["question_count"] == 6
    assert told["script"]["blocks"][0]["type"] == "content_block"


def test_what_names_a_topic_speaks_neutrally() -> None:
    text = get(Caller(), "/event-feedback").content.decode()

    assert "rate the event overall" in text
    assert "{" not in "".join(
        each["prompt"] for each in get(Caller(), "/event-feedback").json()["script"]["blocks"]
    )


# --- Projects -------------------------------------------------------------------------------------


@pytest.mark.parametrize("template_id", IDS)
def test_what_was_read_makes_a_project_as_it_is(template_id: str) -> None:
    caller = Caller()
    template = get(caller, f"/{template_id}").json()

    answer = caller.post("/projects", template)

    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert made["info"]["block_count"] == len(template["script"]["blocks"])
    assert made["script"]["warnings"] == []
    assert [each["name"] for each in made["scoring"]["buckets"]] == [
        each["name"] for each in template["scoring"]["buckets"]
    ] or template["scoring"]["buckets"] == []
    assert "X-Ignored-Fields" not in answer


def sat(template_id: str, at: int) -> Sitting:
    """A conversation of a project made from a template, every choice answered by the option at that place."""
    caller = Caller()
    made = opened(caller, caller.post("/projects", get(caller, f"/{template_id}").json()).json())
    stored = {block["id"]: block for block in made["script"]["blocks"]}
    sitting = Sitting(caller, made)
    while not sitting.is_over:
        block = stored[sitting.block["id"]]
        sitting.answer(block["options"][at]["value"]) if block["options"] else sitting.go_on()
    return sitting


def test_a_quiz_grades_a_respondent() -> None:
    assert sat("general-knowledge-quiz", 0).said["told_score"] == "You got 10 of 10 right."
    assert sat("general-knowledge-quiz", 1).said["told_score"] == "You got 0 of 10 right."


def test_a_personality_quiz_tells_a_respondent_the_result() -> None:
    assert sat("personality-quiz", 2).said["told_connector"] == "Your result: Connector!"


# --- The service ----------------------------------------------------------------------------------


def test_a_draft_is_the_script_that_a_template_tells() -> None:
    told = templates.as_json_with_script(templates.find("exit-survey"))

    assert told["script"] == {"blocks": [dict(block) for block in templates.draft("exit-survey").blocks]}


def test_an_unknown_template_of_a_new_project_is_named() -> None:
    with pytest.raises(InvalidRequest) as refused:
        templates.draft("volcanoes")

    assert [each["field"] for each in refused.value.violations] == ["template"]


def test_a_survey_is_no_template_for_a_poll() -> None:
    with pytest.raises(InvalidRequest, match="survey"):
        templates.draft("exit-survey", type="poll")

    assert templates.draft("game-night", type="poll") == templates.draft("game-night", type="convo")


def test_a_new_project_takes_a_template_by_its_id() -> None:
    caller = Caller()

    made = caller.make(template="game-night", type="poll")
    refused = caller.post("/projects", {"name": "A", "type": "convo", "template": "volcanoes"})

    assert made["script"]["blocks"][0]["name"] == "game"
    assert refusal(refused) == (400, "invalid_request")
    assert faults(refused) == {("template", "not_found")}
