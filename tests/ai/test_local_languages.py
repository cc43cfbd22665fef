"""Drafts of the local provider in other languages than English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from surveys.ai.local.drafts import builder, drafting, languages, library
from surveys.ai.local.drafts.library import Template
from surveys.ai.local.review import review
from surveys.ai.provider import ProviderError, ScriptRequest
from tests.support.ai.drafts import (
    check_draft,
    draft_from,
    each,
    first_option,
    last_option,
    option_values,
    prompts,
    questions,
    run,
)
from tests.support.cases import try_each

OTHERS = languages.written_languages()[1:]
TEMPLATES = library.all_templates()
SAME = re.compile(r"\d[\d ]*|[SMLX]+|⟦.*⟧")


def texts_of(block: Mapping[str, Any]) -> Iterator[str]:
    yield from (block[key] for key in ("prompt", "when_correct", "when_incorrect") if block.get(key))
    yield from (option.get("label") or option["value"] for option in block.get("options", ()))
    yield from (text for key, text in block.get("scale", {}).items() if key.startswith("label"))
    if block.get("continue"):
        yield block["continue"]["label"]


def test_the_library_is_in_five_languages() -> None:
    assert languages.written_languages() == ("en", "de", "es", "fr", "pt")


@try_each("language", OTHERS)
def test_every_text_of_the_library_is_translated(language: str) -> None:
    blocks = [block for template in TEMPLATES for block in (*template.blocks, *template.more)]
    english = {text for block in (*blocks, *library.further_questions()) for text in texts_of(block)}
    english |= {template.subject for template in TEMPLATES}

    translated = languages.catalog(language).texts

    assert {text for text in english - translated.keys() if not SAME.fullmatch(text)} == set()


@try_each("language", OTHERS)
def test_a_translation_has_the_tokens_of_its_text(language: str) -> None:
    for english, text in languages.catalog(language).texts.items():
        tokens = re.compile(r"\[\w+\]|\{(?:number|letter|outcome|statement)\}")
        assert sorted(tokens.findall(text)) == sorted(tokens.findall(english)), english
        assert not re.search(
            r"\{(?!topic|Topic|number|letter|outcome|statement|aspect|Aspect|label|Label)", text
        ), english


@try_each("language", OTHERS)
def test_cues_are_for_templates_of_the_library(language: str) -> None:
    cues = languages.catalog(language).cues

    assert cues.keys() <= {template.id for template in TEMPLATES}
    assert all(cue == cue.lower() for found in cues.values() for cue in found)


@pytest.mark.parametrize("language", OTHERS)
@each(TEMPLATES)
def test_a_translated_template_breaks_no_rule_and_runs_to_its_end(template: Template, language: str) -> None:
    draft = builder.neutral_draft(template, language=language)

    checked = check_draft(draft, template.type, for_chat=True)

    assert checked.problems == []
    for respond in (first_option, last_option):
        result = run(checked.script, respond)
        assert result.is_complete
        assert [text for text in result.prompts.values() if re.search(r"[\[{<]", text)] == []


@try_each("language", OTHERS)
def test_translated_templates_get_no_remark(language: str) -> None:
    drafts = {template.id: builder.neutral_draft(template, language=language) for template in TEMPLATES}

    assert {key: remarks for key, draft in drafts.items() if (remarks := review(draft.blocks))} == {}


@try_each(
    ("text", "language"),
    [
        ("Umfrage über Pizza", "de"),
        ("Persönlichkeitstest", "de"),
        ("Sondage sur la nouvelle cantine", "fr"),
        ("Enquête de satisfaction", "fr"),
        ("encuesta de satisfacción", "es"),
        ("Pesquisa de satisfação dos clientes", "pt"),
        ("quiz about cats", "en"),
        ("NPS", "en"),
        ("the poll on the new map", "en"),
        ("sondaggio sui pasti", "it"),
        ("enquête tevredenheid over onze kantine", "nl"),
        ("опрос о качестве еды", "ru"),
        ("アンケート", "ja"),
    ],
)
def test_the_language_of_an_intent_is_found(text: str, language: str) -> None:
    assert languages.language_of(text, locale=None) == language


def test_the_locale_decides_where_the_words_do_not() -> None:
    assert languages.language_of("NPS", locale="pt-BR") == "pt"
    assert languages.language_of("NPS", locale="ja") == "en"


@try_each("type", ["convo", "poll"])
@try_each("intent", ["опрос о качестве еды", "sondaggio sui pasti della nostra mensa"])
def test_no_script_is_written_in_english_for_a_language_that_we_cannot_write(intent: str, type: str) -> None:
    for write in (drafting.draft_for_intent, builder.fallback_draft):
        with pytest.raises(ProviderError) as refused:
            write(ScriptRequest(intent=intent, type=type))

        assert refused.value.message == builder.UNWRITTEN


SURVEYS = [
    ("Mitarbeiterbefragung zum Betriebsklima", 10, "Wie sehr stimmst du zu? „Meine Meinung zählt.“"),
    ("Umfrage über den neuen Speiseplan", 7, "Der neue Speiseplan: Was gefällt dir am besten?"),
    ("Kundenumfrage mit fünf kurzen Fragen", 5, "Was haben wir gut gemacht?"),
    ("Sondage sur le nouveau menu", 7, "Quelques questions courtes sur le nouveau menu."),
    ("Formulaire d'inscription à notre atelier", None, "?"),
    ("Encuesta de satisfacción de clientes, 4 preguntas", 4, "En general, ¿qué tan satisfecho estás"),
    ("Encuesta sobre el nuevo horario", 7, "preguntas cortas sobre el nuevo horario."),
    ("Pesquisa com pacientes da nossa clínica", 9, "Como você avalia a sua visita no geral?"),
    ("NPS do curso online de inglês, e se a nota for baixa perguntar o que faltou", 6, "recomendar o curso"),
    ("SUS pour le site web de la mairie", 10, "J'ai trouvé ce système"),
    ("Pesquisa sobre a nova sede", 7, "A nova sede: do que você mais gosta?"),
]


@try_each(("intent", "count", "text"), SURVEYS)
def test_a_survey_is_in_the_language_of_its_intent(intent: str, count: int | None, text: str) -> None:
    draft = draft_from(intent)

    assert text in "\n".join(prompts(draft))
    assert count is None or len(questions(draft)) == count


POLLS = [
    ("Was wollen wir essen: Pizza, Sushi oder Tacos?", "Was wollen wir essen?", ["Pizza", "Sushi", "Tacos"]),
    ("Was sollen wir kochen?", "Was sollen wir kochen?", [f"⟦Option {n}⟧" for n in (1, 2, 3)]),
    ("Sollen wir umziehen?", "Sollen wir umziehen?", ["Ja", "Nein", "Unentschieden"]),
    ("¿Qué día? lunes, martes o jueves", "¿Qué día?", ["Lunes", "Martes", "Jueves"]),
    ("Quel plat : pâtes, riz ou salade ?", "Quel plat ?", ["Pâtes", "Riz", "Salade"]),
    ("Qual sabor: uva, manga ou limão?", "Qual sabor?", ["Uva", "Manga", "Limão"]),
]  # fmt: skip


@try_each(("intent", "asked", "options"), POLLS)
def test_a_poll_is_in_the_language_of_its_intent(intent: str, asked: str, options: list[str]) -> None:
    (question,) = questions(draft_from(intent, "poll", for_chat=True))

    assert question["prompt"] == asked
    assert option_values(question) == options


def test_placeholders_are_translated_too() -> None:
    draft = draft_from("Quiz über den Mond mit drei Fragen")

    asked = questions(draft)
    assert asked[-1]["prompt"] == "⟦Frage 3 zum Thema „der Mond“⟧"
    assert option_values(asked[0])[1] == "⟦Falsche Antwort A⟧"


def test_the_projects_buckets_keep_their_names() -> None:
    names = ("Explorer", "Achiever", "Connector", "Creator")

    draft = draft_from("Persönlichkeitstest", bucket_names=names)

    shown = run(check_draft(draft, "convo", bucket_names=names).script, first_option).prompts
    assert shown["told_explorer"] == "Dein Ergebnis: Explorer!"
    assert "Du schaffst, was es vorher nicht gab." in str(draft.blocks[-1]["description"])


@try_each(
    ("before", "phrase", "language", "together"),
    [
        ("que pensez-vous de ", "le cours", "fr", "que pensez-vous du cours"),
        ("la durée de ", "événement", "fr", "la durée d'événement"),
        ("o que acha de ", "a nova sede", "pt", "o que acha da nova sede"),
        ("la duración de ", "el curso", "es", "la duración del curso"),
        ("la duración de ", "la charla", "es", "la duración de la charla"),
    ],
)
def test_prepositions_and_articles_are_joined(before: str, phrase: str, language: str, together: str) -> None:
    assert languages.contracted(before, phrase, language) == together
