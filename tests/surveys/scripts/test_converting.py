"""Converting is safe and names what it leaves out; the formats are tested beside this file."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from tests.support.caller import Caller, faults
from tests.support.surveys.questionnaires import REDCAP, TEXT, as_base64, converted, workbook

pytestmark = pytest.mark.django_db


def test_names_are_no_positions_and_differ():
    """Rule 3.175."""
    elements = [{"type": "text", "name": f"q{n}", "title": "What is this?"} for n in (1, 2, 3)]
    elements += [{"type": "text", "name": "score"}, {"type": "text", "name": "q4", "visibleIf": "{q1} = 'a'"}]

    found = converted("surveyjs", {"elements": elements})

    first, second, third, *_, last = (block["name"] for block in found["blocks"])
    assert (first, second, third) == ("what_is_this", "what_is_this_2", "what_is_this_3")
    assert found["blocks"][-1]["show_when"]["block"] == "what_is_this"
    assert not last.startswith("q4")


def test_a_text_asks_for_a_name_only_where_the_name_is_all_that_it_asks_for():
    """Rule 3.122."""
    asked = ["What is your name?", "Full name:", "What do you think of your name badge?"]
    asked += ["Your full name and postal address?"]

    found = converted("text", "\n".join(f"{n}. {prompt}" for n, prompt in enumerate(asked, start=1)))

    assert [block.get("format") for block in found["blocks"]] == ["name", "name", None, None]


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("xlsform", "no workbook"),
        ("xlsform", as_base64(b"PK\x03\x04 broken and then some more bytes")),
        ("xlsform", workbook(other=[["a"]])),
        ("xlsform", as_base64(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 a workbook of Excel 97")),
        ("surveyjs", "{"),
        ("surveyjs", "[1, 2]"),
        ("typeform", '{"fields": 3}'),
        ("formbricks", '{"questions": ["a"]}'),
        ("qualtrics", '{"SurveyElements": [{}]}'),
        ("limesurvey", "<html><body/></html>"),
        ("limesurvey", "no XML"),
        ("redcap", "a,b\n1,2\n"),
        ("csv", "\n\n"),
        ("text", "Nothing here"),
        ("text", "   "),
    ],
)
def test_a_content_of_another_format_is_refused(format, content):
    """Rule 3.176."""
    refused = Caller().post("/scripts/convert", {"format": format, "content": content})

    assert refused.status_code == 400
    assert {field for field, _ in faults(refused)} == {"content"}
    assert ("save it as XLSX" in refused.content.decode()) == content.startswith("0M8R")


def bomb() -> str:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<a>" + b" " * 40_000_000)
    return as_base64(file.getvalue())


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{"&" + a + ";" * 1}&{a};&{a};">' for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )
    + "]><document>&h;</document>"
)


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("xlsform", bomb()),
        ("limesurvey", LAUGHS),
        ("limesurvey", '<!DOCTYPE d SYSTEM "file:///etc/passwd"><document/>'),
        ("limesurvey", "<document>" + "<a>" * 10_000 + "</a>" * 10_000 + "</document>"),
        ("limesurvey", "<document>" + "<a/>" * 450_000 + "</document>"),
        ("surveyjs", '{"pages":' + "[" * 5_000 + "]" * 5_000 + "}"),
        ("csv", '"' + "a" * 200_000 + '"'),
    ],
)
def test_hostile_files_are_refused(format, content):
    """Rule 3.177."""
    refused = Caller().post("/scripts/convert", {"format": format, "content": content})

    assert refused.status_code == 400
    assert {field for field, _ in faults(refused)} == {"content"}


def test_what_is_too_much_is_left_out_and_named():
    """Rule 3.178."""
    many = "\n".join(f"{n}. Is it {n}?" for n in range(1, 260))
    found = converted("text", many)
    assert len(found["blocks"]) == 200
    assert "59 at the end are left out" in found["unmet"][-1]["what"]

    options = "|".join(f"Option {n}" for n in range(1_200))
    found = converted("csv", f"question,type,options\nWhich?,checkboxes,{options}\nWhere?,radio,{options}\n")
    assert [len(block["options"]) for block in found["blocks"]] == [100, 1_000]
    assert found["blocks"][1]["answer_style"] == "select_menu"

    choices = ["x" * 400 + str(n) for n in range(60)]
    wide = {"elements": [{"type": "dropdown", "name": f"d{n}", "choices": choices} for n in range(150)]}
    found = converted("surveyjs", wide)
    assert 0 < len(found["blocks"]) < 150
    assert found["unmet"][0]["where"] == "The whole"

    deep: dict[str, Any] = {"elements": [{"type": "text", "name": "a"}]}
    for _ in range(60):
        deep = {"elements": [{"type": "panel", "elements": deep["elements"]}]}
    refused = Caller().post("/scripts/convert", {"format": "surveyjs", "content": json.dumps(deep)})
    assert refused.status_code == 400


def test_a_condition_that_cannot_be_said_is_named_with_its_words():
    """Rule 3.171."""
    unsayable = [
        "{a} = {b}", "(" * 60 + "{a} = 1" + ")" * 60, "{nobody} = 1", "{b} = 'later'", "{a} = 'x",
        " and ".join(["{a} = '1'"] * 300), "{a} anyof 'y'",
    ]  # fmt: skip
    for source in unsayable:
        elements = [
            {"type": "radiogroup", "name": "a", "choices": ["1"]},
            {"type": "text", "name": "c", "visibleIf": source},
            {"type": "text", "name": "b"},
        ]
        found = converted("surveyjs", {"elements": elements})
        assert not {"show_when", "hide_when", "precondition"} & found["blocks"][1].keys(), source
        assert [each["where"] for each in found["unmet"]] == ["page 1, c"], source


@pytest.mark.long
def test_eight_mib_of_a_format_take_few_steps():
    """Rule 3.177: each is read once, and stops where a script is full."""
    caller = Caller()
    size = 8_000_000
    contents = {
        "text": "1. Why?\n- a\n" * (size // 12),
        "csv": "question\n" + "Why?\n" * (size // 5),
        "redcap": REDCAP + "x,f,,text,Why?,,,,,,,,,,,,,\n" * 200_000,
        "surveyjs": '{"elements":[{"type":"text","name":"a","visibleIf":"' + "(" * 6_000_000 + '"}]}',
        "typeform": '{"fields":[{"type":"short_text","title":"' + "<b" * 3_000_000 + '"}]}',
    }
    for format, content in contents.items():
        answer = caller.post("/scripts/convert", {"format": format, "content": content[:6_500_000]})
        assert answer.status_code == 200, (format, answer.content[:300])
        assert len(answer.json()["blocks"]) <= 200
        assert len(answer.json()["unmet"]) <= 200

    large = caller.post("/scripts/convert", {"format": "text", "content": "a" * 8_388_608})
    assert large.status_code == 413


def test_converting_saves_nothing_and_is_for_authors():
    """Rule 3.170."""
    body = {"format": "text", "content": TEXT}
    caller = Caller()

    assert caller.post("/scripts/convert", body).status_code == 200
    assert caller.get("/projects").json()["data"] == []
    assert Caller("member").post("/scripts/convert", body).status_code == 403
    assert caller.post("/scripts/convert", {"format": "word", "content": "1. Why?"}).status_code == 400
    assert faults(caller.post("/scripts/convert", {"format": "text"})) == {("content", "required")}


def test_base64_is_read_as_the_text_is():
    """Rule 3.170."""
    caller = Caller()
    plain = caller.post("/scripts/convert", {"format": "text", "content": TEXT}).json()
    encoded = {"format": "text", "content": as_base64(TEXT.encode())}

    assert caller.post("/scripts/convert", encoded).json() == plain
