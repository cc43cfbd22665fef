"""Indirect questions put to the respondents: `whether they own a car` → `Do you own a car?`.

    question_from("warum sie kündigen", "de")   → Warum kündigst du?
    question_from("the new canteen", "en")      → None, because it is no clause

Each language has its own rules for word order and endings. A clause that fits none of the rules gives None.
"""

from __future__ import annotations

import re
from collections.abc import Container

from surveys.ai.local.drafts.stems import word_set

_MAX_LENGTH = 200  # A longer clause, in characters, is not converted.
_TRAILING = " .,;:!?-–—"
# Nouns for people in an intent, whom the question then addresses as `you`.
PEOPLE = {
    "en": r"(?:the |our |your |all |most |these |new )?(?:people|members|customers|clients|users|visitors|"
    r"guests|"
    r"employees|staff|students|parents|players|participants|attendees|readers|listeners|volunteers|donors|"
    r"patients|respondents|everyone|everybody|folks|subscribers|colleagues|residents)",
    "de": r"(?:die |unsere |alle |eure )?(?:Leute|Mitglieder|Kunden|Kundinnen|Gäste|Nutzer|Mitarbeiter|"
    r"Mitarbeitenden|"
    r"Kollegen|Teilnehmer|Teilnehmenden|Eltern|Schüler|Besucher|Spender|Patienten|Spieler|Leser)",
    "fr": r"(?:les |nos |vos )(?:gens|membres|clients|utilisateurs|employés|salariés|participants|parents|"
    r"élèves|"
    r"visiteurs|donateurs|patients|joueurs|lecteurs|invités|bénévoles|adhérents)",
    "es": r"(?:la gente|(?:los |las |nuestros |nuestras )(?:socios|miembros|clientes|usuarios|empleados|"
    r"participantes|"
    r"padres|alumnos|visitantes|donantes|pacientes|jugadores|lectores|invitados|vecinos))",
    "pt": r"(?:as pessoas|(?:os |as |nossos |nossas )(?:membros|clientes|usuários|funcionários|"
    r"participantes|pais|"
    r"alunos|visitantes|doadores|pacientes|jogadores|leitores|convidados|moradores|sócios))",
}


def _pairs(text: str) -> dict[str, str]:
    """Words by other words, from a text such as `left:leave chose:choose`."""
    return dict(pair.split(":") for pair in text.split())


def question_from(clause: str, language: str) -> str | None:
    """The question to the respondents that a clause reports, or None."""
    clause = " ".join(clause.split()).strip(_TRAILING).replace("’", "'")
    if not clause or len(clause) > _MAX_LENGTH:
        return None
    question = _WRITERS[language](clause)
    return None if question is None else question[:1].upper() + question[1:]


# --- English --------------------------------------------------------------------------------------

_EN_AUXILIARIES = word_set(
    "would will can could should have has had are is were was do does did might may must shall am"
)
_EN_CONTRACTIONS = {"'d": "would", "'ll": "will", "'ve": "have", "'re": "are"}
_EN_WH = r"(?:at |in |on |for |to |from |with )?(?:what|which|who|whom|whose|when|where|why|how)"
_EN_WORDS = {"they": "you", "them": "you", "their": "your", "theirs": "yours", "themselves": "yourself"}
_EN_PAST = _pairs(
    """
    left:leave chose:choose came:come bought:buy went:go felt:feel heard:hear found:find got:get
    made:make saw:see took:take thought:think knew:know gave:give paid:pay spent:spend met:meet
    began:begin understood:understand learnt:learn ate:eat drank:drink drove:drive wrote:write
    became:become kept:keep lost:lose won:win said:say told:tell brought:bring broke:break
    forgot:forget slept:sleep sent:send quit:quit read:read
    """
)
_EN_E = word_set(
    """liked used moved decided received changed improved noticed experienced hoped disliked loved
    hated achieved arrived believed lived shared solved saved subscribed unsubscribed completed donated
    created purchased exercised practised practiced valued graduated invited rated"""
)
_EN_NO_DEGREE = word_set("many much often long old far soon come to about so")
_EN_DETERMINERS = word_set("the their our your this that these those it its her his")
_EN_NO_PAST = word_set("need feed speed red bed seed exceed succeed proceed indeed")


