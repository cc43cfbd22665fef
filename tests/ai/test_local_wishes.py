"""Settings, prohibitions and limits in an intent are met, or named as unmet (rule 10.41)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.ai.local import LocalProvider
from surveys.ai.local.drafts.prohibitions import asks_about
from surveys.ai.local.drafts.wishes import read_wishes
from surveys.ai.provider import ProposedScript, ScriptRequest
from tests.support.cases import try_each


def draft(intent: str, type_: str = "convo") -> ProposedScript:
    return LocalProvider().draft_script(ScriptRequest(intent, type_))


@try_each(
    ("intent", "is_anonymous"),
    [
        ("An anonymous survey about our managers", True),
        ("Anonyme Umfrage zur Stimmung im Team", True),
        ("Une enquête anonyme sur la cantine", True),
        ("Encuesta anónima sobre el servicio", True),
        ("Uma pesquisa anônima sobre o curso", True),
        ("A survey that is not anonymous", False),
        ("A survey about coffee", False),
    ],
)
def test_anonymity_is_read_in_five_languages(intent: str, is_anonymous: bool) -> None:
    assert read_wishes(intent).is_anonymous == is_anonymous


@try_each(
    ("intent", "closing"),
    [
        ("Lunch poll, open until Friday", "Friday"),
        ("Umfrage zum Sommerfest bis Freitag", "Freitag"),
        ("Feedback on the talk, closes on 12 May", "12 May"),
        ("Feedback, close it on 31 January 2027", "31 January 2027"),
        ("Feedback on the talk, closes december 20", "december 20"),
        ("Umfrage zum Kurs, Einsendeschluss 1. Juni 2027", "1. Juni 2027"),
        ("Encuesta sobre la boda, hasta el 15 de abril de 2027", "15 de abril de 2027"),
        ("Feedback until we know more", None),
    ],
)
def test_a_closing_time_is_named_as_unmet(intent: str, closing: str | None) -> None:
    told = [each for each in draft(intent).unmet if "closing time" in each]

    assert read_wishes(intent).closing == closing
    assert told == ([f"The closing time ({closing}) is set when you open the project."] if closing else [])


def test_nothing_is_asked_that_shall_not_be() -> None:
    without = draft("Volunteer application for our club. Do not ask for their email.")
    text_free = draft("Customer satisfaction survey for a bakery, no open text")

    assert not [block for block in without.blocks if "mail" in str(block["prompt"]).lower()]
    assert "There are no open questions." in text_free.understood
    assert "open_text" not in [block["type"] for block in text_free.blocks]


def test_a_limit_of_choices_is_met() -> None:
    drafted = draft("Menu poll: pizza, pasta, salad or soup? Choose up to 2", "poll")

    (question,) = (block for block in drafted.blocks if block["type"] != "content_block")
    options: Any = question["options"]
    assert (question["type"], question["max"]) == ("multi_punch", 2)
    assert [option["value"] for option in options] == ["Pizza", "Pasta", "Salad", "Soup"]


def test_a_number_of_questions_is_no_limit_of_choices() -> None:
    assert read_wishes("Feedback on our app with at most 5 questions").at_most is None


def test_confidence_is_low_for_what_no_template_fits() -> None:
    sure, unsure = draft("Event feedback survey"), draft("Qwertz uiop asdf")

    assert sure.confidence is not None
    assert unsure.confidence is not None
    assert sure.confidence > 0.5 > unsure.confidence


@try_each(
    ("intent", "subjects"),
    [
        ("Survey of our new menu: taste, price. dont ask age or gender", ["age or gender"]),
        ("Umfrage unter Azubis: Ausbilder, Arbeitszeit. kein Alter, keine Namen", ["Alter", "Namen"]),
        ("Questionnaire : accueil, prix. pas de téléphone, pas d'âge", ["téléphone", "âge"]),
        ("Pesquisa: professor, material. Não pedir nome nem cpf", ["nome nem cpf"]),
        ("encuesta: jefe, horarios. sin preguntar el departamento", ["el departamento"]),
        ("Pulse: tools, workload. no demographics", ["demographics"]),
    ],
)
def test_prohibitions_hold_in_every_wording(intent: str, subjects: list[str]) -> None:
    drafted = draft(intent)

    assert len([block for block in drafted.blocks if block["type"] != "content_block"]) == 2
    assert {f"There are no questions about {subject}." for subject in subjects} <= set(drafted.understood)


@pytest.mark.parametrize(
    ("intent", "subject"),
    [
        ("Exit survey: why they leave. Must not ask about salary.", "salary"),
        ("Canteen survey: food, queue. You must not ask for names", "names"),
        ("Gym survey: rooms, trainers. It is forbidden to ask for health data", "health data"),
        ("Gym survey: rooms, trainers. Age must not be asked", "Age"),
        ("Umfrage zur Kita: Essen, Räume. Nach dem Alter darf nicht gefragt werden.", "dem Alter"),
        ("Enquête : accueil, horaires. Il ne faut pas demander l'âge.", "l'âge"),
        ("Encuesta: clases, precio. No se debe preguntar la edad", "la edad"),
        ("Pesquisa: acervo, horário. Não se pode perguntar a renda.", "a renda"),
    ],
)
def test_a_negation_before_a_word_of_asking_is_never_an_ask(intent: str, subject: str) -> None:
    made = draft(intent)

    assert f"There are no questions about {subject}." in made.understood
    assert not any(asks_about(subject, block) for block in made.blocks)


def test_who_answers_is_not_rated() -> None:
    made = draft("Survey for a practice: waiting time, treatment. Only ask adults over 18.")

    assert made.unmet == ("Not part of a script: “Only ask adults over 18”.",)
    assert not any("adult" in str(block["prompt"]) for block in made.blocks)


def test_an_address_that_our_texts_do_not_have_is_told() -> None:
    unmet = draft("Befragung zum Heim: Küche, Preise. Bitte Sie-Form verwenden").unmet

    assert any(line.startswith("Not done: “Bitte Sie-Form verwenden”.") for line in unmet)
