"""An intent as it was understood: what is wanted, of what, and how much of it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from surveys.ai.local import choices, counting, topics
from surveys.ai.local.counting import Count
from surveys.ai.local.stems import sentence, stems, word_set
from surveys.ai.provider import ScriptRequest

_LONGEST_QUESTION = 300  # characters
_ASKS_YES_OR_NO = word_set("should shall do does did is are was were will would can could has have may")
_ASKS_OTHERWISE = word_set("what which who whose whom when where why how at on in for")
_FIRST_WORDS = "|".join(sorted(_ASKS_YES_OR_NO | _ASKS_OTHERWISE))
_QUESTION = re.compile(
    r"(?:^|[.!?:;\n\"“„«]\s*)"
    rf"(?P<question>(?P<first>{_FIRST_WORDS})\b[^.!?\n\"“”„«»]{{3,}}\?)",
    re.IGNORECASE,
)
# A question to whoever drafts, and not to whoever answers.
_TO_US = re.compile(
    r"\b(?:surveys?|polls?|quiz(?:zes)?|questionnaires?|questions?|templates?)\b|"
    r"^(?:can|could|would|will|may) (?:you|i|we) "
    r"(?:please|make|create|build|write|draft|give|help|set|prepare|have|get)\b",
    re.IGNORECASE,
)
_ASKS_OPINION = re.compile(
    r"\b(?:what do you think|how (?:do|did|would) you (?:like|feel|find|rate)|"
    r"how (?:good|bad|satisfied|happy)|opinion)\b",
    re.IGNORECASE,
)
_BRACKETS = str.maketrans("[]{}<>", "()()  ")
_ALONE = frozenset({"Yes", "No"})


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request asks for. `topics` are noun phrases, the likeliest first; `sentence` is the whole
    intent in stems, `stems` are those that say something.

    `question` is one that the intent puts itself, to be asked as it is.
    """

    type: str
    sentence: str
    stems: tuple[str, ...]
    topics: tuple[str, ...] = ()
    questions: Count | None = None
    options: Count | None = None
    choices: tuple[str, ...] = ()
    question: str | None = None
    is_yes_or_no: bool = False
    scoring: bool | None = None


def read(request: ScriptRequest) -> Wish:
    """Understand an intent as far as plain rules go. Any text at all gives a wish."""
    intent = _readable(request.intent)
    is_poll = request.type == "poll"
    listed = choices.listed(counting.without_count_of_questions(intent), is_poll=is_poll)
    if listed and set(listed) <= _ALONE:
        listed = ()  # the template for it says so better
    rest = counting.without_counts(choices.without_lists(intent, listed))
    wish = Wish(
        type=request.type,
        sentence=sentence(intent),
        stems=stems(intent),
        topics=tuple(topics.candidates(rest)),
        questions=counting.questions(intent),
        options=counting.options(intent),
        choices=listed,
        scoring=request.scoring,
    )
    return _with_question(wish, intent) if is_poll else wish


def asks_for_opinion(question: str) -> bool:
    """Whether `Very good` to `Very bad` answer it."""
    return _ASKS_OPINION.search(question) is not None


def _readable(intent: str) -> str:
    """Without signs that cannot be stored or would be tokens, lines kept."""
    lines = unicodedata.normalize("NFC", intent).translate(_BRACKETS).splitlines()
    return "\n".join("".join(" " if _is_control(c) else c for c in line) for line in lines).strip()


def _is_control(sign: str) -> bool:
    return unicodedata.category(sign) in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}


def _with_question(wish: Wish, intent: str) -> Wish:
    for found in _QUESTION.finditer(intent):
        asked = " ".join(found["question"].split())
        if _TO_US.search(asked) or len(asked) > _LONGEST_QUESTION:
            continue
        if wish.choices and ":" in asked:  # `Which one: A, B or C?`
            asked = f"{asked.partition(':')[0].rstrip()}?"
        asks_yes_or_no = found["first"].lower() in _ASKS_YES_OR_NO and not wish.choices
        return replace(wish, question=asked[0].upper() + asked[1:], is_yes_or_no=asks_yes_or_no)
    return wish
