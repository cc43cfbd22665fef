"""The mood of one answer, by the words of a lexicon and the rules around them."""

# The lexicon is VADER (Hutto and Gilbert, 2014), made for short informal texts, with negations, intensifiers,
# `but`, capitals and emojis. Of the libraries that work offline (looked at in November 2026):
#   nltk-vader-sentiment 1.0.0  August 2026, Apache 2.0, no dependencies, typed, thread-safe, linear in the
#                               length of a text; by a maintainer of NLTK, few users; loads in 75 ms, 19 MB
#   vaderSentiment 3.3.2        the original, MIT, many users, no release since 2020; quadratic in the length
#                               of a text, and it brings `requests` along
#   textblob 0.20.1             July 2026, MIT, many users; loads NLTK, in 0.7 s and 43 MB; knows no emojis,
#                               and finds `Too many ads` positive
#   nltk 3.10                   its lexicon is a download
# The first two agree on nearly everything: should the first be given up, the second takes its place.

from __future__ import annotations

import regex
from vader import SentimentIntensityAnalyzer
from vader.data.lexicon import MULTIWORD

from surveys.ai.local.tokens import READ_LENGTH, masked, says_nothing
from surveys.ai.provider import Sentiment

_THRESHOLD = 0.05  # what VADER's makers advise
_LETTERS = regex.compile(r"[\p{L}\p{M}]+")
# Nothing, I loved it!
_OPENING_NO = regex.compile(r"^\s*(?:no|nope|none|nothing|nah)\s*[,.;:!–—-]+\s+", regex.IGNORECASE)

# What the lexicon, made from posts of 2014, does not know of software, games and events.
_OF_SURVEYS = {
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
    **dict.fromkeys(("favourite", "favourites", "honoured", "humour"), 1.8),  # spelt as in Britain
    # What is neither good nor bad where it is spoken of here.
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
_SAID_TOGETHER = {
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

_ANALYZER = SentimentIntensityAnalyzer(extra_lexicon=_OF_SURVEYS, multiword={**MULTIWORD, **_SAID_TOGETHER})


def sentiment(answer: str, *, is_english: bool) -> Sentiment:
    """Of an answer in another language only its emojis are understood."""
    if says_nothing(answer):
        return "neutral"
    text = masked(answer[:READ_LENGTH])
    text = _OPENING_NO.sub("", text, count=1) if is_english else _LETTERS.sub(" ", text)
    score = _ANALYZER.polarity_scores(text)["compound"]
    if score >= _THRESHOLD:
        return "positive"
    return "negative" if score <= -_THRESHOLD else "neutral"
