"""The facts that plain rules can read in a request: the topic, the length, the options."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from communities.ground.sent_text import composed, paragraphs
from surveys.ai.local.drafts import counts, languages, listed_options, topics
from surveys.ai.local.drafts.counts import CountRange
from surveys.ai.local.drafts.stems import stemmed_line, stems, word_set
from surveys.ai.provider import ScriptRequest

_MAX_QUESTION = 300  # A longer question, in characters, is not used.
_YES_OR_NO_WORDS = word_set("should shall do does did is are was were will would can could has have may")
_OTHER_QUESTION_WORDS = word_set("what which who whose whom when where why how at on in for")
_FIRST_WORDS = "|".join(sorted(_YES_OR_NO_WORDS | _OTHER_QUESTION_WORDS))
_QUESTION = re.compile(
    r"(?:^|[.!?:;\n\"“„«]\s{0,3})"
    rf"(?P<question>(?P<first>{_FIRST_WORDS})\b[^.!?\n\"“”„«»]{{3,{_MAX_QUESTION}}}\?)",
    re.IGNORECASE,
)
# A question to us about making the survey, not a question to the respondents.
_REQUEST_TO_US = re.compile(
    r"\b(?:surveys?|polls?|quiz(?:zes)?|questionnaires?|questions?|templates?)\b|"
    r"^(?:can|could|would|will|may) (?:you|i|we) "
    r"(?:please|make|create|build|write|draft|give|help|set|prepare|have|get)\b",
    re.IGNORECASE,
)
_ASKS_FOR_OPINION = re.compile(
    r"\b(?:what do you think|how (?:do|did|would) you (?:like|feel|find|rate)|"
    r"how (?:good|bad|satisfied|happy)|opinion)\b",
    re.IGNORECASE,
)
_FOREIGN_QUESTION = re.compile(
    r"¿[^¿?\n]{1,300}\?|(?:^|[.!?:\n])\s{0,3}([^.!?:\n¿]{4,300}(?::[^.!?:\n]{0,300})?\?)"
)
_YES_OR_NO = re.compile(r"\b(?:ja oder nein|oui ou non|s[íi] o no|sim ou não)\b", re.IGNORECASE)
_PLAIN_BRACKETS = str.maketrans("[]{}<>⟦⟧", "()()  ()")
_YES_AND_NO = frozenset({"Yes", "No"})


@dataclass(frozen=True, slots=True)
class Intent:
    """The facts that were read in a request.

    `stemmed_line` is the whole intent in stems; `stems` are the stems that carry meaning. `topics` are noun
    phrases, the likeliest first. `question` is a question of the intent to the respondents, word for word.
    `text` is the intent in lower case. `language` may be a language in which we write no scripts.
    """

    type: str
    stemmed_line: str
    stems: tuple[str, ...]
    topics: tuple[str, ...] = ()
    question_count: CountRange | None = None
    option_count: CountRange | None = None
    listed_options: tuple[str, ...] = ()
    question: str | None = None
    is_yes_or_no: bool = False
    scoring: bool | None = None
    language: str = languages.ENGLISH
    text: str = ""


def read_intent(request: ScriptRequest, *, language: str | None = None) -> Intent:
    """Read the facts in a request. Any text gives a result. `language` is that of the text, if known."""
    text = clean(request.intent)
    language = language or languages.language_of(text, locale=request.locale)
    if language in languages.written_languages()[1:]:
        return _read_foreign(text, request, language)
    is_poll = request.type == "poll"
    options = listed_options.find_options(counts.without_question_count(text), is_poll=is_poll)
    if options and set(options) <= _YES_AND_NO:
        options = ()  # The template for yes and no has better options.
    text_for_topics = counts.without_counts(listed_options.without_options(text, options))
    intent = Intent(
        type=request.type,
        stemmed_line=stemmed_line(text),
        stems=stems(text),
        topics=tuple(topics.find_topics(text_for_topics)),
        question_count=counts.question_count(text),
        option_count=counts.option_count(text),
        listed_options=options,
        scoring=request.scoring,
        language=language,
        text=text.lower(),
    )
    return _with_question(intent, text) if is_poll else intent


def _read_foreign(text: str, request: ScriptRequest, language: str) -> Intent:
    """Read an intent in one of our languages other than English: its lists, numbers and questions."""
    is_poll = request.type == "poll"
    in_english = languages.with_english_count(text, language)
    listed = languages.with_english_conjunctions(counts.without_question_count(in_english), language)
    options = listed_options.find_options(listed, is_poll=is_poll)
    question = _foreign_question(text) if is_poll else ""
    if ":" in question and options:
        question = f"{question.partition(':')[0].rstrip()}{' ?' if language == 'fr' else '?'}"
    return Intent(
        type=request.type,
        stemmed_line="",
        stems=(),
        topics=() if question else languages.topics_in(text, language),
        question_count=counts.question_count(in_english),
        listed_options=options,
        question=question[:1].upper() + question[1:] if 3 < len(question) <= _MAX_QUESTION else None,
        is_yes_or_no=bool(_YES_OR_NO.search(text)) or (_is_closed(question) and not options),
        scoring=request.scoring,
        language=language,
        text=text.lower(),
    )


def _is_closed(question: str) -> bool:
    """Whether yes and no answer a question that is not in English."""
    first = question.lower().lstrip("¿ ").partition(" ")[0].partition("'")[0].partition("-")[0]
    return bool(first) and first not in (*languages.QUESTION_WORDS, "qu")


def _foreign_question(text: str) -> str:
    match = _FOREIGN_QUESTION.search(text)
    return (match[1] or match[0]).strip() if match else ""


def asks_for_opinion(question: str) -> bool:
    """Return whether a scale from `Very good` to `Very bad` answers the question."""
    return _ASKS_FOR_OPINION.search(question) is not None


# Words that people write without their apostrophes, or short.
_SLOPPY = {
    "theyd": "they'd", "theyre": "they're", "theyll": "they'll", "theyve": "they've", "dont": "don't",
    "doesnt": "doesn't",
    "didnt": "didn't", "isnt": "isn't", "arent": "aren't", "wasnt": "wasn't", "cant": "can't",
    "wouldnt": "wouldn't",
    "whats": "what's", "whos": "who's", "ppl": "people", "u": "you", "ur": "your",
    "pls": "please", "would of": "would "
    "have", "could of": "could have",
    "should of": "should have", "to expensive": "too expensive", "wieviele": "wie "
    "viele", "wieviel": "wie viel", "plz": "please", "woud": "would", "shoud": "should", "coud": "could",
}  # fmt: skip
# In other languages "u" is a word of its own, so it is read only after these English words.
_BEFORE_U = "|".join(
    rf"(?<=\b{word} )"
    for word in ("do", "did", "are", "were", "can", "could", "would", "will", "have", "if", "that", "what")
)
_SLOPPY_WORD = re.compile(rf"\b(?:{'|'.join(word for word in _SLOPPY if word != 'u')})\b|(?:{_BEFORE_U})u\b")
_OWNER = re.compile(
    r"\b(parent|child|kid|mother|father|owner|customer|guest|student|player)s? (?=(?:name|class|age|"
    r"e-?mail|phone)\b)"
)


def clean(text: str) -> str:
    """Remove characters that cannot be stored, and brackets that our texts use for tokens; keep the lines.

    White space is cut to three characters, because the patterns that read an intent allow no more.
    """
    lines = composed(text).translate(_PLAIN_BRACKETS).splitlines()
    text = paragraphs(
        "\n".join("".join(" " if _is_control(char) else char for char in line) for line in lines)
    )
    return _OWNER.sub(r"\1's ", _SLOPPY_WORD.sub(lambda match: _SLOPPY[match[0]], text))


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}


def _with_question(intent: Intent, text: str) -> Intent:
    """Add the first question that the text puts to the respondents."""
    for match in _QUESTION.finditer(text):
        question = " ".join(match["question"].split())
        if _REQUEST_TO_US.search(question) or len(question) > _MAX_QUESTION:
            continue
        if intent.listed_options and ":" in question:  # An example is `Which one: A, B or C?`
            question = f"{question.partition(':')[0].rstrip()}?"
        is_yes_or_no = match["first"].lower() in _YES_OR_NO_WORDS and not intent.listed_options
        return replace(intent, question=question[0].upper() + question[1:], is_yes_or_no=is_yes_or_no)
    return intent
