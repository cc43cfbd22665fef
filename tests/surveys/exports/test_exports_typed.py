"""Tables for statistics programs: codes, the long form, Parquet and SPSS, read back with what reads them."""

import io
from datetime import UTC, date, datetime
from typing import Any

import pandas
import pyarrow
import pyreadstat
import pytest
from pyarrow import parquet

from communities.ground.errors import InvalidRequest
from surveys.models import Conversation, Project
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.exports import parquet as export_parquet
from surveys.services.exports import spss
from surveys.services.projects import cloning
from tests.support.actors import actor
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.exports import (
    FIXED,
    answered,
    content,
    fill,
    in_sheet,
    lines,
    questions,
    write_again,
)
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db

SINGLE = {"type": "single_punch", "options": [{"value": "r", "label": "Red"}, "green"]}
MULTI = {"type": "multi_punch", "options": [{"value": "r", "label": "Red"}, "green", "blue"]}
RANKING = {"type": "ranking", "options": [{"value": "a", "label": "Apple"}, "pear", "plum"], "rank_top_n": 2}
RATING = {"type": "rating", "options": [{"value": str(n), "label": f"Point {n}"} for n in range(1, 6)]}
NUMERIC = {"type": "open_numeric"}
EACH: list[dict[str, Any]] = [SINGLE, MULTI, RANKING, RATING, NUMERIC, TEXT]
ANSWERS = [1, [2, 0], [2, 0], "4", "-4.5", "=1+1"]
DOUBLED = {"type": "calculated_block", "calculated_formula": "[Q4] * 2", "name": "doubled", "prompt": ""}


def from_parquet(made, **options):
    return pandas.read_parquet(io.BytesIO(content(made, "parquet", **options)))


def from_sav(made, folder, **options):
    path = folder / "responses.sav"
    path.write_bytes(content(made, "sav", **options))
    return pyreadstat.read_sav(path)


# Codes.


def test_codes_stand_beside_the_labels_of_a_single_punch_alone():
    """Rule 6.63."""
    made = scenario.project(*EACH)
    answered(made, *ANSWERS)

    plain, coded = questions(made), questions(made, codes=True)

    assert coded[0] == [plain[0][0], "Prompt 0..code", *plain[0][1:]]
    assert coded[1] == ["green", "2", *plain[1][1:]]
    assert in_sheet(made, codes=True)[1][:2] == ["green", 2]


def test_options_keep_their_codes_and_none_gets_that_of_a_removed_one():
    """Rule 3.17."""
    made = scenario.project(SINGLE)
    answered(made, 0)
    answered(made, 1)
    block = scenario.script(made).blocks[0]
    kept = {"id": block.options[1].id, "value": "green"}
    write_again(
        made, {"id": block.id, "type": "single_punch", "prompt": "P", "options": [kept, {"value": "blue"}]}
    )

    assert questions(made, codes=True) == [["P", "P.code"], ["Red", "1"], ["green", "2"]]
    assert codes_of(made) == {"green": 2, "blue": 3}

    blue = {"id": scenario.script(made).blocks[0].options[1].id, "value": "blue"}
    raw = {"id": block.id, "type": "single_punch", "prompt": "P"}
    write_again(made, {**raw, "options": [kept]})  # nobody chose blue, so its row is gone
    write_again(made, {**raw, "options": [{"value": "lime"}, {"value": "blue"}, kept]})

    assert blue["id"] not in [option.id for option in scenario.script(made).blocks[0].options]
    assert codes_of(made) == {"lime": 4, "blue": 5, "green": 2}
    assert questions(made, codes=True)[1:] == [["Red", "1"], ["green", "2"]]
    assert [row[-1] for row in lines(content(made, is_long=True, codes=True))[1:]] == ["1", "2"]


def codes_of(made):
    return {option.value: option.code for option in scenario.script(made).blocks[0].options}


def test_a_clone_keeps_the_codes():
    made = scenario.project(SINGLE)
    block = scenario.script(made).blocks[0]
    green = {"id": block.options[1].id, "value": "green"}
    write_again(made, {"id": block.id, "type": "single_punch", "prompt": "P", "options": [green]})

    an_admin = actor(user_id=scenario.member().user_id, community_id=made.community_id)
    clone = cloning.clone_project(actor=an_admin, project_id=made.pk, at=LUNCHTIME)

    assert codes_of(clone) == {"green": 2}
    assert scenario.script(clone).blocks[0].last_code == 2


