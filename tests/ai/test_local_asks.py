"""What an intent asks for is found and put into questions, in five languages (rule 10.44)."""

from __future__ import annotations

import re

import pytest

from surveys.ai.local.drafts import bank, languages
from surveys.ai.local.drafts.ask_words import is_order
from surveys.ai.local.drafts.formats import read_scale, split_options
from surveys.ai.local.drafts.phrasing import question_from
from tests.support.ai.drafts import check_draft, draft_from, option_values, prompts, questions
from tests.support.cases import try_each


def asked(intent: str) -> list[str]:
    return [block["prompt"] for block in questions(draft_from(intent))]


@try_each(
    ("clause", "language", "question"),
    [
        ("whether they own a car", "en", "Do you own a car?"),
        ("if they'd come again", "en", "Would you come again?"),
        ("why they stopped giving", "en", "Why did you stop giving?"),
        ("what would bring them back", "en", "What would bring you back?"),
        ("where to go for the trip", "en", "Where should we go for the trip?"),
        ("was the treatment explained", "en", "Was the treatment explained?"),
        ("how the food was", "en", "How was the food?"),
        ("warum sie gehen", "de", "Warum gehst du?"),
        ("was sie mitbringen", "de", "Was bringst du mit?"),
        ("ob sie vegetarisch essen", "de", "Isst du vegetarisch?"),
        ("wohin der Ausflug gehen soll", "de", "Wohin soll der Ausflug gehen?"),
        ("was wir hätten besser machen können", "de", "Was hätten wir besser machen können?"),
        ("was gefehlt hat", "de", "Was hat gefehlt?"),
        ("wie zufrieden sind sie mit dem Haus", "de", "Wie zufrieden bist du mit dem Haus?"),
        ("s'ils veulent recevoir la lettre", "fr", "Est-ce que vous voulez recevoir la lettre ?"),
        ("ce qui leur manque", "fr", "Qu'est-ce qui vous manque ?"),
        ("pourquoi ils donnent", "fr", "Pourquoi est-ce que vous donnez ?"),
        ("por qué se van", "es", "¿Por qué te vas?"),
        ("qué les gusta del barrio", "es", "¿Qué te gusta del barrio?"),
        ("si usarían un huerto", "es", "¿Usarías un huerto?"),
        ("por que querem ajudar", "pt", "Por que você quer ajudar?"),
        ("em que ano se formaram", "pt", "Em que ano você se formou?"),
        ("se recomendariam o curso", "pt", "Você recomendaria o curso?"),
    ],
)
def test_a_clause_is_put_to_the_respondents(clause: str, language: str, question: str) -> None:
    assert question_from(clause, language) == question


@try_each(
    ("phrase", "language"),
    [("the venue", "en"), ("das Essen", "de"), ("la salle", "fr"), ("la comida", "es"), ("a comida", "pt")],
)
def test_a_noun_phrase_is_no_clause(phrase: str, language: str) -> None:
    assert question_from(phrase, language) is None


@try_each(
    ("text", "scale"),
    [
        ("from 1 to 7", (1, 7, False)),
        ("1-5 stars", (1, 5, True)),
        ("mit 1 bis 5 Sternen", (1, 5, True)),
        ("0-10", (0, 10, False)),
        ("note sur 10", (None, 10, False)),
        ("1-2 questions", None),
        ("at 10:30", None),
        ("11-50", None),
    ],
)
def test_a_scale_is_read(text: str, scale: tuple[int | None, int, bool] | None) -> None:
    found = read_scale(text)

    assert (found and (found[1].low, found[1].high, found[1].has_stars)) == scale


@try_each(
    ("text", "language", "options"),
    [
        ("pizza, sushi or tacos", "en", ("Pizza", "Sushi", "Tacos")),
        ("Zoo, Kletterpark oder Weinprobe", "de", ("Zoo", "Kletterpark", "Weinprobe")),
        ("lundi, mercredi ou jeudi", "fr", ("Lundi", "Mercredi", "Jeudi")),
        ("S / M / L", "en", ("S", "M", "L")),
        ("fish and chips", "en", ()),
        ("x, , \u200b", "en", ()),
    ],
)
def test_options_are_split(text: str, language: str, options: tuple[str, ...]) -> None:
    assert split_options(text, language) == options


