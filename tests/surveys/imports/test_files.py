"""Responses from a file of staff, from the file to the stored responses."""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

import openpyxl
import pytest
from django.db import OperationalError
from django.utils import timezone

from communities.ground.errors import InvalidRequest, refuse
from surveys.models import Conversation, Project, ResponseFile
from surveys.services.ground import jobs
from surveys.services.imports import files, matching, names, service, tables, walking
from surveys.services.imports.cells import RowReader
from surveys.services.imports.names import cased
from tests.support.caller import Caller
from tests.support.cases import try_each
from tests.support.dumps import dump
from tests.support.staff import client_of
from tests.support.surveys.import_files import csv_of, stored, table_of, take, worked
from tests.support.surveys.round_trips import COLOURS, answered_by_many, copied

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller()


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("xlsx", {"codes": True}),
        ("xlsx", {"marks_missing": True}),
        ("csv", {"by_name": True, "with_bom": True}),
    ],
)
def test_an_export_is_read_back_whole_into_a_copy(
    caller: Caller, format: str, options: dict[str, Any]
) -> None:
    """Rule 6.340."""
    project = answered_by_many(caller)
    copy = copied(caller, project)

    checked = take(caller, copy, table_of(project, format, **options))

    assert (checked.faults, checked.row.counts["new"]) == ([], 5)
    assert not Conversation.objects.filter(project_id=copy["id"]).exists()
    assert stored(caller, copy).row.counts["new"] == 5
    before, after = rows_of(table_of(project)), rows_of(table_of(copy))
    for row in (*before, *after):
        for name in ("id", "user_id", "provider", "session_number"):
            row.pop(name)
    assert sorted(map(str, after)) == sorted(map(str, before))


def test_a_file_that_is_imported_again_doubles_nothing(caller: Caller) -> None:
    """Rule 6.341."""
    project = caller.make_open({"type": "open_text", "name": "why", "prompt": "Why?"})
    data = csv_of(["Why?", "begun"], ["Sun", ""], ["Sun", ""], ["Rain", ""])
    take(caller, project, data)
    stored(caller, project)

    again = take(caller, project, data + b"Snow,\r\n")

    assert (again.row.counts["known"], again.row.counts["new"]) == (3, 1)
    stored(caller, project)
    assert Conversation.objects.filter(project_id=project["id"]).count() == 4


FORM: list[dict[str, Any]] = [
    {
        "type": "single_punch",
        "name": "team",
        "prompt": "Which team?",
        "options": [
            {"value": "r", "label": "Red, the first"},
            {"value": "g", "label": "Green"},
            {"value": "o", "label": "Another", "is_other": True},
        ],
    },
    {"type": "multi_punch", "name": "days", "prompt": "Which days?", "options": COLOURS},
    {"type": "ranking", "name": "order", "prompt": "Rank.", "options": COLOURS},
    {"type": "opinion_scale", "name": "scale", "prompt": "How good?", "min": 1, "max": 5},
    {"type": "open_numeric", "name": "age", "prompt": "How old?", "required": True},
    {"type": "open_text", "name": "born", "prompt": "Born on?", "format": "date"},
]


def answers_in(project: dict[str, Any]) -> list[dict[str, str]]:
    return rows_of(table_of(project, by_name=True))


