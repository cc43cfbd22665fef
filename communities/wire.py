"""Plain data as JSON, in responses and in events."""

import orjson
from django.utils.functional import Promise

_RENDERED_AS = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS | orjson.OPT_NON_STR_KEYS


def render(value: object) -> bytes:
    """Return JSON in UTF-8, with times in UTC without microseconds (rules 1.3 and 11.1)."""
    return orjson.dumps(value, default=_as_text, option=_RENDERED_AS)


def _as_text(value: object) -> str:
    if isinstance(value, Promise):  # a lazily translated text
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be rendered as JSON.")