# Clauses about one other person or thing: `how their child gets to school`.
_EN_OTHERS = re.compile(
    r"(?P<wh>how|where|when|why|what)\s(?P<who>(?:their|the|our)\s\w+)\s(?P<verb>(?!is\b|was\b|has\b|does\b)[a-z]{1,20}[^su\W]s)\s(?P<rest>.+)",
    re.IGNORECASE,
)


# `you` is the object of these verbs: `what keeps you away`.
_EN_MOVED = re.compile(
    r"(?:what|who|which \w+) (?:keeps|stops|stopped|prevents|holds|slows|annoys|annoyed|bothers|"
    r"bothered|brings|brought|makes|made|"
    r"drives|motivates|motivated|helps|helped|worries|frustrates|frustrated|interests|attracts|puts|gets|surprised|"
    r"convinced|confused) (?:you|them|people)\b",
    re.IGNORECASE,
)
# Those who serve the respondents: `were staff kind` does not address the respondents.
_SERVING = {
    "en": r"staff|employees|volunteers|colleagues|players",
    "de": r"Mitarbeiter|Mitarbeitenden|Kollegen",
    "fr": r"employés|salariés|bénévoles",
    "es": r"empleados",
    "pt": r"funcionários",
}
_OF_SERVICE = (
    r"\b(?:kind|friendly|polite|helpful|rude|nice|courteous|professional|attentive|knowledgeable|respectful|competent|"
    r"freundlich|höflich|nett|hilfsbereit|kompetent|unfreundlich|gentils?|aimables?|polis?|compétents?|serviables?|"
    r"amables?|educad[oa]s?|simpátic[oa]s?|gentis|gentil|atencios[oa]s?)\b"
)


_EN_THINKING = re.compile(
    r"\b(?<=\s)[a-z]+(?:ers|ors|ents|ants|ees)\b(?= (?:think|feel|want|like|need|say|use|prefer|expect|"
    r"know|find)\b)",
    re.IGNORECASE,
)


def _asked_people(clause: str, language: str, pronoun: str) -> str:
    """Return a clause with a pronoun for the people who answer."""
    serves = re.search(rf"\b(?:{_SERVING[language]})\b", clause, re.IGNORECASE)
    if serves and re.search(_OF_SERVICE, clause, re.IGNORECASE):
        return clause
    if language == "en":
        clause = _EN_THINKING.sub(pronoun, clause)
    return re.sub(
        rf"\b{PEOPLE[language]}\b(?=\s{{1,3}}\w)(?! (?:who|at the|behind)\b)",
        pronoun,
        clause,
        flags=re.IGNORECASE,
    )


def _en_base(verb: str) -> str:
    """The base of a verb in the third person: `tries` → `try`."""
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if re.search(r"(?:[sxz]|ch|sh|o)es$", verb) else verb[:-1]


