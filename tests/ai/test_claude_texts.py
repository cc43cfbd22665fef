"""Texts read by the real SDK over a loopback: which parts of a response are used."""

from collections.abc import Mapping
from typing import Any

import pytest

from surveys.ai.claude import ClaudeProvider, batch_reading
from surveys.ai.provider import BatchReading, ProviderError, TextBatch, TextReading, TextTheme
from tests.support.ai.improvisation import data_in
from tests.support.ai.loopback import Loopback

SLOW = {"title": "Slow search", "description": "Finding things takes long."}


def text(n: int, *themes: str, **other: Any) -> dict[str, Any]:
    return {"n": n, "themes": list(themes), "sentiment": "neutral", **other}


def answer(*texts: dict[str, Any], new: list[Any] | None = None) -> dict[str, Any]:
    return {"new_themes": new or [], "texts": list(texts)}


def all_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """A reading of every answer in the request, with its first characters as the quote."""
    return answer(*(text(each["n"], quote=each["text"][:3]) for each in data_in(body)["answers"]))


def test_answers_get_themes_a_sentiment_and_a_quote(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue(
        answer(
            text(0, "Slow search", "Friendly people", sentiment="negative", quote="takes for ever"),
            text(1, "Friendly people", sentiment="positive"),
            new=[SLOW],
        )
    )
    batch = TextBatch(
        "What now?",
        ["It takes for ever", "All nice"],
        known_themes=[TextTheme("Friendly people")],
        max_new_themes=3,
    )

    reading = claude.read_texts(batch)

    assert reading == BatchReading(
        themes=[TextTheme("Slow search", "Finding things takes long.")],
        texts=[
            TextReading(("Slow search", "Friendly people"), "negative", "takes for ever"),
            TextReading(("Friendly people",), "positive", None),
        ],
    )
    assert data_in(anthropic.requests[0].body) == {
        "question": "What now?",
        "known_themes": [{"title": "Friendly people"}],
        "room": 3,
        "answers": [{"n": 0, "text": "It takes for ever"}, {"n": 1, "text": "All nice"}],
    }


def test_missing_texts_are_unread_and_the_first_of_two_readings_counts(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.queue(
        answer(text(2, sentiment="positive"), text(2, sentiment="negative"), text(7), text(-1), text(0))
    )

    reading = claude.read_texts(TextBatch("Why?", ["a", "b", "c"]))

    assert reading.texts == [TextReading(), None, TextReading(sentiment="positive")]


def test_unknown_titles_are_dropped(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue(answer(text(0, "slow SEARCH", "Invented", "Slow search"), new=[SLOW]))

    reading = claude.read_texts(TextBatch("Why?", ["a"]))

    assert reading.texts == [TextReading(("Slow search",))]


def test_new_themes_are_limited_and_unique(claude: ClaudeProvider, anthropic: Loopback) -> None:
    new = [{"title": title, "description": ""} for title in ("known", " ", "One", "ONE", "Two", "Three")]
    anthropic.queue(answer(text(0, "One", "Two", "Three", "Known"), new=new))

    reading = claude.read_texts(TextBatch("Why?", ["a"], known_themes=[TextTheme("Known")], max_new_themes=2))

    assert reading.themes == [TextTheme("One"), TextTheme("Two")]
    assert reading.texts == [TextReading(("One", "Two", "Known"))]


def test_new_themes_without_an_answer_are_dropped(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue(answer(text(0), new=[SLOW]))

    assert claude.read_texts(TextBatch("Why?", ["a"])).themes == []


def test_long_titles_and_quotes_are_truncated(claude: ClaudeProvider, anthropic: Loopback) -> None:
    long = "word " * 100
    long_quote = "said\x00 it " * 100
    anthropic.queue(
        answer(text(0, long, quote=long_quote), new=[{"title": f"{long}\n\x00", "description": long}])
    )

    reading = claude.read_texts(TextBatch("Why?", [long_quote]))

    (theme,), (read,) = reading.themes, reading.texts
    assert read is not None
    assert theme.title == ("word " * 16).strip()
    assert len(theme.description) <= 300
    assert read.themes == (theme.title,)
    assert read.quote is not None
    assert len(read.quote) <= 300
    assert read.quote in long_quote


def test_long_batches_are_split_and_each_piece_knows_earlier_themes(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    long = [f"{n}" * 10_000 for n in range(8)]
    anthropic.queue(
        answer(*(text(n, "Slow search") for n in range(6)), new=[SLOW]),
        answer(text(6, "Slow search"), text(7), new=[{"title": "Late", "description": ""}]),
    )

    reading = claude.read_texts(TextBatch("Why?", long, max_new_themes=2))

    first, second = (data_in(asked.body) for asked in anthropic.requests)
    assert [each["n"] for each in first["answers"]] == [0, 1, 2, 3, 4, 5]
    assert second["known_themes"] == [SLOW]
    assert second["room"] == 1
    assert [each["text"] for each in second["answers"]] == long[6:]
    assert reading.themes == [TextTheme(**SLOW)]
    assert reading.texts == [TextReading(("Slow search",))] * 7 + [TextReading()]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda loopback: loopback.queue({}, stop_reason="refusal"),
        lambda loopback: loopback.queue_content([], stop_reason="refusal"),
        lambda loopback: loopback.queue_text('{"texts": [', stop_reason="max_tokens"),
        lambda loopback: loopback.queue_text("Sorry, no."),
        lambda loopback: loopback.queue({"new_themes": [], "texts": []}),
        lambda loopback: loopback.queue(answer(text(0, sentiment="angry"))),
        lambda loopback: loopback.queue(answer(text(0), new=["Slow"])),
        lambda loopback: loopback.queue(answer(text(10**4000))),
        lambda loopback: loopback.queue_error(413, "request_too_large"),
    ],
    ids=[
        "refused",
        "refused without words",
        "cut off",
        "no JSON",
        "no texts",
        "mood",
        "theme",
        "number",
        "too large",
    ],
)
def test_a_batch_with_an_unusable_response_is_requested_in_halves(
    claude: ClaudeProvider, anthropic: Loopback, spoil: Any
) -> None:
    spoil(anthropic)
    anthropic.default_to(all_of)

    reading = claude.read_texts(TextBatch("Why?", ["aaa", "bbb", "ccc"]))

    assert [read and read.quote for read in reading.texts] == ["aaa", "bbb", "ccc"]
    pieces = [[each["n"] for each in data_in(asked.body)["answers"]] for asked in anthropic.requests]
    assert pieces == [[0, 1, 2], [0], [1, 2]]


def test_one_refused_answer_does_not_affect_the_others(claude: ClaudeProvider, anthropic: Loopback) -> None:
    def squeamish(body: Mapping[str, Any]) -> object:
        texts = [each["text"] for each in data_in(body)["answers"]]
        return "No." if "poison" in texts else all_of(body)

    anthropic.default_to(squeamish)

    reading = claude.read_texts(TextBatch("Why?", ["fine"] * 50 + ["poison"] + ["fine"] * 49))

    assert [n for n, read in enumerate(reading.texts) if read is None] == [50]


def test_a_batch_in_which_nothing_can_be_read_is_an_error(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.default_to({}, stop_reason="refusal")

    with pytest.raises(ProviderError, match="declined"):
        claude.read_texts(TextBatch("Why?", ["a", "b"]))

    assert len(anthropic.requests) == 3


def test_the_number_of_halvings_is_limited(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.default_to("No.")

    with pytest.raises(ProviderError):
        claude.read_texts(TextBatch("Why?", ["a"] * 100))

    assert len(anthropic.requests) == 1 + 2 * batch_reading.MAX_HALVINGS


def test_a_batch_is_not_halved_if_the_provider_is_overloaded(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.default_to_error(529, "overloaded_error")

    with pytest.raises(ProviderError, match="overloaded"):
        claude.read_texts(TextBatch("Why?", ["a", "b"]))

    assert len(anthropic.requests) == 3


def test_answers_without_time_left_are_unread(anthropic: Loopback) -> None:
    now = [0.0]

    def slow(body: Mapping[str, Any]) -> object:
        now[0] += 50
        return all_of(body)

    anthropic.default_to(slow)
    with ClaudeProvider(api_key="key", base_url=anthropic.url, clock=lambda: now[0]) as claude:
        reading = claude.read_texts(TextBatch("Why?", ["x" * 10_000] * 20))

    assert [n for n, read in enumerate(reading.texts) if read] == list(range(12))
    assert len(reading.texts) == 20


def test_an_empty_batch_sends_no_request(claude: ClaudeProvider, anthropic: Loopback) -> None:
    assert claude.read_texts(TextBatch("Why?", [])) == BatchReading([], [])
    assert anthropic.requests == ()


def test_a_full_batch_has_enough_tokens_for_its_response(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.default_to(all_of)

    reading = claude.read_texts(TextBatch("Why?", ["word"] * claude.max_batch_size))

    assert None not in reading.texts
    assert anthropic.requests[0].body["max_tokens"] == 16_000
    assert anthropic.requests[0].body["model"] == "claude-haiku-5-5"
