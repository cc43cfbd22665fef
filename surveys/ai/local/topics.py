"""What an intent is about, as a noun phrase that a question can take in.

    candidates("a 5 question survey about the new rules for moderators")   → the new rules for moderators

Plain rules over English: first what is in quotation marks, then what follows `about`, `on`, `of`, then what
stands before `survey` or `quiz`, then what follows `for`, then `our …` and `the …`, then names. Which of the
candidates is used is for `filling` to say: one that only repeats what the template is anyway (`the event` for
event feedback) is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from surveys.ai.local.stems import EMPTY, word_set, words

LONGEST = 60  # characters
_MOST_WORDS = 9

_QUOTED = re.compile(r"[“„«\"]\s*([^“”„«»\"\n]{2,80}?)\s*[”“»\"]")
_STOP = re.compile(
    r"[.,;:!?()\[\]{}<>|\n\r\"“”„«»*#=]|\s[-–—/]+\s|…|"
    r"\b(?:that|which|who|whose|where|when|while|because|since|so|please|asking|asks?|includ(?:e|es|ing)|covering|"
    r"using|with|without|via|plus|but|if|whether|how|what|why|we|i|i'm|they|you|it|should|must|can|could|would|will|"
    r"is|are|was|were|be|been|being|do|does|did|doing|called|named|held|think|thinks|like|likes|feel|feels|"
    r"prefer|has|have|had|make|create|need|needs|want|wants|until|before|after|at|to|then|also|"
    r"(?:from|on a scale of) \d|and (?:then|also|give|show|tell|find|get|see|one|two|three|\d+))\b",
    re.IGNORECASE,
)
_AFTER_ABOUT = re.compile(
    r"\b(?:about|regarding|concerning|covering|on the (?:topic|subject|theme) of|"
    r"(?:topic|subject|theme)\s*(?:is|:)|related to|in favou?r of|opinions? (?:on|of)|"
    r"thoughts? on|views? on|feedback on|attitudes? (?:to|towards))\s+",
    re.IGNORECASE,
)
_AFTER_COLON = re.compile(r"^[^:.!?\n]{0,60}:\s+", re.MULTILINE)
_AFTER_ON = re.compile(r"\bon\s+(?!a scale|the (?:web|platform))", re.IGNORECASE)
_AFTER_OF = re.compile(
    r"(?<!\bone )(?<!number )(?<!kind )(?<!sort )(?<!type )(?<!out )(?<!couple )(?<!most )(?<!all )(?<!some )"
    r"(?<!list )(?<!series )(?<!set )(?<!instead )(?<!because )(?<!ahead )(?<!end )\bof\s+",
    re.IGNORECASE,
)
_AFTER_WITH = re.compile(
    r"\b(?:satisf\w+|happy|unhappy|experiences?|problems?|issues|content|pleased|engagement|familiar\w*)\s+with\s+",
    re.IGNORECASE,
)
_AFTER_FOR = re.compile(
    r"\b(?:for|after|following|from|attended|joined|used|tried|rate|rank|review|evaluate|improve)\s+",
    re.IGNORECASE,
)
_DETERMINED = re.compile(r"\b(?=(?:our|my|the|this|these|your)\s+\w)", re.IGNORECASE)
_KIND = re.compile(
    r"\b(?:surveys?|polls?|quiz(?:zes)?|questionnaires?|trivia|"
    r"(?:feedback|application|sign-?up|evaluation) forms?|forms?|tests?|votes?|"
    r"feedback|check-?in|interviews?|assessments?|retrospectives?|retro|evaluation)\b",
    re.IGNORECASE,
)
# Behind what a phrase begins that ends in `survey`.
_BEGINS = re.compile(
    r"\b(?:an?|me|us|for|from|about|on|of|do|run|our|my|the|this|build|generate|write|design|set up|start)\b",
    re.IGNORECASE,
)
_NAME = r"[A-Z][\w'’&+-]*"
_NAMES = re.compile(
    rf"(?<![\w'’]){_NAME}(?:\s+(?:of|the|and|[A-Z0-9][\w'’&+-]*))*\s+[A-Z0-9][\w'’&+-]*|(?<![\w'’]){_NAME}"
)
_SENTENCE_BEFORE = re.compile(r"[.!?:;\n]\s*$")

_DETERMINERS = word_set("the our my this these their his her its all both")
_ARTICLES = word_set("a an")
# What a kind of survey may be called beside what it is about.
_KINDS = word_set(
    """survey poll quiz questionnaire form test vote voting feedback satisfaction evaluation review
    rating exit onboarding nps opinion trivia knowledge personality application interview assessment
    retrospective retro check checkin pulse anonymous short quick simple fun funny graded ungraded
    brief small little nice good great detailed long new weekly monthly yearly annual quarterly
    daily basic official internal public private single multiple choice yes no scored year general
    friendly easy hard difficult interesting engaging comprehensive thorough standard proper lovely
    silly serious full opening closing first final post pre follow follow-up minute minutes question
    questions page one two three four five six seven eight nine ten"""
)
_PEOPLE = word_set(
    """members member people everyone everybody users user players player customers customer clients
    client attendees attendee participants participant viewers viewer subscribers subscriber
    followers moderators moderator mods mod admins staff team teammates employees students student
    pupils teachers volunteers volunteer applicants candidates newcomers newbies beginners experts
    fans friends guests visitors visitor readers listeners gamers streamers developers kids children
    adults teens audience us me them others folks guys buyers testers contributors supporters
    patrons leaders leads organisers organizers speakers colleagues residents citizens parents class
    leavers"""
)
# Places that anything could be for; they are the topic only where nothing else is.
_PLACES = word_set("community server discord guild club group clan channel company organisation organization")
_TIMES = word_set(
    """monday tuesday wednesday thursday friday saturday sunday today tonight tomorrow yesterday
    weekend week month year january february march april may june july august september october
    november december morning evening night afternoon next last now soon later"""
)
# Nouns for one thing, which need an article where none stands with them.
_COUNTED = word_set(
    """event meetup party conference convention webinar workshop course class lesson lecture seminar
    training tournament league cup match game stream video channel podcast episode show movie film
    book album song concert festival server community guild club clan team group company product app
    application website site page portal tool service shop store platform bot feature update release
    patch version expansion map mod mode season system design logo theme name mascot emote badge
    layout menu policy rule schedule plan roadmap project programme program newsletter blog forum
    channel office venue restaurant cafe hotel trip journey tour hike picnic barbecue meeting
    stand-up retreat hackathon jam beta alpha demo playtest prototype campaign raid dungeon
    boss level budget election process strategy experience budget handbook wiki guide faq ticket
    merger move redesign rebrand launch anniversary birthday giveaway contest competition"""
)
# Other first words of a sentence that are no names.
_COMMON = word_set(
    """employee chess board card book music food pizza coffee tea art photo science history geography sports
    football basketball movies films games gaming cooking travel reading dog cat pet work remote
    home garden customer community favourite favorite best better online local voice text weekend
    summer winter spring autumn"""
)
_DANGLING = word_set(
    "a an the our my this these of in on at for from by with to and or as about into over under than vs per"
)


def candidates(intent: str) -> Iterator[str]:
    """Noun phrases that the intent may be about, the likeliest first, each as a question can take it in."""
    seen: set[str] = set()
    for raw, is_name in _raw(intent):
        phrase = raw if is_name else _noun_phrase(raw)
        if phrase and phrase.lower() not in seen and (any(map(str.isalpha, phrase)) or is_name):
            seen.add(phrase.lower())
            yield phrase


def content(phrase: str) -> list[str]:
    """The words of a phrase that say what it is about."""
    return [word for word in words(phrase) if word not in EMPTY]


def _raw(intent: str) -> Iterator[tuple[str, bool]]:
    for found in _QUOTED.finditer(intent):
        yield _cut(found[1].strip()), True
    for pattern in (_AFTER_ABOUT, _AFTER_COLON, _AFTER_ON, _AFTER_WITH, _AFTER_OF):
        yield from ((raw, False) for raw in _following(intent, pattern))
    yield from ((raw, False) for raw in _before_kind(intent))
    later = []
    for pattern in (_AFTER_FOR, _DETERMINED):
        for raw in _following(intent, pattern):
            if _PLACES.isdisjoint(content(raw)[-1:]):
                yield raw, False
            else:
                later.append(raw)
    yield from ((raw, False) for raw in _names(intent))
    yield from ((raw, False) for raw in later)


def _following(intent: str, pattern: re.Pattern[str]) -> Iterator[str]:
    for found in pattern.finditer(intent):
        rest = intent[found.end() : found.end() + 200]
        stop = _STOP.search(rest)
        raw = rest[: stop.start()] if stop else rest
        if pattern is not _AFTER_ABOUT:
            raw = _KIND.split(raw)[0]
        if _is_a_topic(raw) and not (pattern is _AFTER_FOR and _is_about_people(raw)):
            yield raw


def _before_kind(intent: str) -> Iterator[str]:
    """`a quick chess tournament survey` → `chess tournament`."""
    for found in _KIND.finditer(intent):
        before = intent[max(0, found.start() - 120) : found.start()]
        stops = list(_STOP.finditer(before))
        raw = before[stops[-1].end() :] if stops else before
        kept = _BEGINS.split(raw)[-1].replace("-", " ").split()
        while kept and (kept[0].lower() in _KINDS or kept[0].isdecimal()):
            kept = kept[1:]
        while kept and kept[-1].lower() in _KINDS:
            kept = kept[:-1]
        if kept and _is_a_topic(" ".join(kept)):
            yield " ".join(kept)


def _names(intent: str) -> Iterator[str]:
    for found in _NAMES.finditer(intent):
        before = intent[max(0, found.start() - 9) : found.start()]
        begins = found.start() == 0 or _SENTENCE_BEFORE.search(before)
        if begins and " " not in found[0] and not found[0][1:2].isupper():
            continue  # the capital letter of a sentence
        first, _, rest = found[0].partition(" ")
        name = rest if begins and rest and first.lower() in EMPTY else found[0]
        said = content(name)
        if said and not (set(said) <= _KINDS | _PEOPLE | _TIMES):
            yield name


def _is_a_topic(raw: str) -> bool:
    """Not who is asked, nor when, nor only what kind of survey it is."""
    said = content(_head(raw))
    return bool(said) and not (set(said) <= _KINDS | _TIMES | _PEOPLE)


def _is_about_people(raw: str) -> bool:
    """Whether what follows `for` is who is asked: `for new members of the club`."""
    return content(_head(raw))[-1] in _PEOPLE


def _head(raw: str) -> str:
    """A phrase up to its first preposition: `members of the club` → `members`."""
    return re.split(r"\b(?:of|in|on|for|from|by|at)\b", raw, maxsplit=1, flags=re.IGNORECASE)[0]


def _noun_phrase(raw: str) -> str:
    """A phrase with the determiner it needs, at most `LONGEST` long, cut at a word."""
    kept = raw.split()[:_MOST_WORDS]
    had_article = bool(kept) and kept[0].lower() in _ARTICLES
    if had_article:
        kept = kept[1:]
    while kept and kept[0].lower() in {"some", "any", "to", "about", "on", "of", "for"}:
        kept = kept[1:]
    phrase = _trimmed(_cut(" ".join(kept)))
    if not phrase:
        return ""
    phrase = _without_sentence_capital(phrase)
    first, _, rest = phrase.partition(" ")
    if first.lower() == "your" and rest:
        return f"our {rest}"
    if first.lower() in _DETERMINERS and rest:
        return f"{first.lower()} {rest}"
    is_name = all(word[:1].isupper() or not word[:1].isalpha() for word in phrase.split())
    head = _head(phrase).lower().split()
    needs_article = had_article or (bool(head) and head[-1] in _COUNTED)
    if needs_article and not is_name and not _is_determined(head):
        return f"the {phrase}"
    return phrase


def _is_determined(head: list[str]) -> bool:
    """Whether it stands without an article: `last night's stream`, `next week`, `renaming the club`."""
    is_owned = any(word.endswith(("'s", "’s", "s'", "s’")) for word in head)
    return (
        is_owned
        or " ".join(head[:1]) in {"last", "next", "each", "every"}
        or not _DETERMINERS.isdisjoint(head)
    )


def _without_sentence_capital(phrase: str) -> str:
    """`Chess tournament` → `chess tournament`, for words that are known to be no names."""
    first, _, rest = phrase.partition(" ")
    is_capital = first[:1].isupper() and first[1:].islower() and rest[:1].islower()
    if is_capital and first.lower() in _COUNTED | _KINDS | _COMMON | _PEOPLE:
        return f"{first.lower()} {rest}"
    return phrase


def _cut(phrase: str) -> str:
    if len(phrase) <= LONGEST:
        return phrase
    cut = phrase[: LONGEST + 1].rpartition(" ")[0]
    return cut or phrase[:LONGEST]


def _trimmed(phrase: str) -> str:
    kept = phrase.strip(" -–—'’`_/&+~^").split()
    while kept and kept[-1].lower() in _DANGLING:
        kept = kept[:-1]
    return " ".join(kept)