def _english(clause: str) -> str | None:
    clause = _asked_people(clause, "en", "they")
    if match := re.fullmatch(r"how (?P<adjective>\w+)", clause, re.IGNORECASE):
        return f"how {match['adjective']} is it?" if match["adjective"].lower() not in _EN_NO_DEGREE else None
    if match := re.fullmatch(
        r"how (?P<how>likely|willing|inclined|ready) (?:(?:they|you) (?:are|"
        r"would be) )?to (?P<rest>.+)",
        clause,
        re.IGNORECASE,
    ):
        return _addressed(["how", match["how"], "are", "you", "to", *match["rest"].split()])
    if match := re.fullmatch(
        r"(?:they |you |people )?(?:must |have to |need to |should )?(?:agree to|"
        r"accept|consent to) (?P<what>.+)",
        clause,
        re.IGNORECASE,
    ):
        return _addressed(["do", "you", "agree", "to", *match["what"].split()])
    if _EN_MOVED.match(clause):
        return _addressed(clause.split())
    if match := re.fullmatch(r"hours (?P<verb>\w+)(?P<rest> .+)?", clause, re.IGNORECASE):
        base = _base(match["verb"].lower())
        is_past = base != match["verb"].lower()
        return f"how many hours do you {base}{match['rest'] or ''}?" if is_past else None
    if match := _EN_OTHERS.fullmatch(clause):
        return _addressed(
            [match["wh"], "does", *match["who"].split(), _en_base(match["verb"]), match["rest"]]
        )
    if re.match(r"(?:what|who|where|how|when)'s \w", clause, re.IGNORECASE):
        return f"{clause}?"
    words = _expanded(clause.split())
    first = words[0].lower()
    if first in ("whether", "if"):
        return _english_closed(words[1:])
    wh = re.match(rf"{_EN_WH}\b", clause, re.IGNORECASE)
    if wh is None:
        is_question = first in _EN_AUXILIARIES and len(words) > 2
        return _addressed(words) if is_question else None
    if "to" in (lower := [word.lower() for word in words]) and not {"they", "we", "you"} & set(lower):
        place = lower.index("to")
        if (
            0 < place < 4
            and len(words) > place + 1
            and (
                lower[place - 1] not in ("want", "like", "need")
                and lower[place + 1] not in ("them", "the", "our", "us")
            )
        ):
            return _addressed([*words[:place], "should", "we", *words[place + 1 :]])
    for subject in ("they", "we", "you", "i"):
        if subject in lower[1:]:
            place = lower.index(subject, 1)
            before, after = words[:place], words[place + 1 :]
            if before[-1].lower() in _EN_AUXILIARIES:  # The clause is a direct question already.
                return _addressed(words)
            if not after:
                return None
            return _addressed([*before, *_inverted(subject, after)])
    if len(words) < 2:
        return None
    if any(
        word in _EN_AUXILIARIES for word in lower[1:3]
    ):  # Examples are `how was the food` and `what would bring them back`.
        return _addressed(words)
    last = next((n for n, word in enumerate(lower) if n > 1 and word in ("is", "was", "are", "were")), None)
    if last is not None and lower[0] == "how" and len(lower) > 3 and lower[2] in _EN_DETERMINERS:
        return _addressed([*words[:2], words[last], *words[2:last], *words[last + 1 :]])  # `how clean it was`
    if last is not None:  # An example is `how the food was`.
        return _addressed([words[0], words[last], *words[1:last], *words[last + 1 :]])
    is_subject = lower[0] in ("what", "who", "which")  # An example is `what matters most to them`.
    if lower[0] in ("what", "which") and len(words) == 2 and not lower[1].endswith("s"):
        return _addressed(words)  # An example is `which brand`.
    if lower[0] == "which" and len(words) > 3 and lower[2].endswith("s"):
        return _addressed(words)  # An example is `which day suits them`.
    is_verb = lower[1].endswith(("ed", "es", "s")) or lower[1] in _EN_PAST
    return _addressed(words) if is_verb and (is_subject or lower[1].endswith("ed")) else None


def _english_closed(words: list[str]) -> str | None:
    lower = [word.lower() for word in words]
    for subject in ("they", "we", "you"):
        if lower[:1] == [subject] and len(words) > 1:
            return _addressed(_inverted(subject, words[1:]))
    for place, word in enumerate(lower):
        if word in _EN_AUXILIARIES and 0 < place < len(words) - 1:
            return _addressed([words[place], *words[:place], *words[place + 1 :]])
    return None


def _inverted(subject: str, after: list[str]) -> list[str]:
    """`you would like` → `would you like`; `you liked` → `did you like`; `you like` → `do you like`."""
    adverbs = []
    while len(after) > 1 and after[0].lower() in (
        "really",
        "mostly",
        "mainly",
        "usually",
        "normally",
        "often",
        "always",
        "sometimes",
        "typically",
        "generally",
        "actually",
        "first",
        "recently",
        "only",
        "still",
        "already",
        "ever",
        "also",
        "currently",
        "now",
    ):
        adverbs.append(after[0])
        after = after[1:]
    verb = after[0].lower()
    is_main = verb in ("have", "had", "do", "did") and not (len(after) > 1 and _is_participle(after[1]))
    if verb in _EN_AUXILIARIES and not is_main:
        return [verb, subject, *adverbs, *after[1:]]
    base = {"had": "have", "did": "do"}.get(verb) or _base(verb)
    return ["did" if base != verb or verb in ("had", "did") else "do", subject, *adverbs, base, *after[1:]]


