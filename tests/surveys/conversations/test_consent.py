"""The consent that a project asks for before the first answer (rules 6.170 and 6.171)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.models import Conversation, Project
from surveys.services.conversations import service as conversations
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db(transaction=True)
AGREED = "I agree that you store this."


def open_to_all(caller: Caller, *blocks: Any, **fields: Any) -> Any:
    return caller.make_open(*blocks, delivery={"audience": {"participation": "open_web"}}, **fields)


def consents() -> list[Any]:
    return [each["state"].get("consent", {}).get("text") for each in Conversation.objects.values("state")]


def test_the_text_may_have_a_link_and_bold_words() -> None:
    """Rule 6.135."""
    made = scenario.project(TEXT, consent="Read **how** at [our page](https://club.example/privacy).")

    page = Visitor(made).look().page

    assert "<strong>how</strong>" in page
    assert 'href="https://club.example/privacy"' in page


@pytest.mark.parametrize("sent", [{}, {"consent": False}, {"consent": None}])
@pytest.mark.parametrize("kind", ["convo", "poll"])
def test_a_beginning_without_consent_is_refused(kind: str, sent: dict[str, Any]) -> None:
    caller = Caller()
    project = open_to_all(caller, QUESTION, type=kind, settings={"consent": AGREED})

    answer = caller.post(f"/projects/{project['id']}/conversations", sent)

    assert answer.status_code == 400
    assert [(each["field"], each["code"]) for each in answer.json()["violations"]] == [
        ("consent", "required")
    ]
    assert not Conversation.objects.exists()


def test_text_and_moment_are_kept_and_a_changed_text_reaches_later_conversations() -> None:
    caller = Caller()
    project = open_to_all(caller, QUESTION, settings={"consent": AGREED})
    first = Talk(caller, project, consent=True)
    caller.patch(f"/projects/{project['id']}", {"settings": {"consent": "Something else."}})
    second = Talk(caller, project, consent=True)

    for talk in (first, second):
        talk.answer()

    found = caller.get(f"/projects/{project['id']}/responses").json()["data"]
    assert [each["consent"]["text"] for each in found] == [AGREED, "Something else."]
    assert [each["consent"]["at"] for each in found] == [each["started_at"] for each in found]


def test_resuming_needs_no_consent() -> None:
    caller = Caller()
    project = open_to_all(caller, QUESTION, QUESTION, settings={"consent": AGREED})
    Talk(caller, project, external_id="ann", consent=True)

    assert caller.post(f"/projects/{project['id']}/conversations", {"external_id": "ann"}).status_code == 200


@pytest.mark.parametrize("length", [2_000, 2_001])
def test_the_text_has_a_limit(length: int) -> None:
    caller = Caller()

    answer = caller.post("/projects", {"name": "A", "type": "convo", "settings": {"consent": "x" * length}})

    expected = [] if length == 2_000 else [("settings.consent", "too_long")]
    assert [(each["field"], each["code"]) for each in answer.json().get("violations", [])] == expected


def test_exports_and_imports_keep_the_consent() -> None:
    caller = Caller()
    project = open_to_all(caller, QUESTION, settings={"consent": AGREED})
    Talk(caller, project, consent=True).answer()
    responses = f"/projects/{project['id']}/responses"
    lines = b"".join(caller.get(f"{responses}/export?format=ndjson").streaming_content)
    table = b"".join(caller.get(f"{responses}/export?format=csv").streaming_content).decode().splitlines()

    copy = caller.post(f"/projects/{project['id']}/clone", {}).json()
    [sent] = caller.get(responses).json()["data"]
    assert caller.post(f"/projects/{copy['id']}/responses", {"data": [sent]}).status_code == 201

    [imported] = caller.get(f"/projects/{copy['id']}/responses").json()["data"]
    assert imported["consent"] == sent["consent"]
    assert AGREED in lines.decode()
    assert table[0].endswith("consent,consent.at")
    assert table[1].endswith(f"{AGREED},{sent['consent']['at']}")


@pytest.mark.parametrize("text", [AGREED, "I, Ann Smith, agree."])
def test_an_anonymous_project_imports_no_text_but_its_own(text: str) -> None:
    caller = Caller()
    project = open_to_all(caller, QUESTION, settings={"consent": AGREED}, privacy_mode="anonymous")
    sent = {
        "started_at": "2026-01-31T09:30:00Z",
        "submitted_at": "2026-01-31T09:31:00Z",
        "answers": [{"block_name": "q0", "value": "red"}],
        "consent": {"text": text, "at": "2026-01-31T09:30:12Z"},
    }

    answer = caller.post(f"/projects/{project['id']}/responses", {"data": [sent]})

    assert answer.status_code == 201, answer.content
    kept = {"text": AGREED, "at": "2026-01-31T09:00:00Z"} if text == AGREED else None
    assert [each["state"].get("consent") for each in Conversation.objects.values("state")] == [kept]


# --- Pages ----------------------------------------------------------------------------------------


@pytest.fixture
def pages(settings: Any, redis: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


def mark_of(visitor: Visitor) -> str:
    return visitor.page.split('name="consent" value="')[1].split('"')[0]


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize("htmx", [False, True])
def test_a_page_stores_nothing_before_the_box_is_ticked_and_keeps_what_was_typed(htmx: bool) -> None:
    made = scenario.project(TEXT, consent=AGREED, participation="open_web")
    visitor = Visitor(made, htmx=htmx).look()
    assert AGREED in visitor.page

    visitor.send(value="a long thought")

    assert visitor.status == 422
    assert "Please tick the box to agree." in visitor.page
    assert "a long thought" in visitor.page
    assert 'id="consent-error" class="error"' in visitor.page
    assert consents() == []

    visitor.send(value="a long thought", consent=mark_of(visitor))

    assert consents() == [AGREED]
    assert scenario.answers_of(made) == [("Prompt 0.", "a long thought")]
    assert "Thank you." in visitor.page


@pytest.mark.usefixtures("pages")
def test_a_ticked_box_stays_ticked_beside_another_error() -> None:
    made = scenario.project({**TEXT, "required": True}, consent=AGREED, participation="open_web")
    visitor = Visitor(made).look()

    visitor.send(value="", consent=mark_of(visitor))

    assert visitor.status == 422
    assert visitor.has_control(r'name="consent" value="\d+" required\s+checked')


@pytest.mark.usefixtures("pages")
def test_a_box_for_another_text_agrees_to_nothing() -> None:
    made = scenario.project(TEXT, consent=AGREED, participation="open_web")
    visitor = Visitor(made).look()
    mark = mark_of(visitor)
    Project.objects.update(consent="I agree to everything.")

    visitor.send(value="a", consent=mark)

    assert visitor.status == 422
    assert "I agree to everything." in visitor.page
    assert not visitor.has_control(r'name="consent" value="\d+" required\s+checked')
    assert consents() == []


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize("before", [AGREED, None])
def test_a_text_that_is_changed_during_a_request_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    """Rule 6.170."""
    made = scenario.project(TEXT, consent=before, participation="open_web")
    visitor = Visitor(made).look()
    begin = conversations.begin_with_move

    def changed(**given: Any) -> Any:
        Project.objects.update(consent="I agree to everything.")
        return begin(**given)

    monkeypatch.setattr(conversations, "begin_with_move", changed)
    visitor.send(value="a long thought", **({"consent": mark_of(visitor)} if before else {}))
    asked = (visitor.status, "I agree to everything." in visitor.page, consents())
    visitor.send(value="a long thought", consent=mark_of(visitor))

    assert asked == (422, True, [])
    assert "a long thought" in visitor.page
    assert consents() == ["I agree to everything."]


@pytest.mark.usefixtures("pages")
def test_a_polls_page_asks_too_and_the_next_step_does_not() -> None:
    made = scenario.poll(consent=AGREED, participation="open_web")
    visitor = Visitor(made).look()
    option = scenario.option_id(made, "q0", 0)

    visitor.send(option=option)
    assert visitor.status == 422
    visitor.send(option=option, consent=mark_of(visitor))

    assert consents() == [AGREED]
    assert 'name="consent"' not in visitor.page