def test_lists_questions_and_clauses_are_asked_in_their_order() -> None:
    assert asked("Gym survey: rate the rooms and the staff, ask why they came. How old are your shoes?") == [
        "How would you rate the rooms?",
        "How would you rate the staff?",
        "Why did you come?",
        "How old are your shoes?",
    ]


def test_numbered_lines_are_asked() -> None:
    assert asked("Library survey\n1. How often do you visit?\n2) city\n- ask if they own a car") == [
        "How often do you visit?",
        "Where do you live?",
        "Do you own a car?",
    ]


def test_a_condition_shows_its_question_only_after_that_answer() -> None:
    car, brand, reason = questions(
        draft_from("Ask if they own a car. If yes, ask which brand. If not, why not.")
    )

    assert brand["show_when"] == {"block": car["name"], "op": "eq", "value": "Yes"}
    assert (reason["prompt"], reason["show_when"]["value"]) == ("Why not?", "No")


def test_a_condition_without_its_question_is_unmet() -> None:
    draft = draft_from("Ask for name and city. If no, ask why.")

    assert draft.unmet == ("Asked of everybody, as its condition was not understood: “Why not?”",)


def test_options_types_and_limits_of_the_intent_are_used() -> None:
    level, swim, day = questions(
        draft_from("Form: level (low, middle, high), can you swim (yes/no), which days suit you")
    )

    assert option_values(level) == ["Low", "Middle", "High"]
    assert option_values(swim) == ["Yes", "No"]
    assert (day["type"], len(day["options"])) == ("multi_punch", 7)


def test_a_condition_at_the_end_leaves_what_is_asked_before_it() -> None:
    intent = "Party survey: rate food and the location, ask if they will come again, only if not ask why"

    *others, why = questions(draft_from(intent))

    assert [block["prompt"] for block in others] == [
        "How would you rate the food?",
        "How would you rate the location?",
        "Will you come again?",
    ]
    assert why["show_when"] == {"block": others[-1]["name"], "op": "eq", "value": "No"}


@try_each(
    "intent",
    [
        "Feedback on the party: rate food and music, ask what to improve and email me the results",
        "Feedback on the party: rate food and music, ask what to improve. Email me the results.",
    ],
)
def test_what_is_no_ask_is_unmet_and_asks_nothing(intent: str) -> None:
    draft = draft_from(intent)

    assert [block["prompt"] for block in questions(draft)] == [
        "How would you rate the food?",
        "How would you rate the music?",
        "What should we improve?",
    ]
    assert [unmet.casefold() for unmet in draft.unmet] == ["not part of a script: “email me the results”."]


@try_each(
    ("text", "is_one"),
    [
        ("email me the results", True),
        ("schick mir das Ergebnis", True),
        ("envoyez-nous les résultats", True),
        ("envíame los resultados", True),
        ("me envie os resultados", True),
        ("email address", False),
        ("send us a short survey on lunch", False),
        ("show times", False),
    ],
)
def test_an_order_to_us_is_told_from_a_noun_phrase(text: str, is_one: bool) -> None:
    assert is_order(text) == is_one


def test_a_stated_number_is_filled_up_and_never_cuts_what_is_asked() -> None:
    few = draft_from("Gym survey, 5 questions: rate the rooms and the staff")
    many = draft_from("Gym survey with 2 questions: name, city, e-mail")

    assert len(questions(few)) == 5
    assert len(questions(many)) == 3
    assert many.unmet == ("The draft has 3 questions, and you asked for another number.",)


def test_one_scale_is_meant_for_all_ratings() -> None:
    scales = questions(draft_from("Hotel survey: room, breakfast and pool from 1 to 7"))

    assert [(block["type"], block["max"]) for block in scales] == [("opinion_scale", 7)] * 3


def test_a_quiz_of_the_author_needs_no_placeholder() -> None:
    draft = draft_from("Quiz: What is the capital of Italy? Milan, Rome (correct), Turin.")

    (question,) = questions(draft)
    assert (option_values(question)[question["correct_answer_index"]], draft.is_placeholder) == (
        "Rome",
        False,
    )
    assert draft.scoring_enabled


