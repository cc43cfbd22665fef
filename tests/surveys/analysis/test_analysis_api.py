"""Analyses over the interface: asked for, joined, given back, read, refused (rules 1.30, 6.33 and 10.10)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from surveys.models import Analysis, Project
from surveys.services.ai_work.analysis import service as analysis
from tests.support.caller import CHOICE, TEXT, Caller, faults, refusal
from tests.support.surveys import scenario
from tests.support.surveys.analyses import (
    Reads,
    analysed,
    ask,
    connecting,  # noqa: F401
    credits_of,
    give,
    quotes,
    read,
    survey,
    wrote,
)

pytestmark = pytest.mark.django_db


# --- Asked for ------------------------------------------------------------------------------------


def test_a_new_analysis_is_pending_and_tells_the_projects_counts() -> None:
    caller = Caller()
    project = survey(caller)
    wrote(project, "Good.", "Bad.")

    asked = ask(caller, project)

    told = asked.json()
    assert asked.status_code == 202
    assert told == {
        "id": told["id"],
        "project_id": str(project.pk),
        "status": "pending",
        "ai": True,
        "covers": "all",
        "progress": 0.0,
        "created_at": told["created_at"],
        "completed_at": None,
        "completion_count": 2,
        "response_count": 2,
        "credits_used": 0,
        "generated_by": None,
        "summary": None,
        "scores": None,
        "variables": [],
        "blocks": [],
        "error": None,
    }
    assert read(caller, project).json() == told


def test_a_finished_one_tells_everything(connect: Any) -> None:
    """Rule 10.11."""
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, TEXT, CHOICE)
    scenario.say(scenario.begin(project), "#Slow, but +", 0)
    scenario.say(scenario.begin(project), "#slow -")

    told = analysed(caller, project)

    text, choice = told["blocks"]
    text["open_text"]["themes"][0]["quotes"].sort()
    assert told | {"blocks": []} == told | {
        "status": "completed",
        "progress": 1.0,
        "completion_count": 1,
        "response_count": 3,
        "credits_used": 1,
        "generated_by": "anthropic",
        "summary": "2 people answered.",
        "blocks": [],
        "error": None,
    }
    assert told["completed_at"] is not None
    assert text["open_text"] == {
        "summary": "2 answers to Why?",
        "themes": [
            {
                "title": "Slow",
                "description": "About slow.",
                "count": 2,
                "percentage": 100.0,
                "sentiment": "positive",
                "quotes": ["#Slow, but +", "#slow -"],
            }
        ],
        "sentiment": {"positive": 1, "neutral": 0, "negative": 1},
        "answer_count": 2,
        "analysed_count": 2,
    }
    assert (choice["open_text"], choice["response_count"]) == (None, 1)
    assert [entry["count"] for entry in choice["distribution"]] == [1]


def test_without_ai_everything_is_told_but_texts_and_summary(connect: Any) -> None:
    """Rule 10.12."""
    provider = connect(Reads())
    caller = Caller()
    project = survey(caller, TEXT, CHOICE)
    scenario.say(scenario.begin(project), "#slow", 0)

    told = analysed(caller, project, "?ai=false")

    assert (told["status"], told["ai"], told["credits_used"]) == ("completed", False, 0)
    assert (told["summary"], told["generated_by"]) == (None, None)
    assert [block["open_text"] for block in told["blocks"]] == [None, None]
    assert [block["response_count"] for block in told["blocks"]] == [1, 1]
    assert not provider.was_asked


def test_the_running_one_is_given_back() -> None:
    caller = Caller()
    project = survey(caller)

    first, second = ask(caller, project), ask(caller, project)

    assert (second.status_code, second.json()) == (202, first.json())
    assert Analysis.objects.count() == 1


def test_one_with_ai_and_one_without_run_beside_each_other() -> None:
    caller = Caller()
    project = survey(caller)

    ids = {ask(caller, project, query).json()["id"] for query in ("", "?ai=false", "?status=partial")}

    assert len(ids) == 3


def test_the_finished_one_is_given_back_while_nothing_has_changed(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller)
    wrote(project, "#slow")

    told = analysed(caller, project)
    again = ask(caller, project)

    assert (again.status_code, again.json()) == (200, told)
    assert credits_of(caller.community) == 4


@pytest.mark.parametrize("what", ["a change of an answer", "a deletion", "a word of the script"])
def test_any_change_makes_it_anew(what: str) -> None:
    caller = Caller()
    project = survey(caller, TEXT, CHOICE)
    told = scenario.say(scenario.begin(project), "Good.")
    first = analysed(caller, project)

    match what:
        case "a change of an answer":
            scenario.say(scenario.back(told), "Bad.")
        case "a deletion":
            caller.delete(f"/responses/{told.conversation.pk}")
        case "a word of the script":
            block = caller.get(f"/projects/{project.pk}/script").json()["blocks"][0]
            caller.patch(f"/projects/{project.pk}/script/blocks/{block['id']}", {"prompt": "And why?"})
    again = ask(caller, project)

    assert again.status_code == 202
    assert again.json()["id"] != first["id"]


def test_what_comes_while_it_is_made_makes_it_anew(connect: Any) -> None:
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller)
    wrote(project, "#slow")
    provider = connect(Reads())
    summarize = provider.summarize_analysis

    def summarized(overview: Any) -> str:
        wrote(project, "#fast")
        return summarize(overview)

    provider.summarize_analysis = summarized
    first = analysed(caller, project)
    again = ask(caller, project)

    assert (again.status_code, first["response_count"], again.json()["response_count"]) == (202, 1, 2)


@pytest.mark.parametrize(
    ("status", "expected"),
    [("all", (2, 2)), ("completed", (1, 1)), ("partial", (1, 1))],
)
def test_it_covers_what_was_asked_for(status: str, expected: tuple[int, int], connect: Any) -> None:
    """Rule 6.59."""
    provider = connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, TEXT, CHOICE)
    scenario.say(scenario.begin(project), "#done", 0)
    scenario.say(scenario.begin(project), "#left")

    told = analysed(caller, project, f"?status={status}")

    counts = (told["blocks"][0]["response_count"], told["blocks"][0]["open_text"]["answer_count"])
    assert (told["covers"], counts) == (status, expected)
    said = [answer for batch in provider.batches for answer in batch.answers]
    assert sorted(said) == {"all": ["#done", "#left"], "completed": ["#done"], "partial": ["#left"]}[status]
    assert (told["completion_count"], told["response_count"]) == (1, 3)


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("?ai=perhaps", ("ai", "invalid")),
        ("?ai=True", ("ai", "invalid")),
        ("?status=none", ("status", "not_a_choice")),
        ("?model=large", ("model", "unknown")),
        ("?ai=true&ai=false", ("ai", "duplicate")),
    ],
)
def test_a_query_that_nobody_knows_is_refused(query: str, fault: tuple[str, str]) -> None:
    caller = Caller()
    project = survey(caller)

    asked, got = ask(caller, project, query), read(caller, project, query)

    assert refusal(asked) == refusal(got) == (400, "invalid_request")
    assert {field for field, _ in faults(asked)} == {field for field, _ in faults(got)} == {fault[0]}
    assert not Analysis.objects.exists()


def test_an_idempotency_key_gives_the_first_answer_again() -> None:
    caller = Caller()
    project = survey(caller)
    key = {"Idempotency-Key": str(uuid.uuid4())}

    first = ask(caller, project, **key)
    analysis.run(analysis_id=int(first.json()["id"]))
    again = ask(caller, project, **key)
    another = ask(caller, project, "?ai=false", **key)

    assert (again.content, again["Idempotency-Replayed"]) == (first.content, "true")
    assert refusal(another) == (409, "conflict")


def test_a_project_that_is_not_there_is_not_found() -> None:
    caller = Caller()

    assert refusal(caller.post("/projects/999999/analysis")) == (404, "not_found")
    assert refusal(caller.get("/projects/999999/analysis")) == (404, "not_found")


# --- Read -----------------------------------------------------------------------------------------


def test_there_is_none_before_one_is_asked_for() -> None:
    caller = Caller()
    project = survey(caller)

    assert refusal(read(caller, project)) == (404, "not_found")


def test_the_newest_is_read_or_the_newest_of_a_kind() -> None:
    caller = Caller()
    project = survey(caller)
    first = analysed(caller, project)
    second = analysed(caller, project, "?ai=false")
    third = analysed(caller, project, "?status=completed")

    newest = {query: read(caller, project, query).json()["id"] for query in ("", "?ai=false", "?status=all")}

    assert newest == {"": third["id"], "?ai=false": second["id"], "?status=all": second["id"]}
    assert read(caller, project, "?status=all&ai=true").json()["id"] == first["id"]
    assert refusal(read(caller, project, "?status=partial")) == (404, "not_found")


def test_reading_again_takes_two_statements() -> None:
    caller = Caller()
    project = survey(caller, TEXT, CHOICE)
    wrote(project, "Good.", "Bad.")
    analysed(caller, project)

    with scenario.at_most(2):
        assert read(caller, project).status_code == 200


READERS = ("member", "creator at own", "creator at another's", "admin")


def _readers(**fields: Any) -> tuple[dict[str, Caller], Project]:
    admin = Caller("admin")
    author = admin.beside("creator")
    callers = dict(
        zip(READERS, (admin.beside("member"), author, admin.beside("creator"), admin), strict=True)
    )
    project = survey(author, **fields)
    analysed(admin, project)
    return callers, project


@pytest.mark.parametrize(
    ("privacy_mode", "shares", "is_open", "expected"),
    [
        ("transparent", False, True, [200, 200, 200, 200]),
        ("semi-private", False, True, [403, 200, 403, 200]),
        ("semi-private", True, True, [200, 200, 200, 200]),
        ("anonymous", False, False, [404, 200, 403, 200]),
        ("anonymous", True, False, [404, 200, 200, 200]),
    ],
)
def test_who_reads_it(privacy_mode: str, shares: bool, is_open: bool, expected: list[int]) -> None:
    callers, project = _readers(privacy_mode=privacy_mode, settings={"share_results": shares})
    if not is_open:
        callers["admin"].post(f"/projects/{project.pk}/close")

    told = {role: read(caller, project).status_code for role, caller in callers.items()}

    assert told == dict(zip(READERS, expected, strict=True))


@pytest.mark.parametrize(
    ("mode", "has_voted", "expected"),
    [("public", False, 200), ("voters_only", False, 403), ("voters_only", True, 200), ("hidden", True, 403)],
)
def test_a_member_reads_an_open_poll_by_its_mode(mode: str, has_voted: bool, expected: int) -> None:
    settings = {"poll_results_mode": mode, "share_results": True}
    admin = Caller("admin")
    member = admin.beside("member")
    poll = survey(admin, CHOICE, type="poll", settings=settings, privacy_mode="semi-private")
    if has_voted:
        row = admin.community.members.get(user=member.user)
        begun = admin.post(f"/projects/{poll.pk}/conversations", {"member_id": str(row.pk)}).json()
        block = begun["step"]["block"]
        answer = {"block_id": block["id"], "option_id": block["options"][0]["id"]}
        assert admin.post(f"/conversations/{begun['id']}/answers", answer).status_code == 200
    analysed(admin, poll)

    assert read(member, poll).status_code == expected
    assert read(admin.beside("creator"), poll).status_code == 200
    admin.post(f"/projects/{poll.pk}/close")
    assert read(member, poll).status_code == 404


def test_who_reads_it_only_because_it_is_shared_reads_no_quotes_and_no_part(connect: Any) -> None:
    connect(Reads())
    admin = Caller("admin")
    give(admin.community, 9)
    member = admin.beside("member")
    project = survey(admin, privacy_mode="semi-private", settings={"share_results": True})
    wrote(project, "#slow and +", "#slow and -")
    own = analysed(admin, project)
    analysed(admin, project, "?status=completed")

    shared = read(member, project).json()

    assert sorted(quotes(own)) == ["#slow and +", "#slow and -"]
    assert quotes(shared) == []
    assert shared["id"] == own["id"]
    assert [theme["count"] for theme in shared["blocks"][0]["open_text"]["themes"]] == [2]
    assert read(member, project, "?status=all").json() == shared
    for query in ("?status=completed", "?ai=true", "?ai=false"):
        assert refusal(read(member, project, query)) == (403, "forbidden")


@pytest.mark.parametrize("is_open", [True, False])
def test_who_asks_for_one(is_open: bool) -> None:
    callers, project = _readers()
    if not is_open:
        callers["admin"].post(f"/projects/{project.pk}/close")

    told = {role: ask(caller, project, "?ai=false").status_code for role, caller in callers.items()}

    expected = [403 if is_open else 404, 202, 403, 202]
    assert told == dict(zip(READERS, expected, strict=True))