def _is_participle(word: str) -> bool:
    return word.lower().endswith(("ed", "en", "ne")) or word.lower() in {*_EN_PAST, "been", "not", "to"} - {
        "to"
    }


def _base(verb: str) -> str:
    """The base of a verb in the past tense; any other word as it is."""
    if verb in _EN_PAST:
        return _EN_PAST[verb]
    if not verb.endswith("ed") or verb in _EN_NO_PAST or len(verb) < 5:
        return verb
    if verb in _EN_E:
        return verb[:-1]
    if verb.endswith("ied"):
        return f"{verb[:-3]}y"
    if verb.endswith("elled"):
        return verb[:-3]
    is_doubled = verb[-3] == verb[-4] and verb[-3] not in "lsz"
    return verb[:-3] if is_doubled else verb[:-2]


def _expanded(words: list[str]) -> list[str]:
    expanded: list[str] = []
    for word in words:
        stem, ending = word[: word.rfind("'")], word[word.rfind("'") :]
        is_contracted = ending.lower() in _EN_CONTRACTIONS and stem.lower() in ("they", "we", "you")
        expanded += [stem, _EN_CONTRACTIONS[ending.lower()]] if is_contracted else [word]
    return expanded


def _addressed(words: list[str]) -> str:
    return " ".join(_EN_WORDS.get(word.lower(), word) for word in words) + "?"


# --- German ---------------------------------------------------------------------------------------

_DE_WH = word_set(
    "was wer wen wem wie wo wann warum wieso weshalb woher wohin womit worüber wofür woran worauf wovon "
    "welche "
    "welcher welches welchen welchem ob"
)
_DE_FINITE = word_set(
    "ist war waren sind hat haben hatte hatten soll sollen sollte sollten will wollen kann können konnte "
    "könnt "
    "könnte könnten müsste müssten wäre wären würde würden würdest würdet wird werden muss müssen darf "
    "dürfen möchte möchten hast "
    "habt bist "
    "seid fehlt gefällt passt findet findest fandet wünscht hätte hätten gibt kommt"
)
_DE_DU = _pairs(
    """
    haben:hast sind:bist waren:warst hatten:hattest würden:würdest können:kannst könnten:könntest
    wollen:willst möchten:möchtest sollen:sollst sollten:solltest müssen:musst dürfen:darfst
    werden:wirst hätten:hättest fahren:fährst lesen:liest essen:isst geben:gibst nehmen:nimmst
    sehen:siehst sprechen:sprichst treffen:triffst schlafen:schläfst tragen:trägst laufen:läufst
    helfen:hilfst empfehlen:empfiehlst wissen:weißt lassen:lässt halten:hältst erfahren:erfährst
    verlassen:verlässt wollten:wolltest konnten:konntest
    """
)
_DE_JOINTS = word_set("damit dass wenn weil sodass obwohl falls bevor nachdem und oder muss müsste")
_DE_VERB = re.compile(
    r"^(?:[a-zäöüß]+(?:en|ern|eln|t)|tun|sei|war|ist|soll|will|kann|muss|darf|mag|hätte|wäre|würde|könnte|sollte|müsste|wird|hat)$"
)
_DE_SEPARABLE = re.compile(r"(mit|ein|aus|an|ab|auf|vor|teil|zurück|her|hin|nach|los|bei|um)(?=\w{4,}en$)")
_DE_SUBJECTS = word_set(
    "sie wir ihr man der die das den unser unsere unseren es ihnen euch dein deine dir du"
)
# Verbs with which `sich` is in the dative case.
_DE_DATIVE = re.compile(r"\b(?:wünsch|vorstell|merk|leist|erhoff|anschau|anseh|kauf|überleg|vornehm)\w*$")
_DE_DIRECT = re.compile(
    r"^((?:(?:an|in|mit|für|auf|bei|von|zu)\s)?(?:was|wen|wem|wie|wo|wann|warum|woher|wohin|womit|welche[rsn]?)\s"
    r"(?:(?:oft|lange|viel|gern|häufig|gut|sehr)\s)?)(?!(?:un)?zufrieden|offen|selten|verschieden|trocken)([a-zäöüß]+(?:en|ern|eln))\s(?:sie)\b",
    re.IGNORECASE,
)
_DE_INNER = re.compile(r"\b(damit|dass|wenn|weil) sie\b([^?,]{0,60}\s)([a-zäöüß]+en)(?=\?|$)", re.IGNORECASE)
_DE_WORDS = {"ihnen": "dir", "sich": "dich", "ihr": "dein", "ihre": "deine", "ihren": "deinen",
             "ihrem": "deinem", "ihrer": "deiner", "ihres": "deines"}  # fmt: skip