def test_a_draft_with_placeholders_says_so() -> None:
    assert draft_from("A quiz about volcanoes").is_placeholder
    assert draft_from("Which one shall we take?", "poll").is_placeholder
    assert not draft_from("Which one shall we take? The red one or the blue one", "poll").is_placeholder


@try_each(
    ("intent", "start"), [("customer survey in German", "Hallo!"), ("short French survey", "Bonjour !")]
)
def test_a_script_is_in_the_language_that_the_intent_names(intent: str, start: str) -> None:
    assert prompts(draft_from(intent))[0].startswith(start)


def test_what_cannot_be_translated_is_unmet() -> None:
    draft = draft_from("Ask for their name and why they collect stamps, in German")

    assert questions(draft)[0]["prompt"] == "Wie heißt du?"
    assert draft.unmet == ("Not asked: “why they collect stamps”.",)


@try_each(
    ("intent", "unused"),
    [
        (
            "Gym survey: rooms and staff. max 60 people, blue background",
            "Not used: “max 60 people”, “blue background”.",
        ),
        ("Umfrage zum Lauf: Strecke und Essen. Nur draußen zeigen", "Not used: “Nur draußen zeigen”."),
        ("Sign up for the class, name, email, photo", "No question takes a file: “photo”."),
        ("Order form: pens $3, mugs $7. how many of each, total", "Not done: “total”."),
        (
            "Split 100 points between parks, roads and schools",
            "Not done: “Split 100 points between parks, roads and schools”. People rank the items instead.",
        ),
        (
            "Ask members what they buy. Those who never buy should say why.",
            "Not done: “Those who never buy should say why”.",
        ),
        (
            "Ask for name and city. If they don't agree end the survey.",
            "Not done: “If they don't agree end the survey”.",
        ),
    ],
)
def test_each_part_that_nothing_uses_is_told(intent: str, unused: str) -> None:
    """Rule 10.44."""
    assert unused in draft_from(intent).unmet


def test_confidence_is_low_where_little_of_the_intent_is_used() -> None:
    """Rule 10.46."""
    whole = draft_from("NPS for our bakery").confidence
    part = draft_from(
        "NPS for our bakery. parking lot cameras, winter tyres, garden gnomes, blue lamps"
    ).confidence

    assert whole is not None
    assert part is not None
    assert part < 0.4 < whole


@try_each(
    ("intent", "asked_for"),
    [
        (
            "sign up for the sewing circle, name, email",
            ["What is your name?", "What is your e-mail address?"],
        ),
        ("Anmeldung zum Kurs, Name, Telefon", ["Wie heißt du?", "Wie lautet deine Telefonnummer?"]),
        ("Anmeldung am 3. Oktober 2027: Name, Telefon", ["Wie heißt du?", "Wie lautet deine Telefonnummer?"]),
        (
            "encuesta a socios: cuantas veces vienen, que deportes practican",
            ["¿Cuántas veces vienes?", "¿Qué deportes practicas?"],
        ),
        (
            "Dorf: wie kommen die leute zur arbeit, was sie sich wünschen",
            ["Wie kommst du zur arbeit?", "Was wünschst du dir?"],
        ),
        (
            "Order form: pens $3, mugs $7",
            ["How many would you like: pens $3?", "How many would you like: mugs $7?"],
        ),
    ],
)
def test_a_list_after_the_name_of_a_form_is_asked(intent: str, asked_for: list[str]) -> None:
    """Rule 10.44."""
    assert asked(intent) == asked_for


def test_a_clause_that_gives_no_whole_question_is_told_and_not_asked() -> None:
    """Rule 10.44."""
    draft = draft_from("Library survey: opening hours, how parking bothers the people who come by car")

    assert questions(draft)[0]["prompt"] == "How would you rate the opening hours?"
    assert "Not asked: “how parking bothers the people who come by car”." in draft.unmet


def test_options_after_pick_belong_to_one_question() -> None:
    """Rule 10.44."""
    name, shifts = questions(draft_from("Sign up form. name, pick up to 2 shifts: early, late, night"))

    assert (name["name"], shifts["type"], shifts["max"]) == ("name", "multi_punch", 2)
    assert option_values(shifts) == ["Early", "Late", "Night"]


