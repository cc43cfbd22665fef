"""The picture that other sites show with a link to a page: title and logo in the colours of the brand.

Titles are drawn in a font of this machine, or else in the font of Pillow, which has English letters alone. A
title with other letters is left out: sites show it beside the picture.
"""

from __future__ import annotations

import hashlib
import io
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

from communities.ground import brands
from communities.ground.brands import Look
from communities.models import Picture
from surveys.drawing.theme import ACCENTS, Page

SIZE = (1200, 630)  # pixels, as other sites expect
TITLE_SIZES = (84, 72, 60, 50)
MAX_LINES = 4
_MARGIN, _GAP = 80, 1.25
_LOGO = (420, 140)
_FONTS = ("NotoSans-Bold.ttf", "DejaVuSans-Bold.ttf", "LiberationSans-Bold.ttf", "Arial Bold.ttf")
_IN_ENGLISH = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "...", "\u00a0": " "}
)
_SYMBOLS = frozenset({"So", "Sk", "Cf", "Mn"})  # emoji and their selectors
_FORMAT = 1  # increase it if cards are drawn differently: their addresses contain it
# One card at a time in a process: each takes a tenth of a second of CPU.
_one_at_a_time = threading.Lock()

_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True, slots=True)
class LinkCard:
    """What a card shows. `logo` is the name of a copy, or empty."""

    title: str
    community: str
    accent: str
    background: str | None
    logo: str

    @property
    def version(self) -> str:
        """A digest of the content, for the address of the card."""
        parts = (str(_FORMAT), self.title, self.community, self.accent, self.background or "", self.logo)
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def card_of(page: Page, community: str) -> LinkCard:
    """The card of a page."""
    accent = page.look.accent or ACCENTS[page.theme - 1]
    return LinkCard(
        page.title, community, accent, page.look.background, page.logo.copy.name if page.logo else ""
    )


def address_of(page: Page, community: str) -> str:
    """The whole address of the card of a page without a frame, which changes with its content."""
    return f"{settings.BASE_URL}{page.address}/card.png?v={card_of(page, community).version}"


@lru_cache(maxsize=64)
def png(card: LinkCard) -> bytes:
    """The picture of a card."""
    with _one_at_a_time:
        return _png(card)


def _png(card: LinkCard) -> bytes:
    colours = brands.palette(Look(card.accent, card.background), "light")
    picture = Image.new("RGB", SIZE, colours["page"])
    pen = ImageDraw.Draw(picture)
    width, height = SIZE
    pen.rectangle((0, 0, 24, height), fill=colours["accent"])
    _draw_bubble(
        pen, (width - _MARGIN - 150, height - _MARGIN - 110), colours["accent"], colours["on-accent"]
    )
    top = _MARGIN
    if card.logo:
        top += _draw_logo(picture, card.logo, (_MARGIN, top))
    if title := _drawable(card.title):
        font, lines = _fitted(title, width - 2 * _MARGIN, height - top - _MARGIN - 110)
        step = round(font.size * _GAP) if isinstance(font, ImageFont.FreeTypeFont) else 20
        for line in lines:
            pen.text((_MARGIN, top), line, font=font, fill=colours["ink"])
            top += step
    if community := _drawable(card.community):
        font = _font(34)
        (line,) = _lines(community, font, width - 2 * _MARGIN - 200, most=1)
        pen.text((_MARGIN, height - _MARGIN - 40), line, font=font, fill=colours["soft"])
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return file.getvalue()


def _draw_bubble(pen: ImageDraw.ImageDraw, place: tuple[int, int], fill: str, dots: str) -> None:
    x, y = place
    pen.rounded_rectangle((x, y, x + 150, y + 96), radius=40, fill=fill)
    pen.polygon(((x + 28, y + 80), (x + 28, y + 124), (x + 74, y + 94)), fill=fill)
    for n in range(3):
        centre = x + 40 + 35 * n
        pen.ellipse((centre - 9, y + 39, centre + 9, y + 57), fill=dots)


def _draw_logo(picture: Image.Image, name: str, place: tuple[int, int]) -> int:
    """Draw a copy, and return the height that it takes."""
    content = Picture.objects.filter(name=name).values_list("content", flat=True).first()
    if content is None:
        return 0
    with Image.open(io.BytesIO(bytes(content))) as source:
        source.thumbnail(_LOGO)
        logo = source.convert("RGBA")
    picture.paste(logo, place, logo)
    return logo.height + 40


def _fitted(text: str, width: int, height: int) -> tuple[_Font, Sequence[str]]:
    """The largest font in which a text fits, and its lines. A longer text is cut."""
    for size in TITLE_SIZES:
        font = _font(size)
        most = min(MAX_LINES, int(height // (size * _GAP)))
        lines = _lines(text, font, width, most=most + 1)
        if len(lines) <= most:
            return font, lines
    return font, _lines(text, font, width, most=max(most, 1))


def _lines(text: str, font: _Font, width: int, *, most: int) -> Sequence[str]:
    """A text in at most so many lines; the last one is cut."""
    lines, words = [""], text.split()
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        elif len(lines) == most:
            return [*lines[:-1], _cut(f"{longer}...", font, width)]
        else:
            lines.append(word)
    return [_cut(line, font, width) for line in lines]


def _cut(line: str, font: _Font, width: int) -> str:
    if font.getlength(line) <= width:
        return line
    line = line.removesuffix("...")
    while line and font.getlength(f"{line}...") > width:
        line = line[:-1]
    return f"{line.rstrip()}..."


# --- Fonts ------------------------------------------------------------------------------------------


def _font(size: int) -> _Font:
    path = _path()
    return ImageFont.truetype(path, size) if path else ImageFont.load_default(size)


@cache
def _path() -> str | None:
    """A font of this machine; None if it has none of those that we know."""
    for name in _FONTS:
        try:
            return str(ImageFont.truetype(name, 12).path)
        except OSError:
            continue
    return None


def _drawable(text: str) -> str:
    """A text without symbols such as emoji; empty if the font lacks one of its letters."""
    if _path() is None:
        text = text.translate(_IN_ENGLISH)
    text = "".join(each for each in text if unicodedata.category(each) not in _SYMBOLS)
    font = _font(20)
    missing = bytes(font.getmask("\uffff"))
    has_all = all(each.isspace() or bytes(font.getmask(each)) != missing for each in set(text))
    return " ".join(text.split()) if has_all else ""
