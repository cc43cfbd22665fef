"""Options that differ, and options that the chat platform can show (rules 3.5 and 3.20)."""

from __future__ import annotations

from surveys.engine.intake import reader
from surveys.engine.intake.ordering import order_blocks
from surveys.engine.rules import script as script_rules
from surveys.engine.script import Script
from tests.support.cases import try_each
from tests.support.engine.violations import (
    CHOICE,
    MULTI,
    RANKING,
    RATING,
    Raw,
    block_faults,
    options,
    points,
)


def test_values_differ_in_case_or_letters() -> None:
    same = [{"value": "a"}, {"value": "b"}, {"value": "a"}, {"value": "a"}]

    assert block_faults({**CHOICE, "options": same}) == [
        ("options[2].value", "duplicate"),
        ("options[3].value", "duplicate"),
    ]
    assert block_faults({**CHOICE, "options": [{"value": "a"}, {"value": "A"}]}) == []


@try_each(
    ("one", "other"),
    [("Yes", "Y\u200bes"), ("Yes", "Yes\u3164"), ("a b", "a  b"), ("a b", "a\N{NO-BREAK SPACE}b")],
)
def test_values_that_look_the_same_are_refused(one: str, other: str) -> None:
    sent = [{"value": "first"}, {"value": one}, {"value": other}]

    assert block_faults({**CHOICE, "options": sent}) == [("options[2].value", "duplicate")]


def many_options(count: int, value: int, label: int, sign: str = "x") -> list[Raw]:
    """Options with values and labels of this length."""
    return [{"value": f"{n:03}{sign * (value - 3)}", "label": sign * label} for n in range(count)]


@try_each(
    ("sent", "expected"),
    [
        (many_options(100, 100, 100), []),
        (many_options(50, 500, 500), []),
        (many_options(51, 500, 500), [("options", "too_long")]),  # 25,500 characters of labels
        (many_options(100, 500, 100), [("options", "too_long")]),  # too many bytes
        (many_options(40, 250, 250), []),
        (many_options(40, 250, 250, "\N{GRINNING FACE}"), [("options", "too_long")]),
    ],
)
def test_all_options_together_fit_a_step_and_a_page(sent: list[Raw], expected: list[tuple[str, str]]) -> None:
    """Rule 3.38."""
    assert block_faults({**CHOICE, "options": sent}) == expected


def one_option(raw: Raw, text: str, style: str | None, **more: object) -> Raw:
    return {**raw, "answer_style": style, "options": [{"value": text, **more}, {"value": "other"}]}


@try_each("raw", [CHOICE, MULTI])
@try_each(("style", "widest"), [(None, 40), ("full_text", 40), ("buttons", 40), ("select_menu", 50)])
def test_options_of_choices_fit_the_width_of_their_style_in_chat(
    raw: Raw, style: str | None, widest: int
) -> None:
    """Rule 3.18."""
    assert block_faults(one_option(raw, "é" * widest, style), chat=True) == []
    assert block_faults(one_option(raw, "é" * (widest + 1), style), chat=True) == [
        ("options[0].value", "too_long")
    ]
    assert block_faults(one_option(raw, "é" * (widest + 1), style), chat=False) == []


@try_each("style", [None, "full_text"])
def test_items_of_a_ranking_fit_on_buttons(style: str | None) -> None:
    assert block_faults(one_option(RANKING, "a" * 40, style), chat=True) == []
    assert block_faults(one_option(RANKING, "a" * 41, style), chat=True) == [("options[0].value", "too_long")]


@try_each(("style", "widest"), [(None, 40), ("buttons", 40), ("select_menu", 50)])
def test_labels_of_scale_points_fit_their_style(style: str | None, widest: int) -> None:
    fits = {**RATING, "max": 2, "answer_style": style, "options": points(1, 2, label="a" * widest)}
    wide = {**fits, "options": points(1, 2, label="a" * (widest + 1))}

    assert block_faults(fits, chat=True) == []
    assert block_faults(wide, chat=True) == [(f"options[{n}].label", "too_long") for n in (0, 1)]


def test_the_visible_text_is_measured() -> None:
    assert block_faults(one_option(CHOICE, "a" * 60, None, label="Short"), chat=True) == []
    assert block_faults(one_option(CHOICE, "a" * 60, None, label=""), chat=True) == [
        ("options[0].value", "too_long")
    ]
    assert block_faults(one_option(CHOICE, "a", None, label="b" * 41), chat=True) == [
        ("options[0].label", "too_long")
    ]
    assert block_faults(one_option(CHOICE, "👍👍", None, label="Short", emoji="👍"), chat=True) == []


@try_each(
    ("text", "emoji", "fits"),
    [
        ("Yes", None, True),
        ("Yes", "👍", True),
        ("Yes 👍", None, True),
        ("Yes 👍", "", True),
        ("Yes 👍", "👍", False),
        ("Yes 👍👎", None, False),
        ("Yes", "👍👎", False),
        ("Acme™ © 2026", "👨‍👩‍👧‍👦", True),
        ("❤\ufe0e", "❤️", True),
        ("<:cat:123>", None, True),
        ("<:cat:123>", "👍", False),
    ],
)
@try_each("style", [None, "full_text", "buttons", "select_menu"])
def test_an_option_carries_one_emoji_at_most_in_chat(
    text: str, emoji: str | None, fits: bool, style: str | None
) -> None:
    raw = one_option(CHOICE, text, style, emoji=emoji)

    assert block_faults(raw, chat=True) == ([] if fits else [("options[0].value", "too_many_emoji")])
    assert block_faults(raw, chat=False) == []


@try_each("style", [None, "emoji_only"])
def test_25_options_fit_in_chat_and_one_more_does_not(style: str | None) -> None:
    assert block_faults({**CHOICE, "answer_style": style, "options": options(25)}, chat=True) == []
    assert block_faults({**CHOICE, "answer_style": style, "options": options(26)}, chat=True) == [
        ("options", "too_many")
    ]


def test_a_stored_script_is_measured_again_by_its_own_order() -> None:
    raw = [{**CHOICE, "options": [{"value": "a" * 41, "display_order": 2}, {"value": "b"}]}]
    script = Script(blocks=order_blocks(reader.read_blocks(raw, path="blocks")).blocks)

    (violation,) = script_rules.check_chat(script)

    assert (violation.field, violation.code) == ("script.blocks[0].options[1].value", "too_long")


@try_each(("length", "faults"), [(97, []), (98, [("prompt", "too_long")])])
def test_prompt_and_description_fit_into_a_message_together(
    length: int, faults: list[tuple[str, str]]
) -> None:
    """Rule 3.120."""
    raw = {**CHOICE, "prompt": "a" * 3_801, "description": "b" * length}

    assert block_faults(raw, chat=True) == faults
    assert block_faults(raw, chat=False) == []
