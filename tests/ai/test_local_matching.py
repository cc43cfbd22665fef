"""Intents as people write them: which template they get, how many questions, and about what."""

from __future__ import annotations

from surveys.ai.local.drafts import library, matching
from surveys.ai.local.drafts.intent import read_intent
from surveys.ai.provider import ScriptRequest
from tests.support.ai.drafts import draft_from, each, prompts, questions
from tests.support.cases import try_each

# intent, template, number of questions, part of the prompts
SURVEYS = [
    ("NPS for Acme", "net-promoter-score", 5, "recommend Acme to a friend"),
    ("Would members recommend our server? Net promoter score", "net-promoter-score", 5, "our server"),
    ("Customer satisfaction survey for our pizza shop", "customer-satisfaction", 8, "our pizza shop"),
    ("how satisfied our members are with the chess club", "member-satisfaction", 9, "with the chess club"),
    ("A short survey for new members about their first days", "member-onboarding", 8, "our community"),
    ("onboarding feedback, 4 questions", "member-onboarding", 4, "find your way"),
    ("exit survey for people who leave our guild", "exit-survey", 7, "with our guild"),
    ("monthly pulse check", "community-pulse", 8, "our community"),
    ("How is our guild doing? A health check with five questions", "community-pulse", 5, "our guild"),
    ("moderator feedback for our Discord", "moderator-feedback", 8, "moderators"),
    ("What content do our viewers want to see?", "content-preferences", 7, "our content"),
    ("Feedback on last night's stream", "stream-feedback", 9, "rate last night's stream overall"),
    ("Create a chess tournament feedback survey", "tournament-feedback", 10, "rate the chess tournament"),
    ("post-event survey for the Gala, 3 questions", "event-feedback", 3, "rate the Gala overall"),
    ("feedback about the hackathon we held on Saturday", "event-feedback", 9, "rate the hackathon overall"),
    ("product feedback for our mobile app Starfall", "product-feedback", 9, "our mobile app Starfall"),
    ("let people report bugs in the beta launcher", "bug-and-feature-report", 10, "about the beta launcher"),
    ("Feedback form for my Python workshop", "course-feedback", 10, "rate our Python workshop overall"),
    ("moderator application", "volunteer-application", 8, "interested in this role"),
    ("applications for the event team", "volunteer-application", 8, "interested in the event team"),
    ("How was our support? Follow up on tickets", "support-follow-up", 7, "our support"),
    ("playtest feedback for the demo of Hollow Peak", "playtest-feedback", 11, "with Hollow Peak"),
    ("accessibility and safety survey", "accessibility-and-safety-check", 8, "our community"),
    ("Which merch should we sell?", "merch-preferences", 7, "our merch"),
    ("an icebreaker for our new team", "icebreaker", 7, "get to know each other"),
    ("how much would people pay for a premium membership", "market-and-pricing", 9, "the premium membership"),
    ("usability of our new website", "website-usability", 9, "our website"),
    ("sprint retro, ten questions", "team-retrospective", 10, "our work together"),
    ("newsletter feedback", "newsletter-feedback", 8, "our newsletter"),
    ("plan our next meetup", "event-planning", 8, "our next meetup"),
    ("3 questions about the proposed name of the club", "new-idea-check", 3, "the proposed name of the club"),
    ("something about cats", "general-survey", 7, "Overall, how do you feel about cats?"),
    ("a 5 question survey on remote work", "general-survey", 5, "remote work"),
    ("a survey", "general-survey", 7, "our community"),
    ("Umfrage über Pizza", "general-survey", 7, "Pizza"),
    ('survey about "The Witcher 3" for fans', "general-survey", 7, "The Witcher 3"),
    ("a personality quiz", "personality-quiz", 6, "Your result: [result]!"),
    ("Which type of gamer are you? personality quiz", "personality-quiz", 6, "Your result: [result]!"),
    ("a 10 question quiz about the Roman Empire", "topic-quiz", 10, "about the Roman Empire⟧"),
    ("Quiz with 6 questions and 3 answers each on Star Wars", "topic-quiz", 6, "about Star Wars⟧"),
    ("Which Hogwarts house are you?", "personality-quiz", 6, "Your result: [result]!"),
    ("Employee engagement survey", "employee-engagement", 10, "How is work going?"),
    ("end of year community survey with 10 questions", "community-pulse", 10, "our community"),
    ("a survey about sleep habits of gamers", "general-survey", 7, "about sleep habits of gamers"),
    ("beta testers on the new inventory, max 6 questions", "playtest-feedback", 6, "with the new inventory"),
    ("pub quiz", "general-knowledge-quiz", 10, "closest to the sun"),
    ("trivia with twelve questions", "general-knowledge-quiz", 12, "[correct_answers]"),
]  # fmt: skip
POLLS = [
    ("feature vote", "feature-vote", "Which of these would make our product better for you?"),
    ("Which feature is next: dark mode or a bot?", "feature-vote", "Which feature is next?"),
    ("game night", "game-night", "What shall we play?"),
    ("What should we play on Friday? Catan, Risk or Chess", "game-night", "What should we play on Friday?"),
    ("When should we meet?", "meeting-time", "When should we meet?"),
    ("time for our raid", "meeting-time", "Which times would suit you for our raid? Choose all that do."),
    ("Should we allow memes in #general?", "yes-no-poll", "Should we allow memes in #general?"),
    ("yes or no: pineapple on pizza", "yes-no-poll", "Are you in favour of pineapple on pizza?"),
    ("Rate the new logo from 1 to 5 stars", "rating-poll", "How would you rate the new logo?"),
    ("how is everyone feeling today", "mood-poll", "How do you feel?"),
    ("NPS of Acme", "recommendation-poll", "How likely are you to recommend Acme to a friend?"),
    ("Cats or dogs?", "general-poll", "Which of these would you choose?"),
    ("all that apply: tea, milk", "several-choices-poll", "Which of these apply to you? Choose all that do."),
    ("agreement with the new rules", "agreement-poll", "How much do you agree with the new rules?"),
    ("poll on the new map", "opinion-poll", "What do you think of the new map?"),
    ("What do you think about the update?", "opinion-poll", "What do you think about the update?"),
    ("movie night: Alien, Dune, Up", "movie-night", "What shall we watch?"),
    ("Would you rather fly or be invisible?", "this-or-that", "Would you rather fly or be invisible?"),
    ("What should our mascot be called?", "general-poll", "What should our mascot be called?"),
    ("How many hours do you play per week?", "general-poll", "How many hours do you play per week?"),
    ("Ask people when they can join", "meeting-time", "Which times would suit you for our next meeting? Choose all that do."),  # noqa: E501
    ("on a scale from 1 to 5 how good was the movie", "rating-poll", "How would you rate the movie?"),
    ("poll with 7 questions", "opinion-poll", "What do you think of our community?"),
]  # fmt: skip


