"""A cell has exactly the answer: never a formula, a link, markup, or only a part."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from communities.ground import spreadsheets
from communities.ground.errors import InvalidRequest
from surveys.services.exports import xlsx as export_xlsx
from surveys.services.exports.cells import FIXED_COLUMNS, NumberText
from surveys.services.links.files import HEADERS
from tests.support.cases import try_each
from tests.support.surveys import scenario
from tests.support.surveys.exports import answered, content, in_sheet, lines, questions, sheets
from tests.support.surveys.scenario import TEXT

FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    '=HYPERLINK("https://example.com";"x")',
    "=cmd|' /C calc'!A0",
    "\t=1",
    "\r=1",
    "\n1",
    "\tharmless",
    "  =1",
    "\u00a0=1",
    "\u3000=1",
    "\ufeff=1",
    "\u200b=1",
    "\u202e=1",
    "\x01=1",
    "\x7f\x85 \ufeff@x",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20x",
    "\u180e=1",
    "\u2800=1",
    "\u3164=1",
    "\u034f=1",
    "\u061c=1",
    "\ufe0f=1",
    "\u115f \ufe00\uffa0-1",
]
HARMLESS = ["1+1=2", "a-b", "", "'=1", "(=1)", "mail@example.com", '"=1"', "\u2013 1", "7", "é=", "🙂=1"]


@try_each("text", FORMULAS)
def test_what_could_be_a_formula_stands_behind_an_apostrophe(text):
    """Rule 6.65."""
    assert spreadsheets.neutralise(text) == f"'{text}"


@try_each("text", HARMLESS)
def test_what_is_no_formula_stays_as_it_is(text):
    assert spreadsheets.neutralise(text) == text


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["=1+1", "\uff1d1", "@x", "-5"])
def test_formulas_are_neutral_wherever_somebody_may_write_them(text):
    made = scenario.project(
        {**TEXT, "prompt": text, "name": "a"},
        {"type": "multi_punch", "prompt": text, "options": [text], "name": "b"},
        {"type": "single_punch", "prompt": "Which?", "options": [{"value": "x", "label": text}]},
    )
    answered(made, text, [0], 0)

    headers, cells = [f"'{text}", f"'{text}: {text}", "Which?"], [f"'{text}", "1", f"'{text}"]
    assert questions(made) == [headers, cells]
    assert in_sheet(made) == [[text, f"{text}: {text}", "Which?"], [text, 1, text]]


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["+49 170 1234567", "-5 °C", "a;=1", "one\n+two\t@three", '"; =1'])
def test_a_workbook_has_texts_as_they_were_said_and_a_csv_guards_only_their_beginning(text):
    """Rule 6.65."""
    made = scenario.project(TEXT)
    answered(made, text)

    guard = "'" if text[0] in "+-" else ""
    assert in_sheet(made)[1] == [text]
    assert questions(made)[1] == [guard + text]


HOSTILE = [
    'He said "no", twice',
    "a;b",
    "a\tb",
    "one\ntwo\r\nthree\rfour",
    "<r><t>bold</t></r>",
    "<r></t></is></c><c r='A2'><f>1+1</f></c></r>",
    "</t></is></c>&amp;<![CDATA[x]]>",
    "_x0041_ and _x000D_",
    "https://example.com/",
    "mailto:ann@example.com",
    "internal:Sheet1!A1",
    "{=SUM(A1)}",
    "0123",
    "1e5",
    "TRUE",
    "#N/A",
    "a\x01\x02\x08\x0b\x1f\x7fb",
    "\ufffe\uffff",
    "مرحبا \u202eabc",
    "👩‍👩‍👧‍👦 é \u00e9",
]


@pytest.mark.django_db
def test_a_text_comes_back_as_it_was_said():
    made = scenario.project(TEXT, TEXT)
    for text in HOSTILE:
        answered(made, text, "the next")
    said = [text.strip() for text in HOSTILE]

    assert questions(made)[1:] == [[each, "the next"] for each in said]
    # A reader of XML takes each end of a line for a newline; signs that XML has none for are spelt out.
    cells = [
        [re.sub("_x([0-9A-F]{4})_", lambda code: chr(int(code[1], 16)), cell), beside]
        for cell, beside in in_sheet(made)[1:]
    ]
    assert [[_ended(cell), beside] for cell, beside in cells] == [[_ended(each), "the next"] for each in said]


def _ended(text):
    return text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.django_db
def test_the_longest_text_fits_a_cell_and_the_longest_prompt_and_labels_are_cut():
    words = "\U0001f600" * 10_000
    labels = ["\U0001f600" * 499 + sign for sign in "ab"]
    made = scenario.project(
        {**TEXT, "prompt": "p" * 4_000, "name": "n" * 64},
        {**TEXT, "prompt": "p" * 4_000, "name": "m" * 64},
        {
            "type": "multi_punch",
            "prompt": "q" * 4_000,
            "name": "o" * 64,
            "options": [{"value": value, "label": "\U0001f600" * 500} for value in labels],
        },
    )
    answered(made, words, "=" * 10_000, [0])

    headers, cells = in_sheet(made)

    assert headers == questions(made)[0]
    asked = f"{'q' * 297}…: {chr(0x1F600) * 74}…"
    for header, name in zip(headers[:2], "nm", strict=True):
        assert header == f"{'p' * 297}… ({name * 64})"
    for header in headers[2:]:
        assert header.startswith(f"{asked} ({'o' * 64}) ({chr(0x1F600) * 74}…) (option ")
    assert cells == [words, "=" * 10_000, 1, 0]


def test_what_does_not_fit_a_workbook_is_never_cut_in_silence():
    with pytest.raises(ValueError, match="does not fit"):
        export_xlsx.workbook(["Why?"], iter([["x" * 32_768]]), name="Responses")


def test_a_workbook_of_too_many_cells_is_refused_and_no_more_are_read(monkeypatch):
    """Rule 6.69."""
    monkeypatch.setattr(export_xlsx, "MAX_CELLS", 6)
    read: list[int] = []

    def rows(count):
        for n in range(count):
            read.append(n)
            yield [NumberText(n), None]

    def written(count):
        read.clear()
        with export_xlsx.workbook(["n", "m"], rows(count), name="R") as file:
            return sheets(file.read())

    assert written(0) == [[["n", "m"]]]
    assert written(3) == [[["n", "m"], [0, None], [1, None], [2, None]]]
    with pytest.raises(InvalidRequest, match=r"more than 6 cells\. Use csv instead") as refused:
        written(9)
    (violation,) = refused.value.violations
    assert (violation["field"], violation["code"]) == ("format", "too_many")
    assert read == [0, 1, 2, 3]


def test_a_sheet_has_room_for_every_workbook():
    rows_of_a_sheet = 1_048_576

    assert export_xlsx.MAX_COLUMNS == 16_384
    assert export_xlsx.MAX_CELLS // min(len(HEADERS), len(FIXED_COLUMNS)) < rows_of_a_sheet


LETTERS = st.characters(exclude_categories=["Cs"])


@given(
    cells=st.lists(st.text(LETTERS), min_size=2),
)
@settings(database=None)
def test_any_cells_come_back_from_a_csv_line(cells):
    written = spreadsheets.csv_line(cells)

    assert lines(written) == [cells]
    assert written.endswith(b"\r\n")


def test_what_other_countries_divide_cells_by_is_quoted_too():
    assert spreadsheets.csv_line(["a;b", "a\tb", " a", "b", None]) == b'"a;b","a\tb"," a",b,\r\n'


@pytest.mark.django_db
def test_a_csv_is_utf_8_and_begins_with_a_byte_order_mark_where_that_is_asked_for():
    made = scenario.project({**TEXT, "prompt": "Où?"})

    plain, marked = content(made), content(made, with_bom=True)

    assert plain.startswith(b"id,status,")
    assert plain.endswith("Où?\r\n".encode())
    assert marked == b"\xef\xbb\xbf" + plain
    for format in ("json", "ndjson"):
        assert content(made, format, with_bom=True) == content(made, format)
