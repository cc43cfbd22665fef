import pytest
from django.http import QueryDict

from communities.services.pictures.copies import Copy
from surveys.drawing import forms, widgets
from surveys.drawing.widgets import Typed, draw, typed_of
from surveys.engine.script import Block, Option, Scale
from tests.support.cases import try_each

OPTIONS = tuple(Option(value, id=n) for n, value in enumerate(("a", "b", "c"), start=1))


def block(kind, **fields):
    with_options = {"options": OPTIONS} if kind in ("single_punch", "multi_punch", "ranking") else {}
    return Block(**{"type": kind, "id": 7, "prompt": "Q?", **with_options, **fields})


def drawn(kind, typed=None, **fields):
    return draw(block(kind, **fields), typed=typed or Typed())


def control(kind, **fields):
    step = drawn(kind, **fields)
    return step.control.removeprefix(widgets.FIELDS).removesuffix(".html"), step.look


@try_each(
    ("kind", "fields", "expected"),
    [
        ("single_punch", {}, ("choices", "")),
        ("single_punch", {"answer_style": "buttons"}, ("choices", "row")),
        ("single_punch", {"answer_style": "emoji_only"}, ("choices", "faces")),
        ("single_punch", {"answer_style": "select_menu"}, ("menu", "")),
        ("multi_punch", {}, ("choices", "")),
        ("multi_punch", {"answer_style": "select_menu"}, ("choices", "")),
        ("rating", {}, ("stars", "")),
        ("rating", {"scale": Scale(icon="numbers")}, ("cells", "")),
        ("rating", {"scale": Scale(icon="emoji")}, ("cells", "")),
        ("rating", {"answer_style": "select_menu"}, ("menu", "")),
        ("opinion_scale", {}, ("cells", "")),
        ("opinion_scale", {"options": (Option("0", id=1, label="No"),)}, ("choices", "")),
        ("nps", {}, ("cells", "")),
        ("ranking", {}, ("ranking", "")),
        ("open_text", {}, ("text", "")),
        ("open_numeric", {}, ("number", "")),
        ("content_block", {}, ("", "")),
    ],
)
def test_each_kind_and_style_has_its_control(kind, fields, expected):
    """Rule 3.18."""
    assert control(kind, **fields) == expected


@try_each(
    ("low", "high", "text"),
    [
        (None, None, "Choose all that apply."),
        (2, None, "Choose at least 2."),
        (None, 2, "Choose up to 2."),
        (1, 2, "Choose 1 to 2."),
        (2, 2, "Choose 2."),
    ],
)
def test_the_help_says_how_many_options_to_choose(low, high, text):
    assert drawn("multi_punch", min=low, max=high).help == text


@try_each(
    ("low", "high", "text", "takes_minus"),
    [
        (None, None, "A number.", True),
        (0, None, "A number, at least 0.", False),
        (None, 9, "A number, at most 9.", True),
        (-5, 1000, "A number from -5 to 1,000.", True),
    ],
)
def test_the_help_says_the_range_of_a_number(low, high, text, takes_minus):
    step = drawn("open_numeric", min=low, max=high)

    assert (step.help, step.inputmode, step.takes_minus) == (text, "decimal", takes_minus)


def test_keys_are_numbers_and_letters_where_there_are_many():
    many = tuple(Option(str(n), id=n) for n in range(1, 31))

    assert [choice.key for choice in drawn("single_punch").choices] == ["1", "2", "3"]
    assert [choice.key for choice in drawn("single_punch", options=many).choices][:2] == ["a", "b"]
    assert drawn("single_punch", options=many).choices[29].key == ""
    assert [choice.key for choice in drawn("nps").choices][-1] == "10"


def test_an_emoji_of_the_chat_platform_is_told_by_name():
    assert widgets.emoji(Option("a", emoji="<:rook:123>")) == ":rook:"
    assert widgets.emoji(Option("a", emoji="<a:rook:123>")) == ":rook:"
    assert widgets.emoji(Option("a", emoji="🎲")) == "🎲"


def test_only_pictures_that_have_a_copy_are_drawn():
    copy = Copy("kept", 1216, 288)
    asked = block(
        "open_text", image_url="https://example.com/a.png", thumbnail_url="https://example.com/b.png"
    )

    step = draw(asked, typed=Typed(), pictures={"https://example.com/a.png": copy})

    assert (step.image, step.thumbnail) == (copy, None)
    assert step.image_size == (608, 144)


@try_each(
    ("kind", "reply", "chosen"),
    [
        ("single_punch", {"option_ids": [2]}, ["2"]),
        ("multi_punch", {"option_ids": [1, 3]}, ["1", "3"]),
        ("rating", {"number": "4"}, ["4"]),
        ("nps", {"number": "0"}, ["0"]),
        ("rating", {"skipped": True}, []),
    ],
)
def test_an_earlier_answer_is_offered_again(kind, reply, chosen):
    step = drawn(kind, typed=typed_of(reply))

    assert [choice.value for choice in step.choices if choice.is_chosen] == chosen


@try_each(
    ("kind", "sent", "answer"),
    [
        ("single_punch", "option=2", {"option_id": 2}),
        ("single_punch", "", {}),
        ("single_punch", "option=2%00", {"option_id": 0}),
        ("single_punch", "option=" + "9" * 40, {"option_id": 0}),
        ("multi_punch", "option=1&option=3", {"option_ids": [1, 3]}),
        ("ranking", "rank-3=1&rank-1=2&rank-2=3", {"ranking": [3, 1, 2]}),
        ("rating", "value=4", {"value": "4"}),
        ("open_numeric", "value=4,5", {"value": "4.5"}),
        ("open_numeric", "value=4,500", {"value": "4500"}),
        ("open_text", "value=one%0D%0Atwo", {"value": "one\ntwo"}),
        ("open_text", "value=a%00b", {"value": "ab"}),
        ("open_text", "do=skip&value=x", {"skip": True}),
    ],
)
def test_a_form_means_an_answer(kind, sent, answer):
    assert forms.raw_answer(block(kind), QueryDict(sent), language="en") == {"block_id": 7, **answer}


@try_each(
    ("sent", "text"),
    [
        ("rank-1=1&rank-2=1", "Two items have the number 1. Give each number once."),
        ("rank-1=1&rank-2=3", "Rank every item: give each number from 1 to 3 once."),
        ("", "Put the items in order, or press “Skip”."),
        ("rank-1=x", "Rank every item: give each number from 1 to 3 once."),
    ],
)
def test_invalid_ranks_are_refused_with_a_sentence(sent, text):
    with pytest.raises(forms.BadForm) as refused:
        forms.raw_answer(block("ranking"), QueryDict(sent), language="en")

    assert str(refused.value) == text
