"""Questionnaires of other systems are converted into blocks that a project takes as its script."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import pytest
from openpyxl import Workbook

from tests.support.caller import Caller, faults

pytestmark = pytest.mark.django_db


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def workbook(**sheets: list[list[Any]]) -> str:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return as_base64(file.getvalue())


def converted(format: str, content: Any) -> dict[str, Any]:
    """What was converted, after a new project has taken its blocks."""
    text = content if isinstance(content, str) else json.dumps(content)
    caller = Caller("creator")
    answer = caller.post("/scripts/convert", {"format": format, "content": text})
    assert answer.status_code == 200, answer.content
    made = caller.post("/projects", {"name": "Converted", "type": "convo"}).json()
    taken = caller.put(f"/projects/{made['id']}/script", {"blocks": answer.json()["blocks"]})
    assert taken.status_code == 200, taken.content
    return answer.json()


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {block["name"]: block for block in found["blocks"]}


def types(found: dict[str, Any]) -> list[str]:
    return [block["type"] for block in found["blocks"]]


def values(block: dict[str, Any]) -> list[str]:
    return [option["value"] for option in block["options"]]


XLSFORM = {
    "survey": [
        ["type", "name", "label::English (en)", "label::French (fr)", "hint::English (en)", "required",
         "relevant", "constraint", "calculation", "appearance", "parameters"],
        ["start", "start"],
        ["note", "welcome", "Welcome", "Bienvenue"],
        ["select_one yes_no", "pets", "Do you have pets?", "", "", "yes"],
        ["select_multiple kinds or_other", "kinds", "Which ones?", "", "Of your own", "", "${pets} = 'yes'"],
        ["integer", "age", "How old is your dog?", "", "", "", "selected(${kinds}, 'dog')",
         ". >= 0 and . <= 30"],
        ["begin_group", "more", "More", "", "", "", "${pets} = 'yes'"],
        ["text", "name", "Its name?", "", "", "", "${age} > 2 or not(selected(${kinds}, 'cat'))"],
        ["calculate", "months", "", "", "", "", "", "", "${age} * 12"],
        ["note", "told", "That is ${months} months.", ""],
        ["end_group"],
        ["rank kinds", "best", "Rank them"],
        ["range", "love", "How much?", "", "", "", "", "", "", "", "start=0 end=10 step=1"],
        ["date", "day", "Since when?"],
        ["geopoint", "place", "Where?"],
        ["text", "code", "Which code?", "", "", "", "regex(${name}, 'a')", "regex(., 'b')"],
    ],
    "choices": [
        ["list_name", "name", "label::English (en)", "label::French (fr)"],
        ["yes_no", "yes", "Yes", "Oui"], ["yes_no", "no", "No", "Non"],
        ["kinds", "dog", "Dog"], ["kinds", "cat", "Cat"],
    ],
    "settings": [["default_language"], ["English (en)"]],
}  # fmt: skip


def test_the_end_of_a_form_ends_no_group_and_unknown_options_are_never_chosen():
    """Rule 3.182."""
    survey = [
        ["type", "name", "label", "relevant"],
        ["select_one yes_no", "pets", "Do you have pets?"],
        ["begin group", "more", "", "${pets} = 'yes'"],
        ["end", "end"],
        ["text", "name", "Its name?"],
        ["text", "kind", "Its kind?", "${pets} = 'yes' or ${pets} = 'other'"],
        ["end group"],
        ["text", "other", "Which other?", "${pets} = 'other'"],
        ["text", "why", "Why?", "${pets} != 'other'"],
    ]
    found = converted("xlsform", workbook(survey=survey, choices=XLSFORM["choices"]))

    blocks, shown = by_name(found), {"block": "pets", "op": "eq", "value": "yes"}
    assert list(blocks) == ["pets", "name", "kind", "why"]
    assert blocks["name"]["show_when"] == shown
    assert blocks["kind"]["show_when"] == {"all": [shown, shown]}
    assert not {"show_when", "hide_when", "precondition"} & blocks["why"].keys()
    told = {each["where"]: each["what"] for each in found["unmet"] if "kind" not in each["where"]}
    assert told["survey, row 8 (other)"] == (
        "It is left out, because its condition is never true: “other” is no option of “Do you have pets?”."
    )


def test_an_xlsform_becomes_a_script():
    """Rules 3.170 and 3.171."""
    found = converted("xlsform", workbook(**XLSFORM))

    blocks = by_name(found)
    assert list(blocks) == [
        *("welcome", "pets", "kinds", "age", "more", "name", "months", "told", "best", "love", "day", "code")
    ]
    assert values(blocks["kinds"]) == ["dog", "cat", "other"]
    assert blocks["kinds"]["options"][2] == {"value": "other", "label": "Other", "is_other": True}
    assert blocks["pets"]["required"]
    assert blocks["kinds"]["description"] == "Of your own"
    assert blocks["kinds"]["show_when"] == {"block": "pets", "op": "eq", "value": "yes"}
    assert blocks["age"]["show_when"] == {"block": "kinds", "op": "in", "value": ["dog"]}
    assert (blocks["age"]["min"], blocks["age"]["max"], blocks["age"]["whole"]) == (0, 30, True)
    assert "NOT" in blocks["name"]["precondition"]
    assert "age > 2" in blocks["name"]["precondition"]
    assert blocks["months"]["calculated_formula"] == "([age] * 12)"
    assert blocks["told"]["prompt"] == "That is [months] months."
    assert (blocks["best"]["type"], blocks["love"]["type"]) == ("ranking", "opinion_scale")
    assert blocks["day"]["format"] == "date"
    assert [each["where"] for each in found["unmet"]] == [
        *("survey", "survey, row 15 (place)", "survey, row 16 (code)", "survey, row 16 (code)")
    ]


SURVEYJS = {
    "description": {"default": "Short and sweet", "de": "Kurz"},
    "pages": [
        {
            "name": "one",
            "elements": [
                {"type": "boolean", "name": "car", "title": "Do you drive?", "isRequired": True},
                {"type": "checkbox", "name": "makes", "title": "Which makes?", "visibleIf": "{car} = true",
                 "choices": ["Ford", {"value": "vw", "text": "VW"}], "showOtherItem": True,
                 "showNoneItem": True, "maxSelectedChoices": 2, "choicesOrder": "random"},
                {"type": "panel", "name": "inner", "visibleIf": "{makes} contains 'vw'", "elements": [
                    {"type": "rating", "name": "stars", "title": "How good?", "rateMax": 5,
                     "rateType": "stars", "minRateDescription": "bad", "maxRateDescription": "good"}]},
                {"type": "matrix", "name": "parts", "title": "How is it?", "columns": ["bad", "good"],
                 "rows": [{"value": "engine", "text": "Engine"}, "brakes"]},
                {"type": "text", "name": "mail", "inputType": "email", "visibleIf": "{parts.engine} = 'bad'"},
                {"type": "text", "name": "price", "inputType": "number", "min": 1},
                {"type": "expression", "name": "double", "expression": "iif({price} > 10, {price} * 2, 0)"},
                {"type": "html", "name": "info", "html": "<p>It costs <b>{price}</b></p>"},
                {"type": "signaturepad", "name": "sign"},
                {"type": "comment", "name": "note", "visibleIf": "{car} notempty and age({day}) > 3"},
            ],
        }
    ],
    "triggers": [{"type": "complete", "expression": "{car} = false"}],
    "completedHtml": "<h3>Thank you</h3>",
}  # fmt: skip


def test_a_survey_of_surveyjs_becomes_a_script():
    """Rules 3.170 and 3.171."""
    found = converted("surveyjs", SURVEYJS)

    blocks = by_name(found)
    assert values(blocks["car"]) == ["true", "false"]
    assert values(blocks["makes"]) == ["Ford", "vw", "other", "none"]
    assert [o.get("is_exclusive", False) for o in blocks["makes"]["options"]] == [False, False, False, True]
    assert blocks["makes"]["max"] == 2
    assert blocks["makes"]["randomize_options"]
    assert blocks["stars"]["scale"] == {"icon": "stars", "label_left": "bad", "label_right": "good"}
    assert [blocks[name]["group"] for name in ("parts_engine", "parts_brakes")] == ["How is it?"] * 2
    assert blocks["mail"]["format"] == "email"
    assert "parts_engine" in json.dumps(blocks["mail"])
    assert blocks["double"]["calculated_formula"] == "(if [price] > 10 then ([price] * 2) else 0)"
    assert blocks["info"]["prompt"] == "It costs **[price]**"
    assert blocks["price"]["hide_when"] == {"block": "car", "op": "eq", "value": "false"}
    assert {each["where"] for each in found["unmet"]} == {"one, sign", "one, note", "locale"}
    assert "hide_when" not in found["blocks"][-1]  # the end is what the trigger leads to


def choice_field(ref: str, title: str, *labels: str, many: bool = False) -> dict[str, Any]:
    choices = [{"ref": f"{ref}-{n}", "label": label} for n, label in enumerate(labels)]
    properties = {"choices": choices, "allow_multiple_selection": many, "allow_other_choice": many}
    return {"ref": ref, "type": "multiple_choice", "title": title, "properties": properties}


def jump(to: str, op: str, *parts: tuple[str, Any], kind: str = "field") -> dict[str, Any]:
    condition = {"op": op, "vars": [{"type": name, "value": value} for name, value in parts]}
    return {"action": "jump", "details": {"to": {"type": kind, "value": to}}, "condition": condition}


TYPEFORM = {
    "welcome_screens": [{"ref": "w", "title": "Hello", "properties": {"button_text": "Go"}}],
    "fields": [
        choice_field("a", "Which colour?", "Red", "Green", "Blue"),
        {"ref": "b", "type": "short_text", "title": "Why {{field:a}}?", "validations": {"required": True}},
        choice_field("c", "Which animals?", "Cat", "Dog", many=True),
        {"ref": "d", "type": "rating", "title": "How good?", "properties": {"steps": 7}},
        {"ref": "e", "type": "file_upload", "title": "A file"},
        {"ref": "f", "type": "nps", "title": "Would you recommend us?"},
    ],
    "thankyou_screens": [{"ref": "good", "title": "Great"}, {"ref": "bad", "title": "Sorry"}],
    "logic": [
        {"type": "field", "ref": "a", "actions": [
            jump("c", "is", ("field", "a"), ("choice", "a-1")),
            jump("d", "is", ("field", "a"), ("choice", "a-2"))]},
        {"type": "field", "ref": "f", "actions": [
            jump("bad", "lower_than", ("field", "f"), ("constant", 5), kind="thankyou"),
            jump("good", "always", kind="thankyou")]},
        {"type": "field", "ref": "d", "actions": [jump("a", "always")]},
    ],
}  # fmt: skip


def test_the_jumps_of_typeform_become_conditions():
    """Rules 3.170 to 3.172."""
    found = converted("typeform", TYPEFORM)

    assert types(found) == [
        *("content_block", "single_punch", "open_text", "multi_punch", "rating", "nps"),
        *("content_block", "content_block"),
    ]
    hello, colour, why, animals, stars, nps, great, sorry = found["blocks"]
    assert (hello["section"], hello["continue"]["label"], colour["name"]) == ("intro", "Go", "which_colour")
    assert why["prompt"] == "Why [which_colour]?"
    assert why["required"]
    green, blue = ({"block": "which_colour", "op": "eq", "value": value} for value in ("Green", "Blue"))
    assert why["hide_when"] == {"any": [green, blue]}
    assert animals["hide_when"] == blue
    assert animals["options"][-1] == {"value": "Other", "is_other": True}
    assert (stars["max"], nps["type"]) == (7, "nps")
    assert great["hide_when"] == {"block": nps["name"], "op": "lt", "value": 5}
    assert sorry["show_when"] == great["hide_when"]
    assert [each["where"] for each in found["unmet"]] == ["fields, e", "fields, d"]


def test_a_respondent_of_a_converted_form_sees_what_the_source_would_show():
    """Rule 3.172."""
    caller = Caller()
    blocks = caller.post("/scripts/convert", {"format": "typeform", "content": json.dumps(TYPEFORM)}).json()[
        "blocks"
    ]
    made = caller.make_open(*blocks, delivery={"audience": {"participation": "open_web"}})
    conversation = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    seen: list[str] = []
    answers = {"which_colour": "Green", blocks[5]["name"]: 3, "how_good": 4, "which_animals": ["Cat"]}
    while conversation["step"] and len(seen) < 12:
        block = conversation["step"]["block"]
        seen.append(block["prompt"])
        path = f"/conversations/{conversation['id']}"
        if block["type"] == "content_block":
            conversation = caller.post(f"{path}/continue", {}).json()
        else:
            name = next(b["name"] for b in blocks if b["prompt"] == block["prompt"])
            sent = {"block_id": block["id"], "value": answers[name]}
            conversation = caller.post(f"{path}/answers", sent).json()

    assert seen[:6] == [
        *("Hello", "Which colour?", "Which animals?", "How good?", "Would you recommend us?", "Sorry")
    ]
    assert "Great" not in seen


def label(text: str) -> dict[str, str]:
    return {"default": text, "de": f"{text} (de)"}


FORMBRICKS = {
    "welcomeCard": {"enabled": True, "headline": label("Hi"), "html": label("<p>Three questions</p>")},
    "questions": [
        {"id": "q1", "type": "multipleChoiceSingle", "headline": label("Do you use it?"), "required": True,
         "choices": [{"id": "c1", "label": label("Yes")}, {"id": "c2", "label": label("No")},
                     {"id": "other", "label": label("Other")}],
         "logic": [{"conditions": {"connector": "and", "conditions": [
             {"leftOperand": {"type": "question", "value": "q1"}, "operator": "equals",
              "rightOperand": {"type": "static", "value": "c2"}}]},
             "actions": [{"objective": "jumpToQuestion", "target": "q3"},
                         {"objective": "calculate", "target": "v"}]}]},
        {"id": "q2", "type": "rating", "scale": "star", "range": 5, "headline": label("How good?"),
         "lowerLabel": label("bad"), "logic": [{"condition": "lessThan", "value": 3, "destination": "end"}]},
        {"id": "q3", "type": "openText", "inputType": "email",
         "headline": label("Why #recall:q1/fallback:so#?")},
        {"id": "q4", "type": "matrix", "headline": label("Rate"), "rows": [label("Speed"), label("Price")],
         "columns": [label("Low"), label("High")]},
        {"id": "q5", "type": "fileUpload", "headline": label("A file")},
    ],
    "endings": [{"id": "e", "type": "endScreen", "headline": label("Thanks")}],
    "hiddenFields": {"enabled": True, "fieldIds": ["plan"]},
}  # fmt: skip


def test_a_survey_of_formbricks_becomes_a_script():
    """Rules 3.170 and 3.172."""
    found = converted("formbricks", FORMBRICKS)

    _, use, good, why, speed, price, thanks = found["blocks"]
    assert values(use) == ["Yes", "No", "Other"]
    assert use["options"][2]["is_other"]
    no = {"block": "do_you_use_it", "op": "eq", "value": "No"}
    few = {"block": "how_good", "op": "lt", "value": 3}
    assert good["hide_when"] == no
    assert [block["hide_when"] for block in (why, speed, price, thanks)] == [few] * 4
    assert why["prompt"] == "Why [do_you_use_it|so]?"
    assert why["format"] == "email"
    assert (speed["group"], price["group"]) == ("Rate", "Rate")
    assert {each["where"] for each in found["unmet"]} == {
        *("questions, q1, logic 1", "questions, q5", "languages", "hiddenFields")
    }


def table(name: str, *rows: dict[str, Any]) -> str:
    cells = ["".join(f"<{key}><![CDATA[{value}]]></{key}>" for key, value in row.items()) for row in rows]
    return f"<{name}><rows>{''.join(f'<row>{cell}</row>' for cell in cells)}</rows></{name}>"


def question(qid: int, kind: str, title: str, text: str, relevance: str = "1", **more: Any) -> dict[str, Any]:
    row = {"qid": qid, "parent_qid": 0, "gid": 1, "type": kind, "title": title, "question": text}
    return {**row, "question_order": qid, "language": "en", "relevance": relevance, **more}


LIMESURVEY = "".join(
    [
        '<?xml version="1.0" encoding="UTF-8"?><document><LimeSurveyDocType>Survey</LimeSurveyDocType>',
        table("surveys", {"sid": 1, "language": "en"}),
        table(
            "surveys_languagesettings",
            {"surveyls_language": "en", "surveyls_welcometext": "<p>Welcome &amp; hello</p>"},
            {"surveyls_language": "de", "surveyls_welcometext": "Hallo"},
        ),
        table("groups", {"gid": 1, "group_name": "First", "group_order": 1, "language": "en"}),
        table(
            "questions",
            question(1, "L", "sex", "Who are you?", mandatory="Y", other="Y"),
            question(2, "M", "media", "What do you <b>read</b>?"),
            question(3, "N", "hours", "How many hours?", 'media_SQ1.NAOK == "Y"'),
            question(4, "F", "grid", "How do you like", '!is_empty(sex.NAOK) && (sex.NAOK != "A2")'),
            question(5, "S", "why", "Why {hours.shown}?", "hours.NAOK >= 3"),
            question(6, "|", "file", "A file"),
            question(7, "Y", "sure", "Sure?", 'strlen(why.NAOK) > 3'),
            question(8, "M", "media_x", "An orphan", qid_=1),
        ),
        table(
            "subquestions",
            {"qid": 20, "parent_qid": 2, "title": "SQ1", "question": "Papers", "language": "en"},
            {"qid": 21, "parent_qid": 2, "title": "SQ2", "question": "None", "language": "en"},
            {"qid": 22, "parent_qid": 4, "title": "A", "question": "Tea", "language": "en"},
            {"qid": 23, "parent_qid": 4, "title": "B", "question": "Milk", "language": "en"},
        ),
        table(
            "answers",
            *({"qid": 1, "code": f"A{n}", "answer": f"Answer {n}", "sortorder": n} for n in (2, 1)),
            *({"qid": 4, "code": f"B{n}", "answer": f"Level {n}", "sortorder": n} for n in (1, 2)),
        ),
        table("question_attributes", {"qid": 2, "attribute": "exclude_all_others", "value": "SQ2"}),
        "</document>",
    ]
)  # fmt: skip


def test_a_survey_of_limesurvey_becomes_a_script():
    """Rules 3.170 and 3.171."""
    found = converted("limesurvey", LIMESURVEY)

    blocks = by_name(found)
    assert found["blocks"][0]["prompt"] == "Welcome & hello"
    assert values(blocks["sex"]) == ["A1", "A2", "-oth-"]
    assert blocks["sex"]["required"]
    assert blocks["media"]["prompt"] == "What do you **read**?"
    assert blocks["media"]["options"][1] == {"value": "SQ2", "label": "None", "is_exclusive": True}
    assert blocks["hours"]["show_when"] == {"block": "media", "op": "in", "value": ["SQ1"]}
    assert blocks["grid_A"]["group"] == blocks["grid_B"]["group"] == "How do you like"
    assert blocks["grid_A"]["precondition"] == 'NOT ((sex AND sex != "A2"))'
    assert blocks["why"]["prompt"] == "Why [hours]?"
    assert blocks["why"]["show_when"] == {"block": "hours", "op": "gte", "value": 3}
    assert {each["where"] for each in found["unmet"]} >= {"languages", "question file", "question sure"}


def qualtrics_question(
    qid: str, kind: str, selector: str, text: str, *labels: str, **more: Any
) -> dict[str, Any]:
    choices = {str(n): {"Display": each} for n, each in enumerate(labels, start=1)}
    payload = {"QuestionID": qid, "QuestionType": kind, "Selector": selector, "QuestionText": text}
    return {"Element": "SQ", "PrimaryAttribute": qid, "Payload": {**payload, "Choices": choices, **more}}


def selected(qid: str, choice: int, op: str = "Selected") -> dict[str, Any]:
    locator = f"q://{qid}/SelectableChoice/{choice}"
    return {"LogicType": "Question", "QuestionID": qid, "ChoiceLocator": locator, "Operator": op}


FORCED = {"Settings": {"ForceResponse": "ON", "Type": "None"}}
QUALTRICS = {
    "SurveyElements": [
        {"Element": "BL", "Payload": [
            {"Type": "Default", "ID": "BL_1", "Description": "One", "BlockElements": [
                {"Type": "Question", "QuestionID": "QID1",
                 "SkipLogic": [{"ChoiceLocator": "q://QID1/SelectableChoice/2", "Condition": "Selected",
                                "SkipToDestination": "ENDOFBLOCK"}]},
                {"Type": "Page Break"},
                {"Type": "Question", "QuestionID": "QID2"}, {"Type": "Question", "QuestionID": "QID3"}]},
            {"Type": "Standard", "ID": "BL_2", "Description": "Two", "BlockElements": [
                {"Type": "Question", "QuestionID": "QID4"}, {"Type": "Question", "QuestionID": "QID5"}]}]},
        {"Element": "FL", "Payload": {"Flow": [
            {"Type": "Block", "ID": "BL_1", "FlowID": "FL_1"},
            {"Type": "Branch", "FlowID": "FL_2",
             "BranchLogic": {"0": {"0": selected("QID1", 1), "Type": "If"}, "Type": "BooleanExpression"},
             "Flow": [{"Type": "Standard", "ID": "BL_2", "FlowID": "FL_3"}]},
            {"Type": "EmbeddedData", "FlowID": "FL_4"}]}},
        qualtrics_question("QID1", "MC", "SAVR", "Do you&nbsp;agree?<br>", "Yes", "No", Validation=FORCED),
        qualtrics_question("QID2", "MC", "MAVR", "Why?", "Price", "Other", DataExportTag="reasons"),
        qualtrics_question("QID3", "TE", "SL", "More about ${q://QID2/ChoiceGroup/SelectedChoices}?",
                           DisplayLogic={"0": {"0": selected("QID2", 1), "Type": "If",
                                               "1": {**selected("QID2", 2), "Conjuction": "Or"}}}),
        qualtrics_question("QID4", "Matrix", "Likert", "Rate these", "Speed", "Price",
                           Answers={"1": {"Display": "Low"}, "2": {"Display": "High"}}),
        qualtrics_question("QID5", "Timing", "PageTimer", "Timing"),
    ]
}  # fmt: skip


def test_a_survey_of_qualtrics_becomes_a_script():
    """Rules 3.170 to 3.172."""
    found = converted("qualtrics", QUALTRICS)

    agree, why, more, speed, price = found["blocks"]
    assert agree["prompt"] == "Do you agree?"
    assert agree["required"]
    assert values(agree) == ["Yes", "No"]
    skipped = {"block": agree["name"], "op": "eq", "value": "No"}
    assert (why["name"], why["type"], why["hide_when"]) == ("reasons", "multi_punch", skipped)
    assert more["prompt"] == "More about [reasons]?"
    assert "precondition" in more
    assert speed["show_when"] == {"block": agree["name"], "op": "eq", "value": "Yes"}
    assert (speed["group"], values(price)) == ("Rate these", ["Low", "High"])
    assert {each["where"] for each in found["unmet"]} == {"QID5", "flow, FL_4"}


REDCAP = """\
"Variable / Field Name","Form Name","Section Header","Field Type","Field Label",\
"Choices, Calculations, OR Slider Labels","Field Note","Text Validation Type OR Show Slider Number",\
"Text Validation Min","Text Validation Max",\
Identifier?,"Branching Logic (Show field only if...)","Required Field?","Custom Alignment","Question Number",\
"Matrix Group Name","Matrix Ranking?","Field Annotation"
smoker,f,Habits,radio,Do you smoke?,"1, Yes | 0, No",,,,,,,y,,,,,
kinds,f,,checkbox,What?,"1, Pipe | 2, Cigars | 9, None",,,,,,[smoker] = '1',,,,,,@NONEOFTHEABOVE='9'
years,f,,text,How many years?,,In years,integer,0,90,,[kinds(1)] = '1' or [kinds(2)] = '1',,,,,,
packs,f,,calc,Packs,[years] * 2,,,,,,,,,,,,
mail,f,,text,Your mail?,,,email,,,,[years] > 3 and [smoker] <> '0',,,,,,
m1,f,How often do you,radio,Run,"1, Never | 2, Often",,,,,,,,,,habits,,
m2,f,,radio,Swim,"1, Never | 2, Often",,,,,,,,,,habits,,
up,f,,file,A file,,,,,,,,,,,,,
when,f,,notes,Why?,,,,,,,"datediff([a], [b], 'y') > 3",,,,,,
"""


def test_a_dictionary_of_redcap_becomes_a_script():
    """Rules 3.170 and 3.171."""
    found = converted("redcap", REDCAP)

    blocks = by_name(found)
    assert types(found)[0] == "content_block"  # the section header
    assert blocks["smoker"]["options"] == [{"value": "1", "label": "Yes"}, {"value": "0", "label": "No"}]
    assert blocks["kinds"]["options"][2] == {"value": "9", "label": "None", "is_exclusive": True}
    pipe, cigars = ({"block": "kinds", "op": "in", "value": [value]} for value in "12")
    assert blocks["years"]["show_when"] == {"any": [pipe, cigars]}
    assert (blocks["years"]["min"], blocks["years"]["max"]) == (0, 90)
    assert blocks["packs"]["calculated_formula"] == "([years] * 2)"
    assert blocks["mail"]["format"] == "email"
    assert "all" in blocks["mail"]["show_when"]
    assert blocks["m1"]["group"] == blocks["m2"]["group"] == "How often do you"
    assert [each["where"] for each in found["unmet"]] == ["row 9 (up)", "row 10 (when)"]


def test_a_table_becomes_a_script():
    """Rule 3.173."""
    found = converted(
        "csv",
        "Question;Type;Options;Required;Colour\n"
        "Which colour?;dropdown;Red|Green;yes;\n"
        "How old are you?;number;;;x\n"
        "Which pets?;checkboxes;Cat|Dog|Cat;;\n"
        "What?;riddle;;;\n",
    )

    colour, old, pets, what = found["blocks"]
    assert (colour["answer_style"], values(colour), colour["required"]) == (
        "select_menu",
        ["Red", "Green"],
        True,
    )
    assert (old["type"], pets["type"], what["type"]) == ("open_numeric", "multi_punch", "open_text")
    assert [each["where"] for each in found["unmet"]] == ["row 5", "row 1", "row 4"]


TEXT = """\
Our survey

