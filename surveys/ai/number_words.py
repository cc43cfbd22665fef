"""Numbers and shares in words, in five languages: `twenty-one`, `zwei Drittel`, `la majorité`.

    found("Two thirds of twelve people")    a share of 66.7 %, then the number 12

Articles such as `a` and `une` are no numbers here. A word with another meaning in one of the other languages,
such as `once`, is a number only before a noun that people count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

# Nouns that people count: a whole number before one of these nouns is a number of people or of their answers.
COUNTED = (
    r"(?:people|persons?|members?|respondents?|participants?|answers?|responses?|votes?|customers?|users?"
    r"|personen|leute|mitglieder|teilnehmer\w*|antworten|stimmen|befragte\w*"
    r"|personnes?|membres|réponses?|voix|personas?|miembros|respuestas?|participantes|votos?"
    r"|pessoas?|membros|respostas?)\b"
)
_ONLY_BEFORE_NOUNS = {
    r"personas?|respuestas?|opciones": {"dos": 2, "once": 11},
    r"personnes?|réponses?": {"neuf": 9},
    r"personen|leute|antworten|mitglieder": {"elf": 11, "sex": 6},
    r"person|answer|response|vote|member|respondent|participant": {"one": 1},
}


def _list(words: str) -> list[str]:
    return words.split()


def _counted(names: Sequence[str], first: int) -> dict[str, int]:
    return {name: n for n, name in enumerate(names, first) if name != "-"}


def _english() -> dict[str, int]:
    low = _list(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    )
    tens = _list("twenty thirty forty fifty sixty seventy eighty ninety")
    named = {**_counted(low, 2), "a hundred": 100, "one hundred": 100, "a dozen": 12}
    ones = ["one", *low[:8]]
    for n, ten in enumerate(tens, 2):
        named[ten] = 10 * n
        named |= {f"{ten}{sign}{one}": 10 * n + k for sign in "- " for k, one in enumerate(ones, 1)}
    return named


def _german() -> dict[str, int]:
    low = _list(
        "zwei drei vier fünf sechs sieben acht neun zehn - zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn"
    )
    tens = _list("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
    named = {**_counted(low, 2), "hundert": 100, "einhundert": 100, "ein dutzend": 12, "dreissig": 30}
    for n, ten in enumerate(tens, 2):
        named[ten] = 10 * n
        named |= {f"{one}und{ten}": 10 * n + k for k, one in enumerate(["ein", *low[:8]], 1)}
    return named


def _french() -> dict[str, int]:
    low = _list("un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize")
    low += ["dix-sept", "dix-huit", "dix-neuf"]
    named = {name: n for n, name in enumerate(low, 1) if name not in ("un", "neuf")}
    tens = {"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60, "quatre-vingt": 80}
    for ten, value in tens.items():
        named |= {ten: value, f"{ten}s": value}
        above = low if value in (60, 80) else low[:9]
        named |= {f"{ten}-{one}": value + k for k, one in enumerate(above, 1)}
        named |= {f"{ten} et un": value + 1, f"{ten} et onze": value + 11}
    return {**named, "cent pour cent": 100, "une centaine": 100, "une dizaine": 10, "une douzaine": 12}


def _spanish() -> dict[str, int]:
    low = _list(
        "tres cuatro cinco seis siete ocho nueve diez - doce trece catorce quince dieciséis diecisiete "
        "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis "
        "veintisiete veintiocho veintinueve"
    )
    ones = ["uno", "dos", *low[:7]]
    named = {**_counted(low, 3), "veintiún": 21, "veintiuna": 21, "cien": 100, "una docena": 12}
    for n, ten in enumerate(_list("treinta cuarenta cincuenta sesenta setenta ochenta noventa"), 3):
        named[ten] = 10 * n
        named |= {f"{ten} y {one}": 10 * n + k for k, one in enumerate(ones, 1)}
    return named


def _portuguese() -> dict[str, int]:
    low = _list(
        "dois três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis dezessete "
        "dezoito dezenove"
    )
    ones = ["um", *low[:8]]
    named = {**_counted(low, 2), "duas": 2, "catorze": 14, "dezasseis": 16, "dezassete": 17, "dezanove": 19}
    for n, ten in enumerate(_list("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa"), 2):
        named[ten] = 10 * n
        named |= {f"{ten} e {one}": 10 * n + k for k, one in enumerate(ones, 1)}
    return {**named, "cem": 100, "uma dúzia": 12}


NUMBERS: Mapping[str, int] = {**_portuguese(), **_spanish(), **_french(), **_german(), **_english()}

# The bounds of shares in percent. A share in parts, such as a third, is right within this many percentage
# points.
_ABOUT = Decimal(3)


def _parts(share: str) -> tuple[Decimal, Decimal]:
    return Decimal(share) - _ABOUT, Decimal(share) + _ABOUT


_SHARES: Sequence[tuple[str, tuple[Decimal, Decimal]]] = [
    (
        r"(?:more than|over|mehr als die|über die|plus de la|más de la|mais da|mais de) (?:half|"
        r"hälfte|moitié|mitad|metade)",
        (Decimal("50.01"), Decimal(100)),
    ),
    (
        r"(?:less than|fewer than|under|weniger als die|moins de la|menos de la|menos da|menos de) "
        r"(?:half|hälfte|moitié|mitad|metade)",
        (Decimal(0), Decimal("49.99")),
    ),
    (r"two[- ]thirds|zwei drittel|deux[- ]tiers|dos tercios|dois terços|⅔", _parts("66.67")),
    (
        r"three[- ]quarters|drei ?viertel|trois[- ]quarts|tres cuart[oa]s(?: partes)?|três quartos|¾",
        _parts("75"),
    ),
    (
        r"(?:a|one)[- ]third|ein(?:em)? drittel|un tiers|un tercio|una tercera parte|um terço|"
        r"uma terça parte|⅓",
        _parts("33.33"),
    ),
    (
        r"(?:a|one)[- ]quarter|ein(?:em)? viertel|un quart|un cuarto|una cuarta parte|um quarto|¼",
        _parts("25"),
    ),
    (r"(?:a|one)[- ]fifth|ein(?:em)? fünftel|un cinquième|un quinto|um quinto", _parts("20")),
    (r"(?:a|one)[- ]tenth|ein(?:em)? zehntel|un dixième|un décimo|um décimo", _parts("10")),
    (r"half|halves|hälfte|moitié|mitad|metade|½", _parts("50")),
    (
        r"majority|mehrheit|majorité|mayoría|maioria|most (?:people|members|respondents|participants|"
        r"of them)",
        (Decimal("50.01"), Decimal(100)),
    ),
    (r"minority|minderheit|minorité|minoría|minoria", (Decimal(0), Decimal("49.99"))),
    (
        r"nobody|no one|none of (?:them|the)|niemand|nadie|ninguém|aucun(?:e)?",
        (Decimal(0), Decimal(0)),
    ),
    (r"everybody|everyone|all of them|tout le monde|todo el mundo", (Decimal(100), Decimal(100))),
]
_WORDS = re.compile(
    "|".join(
        [
            *(rf"(?P<share{n}>(?<!\w)(?:{words})(?!\w))" for n, (words, _) in enumerate(_SHARES)),
            *(
                rf"(?P<noun{n}>\b(?:{'|'.join(words)})(?= (?:{nouns})\b))"
                for n, (nouns, words) in enumerate(_ONLY_BEFORE_NOUNS.items())
            ),
            rf"(?P<number>\b(?:{'|'.join(sorted(map(re.escape, NUMBERS), key=len, reverse=True))})\b)",
        ]
    ),
    re.IGNORECASE,
)
_BEFORE_NOUNS = {word: n for words in _ONLY_BEFORE_NOUNS.values() for word, n in words.items()}


@dataclass(frozen=True, slots=True)
class NumberInWords:
    """Words at a place of a text: a number, or a share between two bounds in percent."""

    words: str
    end: int
    number: int | None = None
    share: tuple[Decimal, Decimal] | None = None


def found(text: str) -> Iterator[NumberInWords]:
    """Each number and each share in words, in the order of the text."""
    for match in _WORDS.finditer(text):
        words, kind = match[0].lower(), match.lastgroup or ""
        if kind.startswith("share"):
            yield NumberInWords(words, match.end(), share=_SHARES[int(kind.removeprefix("share"))][1])
        else:
            number = NUMBERS[words] if kind == "number" else _BEFORE_NOUNS[words]
            yield NumberInWords(words, match.end(), number=number)
