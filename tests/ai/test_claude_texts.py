"""Texts read by the real SDK over a loopback: which parts of a response are used."""

from collections.abc import Mapping
from typing import Any

import pytest

from surveys.ai.claude import ClaudeProvider
from surveys.ai.models import assignment
from surveys.ai.provider import ProviderError, TextBatch, TextExample, TextReading, TextSample, TextTheme
from tests.support.ai.improvisation import data_in
from tests.support.ai.loopback import Loopback

SLOW = TextTheme("Slow search", "Finding things takes long.")
FRIENDLY = TextTheme("Friendly people")
THEMES = [SLOW, FRIENDLY]


def text(n: int, *themes: Any, **other: Any) -> dict[str, Any]:
    return {"n": n, "themes": list(themes), "sentiment": "neutral", **other}


def answer(*texts: dict[str, Any]) -> dict[str, Any]:
    return {"texts": list(texts)}


def all_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """A reading of every answer in the request, with its first characters as the quote."""
    return answer(*(text(each["n"], quote=each["text"][:3]) for each in data_in(body)["answers"]))


def batch_of(*answers: str, **fields: Any) -> TextBatch:
    return TextBatch("Why?", answers, **{"themes": THEMES, **fields})


# --- Assigning answers to themes ------------------------------------------------------------------------