def test_rank_said_of_respondents_is_a_ranking() -> None:
    """Rule 10.44."""
    (ranked, *_) = questions(draft_from("let employees rank what matters most: pay, hours, growth"))

    assert (ranked["type"], option_values(ranked)) == ("ranking", ["Pay", "Hours", "Growth"])


@try_each(
    ("intent", "conditions"),
    [
        (
            "NPS, if they give 6 or less ask what went wrong, if 9 or 10 ask if we may quote them",
            [("lt", 7), ("gt", 8)],
        ),
        ("NPS Befragung, wer 0-6 gibt soll sagen was wir besser machen können", [("lt", 7)]),
    ],
)
def test_conditions_on_numbers_hold(intent: str, conditions: list[tuple[str, int]]) -> None:
    """Rule 10.44."""
    shown = [block["show_when"] for block in questions(draft_from(intent)) if block.get("show_when")]

    found = [(each["op"], each["value"]) for each in shown]
    assert [each for each in found if each[0] in ("lt", "gt")] == conditions


@try_each(
    ("intent", "added", "count"),
    [
        ("SUS for our tool, plus one open question on what annoyed them most", "What annoyed you most?", 11),
        ("SUS für unsere Kasse und zwei Fragen zu Alter und Abteilung", "Wie alt bist du?", 12),
        (
            "questionnaire SUS pour notre extranet, plus une question ouverte",
            "Souhaitez-vous ajouter autre chose ?",
            11,
        ),
    ],
)
def test_an_addition_is_no_total(intent: str, added: str, count: int) -> None:
    """Rule 10.45."""
    assert added in asked(intent)
    assert len(asked(intent)) == count


@try_each(
    "intent", ["Kantine: Geschmack, Preis. höchstens 6 Fragen", "Our canteen: taste, price, 6 questions max"]
)
def test_a_most_is_not_filled_up(intent: str) -> None:
    """Rule 10.45."""
    assert len(asked(intent)) == 2


def test_school_grades_are_best_at_one() -> None:
    (first, *_) = questions(draft_from("Kita: Essen, Ausflüge - Schulnoten 1 bis 6"))

    assert (first["min"], first["max"]) == (1, 6)
    assert first["scale"] == {"label_left": "1 (sehr gut)", "label_right": "6 (ungenügend)"}


def test_a_standard_needs_its_name() -> None:
    """Rule 10.45."""
    draft = draft_from("landlord here: flat number, what's broken. must have phone number")

    assert "Template: Product-market fit." not in draft.understood


# --- The bank -------------------------------------------------------------------------------------------


@try_each("language", languages.written_languages())
def test_the_bank_knows_phrases_in_every_language(language: str) -> None:
    named = {"en": "their date of birth", "de": "Geburtsdatum", "fr": "date de naissance",
             "es": "fecha de nacimiento", "pt": "data de nascimento"}  # fmt: skip

    found = bank.find(named[language], language)

    assert found is not None
    assert found["name"] == "birthday"


@try_each("language", languages.written_languages()[1:])
def test_every_text_of_the_bank_is_translated(language: str) -> None:
    texts = set()
    for block in bank.blocks().values():
        texts |= {block["prompt"], *(option["value"] for option in block.get("options", ()))}
        texts |= set(block.get("scale", {}).values())

    missing = texts - languages.catalog(language).texts.keys()

    assert {text for text in missing if not re.fullmatch("[SMLX]+", text)} == set()


@try_each(
    "intent",
    [
        "Ward survey: food, noise at night, don't know option",
        "Class feedback: teacher, pace, Sat 14 June",
        "Feedback: food, music, the rooms were too cold for us",
        "Umfrage zur Kantine: Auswahl, Geschmack, in Euro",
        "Enquête sur la cantine : goût, quantité, on mange trop vite",
    ],
)
def test_only_noun_phrases_are_rated(intent: str) -> None:
    """Rule 10.44."""
    draft = draft_from(intent)

    last = intent.rsplit(", ", 1)[1]
    assert len(questions(draft)) == 2
    assert f"Not asked: “{last}”." in draft.unmet


