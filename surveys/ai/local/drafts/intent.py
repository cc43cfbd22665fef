"""What a request asks for, as far as plain rules can read it: the topic, the length, the options."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from communities.ground.sent_text import composed
from surveys.ai.local.drafts import counts, listed_options, topics
from surveys.ai.local.drafts.counts import CountRange
from surveys.ai.local.drafts.stems import stemmed_line, stems, word_set
from surveys.ai.provider import ScriptRequest

_MAX_QUESTION = 300  # characters
_YES_OR_NO_WORDS = word_set("should shall do does did is are was were will would can could has have may")
_OTHER_QUESTION_WORDS = word_set("what which who whose whom when where why how at on in for")
_FIRST_WORDS = "|".join(sorted(_YES_OR_NO_WORDS | _OTHER_QUESTION_WORDS))
_QUESTION = re.compile(
    r"(?:^|[.!?:;\n\"“„«]\s*)"
    rf"(?P<question>(?P<first>{_FIRST_WORDS})\b[^.!?\n\"“”„«»]{{3,}}\?)",
    re.IGNORECASE,
)
# A question to us about making the survey, and not to its respondents.
_REQUEST_TO_US = re.compile(
    r"\b(?:surveys?|polls?|quiz(?:zes)?|questionnaires?|questions?|templates?)\b|"
    r"^(?:can|could|would|will|may) (?:you|i|we) "
    r"(?:please|make|create|build|write|draft|give|help|set|prepare|have|get)\b",
    re.IGNORECASE,
)
_EMPTY_LINES = re.compile(r"\n{3,}")
_ASKS_FOR_OPINION = re.compile(
    r"\b(?:what do you think|how (?:do|did|would) you (?:like|feel|find|rate)|"
    r"how (?:good|bad|satisfied|happy)|opinion)\b",
    re.IGNORECASE,
)
_PLAIN_BRACKETS = str.maketrans("[]{}<>", "()()  ")
_YES_AND_NO = frozenset({"Yes", "No"})


@dataclass(frozen=True, slots=True)
class Intent:
    """What a request asks for.

    `stemmed_line` is the whole intent in stems; `stems` are those that carry meaning. `topics` are noun
    phrases, the likeliest first. `question` is one that the intent puts to the respondents, word for word.
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


def read_intent(request: ScriptRequest) -> Intent:
    """Read what a request asks for. Any text gives a result."""
    text = _clean(request.intent)
    is_poll = request.type == "poll"
    options = listed_options.find_options(counts.without_question_count(text), is_poll=is_poll)
    if options and set(options) <= _YES_AND_NO:
        options = ()  # the template for yes and no has better ones
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
    )
    return _with_question(intent, text) if is_poll else intent


def asks_for_opinion(question: str) -> bool:
    """Whether a scale from `Very good` to `Very bad` answers the question."""
    return _ASKS_FOR_OPINION.search(question) is not None


def _clean(text: str) -> str:
    """Remove characters that cannot be stored, and brackets that our texts use for tokens; keep the lines.

    Of several spaces one stays, and of several empty lines one: patterns take a time for white space that
    grows with the square of its length.
    """
    lines = composed(text).translate(_PLAIN_BRACKETS).splitlines()
    words = (" ".join("".join(" " if _is_control(char) else char for char in line).split()) for line in lines)
    return _EMPTY_LINES.sub("\n\n", "\n".join(words)).strip()


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}


def _with_question(intent: Intent, text: str) -> Intent:
    """Add the first question that the text puts to the respondents."""
    for match in _QUESTION.finditer(text):
        question = " ".join(match["question"].split())
        if _REQUEST_TO_US.search(question) or len(question) > _MAX_QUESTION:
            continue
        if intent.listed_options and ":" in question:  # `Which one: A, B or C?`
            question = f"{question.partition(':')[0].rstrip()}?"
        is_yes_or_no = match["first"].lower() in _YES_OR_NO_WORDS and not intent.listed_options
        return replace(intent, question=question[0].upper() + question[1:], is_yes_or_no=is_yes_or_no)
    return intent
