"""The draft for any intent breaks no rule."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surveys.ai.local.drafts import languages, library
from surveys.ai.local.drafts.intent import read_intent
from surveys.ai.provider import MAX_INTENT, ScriptRequest
from tests.support.ai.drafts import draft_from, questions
from tests.support.effort import examples

_WORDS = [word for each in library.all_templates() for word in (*each.keywords, *each.decisive)]
_JOINTS = 'a an the our my of on for about with and or between options: results: , . ? ! ( ) " “ ” - /'
_ODDS = (
    "\n|5 questions|ten questions|100 questions|0 questions|3 options|quiz|poll|survey|Elden Ring|[UserName]|"
    "{topic}|<<x>>|<:a:1>|🍕🍕|C++|score_correct|correct|true|\x00|\u202e|é|火|\n- a\n- b"
)
PIECES = st.sampled_from([*_WORDS, *_JOINTS.split(), *_ODDS.split("|")])
INTENTS = st.one_of(
    st.text(min_size=1, max_size=MAX_INTENT),
    st.lists(PIECES, min_size=1, max_size=30).map(" ".join),
    st.lists(st.one_of(PIECES, st.text(max_size=12)), min_size=1, max_size=60).map(", ".join),
).map(lambda intent: intent[:MAX_INTENT])
BUCKETS = st.lists(
    st.sampled_from(
        ["Score", "Fire Mage", "Sea", "Explorer", "Achiever", "Connector", "Creator", "C++", "co-op"]
    ),
    unique=True,
).map(tuple)


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))
@given(
    intent=INTENTS,
    type=st.sampled_from(["convo", "poll"]),
    scoring=st.sampled_from([None, True, False]),
    bucket_names=BUCKETS,
    for_chat=st.booleans(),
)
def test_any_intent_gives_a_valid_draft(intent, type, scoring, bucket_names, for_chat) -> None:
    read = read_intent(ScriptRequest(intent, type))
    if read.language not in languages.written_languages():
        return  # refused, as `test_local_languages` tests
    draft = draft_from(intent, type, scoring=scoring, bucket_names=bucket_names, for_chat=for_chat)

    asked, wanted = len(questions(draft)), read.question_count
    assert asked == 1 if type == "poll" else 1 <= asked <= 100
    if wanted and type == "convo" and not wanted.low <= asked <= wanted.high:
        assert f"The draft has {asked} questions, and you asked for another number." in draft.unmet
    assert scoring is None or draft.scoring_enabled is scoring


@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(
    sign=st.sampled_from(list("a ,.:'\"?A5(\n-/“")), word=st.sampled_from(["", "or", "a", "of", "5", "The"])
)
def test_a_repetitive_intent_gives_a_draft(sign, word) -> None:
    intent = (f"{word}{sign}" * MAX_INTENT)[:MAX_INTENT]

    assert questions(draft_from(intent, "poll"))
    assert questions(draft_from(intent))
