"""The topic of an intent, and its place in prompts."""

from __future__ import annotations

from surveys.ai.local.drafts.intent import read_intent
from surveys.ai.local.drafts.topics import find_topics
from surveys.ai.provider import ScriptRequest
from tests.support.ai.drafts import draft_from, prompts
from tests.support.cases import try_each


@try_each(
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


@try_each(
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
def test_an_intent_without_a_subject_has_no_topic(intent: str) -> None:
    assert list(find_topics(intent)) == []


def test_counts_and_listed_options_are_not_topics() -> None:
    intent = read_intent(ScriptRequest(intent="poll about lunch: pizza or sushi, 2 options", type="poll"))

    assert intent.topics == ("lunch",)


def test_a_topic_that_only_repeats_the_template_is_left_out() -> None:
    assert "How would you rate the event overall?" in prompts(draft_from("event feedback about events"))


def test_a_long_topic_is_cut_at_a_word() -> None:
    topic = next(find_topics(f"a survey about {'wonderful ' * 30}things"))

    assert topic == " ".join(["wonderful"] * 6)


def test_tokens_and_placeholders_in_a_topic_are_removed() -> None:
    text = "\n".join(prompts(draft_from("survey about [UserName] {topic} <<things>>")))

    assert "[" not in text
    assert "{" not in text
    assert "<" not in text


@try_each("intent", ["Should we do it?", "Is e4 best?", "Do you like the new map?"])
def test_a_question_in_the_intent_is_asked_word_for_word(intent: str) -> None:
    assert prompts(draft_from(intent, "poll")) == [intent]


@try_each("space", [" ", "\t", "\n", " \n"])
def test_white_space_of_any_length_is_read_as_a_little(space: str) -> None:
    short, long = (
        read_intent(ScriptRequest(intent=f"a survey about{space * count}the new rules", type="survey"))
        for count in (3, 3_900 // len(space))
    )

    assert long == short
