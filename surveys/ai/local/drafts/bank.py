"""Questions that people often want, with the phrases by which intents name them, in five languages.

    find("how they heard about us", "en")   → the question `How did you hear of us?`

`asks.json` holds the questions as blocks in English with `cues`: one pattern for each language. A pattern
must fit a whole phrase in lower case without accents.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from functools import cache

from surveys.ai.local.drafts.library import FOLDER, RawBlock

ASKS = FOLDER.parent / "asks.json"
_FILLERS = {
    "en": r"^(?:(?:the|their|your|his|her|a|an|any|some|for|of|about|on|one|a single|what is|what's|what are|"
    r"possible)\s{1,3})+",
    "de": r"^(?:(?:der|die|das|den|dem|ihre?n?|eure?n?|deine?n?|(?:noch )?eine?n?|zu[rm]?|nach|mögliche|"
    r"etwaige)\s{1,3})+",
    "fr": r"^(?:(?:le|la|les|leurs?|vos|votre|une?|quelques?|des|du|de la|sur)\s{1,3}|l['’]|d['’])+",
    "es": r"^(?:(?:el|la|los|las|su|sus|tu|tus|una?|unos|unas|alg[uú]na?|posibles)\s{1,3})+",
    "pt": r"^(?:(?:o|a|os|as|seu|sua|seus|suas|uma?|alguma?|possíveis)\s{1,3})+(?!que\b)",
}


# Where a question stands says nothing about what it asks: `a comment at the end`.
_PLACE = re.compile(
    r"^(?:am (?:ende|schluss)|zum schluss|a la fin|al final|no (?:final|fim)|at the end) |"
    r" (?:at the end|am (?:ende|schluss)|zum schluss|a la fin|al final|no (?:final|fim))$"
)


def find(phrase: str, language: str) -> RawBlock | None:
    """Return the question that a phrase names, in English and without cues; None if the phrase names no
    question.
    """
    plain = _PLACE.sub("", folded(phrase).strip(" .,;:!?¿"))
    shorter = re.sub(folded(_FILLERS[language]), "", plain)
    for pattern, block in _patterns(language):
        if pattern.fullmatch(plain) or pattern.fullmatch(shorter):
            return block
    return None


def folded(text: str) -> str:
    """Return a text in lower case without accents, with one kind of apostrophe."""
    decomposed = unicodedata.normalize("NFKD", text.lower().replace("’", "'").replace("ß", "ss"))
    return " ".join("".join(char for char in decomposed if not unicodedata.combining(char)).split())


@cache
def blocks() -> Mapping[str, RawBlock]:
    """All questions of the bank by their names, without their cues."""
    return {
        raw["name"]: {key: value for key, value in raw.items() if key != "cues"}
        for raw in json.loads(ASKS.read_text(encoding="utf-8"))
    }


@cache
def _patterns(language: str) -> tuple[tuple[re.Pattern[str], RawBlock], ...]:
    return tuple(
        (re.compile(f"(?:{raw['cues'][language]})"), blocks()[raw["name"]])
        for raw in json.loads(ASKS.read_text(encoding="utf-8"))
    )