def test_cells_of_other_programs_are_read(caller: Caller) -> None:
    """Rule 6.342."""
    project = caller.make_open(*FORM)
    opened = take(
        caller,
        project,
        csv_of(
            [
                "Timestamp",
                "1. Which team?",
                "Which days? [Green]",
                "days/red",
                "order",
                "How good?",
                "age",
                "born",
            ],
            ["31.12.2025 23:30", "red, the first", "x", "", "Red; blue; Green", "4", "1200", "1.2.1990"],
            ["1.1.2026 00:15", "Violet", "", "no", "", "NA", "33", ""],
        ),
    )

    assert opened.faults == []
    assert dict(opened.facts) == {
        0: [
            "“31.12.2025 23:30” is 2025-12-31 23:30.",
            "“1.1.2026 00:15” is 2026-01-01 00:15.",
        ],
        1: ["Read as labels.", "“Violet” is Another: “Violet”.", "1 different text of people’s own."],
        2: ["Read as chosen or not.", "“x” is Green."],
        3: ["Read as chosen or not.", "“no” is not chosen."],
        4: ["Read as labels, separated by semicolons.", "“Red; blue; Green” is “Red”, “blue”, “Green”."],
        5: ["Read as numbers.", "“NA” counts as no answer: 1 cell."],
        6: [],
        7: ["“1.2.1990” is 1990-02-01."],
    }
    stored(caller, project)
    first, second = answers_in(project)
    assert first["submitted_at"] == "2025-12-31T22:30:00Z"
    assert second["submitted_at"] == "2025-12-31T23:15:00Z"
    assert (first["team"], second["team"], second["team other text"]) == (
        "Red, the first",
        "Another",
        "Violet",
    )
    assert (first["days.green"], first["days.red"], first["order.red"], first["order.blue"]) == (
        "1",
        "0",
        "1",
        "2",
    )
    assert (first["born"], first["age"], first["scale"], second["scale"]) == ("1990-02-01", "1200", "4", "")


@pytest.mark.parametrize("written", ["labels", "values", "codes"])
def test_options_are_written_as_labels_values_or_codes(caller: Caller, written: str) -> None:
    """Rule 6.342."""
    options = [{"value": "2", "label": "One"}, {"value": "1", "label": "Two"}]
    project = caller.make_open(
        {"type": "single_punch", "name": "which", "prompt": "Which?", "options": options}
    )
    cell = {"labels": "One", "values": "2", "codes": "1"}[written]
    of_project = Project.objects.get(pk=project["id"])
    take(caller, project, csv_of(["which", "begun"], [cell, ""]))
    opened = files.look(actor=caller.actor, project=of_project)
    assert opened is not None

    files.match(
        actor=caller.actor, project=of_project, chosen=replace(opened.matching, readings={"0": written})
    )
    files.check(actor=caller.actor, project=of_project)

    assert worked(caller, project).faults == []
    stored(caller, project)
    assert [each["which"] for each in answers_in(project)] == ["One"]


NEAR = [
    ["-2", "-1", "0", "1", "2"],
    ["C", "C++", "C#", "c", "C--"],
    ["<18", ">18", "18", "≥18", "18+"],
    ["A", "A-", "A+", "A*", "a"],
    ["Red Green", "Red", "Green", "Red, Green", "red  green", "Red-Green", "Red; Green", "Red|Green"],
    ["Yes", "Yes!", "Yes?", "YES", "yes."],
    ["0.5", ".5", "5", "-.5", "-0.5", "0,5"],
    ["👍", "👎", "👍 Good", "Good", "$ 5", "€ 5", "5 %", "5"],
    ["?", "??", "!", "-", "--", "…"],
]


@pytest.mark.parametrize(
    ("texts", "named", "type"),
    [
        *((texts, "labels", "multi_punch") for texts in NEAR),
        *((texts, "values", "single_punch") for texts in NEAR[:2]),
    ],
)
def test_options_that_differ_by_signs_are_not_mistaken(
    caller: Caller, texts: list[str], named: str, type: str
) -> None:
    """Rule 6.350."""
    options = [
        {"value": text} if named == "values" else {"value": f"v{n}", "label": text}
        for n, text in enumerate(texts)
    ]
    project = caller.make_open({"type": type, "name": "which", "prompt": "Which?", "options": options})
    odd = [text.swapcase().replace("-", "−") for text in texts]
    cells = [*texts, *odd, *(f"{text}; {texts[0]}" for text in texts)]
    opened = take(caller, project, csv_of(["which", "n"], *([cell, str(n)] for n, cell in enumerate(cells))))
    reader = RowReader(Project.objects.get(pk=project["id"]), opened.table, opened.matching, opened.found)

    block = opened.found.block(opened.matching.columns[0])
    assert block is not None
    label_of = {option.id: option.display_text for option in block.options}
    for n, cell in enumerate(cells):
        row = reader.read(n)
        answers = row.sent.answers if row.sent else []
        read = [label_of[answer.option_id] for answer in answers]
        if row.faults or not read:
            is_list = any("may be one option, or several" in said for _, said in row.faults)
            assert n >= len(texts) or is_list or cell in reader.readings.marks(0)
        elif n < len(texts):
            assert read == [cell]
        elif n < 2 * len(texts):
            assert [cased(text) for text in read] == [cased(texts[n - len(texts)])]
        else:
            assert read in ([texts[n - 2 * len(texts)], texts[0]], [cell], [texts[0]])


