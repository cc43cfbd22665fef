"""Formats of texts and whole numbers over the interface: written, answered, compared, imported."""

import pytest

from tests.support.caller import TEXT, Caller, faults

pytestmark = pytest.mark.django_db

OPEN = {"audience": {"participation": "open_web"}}
DAY = TEXT | {"name": "Day", "format": "date", "required": True}
COUNT = {"type": "open_numeric", "prompt": "How many?", "whole": True}


def path_of(made):
    return f"/projects/{made['id']}/script"


def begin(caller, made):
    return caller.post(f"/projects/{made['id']}/conversations", {}).json()


def answer(caller, told, value):
    sent = {"block_id": told["step"]["block"]["id"], "value": value}
    return caller.post(f"/conversations/{told['id']}/answers", sent)


def write(caller, *blocks):
    return caller.post("/projects", {"name": "A", "type": "convo", "script": {"blocks": list(blocks)}})


def test_formats_and_whole_numbers_are_read_back():
    """Rules 3.121 and 3.122."""
    made = Caller().make(DAY, COUNT, TEXT)

    blocks = made["script"]["blocks"]
    assert [(block["format"], block["whole"]) for block in blocks] == [
        ("date", None),
        (None, True),
        (None, None),
    ]


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        (TEXT | {"format": "time"}, ("script.blocks[0].format", "invalid_choice")),
        (COUNT | {"format": "line"}, ("script.blocks[0].format", "not_allowed")),
        (TEXT | {"whole": True}, ("script.blocks[0].whole", "not_allowed")),
        (COUNT | {"whole": 1}, ("script.blocks[0].whole", "invalid_type")),
        (TEXT | {"format": "email", "follow_ups": 1}, ("script.blocks[0].follow_ups", "not_allowed")),
        (DAY | {"follow_ups": 2}, ("script.blocks[0].follow_ups", "not_allowed")),
    ],
)
def test_wrong_uses_are_refused_at_their_field(block, fault):
    """Rule 3.122."""
    refused = write(Caller(), block)

    assert (refused.status_code, faults(refused)) == (400, {fault})


@pytest.mark.parametrize("block", [TEXT | {"format": "line", "follow_ups": 1}, DAY | {"follow_ups": 0}])
def test_one_line_may_have_further_questions(block):
    assert write(Caller(), block).status_code == 201


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TEXT, {"format": "line"}),
        (DAY, {"format": None}),
        (COUNT, {"whole": False}),
        (COUNT | {"whole": None}, {"whole": True}),
    ],
)
def test_neither_changes_while_the_project_is_active(before, after):
    """Rule 3.121."""
    caller = Caller()
    made = caller.make_open(before)
    (block,) = made["script"]["blocks"]

    refused = caller.patch(f"{path_of(made)}/blocks/{block['id']}", after)

    assert (refused.status_code, faults(refused)) == (409, {(*after, "read_only")})


def test_an_answer_that_does_not_fit_is_refused_and_nothing_moves():
    """Rules 6.131 and 6.132."""
    caller = Caller()
    made = caller.make_open(DAY, COUNT, delivery=OPEN)
    told = begin(caller, made)
    assert (told["step"]["block"]["format"], told["step"]["help"]) == ("date", "A date, such as 2026-01-31.")

    refused = answer(caller, told, "31.1.2026")
    assert (refused.status_code, faults(refused)) == (400, {("value", "invalid")})
    assert refused.json()["message"] == "Answer with a date, such as 2026-01-31."
    told = answer(caller, told, "2026-01-31").json()

    assert (told["step"]["block"]["whole"], told["step"]["help"]) == (True, "A whole number.")
    assert faults(answer(caller, told, 3.5)) == {("value", "invalid")}
    assert answer(caller, told, 3.0).json()["status"] == "completed"
    (response,) = caller.get(f"/projects/{made['id']}/responses").json()["data"]
    assert [each["value"] for each in response["answers"]] == ["2026-01-31", "3"]


@pytest.mark.parametrize(("day", "seen"), [("2026-01-31", "Early."), ("2026-02-01", "Late.")])
def test_conditions_compare_dates(day, seen):
    """Rule 4.13."""
    caller = Caller()
    early = {
        "type": "content_block",
        "prompt": "Early.",
        "show_when": {"block": "Day", "op": "lt", "value": "2026-02-01"},
    }
    late = {"type": "content_block", "prompt": "Late.", "precondition": 'NOT (Day >= "2026-02-01")'}
    made = caller.make_open(DAY, early, late, delivery=OPEN)

    told = answer(caller, begin(caller, made), day).json()

    assert made["script"]["warnings"] == []
    assert told["step"]["block"]["prompt"] == seen


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["2026-01-31", "3.0"], set()),
        (
            ["31.1.2026", "3.5"],
            {("data[0].answers[0].value", "invalid"), ("data[0].answers[1].value", "invalid")},
        ),
    ],
)
def test_imported_answers_are_checked_in_the_same_way(values, found):
    """Rule 6.132."""
    caller = Caller()
    made = caller.make_open(DAY, COUNT, delivery=OPEN)
    ids = [block["id"] for block in made["script"]["blocks"]]
    answers = [{"block_id": block_id, "value": value} for block_id, value in zip(ids, values, strict=True)]
    sent = {"started_at": "2025-05-01T08:00:00Z", "submitted_at": "2025-05-01T08:05:00Z", "answers": answers}

    imported = caller.post(f"/projects/{made['id']}/responses", {"data": [sent]})

    assert faults(imported) == found