# The options' own values.


def test_values_stand_in_place_of_labels_in_each_table(tmp_path):
    """Rule 6.63."""
    made = scenario.project(SINGLE, MULTI, RANKING)
    answered(made, 0, [0, 1], [0, 1])

    headers, cells = questions(made, own_values=True)

    assert headers[:2] == ["Prompt 0.", "Prompt 1.: r"]
    assert (headers[4], cells[0]) == ("Prompt 2.: a", "r")
    assert in_sheet(made, own_values=True)[1][0] == "r"
    long = [row[len(FIXED) + 3 :][:2] for row in lines(content(made, is_long=True, own_values=True))[1:]]
    assert long == [["", "r"], ["", "r"], ["", "green"], ["a", "1"], ["pear", "2"]]
    assert from_parquet(made, own_values=True)["Prompt 0."].tolist() == ["r"]
    assert from_sav(made, tmp_path, own_values=True)[1].variable_value_labels["q0"] == {1: "r", 2: "green"}


def test_a_question_headed_like_a_code_is_told_apart():
    made = scenario.project({**SINGLE, "prompt": "Colour"}, {**TEXT, "prompt": "Colour.code"})

    headers = questions(made, codes=True)[0]

    assert len(set(headers)) == 3
    assert headers[1] == f"{headers[0]}.code"


# The long form.


def test_the_long_form_has_a_row_for_each_answer_in_script_order():
    made = scenario.project(*EACH)
    member = scenario.member("Ann", chat_id="4711")
    person = admission.member(community_id=1, member_id=str(member.pk))
    told = scenario.say(conversations.begin(project_id=made.pk, respondent=person, at=LUNCHTIME), *ANSWERS)
    blocks = [str(block.id) for block in scenario.script(made).blocks]

    header, *rows = lines(content(made, is_long=True, codes=True))

    assert header == [*FIXED, "block_id", "block", "prompt", "item", "value", "number", "code"]
    wide = lines(content(made))[1][: len(FIXED)]
    assert wide[0] == str(told.conversation.pk)
    assert {tuple(row[: len(FIXED)]) for row in rows} == {tuple(wide)}
    assert [row[len(FIXED) :] for row in rows] == [
        [blocks[0], "q0", "Prompt 0.", "", "green", "", "2"],
        [blocks[1], "q1", "Prompt 1.", "", "Red", "", "1"],
        [blocks[1], "q1", "Prompt 1.", "", "blue", "", "3"],
        [blocks[2], "q2", "Prompt 2.", "plum", "1", "1", "3"],
        [blocks[2], "q2", "Prompt 2.", "Apple", "2", "2", "1"],
        [blocks[3], "q3", "Prompt 3.", "", "4", "4", ""],
        [blocks[4], "q4", "Prompt 4.", "", "-4.5", "-4.5", ""],
        [blocks[5], "q5", "Prompt 5.", "", "'=1+1", "", ""],
    ]
    assert lines(content(made, is_long=True))[1:] == [row[:-1] for row in rows]


def test_the_long_form_of_a_response_without_an_answer_has_no_row():
    made = scenario.project({**TEXT, "required": False})
    answered(made, None)

    assert len(lines(content(made))) == 2
    assert len(lines(content(made, is_long=True))) == 1


# Parquet.


