"""Reads the id of a channel, game, server, campaign or tier that staff type, and describes where to find it.

read("game_store", "owns", "https://store.steampowered.com/app/1234/Chess/")   "1234"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


class BadTarget(ValueError):
    """The typed text cannot be such an id. The message describes the id and where to find it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of an id, in words for staff; `in_address` finds the id in a pasted address."""

    pattern: re.Pattern[str]
    looks: str
    place: str
    in_address: re.Pattern[str] | None = None

    @property
    def hint(self) -> str:
        return f"{self.looks} {self.place}"


_NUMBER = re.compile(r"[1-9]\d{0,19}")
_BROADCASTER = Shape(
    _NUMBER,
    "The broadcaster’s id: a number, such as 141981764, and not the name.",
    "Sites that look up a channel’s user id by its name tell it.",
)
SHAPES: Mapping[tuple[str, str], Shape] = {
    ("chat", "in_server"): Shape(
        re.compile(r"\d{17,20}"),
        "The server’s id: 17 to 20 digits.",
        "Turn on Developer Mode in Discord’s settings, then right-click the server: Copy Server ID.",
        re.compile(r"discord\.com/channels/(\d{17,20})\b"),
    ),
    ("video", "subscribes_to"): Shape(
        re.compile(r"UC[\w-]{22}"),
        "The channel’s id: 24 characters that begin with UC, and not its name or handle.",
        "Open the channel on YouTube, then its description (more): Share channel, Copy channel ID.",
        re.compile(r"youtube\.com/channel/(UC[\w-]{22})\b"),
    ),
    ("streaming", "follows"): _BROADCASTER,
    ("streaming", "subscribes_to"): _BROADCASTER,
    ("game_store", "owns"): Shape(
        _NUMBER,
        "The game’s id: a number, such as 286160.",
        "It stands in the address of its page in the store, which you can paste here.",
        re.compile(r"(?:store\.steampowered|steamcommunity)\.com/app/(\d+)\b"),
    ),
    ("membership", "supports"): Shape(
        _NUMBER,
        "The campaign’s id: a number.",
        "Patreon gives the id to programs only: ask the builder of yours.",
    ),
    ("membership", "has_tier"): Shape(
        _NUMBER,
        "The tier’s id: a number.",
        "It stands in the address of the page on which people join the tier, after “rid=”.",
        re.compile(r"[?&]rid=(\d+)\b"),
    ),
}


def read(provider: str, rule: str, text: str) -> str:
    """The id in the text that staff typed or pasted.

    Raises BadTarget. For rules without an id, the text is returned unchanged.
    """
    shape, text = SHAPES.get((provider, rule)), text.strip()
    if shape is None or not text:
        return text
    found = shape.in_address.search(text) if shape.in_address else None
    target = found[1] if found else text
    if not shape.pattern.fullmatch(target):
        raise BadTarget(shape.hint)
    return target
