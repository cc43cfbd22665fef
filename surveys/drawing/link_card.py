"""The picture that other sites show with a link to a page: title and logo in the colours of the brand.

A title with letters that the font lacks (`lettering`) is left out: sites show it beside the picture.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

from communities.ground import brands
from communities.ground.brands import Look
from communities.ground.slots import Slots
from communities.models import Picture
from surveys.drawing import lettering
from surveys.drawing.lettering import Font
from surveys.drawing.theme import ACCENTS, Page

SIZE = (1200, 630)  # pixels, as other sites expect
TITLE_SIZES = (84, 72, 60, 50)
MAX_LINES = 4
_MARGIN, _GAP = 80, 1.25
_LOGO = (420, 140)
_FORMAT = 1  # increase it if cards are drawn differently: their addresses contain it
# One card at a time in a process: each takes a tenth of a second of CPU. Others wait for a second.
_one_at_a_time = Slots(1)
BUSY = "Other pictures are being drawn. Please retry shortly."


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
    """The picture of a card. Raises Unavailable if others are drawn for longer."""
    with _one_at_a_time.held("", timeout=1.0, busy=BUSY, retry_after=2):
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
    if title := lettering.drawable(card.title):
        font, lines = _fitted(title, width - 2 * _MARGIN, height - top - _MARGIN - 110)
        step = round(font.size * _GAP) if isinstance(font, ImageFont.FreeTypeFont) else 20
        for line in lines:
            pen.text((_MARGIN, top), line, font=font, fill=colours["ink"])
            top += step
    if community := lettering.drawable(card.community):
        font = lettering.font(34)
        (line,) = lettering.lines(community, font, width - 2 * _MARGIN - 200, most=1)
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


def _fitted(text: str, width: int, height: int) -> tuple[Font, Sequence[str]]:
    """The largest font in which a text fits, and its lines. A longer text is cut."""
    for size in TITLE_SIZES:
        font = lettering.font(size)
        most = min(MAX_LINES, int(height // (size * _GAP)))
        lines = lettering.lines(text, font, width, most=most + 1)
        if len(lines) <= most:
            return font, lines
    return font, lettering.lines(text, font, width, most=max(most, 1))