def test_parquet_has_numbers_times_and_exact_texts():
    made = scenario.project(*EACH, DOUBLED, scoring_enabled=True)
    member = scenario.member("Ann", chat_id="4711")
    person = admission.member(community_id=1, member_id=str(member.pk))
    scenario.say(conversations.begin(project_id=made.pk, respondent=person, at=LUNCHTIME), *ANSWERS)
    answered(made, 0)

    schema = parquet.read_schema(io.BytesIO(content(made, "parquet", codes=True)))
    frame = from_parquet(made, codes=True)

    types = dict(zip(schema.names, schema.types, strict=True))
    assert types["started_at"] == types["submitted_at"] == pyarrow.timestamp("ms", tz="UTC")
    assert types["Prompt 0..code"] == types["Prompt 1.: Red"] == types["Prompt 3."] == pyarrow.int64()
    assert types["Prompt 4."] == types["variable.doubled"] == pyarrow.float64()
    assert types["Prompt 0."] == types["Prompt 5."] == types["user_id"] == pyarrow.string()
    first, second = frame.to_dict("records")
    assert first["started_at"].to_pydatetime() == LUNCHTIME.astimezone(UTC).replace(microsecond=0)
    assert [
        first[name] for name in ("Prompt 0.", "Prompt 0..code", "Prompt 1.: Red", "Prompt 1.: green")
    ] == [
        "green",
        2,
        1,
        0,
    ]
    assert [first[name] for name in ("Prompt 2.: Apple", "Prompt 3.", "Prompt 4.", "Prompt 5.")] == [
        2,
        4,
        -4.5,
        "=1+1",
    ]
    assert (first["variable.doubled"], first["session_number"], first["user_id"]) == (
        -9,
        1,
        str(member.user_id),
    )
    assert second["Prompt 0..code"] == 1
    assert all(pandas.isna(second[name]) for name in ("submitted_at", "Prompt 3.", "Prompt 5."))


def test_calculated_texts_make_a_column_of_texts():
    formula = 'if [Q0] > 1 then "many" else 1'
    made = scenario.project(
        NUMERIC, {"type": "calculated_block", "calculated_formula": formula, "name": "size", "prompt": ""}
    )
    answered(made, "5")
    answered(made, "1")

    assert list(from_parquet(made)["variable.size"]) == ["many", "1"]


def test_the_long_form_in_parquet_has_numbers_in_a_column_of_their_own():
    made = scenario.project(*EACH)
    answered(made, *ANSWERS)

    frame = from_parquet(made, is_long=True, codes=True)

    assert list(frame["value"]) == ["green", "Red", "blue", "1", "2", "4", "-4.5", "=1+1"]
    assert list(frame["number"].dropna()) == [1, 2, 4, -4.5]
    assert list(frame["code"].dropna()) == [2, 1, 3, 3, 1]
    assert frame["block_id"].dtype == "int64"


def test_many_rows_come_in_groups(monkeypatch):
    monkeypatch.setattr(export_parquet, "ROWS_IN_BATCH", 50)
    monkeypatch.setattr(export_parquet, "ROWS_IN_GROUP", 100)
    made = scenario.project(CHOICE, {"type": "nps"}, TEXT)
    fill(made, 250)

    file = parquet.ParquetFile(io.BytesIO(content(made, "parquet")))

    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [100, 100, 50]
    assert list(file.read().to_pandas()["id"]) == [line[0] for line in lines(content(made))[1:]]


# SPSS.


def test_spss_has_codes_with_labels_and_prompts(tmp_path):
    made = scenario.project(*EACH, DOUBLED, {**TEXT, "prompt": "é" * 300, "name": "Où est-il"})
    answered(made, *ANSWERS, "日本")
    answered(made, 0)

    frame, meta = from_sav(made, tmp_path)

    first, second = frame.to_dict("records")
    assert list(frame.columns)[len(FIXED) :] == [
        "q0",
        *("q1_1", "q1_2", "q1_3"),
        *("q2_1", "q2_2", "q2_3"),
        *("q3", "q4", "q5"),
        "Ou_est_il",
        "variable_doubled",
    ]
    assert [first[name] for name in ("q0", "q1_1", "q1_2", "q2_1", "q3", "q4", "q5", "Ou_est_il")] == [
        *(2, 1, 0, 2, 4, -4.5),
        *("=1+1", "日本"),
    ]
    assert first["started_at"].to_pydatetime() == LUNCHTIME.astimezone(UTC).replace(
        tzinfo=None, microsecond=0
    )
    assert pandas.isna(second["q3"])
    assert second["q5"] == ""
    assert meta.variable_value_labels["q0"] == {1: "Red", 2: "green"}
    assert meta.variable_value_labels["q1_1"] == {0: "Not chosen", 1: "Chosen"}
    assert meta.variable_value_labels["q3"] == {n: f"Point {n}" for n in range(1, 6)}
    measures = [meta.variable_measure[name] for name in ("q0", "q1_1", "q3", "q4", "q5")]
    assert measures == ["nominal", "nominal", "scale", "scale", "nominal"]
    assert [meta.original_variable_types[name] for name in ("q0", "q1_1", "q3")] == ["F1.0"] * 3
    labels = meta.column_names_to_labels
    assert (labels["q0"], labels["q1_1"]) == ("Prompt 0.", "Prompt 1.: Red")
    assert labels["Ou_est_il"] == "é" * 127


