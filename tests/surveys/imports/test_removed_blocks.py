"""Past responses that answer blocks and options which were removed since: a project's own export fits it."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.models import Conversation
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.staff import Staff
from tests.support.surveys.imports import (
    as_lines,
    faults,
    listed,
    partial,
    past,
    send,
    send_lines,
)

pytestmark = pytest.mark.django_db
WEB = {"delivery": {"audience": {"participation": "open_web"}}}
ONE = {**CHOICE, "name": "one"}
MANY = {"type": "multi_punch", "name": "many", "prompt": "Many?", "options": [{"value": "x"}, {"value": "y"}]}
RANKED = {"type": "ranking", "name": "ranked", "prompt": "Rank.", "options": [{"value": n} for n in "abc"]}
WHY = {**TEXT, "name": "why"}


@pytest.fixture
def caller() -> Caller:
    return Caller("admin")


def exported(caller: Caller, project: Any) -> bytes:
    answer = caller.get(f"/projects/{project['id']}/responses/export?format=ndjson")
    return b"".join(answer.streaming_content)


def rewritten(caller: Caller, project: Any, *blocks: Any) -> None:
    """Write the script again while the project is closed, and open it."""
    assert caller.post(f"/projects/{project['id']}/close").status_code == 200
    answer = caller.put(f"/projects/{project['id']}/script", {"blocks": list(blocks)})
    assert answer.status_code == 200, answer.content


def test_a_projects_own_export_is_imported_again_after_blocks_and_options_were_removed(
    caller: Caller,
) -> None:
    project = caller.make_open(ONE, MANY, RANKED, WHY, **WEB)
    ranks = [{"block_name": "ranked", "label": text, "value": n} for n, text in enumerate("cab", start=1)]
    send(
        caller,
        project,
        past(("one", "red"), ("many", "x"), ("many", "y"), *ranks, ("why", "So.")),
        partial(("one", "green"), ("many", "y")),
    )
    one, _, ranked, why = project["script"]["blocks"]
    one["options"], ranked["options"] = one["options"][1:], ranked["options"][:2]
    rewritten(
        caller,
        project,
        one,
        ranked,
        {**why, "required": False},
        {**TEXT, "name": "many", "prompt": "New?", "required": False},
    )
    before = listed(caller, project)

    answer = send_lines(caller, project, exported(caller, project))

    after = listed(caller, project)
    assert (answer.status_code, answer.json()) == (201, {"imported": 2})
    assert sorted(map(said, after), key=repr) == sorted(map(said, (*before, *before)), key=repr)
    assert caller.get(f"/projects/{project['id']}").json()["info"]["response_count"] == 2 * (4 + 2)
    packed = Conversation.objects.values_list("packed", flat=True)
    assert len({frozenset(records(bytes(each))) for each in packed}) == 2


def test_a_copy_takes_the_export_of_its_original_without_answers_to_removed_questions(
    caller: Caller,
) -> None:
    project = caller.make_open(ONE, MANY, WHY, **WEB)
    send(
        caller,
        project,
        past(("one", "red"), ("many", "x"), ("many", "y"), ("why", "So.")),
        partial(("many", "y")),
        partial(("one", "green"), ("many", "y")),
    )
    one, _, why = project["script"]["blocks"]
    rewritten(caller, project, one, why, {**TEXT, "name": "many", "prompt": "New?", "required": False})
    copy = caller.post(f"/projects/{project['id']}/clone").json()
    stranger = caller.make_open(ONE, WHY, {**TEXT, "name": "many"}, **WEB)

    dry = send_lines(caller, copy, exported(caller, project), query="?dry_run=true")
    answer = send_lines(caller, copy, exported(caller, project))
    elsewhere = send_lines(caller, stranger, exported(caller, project))

    assert (dry.status_code, dry.json()) == (200, {"imported": 0, "valid": 2, "left_out": 4})
    assert (answer.status_code, answer.json()) == (201, {"imported": 2, "left_out": 4})
    by_name = [[(each["block_name"], each["value"]) for each in r["answers"]] for r in listed(caller, copy)]
    assert sorted(by_name) == [[("one", "green")], [("one", "red"), ("why", "So.")]]
    assert elsewhere.status_code == 400  # no copy: `many` is its own question there


def test_a_partial_response_that_answers_only_removed_questions_is_imported_again(caller: Caller) -> None:
    project = caller.make_open({**MANY, "required": True}, ONE, **WEB)
    send(caller, project, partial(("many", "x")))
    rewritten(caller, project, project["script"]["blocks"][1])

    answer = send_lines(caller, project, exported(caller, project))

    assert (answer.status_code, answer.json()) == (201, {"imported": 1})
    one, other = listed(caller, project)
    assert said(one) == said(other) != []


def marked(caller: Caller, project: Any) -> list[str]:
    answer = caller.get(f"/projects/{project['id']}/responses/export?missing=marked")
    return sorted(b"".join(answer.streaming_content).decode().splitlines()[1:], key=lambda row: row[-30:])


def test_a_removed_question_that_was_skipped_stays_so_when_the_response_is_imported_again(
    caller: Caller,
) -> None:
    hidden = {**WHY, "name": "then", "show_when": {"block": "one", "op": "eq", "value": "red"}}
    optional = {**WHY, "required": False}
    project = caller.make_open(ONE, optional, {**hidden, "required": False}, privacy_mode="anonymous", **WEB)
    send(
        caller,
        project,
        past(("one", "red")),
        past(("one", "green")),
        past(("one", "red"), ("why", "So."), ("then", "Yes.")),
        partial(("one", "red"), ("then", "Yes.")),
    )
    rewritten(caller, project, project["script"]["blocks"][0])
    before = [row.split(",")[-3:] for row in marked(caller, project)]
    ids = [each["id"] for each in listed(caller, project)]

    answer = send_lines(caller, project, exported(caller, project))
    for each in ids:
        assert caller.delete(f"/responses/{each}").status_code == 204

    assert (answer.status_code, answer.json()) == (201, {"imported": 4})
    assert [row.split(",")[-3:] for row in marked(caller, project)] == before
    assert sum(row.count("[skipped]") for row in before) == 4
    assert sum(row.count("[not shown]") for row in before) == 1
    for each in listed(caller, project):
        assert Staff(community=caller.community).read(
            f"/admin/surveys/project/{project['id']}/responses/{each['id']}/"
        )


def said(response: Any) -> list[tuple[Any, ...]]:
    return [(each["block_id"], each["option_id"], each["value"]) for each in response["answers"]]


def records(packed: bytes) -> list[bytes]:
    return [packed[n : n + 8] for n in range(0, len(packed), 8)]


def test_a_block_of_another_project_is_still_no_block_of_this_one(caller: Caller) -> None:
    project, other = caller.make_open(ONE, **WEB), caller.make_open(ONE, WHY, **WEB)
    foreign = {"block_id": other["script"]["blocks"][1]["id"], "value": "So."}

    assert faults(send(caller, project, past(("one", "red"), foreign))) == [
        (1, "data[0].answers[1].block_id", "not_found")
    ]


def test_a_value_that_is_null_is_told_apart_from_one_that_is_missing(caller: Caller) -> None:
    project = caller.make_open(ONE, WHY, **WEB)

    null = send_lines(caller, project, as_lines(past(("one", "red"), ("why", None))))
    missing = send_lines(caller, project, as_lines(past(("one", "red"), {"block_name": "why"})))

    assert faults(null) == [(1, "answers[1].value", "null")]
    assert null.json()["violations"][0]["message"] == (
        "`value` must not be null. Leave out an answer that was not given."
    )
    assert faults(missing) == [(1, "answers[1].value", "required")]
