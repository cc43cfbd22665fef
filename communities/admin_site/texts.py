"""How the admin prints moments, numbers and states."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils import dateformat, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString


def moment(value: datetime | None) -> SafeString | str:
    """A time in the community's zone, which a script shows in the reader's; “–” for None."""
    if value is None:
        return "–"
    try:
        local = timezone.localtime(value)
    except OverflowError:  # the last hours of the year 9999, by which some mean “never”, in the east
        local = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-moment="{}">{}</time>',
        value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        local.tzname() or "",
        dateformat.format(local, "j M Y, H:i"),
    )


def number(value: float | None) -> str:
    """A number with separators between thousands; “–” for None."""
    return "–" if value is None else f"{value:,}"


def state(word: str, sign: str = "") -> SafeString:
    """A state in words after its sign: `good`, `pending`, `bad`, `done`, or a plain one."""
    return format_html('<span class="state {}">{}</span>', sign, word)