def test_spss_names_are_valid_and_differ():
    names = spss.variable_names(["all", "Q-1", "q 1", "1st", "日本", "x" * 80, "x" * 90, "_", "a."])

    assert names == [
        *("all_2", "Q_1", "q_1_2", "v_1st", "v"),
        *("x" * 64, f"{'x' * 56}_2", "v_2", "a"),
    ]


def test_the_longest_text_of_spss_is_cut_between_characters(tmp_path):
    made = scenario.project(TEXT)
    answered(made, "\U0001f600" * 10_000)

    frame, _ = from_sav(made, tmp_path)

    assert frame["q0"][0] == "\U0001f600" * (32_767 // 4)


def test_a_file_for_spss_whose_texts_take_much_memory_is_refused(monkeypatch):
    made = scenario.project(TEXT)
    scenario.say(scenario.begin(made), "😀" * 1_000)
    assert content(made, "sav")
    monkeypatch.setattr("surveys.services.exports.spss.MAX_HELD", 4_000)  # four bytes for each sign

    with pytest.raises(InvalidRequest, match="of texts, which SPSS files are limited to"):
        content(made, "sav")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_table_of_too_many_different_fields_is_refused(format, monkeypatch):
    """Rule 6.70."""
    monkeypatch.setattr("surveys.services.exports.table.MAX_FIELDS", 2)
    made = scenario.project(TEXT)
    for n in range(3):
        key = scenario.say(scenario.begin(made), "x").conversation.pk
        Conversation.objects.filter(pk=key).update(state={"fields": {f"f{n}": "1"}})

    with pytest.raises(InvalidRequest, match="more than 2 different fields"):
        content(made, format)
    assert content(made, "ndjson").count(b"\n") == 3


# Dates.

DAY = {"type": "open_text", "format": "date"}


def test_dates_are_dates_in_every_file_with_types(tmp_path):
    """Rule 6.133."""
    made = scenario.project({**DAY, "name": "day"}, TEXT)
    answered(made, "2026-01-31", "2026-01-31")
    answered(made, None, "x")

    table, (frame, meta) = from_parquet(made), from_sav(made, tmp_path)

    assert table["Prompt 0."].tolist() == [date(2026, 1, 31), None]
    assert meta.original_variable_types["day"] == "SDATE10"
    assert [str(day)[:10] for day in frame["day"]] == ["2026-01-31", "nan"]
    assert frame["q1"].tolist() == table["Prompt 1."].tolist() == ["2026-01-31", "x"]
    assert in_sheet(made)[1:] == [[datetime.fromisoformat("2026-01-31"), "2026-01-31"], [None, "x"]]
    assert questions(made)[1:] == [["2026-01-31", "2026-01-31"], ["", "x"]]


def test_a_text_from_before_the_question_asked_for_a_date_stays_a_text_where_cells_may_differ(tmp_path):
    """Rule 6.133."""
    made = scenario.project({**TEXT, "name": "day"})
    answered(made, "soon")
    answered(made, "1066-10-14")
    made.blocks.filter(name="day").update(format="date")
    Project.objects.filter(pk=made.pk).update(revision=made.revision + 1)
    made.refresh_from_db()

    table, (frame, _) = from_parquet(made), from_sav(made, tmp_path)

    assert in_sheet(made)[1:] == [["soon"], ["1066-10-14"]]
    assert table["Prompt 0."].tolist() == [None, date(1066, 10, 14)]
    assert frame["day"].isna().tolist() == [True, True]


def test_a_date_that_is_missing_has_no_mark_in_files_with_types(tmp_path):
    made = scenario.project({**DAY, "name": "day"}, TEXT)
    answered(made, None, "x")

    table, (frame, meta) = (
        from_parquet(made, marks_missing=True),
        from_sav(made, tmp_path, marks_missing=True),
    )

    assert (table["Prompt 0."].tolist(), frame["day"].isna().tolist()) == ([None], [True])
    assert "day" not in meta.missing_ranges
    assert questions(made, marks_missing=True)[1] == ["[skipped]", "x"]