def addressed(question: str, language: str) -> str:
    """Turn a question about `they` or `sie` into a question to the respondents; return other questions as
    they are.
    """
    if language == "en" and re.search(r"\b(?:they|them|their)\b", question, re.IGNORECASE):
        return question_from(question, language) or question
    if language != "de":
        return question

    def of_du(match: re.Match[str]) -> str:
        verb = _DE_DU[match[1].lower()]
        return f"{verb.capitalize() if match[1][0].isupper() else verb} du"

    question = re.sub(
        rf"\b({'|'.join(_DE_DU)}|{'|'.join(map(str.capitalize, _DE_DU))}) sie\b", of_du, question
    )
    question = _DE_DIRECT.sub(lambda match: f"{match[1]}{_du(match[2]) or match[2]} du", question)
    return _DE_INNER.sub(lambda match: f"{match[1]} du{match[2]}{_du(match[3]) or match[3]}", question)


def _german(clause: str) -> str | None:
    clause = _asked_people(clause, "de", "sie")
    words = clause.split()
    lower = [word.lower() for word in words]
    start = (
        1
        if lower[0] in ("an", "in", "mit", "für", "auf", "bei", "von", "zu", "bis", "seit", "aus", "über")
        else 0
    )
    if lower[start : start + 1] == [] or lower[start] not in _DE_WH:
        is_question = lower[0] in _DE_FINITE and (len(words) > 2 or lower[1:] in (["du"], ["ihr"]))
        return addressed(f"{clause}?", "de") if is_question else None
    if len(words) < start + 2:
        return None
    if re.match(r"(?:\S+\s){1,3}\S+t (?:du|dich|dir|ihr|euch)\b", clause):  # `wie oft trainierst du`
        return f"{clause}?"
    end = start + 1  # The index after the question words.
    if lower[0] != "ob":
        while (
            end < len(words) - 1
            and lower[end] not in _DE_SUBJECTS | _DE_FINITE
            and lower[end] != "am"
            and end < start + 3
        ):
            end += 1
        is_plain = lower[start] not in ("wie", "welche", "welcher", "welches", "welchen", "welchem")
        end = start + 1 if is_plain else end
        is_final = len(words) == end + 2 and lower[-1] in _DE_FINITE  # An example is `was gefehlt hat`.
        is_direct = lower[-1] in ("meisten", "besten", "liebsten", "wenigsten") or _DE_DIRECT.match(clause)
        if is_direct or (lower[end] in _DE_FINITE and end < len(words) - 1 and not is_final):
            return addressed(f"{clause}?", "de")
    asking = [] if lower[0] == "ob" else words[:end]
    rest = words[end:]
    if (
        len(rest) > 1
        and [word.lower() for word in rest[1:2]] in (["hätten"], ["hatten"], ["hätte"])
        and rest[-1] in ("können", "sollen", "müssen")
    ):  # An example is `was wir hätten besser machen können`.
        return " ".join([*asking, rest[1], rest[0], *rest[2:]]) + "?"
    if any(word.lower() in _DE_JOINTS for word in rest):
        return None  # A clause in the clause has an order of its own.
    verb, rest = rest[-1], rest[:-1]
    verb_said = verb
    if not _DE_VERB.search(verb):
        return None
    if verb in ("können", "sollen", "müssen") and "hätten" in rest:
        rest.remove("hätten")
        rest, verb = [*rest, verb], "hätten"
    particle = ""
    if "sie" in [word.lower() for word in rest]:
        place = [word.lower() for word in rest].index("sie")
        rest = [*rest[:place], *rest[place + 1 :]]
        if verb not in _DE_DU and (match := _DE_SEPARABLE.match(verb)):
            particle, verb = match[1], verb[match.end() :]
        form = _du(verb)
        if form is None:
            return None
        verb = form
        if _DE_DATIVE.search(verb_said):
            rest = ["dir" if word == "sich" else word for word in rest]
        middle = ["du", *(_DE_WORDS.get(word.lower(), word) for word in rest)]
    else:
        middle = [_DE_WORDS.get(word, word) if word in ("ihnen", "sich") else word for word in rest]
    if not verb[:1].islower():
        return None
    return " ".join(part for part in [*asking, verb, *middle, particle] if part) + "?"