def test_faulty_rows_are_named_and_left_out(caller: Caller) -> None:
    """Rule 6.343."""
    project = caller.make_open(*FORM[1:])
    opened = take(
        caller,
        project,
        csv_of(
            ["id", "Completed at", "Which days?", "How old?", "Born on?"],
            ["1", "2025-01-01", "Red", "20", ""],
            ["2", "soon", "Red", "20", ""],
            ["3", "2025-01-01", "Red; Mauve", "20", ""],
            ["4", "2025-01-01", "Red", "", ""],
            ["5", "2025-01-01", "Red", "twenty", ""],
            ["6", "2025-01-01", "Red", "20", "30 May"],
            ["1", "2025-01-01", "Green", "20", ""],
        ),
    )

    assert [each.line for each in opened.faults] == [2, 3, 4, 5, 6, 7, 8]
    assert {each.line: (each.column, each.message) for each in opened.faults} == {
        2: ("id", "Another row has the same id."),
        3: ("Completed at", "“soon” is not a time."),
        4: ("Which days?", "“Mauve” is not an option of this question."),
        5: ("", "The response is completed, but “How old?” needs an answer and has none."),
        6: ("How old?", "“twenty” is not a number in the notation 1,234.5 (a point)."),
        7: ("Born on?", "Answer with a date, such as 2026-01-31."),
        8: ("id", "Another row has the same id."),
    }
    assert opened.row.counts["faulty"] == 7


def test_a_person_has_no_more_responses_than_the_project_allows(caller: Caller) -> None:
    """Rule 6.344."""
    project = caller.make_open(*FORM[4:5], settings={"max_completes_per_user": 1})
    rows = [[f"p{n % 101}", "20"] for n in range(files.PART + 2)]
    opened = take(caller, project, csv_of(["external_id", "age"], *rows))

    assert [each.line for each in opened.faults] == [files.PART + 3]
    assert stored(caller, project).row.counts["new"] == files.PART + 1


