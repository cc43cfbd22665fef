"""What an intent is about, and how it is worked into prompts."""

from __future__ import annotations

import pytest

from surveys.ai.local.drafts.intent import read_intent
from surveys.ai.local.drafts.topics import find_topics
from surveys.ai.provider import ScriptRequest
from tests.support.ai.drafts import drafted, prompts


@pytest.mark.parametrize(
    ("intent", "topic"),
    [
        ("a survey about the new rules for moderators", "the new rules for moderators"),
        ("Create a chess tournament feedback survey", "the chess tournament"),
        ("Chess tournament feedback", "the chess tournament"),
        ("elden ring quiz for our chess club", "elden ring"),
        ("survey for new members of the chess club", "the chess club"),
        ("poll on pizza toppings with 4 options", "pizza toppings"),
        ("What do our members think of the new logo?", "the new logo"),
        ("Rate our Friday stream", "our Friday stream"),
        ("how satisfied people are with our support team", "our support team"),
        ('A survey about "The Witcher 3" for fans', "The Witcher 3"),
        ("Find out what people think about a new mascot", "the new mascot"),
        ("feedback on a workshop we held yesterday", "the workshop"),
        ("Short survey to see if people liked the Summer Cup", "the Summer Cup"),
        ("the quality of food in the canteen", "food in the canteen"),
        ("survey about your shop", "our shop"),
        ("survey about coffee, please ask 5 questions", "coffee"),
        ("opinions on renaming the club", "renaming the club"),
        ("Feedback on last night's stream", "last night's stream"),
        ("we want to know more on Starfall", "Starfall"),
    ],
)
def test_the_topic_is_a_noun_phrase_of_the_intent(intent: str, topic: str) -> None:
    assert next(find_topics(intent)) == topic


@pytest.mark.parametrize(
    "intent",
    [
        "NPS",
        "a survey",
        "weekly pulse",
        "survey for everyone",
        "quiz about me",
        "poll for Friday",
        "?!",
        "",
        "的",
    ],
)
def test_where_nothing_is_told_there_is_no_topic(intent: str) -> None:
    assert list(find_topics(intent)) == []


def test_counts_and_listed_options_are_no_topic() -> None:
    intent = read_intent(ScriptRequest(intent="poll about lunch: pizza or sushi, 2 options", type="poll"))

    assert intent.topics == ("lunch",)


def test_a_topic_that_only_repeats_the_template_is_left_out() -> None:
    assert "How would you rate the event overall?" in prompts(drafted("event feedback about events"))


def test_a_long_topic_is_cut_at_a_word() -> None:
    topic = next(find_topics(f"a survey about {'wonderful ' * 30}things"))

    assert topic == " ".join(["wonderful"] * 6)


def test_what_a_topic_holds_is_no_token_and_no_placeholder() -> None:
    text = "\n".join(prompts(drafted("survey about [UserName] {topic} <<things>>")))

    assert "[" not in text
    assert "{" not in text
    assert "<" not in text


@pytest.mark.parametrize("intent", ["Should we do it?", "Is e4 best?", "Do you like the new map?"])
def test_a_question_of_the_intent_is_asked_as_it_is(intent: str) -> None:
    assert prompts(drafted(intent, "poll")) == [intent]


def test_a_question_to_us_is_not_asked() -> None:
    assert prompts(drafted("Can you make a poll about the new map?", "poll")) == [
        "What do you think of the new map?"
    ]


def test_prompts_begin_with_a_capital_letter() -> None:
    for intent, type in [("poll: a or b", "poll"), ("about iron: tea, milk", "poll"), ("tea", "convo")]:
        assert [each for each in prompts(drafted(intent, type)) if each[:1].islower()] == []