def _du(verb: str) -> str | None:
    """The form for `du` of a verb in the plural."""
    if verb in _DE_DU:
        return _DE_DU[verb]
    if not verb.endswith("n") or not verb.islower():
        return None
    stem = verb[:-2] if verb.endswith("en") else verb[:-1]
    if stem.endswith(("t", "d")):
        return f"{stem}est"
    return f"{stem}t" if stem.endswith(("s", "ß", "z", "x")) else f"{stem}st"


# --- French ---------------------------------------------------------------------------------------

_FR_VOUS = _pairs(
    """
    ont:avez sont:êtes font:faites vont:allez disent:dites viennent:venez peuvent:pouvez
    veulent:voulez doivent:devez prennent:prenez savent:savez reçoivent:recevez
    connaissent:connaissez voient:voyez reviennent:revenez boivent:buvez apprennent:apprenez
    croient:croyez
    """
)
_FR_ASKING = (
    r"(?:pourquoi|comment|quand|où|combien(?: de \w+)?|à quelle \w+|quel(?:le)?s? [\w'-]+|avec "
    r"qui|d'où|depuis quand)"
)
# The respondents are the object of these verbs: `quel jour leur convient`.
_FR_SUITED = re.compile(
    r"\b(?:leur|les)\b(?= (?:conv[ie]\w+|arrang\w+|pla[iî]\w+|va\b|irait|manqu\w+|intéress\w+|gên\w+))",
    re.IGNORECASE,
)
_FR_BEFORE_VERB = word_set("ne se en y nous le la les")


def _french(clause: str) -> str | None:
    clause = re.sub(rf"\b{PEOPLE['fr']}\b(?=\s{{1,3}}\w)", "ils", clause, flags=re.IGNORECASE)
    clause = re.sub(r"\bsi (?=ils\b|elles\b)", "s'", clause, flags=re.IGNORECASE)
    clause = re.sub(r"^ce (?=qu)", "", clause, flags=re.IGNORECASE)
    if match := re.match(r"qui\b (?P<rest>.+)", clause, re.IGNORECASE):
        return f"qu'est-ce qui {_fr_words(match['rest'])} ?"
    if match := re.match(r"qu(?:e |')(?:ils|elles) (?P<rest>.+)", clause, re.IGNORECASE):
        return _asked("qu'est-ce que", match["rest"])
    if match := re.match(r"qu(?P<joint>e |')(?P<rest>(?!est-ce).+)", clause, re.IGNORECASE):
        if re.search(r"-(?:vous|tu|nous|on|ils)\b", clause):
            return f"{clause} ?"
        return f"qu'est-ce qu{match['joint']}{match['rest']} ?"
    if match := re.match(r"s'(?:ils|elles) (?P<rest>.+)", clause, re.IGNORECASE):
        return _asked("est-ce que", match["rest"])
    if match := re.match(r"si (?P<rest>.+)", clause, re.IGNORECASE):
        return f"est-ce que {match['rest']} ?"
    if match := re.match(rf"(?P<asking>{_FR_ASKING})\b ?(?P<rest>.*)", clause, re.IGNORECASE):
        asking, rest = match["asking"], match["rest"]
        if subject := re.match(r"(?P<noun>.*?)\b(?:ils|elles) (?P<rest>.+)", rest, re.IGNORECASE):
            return _asked(f"{asking} {subject['noun'].strip()}".strip() + " est-ce que", subject["rest"])
        return f"{_FR_SUITED.sub('vous', clause)} ?" if rest else None
    return f"{clause} ?" if re.match(r"[\w']+-(?:vous|tu|t-il|ils?|nous)\b", clause, re.IGNORECASE) else None