def test_an_import_continues_where_a_worker_died(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 6.345."""
    project = caller.make_open(*FORM[4:5])
    count = 2 * files.PART + 5
    take(caller, project, csv_of(["age", "x"], *([str(n), ""] for n in range(count))))
    row = ResponseFile.objects.get()
    files.begin_import(actor=caller.actor, project=row.project, at=timezone.now())
    store_part = service.store_part
    calls = []

    def dying(**parts: Any) -> int:
        calls.append(parts)
        if len(calls) == 2:
            raise OperationalError
        return store_part(**parts)

    monkeypatch.setattr(service, "store_part", dying)
    with pytest.raises(OperationalError):
        files.run(file_id=row.pk)
    assert Conversation.objects.filter(project_id=project["id"]).count() == files.PART
    ResponseFile.objects.update(leased_until=timezone.now())

    opened = worked(caller, project)

    assert (opened.row.status, opened.row.counts["new"], opened.row.counts["known"]) == (
        "completed",
        count,
        0,
    )
    assert Conversation.objects.filter(project_id=project["id"]).count() == count


def test_an_anonymous_project_keeps_no_ids_of_a_file(caller: Caller) -> None:
    """Rule 6.346."""
    project = caller.make_open(*FORM[4:5], privacy_mode="anonymous")
    data = csv_of(["id", "external_id", "age"], ["secret-1", "zephyrine", "20"])
    take(caller, project, data)
    stored(caller, project)
    [conversation] = Conversation.objects.filter(project_id=project["id"])

    assert (conversation.user_id, conversation.platform_id, conversation.pk.version) == (None, None, 4)
    assert not any("zephyrine" in str(row) for rows in dump().values() for row in rows)
    assert take(caller, project, data).row.counts["known"] == 1


@try_each(
    ("data", "said"),
    [
        (b"", "needs a first row"),
        (b"age\r\n", "needs a first row"),
        (b"PK\x03\x04broken", "must be an XLSX workbook"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\n\xff\xfe", "must be CSV or XLSX"),
        (b"a,b\n" + b"1,2\n" * (tables.MAX_ROWS + 1), "more than 10,000 rows"),
        (b"a,b\n" + b"\n1,2\r\r\n" * (tables.MAX_ROWS + 1), "more than 10,000 rows"),
        (b"," * 1_001 + b"a\nb", "more than 1,000 columns"),
        (b"x" * (tables.MAX_FILE + 1), "larger than 8 MiB"),
        (b"id,block_id,block,prompt,item,value\n1,2,3,4,5,6", "one answer in a row"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(
    caller: Caller, data: bytes, said: str
) -> None:
    """Rule 6.347."""
    project = caller.make_open(*FORM[4:5])

    with pytest.raises(InvalidRequest, match=said):
        take(caller, project, data)

    assert not ResponseFile.objects.exists()


@pytest.mark.parametrize("step", [1, 2, 300])
def test_empty_rows_end_no_file(step: int) -> None:
    """Rule 6.353."""
    count = 5_200 if step == 2 else 20
    book, rows = openpyxl.Workbook(write_only=True), ["a", *map(str, range(count))]
    sheet = book.create_sheet()
    for text in rows:
        sheet.append([text])
        for _ in range(step - 1):
            sheet.append([None])
    file = io.BytesIO()
    book.save(file)

    for data in (file.getvalue(), ("\n" * step).join(rows).encode()):
        table = tables.read(data)
        assert [cells[0] for _, cells in table.rows] == rows[1:]


def test_too_many_empty_rows_are_refused_with_the_number_of_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rule 6.353."""
    monkeypatch.setattr(tables, "LIMITS", replace(tables.LIMITS, elements=2_000))
    book = openpyxl.Workbook()
    for n, text in ((1, "a"), (2, "x"), (3_000, "y")):
        book.active.cell(n, 1, text)
    for n in range(3, 3_000):
        book.active.row_dimensions[n].height = 20
    file = io.BytesIO()
    book.save(file)

    with pytest.raises(InvalidRequest, match="empty rows are below row 2"):
        tables.read(file.getvalue())


def test_rows_that_take_too_long_are_walked_fewer_at_once(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 6.343."""
    project = caller.make_open(*FORM[4:5])
    walked, walk_through = list[int](), walking.walk_through

    def slow(**parts: Any) -> Any:
        walked.append(len(parts["sent"]))
        return refuse("data", "too_many", "Slow.") if walked[-1] > 3 else walk_through(**parts)

    monkeypatch.setattr(walking, "walk_through", slow)

    opened = take(caller, project, csv_of(["age", "n"], *([str(n), ""] for n in range(8))))

    assert (opened.row.counts["new"], walked[-3:]) == (8, [3, 3, 2])


def test_a_file_is_forgotten_after_a_day(caller: Caller) -> None:
    """Rule 6.348."""
    project = caller.make_open(*FORM[4:5])
    take(caller, project, csv_of(["age"], ["20"]))

    files.take_up(at=timezone.now() + files.KEPT / 2)
    assert ResponseFile.objects.exists()
    files.take_up(at=timezone.now() + files.KEPT * 1.1)

    assert not ResponseFile.objects.exists()


def wide(count: int, cells: int = 0) -> bytes:
    headers = [f"zz{n}" for n in range(count)]
    return csv_of(headers, *([f"hello {n}"] * count for n in range(cells + 1)))


def test_options_are_folded_for_headers_that_name_their_question(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 6.351."""
    options: list[dict[str, Any]] = [{"value": f"v{n}", "label": f"Option {n}"} for n in range(49)]
    options.append({"value": "other", "is_other": True})
    blocks = [
        {"type": "multi_punch", "name": f"q{n}", "prompt": f"Which {n}?", "options": options}
        for n in range(20)
    ]
    blocks += [{**blocks[0], "name": f"r{n}", "prompt": "a" + "_a" * n} for n in range(25)]
    stored = Project.objects.get(pk=caller.make(*blocks)["id"])
    found, folded, plain = matching.questions(stored), list[str](), names.plain

    def noted(text: str) -> str:
        folded.append(text)
        return plain(text)

    for module in (matching, names):
        monkeypatch.setattr(module, "plain", noted)

    def count(*headers: str) -> int:
        folded.clear()
        table = tables.read(csv_of([*headers], ["hello"] * len(headers)))
        matching.guess(table=table, found=found, zone="UTC", moment="2026-01-01T00:00:00+00:00")
        return len(folded)

    least = count("zz")
    assert least < 300
    assert count(*(f"zz{n}" for n in range(101))) - least <= 100 * 5  # a header in up to four forms
    assert count("q7 Option 3", "Which 7? [v9]", "q7_12") - least <= 3 * 5 + 2 * 50
    assert count(*("a" + "_a" * 15 + f"_{n}" for n in range(50))) - least <= 50 * 5 + 16 * 100
    assert count(*("a" + "_a" * 30 + f"_{n}" for n in range(50))) - least <= 50 * 5 + 21 * 100


def test_a_page_shows_some_of_the_columns_and_keeps_the_others(caller: Caller) -> None:
    """Rule 6.351."""
    project = caller.make_open(*FORM[4:5])
    address = f"/admin/surveys/project/{project['id']}/responses/import/"
    client = client_of(caller.community)
    data = csv_of([*(f"zz{n}" for n in range(120)), "age"], ["20"] * 121)
    assert client.post(f"{address}file/", data, content_type="text/csv").status_code == 200
    target = ResponseFile.objects.get().matching["columns"][120]

    def fields(page: Any) -> dict[str, str]:
        form = page.context["form"]
        moment = form["moment"].value()
        sent = {name: form[name].value() or "" for name in form.fields}
        return sent | {"moment": moment.strftime("%Y-%m-%dT%H:%M"), "first": str(form.first)}

    first = client.get(address)
    sent = fields(first)
    assert [name for name in sent if name.startswith("column_")] == [f"column_{n}" for n in range(50)]
    after = client.post(address, sent | {"do": "after", "column_3": "id"})
    assert (after.status_code, after["Location"]) == (303, f"{address}?first=50")
    last = client.get(f"{address}?first=9999")
    assert last.context["form"].shown == range(100, 121)
    twice = client.post(address, fields(last) | {"do": "check", "column_100": target})

    assert twice.status_code == 422
    assert "The columns 101 and 121 of the file are matched with this." in twice.content.decode()
    columns = ResponseFile.objects.get().matching["columns"]
    assert (columns[3], columns[120], sum(map(bool, columns))) == ("id", target, 2)


@pytest.mark.parametrize("part", ["x", "Red", "Red, Green", ""])
def test_a_long_list_in_a_cell_is_read_up_to_the_number_of_options(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Rule 6.352."""
    project = caller.make_open({"type": "multi_punch", "name": "days", "prompt": "Days?", "options": COLOURS})
    looked, plain = list[str](), names.plain

    def noted(text: str) -> str:
        looked.append(text)
        return plain(text)

    monkeypatch.setattr(names, "plain", noted)

    opened = take(caller, project, csv_of(["days", "n"], [f"Red{f';{part}' * 10_000}", ""]))

    assert [each.column for each in opened.faults] == ["days"]
    assert len(looked) < 2_000


def test_a_worker_keeps_its_lease_within_a_part(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 6.352."""
    project = caller.make_open(*FORM[1:5])
    stored = Project.objects.get(pk=project["id"])
    data = csv_of(["days", "order", "age"], *([["Red", "Red; Green; Blue", "20"]] * 4))
    actor, at = caller.actor, timezone.now()
    files.receive(actor=actor, project=stored, name="past.csv", data=data, zone="UTC", at=at)
    files.check(actor=actor, project=stored)
    moments, renewed, renew = itertools.count(), list[bool](), jobs.renew

    def noted(job: ResponseFile, **changes: Any) -> None:
        renewed.append("done" in changes)
        renew(job, **changes)

    monkeypatch.setattr(jobs, "renew", noted)

    files.run(file_id=ResponseFile.objects.get().pk, now=lambda: at + timedelta(seconds=20 * next(moments)))

    assert ResponseFile.objects.get().status == "completed"
    assert renewed.count(True) == 1
    assert renewed.count(False) >= 3