def test_answers_get_themes_by_index_a_sentiment_and_a_quote(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.queue(
        answer(
            text(0, 0, 1, sentiment="negative", quote="takes for ever"),
            text(1, 1, sentiment="positive"),
        )
    )
    example = TextExample("Endless", (0,), "negative")
    batch = TextBatch("What now?", ["It takes for ever", "All nice"], THEMES, [example])

    readings = claude.assign_themes(batch)

    assert readings == [
        TextReading((0, 1), "negative", "takes for ever"),
        TextReading((1,), "positive", None),
    ]
    assert data_in(anthropic.requests[0].body) == {
        "question": "What now?",
        "themes": [
            {"index": 0, "title": "Slow search", "description": "Finding things takes long."},
            {"index": 1, "title": "Friendly people"},
        ],
        "examples": [{"text": "Endless", "themes": [0], "sentiment": "negative"}],
        "answers": [{"n": 0, "text": "It takes for ever"}, {"n": 1, "text": "All nice"}],
    }


@pytest.mark.parametrize("sentiment", ["none", None])
def test_an_answer_without_an_opinion_has_no_sentiment(
    claude: ClaudeProvider, anthropic: Loopback, sentiment: str | None
) -> None:
    anthropic.queue(answer(text(0, sentiment=sentiment)))

    assert claude.assign_themes(batch_of("n/a")) == [TextReading((), None)]


def test_missing_texts_are_unread_and_the_first_of_two_readings_counts(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.queue(
        answer(text(2, sentiment="positive"), text(2, sentiment="negative"), text(7), text(-1), text(0))
    )

    readings = claude.assign_themes(batch_of("a", "b", "c"))

    assert readings == [TextReading(), None, TextReading(sentiment="positive")]


def test_an_answer_has_five_themes_at_most(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue(answer(text(0, *range(9))))
    themes = [TextTheme(f"Theme {n}") for n in range(9)]

    assert claude.assign_themes(batch_of("a", themes=themes)) == [TextReading((0, 1, 2, 3, 4))]


@pytest.mark.parametrize(
    ("quote", "kept"),
    [("so slow", "so slow"), (" so slow ", "so slow"), ("So slow", None), ("slow it", None), ("", None)],
)
def test_a_quote_is_a_verbatim_part_of_its_own_answer(
    claude: ClaudeProvider, anthropic: Loopback, quote: str, kept: str | None
) -> None:
    anthropic.queue(answer(text(0, quote=quote), text(1, quote="so slow")))

    first, second = claude.assign_themes(batch_of("it is so slow", "quick"))

    assert first == TextReading(quote=kept)
    assert second == TextReading()


def test_long_batches_are_split_and_each_piece_has_the_whole_codebook(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    long = [f"{n}" * 10_000 for n in range(8)]
    anthropic.default_to(all_of)

    readings = claude.assign_themes(batch_of(*long))

    first, second = (data_in(asked.body) for asked in anthropic.requests)
    assert [each["n"] for each in first["answers"]] == [0, 1, 2, 3, 4, 5]
    assert [each["text"] for each in second["answers"]] == long[6:]
    assert first["themes"] == second["themes"]
    assert [read and read.quote for read in readings] == [each[:3] for each in long]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda loopback: loopback.queue({}, stop_reason="refusal"),
        lambda loopback: loopback.queue_content([], stop_reason="refusal"),
        lambda loopback: loopback.queue_text('{"texts": [', stop_reason="max_tokens"),
        lambda loopback: loopback.queue_text("Sorry, no."),
        lambda loopback: loopback.queue({"texts": []}),
        lambda loopback: loopback.queue(answer(text(0, sentiment="angry"))),
        lambda loopback: loopback.queue(answer(text(0, "Slow search"))),
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
        "title",
        "number",
        "too large",
    ],
)
def test_a_batch_with_an_unusable_response_is_requested_in_halves(
    claude: ClaudeProvider, anthropic: Loopback, spoil: Any
) -> None:
    spoil(anthropic)
    anthropic.default_to(all_of)

    readings = claude.assign_themes(batch_of("aaa", "bbb", "ccc"))

    assert [read and read.quote for read in readings] == ["aaa", "bbb", "ccc"]
    pieces = [[each["n"] for each in data_in(asked.body)["answers"]] for asked in anthropic.requests]
    assert pieces == [[0, 1, 2], [0], [1, 2]]


def test_one_refused_answer_does_not_affect_the_others(claude: ClaudeProvider, anthropic: Loopback) -> None:
    def squeamish(body: Mapping[str, Any]) -> object:
        texts = [each["text"] for each in data_in(body)["answers"]]
        return "No." if "poison" in texts else all_of(body)

    anthropic.default_to(squeamish)

    readings = claude.assign_themes(batch_of(*["fine"] * 50, "poison", *["fine"] * 49))

    assert [n for n, read in enumerate(readings) if read is None] == [50]


def test_a_batch_in_which_nothing_can_be_read_is_an_error(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.default_to({}, stop_reason="refusal")

    with pytest.raises(ProviderError, match="declined"):
        claude.assign_themes(batch_of("a", "b"))

    assert len(anthropic.requests) == 3


def test_the_number_of_halvings_is_limited(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.default_to("No.")

    with pytest.raises(ProviderError):
        claude.assign_themes(batch_of(*["a"] * 100))

    assert len(anthropic.requests) == 1 + 2 * assignment.MAX_HALVINGS


def test_a_batch_is_not_halved_if_the_provider_is_overloaded(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.default_to_error(529, "overloaded_error")

    with pytest.raises(ProviderError, match="overloaded"):
        claude.assign_themes(batch_of("a", "b"))

    assert len(anthropic.requests) == 3


def test_answers_without_time_left_are_unread(anthropic: Loopback) -> None:
    now = [0.0]

    def slow(body: Mapping[str, Any]) -> object:
        now[0] += 50
        return all_of(body)

    anthropic.default_to(slow)
    with ClaudeProvider(api_key="key", base_url=anthropic.url, clock=lambda: now[0]) as claude:
        readings = claude.assign_themes(batch_of(*["x" * 10_000] * 20))

    assert [n for n, read in enumerate(readings) if read] == list(range(12))
    assert len(readings) == 20


def test_a_full_batch_has_enough_tokens_for_its_response(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.default_to(all_of)

    readings = claude.assign_themes(batch_of(*["word"] * claude.max_batch_size))

    assert None not in readings
    assert anthropic.requests[0].body["max_tokens"] == 16_000
    assert anthropic.requests[0].body["model"] == "claude-haiku-5-5"


# --- Naming themes --------------------------------------------------------------------------------------


def named(*titles: str) -> dict[str, Any]:
    return {"themes": [{"title": title, "description": f"On {title.lower()}."} for title in titles]}


def test_new_themes_are_named_from_a_sample(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue({"themes": [{"title": SLOW.title, "description": SLOW.description}]})

    themes = claude.name_themes(TextSample("Why?", ["a", "b"], [FRIENDLY], max_new_themes=5))

    assert themes == [SLOW]
    assert data_in(anthropic.requests[0].body) == {
        "question": "Why?",
        "known_themes": [{"title": "Friendly people"}],
        "room": 5,
        "answers": ["a", "b"],
    }


def test_new_themes_are_limited_and_near_duplicates_merged(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.queue(
        named(
            "FRIENDLY PEOPLE",  # known
            " ",
            "Slow page",
            "Slow pages",
            "The page is slow",
            "Too expensive",
            "Not expensive",
            "Long waiting time",
            "Waiting times long",
            "Delayed reply",
            "Fourth",
        )
    )

    themes = claude.name_themes(TextSample("Why?", ["a"], [FRIENDLY], max_new_themes=5))

    titles = [theme.title for theme in themes]
    assert titles == ["Slow page", "Too expensive", "Not expensive", "Long waiting time", "Delayed reply"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Parking", "No parking"),
        ("Friendly staff", "Unfriendly staff"),
        ("Fast internet", "Fast interest"),
        ("High prices", "Low prices"),
        ("More colours", "More games"),
    ],
)
def test_themes_that_mean_something_else_are_not_merged(
    claude: ClaudeProvider, anthropic: Loopback, one: str, other: str
) -> None:
    anthropic.queue(named(one, other))

    themes = claude.name_themes(TextSample("Why?", ["a"]))

    assert [theme.title for theme in themes] == [one, other]


def test_a_sample_with_an_unusable_response_is_requested_in_halves(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.queue({}, stop_reason="refusal")
    anthropic.queue(named("Slow search"))
    anthropic.queue(named("Search is slow", "High prices"))

    themes = claude.name_themes(TextSample("Why?", [str(n) for n in range(8)], max_new_themes=3))

    assert [theme.title for theme in themes] == ["Slow search", "High prices"]
    _, first, second = (data_in(asked.body) for asked in anthropic.requests)
    assert (first["answers"], second["answers"]) == (["0", "2", "4", "6"], ["1", "3", "5", "7"])
    assert [theme["title"] for theme in second["known_themes"]] == ["Slow search"]
    assert second["room"] == 2


def test_one_half_of_a_sample_is_enough(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue({}, stop_reason="refusal")
    anthropic.queue("No.")
    anthropic.queue(named("High prices"))

    themes = claude.name_themes(TextSample("Why?", ["a"] * 8))

    assert [theme.title for theme in themes] == ["High prices"]


@pytest.mark.parametrize(("count", "requests"), [(8, 3), (7, 1)])
def test_a_sample_of_which_nothing_can_be_read_is_an_error(
    claude: ClaudeProvider, anthropic: Loopback, count: int, requests: int
) -> None:
    anthropic.default_to({"titles": []})

    with pytest.raises(ProviderError, match="required form"):
        claude.name_themes(TextSample("Why?", ["a"] * count))

    assert len(anthropic.requests) == requests
