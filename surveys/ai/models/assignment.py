"""Assignment of answers to themes, in pieces that fit into one request each.

If the response for a piece is unusable, both halves of the piece are requested again, down to a single
answer, which then counts as unread. So an answer that the model refuses to read does not affect other
answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from surveys.ai.models.json_values import (
    JsonObject,
    as_integer,
    as_list,
    as_objects,
    as_text,
    malformed,
)
from surveys.ai.models.request import UnusableResponseError
from surveys.ai.provider import SENTIMENTS, Sentiment, TextBatch, TextReading

# One batch is halved at most this often, which is enough to find two bad answers among a hundred.
MAX_HALVINGS = 14
NO_OPINION = "none"
_MAX_RAW_QUOTE = 300  # A quote with more characters is dropped. The services shorten quotes further.
_MAX_THEMES = 5  # One answer has at most this many themes.

Piece = range  # The numbers of consecutive answers.
Readings = dict[int, TextReading]  # The readings by the number of the answer.


def assign_in_pieces(
    batch: TextBatch,
    request_piece: Callable[[Piece], Readings],
    *,
    max_characters: int,
    has_time: Callable[[], bool],
) -> list[TextReading | None]:
    """Read a batch by calling `request_piece` for each piece of at most `max_characters` characters.

    Answers for which no time is left count as unread. Raises ProviderError if `request_piece` does, and if no
    answer could be read.
    """
    readings: Readings = {}
    pieces = deque(_split(batch.answers, max_characters))
    halvings, error = 0, None
    while pieces and has_time():
        piece = pieces.popleft()
        try:
            readings |= request_piece(piece)
        except UnusableResponseError as unusable:
            error = unusable
            if len(piece) > 1 and halvings < MAX_HALVINGS:
                halvings += 1
                middle = len(piece) // 2
                pieces.extendleft((piece[middle:], piece[:middle]))
    if error is not None and not readings:
        raise error
    return [readings.get(number) for number in range(len(batch.answers))]


def _split(answers: Sequence[str], max_characters: int) -> Iterator[Piece]:
    start = size = 0
    for number, answer in enumerate(answers):
        if size + len(answer) > max_characters and number > start:
            yield range(start, number)
            start, size = number, 0
        size += len(answer)
    if start < len(answers):
        yield range(start, len(answers))


def read_piece(response: JsonObject, batch: TextBatch, piece: Piece) -> Readings:
    """The themes that the model found in a piece. Raises UnusableResponseError if the response does not have
    the requested form.
    """
    if not isinstance(response.get("texts"), list):
        raise malformed()
    readings: Readings = {}
    for entry in as_objects(response["texts"], most=10_000):
        number = as_integer(entry.get("n"))
        reading = _read_entry(entry, batch, number if number in piece else None)
        if number is not None and number in piece:
            readings.setdefault(number, reading)
    if not readings:
        raise malformed()
    return readings


def _read_entry(entry: JsonObject, batch: TextBatch, number: int | None) -> TextReading:
    indexes = (as_integer(index) for index in as_list(entry.get("themes"), most=1_000))
    known = (index for index in indexes if index is not None and 0 <= index < len(batch.themes))
    themes = tuple(dict.fromkeys(known))[:_MAX_THEMES]
    quote = as_text(entry.get("quote"))
    is_verbatim = number is not None and 0 < len(quote) <= _MAX_RAW_QUOTE and quote in batch.answers[number]
    return TextReading(themes, _read_sentiment(entry), quote if is_verbatim else None)


def _read_sentiment(entry: JsonObject) -> Sentiment | None:
    raw = entry.get("sentiment")
    if raw is None or raw == NO_OPINION:
        return None
    sentiment = next((each for each in SENTIMENTS if each == raw), None)
    if sentiment is None:
        raise malformed()
    return sentiment
