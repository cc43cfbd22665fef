"""The themes that a model names: checked, and near-duplicates merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import regex

from surveys.ai.models.json_values import JsonObject, as_objects, malformed
from surveys.ai.models.plain_text import as_plain_line
from surveys.ai.models.request import UnusableResponseError
from surveys.ai.provider import MAX_THEME_DESCRIPTION, MAX_THEME_TITLE, TextTheme

MIN_HALVED = 8  # A sample with fewer answers is not halved.
_WORD = regex.compile(r"[\p{L}\p{M}\p{Nd}]+")
# Words that make no difference between two titles, in the languages in which most titles are written.
_LIGHT = frozenset(
    _WORD.findall(
        "a an and are in is of on the to with der die das den dem des ein eine ist im in mit und von zu "
        "le la les l d de des du un une est et en à au aux el los las y es del al una "
        "o os as e é do da dos das em um uma"
    )
)
_SAME_BEGINNING = 5  # Two words differ only in their endings if at least this many first letters agree.
_MAX_ENDING = 3


def name_in_halves(
    answers: Sequence[str], request: Callable[[Sequence[str], Sequence[TextTheme]], list[TextTheme]]
) -> list[TextTheme]:
    """Have themes named by `request`, which gets answers and the themes that are named already.

    If the response is unusable, each half of the answers is requested once. So an answer that the model
    refuses to read does not cost the whole sample. Raises ProviderError if `request` fails for both halves.
    """
    try:
        return request(answers, ())
    except UnusableResponseError:
        if len(answers) < MIN_HALVED:
            raise
    themes: list[TextTheme] = []
    errors: list[UnusableResponseError] = []
    for half in (answers[::2], answers[1::2]):
        try:
            themes += request(half, themes)
        except UnusableResponseError as error:
            errors.append(error)
    if len(errors) == 2:
        raise errors[0]
    return themes


def read_themes(response: JsonObject, *, known: Sequence[TextTheme], most: int) -> list[TextTheme]:
    """Return at most `most` new themes of a response. Of themes with the same meaning, the first counts.

    Raises UnusableResponseError if the response does not have the requested form.
    """
    if not isinstance(response.get("themes"), list):
        raise malformed()
    meanings = [_meaning(theme.title) for theme in known]
    themes: list[TextTheme] = []
    for entry in as_objects(response["themes"], most=1_000):
        theme = TextTheme(
            title=as_plain_line(entry.get("title"), most=MAX_THEME_TITLE),
            description=as_plain_line(entry.get("description"), most=MAX_THEME_DESCRIPTION),
        )
        meaning = _meaning(theme.title)
        if meaning and len(themes) < most and not any(_is_same(meaning, each) for each in meanings):
            themes.append(theme)
            meanings.append(meaning)
    return themes


def _meaning(title: str) -> list[str]:
    """Return the words of a title in alphabetical order, without words that make no difference."""
    words = {word.casefold() for word in _WORD.findall(title)}
    return sorted(words - _LIGHT or words)


def _is_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two titles have the same words in any order and with any endings: "slow pages", "page slow"."""
    if len(one) != len(other):
        return False
    return all(_is_same_word(*pair) for pair in zip(one, other, strict=True))


def _is_same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    differing = (n for n, letter in enumerate(shorter) if longer[n] != letter)
    same = next(differing, len(shorter))
    has_endings = len(shorter) - same < _MAX_ENDING and len(longer) - same <= _MAX_ENDING
    return longer == f"{shorter}s" or (same >= _SAME_BEGINNING and has_endings)
