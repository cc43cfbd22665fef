"""A batch of texts in pieces that fit one request, and what the model makes of each, put together again.

A piece whose answer is no use is asked again in halves, down to a single text, which is left unread: one text
that the model will not look at does not keep the others from being read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from surveys.ai.claude import shapes
from surveys.ai.claude.question import Unusable
from surveys.ai.claude.shapes import Part
from surveys.ai.provider import SENTIMENTS, Reading, ReadText, TextBatch, Theme

MOST_CHARACTERS = 60_000  # of texts in one request; a single one may be 10,000
MOST_HALVINGS = 14  # for one batch: enough to find two texts among a hundred
MAX_TITLE = 80
MAX_DESCRIPTION = 300
MAX_QUOTE = 300
_MOST_THEMES = 5  # of one text

Piece = range


@dataclass
class Told:
    """What was made of a batch so far."""

    batch: TextBatch
    new: list[Theme] = field(default_factory=list)
    texts: dict[int, ReadText] = field(default_factory=dict)

    @property
    def themes(self) -> list[Theme]:
        return [*self.batch.known, *self.new]

    @property
    def room(self) -> int:
        return max(0, self.batch.room - len(self.new))

    def reading(self) -> Reading:
        """All of it; new themes that no text has are left out."""
        used = {title for text in self.texts.values() for title in text.themes}
        return Reading(
            themes=[theme for theme in self.new if theme.title in used],
            texts=[self.texts.get(n) for n in range(len(self.batch.answers))],
        )


def read(batch: TextBatch, ask: Callable[[Told, Piece], None], *, has_time: Callable[[], bool]) -> Reading:
    """Have every piece of a batch read by `ask`, which notes what it finds.

    Raises ProviderFailed where it does, and where nothing at all could be read. Texts for which there is no
    time are left unread.
    """
    told = Told(batch)
    left = deque(_pieces(batch.answers))
    halvings, failure = 0, None
    while left and has_time():
        piece = left.popleft()
        try:
            ask(told, piece)
        except Unusable as unusable:
            failure = unusable
            if len(piece) > 1 and halvings < MOST_HALVINGS:
                halvings += 1
                middle = len(piece) // 2
                left.extendleft((piece[middle:], piece[:middle]))
    if failure is not None and not told.texts:
        raise failure
    return told.reading()


def _pieces(answers: Sequence[str]) -> Iterator[Piece]:
    start = size = 0
    for n, answer in enumerate(answers):
        if size + len(answer) > MOST_CHARACTERS and n > start:
            yield range(start, n)
            start, size = n, 0
        size += len(answer)
    if start < len(answers):
        yield range(start, len(answers))


def told_to_model(told: Told, piece: Piece) -> dict[str, object]:
    return {
        "question": told.batch.prompt,
        "known_themes": [
            {"title": theme.title, "description": theme.description}
            if theme.description
            else {"title": theme.title}
            for theme in told.themes
        ],
        "room": told.room,
        "answers": [{"n": n, "text": told.batch.answers[n]} for n in piece],
    }


def note(answer: Part, told: Told, piece: Piece) -> None:
    """Note what the model answered for a piece, or nothing and raise Unusable where it is no reading."""
    if not isinstance(answer.get("texts"), list):
        raise shapes.misshaped()
    titles = {_key(theme.title): theme.title for theme in told.themes}
    new: list[Theme] = []
    for theme in map(_theme, shapes.parts(answer.get("new_themes"), most=1_000)):
        if theme.title and _key(theme.title) not in titles and len(new) < told.room:
            new.append(theme)
            titles[_key(theme.title)] = theme.title
    texts: dict[int, ReadText] = {}
    for sent in shapes.parts(answer["texts"], most=10_000):
        n = shapes.whole(sent.get("n"))
        text = _text(sent, titles)
        if n is not None and n in piece:
            texts.setdefault(n, text)
    if not texts:
        raise shapes.misshaped()
    told.new += new
    told.texts |= texts


def _theme(sent: Part) -> Theme:
    return Theme(
        title=shapes.line(sent.get("title"), most=MAX_TITLE),
        description=shapes.line(sent.get("description"), most=MAX_DESCRIPTION),
    )


def _text(sent: Part, titles: Mapping[str, str]) -> ReadText:
    sentiment = next((each for each in SENTIMENTS if each == sent.get("sentiment")), None)
    if sentiment is None:
        raise shapes.misshaped()
    written = [shapes.line(each, most=MAX_TITLE) for each in shapes.items(sent.get("themes"), most=1_000)]
    found = dict.fromkeys(titles[_key(title)] for title in written if _key(title) in titles)
    quote = shapes.cut(shapes.text(sent.get("quote")), most=MAX_QUOTE)
    return ReadText(themes=tuple(found)[:_MOST_THEMES], sentiment=sentiment, quote=quote or None)


def _key(title: str) -> str:
    """Titles that differ in case alone are one theme."""
    return title.casefold()
