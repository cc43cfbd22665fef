"""Surveys of other systems are converted into blocks that a project takes as its script."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.caller import Caller
from tests.support.surveys.questionnaires import by_name, converted, types, values

pytestmark = pytest.mark.django_db

SURVEYJS = {
    "description": {"default": "Short and sweet", "de": "Kurz"},
    "pages": [
        {
            "name": "one",
            "elements": [
                {"type": "boolean", "name": "car", "title": "Do you drive?", "isRequired": True,
                 "correctAnswer": True},
                {"type": "checkbox", "name": "makes", "title": "Which makes?", "visibleIf": "{car} = true",
                 "choices": ["Ford", {"value": "vw", "text": "VW"}], "showOtherItem": True,
                 "showNoneItem": True, "maxSelectedChoices": 2, "choicesOrder": "random",
                 "correctAnswer": ["vw", "Ford"]},
                {"type": "panel", "name": "inner", "visibleIf": "{makes} contains 'vw'", "elements": [
                    {"type": "rating", "name": "stars", "title": "How good?", "rateMax": 5,
                     "rateType": "stars", "minRateDescription": "bad", "maxRateDescription": "good"}]},
                {"type": "matrix", "name": "parts", "title": "How is it?", "columns": ["bad|Bad", "good"],
                 "rows": [{"value": "engine", "text": "Engine"}, "brakes|The brakes"]},
                {"type": "text", "name": "mail", "inputType": "email", "visibleIf": "{parts.engine} = 'bad'"},
                {"type": "text", "name": "price", "inputType": "number", "min": 1, "correctAnswer": 3},
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
    """Rules 3.170, 3.171 and 3.962."""
    found = converted("surveyjs", SURVEYJS)

    blocks = by_name(found)
    assert values(blocks["car"]) == ["true", "false"]
    assert values(blocks["makes"]) == ["Ford", "vw", "other", "none"]
    assert [o.get("is_exclusive", False) for o in blocks["makes"]["options"]] == [False, False, False, True]
    assert blocks["makes"]["max"] == 2
    assert blocks["makes"]["randomize_options"]
    assert blocks["stars"]["scale"] == {"icon": "stars", "label_left": "bad", "label_right": "good"}
    assert [blocks[name]["group"] for name in ("parts_engine", "parts_brakes")] == ["How is it?"] * 2
    assert [each.get("label", "") for each in blocks["parts_brakes"]["options"]] == ["Bad", ""]
    assert blocks["parts_brakes"]["prompt"] == "The brakes"
    assert blocks["car"]["correct_answer_index"] == 0
    assert blocks["makes"]["correct_answer_indexes"] == [0, 1]
    assert "The right answer “3” is not taken over." in [each["what"] for each in found["unmet"]]
    assert blocks["mail"]["format"] == "email"
    assert "parts_engine" in json.dumps(blocks["mail"])
    assert blocks["double"]["calculated_formula"] == "(if [price] > 10 then ([price] * 2) else 0)"
    assert blocks["info"]["prompt"] == "It costs **[price]**"
    assert blocks["price"]["hide_when"] == {"block": "car", "op": "eq", "value": "false"}
    assert {each["where"] for each in found["unmet"]} == {"one, sign", "one, price", "one, note", "locale"}
    assert "hide_when" not in found["blocks"][-1]  # the end is what the trigger leads to


def choice_field(ref: str, title: str, *labels: str, many: bool = False) -> dict[str, Any]:
    choices = [{"ref": f"{ref}-{n}", "label": label} for n, label in enumerate(labels)]
    properties = {"choices": choices, "allow_multiple_selection": many, "allow_other_choice": many}
    return {"ref": ref, "type": "multiple_choice", "title": title, "properties": properties}


def jump(to: str, op: str, *parts: tuple[str, Any], kind: str = "field") -> dict[str, Any]:
    condition = {"op": op, "vars": [{"type": name, "value": value} for name, value in parts]}
    return {"action": "jump", "details": {"to": {"type": kind, "value": to}}, "condition": condition}


TYPEFORM = {
    "welcome_screens": [{"ref": "w", "title": "Hello", "properties": {"button_text": "Go"},
        "layout": {"attachment": {"type": "video", "href": "https://vimeo.com/76979871"}}}],
    "fields": [
        choice_field("a", "Which colour?", "Red", "Green", "Blue"),
        {"ref": "b", "type": "short_text", "title": "Why {{field:a}}?", "validations": {"required": True}},
        choice_field("c", "Which animals?", "Cat", "Dog", many=True),
        {"ref": "d", "type": "rating", "title": "How good?", "properties": {"steps": 7},
            "attachment": {"type": "video", "href": "https://www.youtube.com/watch?v=aqz-KE-bpKQ"}},
        {"ref": "e", "type": "file_upload", "title": "A file"},
        {"ref": "f", "type": "nps", "title": "Would you recommend us?",
            "attachment": {"type": "video", "href": "https://example.org/a.mp4"}},
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
    """Rules 3.170 to 3.172 and 3.740."""
    found = converted("typeform", TYPEFORM)

    assert types(found) == [
        *("content_block", "single_punch", "open_text", "multi_punch", "content_block", "rating", "nps"),
        *("content_block", "content_block"),
    ]
    hello, colour, why, animals, video, stars, nps, great, sorry = found["blocks"]
    assert (hello["video_url"], video["video_url"]) == (
        "https://vimeo.com/76979871",
        "https://www.youtube.com/watch?v=aqz-KE-bpKQ",
    )
    assert "hide_when" not in video  # like its question, both ways lead there
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
    assert [each["where"] for each in found["unmet"]] == ["fields, e", "fields, f", "fields, d"]
    assert "not on YouTube or Vimeo" in found["unmet"][1]["what"]


def test_conditions_on_hidden_fields_of_typeform_name_fields_of_the_address():
    """Rule 3.953."""
    form = {
        "hidden": ["plan", "Not A Key"],
        "fields": [
            {"ref": "a", "type": "short_text", "title": "You have {{hidden:plan}}. How is it?"},
            {"ref": "b", "type": "short_text", "title": "Why no more?"},
            {"ref": "c", "type": "short_text", "title": "Anything else?"},
            {"ref": "d", "type": "short_text", "title": "Your name?"},
        ],
        "logic": [
            {"type": "field", "ref": "a", "actions": [
                jump("c", "equal", ("hidden", "plan"), ("constant", "gold"))]},
            {"type": "field", "ref": "c", "actions": [
                jump("gone", "equal", ("hidden", "Not A Key"), ("constant", "x"))]},
        ],
    }  # fmt: skip

    found = converted("typeform", form)

    how, why, *_ = found["blocks"]
    assert how["prompt"] == "You have [field.plan]. How is it?"
    assert why["hide_when"] == {"variable": "field.plan", "op": "eq", "value": "gold"}
    assert [each["where"] for each in found["unmet"]] == ["logic, 2 (c)", "hidden"]
    caller = Caller()
    project = caller.make_open(
        *found["blocks"],
        settings={"hidden_fields": ["plan"]},
        delivery={"audience": {"participation": "open_web"}},
    )
    for plan, prompt in (("gold", "Anything else?"), ("free", "Why no more?")):
        begun = caller.post(f"/projects/{project['id']}/conversations", {"metadata": {"plan": plan}}).json()
        block = begun["step"]["block"]["id"]
        moved = caller.post(
            f"/conversations/{begun['id']}/answers", {"block_id": block, "value": "Fine"}
        ).json()
        assert moved["step"]["block"]["prompt"] == prompt


def test_a_respondent_of_a_converted_form_sees_what_the_source_would_show():
    """Rule 3.172."""
    caller = Caller()
    blocks = caller.post("/scripts/convert", {"format": "typeform", "content": json.dumps(TYPEFORM)}).json()[
        "blocks"
    ]
    made = caller.make_open(*blocks, delivery={"audience": {"participation": "open_web"}})
    conversation = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    seen: list[str] = []
    answers = {"which_colour": "Green", blocks[6]["name"]: 3, "how_good": 4, "which_animals": ["Cat"]}
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

    assert seen[:7] == [
        *("Hello", "Which colour?", "Which animals?", "Please watch this first.", "How good?"),
        *("Would you recommend us?", "Sorry"),
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
    numbers = {
        "media_SQ1.NAOK": "1X1X2SQ1.NAOK",
        "sex.NAOK": "1X1X1.NAOK",
        "hours.NAOK": "1X1X3",
        "hours.shown": "INSERTANS:1X1X3",
    }
    numbered = LIMESURVEY
    for name, number in numbers.items():
        numbered = numbered.replace(name, number)
    assert converted("limesurvey", numbered)["blocks"] == found["blocks"]
    other = converted("limesurvey", numbered.replace("strlen(why.NAOK) > 3", "!is_empty(1X1X1other.NAOK)"))
    assert by_name(other)["sure"]["show_when"] == {"block": "sex", "op": "eq", "value": "-oth-"}


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