def _asked(asking: str, rest: str) -> str | None:
    words = rest.split()
    place = next((n for n, word in enumerate(words) if word.lower() not in _FR_BEFORE_VERB), None)
    if place is None:
        return None
    verb = re.sub(r"^(n|l|s|m|y|j)'", r"\1'", words[place])
    prefix, _, verb = verb.rpartition("'")
    form = _vous(verb)
    if form is None:
        return None
    verb = form
    before = ["vous" if word in ("se",) else word for word in words[:place]]
    joined = f"{prefix}'{verb}" if prefix and prefix != "s" else f"vous {verb}" if prefix == "s" else verb
    return f"{asking} vous {' '.join([*before, joined, *_fr_words(' '.join(words[place + 1 :])).split()])} ?"


def _vous(verb: str) -> str | None:
    if verb in _FR_VOUS:
        return _FR_VOUS[verb]
    if verb.endswith("aient"):
        return f"{verb[:-5]}iez"
    return f"{verb[:-3]}ez" if verb.endswith("ent") else None


def _fr_words(text: str) -> str:
    text = re.sub(r"\bleurs\b", "vos", text)
    return re.sub(
        r"\bleur (?=\w+(?:e|ent|é|ait|ont|a)\b)", "vous ", re.sub(r"\bleur\b(?= \w+ )", "votre", text)
    )


# --- Spanish --------------------------------------------------------------------------------------

_ES_TU = _pairs(
    """
    son:eres están:estás han:has tienen:tienes quieren:quieres pueden:puedes hacen:haces dan:das
    van:vas fueron:fuiste hicieron:hiciste tuvieron:tuviste estuvieron:estuviste vinieron:viniste
    dijeron:dijiste
    """
)
_ES_ASKING = (
    r"(?:por qué|para qué|con qué \w+|(?:en |a |de )?qué(?: \w+(?: \w+)?(?= (?:les|te|le|se|nos|\w+n)\b))?|"
    r"cómo|cuándo|dónde|cuál(?:es)?|cuánt[oa]s?(?: (?:veces|años|horas|días|personas|hijos|meses|minutos|"
    r"tiempo))?|"
    r"quién(?:es)?|cada cuánto)"
)
_ES_NO_VERB = word_set("con en un sin bien tan también según ningún algún comían razón")
_ES_BEFORE_VERB = {
    "se": "te",
    "les": "te",
    "nos": "nos",
    "lo": "lo",
    "la": "la",
    "no": "no",
    "ya": "ya",
    "los": "los",
}


_ES_ASKED = re.compile(
    r"^((?:por|para|con|en|a|de|cada)\s)?(que|cual(?:es)?|como|cuando|donde|cuant[oa]s?|quien(?:es)?)\b",
    re.IGNORECASE,
)
_ES_ACCENTS = {"que": "qué", "cual": "cuál", "como": "cómo", "cuan": "cuán", "dond": "dónd", "quie": "quié"}


def with_accents(clause: str) -> str:
    """Return a clause in Spanish whose question word has its accent: `cuantas veces` → `cuántas veces`."""
    return _ES_ASKED.sub(
        lambda match: f"{match[1] or ''}{_ES_ACCENTS[match[2][:4].lower()]}{match[2][4:].lower()}", clause
    )


def _spanish(clause: str) -> str | None:
    clause = with_accents(re.sub(r"^porqu[eé]\b", "por qué", clause, flags=re.IGNORECASE))
    clause = re.sub(rf"\b{PEOPLE['es']}\b\s{{1,3}}(?=\w)", "", clause, flags=re.IGNORECASE)
    parts = _before_and_after_verb(clause, rf"si |(?:{_ES_ASKING})\b ?|lo que ", _ES_BEFORE_VERB)
    if parts is None:
        return None
    asking, before, verb, after = parts
    if not re.search(r"(?:[aeé]n|[aáeéií]s?|ó|aron|ieron|o|mos|ía|ían)$", verb.lower()):
        return None
    if verb != _tu(verb) and re.search(r"(?<!\bde )(?<!\bcon )(?<!\ba )\bsus \w+$", clause):
        return None  # Somebody else is the subject: `por qué se fueron sus amigos`.
    asking = {"si": "", "lo que": "qué"}.get(asking.lower(), asking)
    verb = verb if "les" in map(str.lower, before) else _tu(verb)
    before = [_ES_BEFORE_VERB[word.lower()] for word in before]
    after = [{"su": "tu", "sus": "tus"}.get(word, word) for word in after]
    question = " ".join(part for part in [asking, *before, verb, *after] if part)
    return f"¿{question[:1].upper()}{question[1:]}?"


