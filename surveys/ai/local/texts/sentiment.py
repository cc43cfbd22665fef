"""The sentiment of one answer in five languages, by word lists and a few rules.

Each clause is judged alone. A wish ("more chairs, please") is neutral. A clause without praise or blame is a
complaint if it says that something is missing, does not happen or takes long. VADER also judges English
clauses.
"""

# VADER (Hutto and Gilbert, 2014) was made for short informal texts: it knows negations, intensifiers, `but`,
# capitals and emojis. Libraries that work offline, as compared in November 2026:
#   nltk-vader-sentiment 1.0.0  August 2026, Apache 2.0, no dependencies, typed, thread-safe, linear in the
#                               length of a text; by a maintainer of NLTK, few users; loads in 75 ms, 19 MB
#   vaderSentiment 3.3.2        the original, MIT, many users, no release since 2020; quadratic in the length
#                               of a text, and depends on `requests`
#   textblob 0.20.1             July 2026, MIT, many users; loads NLTK, in 0.7 s and 43 MB; does not know
#                               emojis, and calls `Too many ads` positive
#   nltk 3.10                   downloads its lexicon
# The first two agree on nearly everything: if the first is abandoned, the second can replace it.

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import regex
from vader import SentimentIntensityAnalyzer
from vader.data.lexicon import MULTIWORD

from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, mask_noise, plain
from surveys.ai.local.texts.languages import ENGLISH
from surveys.ai.provider import Sentiment

LANGUAGES = ("en", "de", "fr", "es", "pt")
_EMOJI = regex.compile(r"\p{Extended_Pictographic}")
_CLAUSE = regex.compile(
    r"[.!?;:,\n\r()|–—…]++|\b(?:but|although|though|aber|jedoch|allerdings|mais|pero|aunque|mas|porem)\b"
)
_BUT = regex.compile(
    r"\b(?:but|although|though|however|aber|jedoch|allerdings|mais|pourtant|pero|aunque|mas|porem)\b"
)
_COMPARABLE = 0.6  # Praise and blame balance each other if one is at least this part of the other.
_MAX_CLAUSES = 60
_WORDS_BEFORE, _WORDS_AFTER = 3, 2  # A negation counts at most this many words before or after a word.
_DENIED_BLAME = 0.6  # `no bugs` is praise, though less than `great`.
_VADER = 1.5
_LEAST_OF_VADER = 0.05  # The authors of VADER advise this least value.
_COMPLAINT = 0.5
_PRAISED = 0.3  # A clause with this much praise is no complaint.
_WISH = 0.7
_THRESHOLD = 0.25
# Examples are `No, it was fine` and `Nothing, I loved it!`
_OPENING_NO = regex.compile(r"^\s*+(?:no|nope|none|nothing|nah)\s*+[,.;:!–—-]++\s++", regex.IGNORECASE)

# Words about software, games and events that are missing from the lexicon, which was made from posts of 2014.
# A question for the reason is no praise, and what people cannot do is none, such as `can't cancel`.
_WHY = regex.compile(r"\s*+(?:why|warum|wieso|weshalb|pourquoi|por ?que)\b")
_UNABLE = frozenset(["can't", "cannot", "cant", "couldn't", "couldnt"])

_EXTRA_WORDS = {
    **dict.fromkeys(("crash", "crashes", "crashed", "crashing", "glitch", "glitches", "glitchy"), -1.8),
    **dict.fromkeys(
        ("bug", "bugs", "buggy", "lag", "lags", "laggy", "lagging", "freezes", "freezing", "froze"), -1.6
    ),
    **dict.fromkeys(
        ("slow", "slower", "slowly", "sluggish", "clunky", "cluttered", "outdated", "unreliable"), -1.5
    ),
    **dict.fromkeys(
        ("expensive", "overpriced", "pricey", "crowded", "overcrowded", "noisy", "unbalanced"), -1.3
    ),
    **dict.fromkeys(
        ("toxic", "spam", "spams", "spammy", "scam", "grindy", "paywall", "unplayable", "unusable"), -1.9
    ),
    **dict.fromkeys(("unclear", "inconsistent", "disorganised", "disorganized", "understaffed", "meh"), -1.3),
    **dict.fromkeys(("biased", "pointless", "repetitive", "unhelpful", "unresponsive", "tedious"), -1.5),
    **dict.fromkeys(
        ("fast", "quick", "smooth", "smoothly", "reliable", "intuitive", "responsive", "seamless"), 1.5
    ),
    **dict.fromkeys(("cosy", "cozy", "well-organised", "well-organized", "affordable", "knowledgeable"), 1.6),
    **dict.fromkeys(("favourite", "favourites", "honoured", "humour"), 1.8),  # British spelling
    # Words that are neither good nor bad in answers to surveys.
    **dict.fromkeys(
        ("play", "plays", "played", "playing", "player", "prize", "prizes", "friend", "friends"), 0.0
    ),
    **dict.fromkeys(
        ("please", "wish", "want", "help", "support", "free", "party", "parties", "share", "join"), 0.0
    ),
    **dict.fromkeys(
        ("energy", "interest", "security", "number", "alone", "fire", "pay", "stop", "kill", "kills"), 0.0
    ),
}
_EXTRA_IDIOMS = {
    **{
        f"too {how}": -1.5
        for how in ("many", "much", "few", "little", "long", "short", "high", "low", "loud")
    },
    **{
        f"too {how}": -1.5
        for how in ("hot", "cold", "big", "small", "late", "early", "hard", "often", "complicated")
    },
    **dict.fromkeys(("doesn't work", "does not work", "didn't work", "not working", "stopped working"), -1.6),
    **dict.fromkeys(("takes forever", "took forever", "takes ages", "took ages", "let down"), -1.7),
    **dict.fromkeys(("hard to", "could be better", "ran out", "runs out"), -1.1),
    **dict.fromkeys(("couldn't be better", "could not be better", "can't wait", "well done"), 2.2),
    **dict.fromkeys(("well organised", "well organized", "worth it", "feel at home", "looking forward"), 1.7),
    "would like": 0.0,
    "nothing special": -0.8,
    "thumbs up": 1.9,  # VADER reads the thumbs-up emoji as these words.
    "thumbs down": -1.9,
    "pouting face": -2.3,
    "can't complain": 1.5,
}

