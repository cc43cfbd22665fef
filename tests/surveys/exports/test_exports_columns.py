"""The columns of a table of responses, their names, and their contents."""

import json

import pytest

from surveys.models import Answer, Conversation, Project
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.scripts import planning
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.exports import FIXED, answered, content, in_sheet, lines, questions, write_again
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db

SINGLE = {"type": "single_punch", "options": [{"value": "r", "label": "Red"}, "green"]}
MULTI = {"type": "multi_punch", "options": [{"value": "r", "label": "Red"}, "green", "blue"]}
RANKING = {"type": "ranking", "options": [{"value": "a", "label": "Apple"}, "pear", "plum"], "rank_top_n": 2}
RATING = {"type": "rating", "options": [{"value": str(n), "label": f"Point {n}"} for n in range(1, 6)]}
EACH_KIND = [
    (SINGLE, 0, ["Prompt 0."], ["Red"]),
    (SINGLE, 1, ["Prompt 0."], ["green"]),
    (MULTI, [2, 0], ["Prompt 0.: Red", "Prompt 0.: green", "Prompt 0.: blue"], [1, 0, 1]),
    (RANKING, [2, 0], ["Prompt 0.: Apple", "Prompt 0.: pear", "Prompt 0.: plum"], [2, None, 1]),
    (TEXT, "Because", ["Prompt 0."], ["Because"]),
    ({"type": "open_numeric"}, "-4.5", ["Prompt 0."], [-4.5]),
    ({"type": "open_numeric"}, "1000000000000000", ["Prompt 0."], [10**15]),
    (RATING, "4", ["Prompt 0."], [4]),
    ({"type": "opinion_scale"}, 0, ["Prompt 0."], [0]),
    ({"type": "nps"}, 10, ["Prompt 0."], [10]),
]


@pytest.mark.parametrize(("block", "said", "headers", "cells"), EACH_KIND)
def test_each_kind_of_question_has_its_columns(block, said, headers, cells):
    """Rules 6.60 and 6.61."""
    made = scenario.project(block, TEXT)
    answered(made, said)
    answered(made, None, "only the second")

    empty = [None] * len(cells)
    in_cells = [[*headers, "Prompt 1."], [*cells, None], [*empty, "only the second"]]
    assert in_sheet(made) == in_cells
    assert questions(made) == [["" if cell is None else str(cell) for cell in line] for line in in_cells]


def test_a_number_stands_in_its_shortest_form_with_every_digit():
    made = scenario.project({"type": "open_numeric"}, {"type": "open_numeric"})
    answered(made, "-4.50", "0.1234567890123456789")

    assert questions(made)[1] == ["-4.5", "0.1234567890123456789"]


def test_content_and_action_blocks_have_no_column_and_a_calculated_one_its_own_at_the_end():
    made = scenario.project(
        {"type": "content_block"},
        TEXT,
        {"type": "calculated_block", "calculated_formula": "1 + 1", "prompt": ""},
    )

    assert questions(made) == [["Prompt 1.", "variable.q2"]]


def test_a_question_headed_like_a_calculated_block_is_told_apart():
    made = scenario.project(
        {**TEXT, "prompt": "variable.q1"},
        {"type": "calculated_block", "calculated_formula": "1 + 1", "prompt": ""},
    )

    assert questions(made) == [["variable.q1 (q0)", "variable.q1"]]


def test_the_first_columns_tell_who_and_when_as_the_listing_does():
    made = scenario.project(TEXT, TEXT)
    member = scenario.member("Ann", chat_id="4711")
    person = admission.member(community_id=1, member_id=str(member.pk))
    first = scenario.say(conversations.begin(project_id=made.pk, respondent=person, at=LUNCHTIME), "a", "b")
    second = answered(made, "c", who="=cmd|' /C calc'!A0")

    told = lines(content(made))

    assert told[0][:8] == FIXED
    assert told[1][:8] == [
        str(first.conversation.pk),
        "completed",
        "1",
        "2026-01-31T12:34:56Z",
        "2026-01-31T12:34:56Z",
        str(member.user_id),
        "4711",
        "chat",
    ]
    second_row = Conversation.objects.get(pk=second.conversation.pk)
    assert told[2][:8] == [
        str(second_row.pk),
        "partial",
        "",
        "2026-01-31T12:34:56Z",
        "",
        "" if second_row.user_id is None else str(second_row.user_id),
        "'=cmd|' /C calc'!A0",
        "web",
    ]


