"""The languages of intents and of drafts.

    language_of("Umfrage zum neuen Büro", locale=None)   → "de"
    catalog("de")                                        cues of templates and texts of the library in German
    in_language(block, catalog)                          a block of the library in that language

A catalog is a JSON file in `languages/`: `texts` by the English text, and `cues`, the beginnings of words and
phrases by which intents ask for a template. English needs none.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import stop_words

from surveys.ai.local.drafts import library
from surveys.ai.local.drafts.length import MutableBlock
from surveys.ai.local.drafts.library import FOLDER, RawBlock
from surveys.ai.local.drafts.phrasing import PEOPLE
from surveys.ai.local.drafts.stems import word_set
from surveys.engine.script import Bucket

ENGLISH = "en"
FOLDER_OF_CATALOGS: Path = FOLDER.parent / "languages"
_TEXTS = ("prompt", "description", "when_correct", "when_incorrect")
_WORD = re.compile(r"[^\W\d_]+")
_LONG = 6  # A cue of this many letters is long: shorter cues occur in words of any language.
# Texts that `builder` and `scoring` write for the author to replace, with the keys of their translations.
_PLACEHOLDERS = [
    (re.compile(re.sub(r"\\\{(number|letter|outcome)\\\}", r"(?P<\1>[^⟦⟧]{1,400})", re.escape(key))), key)
    for key in (
        "⟦Question {number} about {topic}⟧",
        "⟦Question {number}⟧",
        "⟦Wrong answer {letter}⟧",
        "⟦Answer for {outcome}⟧",
        "⟦Answer {number}⟧",
        "⟦Option {number}⟧",
        "⟦Tell here what “{outcome}” stands for⟧",
    )
]
_SCRIPTS = {  # Writing systems of languages in which we write no scripts.
    "CYRILLIC": "ru",
    "GREEK": "el",
    "HEBREW": "he",
    "ARABIC": "ar",
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "DEVANAGARI": "hi",
    "THAI": "th",
}
_NO_LIST = {"ar", "bg", "uk", "ru", "el", "he", "hi", "zh", "ja", "ko", "fa"}
# Letters and marks that only one of our languages has.
_LETTERS = {
    "de": re.compile(r"[ßÄÖÜ]|[a-zß]ä|ä[a-z]|ö[a-z]"),
    "fr": re.compile(r"[èœ]|\b(?:[ldns]|qu|jusqu)['’]\w| [?:!]", re.IGNORECASE),
    "es": re.compile(r"[ñ¿¡]|ción\b", re.IGNORECASE),
    "pt": re.compile(r"[ãõ]|ções\b", re.IGNORECASE),
}
# Words of short intents, in which common words are rare.
_SURVEY_WORDS = {
    "en": "survey poll quiz feedback questions about vote please our community members form should",
    "de": "umfrage fragebogen umfragen abstimmung fragen befragung rückmeldung unsere unserem unser wollen "
    "wir bitte anzahl bestellung verteile punkte erstelle zufriedenheit neue neuen wie was ob und über "
    "anmeldung bewerbung kündigung ja nein termin terminfindung uhr angeben montag dienstag mittwoch "
    "donnerstag "
    "freitag samstag sonntag",
    "fr": "sondage questionnaire enquête questions créer avis notre nos quel quelle après sur formulaire "
    "inscription "
    "demander demandez répartir entre oui non nom lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "encuesta cuestionario preguntas pregunta votación crear nuestra nuestro satisfacción sobre qué "
    "cómo hacer "
    "formulario inscripción nombre correo teléfono disponibilidad experiencia gustó clientes lunes martes "
    "miércoles jueves viernes sábado domingo fecha",
    "pt": "pesquisa questionário enquete perguntas pergunte votação criar nossa nosso satisfação sobre "
    "faça você não "
    "formulário inscrição cadastro nome devemos qual quero acharam gostaram voltariam alunos pessoas",
    "it": "sondaggio questionario domande nostro nostra soddisfazione crea",
    "nl": "enquête vragenlijst peiling vragen onze tevredenheid maak",
    "pl": "ankieta ankietę pytania nasza zadowolenie",
    "sv": "enkät frågor omröstning vår nöjd",
    "da": "spørgeskema undersøgelse spørgsmål afstemning vores",
    "tr": "anket memnuniyet sorular",
    "cs": "dotazník anketa otázky",
    "fi": "kysely äänestys",
    "hu": "kérdőív felmérés",
    "ro": "sondaj chestionar întrebări",
    "nb": "spørreundersøkelse spørsmål",
}


# Words that are in the list of common English words by mistake.
_SURE = 2  # One common word does not make a text one in a language that we do not write.
_NOT_ENGLISH = word_set(
    """al ao au ca ci com con de er es et ex il ir je la ma na ne ni nos pa que sa sans se si su um un va vn
    vu"""
)


@dataclass(frozen=True, slots=True, eq=False)  # Catalogs are compared by identity, as templates are.
class Catalog:
    """The texts and cues of the library in one language other than English."""

    language: str
    cues: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str]

    def text(self, english: str) -> str:
        """The text in this language. Numbers and sizes are the same in every language."""
        if english in self.texts:
            return self.texts[english]
        for pattern, key in _PLACEHOLDERS:
            if match := pattern.fullmatch(english):
                text = self.texts[key]
                for name, value in match.groupdict().items():
                    text = text.replace(f"{{{name}}}", value)
                return text
        return english


@cache
def written_languages() -> tuple[str, ...]:
    """The languages in which we can write, English first."""
    return (ENGLISH, *sorted(path.stem for path in FOLDER_OF_CATALOGS.glob("*.json")))


@cache
def catalog(language: str) -> Catalog:
    """The catalog of a language other than English. Each process reads a file once."""
    raw = json.loads((FOLDER_OF_CATALOGS / f"{language}.json").read_text(encoding="utf-8"))
    return Catalog(language, {key: tuple(cues) for key, cues in raw["cues"].items()}, raw["texts"])


def language_of(text: str, *, locale: str | None) -> str:
    """Return the language of an intent as a tag of two letters. If the text is unclear, return the language
    of the locale, or English.

    An alphabet decides first, and then common words. A single name in another alphabet inside a sentence
    decides nothing.
    """
    of_locale = (locale or ENGLISH).lower().partition("-")[0]
    letters = [char for char in text if char.isalpha()]
    alphabets = Counter(unicodedata.name(char, "").partition(" ")[0] for char in letters)
    for alphabet, language in _SCRIPTS.items():
        if 2 * alphabets[alphabet] > len(letters):
            return language
    votes, own = Counter[str](), Counter[str]()
    by_word = _languages_by_word()
    for word in {word.lower() for word in _WORD.findall(text) if text.isupper() or not word[1:].isupper()}:
        for language, weight in by_word.get(word, {}).items():
            votes[language] += weight
            own[language] += ENGLISH not in by_word[word]
        own[ENGLISH] += set(by_word.get(word, ())) & set(written_languages()) == {ENGLISH}
    for language, letters_of_it in _LETTERS.items():
        votes[language] += 2 * bool(letters_of_it.search(text))
    votes = +votes
    if not votes:
        votes.update(language for language in written_languages()[1:] if _has_own_cue(text, language))
    if not votes:
        return of_locale if of_locale in written_languages() else ENGLISH
    most = max(votes.values())
    likely = [language for language, count in votes.items() if count == most]
    if most < _SURE and not set(likely) & set(written_languages()):
        return of_locale if of_locale in written_languages() else ENGLISH
    others = set(likely) & set(written_languages()[1:])
    if most >= _SURE and not own[ENGLISH] and any(own[each] for each in others):
        likely = [each for each in likely if each != ENGLISH]  # All its words are words of others too.
    for preferred in (of_locale, *written_languages()):
        if preferred in likely:
            return preferred
    return sorted(likely)[0]


def _has_own_cue(text: str, language: str) -> bool:
    """Return whether an intent without common words has a cue that is not English: `Persönlichkeitstest`."""
    lower = text.lower()
    cues = (cue for cues in catalog(language).cues.values() for cue in cues)
    return any(len(cue) >= _LONG and cue in lower and cue not in _english_keywords() for cue in cues)


@cache
def _english_keywords() -> frozenset[str]:
    return frozenset(word for template in library.all_templates() for word in template.keywords)


def in_language(block: RawBlock, words: Catalog) -> MutableBlock:
    """Return a block of the library in another language, with the values in its conditions and with its
    buckets.
    """
    translated: MutableBlock = {
        **block,
        **{key: words.text(block[key]) for key in _TEXTS if block.get(key)},
    }
    if "options" in block:
        translated["options"] = [_option(option, words) for option in block["options"]]
    if "scale" in block:
        labels = {key: words.text(text) for key, text in block["scale"].items() if key.startswith("label")}
        translated["scale"] = {**block["scale"], **labels}
    if "label" in (block.get("continue") or {}):
        translated["continue"] = {**block["continue"], "label": words.text(block["continue"]["label"])}
    if "show_when" in block:
        translated["show_when"] = _condition(block["show_when"], words)
    if formula := block.get("calculated_formula"):
        translated["calculated_formula"] = re.sub(
            r"\[score_(\w+)\]", lambda match: f"[score_{_key(match[1], words)}]", formula
        )
    return translated


def _option(option: Mapping[str, Any], words: Catalog) -> MutableBlock:
    translated = {**option, "value": words.text(option["value"])}
    if "label" in option:
        translated["label"] = words.text(option["label"])
    if "score_values" in option:
        translated["score_values"] = {_key(key, words): n for key, n in option["score_values"].items()}
    return translated


def _condition(condition: Mapping[str, Any], words: Catalog) -> MutableBlock:
    """The condition with the values of options, which are texts; numbers stay."""
    translated: MutableBlock = dict(condition)
    for key in ("all", "any"):
        if key in condition:
            translated[key] = [_condition(part, words) for part in condition[key]]
    value = condition.get("value")
    if isinstance(value, str):
        translated["value"] = words.text(value)
    if isinstance(value, list):
        translated["value"] = [words.text(each) if isinstance(each, str) else each for each in value]
    return translated


def _key(key: str, words: Catalog) -> str:
    """The key of a bucket whose name is translated; `score` and the keys of an author stay."""
    return Bucket(words.text(key.replace("_", " ").title())).key if key != "score" else key


# --- Noun phrases inside a sentence ---------------------------------------------------------------

_CONTRACTIONS = {
    "fr": [(r"\b([dD])e le\b", r"\1u"), (r"\b([dD])e les\b", r"\1es"),
           (r"\bà le\b", "au"), (r"\bà les\b", "aux"),
           (r"\b([dD])e (?=[aeiouhéèêâîôœAEIOUHÉÈÊ])", r"\1'")],
    "es": [(r"\b([dD])e el\b", r"\1el"), (r"\ba el\b", "al")],
    "pt": [(r"\b([dD])e ([oa]s?)\b", r"\1\2"), (r"\bem ([oa]s?)\b", r"n\1"), (r"\bpor ([oa]s?)\b", r"pel\1")],
}  # fmt: skip


def contracted(before: str, phrase: str, language: str) -> str:
    """A text that ends before a noun phrase, and the phrase: `de` and `le cours` become `du cours`."""
    end, start = before[-5:], phrase[:12]
    joint = f"{end}{start}"
    for pattern, replacement in _CONTRACTIONS.get(language, ()):
        match = re.search(pattern, joint)
        if match and match.start() < len(end) and match.end() >= len(end):
            joint = f"{joint[: match.start()]}{match.expand(replacement)}{joint[match.end() :]}"
            break
    return f"{before[:-5]}{joint}{phrase[12:]}"


# Words after which a sentence names its topic if no other words do. They may also introduce the people who
# are asked.
_FOR = {
    "de": r"\b(?:für|zum|zur|mit|in|im|von)\s{1,3}(?=(?:[a-zäöüß]+\s{1,3}){0,2}[A-ZÄÖÜ])",
    "fr": r"\b(?:pour|de|dans|après)\s{1,3}(?=(?:notre|nos|votre|vos|le|la|les|ce|cette|une?)\b|l['’])",
    "es": r"\b(?:para|de|en|tras)\s{1,3}(?=(?:nuestr[oa]s?|el|la|los|las|este|esta|mi|mis)\b)|\b(?:(?<=\bd)|"
    r"(?<=\ba))(?=el\b|l\b)",
    "pt": r"\b(?:para|de|em)\s{1,3}(?=(?:noss[oa]s?|o|a|os|as|este|esta|meu|minha)\b)|\b(?:[Nn][Pp][Ss]|"
    r"[Ss][Uu][Ss]|[Ff]eedback|[Aa]valiação)\s{1,3}d"
    r"(?=[oa]s?\s)",
}
# Words after which a sentence names its topic, and the determiners with which a topic may begin.
_ABOUT = {
    "de": r"\b(?:über|zum Thema|zur Frage|bezüglich)\s{1,3}",
    "fr": r"\b(?:sur|concernant)\s{1,3}(?=(?:le|la|les|notre|nos|votre|vos|ce|cette|ces)\b|l['’])",
    "es": r"\b(?:sobre|acerca de)\s{1,3}(?=(?:el|la|los|las|nuestr[oa]s?|este|esta|estos|estas|mi|su)\b)",
    "pt": r"\bsobre\s{1,3}(?=(?:o|a|os|as|noss[oa]s?|este|esta|estes|estas|meu|minha)\b)",
}
_END_OF_TOPIC = re.compile(
    r"[^\w\s'’-]|\d|\b(?:und|mit|für|bei|ob|wie|wann|was|bis|ohne|anonym\w*|et|avec|pour|qui|que|si|"
    r"jusqu\w*|sans|"
    r"anonyme?s?|y|con|para|por|cómo|hasta|sin|e|com|como|até|sem|em|im|in|an|am|auf|à|dans|en|quel\w*|aux?|"
    r"de la part|por parte)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[“„«\"]\s{0,3}([^“”„«»\"\n]{2,60}?)\s{0,3}[”“»\"]")
_MAX_WORDS_OF_TOPIC = 5


def topics_in(text: str, language: str) -> tuple[str, ...]:
    """Return the topics of an intent in a language other than English: noun phrases with their articles.

    German noun phrases are in the nominative case; a phrase whose case is unclear is left out.
    """
    found = [match[1] for match in _QUOTED.finditer(text)]
    for match in re.finditer(_ABOUT[language], text, re.IGNORECASE):
        rest = text[match.end() : match.end() + 80]
        stop = _END_OF_TOPIC.search(rest)
        phrase = (rest[: stop.start()] if stop else rest).strip(" -'’")
        if language == "de":
            phrase = _nominative(phrase)
        if phrase and len(phrase.split()) <= _MAX_WORDS_OF_TOPIC:
            found.append(phrase)
    for match in re.finditer(_FOR[language], text):
        rest = text[match.end() : match.end() + 80]
        stop = _END_OF_TOPIC.search(rest)
        phrase = (rest[: stop.start()] if stop else rest).strip(" -'’")
        before = match[0].split()[0].lower()
        if language == "de":
            phrase = _without_case(phrase, before)
        is_people = re.match(PEOPLE[language], phrase, re.IGNORECASE)
        if phrase and not is_people and len(phrase.split()) <= _MAX_WORDS_OF_TOPIC:
            found.append(phrase)
    return tuple(found)


def _without_case(phrase: str, preposition: str) -> str:
    """A German noun phrase in the nominative case, without an article that does not show its gender."""
    if preposition == "zur":
        is_whole = " " not in phrase or re.match(r"\S+ (?:unserer|unseres|dieser|der|des|von)\b", phrase)
        return f"die {phrase}" if phrase[:1].isupper() and is_whole else ""
    if preposition in ("zum", "im"):
        return phrase if phrase[:1].isupper() and " " not in phrase else ""
    if preposition == "für":
        return _nominative(phrase) if phrase.split()[:1] and phrase.split()[0].islower() else ""
    return ""


def _nominative(phrase: str) -> str:
    """A German noun phrase after `über`, which is in the accusative case; empty if its gender is unknown."""
    words = phrase.split()
    if not words or words[0].lower() not in ("den", "einen", "unseren", "meinen"):
        return phrase
    article = {"den": "der", "einen": "ein", "unseren": "unser", "meinen": "mein"}[words[0].lower()]
    ending = "e" if article == "der" else "er"
    noun = next((n for n, word in enumerate(words) if word[:1].isupper()), len(words) - 1)
    adjectives = [word[:-2] + ending if word.endswith("en") else word for word in words[1:noun]]
    return " ".join([article, *adjectives, *words[noun:]])


# --- Lists and numbers ----------------------------------------------------------------------------

# Words with which a question begins that yes and no do not answer.
QUESTION_WORDS = word_set(
    """was wer wen wem wie wo wann welche welcher welches welchen welchem warum wieso wohin woher worüber
    que quel quelle quels quelles qui où quand comment combien pourquoi quoi à
    qué cuál cuáles cuándo dónde quién cómo cuánto cuántos cuánta cuántas por a en de
    o quem qual quais quando onde como quanto quantos quantas em am an für mit"""
)
_CONJUNCTIONS = {
    "de": {"oder": "or", "und": "and"},
    "fr": {"ou": "or", "et": "and"},
    "es": {"o": "or", "u": "or", "y": "and"},
    "pt": {"ou": "or", "e": "and"},
}
_NUMBERS = {
    "de": "eine zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "une deux trois quatre cinq six sept huit neuf dix onze douze",
    "es": "una dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "pt": "uma duas três quatro cinco seis sete oito nove dez onze doze",
}
_QUESTIONS = {"de": "Fragen?", "fr": "questions?", "es": "preguntas?", "pt": "perguntas?"}


def with_english_conjunctions(text: str, language: str) -> str:
    """Return the text with the English words `or` and `and`, so that the rules for lists find its parts."""
    words = _CONJUNCTIONS[language]
    pattern = rf"(?<=[\s,])({'|'.join(words)})(?=\s)"
    return re.sub(pattern, lambda match: words[match[1].lower()], text, flags=re.IGNORECASE)


def with_english_count(text: str, language: str) -> str:
    """Return the text with `5 questions` instead of `fünf kurze Fragen`, so that the rules for numbers find
    the count.
    """
    numbers = {word: n for n, word in enumerate(_NUMBERS[language].split(), 1)}
    pattern = (
        rf"\b(\d{{1,3}}|{'|'.join(numbers)})\s{{1,3}}(?:[^\W\d]+\s{{1,3}}){{0,2}}?{_QUESTIONS[language]}\b"
    )
    return re.sub(
        pattern,
        lambda match: f"{numbers.get(match[1].lower(), match[1])} questions",
        text,
        flags=re.IGNORECASE,
    )


# --- Voting ---------------------------------------------------------------------------------------


@cache
def _languages_by_word() -> Mapping[str, Mapping[str, int]]:
    """Return how strongly each word speaks for each language: common words count once, words for surveys
    twice.
    """
    by_word: dict[str, dict[str, int]] = {}
    for language in _SURVEY_WORDS:
        for word in stop_words.get_stop_words(language):
            if language != ENGLISH or word not in _NOT_ENGLISH:
                by_word.setdefault(word, {})[language] = 1
    for language, survey_words in _SURVEY_WORDS.items():
        for word in survey_words.split():
            by_word.setdefault(word, {})[language] = 2
    return by_word