def match_for(intent: str, type: str, *, scoring: bool | None = None) -> matching.TemplateMatch:
    return matching.best_match(read_intent(ScriptRequest(intent=intent, type=type, scoring=scoring)))


@try_each(("intent", "template", "count", "text"), SURVEYS)
def test_a_survey_suits_its_intent(intent: str, template: str, count: int, text: str) -> None:
    draft = draft_from(intent)

    assert match_for(intent, "convo").template.id == template
    assert len(questions(draft)) == count
    assert text in "\n".join(prompts(draft))


@try_each(("intent", "template", "asked"), POLLS)
def test_a_poll_suits_its_intent(intent: str, template: str, asked: str) -> None:
    draft = draft_from(intent, "poll", for_chat=True)

    assert match_for(intent, "poll").template.id == template
    assert prompts(draft) == [asked]


@each(library.all_templates())
def test_every_template_is_found_by_its_own_name(template: library.Template) -> None:
    about = " about volcanoes" if template.needs_topic else ""

    template_found = match_for(f"{template.name}{about}", template.type).template

    assert template_found.id == template.id or template.category == "general"


@try_each(
    ("intent", "type", "template"),
    [
        ("Members look at photos of the buffet and its dishes", "convo", "general-survey"),
        ("Show 40 members photos of the buffet and its dishes", "poll", "opinion-poll"),
    ],
)
def test_one_word_among_many_chooses_no_template(intent: str, type: str, template: str) -> None:
    """Rule 10.46."""
    draft = draft_from(intent, type)

    assert match_for(intent, type).template.id == template
    assert draft.understood[0] == "This may not be what you asked for."


def test_a_match_names_the_words_that_earned_it() -> None:
    choice = match_for("a survey about our event", "convo")

    assert (choice.template.id, choice.words) == ("event-feedback", ("event",))


def test_likeness_decides_between_templates_with_equal_points() -> None:
    tied = matching.best_match(read_intent(ScriptRequest(intent="tournament merch", type="convo")))
    intent = read_intent(
        ScriptRequest(intent="tournament merch shop, hoodies, stickers and mugs", type="convo")
    )
    merch, tournament = library.require("merch-preferences"), library.require("tournament-feedback")

    assert tied.template.id == "tournament-feedback"
    assert matching.likeness(intent, merch) > matching.likeness(intent, tournament)
    assert matching.best_match(intent).template.id == "merch-preferences"


def test_scoring_favours_a_quiz() -> None:
    assert match_for("volcanoes and the Moon of Jupiter", "convo", scoring=True).template.id == "topic-quiz"
    assert match_for("volcanoes and the Moon of Jupiter", "convo").template.id == "general-survey"


def test_scoring_does_not_outweigh_the_words_of_the_intent() -> None:
    assert match_for("event feedback for the Gala", "convo", scoring=True).template.id == "event-feedback"