def test_an_anonymous_project_tells_no_ids_of_people():
    made = scenario.project(TEXT, privacy_mode="anonymous")
    answered(made, "a", who="customer-42")
    # Answers that should never exist are not exported either.
    made.conversations.update(session_number=3, platform_id="customer-42")

    told = lines(content(made))[1]

    assert dict(zip(FIXED, told, strict=False)) | {"id": "", "started_at": "", "submitted_at": ""} == {
        **dict.fromkeys(FIXED, ""),
        "status": "completed",
        "provider": "web",
    }
    for format in ("csv", "json", "ndjson"):
        assert b"customer-42" not in content(made, format)
    assert "customer-42" not in str(in_sheet(made))


def test_json_and_ndjson_tell_what_the_listing_tells():
    made = scenario.project(SINGLE, MULTI, RANKING, TEXT)
    for n in range(3):
        answered(made, 0, [0, n % 2 + 1], [1, 0], f"text {n}\n\u2028")
    from_json = json.loads(content(made, "json"))
    told = content(made, "ndjson")

    assert told.endswith(b"\n")
    assert [json.loads(line) for line in told[:-1].split(b"\n")] == from_json["data"]
    assert list(from_json) == ["data"]
    assert [len(response["answers"]) for response in from_json["data"]] == [6, 6, 6]


def test_a_project_without_a_question_has_the_first_columns():
    made = scenario.project({"type": "content_block"})

    assert questions(made) == in_sheet(made) == [[]]


def test_equal_headers_get_the_name_of_their_block():
    """Rule 6.61."""
    made = scenario.project(
        {**TEXT, "prompt": "Why?", "name": "first"},
        {**TEXT, "prompt": "Why? ", "name": "second"},
        {**TEXT, "prompt": "How?"},
        {**TEXT, "prompt": "status", "name": "third"},
    )

    assert questions(made)[0] == ["Why? (first)", "Why? (second)", "How?", "status (third)"]


def test_headers_that_are_still_equal_are_told_apart_by_value_and_then_by_id():
    twins = [{"value": "a", "label": "Same"}, {"value": "b", "label": "Same"}, "c"]
    made = scenario.project(
        {"type": "multi_punch", "options": twins, "prompt": "Which?", "name": "one"},
        {**TEXT, "prompt": "Why?", "name": "x"},
        {**TEXT, "prompt": "Why?", "name": "y"},
        {**TEXT, "prompt": "Why? (x)", "name": "z"},
    )
    blocks = scenario.script(made).blocks

    assert questions(made)[0] == [
        "Which?: Same (one) (a)",
        "Which?: Same (one) (b)",
        "Which?: c",
        f"Why? (x) (block {blocks[1].id})",
        "Why? (y)",
        f"Why? (x) (block {blocks[3].id})",
    ]


def test_removed_questions_and_options_with_answers_come_last():
    made = scenario.project(TEXT, MULTI, {**SINGLE, "prompt": "Prompt 1."}, TEXT)
    answered(made, "old", [1, 2], 0, "kept")
    first, second, _, last = scenario.script(made).blocks
    new_options = [{"id": second.options[0].id, "value": "r", "label": "Red"}]
    write_again(
        made,
        {"id": last.id, "name": "q3", "type": "open_text", "prompt": "Now first."},
        {"id": second.id, "name": "q1", "type": "multi_punch", "prompt": "Prompt 1.", "options": new_options},
    )
    Project.objects.filter(pk=made.pk).update(status="active")
    answered(made, "new", [0])

    headers = [
        "Now first.",
        "Prompt 1.: Red",
        "Prompt 1.: green",
        "Prompt 1.: blue",
        "Prompt 0.",
        "Prompt 1.",
    ]
    assert questions(made) == [
        headers,
        ["kept", "0", "1", "1", "old", "Red"],
        ["new", "1", "0", "0", "", ""],
    ]
    Answer.objects.filter(block_id=first.id).delete()
    assert questions(made)[0] == [each for each in headers if each != "Prompt 0."]


def test_what_was_answered_when_a_question_was_of_another_kind_is_not_lost(monkeypatch):
    monkeypatch.setattr(planning, "_new_types", lambda *_: None)  # as before types became fixed
    made = scenario.project(TEXT, MULTI, {"type": "open_numeric"})
    answered(made, "=words", [0, 2], "7")
    text, multi, numeric = scenario.script(made).blocks
    write_again(
        made,
        {"id": text.id, "type": "multi_punch", "prompt": "Which?", "options": [{"value": "a"}]},
        {"id": multi.id, "type": "open_text", "prompt": "Say it."},
        {"id": numeric.id, "type": "open_text", "prompt": "In words."},
    )

    assert questions(made) == [
        ["Which?", "Which?: a", "Say it.", "In words."],
        ["'=words", "", "Red, blue", "7"],
    ]
    assert Project.objects.get(pk=made.pk).block_count == 3
