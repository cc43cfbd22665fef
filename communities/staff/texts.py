"""The format of moments, numbers and states in the admin."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils import dateformat, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString


def moment(value: datetime | None) -> SafeString | str:
    """A time in the community's zone, with the zone beside it; “–” for None."""
    if value is None:
        return "–"
    try:
        local = timezone.localtime(value)
    # Some users write the last hours of the year 9999 for “never”. These hours do not exist in eastern zones.
    except OverflowError:
        local = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}">{} {}</time>',
        value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        str(local.tzinfo),
        dateformat.format(local, "j M Y, H:i"),
        zone_of(local),
    )


def time_of_day(value: datetime | None) -> str:
    """The hours and minutes of a time in the community's zone, with the zone beside it; “–” for None."""
    if value is None:
        return "–"
    local = timezone.localtime(value)
    return f"{local:%H:%M} {zone_of(local)}"


def zone_of(local: datetime) -> str:
    """The short name of a time's zone, such as CET or UTC+05."""
    name = local.tzname() or ""
    return f"UTC{name}" if name[:1] in ("+", "-") else name


def number(value: float | None) -> str:
    """A number with separators between thousands; “–” for None."""
    return "–" if value is None else f"{value:,}"


def state(word: str, sign: str = "") -> SafeString:
    """A state in words after its symbol: `good`, `pending`, `bad`, `done`, or a plain one."""
    return format_html('<span class="state {}">{}</span>', sign, word)
