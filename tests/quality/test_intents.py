"""The bar for drafts of the local provider, on sixty intents that it was not tuned by (rule 10.44)."""

from collections import Counter
from dataclasses import replace

from surveys.ai.local import LocalProvider
from surveys.ai.provider import ProposedScript
from tests.quality import intents
from tests.quality.intents import HELD_OUT, TUNING
from tests.support.cases import try_each

LEAST_MEAN = 2.0
WANTED = {
    "intent": "Rate the food and say why",
    "kind": "food",
    "type": "convo",
    "holds": [{"asks": "food", "types": ["opinion_scale"], "max": 5}, {"type_count": ["open_text", 1, 1]}],
}
FOOD = {
    "type": "opinion_scale",
    "name": "food",
    "prompt": "How was the food in your house?",
    "min": 1,
    "max": 5,
}
WHY = {"type": "open_text", "name": "why", "prompt": "What is the reason for your answer?"}
GOOD = ProposedScript([FOOD, WHY])


@try_each("path", [HELD_OUT, TUNING])
def test_drafts_reach_the_bar(path):
    wanted = intents.load(path)

    scores = [intents.score(each, intents.draft(LocalProvider(), each))[0] for each in wanted]

    assert sum(scores) / len(scores) >= LEAST_MEAN
    if path == HELD_OUT:
        assert [each["intent"] for each, points in zip(wanted, scores, strict=True) if not points] == []


def test_there_are_sixty_intents_in_several_languages():
    wanted = intents.load()

    languages = Counter(each.get("language", "en") for each in wanted if not each.get("is_refused"))
    assert len({each["intent"] for each in wanted}) == 60
    assert set(languages) == {"en", "de", "fr", "es", "pt"}
    assert not {each["intent"] for each in wanted} & {each["intent"] for each in intents.load(TUNING)}


@try_each(
    ("draft", "points"),
    [
        (GOOD, 3),
        (replace(GOOD, blocks=[FOOD]), 1),
        (replace(GOOD, blocks=[{**FOOD, "max": 7}, WHY]), 1),
        (replace(GOOD, blocks=[FOOD, {**WHY, "prompt": "⟦Your question about the answer⟧"}]), 1),
        (replace(GOOD, blocks=[WHY]), 0),
        (replace(GOOD, blocks=[{**FOOD, "prompt": "Wie war das Essen mit food?"}, WHY]), 3),
        (replace(GOOD, blocks=[{**FOOD, "min": 5, "max": 1}, WHY]), 0),
        (None, 0),
    ],
)
def test_a_score_tells_what_a_draft_lacks(draft, points):
    assert intents.score(WANTED, draft)[0] == points


def test_a_refusal_is_right_where_the_language_cannot_be_written():
    assert intents.score({"is_refused": True}, None)[0] == 3
    assert intents.score({"is_refused": True}, GOOD)[0] == 0
