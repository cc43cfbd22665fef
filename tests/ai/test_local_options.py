"""Options that an intent lists."""

from __future__ import annotations

from surveys.ai.local.drafts import listed_options
from tests.support.ai.drafts import draft_from, option_values, questions
from tests.support.cases import try_each


@try_each(
    ("intent", "listed"),
    [
        ("Vote for pizza, sushi or tacos", ["Pizza", "Sushi", "Tacos"]),
        ("pizza, sushi, and tacos", ["Pizza", "Sushi", "Tacos"]),
        ("a poll to decide between A, B and C", ["A", "B", "C"]),
        ("What should we order: pizza, sushi or tacos?", ["Pizza", "Sushi", "Tacos"]),
        ("Should we play Catan or Risk?", ["Catan", "Risk"]),
        ("Vote for Elden Ring, Hades or Celeste", ["Elden Ring", "Hades", "Celeste"]),
        ("best colour (red, green, blue)", ["Red", "Green", "Blue"]),
        ("options: Monday, Tuesday, Wednesday", ["Monday", "Tuesday", "Wednesday"]),
        ("Vote on:\n- pizza\n- sushi\n- tacos", ["Pizza", "Sushi", "Tacos"]),
        ("Vote on:\n1. pizza\n2. sushi", ["Pizza", "Sushi"]),
        ("meet on Friday or on Saturday?", ["Friday", "Saturday"]),
        ("Choose from “The Matrix”, “Alien” and “Dune” for movie night", ["The Matrix", "Alien", "Dune"]),
        ("Star Wars vs Star Trek", ["Star Wars", "Star Trek"]),
        ("which day? Monday / Tuesday / Friday", ["Monday", "Tuesday", "Friday"]),
        ("Best season? spring, summer, autumn", ["Spring", "Summer", "Autumn"]),
        ("a quiz with results Mage, Healer and Rogue", ["Mage", "Healer", "Rogue"]),
        ("pizza, sushi or Pizza", ["Pizza", "Sushi"]),
        ("openings: e4, d4, iPhone", ["e4", "d4", "iPhone"]),
    ],
)
def test_listed_options_are_found(intent: str, listed: list[str]) -> None:
    assert list(listed_options.find_options(intent, is_poll=True)) == listed


@try_each(
    "intent",
    ["a poll about pizza", "poll with 5 or 6 questions", "rate it from 1 to 10", "", "or", "a or", ", or ,"],
)
def test_an_intent_without_a_list_has_no_options(intent: str) -> None:
    assert listed_options.find_options(intent, is_poll=True) == ()


def test_listed_options_become_those_of_a_poll() -> None:
    (question,) = questions(draft_from("poll: pizza, sushi or tacos", "poll"))

    assert option_values(question) == ["Pizza", "Sushi", "Tacos"]


def test_listed_options_become_those_of_a_feature_vote() -> None:
    (question,) = questions(draft_from("feature vote: dark mode, voice chat, a mobile app", "poll"))

    assert option_values(question) == ["Dark mode", "Voice chat", "A mobile app"]


def test_listed_options_become_the_items_of_a_ranking_and_limit_its_top() -> None:
    ranking = questions(draft_from("merch survey, options: mugs and posters"))[0]

    assert (option_values(ranking), ranking["rank_top_n"]) == (["Mugs", "Posters"], 2)


@try_each("number", [2, 3, 8, 25])
def test_the_number_of_options_is_as_requested(number: int) -> None:
    (question,) = questions(draft_from(f"feature vote with {number} options", "poll", for_chat=True))

    assert len(question["options"]) == number


def test_options_are_shortened_for_chat_only() -> None:
    long = "a rather long option that goes on and on and on"
    intent = f"options: {long}, sushi"

    assert option_values(questions(draft_from(intent, "poll"))[0])[0] == f"A{long[1:]}"
    assert (
        option_values(questions(draft_from(intent, "poll", for_chat=True))[0])[0]
        == "A rather long option that goes on and…"
    )
