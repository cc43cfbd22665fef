"""A conversation on the page: answers, skips, steps back, errors, and forms that are sent again."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from markupsafe import escape

from communities.models import CommunitySettings
from surveys.models import Answer, Conversation, Project
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]

LOGIC: list[dict[str, Any]] = [
    {**SAYING, "prompt": "Welcome.\nGlad you are here."},
    {**CHOICE, "prompt": "Which colour?", "name": "colour", "required": True},
    {**TEXT, "prompt": "Why [Colour]?", "precondition": 'NOT((Colour = "green"))'},
    {"type": "multi_punch", "options": ["a", "b", "c"], "prompt": "Which letters?", "min": 1, "max": 2},
    {"type": "open_numeric", "prompt": "How many?", "min": 0, "max": 10},
    {"type": "rating", "prompt": "How good?"},
    {"type": "ranking", "options": ["x", "y", "z"], "prompt": "In which order?", "rank_top_n": 2},
]


def test_looking_begins_nothing():
    made = scenario.project(SAYING, CHOICE)

    visitor = Visitor(made).look()

    assert visitor.status == 200
    assert "Prompt 0." in visitor.page
    assert Conversation.objects.count() == 0


def test_a_survey_is_walked_with_plain_forms():
    made = scenario.project(*LOGIC, thanks="That was kind.")
    visitor = Visitor(made).look()

    visitor.send("go")
    visitor.send(option=scenario.option_id(made, "colour", 0))
    assert "Which letters?" in visitor.page
    visitor.send(option=[scenario.option_id(made, "q3", 0), scenario.option_id(made, "q3", 2)])
    visitor.send(value="3,5")
    visitor.send(value="4")
    visitor.send(
        **{f"rank-{scenario.option_id(made, 'q6', 2)}": "1", f"rank-{scenario.option_id(made, 'q6', 0)}": "2"}
    )

    assert "That was kind." in visitor.page
    assert scenario.answers_of(made) == [
        ("Which colour?", "red"),
        ("Which letters?", "a"),
        ("Which letters?", "c"),
        ("How many?", "3.5"),
        ("How good?", "4"),
        ("In which order?", "1"),
        ("In which order?", "2"),
    ]
    assert made.conversations.get().completed_at is not None


def test_with_htmx_the_answer_is_the_next_step_and_what_was_said():
    made = scenario.project(*LOGIC)
    visitor = Visitor(made, htmx=True).look()
    visitor.send("go")

    visitor.send(option=scenario.option_id(made, "colour", 1))

    assert visitor.status == 200
    assert "<html" not in visitor.page
    assert "Why green?" in visitor.page
    assert 'hx-swap-oob="beforeend"' in visitor.page
    assert visitor.page.count("Which colour?") == 1


def test_back_shows_the_step_before_with_its_answer():
    made = scenario.project(*LOGIC)
    visitor = Visitor(made).look().send("go").send(option=scenario.option_id(made, "colour", 1))
    chosen = scenario.option_id(made, "colour", 1)

    visitor.send("back")

    assert "Which colour?" in visitor.page
    assert visitor.has_control(f'value="{chosen}"[^>]* checked')


def test_a_missing_answer_is_told_once_at_the_field():
    """Rule 6.211."""
    made = scenario.project({**CHOICE, "required": True})
    visitor = Visitor(made).look()

    visitor.send()

    assert visitor.status == 422
    assert visitor.page.count("This question needs an answer.") == 1
    assert visitor.has_control(r'id="field" autofocus[^>]* aria-describedby="field-error"')


def test_what_was_typed_is_kept_beside_the_error():
    made = scenario.project({"type": "open_numeric", "min": 1, "max": 10})
    visitor = Visitor(made).look()

    visitor.send(value="eleven & more")

    assert visitor.status == 422
    assert 'value="eleven & more"' in visitor.page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "Put the items in order, or press “Skip”."),
        ({"required": True}, "Put the items in order."),
        ({"rank_top_n": 1}, "Choose your best 1, or press “Skip”."),
    ],
)
def test_an_untouched_ranking_is_not_taken_for_a_skip(fields, said):
    """Rule 6.26."""
    made = scenario.project({"type": "ranking", "options": ["x", "y"], **fields}, TEXT)
    visitor = Visitor(made).look()

    visitor.send()

    assert (visitor.status, f">{said}<" in visitor.page) == (422, True)
    assert made.conversations.count() == 0
    if not fields.get("required"):
        assert "Prompt 1." in visitor.send("skip").page


def test_the_count_of_questions_is_a_range_until_answers_decide():
    def count(visitor):
        (text,) = re.findall(r'id="count"[^>]*>(?:<span[^>]*>[^<]*</span>)?([^<]*)<', visitor.page)
        return text

    follow_up = {**TEXT, "precondition": 'NOT(colour = "red")'}
    colour = {**CHOICE, "name": "colour"}
    made = scenario.project(SAYING, colour, follow_up, {**follow_up, "type": "nps"}, SAYING, TEXT)
    red, green = scenario.option_id(made, "colour", 0), scenario.option_id(made, "colour", 1)
    short, long = Visitor(made).look(), Visitor(made).look()

    assert count(short) == ""  # a greeting is no question
    assert [count(short.send("go")), count(short.send(option=green))] == ["1 of 2 to 4", "1 of 2"]
    assert count(short.send("go")) == "2 of 2"
    long.send("go").send(option=red)
    assert [count(long), count(long.send(value="x")), count(long.send(value="3"))] == [
        "2 of 4",
        "3 of 4",
        "3 of 4",
    ]
    assert count(long.send("go")) == "4 of 4"


def test_an_optional_question_may_be_skipped():
    made = scenario.project(TEXT, {**TEXT, "prompt": "Next."})
    visitor = Visitor(made).look()
    assert 'value="skip"' in visitor.page

    visitor.send("skip")

    assert "Next." in visitor.page
    assert "Skipped" in visitor.page
    assert scenario.answers_of(made) == []


def test_markup_in_words_of_authors_and_respondents_stays_text():
    nasty = '<script>alert("1")</script>'
    made = scenario.project({**TEXT, "prompt": nasty}, {**TEXT, "prompt": "You said [q0]. [Q0]"})
    visitor = Visitor(made).look()

    visitor.send(value=f'{nasty}"><b>')

    source = visitor.response.content.decode()
    assert nasty not in source
    assert escape(nasty) in source


def test_whoever_comes_back_is_welcomed_where_they_were():
    made = scenario.project(*LOGIC)
    visitor = Visitor(made).look().send("go").send(option=scenario.option_id(made, "colour", 1))

    visitor.look()

    assert "Welcome back" in visitor.page
    assert "Why green?" in visitor.page


def test_a_browser_that_lost_its_conversation_cookie_goes_on_too():
    made = scenario.project(*LOGIC)
    visitor = Visitor(made).look().send("go")
    del visitor.client.cookies["colloquy_conversation"]

    visitor.look()

    assert "Which colour?" in visitor.page
    assert made.conversations.count() == 1


def test_an_answer_sent_twice_counts_once():
    made = scenario.project(TEXT, {**TEXT, "prompt": "Next."})
    visitor = Visitor(made, htmx=True).look()
    form = dict(visitor.hidden)
    visitor.send(value="Hello")

    visitor.hidden = {**visitor.hidden, "block": form["block"]}
    visitor.send(value="Hello")

    assert "Next." in visitor.page
    assert scenario.answers_of(made) == [("Prompt 0.", "Hello")]


def test_a_stale_form_shows_where_the_conversation_is():
    made = scenario.project(TEXT, {**TEXT, "prompt": "Second."}, {**TEXT, "prompt": "Third."})
    visitor = Visitor(made).look()
    stale = visitor.hidden["block"]
    visitor.send(value="one").send(value="two")

    visitor.hidden["block"] = stale
    visitor.send(value="changed in an old tab")

    assert "This page was out of date" in visitor.page
    assert "Third." in visitor.page
    assert [value for _, value in scenario.answers_of(made)] == ["one", "two"]


def test_shuffled_options_stand_still_from_the_first_look_to_the_answer():
    options = [str(n) for n in range(12)]
    made = scenario.project(
        {"type": "multi_punch", "options": options, "randomize_options": True, "min": 1, "required": True}
    )
    visitor = Visitor(made)

    def order():
        return [line for line in visitor.page.split('class="text">') if line.split("<")[0] in options]

    visitor.look()
    before = [line.split("<")[0] for line in order()]
    visitor.send()
    after = [line.split("<")[0] for line in order()]

    assert before == after
    assert before != options


def test_a_graded_answer_gets_its_word_with_a_sign_and_stays_on_reload():
    made = scenario.project({**CHOICE, "prompt": "Capital?"}, TEXT, scoring_enabled=True)
    right, wrong = scenario.option_id(made, "q0", 0), scenario.option_id(made, "q0", 1)
    made.blocks.filter(name="q0").update(
        correct_answer_ids=[right], when_correct="Well known, [answer].", when_incorrect="A pity."
    )
    Project.objects.filter(pk=made.pk).update(revision=99)

    visitor = Visitor(made).look().send(option=right)
    assert "That is right." in visitor.page
    assert "Well known, red." in visitor.page
    other = Visitor(made, htmx=True).look().send(option=wrong)

    assert "Not quite." in other.page
    assert "A pity." in other.page


@pytest.mark.parametrize("place", [1, 40])
def test_an_answer_takes_few_statements_and_a_short_page_wherever_it_stands(place):
    made = scenario.project(*[{**CHOICE, "prompt": f"Prompt {n:02}."} for n in range(50)])
    visitor = Visitor(made, htmx=True).look()
    for n in range(place):
        visitor.send(option=scenario.option_id(made, f"q{n}", 0))

    with CaptureQueriesContext(connection) as answer:
        visitor.send(option=scenario.option_id(made, f"q{place}", 0))

    assert len([query for query in answer if query["sql"] not in ("BEGIN", "COMMIT")]) <= 4
    assert len(visitor.page) < 5_000


@pytest.mark.parametrize(
    ("locale", "typed", "number"),
    [
        ("en", "12,500", "12500"),
        ("de", "12.500", "12500"),
        ("en", "€ 12 000", "12000"),
        ("en", "0,500", "0.5"),
        ("de", "-0.125", "-0.125"),
    ],
)
def test_a_number_is_read_in_the_language_of_the_page(locale, typed, number):
    """Rule 6.214."""
    made = scenario.project({"type": "open_numeric"})
    CommunitySettings.objects.update_or_create(community=made.community, defaults={"locale": locale})

    Visitor(made).look().send(value=typed)

    assert [each.value for each in Answer.objects.all()] == [number]


def test_a_number_with_two_readings_is_refused_with_both_of_them():
    """Rule 6.214."""
    visitor = Visitor(scenario.project({"type": "open_numeric"})).look()

    visitor.send(value="12.500")

    assert visitor.status == 422
    assert "This can be read as 12.5 or 12500. Please write one of these." in visitor.page
    assert visitor.has_control('id="field"[^>]* value="12.500"')
    assert not Answer.objects.exists()