def test_statements_are_agreed_with_where_the_intent_says_so() -> None:
    """Rule 10.44."""
    draft = draft_from("Pulse check, agree/disagree: i have the tools i need, my workload is manageable")

    assert [block["prompt"] for block in questions(draft)] == [
        "How much do you agree? “I have the tools I need.”",
        "How much do you agree? “My workload is manageable.”",
    ]
    assert questions(draft)[0]["scale"]["label_left"] == "Strongly disagree"


def test_those_who_serve_are_not_asked_about_themselves() -> None:
    assert question_from("were staff kind", "en") == "Were staff kind?"
    assert question_from("what staff think", "en") == "What do you think?"


def test_dates_stay_whole_among_options() -> None:
    """Rule 10.44."""
    german = draft_from("Wann passt das Fest? fr 10. juli, sa 11. juli - mehrfachauswahl", type="poll")
    english = draft_from(
        "Which evening? Mon 3. August, Tue 4. August, Thu 6. August - pick up to 2", type="poll"
    )

    (days,), (evenings,) = questions(german), questions(english)
    assert (days["type"], option_values(days)) == ("multi_punch", ["Fr 10. juli", "Sa 11. juli"])
    assert evenings["max"] == 2
    assert option_values(evenings) == ["Mon 3. August", "Tue 4. August", "Thu 6. August"]


def test_a_limit_in_brackets_belongs_to_its_question() -> None:
    draft = draft_from(
        "Inscription : nom, niveau (débutant, moyen, confirmé), jours (2 maximum parmi lundi, mardi, jeudi)"
    )

    _, level, days = questions(draft)
    assert (level["type"], days["type"], days["max"]) == ("single_punch", "multi_punch", 2)
    assert option_values(days) == ["Lundi", "Mardi", "Jeudi"]


def test_who_never_does_it_is_asked_what_stops_them() -> None:
    """Rule 10.44."""
    draft = draft_from("Cyclists: how often do you cycle to work, if never what stops you")

    assert questions(draft)[1]["prompt"] == "What stops you?"
    assert questions(draft)[1]["show_when"]["value"] == "Never so far"


def test_a_standard_is_never_cut_for_an_open_question() -> None:
    """Rule 10.45."""
    draft = draft_from(
        "SUS questionnaire for our portal, then one open question at the end what annoyed you most"
    )

    assert len(questions(draft)) == 11
    assert questions(draft)[-1]["prompt"] == "What annoyed you most?"


def test_confidence_is_below_seven_tenths_with_a_part_that_is_told() -> None:
    """Rule 10.46."""
    draft = draft_from("Hotel survey: bed, breakfast, include a not applicable option")

    assert draft.confidence is not None
    assert draft.confidence < 0.7


@pytest.mark.parametrize(
    ("intent", "about", "why"),
    [
        ("rate keynote, catering, wifi. if they rate the catering low, ask why", "catering", "Why?"),
        (
            "Hotel: rate breakfast, room, pool. If the room was bad, ask what was wrong",
            "room",
            "What was wrong?",
        ),
        (
            "NPS for our practice, rate reception and treatment. If they rate reception low ask why",
            "reception",
            "Why?",
        ),
        (
            "Kino: Ton, Sitze, Bild bewerten. Wenn die Sitze schlecht waren, nach dem Grund fragen",
            "Sitze",
            "Warum?",
        ),
        (
            "Encuesta: comida, servicio, terraza. Si la comida fue mala, preguntar por qué",
            "Comida",
            "¿Por qué?",
        ),
    ],
)
def test_a_condition_hangs_on_the_question_that_it_names(intent: str, about: str, why: str) -> None:
    blocks = questions(draft_from(intent))

    asked_why = next(n for n, block in enumerate(blocks) if block["prompt"] == why)
    assert about in blocks[asked_why - 1]["prompt"]
    assert blocks[asked_why]["show_when"] == {"block": blocks[asked_why - 1]["name"], "op": "lt", "value": 3}


def test_a_condition_on_what_is_not_asked_is_told() -> None:
    draft = draft_from("rate the lectures, the food and the parking. If the shuttle was bad, ask why")

    assert [block.get("show_when") for block in questions(draft)] == [None] * 3
    assert draft.unmet == ("Not asked: “If the shuttle was bad why”.",)


