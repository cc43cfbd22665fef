"""What an item of an intent is: a noun phrase, which people can rate or fill in, a statement, or neither.

    is_noun_phrase("the noise at night", "en")       → True
    is_statement("i have the tools i need", "en")    → True

There is no grammar here: a finite verb, a pronoun, a preposition or an order at the beginning, or a day with
a date shows that an item is no noun phrase.
"""

from __future__ import annotations

import re

from surveys.ai.local.drafts.formats import DATE

# Words that only a clause has.
_CLAUSE = {
    "en": r"\b(?:i|i['’](?:m|ve|d|ll)|we|they|he|she|you|me|them|it['’]?s|is|are|am|was|were|has|have|"
    r"had|does|did|can|"
    r"could|would|should|must|might|\w+n['’]t|needs? to|feels|feel|gets|listens|knows|understands|"
    r"they['’]\w+)\b",
    "de": r"\b(?:ich|wir|du|man|mir|mich|dir|dich|uns|ist|sind|war|waren|bin|hat|habe|hatte|kann|können|"
    r"könnte|muss|müssen|"
    r"soll|sollen|sollte|will|möchte|würde|wird|werden|darf|gibt|fühle|kenne|weiß|bekomme|finde|hört|"
    r"kommt|ihr (?=$))\b",
    "fr": r"\b(?:je|j['’]\w+|nous|vous|ils?|elles?|on|c['’]est|est|sont|était|étaient|suis|sommes|avons|"
    r"ont|ai|peux|peut|"
    r"pouvons|doit|doivent|faut|m['’]\w+|me sens)\b",
    "es": r"\b(?:yo|me|nos|te|es|son|está|están|era|fue|fueron|estoy|tengo|tiene|tienen|tenemos|puedo|"
    r"puede|pueden|debe|"
    r"deben|siento|sé|hay|fuimos|soy)\b",
    "pt": r"\b(?:eu|nós|me|é|são|está|estão|era|foi|foram|estou|tenho|tem|têm|temos|posso|pode|podem|"
    r"deve|devem|sinto|sei|"
    r"há|sou|vai|vão)\b",
}
# Words with which a note to us begins, and no noun phrase.
_NOTE = {
    "en": r"(?:in|at|on|by|to|from|per|as|of|use|using|include|including|keep|make|add|show|let|please|"
    r"send|allow|start|end|"
    r"put|give|write|translate|address|avoid|simple|if|when|so|also|then|not|and|or|with)\s",
    "de": r"(?:in|im|per|auf|bei|am|an|zu[rm]?|von|vom|nach|bis|ab|als|bitte|einfache|anrede|mit|für|"
    r"wenn|falls|wer|auch|"
    r"nicht|und|oder|dass)\s",
    "fr": r"(?:en|à|au|aux|dans|par|pour|chez|si|merci|avec|aussi|veuillez|utiliser|ne|et|ou)\s",
    "es": r"(?:en|a|al|con|por|para|de|si|use|usar|tutear|también|no|y|o)\s",
    "pt": r"(?:em|no|na|com|por|para|de|se|use|usar|também|não|e|ou)\s",
}
_OWN = {  # Respondents speak so of themselves.
    "en": r"(?:i|i['’]\w+|we|my|our|the|this|it|there|people|everyone)\b",
    "de": r"(?:ich|wir|meine?[nrm]?|unsere?[nrm]?|der|die|das|es|man|mir)\b",
    "fr": r"(?:je|j['’]|nous|mon|ma|mes|notre|nos|le|la|les|l['’]|il|on|c['’])",
    "es": r"(?:yo|me|mis?|nuestr[oa]s?|el|la|los|las|tengo|puedo|siento|sé|estoy|hay)\b",
    "pt": r"(?:eu|me|meus?|minhas?|noss[oa]s?|o|a|os|as|tenho|posso|sinto|sei|estou|há)\b",
}
_VERY_OWN = (
    r"(?:i|i['’]\w+|we|my|ich|wir|meine?[nrm]?|mir|je|j['’]|nous|mon|ma|mes|yo|mis?|eu|meus?|minhas?|tengo|"
    r"tenho)(?:\s|(?<=['’]))"
)
_DAY = re.compile(
    rf"(?<!\w){DATE}(?!\w)|\b(?:mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|sam|dim|lunes|martes|"
    r"jueves|viernes|sáb|dom)[a-zé]{0,7}\.?\s{1,3}(?:the\s)?\d{1,2}\b",
    re.IGNORECASE,
)
_OPTION = re.compile(r"\b(?:options?|optionen|opción|opciones|opção|opções)$", re.IGNORECASE)
AGREEMENT = re.compile(
    r"\bagree(?:ment)?\b(?! to\b)|\bdisagree|\bstatements?\b|\blikert\b|\bzustimmung\b|\bstimme zu\b|"
    r"\baussagen?\b|"
    r"\bd['’]accord\b|\baffirmations?\b|\bde acuerdo\b|\bafirmaci\w+|\bconcord\w+|\bafirmaç\w+",
    re.IGNORECASE,
)


_WHOLE_DAY = re.compile(
    rf"(?:[^\W\d_]{{2,10}}\.?,?\s)?(?:the\s)?(?:\d{{1,2}}\.?\s?[-–]\s?)?{DATE}"
    r"(?:,?\s(?:(?:at|um|à|a las|às|@)\s)?\d{1,2}(?:[:.h]\d{2})?\s?(?:uhr|h|am|pm)?)?",
    re.IGNORECASE,
)


def is_day(phrase: str) -> bool:
    """Return whether a phrase is a day with its date and perhaps its time, and nothing else."""
    return _WHOLE_DAY.fullmatch(phrase.strip()) is not None


def is_noun_phrase(phrase: str, language: str) -> bool:
    """Return whether nothing shows that a phrase is a clause, a note to us or a day."""
    plain = phrase.replace("IT", "").replace("US", "").strip()
    return not (
        re.search(_CLAUSE[language], plain, re.IGNORECASE)
        or re.match(_NOTE[language], plain, re.IGNORECASE)
        or (len(plain.split()) > 3 and re.match(_VERY_OWN, plain, re.IGNORECASE))
        or _DAY.search(plain)
        or _OPTION.search(plain)
    )


def is_statement(phrase: str, language: str) -> bool:
    """Return whether a phrase is a sentence that people can agree with, without a question or an order."""
    begins = re.match(_OWN[language], phrase, re.IGNORECASE)
    is_clause = re.search(_CLAUSE[language], phrase, re.IGNORECASE) or re.match(
        _VERY_OWN, phrase, re.IGNORECASE
    )
    return bool(begins and is_clause) and len(phrase.split()) > 2
