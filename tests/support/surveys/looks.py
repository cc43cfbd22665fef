"""The colours of themes, the pairs that need contrast, and pages with a brand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders

from surveys.models import Project
from tests.support.caller import TEXT, Caller

LOGO = "https://club.example/logo.png"
OPEN_WEB = {"delivery": {"audience": {"participation": "open_web"}}}
STYLE = Path(str(finders.find("surveys/survey.css"))).read_text()
DARK = "@media (prefers-color-scheme: dark) {"
READ, SEEN = 4.5, 3.0  # WCAG 2.2 AA: 1.4.3 for text, 1.4.11 for the bounds of controls

PAIRS = [
    *(
        (ink, ground, READ)
        for ink in ("ink", "soft")
        for ground in ("page", "card", "tint", "bubble", "own-bubble")
    ),
    *((ink, ground, READ) for ink in ("accent-ink", "bad", "good") for ground in ("page", "card")),
    ("accent-ink", "tint", READ),
    ("on-accent", "accent", READ),
    ("page", "ink", READ),
    *((bound, ground, SEEN) for bound in ("line", "accent") for ground in ("page", "card")),
    ("star", "card", SEEN),
    ("line", "bubble", SEEN),
    ("accent", "bubble", SEEN),
]


def themes(scheme: str) -> dict[int, dict[str, str]]:
    """Theme number → its colours. Values that a theme leaves out are those of the root, which is theme 1."""
    light, _, rest = STYLE.partition(DARK)
    text = light if scheme == "light" else rest.partition("\n}")[0]
    root = dict(re.findall(r"--([\w-]+): (#\w{6});", re.findall(r":root \{(.*?)\}", text, re.S)[0]))
    found = {1: root}
    for number, body in re.findall(r'\[data-theme="(\d)"\] \{(.*?)\}', text, re.S):
        found[int(number)] = {**root, **dict(re.findall(r"--([\w-]+): (#\w{6});", body))}
    return found


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def opened(caller: Caller, **presentation: Any) -> str:
    """The address of an open project with this presentation."""
    made = caller.make_open(TEXT, presentation=presentation or None, **OPEN_WEB)
    return f"/s/{Project.objects.get(pk=made['id']).slug}"