@pytest.mark.parametrize(
    "intent",
    [
        "Encuesta para clientes: trato, plazo, y si nos recomendaría del 0 al 10",
        "Sondage : contenu, formateur, et s'ils nous recommanderaient de 0 à 10",
        "Museum survey: exhibition, cafe, and if they would recommend us from 0 to 10",
    ],
)
def test_whether_with_a_whole_scale_is_no_condition(intent: str) -> None:
    assert [block["type"] for block in questions(draft_from(intent))][2:] == ["nps"]


@pytest.mark.parametrize(
    ("intent", "prompt", "options"),
    [
        ("Ask which day suits best: Monday, Friday", "Which days suit you?", ["Monday", "Friday"]),
        (
            "We are a bakery and want to know which bread people want: rye, spelt, olive",
            "Which bread do you want?",
            ["Rye", "Spelt", "Olive"],
        ),
        ("Frage, welcher Abend am besten passt: Montag, Mittwoch", "Welcher Abend passt am besten?", None),
        ("Hoodie order form: size S M L XL, how many", "Which size?", ["S", "M", "L", "XL"]),
    ],
)
def test_options_after_a_word_of_asking_are_no_ratings(
    intent: str, prompt: str, options: list[str] | None
) -> None:
    block = questions(draft_from(intent))[0]

    assert block["prompt"] == prompt
    assert options is None or option_values(block) == options


@pytest.mark.parametrize(
    "intent",
    [
        "Divide a budget of 100 points over: playground, bike lanes, trees.",
        "100 Euro auf Fahrradkeller, Spielplatz, Garten aufteilen",
        "Members get 10 coins to spend on: training, equipment, snacks",
    ],
)
def test_points_to_share_are_told_and_ranked(intent: str) -> None:
    draft = draft_from(intent)

    assert questions(draft)[0]["type"] == "ranking"
    assert any(line.endswith("People rank the items instead.") for line in draft.unmet)


def test_needs_are_not_rated() -> None:
    prompts_of_needs = asked("Survey for carers: need for respite care, transport needs, lunch")

    assert prompts_of_needs == [
        "What is your need for respite care?",
        "What are your transport needs?",
        "What do you need: lunch?",
    ]


def test_a_limit_in_brackets_is_that_of_its_number() -> None:
    draft = draft_from("RSVP: are you coming, how many guests (max 3), allergies")

    assert [block["max"] for block in questions(draft) if block["type"] == "open_numeric"] == [3]
    assert draft.unmet == ()


@pytest.mark.parametrize(
    ("intent", "days"),
    [
        (
            "Find a date for the rehearsal: Mon 5 Jan 18:00, Tue 6 Jan 19:00, Thu 8 Jan 18:30.",
            "Mon 5 Jan 18:00",
        ),
        ("Terminfindung Elternabend: Mo 12.1. 19 Uhr, Mi 14.1. 19 Uhr", "Mo 12.1. 19 Uhr"),
    ],
)
def test_days_with_dates_are_the_options_of_one_question(intent: str, days: str) -> None:
    block = questions(draft_from(intent))[0]

    assert block["type"] == "multi_punch"
    assert days in option_values(block)


def test_a_form_for_a_child_asks_about_the_child() -> None:
    assert asked("Sign up for the kids' camp: child's name, class, allergies, photo permission") == [
        "What is the child's name?",
        "What is the child's class?",
        "What are the child's allergies?",
        "May we take pictures of the child and publish them?",
    ]


def test_an_agreement_that_no_question_takes_is_told() -> None:
    draft = draft_from("Employee pulse: workload, recognition. all on agree/disagree scale")

    assert draft.unmet == ("Not used: “all on agree/disagree scale”.",)


