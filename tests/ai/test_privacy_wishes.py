"""What an intent or an instruction wishes about privacy, in five languages (rule 10.90)."""

from __future__ import annotations

from itertools import product

from surveys.ai.privacy import ANONYMOUS, CONFIDENTIAL, stricter, wished
from tests.support.cases import try_each

ANONYMOUS_TEXTS = [
    "An anonymous survey about our managers",
    "Ask about harassment; answers are to be anonymised.",
    "Guarantee anonymity.",
    "Let them answer anonymously",
    "Ask about pay, without names",
    "Nobody may know who answered",
    "No one should ever be able to see who said what",
    "Respondents must not be identifiable",
    "A secret ballot on the budget",
    "Anonyme Umfrage zur Stimmung im Team",
    "Fragt anonymisiert nach Mobbing",
    "Umfrage ohne Namen",
    "Niemand soll erfahren, wer geantwortet hat",
    "Une enquête anonyme sur la cantine",
    "Une enquête sans noms",
    "Personne ne doit savoir qui a répondu",
    "Encuesta anónima sobre el servicio",
    "Encuesta sin nombres",
    "Nadie debe saber quién respondió",
    "Uma pesquisa anônima sobre o curso",
    "Pesquisa sem nome",
    "Ninguém pode saber quem respondeu",
]
CONFIDENTIAL_TEXTS = [
    "Keep the answers confidential",
    "Ask about stress, confidentially",
    "Vertrauliche Befragung zum Betriebsklima",
    "Une enquête confidentielle",
    "Encuesta confidencial",
    "Pesquisa confidencial",
]
OTHER_TEXTS = [
    "A survey about coffee",
    "A survey that is not anonymous",
    "It need not be anonymous",
    "The survey doesn't have to be anonymous",
    "A non-anonymous poll",
    "Die Umfrage muss nicht unbedingt anonym sein",
    "Keine anonyme Umfrage",
    "L'enquête n'est pas anonyme",
    "La encuesta no es anónima",
    "A pesquisa não é anônima",
    "It is not confidential",
]


@try_each(
    ("text", "privacy"),
    [
        *((text, ANONYMOUS) for text in ANONYMOUS_TEXTS),
        *((text, CONFIDENTIAL) for text in CONFIDENTIAL_TEXTS),
        *((text, None) for text in OTHER_TEXTS),
    ],
)
def test_the_wish_is_read_in_five_languages(text: str, privacy: str | None) -> None:
    assert wished(text) == privacy


def test_a_negation_cancels_only_its_own_words() -> None:
    texts = [
        text
        for negated, wish in product(OTHER_TEXTS[1:], ANONYMOUS_TEXTS)
        for text in (f"{negated}. {wish}", f"{wish}. {negated}")
    ]

    assert {text: privacy for text in texts if (privacy := wished(text)) != ANONYMOUS} == {}


@try_each("text", ["There is no question that is not anonymous", "not only anonymous, but also short"])
def test_what_is_in_doubt_is_read_as_the_more_private(text: str) -> None:
    assert wished(text) == ANONYMOUS


def test_the_stricter_of_two_wishes_counts() -> None:
    assert stricter("transparent", ANONYMOUS) == stricter(ANONYMOUS, None) == ANONYMOUS
    assert stricter(CONFIDENTIAL, "transparent") == CONFIDENTIAL
    assert stricter(None, None) is None
