"""Texts that Pillow draws: in a font of this machine, or else in that of Pillow, with English letters alone.

font(size)                       a font
lines(text, font, width, …)      a text in lines
drawable(text)                   a text that the font can draw; empty if it lacks a letter
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

from PIL import ImageFont

BOLD, REGULAR = "Bold", "Regular"
_FONTS = {
    BOLD: ("NotoSans-Bold.ttf", "DejaVuSans-Bold.ttf", "LiberationSans-Bold.ttf", "Arial Bold.ttf"),
    REGULAR: ("NotoSans-Regular.ttf", "DejaVuSans.ttf", "LiberationSans-Regular.ttf", "Arial.ttf"),
}
_IN_ENGLISH = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "...", "\u00a0": " "}
)
_SYMBOLS = frozenset({"So", "Sk", "Cf", "Mn"})  # emoji and their selectors

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def lines(text: str, font: Font, width: int, *, most: int) -> Sequence[str]:
    """A text in at most so many lines; the last one is cut."""
    found, words = [""], text.split()
    for word in words:
        longer = f"{found[-1]} {word}".strip()
        if font.getlength(longer) <= width or not found[-1]:
            found[-1] = longer
        elif len(found) == most:
            return [*found[:-1], _cut(f"{longer}...", font, width)]
        else:
            found.append(word)
    return [_cut(line, font, width) for line in found]


def _cut(line: str, font: Font, width: int) -> str:
    if font.getlength(line) <= width:
        return line
    line = line.removesuffix("...")
    while line and font.getlength(f"{line}...") > width:
        line = line[:-1]
    return f"{line.rstrip()}..."


def font(size: int, weight: str = BOLD) -> Font:
    path = _path(weight)
    return ImageFont.truetype(path, size) if path else ImageFont.load_default(size)


@cache
def _path(weight: str = BOLD) -> str | None:
    """A font of this machine; None if it has none of those that we know."""
    for name in _FONTS[weight]:
        try:
            return str(ImageFont.truetype(name, 12).path)
        except OSError:
            continue
    return None


def drawable(text: str) -> str:
    """A text without symbols such as emoji; empty if the font lacks one of its letters."""
    if _path() is None:
        text = text.translate(_IN_ENGLISH)
    text = "".join(each for each in text if unicodedata.category(each) not in _SYMBOLS)
    plain = font(20)
    missing = bytes(plain.getmask("\uffff"))
    has_all = all(each.isspace() or bytes(plain.getmask(each)) != missing for each in set(text))
    return " ".join(text.split()) if has_all else ""
