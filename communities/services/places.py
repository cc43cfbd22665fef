"""Time zones and languages that a community may choose."""

from __future__ import annotations

import re
from functools import cache
from zoneinfo import available_timezones

_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
_NO_PLACES = ("Etc/", "SystemV/", "posix/", "right/")


@cache
def time_zones() -> frozenset[str]:
    """The IANA names that a community's time zone may have."""
    return frozenset(
        name for name in available_timezones() if name not in ("localtime", "posixrules", "Factory")
    )


@cache
def common_time_zones() -> tuple[str, ...]:
    """UTC and the names of places, as people choose them."""
    places = sorted(name for name in time_zones() if "/" in name and not name.startswith(_NO_PLACES))
    return ("UTC", *places)


def is_language_tag(text: str) -> bool:
    """Whether a text has the form of a language tag, such as `en` or `pt-BR`."""
    return _LANGUAGE_TAG.fullmatch(text) is not None
