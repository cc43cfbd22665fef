"""The sentiment of one answer, by a lexicon and the rules of VADER."""

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

import regex
from vader import SentimentIntensityAnalyzer
from vader.data.lexicon import MULTIWORD

from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, mask_noise
from surveys.ai.local.texts.tokens import is_no_answer
from surveys.ai.provider import Sentiment

_THRESHOLD = 0.05  # as advised by the authors of VADER
# As in `Nothing, I loved it!`
_OPENING_NO = regex.compile(r"^\s*(?:no|nope|none|nothing|nah)\s*[,.;:!–—-]+\s+", regex.IGNORECASE)

# Words about software, games and events that are missing from the lexicon, which was made from posts of 2014.
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
    "thumbs up": 1.9,  # an emoji
    "thumbs down": -1.9,
    "pouting face": -2.3,
    "can't complain": 1.5,
}

_ANALYZER = SentimentIntensityAnalyzer(extra_lexicon=_EXTRA_WORDS, multiword={**MULTIWORD, **_EXTRA_IDIOMS})


def sentiment_of(answer: str) -> Sentiment:
    """Return the sentiment of an answer in English, or of one without words, by its emojis.

    Answers in other languages must not be asked for: the lexicon knows none of their words, and would find
    nearly all of them neutral.
    """
    if is_no_answer(answer):
        return "neutral"
    text = _OPENING_NO.sub("", mask_noise(answer[:MAX_READ_LENGTH]), count=1)
    score = _ANALYZER.polarity_scores(text)["compound"]
    if score >= _THRESHOLD:
        return "positive"
    return "negative" if score <= -_THRESHOLD else "neutral"
