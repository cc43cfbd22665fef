"""The profile of a person on a platform.

The profile contains no e-mail address, because an address of another site proves nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Profile:
    """An account on a platform: its stable id there, and the name that it shows."""

    platform_id: str
    name: str


def clean(value: Any) -> str:
    """A name that the database accepts: printable, on one line, not too long.

    Returns an empty text if the value is no text.
    """
    if not isinstance(value, str):
        return ""
    printable = "".join(each if each.isprintable() else " " for each in value)
    return " ".join(printable.split())[:LONGEST_NAME]
