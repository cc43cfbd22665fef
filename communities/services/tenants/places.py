"""Time zones and languages that a community may choose."""

from __future__ import annotations

import re
from functools import cache
from zoneinfo import available_timezones

from communities.services.tenants.languages import LANGUAGES

_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
_NO_PLACES = ("Etc/", "SystemV/", "posix/", "right/")
_CITIES = (
    "Africa/",
    "America/",
    "Antarctica/",
    "Asia/",
    "Atlantic/",
    "Australia/",
    "Europe/",
    "Indian/",
    "Pacific/",
)


@cache
def time_zones() -> frozenset[str]:
    """The IANA names that are valid for a community's time zone."""
    return frozenset(
        name for name in available_timezones() if name not in ("localtime", "posixrules", "Factory")
    )


@cache
def common_time_zones() -> tuple[str, ...]:
    """UTC and the names of places, for a list of choices."""
    places = sorted(name for name in time_zones() if "/" in name and not name.startswith(_NO_PLACES))
    return ("UTC", *places)


def find_time_zone(text: str) -> str | None:
    """The time zone with this name, or of the city with this name, in any case."""
    name = "_".join(text.split()).lower()
    by_name = {zone.lower(): zone for zone in time_zones()}
    return by_name.get(name) or _by_city().get(name)


@cache
def _by_city() -> dict[str, str]:
    """Time zones by the names of their cities.

    Several zones of one city are one zone under old and new names.
    """
    zones = sorted(
        (zone for zone in time_zones() if zone.startswith(_CITIES)), key=lambda zone: (zone.count("/"), zone)
    )
    return {zone.rpartition("/")[2].lower(): zone for zone in zones}


def is_language_tag(text: str) -> bool:
    """Whether a text is the tag of a known language, such as `en` or `pt-BR`."""
    language = re.split("[-_]", text, maxsplit=1)[0].lower()
    return _LANGUAGE_TAG.fullmatch(text) is not None and language in LANGUAGES
