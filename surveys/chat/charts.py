"""Results as a picture, for the message that reveals them."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from surveys.chat import words
from surveys.chat.reports import Panel

_WIDTH, _MARGIN, _ROW, _BAR = 960, 40, 78, 26
_HEAD, _BETWEEN = 76, 24  # pixels above the bars of a panel, and between panels
_PAPER, _INK, _FAINT, _TRACK, _FILL = "#ffffff", "#1f2330", "#6b7080", "#eceef4", "#5b6cff"
_LONGEST_TITLE, _LONGEST_LABEL = 66, 70  # characters
MOST_ROWS = 40  # a picture of more rows would be too small to read


def draw(name: str, panels: Sequence[Panel]) -> bytes:
    """A PNG with a bar for each answer, panel under panel; empty bytes if there is nothing to show.

    `name` replaces a title without any letter of the picture's font.
    """
    shown = _fitting(panels)
    if not shown:
        return b""
    rows = sum(len(panel.tallies) for panel in shown)
    height = 2 * _MARGIN + len(shown) * _HEAD + rows * _ROW + (len(shown) - 1) * _BETWEEN
    image = Image.new("RGB", (_WIDTH, height), _PAPER)
    pen, top = ImageDraw.Draw(image), _MARGIN
    for panel in shown:
        top = _draw(pen, top, name, panel) + _BETWEEN
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _fitting(panels: Sequence[Panel]) -> list[Panel]:
    shown: list[Panel] = []
    rows = 0
    for panel in panels:
        rows += len(panel.tallies)
        if rows > MOST_ROWS and shown:
            break
        shown.append(panel)
    return shown


def _draw(pen: ImageDraw.ImageDraw, top: int, name: str, panel: Panel) -> int:
    """Draw a panel, and return the position of its lower end."""
    title, small = ImageFont.load_default(26), ImageFont.load_default(20)
    asked = _drawable(" ".join(panel.title.split())) or _drawable(name)
    pen.text((_MARGIN, top), words.clip(asked, _LONGEST_TITLE), _INK, font=title)
    pen.text((_MARGIN, top + 34), panel.note, _FAINT, font=small)
    top, width = top + _HEAD, _WIDTH - 2 * _MARGIN
    for tally in panel.tallies:
        figures = f"{tally.votes:,} · {tally.percent}"
        pen.text((_MARGIN, top), words.clip(_drawable(tally.label), _LONGEST_LABEL), _INK, font=small)
        pen.text((_WIDTH - _MARGIN, top), figures, _FAINT, font=small, anchor="ra")
        box = (_MARGIN, top + 28, _MARGIN + width, top + 28 + _BAR)
        pen.rounded_rectangle(box, 8, fill=_TRACK)
        if tally.votes:
            end = _MARGIN + max(16, round(width * tally.share))
            pen.rounded_rectangle((box[0], box[1], end, box[3]), 8, fill=_FILL)
        top += _ROW
    return top


def _drawable(text: str) -> str:
    """The letters of a text that the picture's font has: no emoji, and the names of server emoji.

    The picture's description has the whole text.
    """
    return "".join(character for character in words.plain(text) if ord(character) < 0x2500).strip()
