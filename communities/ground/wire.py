"""Plain data as JSON, in responses and in events."""

from collections.abc import Generator, Iterable, Mapping

import orjson
from django.utils.functional import Promise

_RENDERED_AS = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS | orjson.OPT_NON_STR_KEYS


def render(value: object) -> bytes:
    """Return JSON in UTF-8, with times in UTC without microseconds (rules 1.3 and 11.1)."""
    return orjson.dumps(value, default=_as_text, option=_RENDERED_AS)


def render_in_pieces(
    facts: Mapping[str, object], lists: Mapping[str, Iterable[object]]
) -> Generator[bytes, None, None]:
    """Return one JSON object in pieces: the fields of `facts`, at least one, and then the lists.

    A list may be long, so only one item at a time is in memory.
    """
    yield render(facts)[:-1]
    for name, items in lists.items():
        yield b"," + render(name) + b":["
        for n, item in enumerate(items):
            yield b"," + render(item) if n else render(item)
        yield b"]"
    yield b"}"


def _as_text(value: object) -> str:
    if isinstance(value, Promise):  # The value is a lazily translated text.
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be rendered as JSON.")
