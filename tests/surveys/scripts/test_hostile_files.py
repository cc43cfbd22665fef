"""Files of others are read within limits: what is too much is refused before much of it is built."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

import openpyxl
import orjson
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from communities.gate import bodies
from communities.ground.errors import InvalidRequest
from communities.ground.slots import LARGE_JOBS, Slots
from surveys.services.converting import (
    elements,
    limesurvey,
    qualtrics,
    questionnaire,
    service,
    sheets,
    workbooks,
)
from surveys.services.converting.elements import Elements
from surveys.services.converting.workbooks import Limits, Workbook
from surveys.services.imports import tables, walking
from tests.support.caller import CHOICE, Caller
from tests.support.cases import try_each
from tests.support.staff import client_of
from tests.support.surveys.questionnaires import REDCAP, TEXT, as_base64

FEW = Limits(rows=60, columns=20, elements=2_000, unpacked=100_000, cells=300, characters=3_000)
MANY = 5_000
NS = (
    'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
KINDS = {"rId1": ("worksheet", "worksheets/sheet1.xml"), "rId2": ("styles", "styles.xml"),
         "rId3": ("sharedStrings", "sharedStrings.xml")}  # fmt: skip


def relation(key: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{key}" Type="http://x/{kind}" Target="{target}"/>'


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def book(*, method: int = zipfile.ZIP_DEFLATED, files: int = 0, **more: str) -> bytes:
    """A small XLSForm, which is also a table of responses, with more in its parts."""
    parts = {
        "root": ("_rels/.rels", "<Relationships>{}" + relation("a", "officeDocument", "xl/workbook.xml")
                 + "</Relationships>"),
        "relations": ("xl/_rels/workbook.xml.rels", "<Relationships>{}"
                      + "".join(relation(key, *each) for key, each in KINDS.items()) + "</Relationships>"),
        "index": ("xl/workbook.xml", f"<workbook {NS}><sheets>"
                  '<sheet name="survey" sheetId="1" r:id="rId1"/></sheets>{}</workbook>'),
        "styles": ("xl/styles.xml", "<styleSheet><cellXfs>{}</cellXfs></styleSheet>"),
        "strings": ("xl/sharedStrings.xml", f"<sst><si><t>{'w' * 1_000}</t></si>{{}}</sst>"),
        "sheet": ("xl/worksheets/sheet1.xml", f'<worksheet {NS}><sheetData><row r="1">{cell("A1", "type")}'
                  f'{cell("B1", "label")}</row><row r="2">{cell("A2", "text")}{cell("B2", "Why?")}</row>'
                  "{}</sheetData></worksheet>"),
    }  # fmt: skip
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, (path, text) in parts.items():
            archive.writestr(path, text.replace("{}", more.pop(name, "")))
        for n in range(files):
            archive.writestr(f"{n}.txt", b"")
    assert not more
    return file.getvalue()


PARTS = ("root", "relations", "index", "styles", "strings", "sheet")
MORE = {
    "elements": "<a/>" * MANY,
    "rows": "<xf/><row><c/></row>" * MANY,
    "attributes": ("<a " + " ".join(f'a{n}=""' for n in range(100)) + "/>") * 50,
    "depth": "<a>" * 90 + "</a>" * 90,
    "names": "".join(f"<a{n}/>" for n in range(900)),
    "a tag": f'<a b="{"c" * 20_000}"/>',
    "blanks": " " * 200_000,
}


def book_with(more: str, part: str) -> Callable[[], bytes]:
    added: dict[str, Any] = {part: more}
    return lambda: book(**added)


BOOKS: dict[str, Callable[[], bytes]] = {
    **{
        f"{kind} in {part}": book_with(more, part)
        for kind, more in MORE.items()
        for part in PARTS
        if (kind, part) != ("rows", "sheet")
    },
    "texts": lambda: book(strings="<si><t>ab</t></si>" * 400),
    "one text in many cells": lambda: book(
        sheet="".join(f'<row r="{n}"><c t="s"><v>0</v></c></row>' for n in range(3, 20))
    ),
    "cells at the end of rows": lambda: book(
        sheet="".join(f'<row r="{n}">{cell(f"T{n}", "x")}</row>' for n in range(3, 40))
    ),
    "texts in no cell": lambda: book(sheet=f'<row r="3">{"<t>abcde</t>" * 700}</row>'),
    "files": lambda: book(files=300),
    "another compression": lambda: book(method=zipfile.ZIP_BZIP2),
    "a text that is none": lambda: book(sheet='<row r="3"><c t="s"><v>7</v></c></row>'),
    "no number": lambda: book(sheet='<row r="9x"/>'),
}
TYPES = {
    "a document type": "<!DOCTYPE a []>",
    "an entity": '<!DOCTYPE a [<!ENTITY b "c">]>',
}
SURVEYS = {
    "elements": "<document><questions><rows>" + "<row><a/></row>" * MANY + "</rows></questions></document>",
    "attributes": "<document>" + '<a b="" c="" d=""/>' * 600 + "</document>",
    "names": "<document>" + "".join(f"<a{n}/>" for n in range(900)) + "</document>",
    "depth": "<document>" + "<a>" * 90 + "</a>" * 90 + "</document>",
    "a tag": f'<document><a b="{"c" * 20_000}"/></document>',
    **{name: f"{sign}<document/>" for name, sign in TYPES.items()},
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Elements]]:
    """The counts of elements, with small limits."""
    made: list[Elements] = []

    class Counted(Elements):
        def __init__(self, most: int) -> None:
            super().__init__(most)
            made.append(self)

    monkeypatch.setattr(sheets, "LIMITS", FEW)
    monkeypatch.setattr(tables, "LIMITS", FEW)
    monkeypatch.setattr(workbooks, "MAX_FILES", 200)
    monkeypatch.setattr(workbooks, "Elements", Counted)
    monkeypatch.setattr(workbooks, "PIECE", 1_024)
    monkeypatch.setattr(limesurvey, "Elements", Counted)
    monkeypatch.setattr(limesurvey, "MAX_ELEMENTS", FEW.elements)
    monkeypatch.setattr(limesurvey, "PIECE", 1_024)
    monkeypatch.setattr(elements, "MAX_NAMES", 500)
    monkeypatch.setattr(elements, "MAX_TAG", 8_192)
    yield made
    assert all(each.count <= FEW.elements + 101 for each in made)  # one tag beyond


@pytest.mark.parametrize("read", [sheets.xlsform, tables.read])
@pytest.mark.parametrize("name", BOOKS)
def test_too_much_in_any_part_of_a_workbook_is_refused(
    counted: list[Elements], name: str, read: Callable[[bytes], object]
) -> None:
    """Rule 3.195."""
    read(book())
    hostile = BOOKS[name]()

    with pytest.raises(InvalidRequest) as refused:
        read(hostile)

    assert refused.value.violations[0]["field"] == ("content" if read is sheets.xlsform else "file")
    assert len(counted) >= 1


@pytest.mark.parametrize("name", SURVEYS)
def test_too_much_in_a_survey_is_refused(counted: list[Elements], name: str) -> None:
    """Rule 3.195."""
    with pytest.raises(InvalidRequest):
        limesurvey.limesurvey(SURVEYS[name].encode())

    assert len(counted) == 1


def test_of_sheets_with_one_name_the_first_is_read_once(counted: list[Elements]) -> None:
    """Rule 3.195."""
    sheets = '<sheet name="Survey" r:id="rId1"/>' * 50
    books = [Workbook(book(), FEW), Workbook(book(index=f"<sheets>{sheets}</sheets>"), FEW)]
    before = [each.count for each in counted]

    rows = [{name: each.rows(name) for name in each.names} for each in books]

    assert rows[0] == rows[1]
    assert rows[0].keys() == {"survey"}
    one, other = (each.count - count for each, count in zip(counted, before, strict=True))
    assert one == other > 0


@pytest.mark.parametrize(
    ("row", "most", "last"), [("<row/>", 400, 2), (f"<row>{cell('', 'x')}</row>", 60, 60)]
)
def test_a_sheet_is_read_up_to_its_last_row(counted: list[Elements], row: str, most: int, last: int) -> None:
    """Rule 3.195."""
    read = Workbook(book(sheet=row * MANY), replace(FEW, rows=most))
    found = read.rows("survey")

    assert found[-1][0] == last
    assert read.ended == {"survey": last}
    assert counted[0].count < 1_000


def test_rows_and_columns_that_are_left_out_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 6.353."""
    monkeypatch.setattr(sheets, "MAX_ROWS", 3)
    monkeypatch.setattr(sheets, "MAX_COLUMNS", 4)
    monkeypatch.setattr(sheets, "LIMITS", replace(sheets.LIMITS, rows=3, columns=5))
    workbook = openpyxl.Workbook()
    workbook.active.title = "survey"
    header, row = ["type", "name", "label", "hint", "more"], ["text", "q", "Why?", "", "x"]
    for n, cells in enumerate((header, row, row, row), start=1):
        for m, text in enumerate(cells, start=1):
            workbook.active.cell(n * 300, m, text)
    file = io.BytesIO()
    workbook.save(file)
    table = "\n\n".join(["question", "One?", "Two?", "Three?,a,b,c,d"])

    form, csv = sheets.xlsform(file.getvalue()), sheets.questions(table)
    whole = sheets.questions(table.replace("One?", ""))

    assert [each["where"] for each in form.unmet] == ["sheet survey, row 900", "sheet survey, row 300"]
    assert len(form.items) == 2
    assert [each["where"] for each in csv.unmet] == ["row 5"]
    assert len(csv.items) == 2
    assert [each["where"] for each in whole.unmet] == ["row 7"]