@pytest.mark.parametrize(
    ("intent", "found"),
    [
        ("How happy are members with the pool: water, lockers, showers", ["opinion_scale"] * 3),
        ("Wie zufrieden sind die Gäste mit dem Zug: Sitze, Takt, Preis", ["opinion_scale"] * 3),
        ("savoir si les élèves sont contents du cours: rythme, salle, livres", ["opinion_scale"] * 3),
        ("How happy are you with the pool: very happy, fine, unhappy", ["single_punch", "open_text"]),
        ("survey about lighting, noise and furniture", ["opinion_scale"] * 3),
        ("Umfrage über Licht, Lärm und Möbel", ["opinion_scale"] * 3),
        ("Ask if the boat is clean, and a comment box at the end", ["single_punch", "open_text"]),
        ("avaliação: guia, loja. no final um campo para sugestões", [*["opinion_scale"] * 2, "open_text"]),
        ("sondage: savoir pourquoi ils ne lisent plus et s'ils reviendraient", ["open_text", "single_punch"]),
        ("ask what people think of tea, if they sit. no open questions", ["opinion_scale", "single_punch"]),
    ],
)  # fmt: skip
def test_lists_give_the_questions_that_they_name_and_no_others(intent: str, found: list[str]) -> None:
    """Rule 10.44."""
    assert [block["type"] for block in questions(draft_from(intent))] == found


@pytest.mark.parametrize(
    ("intent", "asked"),
    [
        ("ask how clean the deck was and why they came", ["How clean was the deck?", "Why did you come?"]),
        (
            "ask whether the talk was too long, too short or just right and why they came",
            ["How was the talk?", "Why did you come?"],
        ),
        ("ask whether it was too long or too short and why they came", ["How was it?", "Why did you come?"]),
        ("wissen, ob der Raum zu warm oder zu kalt war", ["Wie war der Raum?"]),
        (
            "saber si la sopa fue demasiado salada o demasiado sosa y porque volverían",
            ["¿Cómo fue la sopa?", "¿Por qué volverías?"],
        ),
        ("savoir quelle heure leur convient et comment ils viennent", ["Quelle heure vous convient ?"]),
        ("Quero saber o que os alunos acharam da festa", ["O que você achou da festa?"]),
        ("ask how often they row, where (sea, lake)", ["How often do you row?", "Where?"]),
    ],
)  # fmt: skip
def test_clauses_become_whole_questions(intent: str, asked: list[str]) -> None:
    """Rule 10.44."""
    assert prompts(draft_from(intent))[1 : len(asked) + 1] == asked


@pytest.mark.parametrize(
    "intent",
    [
        "Which flag: red, blue, green? people can pick 2",
        "Welche Fahne: rot, blau, grün? jeder darf 2 wählen",
        "¿Qué bandera: roja, azul, verde? se puede elegir 2",
    ],
)
def test_how_many_people_can_choose_is_a_limit(intent: str) -> None:
    """Rule 10.44."""
    [block] = questions(draft_from(intent, type="poll"))

    assert (block["type"], block["max"]) == ("multi_punch", 2)


def test_an_ask_that_needs_an_open_question_is_reported_where_these_are_forbidden() -> None:
    """Rule 10.44."""
    draft = draft_from("ask how often they sail and why they stopped. no open questions")

    assert [block["type"] for block in questions(draft)] == ["single_punch"]
    assert "Not asked, as it needs an open question: “why they stopped”." in draft.unmet


def test_names_and_addresses_are_facts_that_no_analysis_reads() -> None:
    """Rule 10.964."""
    draft = draft_from("Sign-up form: name, e-mail, phone number, why they join")
    script = check_draft(draft, "convo").script

    assert [(block.format, block.is_read) for block in script.blocks if block.asks] == [
        ("name", False), ("email", False), ("phone", False), (None, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("intent", "wrong"),
    [
        ("Encuesta: saber si prefieren teatro u ópera y por qué", "you"),
        ("Umfrage: Name u. Adresse, und warum sie kommen", "you"),
        ("Ask for a rating, and if the rating is low, ask why or what went wrong", "Ask why"),
        ("Ask whether this is their first visit, second visit or a later one", "How this is"),
        (
            "people can pick 2 of these dates: Monday, Tuesday, Friday",
            "How would you rate",
        ),
    ],
)
def test_words_that_only_look_like_abbreviations_and_alternatives_stay(intent: str, wrong: str) -> None:
    """Rule 10.44."""
    blocks = questions(draft_from(intent))
    assert wrong not in str(blocks)