def _before_and_after_verb(
    clause: str, asking: str, before_verb: Container[str]
) -> tuple[str, list[str], str, list[str]] | None:
    """Split a clause in Spanish or Portuguese: the question words, the words before the verb, the verb and
    the rest.
    """
    match = re.match(rf"(?P<asking>{asking})(?P<rest>.*)", clause, re.IGNORECASE)
    if match is None or not match["rest"]:
        return None
    words = match["rest"].split()
    place = next((n for n, word in enumerate(words[:-1]) if word.lower() not in before_verb), len(words) - 1)
    return match["asking"].strip(), words[:place], words[place], words[place + 1 :]


def _tu(verb: str) -> str:
    if verb in _ES_TU:
        return _ES_TU[verb]
    if verb.endswith("aron"):
        return f"{verb[:-4]}aste"
    if verb.endswith("ieron"):
        return f"{verb[:-5]}iste"
    return f"{verb[:-1]}s" if verb.endswith(("an", "en")) and verb not in _ES_NO_VERB else verb


# --- Portuguese -----------------------------------------------------------------------------------

_PT_VOCE = _pairs(
    """
    são:é estão:está têm:tem vão:vai dão:dá fazem:faz querem:quer podem:pode foram:foi vêm:vem
    trazem:traz tiveram:teve fizeram:fez vieram:veio preferem:prefere conhecem:conhece saíram:saiu
    saem:sai gostariam:gostaria
    """
)
_PT_ASKING = (
    r"(?:por que|para que|com que \w+|(?:em |a |de |d)?(?:o )?que(?: \w+(?= (?:se |mais |eles )?\w+m\b))?|"
    r"como|quando|onde|"
    r"(?:em )?qua(?:l|is)(?: \w+(?= \w+m\b))?|quant[oa]s?(?: (?:vezes|anos|horas|dias|pessoas|filhos|"
    r"meses|minutos|tempo))?"
    r"(?: por (?:semana|mês|ano))?|quem)"
)
_PT_BEFORE_VERB = word_set("não mais já se os as o a eles elas lhes ainda nos")


def _portuguese(clause: str) -> str | None:
    clause = re.sub(r"^porqu[eê]\b", "por que", clause, flags=re.IGNORECASE)
    clause = re.sub(rf"\b{PEOPLE['pt']}\b\s{{1,3}}(?=\w)", "eles ", clause, flags=re.IGNORECASE)
    clause = re.sub(r"\b(o que|quando|como|onde) eles\b", r"\1", clause, flags=re.IGNORECASE)
    parts = _before_and_after_verb(clause, rf"se |(?:{_PT_ASKING})\b ?", _PT_BEFORE_VERB)
    if parts is None:
        return None
    asking, before, verb, after = parts
    is_addressed = _voce(verb) != verb or "eles" in map(str.lower, before)
    subject = ["você"] if is_addressed and "você" not in clause.lower() else []
    before = [word for word in before if word.lower() not in ("eles", "elas", "lhes")]
    asking = "" if asking.lower() == "se" else asking
    question = " ".join(part for part in [asking, *subject, *before, _voce(verb), *after] if part)
    return f"{question}?"


def _voce(verb: str) -> str:
    if verb in _PT_VOCE:
        return _PT_VOCE[verb]
    for ending, singular in (("aram", "ou"), ("eram", "eu"), ("iram", "iu"), ("am", "a"), ("em", "e")):
        if verb.endswith(ending) and len(verb) > len(ending) + 1:
            return verb.removesuffix(ending) + singular
    return verb


_WRITERS = {"en": _english, "de": _german, "fr": _french, "es": _spanish, "pt": _portuguese}