Thank you for taking part.

1. How old are you? *
2. Which devices do you use? (choose all that apply)
   [ ] Phone
   [ ] Other: ______
   [ ] None of the above
3. How satisfied are you? (1-5, 1 = not at all, 5 = very)
4) What is your e-mail address?
   We only use it to reply.
5. Would you come again? (yes/no)
6. Rank these
   a) Price
   b) Quality
7. Where do you live?
   1. Oslo
   2. Bergen
8. Anything else?
   ________
"""


def test_a_text_becomes_a_script():
    """Rule 3.174."""
    found = converted("text", TEXT)

    intro, old, devices, satisfied, mail, again, rank, live, other = found["blocks"]
    assert (intro["section"], intro["type"]) == ("intro", "content_block")
    assert (old["type"], old["required"]) == ("open_numeric", True)
    assert devices["prompt"] == "Which devices do you use?"
    assert devices["type"] == "multi_punch"
    assert [option.get("is_other") for option in devices["options"]] == [None, True, None]
    assert devices["options"][2]["is_exclusive"]
    assert (satisfied["min"], satisfied["max"]) == (1, 5)
    assert satisfied["scale"] == {"label_left": "not at all", "label_right": "very"}
    assert (mail["format"], mail["description"]) == ("email", "We only use it to reply.")
    assert (values(again), rank["type"]) == (["Yes", "No"], "ranking")
    assert (values(live), other["type"], found["unmet"]) == (["Oslo", "Bergen"], "open_text", [])


def test_names_are_no_positions_and_differ():
    """Rule 3.175."""
    elements = [{"type": "text", "name": f"q{n}", "title": "What is this?"} for n in (1, 2, 3)]
    elements += [{"type": "text", "name": "score"}, {"type": "text", "name": "q4", "visibleIf": "{q1} = 'a'"}]

    found = converted("surveyjs", {"elements": elements})

    first, second, third, *_, last = (block["name"] for block in found["blocks"])
    assert (first, second, third) == ("what_is_this", "what_is_this_2", "what_is_this_3")
    assert found["blocks"][-1]["show_when"]["block"] == "what_is_this"
    assert not last.startswith("q4")


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("xlsform", "no workbook"),
        ("xlsform", as_base64(b"PK\x03\x04 broken and then some more bytes")),
        ("xlsform", workbook(other=[["a"]])),
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
