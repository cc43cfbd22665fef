"""Questions with the type and the options that answer them: scales, choices, numbers, open text.

answered("How often do you run?", Format(), "en", None, None)   → a choice from `Daily` to `Never so far`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from surveys.ai.local.drafts import bank, languages
from surveys.ai.local.drafts.formats import Format
from surveys.ai.local.drafts.length import MutableBlock

_RATED = {
    "en": r"how (?:was|were|is|are) (?:the|your|our|this)|how (?:did|do|would) you (?:like|find|rate|enjoy)",
    "de": r"wie (?:war|waren|ist|sind) |wie (?:fandest|fandet|findest|findet|bewertest|beurteilst) |wie "
          r"gefallt|wie gefiel|"
          r"wie (?:hat|haben) .*(?:gefallen|geschmeckt)",
    "fr": r"comment (?:etai|avez-vous trouve|trouvez-vous|evalu|jugez)|que pensez-vous|quelle note",
    "es": r"¿?(?:que tal|como (?:fue|estuvo|estaba|valora|califica|te parec)|que te parec)",
    "pt": r"como (?:foi|estava|voce (?:avalia|achou))",
}  # fmt: skip
_LEVELS = (  # The beginnings of folded questions, in five languages, by the scale that answers them.
    (r"(?:overall,? )?how (?:satisfied|happy)|wie (?:zufrieden|glucklich)|.*\bsatisfaits?\b|¿?(?:que tan|"
     r"como de|cuan) satisfech|.*\bsatisfeit|"
     r".*\bgrau de satisfacao", ("Very dissatisfied", "Very satisfied")),
    (r"how likely|wie wahrscheinlich|.*\bprobabilite\b|.*\bprobabilidade?",
     ("Very unlikely", "Very likely")),
    (r"how (?:hard|difficult|easy)|wie (?:schwer|schwierig|leicht|einfach)", ("Very hard", "Very easy")),
    (r"how (?!many|much|often|long|old|far|soon|big|did|do|would|was|were|is|are|can|could|should|will|"
     r"come|about)\w+ "
     r"(?:is|are|was|were|do|did|would)\b|how well\b|how much (?:do|did|does) you (?:enjoy|like|trust|feel)|"
     r"wie (?!viel|oft|lange|alt|weit|war|ist|sind|waren|gross|hat|haben|hoch|soll|kann|konn|wird|wurd|"
     r"kommst|findest)\w+ (?:ist|war|sind|waren|bist|findest|fuhlst)\b|"
     r"¿?que tan \w+", ("Not at all", "Extremely")),
)  # fmt: skip
_FREQUENCY = (
    r"how often|wie oft|.*a quelle frequence|combien de fois|¿?(?:con que frecuencia|cada "
    r"cuanto)|com que frequencia|quantas vezes|¿?cuantas veces"
)
_A_YEAR = (
    r"\b(?:(?:a|per|each) (?:year|month|week)|(?:im|pro) (?:jahr|monat)|par (?:an|mois)|al (?:ano|"
    r"mes)|por (?:ano|mes))\b"
)
_DURATION = (
    r"how (?:much time|long)|wie (?:lange|viel zeit)|combien de temps|¿?cuanto (?:tiempo|tardas)|"
    r"quanto tempo|how far"
)
_NUMBER = (
    r"how often|wie oft|(?:[\w' ]+ )?(?:how (?:many|much (?:would|do|did|will|could|money)|old)|wie "
    r"(?:viele|viel (?:wurd|"
    r"geld|geb|zahl|kost)|alt)|combien (?:de|d'|pai|ser|seri|dep)|"
    r"¿?cuant[oa]s? (?!tard|tiempo)|quant[oa]s? (?!tempo))"
)
_OPEN_BEGINNING = (
    r"(?:what|which|who|whom|whose|when|where|why|how|at|in|on|for|to|from|with|tell|describe|please|if|"
    r"anything)\b|"
    r"(?:was|wer|wen|wem|wie|wo|wann|warum|wieso|weshalb|woher|wohin|womit|wo\w+|welche\w*|an|mit|fur|auf|"
    r"bei|von|bis|seit|aus)\b|"
    r"(?:pourquoi|comment|combien|quand|ou|quel\w*|qu'(?!est-ce que vous \w+ez \w+ \?$)|que|qui|avec|a "
    r"quelle|lequel)\b|qu'|"
    r"¿?(?:por|para|con|en|a|de|cada|que|cual\w*|como|cuando|donde|cuant\w+|quien\w*)\b|"
    r"(?:o que|que|qual|quais|quando|onde|quant\w+|quem|com|em|do que|por que)\b"
)
_DAYS = (
    r"(?:on )?(?:which|what) days?|(?:an )?welche[nr]? tagen?|(?:quels|quel) jours?|¿?(?:en )?que "
    r"dias?|(?:em )?(?:que|quais) dias?"
)


def in_language(block: Mapping[str, Any], language: str) -> MutableBlock:
    """Translate a block of our library into one of the languages of the library."""
    plain = dict(block)
    return (
        plain if language == languages.ENGLISH else languages.in_language(plain, languages.catalog(language))
    )


def text_in(english: str, language: str) -> str:
    """Translate a text of our library into one of the languages of the library."""
    return english if language == languages.ENGLISH else languages.catalog(language).text(english)


def answered(
    prompt: str, format: Format, language: str, scale: Format | None, known: Mapping[str, Any] | None
) -> MutableBlock:
    """Return a question with the type and the options that match the words of its prompt."""
    plain = bank.folded(prompt)
    if format.most:
        return {"prompt": prompt, "type": "open_numeric", "min": 0, "max": format.most}
    block: MutableBlock = {"prompt": prompt}
    levels = next((labels for pattern, labels in _LEVELS if re.match(pattern, plain)), None)
    is_rated = re.match(_RATED[language], plain) is not None
    if format.options or format.is_yes_no or format.is_open:
        return formatted(block | {"type": "open_text"}, format, language, None)
    if format.is_scale:
        return with_scale(
            block, format, language, levels or (("Very bad", "Very good") if is_rated else None)
        )
    if known and known["type"] != "open_text" and not (known["type"] == "nps" and not levels):
        return formatted({**in_language(known, language), "prompt": prompt}, format, language, scale)
    if known and known["type"] == "open_text":
        return block | {"type": "open_text"}
    if re.match(_FREQUENCY, plain) and not re.search(_A_YEAR, plain):
        return block | {
            "type": "single_punch",
            "options": _options(("Daily", "Weekly", "Monthly", "Less often", "Never so far"), language),
        }
    if re.match(_DAYS, plain):
        return {**in_language(bank.blocks()["days_available"], language), "name": None, "prompt": prompt}
    if levels:
        return with_scale(block, scale, language, levels)
    if is_rated:
        return with_scale(block, scale, language, ("Very bad", "Very good"))
    if re.match(_DURATION, plain):
        return block | {"type": "open_text"}
    if re.match(_NUMBER, plain):
        return block | {"type": "open_numeric", "min": 0}
    if is_closed(plain, language) and not re.search(r"\b(?:or|oder|ou|o)\b", plain):
        return block | {"type": "single_punch", "options": _options(("Yes", "No"), language)}
    return block | {"type": "open_text"}


def is_closed(plain: str, language: str) -> bool:
    if language == "fr" and plain.startswith("est-ce que"):
        return True
    if language == "de":
        return not re.match(
            r"(?:bitte|was|wer|wen|wem|wie|wo|wann|warum|wieso|weshalb|wo\w+|welche\w*|an|mit|fur|auf|bei|"
            r"von|bis|seit|aus|in|zu)\b",
            plain,
        )
    if language == "en":
        return (
            re.match(
                r"(?:would|will|can|could|should|have|has|had|are|is|was|were|do|does|did|may|might|must|"
                r"shall)\b",
                plain,
            )
            is not None
        )
    return re.match(_OPEN_BEGINNING, plain) is None


def formatted(block: MutableBlock, format: Format, language: str, scale: Format | None) -> MutableBlock:
    """Return a block with the format that the intent names for it, if the block has another format."""
    plain = {key: value for key, value in block.items() if key in ("name", "prompt")}
    if format.most and block["type"] == "open_numeric":
        return block | {"max": format.most}
    if format.is_open:
        return plain | {"type": "open_text"}
    if format.is_yes_no:
        return plain | {"type": "single_punch", "options": _options(("Yes", "No"), language)}
    if format.options:
        several = format.takes_several or (format.at_most or 1) > 1 or block.get("type") == "multi_punch"
        kind = {"type": "multi_punch"} if several else {"type": "single_punch"}
        most = {"max": min(format.at_most, len(format.options))} if format.at_most and several else {}
        return plain | kind | {"options": [{"value": option} for option in format.options]} | most
    wanted = format if format.is_scale else scale
    if wanted is None or (block.get("type") == "nps" and wanted.high == 10):
        return block
    labels = block.get("scale") or {}
    ends = (labels.get("label_left"), labels.get("label_right"))
    if wanted.high == 10 and wanted.low == 0 and block.get("name") == "recommend":
        return block
    return with_scale(plain, wanted, language, None, labels={
        key: value for key, value in zip(("label_left", "label_right"), ends, strict=True) if value
    })  # fmt: skip


def with_scale(
    block: MutableBlock, wanted: Format | None, language: str, ends: tuple[str, str] | None,
    *, labels: Mapping[str, str] | None = None,
) -> MutableBlock:  # fmt: skip
    """A block that is answered on a scale: stars where these are wanted, else numbers with labels."""
    low = wanted.low if wanted and wanted.low is not None else 1
    high = wanted.high if wanted and wanted.high else 5
    if wanted and wanted.has_stars:
        return block | {"type": "rating", "min": 1, "max": high}
    if wanted and wanted.is_grade and language == "de":
        ends, labels = None, {"label_left": "1 (sehr gut)", "label_right": "6 (ungenügend)"}
    if labels is None:
        labels = (
            dict(zip(("label_left", "label_right"), (text_in(end, language) for end in ends), strict=True))
            if ends
            else {}
        )
    if not labels:
        labels = {
            "label_left": text_in("Not at all", language),
            "label_right": text_in("Extremely", language),
        }
        if wanted:
            return block | {"type": "rating", "min": 1, "max": high}
    return block | {"type": "opinion_scale", "min": low, "max": high, "scale": dict(labels)}


def _options(values: Iterable[str], language: str) -> list[dict[str, str]]:
    return [{"value": text_in(value, language)} for value in values]
