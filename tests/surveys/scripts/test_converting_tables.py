"""Tables and texts are converted into blocks that a project takes as its script."""

from __future__ import annotations

import pytest

from surveys.services.converting.formulas import REFERENCES, Expressions
from surveys.services.converting.questionnaire import UnsayableError
from tests.support.surveys.questionnaires import REDCAP, TEXT, by_name, converted, types, values, workbook

pytestmark = pytest.mark.django_db

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


def test_a_condition_keeps_the_parts_that_can_be_said():
    """Rule 3.960."""
    survey = [
        ["type", "name", "label", "relevant"],
        ["select_one yes_no", "pets", "Do you have pets?"],
        ["select_multiple kinds", "kinds", "Which ones?"],
        ["begin group", "more", "", "${pets} = 'yes'"],
        ["text", "name", "Its name?", "regex(${kinds}, 'a') and count-selected(${kinds}) > 0"],
        [
            "text",
            "none",
            "Why none?",
            "string-length(${kinds}) = 0 and (regex(${pets}, 'a') or ${pets} = 'no')",
        ],
        ["end group"],
        ["text", "never", "Never?", "false"],
        ["text", "always", "Always?", "true()"],
        ["text", "unsaid", "Unsaid?", "regex(${pets}, 'a') or ${pets} = 'no'"],
    ]
    found = converted("xlsform", workbook(survey=survey, choices=XLSFORM["choices"]))

    blocks = by_name(found)
    assert list(blocks) == ["pets", "kinds", "name", "none", "always", "unsaid"]
    assert blocks["name"]["precondition"] == 'NOT ((pets = "yes" AND kinds))'
    assert blocks["none"]["precondition"] == 'NOT ((pets = "yes" AND NOT (kinds)))'
    assert not {"show_when", "hide_when", "precondition"} & (
        blocks["always"].keys() | blocks["unsaid"].keys()
    )
    part = "A part of its condition cannot be said here and is left out: “regex” is not understood."
    whole, *others = [each["what"] for each in found["unmet"]]
    assert whole.startswith("relevant “regex(${pets}, 'a') or ${pets} = 'no'” cannot be said here: ")
    assert others == [part, part, "It is left out, because its condition is never true."]


def test_a_calculation_without_its_questions_is_left_out_and_so_is_what_needs_it():
    """Rule 3.961."""
    survey = [
        ["type", "name", "label", "relevant", "calculation"],
        ["integer", "age", "How old?"],
        ["calculate", "days", "", "", "today() - ${age}"],
        ["calculate", "weeks", "", "", "${days} div 7"],
        ["calculate", "months", "", "", "${age} * 12"],
        ["text", "young", "So young?", "${weeks} < 8 and ${months} < 3"],
    ]
    found = converted("xlsform", workbook(survey=survey, choices=XLSFORM["choices"]))

    assert list(by_name(found)) == ["age", "months", "young"]
    assert by_name(found)["young"]["show_when"] == {"block": "months", "op": "lt", "value": 3}
    assert [each["what"] for each in found["unmet"]][1:] == [
        "It is left out: its formula needs “days”, which is no earlier question here.",
        "A part of its condition cannot be said here and is left out: “weeks” is no question here.",
    ]


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
    assert blocks["bmi"]["calculated_formula"] == "(([packs] * 10000) / ([years] * [years]))"
    assert blocks["mail"]["format"] == "email"
    assert "all" in blocks["mail"]["show_when"]
    assert blocks["m1"]["group"] == blocks["m2"]["group"] == "How often do you"
    assert [each["where"] for each in found["unmet"]] == ["row 6 (bmi)", "row 10 (up)", "row 11 (when)"]
    assert "is not rounded here" in found["unmet"][0]["what"]


@pytest.mark.parametrize(
    "text", ["(((([a]^6)^6)^6)^6)^6", "[a]^7", "[a]^[b]", "[a]^0.5", "pow([a], 0 - 2)", "round([a], [b])"]
)
def test_a_power_that_is_no_short_product_cannot_be_said(text: str) -> None:
    """Rule 3.171."""
    with pytest.raises(UnsayableError):
        Expressions(REFERENCES["redcap"]).formula(text)


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
