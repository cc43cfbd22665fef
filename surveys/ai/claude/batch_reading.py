"""Reading of a batch of answers in pieces that fit into one request each.

If the response for a piece is unusable, both halves of the piece are requested again, down to a single
answer, which then counts as unread. So one answer that the model refuses to read does not affect the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from surveys.ai.claude.json_values import (
    JsonObject,
    as_integer,
    as_line,
    as_list,
    as_objects,
    as_text,
    malformed,
    truncate,
)
from surveys.ai.claude.request import UnusableResponseError
from surveys.ai.claude.serialization import serialize_answers
from surveys.ai.provider import (
    MAX_THEME_DESCRIPTION,
    MAX_THEME_TITLE,
    SENTIMENTS,
    BatchReading,
    TextBatch,
    TextReading,
    TextTheme,
)

MAX_CHARACTERS = 60_000  # of the answers in one request; a single answer may have 10,000
MAX_HALVINGS = 14  # of one batch: enough to find two bad answers among a hundred
_MAX_RAW_QUOTE = 300  # the services shorten it further
_MAX_THEMES = 5  # of one answer

Piece = range  # numbers of consecutive answers


@dataclass
class PartialReading:
    """What the model has found in a batch so far. `texts` is by the number of the answer."""

    batch: TextBatch
    new_themes: list[TextTheme] = field(default_factory=list)
    texts: dict[int, TextReading] = field(default_factory=dict)

    @property
    def themes(self) -> list[TextTheme]:
        """All themes that answers can be assigned to."""
        return [*self.batch.known_themes, *self.new_themes]

    @property
    def remaining_themes(self) -> int:
        """How many new themes the model may still name."""
        return max(0, self.batch.max_new_themes - len(self.new_themes))

    def result(self) -> BatchReading:
        """The reading of the whole batch, without new themes that no answer has."""
        used = {title for text in self.texts.values() for title in text.themes}
        return BatchReading(
            themes=[theme for theme in self.new_themes if theme.title in used],
            texts=[self.texts.get(number) for number in range(len(self.batch.answers))],
        )

    def serialize(self, piece: Piece) -> dict[str, object]:
        """The data of the request for one piece."""
        return serialize_answers(
            prompt=self.batch.prompt,
            themes=self.themes,
            max_new_themes=self.remaining_themes,
            answers={number: self.batch.answers[number] for number in piece},
        )

    def add(self, response: JsonObject, piece: Piece) -> None:
        """Add what the model found in a piece. Raises UnusableResponseError, and adds nothing, if invalid."""
        if not isinstance(response.get("texts"), list):
            raise malformed()
        titles = {_key(theme.title): theme.title for theme in self.themes}
        new_themes: list[TextTheme] = []
        for theme in map(_read_theme, as_objects(response.get("new_themes"), most=1_000)):
            is_new = theme.title and _key(theme.title) not in titles
            if is_new and len(new_themes) < self.remaining_themes:
                new_themes.append(theme)
                titles[_key(theme.title)] = theme.title
        texts: dict[int, TextReading] = {}
        for entry in as_objects(response["texts"], most=10_000):
            number = as_integer(entry.get("n"))
            text = _read_text(entry, titles)
            if number is not None and number in piece:
                texts.setdefault(number, text)
        if not texts:
            raise malformed()
        self.new_themes += new_themes
        self.texts |= texts


def read_in_pieces(
    batch: TextBatch, request_piece: Callable[[PartialReading, Piece], None], *, has_time: Callable[[], bool]
) -> BatchReading:
    """Read a batch by calling `request_piece` for each piece, which adds what the model found.

    Answers for which there is no time count as unread. Raises ProviderError if `request_piece` does, and if
    nothing at all could be read.
    """
    reading = PartialReading(batch)
    pieces = deque(_split(batch.answers))
    halvings, error = 0, None
    while pieces and has_time():
        piece = pieces.popleft()
        try:
            request_piece(reading, piece)
        except UnusableResponseError as unusable:
            error = unusable
            if len(piece) > 1 and halvings < MAX_HALVINGS:
                halvings += 1
                middle = len(piece) // 2
                pieces.extendleft((piece[middle:], piece[:middle]))
    if error is not None and not reading.texts:
        raise error
    return reading.result()


def _split(answers: Sequence[str]) -> Iterator[Piece]:
    start = size = 0
    for number, answer in enumerate(answers):
        if size + len(answer) > MAX_CHARACTERS and number > start:
            yield range(start, number)
            start, size = number, 0
        size += len(answer)
    if start < len(answers):
        yield range(start, len(answers))


def _read_theme(entry: JsonObject) -> TextTheme:
    return TextTheme(
        title=as_line(entry.get("title"), most=MAX_THEME_TITLE),
        description=as_line(entry.get("description"), most=MAX_THEME_DESCRIPTION),
    )


def _read_text(entry: JsonObject, titles: Mapping[str, str]) -> TextReading:
    sentiment = next((each for each in SENTIMENTS if each == entry.get("sentiment")), None)
    if sentiment is None:
        raise malformed()
    keys = [_key(as_line(title, most=MAX_THEME_TITLE)) for title in as_list(entry.get("themes"), most=1_000)]
    themes = tuple(dict.fromkeys(titles[key] for key in keys if key in titles))
    quote = truncate(as_text(entry.get("quote")), most=_MAX_RAW_QUOTE)
    return TextReading(themes=themes[:_MAX_THEMES], sentiment=sentiment, quote=quote or None)


def _key(title: str) -> str:
    """Titles that differ only in upper and lower case are the same theme."""
    return title.casefold()
