"""Weaknesses of questions are found by rules, with few false alarms (rule 10.42)."""

from __future__ import annotations

from typing import Any

from surveys.ai.local.drafts import library
from surveys.ai.local.review import review
from tests.support.cases import try_each

OPTIONS = [{"value": "Friends"}, {"value": "Search"}, {"value": "Radio"}]


def codes(type_: str, prompt: str, *options: str, **fields: Any) -> list[str]:
    block = {"type": type_, "prompt": prompt, "options": [{"value": each} for each in options], **fields}
    return [remark.code for remark in review([block])]


@try_each(
    ("type_", "prompt", "options", "found"),
    [
        ("rating", "Don't you think that our app is fast?", (), ["leading"]),
        ("single_punch", "Finden Sie nicht auch, dass es teuer ist?", ("Ja", "Nein"), ["leading"]),
        ("open_text", "What do you think of the outrageous fees?", (), ["loaded"]),
        ("rating", "How do you rate the food and the service?", (), ["double_barrelled"]),
        ("opinion_scale", "Wie zufrieden sind Sie mit dem Essen und dem Service?", (), ["double_barrelled"]),
        ("single_punch", "How old are you?", ("18-25", "25-35", "36-50"), ["overlapping_options"]),
        ("single_punch", "How old are you?", ("36-50", "18-39", "40-10"), ["overlapping_options"]),
        ("single_punch", "How did you hear about us?", ("Friends", "Search", "Radio"), ["missing_other"]),
        ("open_text", " ".join(["word"] * 46), (), ["too_long"]),
        ("open_text", " ".join(["word"] * 31), (), ["hard_to_read"]),
        ("single_punch", "Which city?", tuple("ABCDEFGH"), ["order_effect"]),
    ],
)
def test_a_weak_question_is_found(
    type_: str, prompt: str, options: tuple[str, ...], found: list[str]
) -> None:
    assert codes(type_, prompt, *options) == found


@try_each(
    ("type_", "prompt", "options"),
    [
        ("rating", "How satisfied are you with our app?", ()),
        ("open_text", "What do you like about the food and the service?", ()),
        ("single_punch", "How old are you?", ("18-25", "26-35", "36-50")),
        ("single_punch", "How many?", ("30-20", "1-25", "26-28")),
        ("open_text", f"{'word ' * 20}… really?!… {'word ' * 20}", ()),
        ("single_punch", "How did you hear about us?", ("Friends", "Search", "Other")),
        ("multi_punch", "Which sizes fit?", ("1-5", "3-8")),
        ("content_block", "Surely you know this.", ()),
        ("single_punch", "How many years?", tuple("12345678")),
    ],
)
def test_a_good_question_gets_no_remark(type_: str, prompt: str, options: tuple[str, ...]) -> None:
    assert codes(type_, prompt, *options) == []


def test_shuffled_options_have_no_order() -> None:
    assert codes("single_punch", "Which city?", *"ABCDEFGH", randomize_options=True) == []


def test_our_own_templates_get_no_remark() -> None:
    found = {
        template.id: [f"{remark.code}: {template.blocks[remark.position]['prompt']}" for remark in remarks]
        for template in library.all_templates()
        if (remarks := review(template.blocks))
    }

    assert found == {}