def test_sheets_are_read_within_one_limit(counted: list[Elements]) -> None:
    """Rule 3.195."""
    rows = "".join(f'<row r="{n}">{cell(f"J{n}", "x")}</row>' for n in range(3, 20))
    names = "".join(f'<sheet name="{name}" r:id="rId1"/>' for name in ("choices", "settings"))
    hostile = book(sheet=rows, index=f"<sheets>{names}</sheets>")

    assert Workbook(hostile, FEW).rows("survey")
    with pytest.raises(InvalidRequest):
        sheets.xlsform(hostile)


@pytest.mark.parametrize("format", sorted(service._JSON))
def test_too_many_values_of_json_are_refused_before_any_is_built(
    monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    """Rule 3.196."""
    built: list[Any] = []
    loads = orjson.loads

    def loads_noted(data: Any) -> Any:
        built.append(data)
        return loads(data)

    monkeypatch.setattr(orjson, "loads", loads_noted)
    monkeypatch.setattr(bodies, "MAX_VALUES_OF_LINES", 1_000)
    many, deep = '{"fields":[' + "{}," * 600 + "{}]}", '{"fields":' + "[" * 300 + "]" * 300 + "}"

    for content in (many, as_base64(many.encode())):
        for chosen in (format, None):
            with pytest.raises(InvalidRequest, match="too many values"):
                service.convert(format=chosen, content=content, community_id=1)
    assert built == []
    with pytest.raises(InvalidRequest, match="nested"):
        service.convert(format=format, content=deep, community_id=1)


def test_signs_in_texts_of_json_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 3.196."""
    monkeypatch.setattr(bodies, "MAX_VALUES_OF_LINES", 20)
    content = json.dumps({"elements": [{"type": "text", "name": "a", "title": ',[{"' * 50}]})

    assert len(service.convert(format=None, content=content, community_id=1).blocks) == 1


COUNT = 2_000
LISTS = "<document><questions><rows>{}</rows></questions></document>"
QUESTIONS: dict[str, Callable[[], str]] = {
    "xlsform": lambda: as_base64(
        book(sheet=f"<row>{cell('A', 'text')}{cell('B', 'Why?')}</row>" * COUNT)
    ),
    "surveyjs": lambda: json.dumps({"elements": [{"type": "text", "name": f"q{n}"} for n in range(COUNT)]}),
    "typeform": lambda: json.dumps(
        {"fields": [{"ref": str(n), "type": "short_text", "title": "Why?"} for n in range(COUNT)]}
    ),
    "formbricks": lambda: json.dumps(
        {"questions": [{"type": "openText", "headline": {"default": "Why?"}} for _ in range(COUNT)]}
    ),
    "limesurvey": lambda: LISTS.format(
        "".join(f"<row><qid>{n}</qid><type>T</type><question>Why?</question></row>" for n in range(COUNT))
    ),
    "qualtrics": lambda: json.dumps(
        {"SurveyElements": [
            {"Element": "SQ", "PrimaryAttribute": f"QID{n}",
             "Payload": {"QuestionText": "Why?", "QuestionType": "TE"}} for n in range(COUNT)
        ]}
    ),
    "redcap": lambda: REDCAP + "x,f,,text,Why?,,,,,,,,,,,,,\n" * COUNT,
    "csv": lambda: "question\n" + "Why?\n" * COUNT,
    "text": lambda: "1. Why?\n" * COUNT,
}  # fmt: skip


@pytest.mark.parametrize("format", service.FORMATS)
def test_no_more_items_are_built_than_a_script_may_have(monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """Rule 3.178."""
    built: list[Any] = []
    begin = questionnaire.Item.__init__

    def begin_noted(self: Any, *args: Any, **own: Any) -> None:
        built.append(self)
        begin(self, *args, **own)

    monkeypatch.setattr(questionnaire.Item, "__init__", begin_noted)

    found = service.convert(format=format, content=QUESTIONS[format](), community_id=1)

    assert len(found.blocks) == 200
    assert 200 <= len(built) <= questionnaire.MAX_ITEMS + 1


def test_a_long_list_of_choices_is_not_copied_for_each_question() -> None:
    """Rule 3.178."""
    workbook = openpyxl.Workbook()
    survey, choices = workbook.active, workbook.create_sheet("choices")
    survey.title = "survey"
    for row in (["type", "name", "label"], *(["select_one all", f"q{n}", "Which?"] for n in range(5))):
        survey.append(row)
    for row in (["list_name", "name", "label"], *(["all", f"c{n}", f"Choice {n}"] for n in range(1_200))):
        choices.append(row)
    file = io.BytesIO()
    workbook.save(file)

    found = sheets.xlsform(file.getvalue())

    assert [len(item.options) for item in found.items] == [questionnaire.MAX_CHOICES] * 5


def test_a_blank_to_write_on_is_no_text_of_a_question() -> None:
    """Rule 3.178."""
    text = "1. Why?\n  ____ . ___\n2. When?\n___x\n3. Who?\n…\n"

    found = service._read("text", text.encode()).items

    assert [item.description for item in found] == ["", "___x", "…"]


def test_lines_below_an_option_add_to_it_as_long_as_a_text_may_be() -> None:
    """Rule 3.178."""
    words = "many words " * 90
    for option in ("- x\n", ""):
        found = service._read("text", f"1. Why?\n{option}{(words + chr(10)) * 100}".encode()).items[0]
        text = found.options[0].value if option else found.description
        assert (
            questionnaire.MAX_SOURCE_TEXT
            <= len(text) + len(words) + 1
            <= questionnaire.MAX_SOURCE_TEXT + 2_000
        )


# --- Logic --------------------------------------------------------------------------------------------

JUMPS = 7
JUMPING: dict[str, dict[str, Any]] = {
    "surveyjs": {
        "elements": [{"type": "text", "name": name} for name in "ab"],
        "triggers": [{"type": "complete", "expression": f"{{a}} = {n}"} for n in range(JUMPS)],
    },
    "typeform": {
        "fields": [{"ref": ref, "type": "short_text", "title": "Why?"} for ref in "ab"],
        "logic": [
            {"type": "field", "ref": "a", "actions": [
                {"action": "jump", "details": {"to": {"type": "field", "value": "b"}},
                 "condition": {"op": "is", "vars": [{"type": "field", "value": "a"},
                                                    {"type": "constant", "value": str(n)}]}}]}
            for n in range(JUMPS)
        ],
    },
    "formbricks": {
        "questions": [
            {"id": id, "type": "openText", "headline": {"default": "Why?"},
             "logic": [{"condition": "equals", "value": str(n), "destination": "b"} for n in range(JUMPS)]}
            for id in "ab"
        ]
    },
    "qualtrics": {
        "SurveyElements": [
            *({"Element": "SQ", "PrimaryAttribute": id,
               "Payload": {"QuestionText": "Why?", "QuestionType": "TE"}} for id in ("QID1", "QID2")),
            {"Element": "BL", "Payload": [{"ID": "B", "Type": "Standard", "BlockElements": [
                {"Type": "Question", "QuestionID": "QID1", "SkipLogic": [
                    {"SkipToDestination": "ENDOFSURVEY", "Condition": "EqualTo", "RightOperand": str(n),
                     "ChoiceLocator": "q://QID1/ChoiceTextEntryValue"} for n in range(JUMPS)]},
                {"Type": "Question", "QuestionID": "QID2"}]}]},
            {"Element": "FL", "Payload": {"Flow": [{"Type": "Block", "ID": "B"}]}},
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("format", JUMPING)
def test_an_item_keeps_as_many_jumps_in_each_format(monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """Rule 11.125."""
    monkeypatch.setattr(questionnaire, "MAX_JUMPS", JUMPS - 2)

    found = service._read(format, json.dumps(JUMPING[format]).encode())

    assert len(found.items[0].jumps) == JUMPS - 2
    left_out = [each["where"] for each in found.unmet if "more than 5 jumps" in each["what"]]
    assert left_out[:1] == [found.items[0].where]
    assert len(set(left_out)) == len(left_out)


def test_a_conversion_has_a_budget_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 11.125."""
    survey = {
        "elements": [{"type": "text", "name": f"q{n}"} for n in range(40)],
        "triggers": [{"type": "complete", "expression": f"{{q0}} = {n}"} for n in range(20)],
    }
    content = json.dumps(survey)
    converted = service.convert(format="surveyjs", content=content, community_id=1)

    monkeypatch.setattr(questionnaire, "MAX_WORK", 1_000)

    assert len(converted.blocks) == 40
    with pytest.raises(InvalidRequest, match="too much logic"):
        service.convert(format="surveyjs", content=content, community_id=1)


def test_ends_that_cannot_be_said_are_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 11.125."""
    turned: list[Any] = []

    def noted(logic: Any) -> Any:
        turned.append(logic)
        return questionnaire.negated(logic)

    monkeypatch.setattr(qualtrics, "MAX_COMPARISONS", 9)
    monkeypatch.setattr(qualtrics, "negated", noted)
    rule = {"LogicType": "Question", "ChoiceLocator": "q://QID1/SelectableChoice/1", "Operator": "Selected"}
    survey = json.loads(json.dumps(JUMPING["qualtrics"]))
    branch = {"Type": "Branch", "BranchLogic": {"0": {"0": rule}}, "Flow": [{"Type": "EndSurvey"}] * 500}
    survey["SurveyElements"][-1]["Payload"]["Flow"].insert(0, branch)

    found = service._read("qualtrics", json.dumps(survey).encode())

    assert len(found.items) == 2
    assert len(turned) == 2 * 10


def test_a_question_of_a_survey_needs_an_id() -> None:
    """Rule 11.125."""
    row = "<row><qid>1</qid><type>T</type><question>Which?</question></row>"
    others = "".join(f"<row><type>T</type><question>{n}?</question></row>" for n in range(9))

    found = service._read("limesurvey", LISTS.format(row + others).encode())

    assert [item.text for item in found.items] == ["Which?"]


@try_each("epoch", [None, CALENDAR_MAC_1904])
def test_cells_are_read_as_they_are_written(epoch: datetime | None) -> None:
    """Rule 3.170."""
    workbook = openpyxl.Workbook()
    if epoch:
        workbook.epoch = epoch
    sheet = workbook.active
    sheet.title = " Responses "
    bold = CellRichText("One ", TextBlock(InlineFont(b=True), "two"), " & three")
    sheet.append(["a", 1, -2.5, True, False, None, "  spaces ", "line\nbreak", "1", 1e300, 12345678901234])
    sheet.append([datetime(2024, 2, 29, 13, 14, 15), date(2024, 2, 29), time(6, 7, 8), timedelta(hours=30)])  # noqa: DTZ001
    sheet.append([bold, "日本 🙂", "#N/A", "=1+1", 45000.5])
    sheet["E3"].number_format = "[$-407]d. mmmm yyyy;@"
    sheet.cell(90, 20, "far")
    sheet.cell(400, 1, "farther")
    file = io.BytesIO()
    workbook.save(file)

    book = Workbook(file.getvalue(), replace(FEW, rows=500, elements=9_000, cells=5_000))
    rows = dict(book.rows("responses"))

    assert book.names == ["responses"]
    assert rows[1] == [
        "a",
        1,
        -2.5,
        True,
        False,
        None,
        "  spaces ",
        "line\nbreak",
        "1",
        1e300,
        12345678901234,
    ]
    assert rows[2] == [
        datetime(2024, 2, 29, 13, 14, 15), datetime(2024, 2, 29), time(6, 7, 8), timedelta(hours=30)  # noqa: DTZ001
    ]  # fmt: skip
    day = datetime(2027, 3, 16, 12) if epoch else datetime(2023, 3, 15, 12)  # noqa: DTZ001
    assert rows[3] == ["One two & three", "日本 🙂", "#N/A", None, day]
    assert rows[90] == [*[None] * 19, "far"]
    assert rows.keys() == {1, 2, 3, 90, 400}
    assert book.ended == {}


# --- One at a time ------------------------------------------------------------------------------------


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch) -> Slots:
    slots = Slots(LARGE_JOBS)
    for module in (service, walking):
        monkeypatch.setattr(module, "_slots", slots)
        monkeypatch.setattr(module, "SECONDS_TO_WAIT", 0.01)
    return slots


@pytest.mark.django_db
@pytest.mark.parametrize("others", [["community {}"], ["community -1", "community -2"]])
def test_conversions_and_files_wait_for_their_turn(slots: Slots, others: list[str]) -> None:
    """Rule 3.197."""
    caller = Caller()
    project = caller.make({**CHOICE, "name": "colour"})
    client = client_of(caller.community)
    admin = f"/admin/surveys/project/{project['id']}"
    body = {"format": "text", "content": TEXT}

    def answers() -> list[Any]:
        return [
            caller.post("/scripts/convert", body),
            client.post(f"{admin}/script/convert/", {"content": TEXT}, content_type="application/json"),
            client.post(f"{admin}/responses/import/file/", b"colour\nred\n", content_type="text/csv"),
            client.post(f"{admin}/responses/import/", {"do": "paste", "rows": "colour\nred"}),
        ]

    with ExitStack() as held:
        for owner in others:
            held.enter_context(
                slots.held(owner.format(caller.community.pk), timeout=0, busy="", retry_after=1)
            )
        refused = answers()

    assert [(each.status_code, each["Retry-After"]) for each in refused] == [(503, "5")] * 4
    assert all(b"Please retry shortly" in each.content for each in refused)
    assert [each.status_code for each in answers()] == [200, 200, 200, 303]
    assert slots.free == LARGE_JOBS


@pytest.mark.django_db
def test_a_refused_conversion_gives_its_turn_back(slots: Slots) -> None:
    caller = Caller()
    for _ in range(2 * LARGE_JOBS):
        assert caller.post("/scripts/convert", {"format": "xlsform", "content": "none"}).status_code == 400

    assert slots.free == LARGE_JOBS
