"""The topic of an intent, as a noun phrase that fits into a question.

    find_topics("a 5 question survey about the new rules for moderators")   → the new rules for moderators

The rules are for English. They look at text in quotation marks, then after `about`, `on`, `of`, then before
`survey` or `quiz`, then after `for`, `our`, `the`, then at names. `matching.topic_for` chooses among the
results: a topic that only repeats the template's subject (`the event` for event feedback) is of no use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from surveys.ai.local.drafts.stems import EMPTY, word_set, words

MAX_LENGTH = 60  # A topic has at most this many characters.
_MAX_WORDS = 9

_QUOTED = re.compile(r"[“„«\"]\s{0,3}([^“”„«»\"\n]{2,80}?)\s{0,3}[”“»\"]")
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
    r"(?:topic|subject|theme)\s{0,3}(?:is|:)|related to|in favou?r of|opinions? (?:on|of)|"
    r"thoughts? on|views? on|feedback on|attitudes? (?:to|towards))\s{1,3}",
    re.IGNORECASE,
)
_AFTER_COLON = re.compile(r"^[^:.!?\n]{0,60}:\s{1,3}", re.MULTILINE)
_AFTER_ON = re.compile(r"\bon\s{1,3}(?!a scale|the (?:web|platform))", re.IGNORECASE)
_AFTER_OF = re.compile(
    r"(?<!\bone )(?<!number )(?<!kind )(?<!sort )(?<!type )(?<!out )(?<!couple )(?<!most )(?<!all )(?<!some )"
    r"(?<!list )(?<!series )(?<!set )(?<!instead )(?<!because )(?<!ahead )(?<!end )\bof\s{1,3}",
    re.IGNORECASE,
)
_AFTER_WITH = re.compile(
    r"\b(?:satisf\w+|happy|unhappy|experiences?|problems?|issues|content|pleased|engagement|familiar\w*)\s{1,3}with\s{1,3}",
    re.IGNORECASE,
)
_AFTER_FOR = re.compile(
    r"\b(?:for|after|following|from|attended|joined|used|tried|rate|rank|review|evaluate|improve)\s{1,3}",
    re.IGNORECASE,
)
_DETERMINED = re.compile(r"\b(?=(?:our|my|the|this|these|your)\s{1,3}\w)", re.IGNORECASE)
_KIND = re.compile(
    r"\b(?:surveys?|polls?|quiz(?:zes)?|questionnaires?|trivia|"
    r"(?:feedback|application|sign-?up|evaluation) forms?|forms?|tests?|votes?|"
    r"feedback|check-?in|interviews?|assessments?|retrospectives?|retro|evaluation)\b",
    re.IGNORECASE,
)
# Words that precede a phrase which ends in `survey`.
_BEGINS = re.compile(
    r"\b(?:an?|me|us|for|from|about|on|of|do|run|our|my|the|this|build|generate|write|design|set up|start)\b",
    re.IGNORECASE,
)
_NAME = r"[A-Z][\w'’&+-]*"
_NAMES = re.compile(
    rf"(?<![\w'’]){_NAME}(?:\s{{1,3}}(?:of|the|and|[A-Z0-9][\w'’&+-]*))*\s{{1,3}}[A-Z0-9][\w'’&+-]*|(?<![\w'’]){_NAME}"
)
_SENTENCE_BEFORE = re.compile(r"[.!?:;\n]\s{0,3}$")

_DETERMINERS = word_set("the our my this these their his her its all both")
_ARTICLES = word_set("a an")
# Words for kinds of surveys, which say nothing about the topic.
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
# Places that any survey could be for. A place is the topic only if the intent has no other topic.
_PLACES = word_set("community server discord guild club group clan channel company organisation organization")
_TIMES = word_set(
    """monday tuesday wednesday thursday friday saturday sunday today tonight tomorrow yesterday
    weekend week month year january february march april may june july august september october
    november december morning evening night afternoon next last now soon later"""
)
# Countable nouns, which need an article.
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
# Other words that may begin a sentence with a capital letter without being names.
_COMMON_NOUNS = word_set(
    """employee chess board card book music food pizza coffee tea art photo science history geography sports
    football basketball movies films games gaming cooking travel reading dog cat pet work remote
    home garden customer community favourite favorite best better online local voice text weekend
    summer winter spring autumn"""
)
_DANGLING = word_set(
    "a an the our my this these of in on at for from by with to and or as about into over under than vs per"
)


def find_topics(intent: str) -> Iterator[str]:
    """Yield noun phrases that the intent may be about, the likeliest first, ready for use in a question."""
    seen: set[str] = set()
    for candidate, is_name in _candidates(intent):
        phrase = candidate if is_name else _noun_phrase(candidate)
        if phrase and phrase.lower() not in seen and (any(map(str.isalpha, phrase)) or is_name):
            seen.add(phrase.lower())
            yield phrase


def _candidates(intent: str) -> Iterator[tuple[str, bool]]:
    """Yield parts of the intent. Each has a flag that says whether the part is a name, which remains
    unchanged.
    """
    for match in _QUOTED.finditer(intent):
        yield _cut(match[1].strip()), True
    for pattern in (_AFTER_ABOUT, _AFTER_COLON, _AFTER_ON, _AFTER_WITH, _AFTER_OF):
        yield from ((phrase, False) for phrase in _phrases_after(pattern, intent))
    yield from ((phrase, False) for phrase in _phrases_before_kind(intent))
    places = []
    for pattern in (_AFTER_FOR, _DETERMINED):
        for phrase in _phrases_after(pattern, intent):
            if _PLACES.isdisjoint(_content(phrase)[-1:]):
                yield phrase, False
            else:
                places.append(phrase)
    yield from ((name, False) for name in _names(intent))
    yield from ((phrase, False) for phrase in places)


def _phrases_after(pattern: re.Pattern[str], intent: str) -> Iterator[str]:
    for match in pattern.finditer(intent):
        rest = intent[match.end() : match.end() + 200]
        stop = _STOP.search(rest)
        phrase = rest[: stop.start()] if stop else rest
        if pattern is not _AFTER_ABOUT:
            phrase = _KIND.split(phrase)[0]
        if _is_topic(phrase) and not (pattern is _AFTER_FOR and is_about_people(phrase)):
            yield phrase


def _phrases_before_kind(intent: str) -> Iterator[str]:
    """`a quick chess tournament survey` → `chess tournament`."""
    for match in _KIND.finditer(intent):
        before = intent[max(0, match.start() - 120) : match.start()]
        stops = list(_STOP.finditer(before))
        phrase = before[stops[-1].end() :] if stops else before
        phrase_words = _BEGINS.split(phrase)[-1].replace("-", " ").split()
        while phrase_words and (phrase_words[0].lower() in _KINDS or phrase_words[0].isdecimal()):
            phrase_words = phrase_words[1:]
        while phrase_words and phrase_words[-1].lower() in _KINDS:
            phrase_words = phrase_words[:-1]
        if phrase_words and _is_topic(" ".join(phrase_words)):
            yield " ".join(phrase_words)


def _names(intent: str) -> Iterator[str]:
    for match in _NAMES.finditer(intent):
        before = intent[max(0, match.start() - 9) : match.start()]
        is_opening = match.start() == 0 or _SENTENCE_BEFORE.search(before)
        if is_opening and " " not in match[0] and not match[0][1:2].isupper():
            continue  # The capital letter only begins a sentence.
        first, _, rest = match[0].partition(" ")
        name = rest if is_opening and rest and first.lower() in EMPTY else match[0]
        content = _content(name)
        if content and not (set(content) <= _KINDS | _PEOPLE | _TIMES):
            yield name


def _content(phrase: str) -> list[str]:
    """Return the words of a phrase that name its subject."""
    return [word for word in words(phrase) if word not in EMPTY]


def _is_topic(phrase: str) -> bool:
    """Return whether a phrase says more than who is asked, when, and by which kind of survey."""
    content = _content(_head(phrase))
    return bool(content) and not (set(content) <= _KINDS | _TIMES | _PEOPLE)


def is_about_people(phrase: str) -> bool:
    """Whether a phrase after `for` says who is asked: `for new members of the club`."""
    content = _content(_head(phrase))
    return bool(content) and content[-1] in _PEOPLE


def _head(phrase: str) -> str:
    """A phrase up to its first preposition: `members of the club` → `members`."""
    return re.split(r"\b(?:of|in|on|for|from|by|at)\b", phrase, maxsplit=1, flags=re.IGNORECASE)[0]


def _noun_phrase(candidate: str) -> str:
    """Return the candidate with a determiner if it needs one, cut at a word to `MAX_LENGTH` characters."""
    phrase_words = candidate.split()[:_MAX_WORDS]
    had_article = bool(phrase_words) and phrase_words[0].lower() in _ARTICLES
    if had_article:
        phrase_words = phrase_words[1:]
    while phrase_words and phrase_words[0].lower() in {"some", "any", "to", "about", "on", "of", "for"}:
        phrase_words = phrase_words[1:]
    phrase = _trim(_cut(" ".join(phrase_words)))
    if not phrase:
        return ""
    phrase = _without_sentence_capital(phrase)
    first, _, rest = phrase.partition(" ")
    if first.lower() in ("your", "my") and rest:
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
    """Whether a phrase does without an article: `last night's stream`, `next week`, `renaming the club`."""
    has_possessive = any(word.endswith(("'s", "’s", "s'", "s’")) for word in head)
    return (
        has_possessive
        or " ".join(head[:1]) in {"last", "next", "each", "every"}
        or not _DETERMINERS.isdisjoint(head)
    )


def _without_sentence_capital(phrase: str) -> str:
    """`Chess tournament` → `chess tournament`, for words that are known not to be names."""
    first, _, rest = phrase.partition(" ")
    is_capitalized = first[:1].isupper() and first[1:].islower() and rest[:1].islower()
    if is_capitalized and first.lower() in _COUNTED | _KINDS | _COMMON_NOUNS | _PEOPLE:
        return f"{first.lower()} {rest}"
    return phrase


def _cut(phrase: str) -> str:
    if len(phrase) <= MAX_LENGTH:
        return phrase
    return phrase[: MAX_LENGTH + 1].rpartition(" ")[0] or phrase[:MAX_LENGTH]


def _trim(phrase: str) -> str:
    """Remove punctuation at both ends, and words at the end that lead to something else."""
    phrase_words = phrase.strip(" -–—'’`_/&+~^").split()
    while phrase_words and phrase_words[-1].lower() in _DANGLING:
        phrase_words = phrase_words[:-1]
    return " ".join(phrase_words)