_ANALYZER = SentimentIntensityAnalyzer(extra_lexicon=_EXTRA_WORDS, multiword={**MULTIWORD, **_EXTRA_IDIOMS})


def sentiment_of(answer: str, language: str | None) -> Sentiment | None:
    """Return the sentiment of an answer in one of LANGUAGES. An answer without words is judged by its emojis.

    Returns None if nothing in the answer is known as praise, blame, complaint or wish. In English, whose list
    of words is long, such an answer is neutral. Call this function only for the languages it knows.
    """
    text = mask_noise(answer[:MAX_READ_LENGTH])
    if language is None:
        score = _vader(text)
    else:
        text = _OPENING_NO.sub("", text, count=1) if language == ENGLISH else text
        clauses = [clause for clause in _CLAUSE.split(text) if clause and clause.strip()]
        scores = [_score(clause, language) for clause in clauses[:_MAX_CLAUSES]]
        score = sum(scores)
        if language != ENGLISH and not any(scores) and not _words()[language]["wish"].search(plain(text)):
            return None
        praise, blame = (max(sign * each for each in scores or [0.0]) for sign in (1, -1))
        if _BUT.search(plain(text)) and min(praise, blame) > _COMPARABLE * max(praise, blame):
            return "neutral"  # One clause praises and another blames as much.
    if score > _THRESHOLD:
        return "positive"
    return "negative" if score < -_THRESHOLD else "neutral"


def _vader(text: str) -> float:
    compound = float(_ANALYZER.polarity_scores(text)["compound"])
    return _VADER * compound if abs(compound) >= _LEAST_OF_VADER else 0.0


def _score(clause: str, language: str) -> float:
    """How much praise (above 0) or blame (below 0) a clause contains."""
    words = _words()[language]
    text = plain(clause)
    # In other languages VADER judges only emojis.
    score = _vader(clause if language == ENGLISH else " ".join(_EMOJI.findall(clause)))
    rest = text
    is_praise = _WHY.match(text) is None
    for kind, sign in (("good", 1.0), ("bad", -1.0)):
        for match in words[kind].finditer(text):
            before = text[: match.start()].split()[-_WORDS_BEFORE:]
            after = text[match.end() :].split()[:_WORDS_AFTER]
            is_unable = sign < 0 and bool(before) and before[-1] in _UNABLE
            is_praise = is_praise and not is_unable
            score += 0.0 if is_unable else _value(sign, before, after, words)
            rest = rest.replace(match[0], " ", 1)
    score = score if is_praise else min(score, 0.0)
    if words["wish"].search(rest):
        return min(score, 0.0) * _WISH
    if 0 <= score < _PRAISED and words["complaint"].search(text):
        score -= _COMPLAINT
    return score


def _value(
    sign: float, before: Sequence[str], after: Sequence[str], words: Mapping[str, regex.Pattern[str]]
) -> float:
    """Return the value of a word between these words: `too fast` is blame, and `less noise` neither praise
    nor blame.
    """
    if sign > 0 and before and words["too"].fullmatch(before[-1]):
        return -1.0
    if sign < 0 and words["less"].search(" ".join(before)):
        return 0.0
    if words["not"].search(" ".join(before)) or words["not_after"].search(" ".join(after)):
        return -sign if sign > 0 else _DENIED_BLAME
    return sign


@cache
def _words() -> Mapping[str, Mapping[str, regex.Pattern[str]]]:
    """Return the word lists as patterns, by language and kind. `*` in a list means any ending."""
    lists = json.loads(Path(__file__).with_name("sentiment_words.json").read_text(encoding="utf-8"))
    return {
        language: {kind: _pattern(entries) for kind, entries in kinds.items()}
        for language, kinds in lists.items()
    }


def _pattern(entries: Sequence[str]) -> regex.Pattern[str]:
    longest_first = sorted(map(plain, entries), key=lambda entry: (-len(entry), entry))
    spellings = "|".join(regex.escape(entry).replace(r"\*", r"\w*+") for entry in longest_first)
    return regex.compile(rf"(?<![\w'])(?:{spellings})(?!\w)")
