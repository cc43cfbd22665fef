"""A chart as a picture to download, from the same figures as its card: SVG, and PNG by Pillow.

    shapes_of(card, palette, foot)     the drawing
    svg(drawing)                       as a text
    png(drawing)                       as bytes; None if the font of this machine lacks a letter
    download(drawing, kind=…)          as a file to save

Both formats draw the same shapes. Widths of texts are estimated, because readers' fonts differ.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from xml.sax.saxutils import escape, quoteattr

from django.http import HttpResponse
from PIL import Image, ImageDraw

from communities.ground.slots import Slots
from communities.ground.words import amount, plural
from surveys.drawing import lettering
from surveys.drawing.figures.charts import BarPart, Card, ChartBar, ChartColumn, Fact, Track
from surveys.drawing.lettering import BOLD, REGULAR

SVG, PNG = "svg", "png"
CONTENT_TYPES = {SVG: "image/svg+xml", PNG: "image/png"}
WIDTH, MARGIN = 960, 40
INNER = WIDTH - 2 * MARGIN
MAX_BARS = 50  # of a picture; the number of the others is told
MAX_LINES = 6
COLUMNS_HEIGHT = 220
BAR = 12.0  # the height of a bar
PNG_SCALE = 2
# Signs that are drawn as shapes, because few fonts have them. The first one marks the mean below columns.
UP, DOWN = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}"
_WIDE, _NARROW = 1.0, 0.6  # the width of a letter by its size
_LINE = 1.35
_FACT_WIDTH = 120
PARTS = {  # the colours of stacked bars
    "detractors": "bad", "passives": "line", "promoters": "good",
    "negative": "bad", "neutral": "line", "positive": "good",
}  # fmt: skip
# One PNG at a time in a process: each takes up to a second of CPU. Others wait for a second.
_one_at_a_time = Slots(1)
BUSY = "Other pictures are being drawn. Please retry shortly."

Palette = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with round corners."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    radius: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text. `anchor` is the part of it that stands at `x`: start, middle or end."""

    x: float
    y: float  # of the base line
    text: str
    size: int
    fill: str
    weight: str = REGULAR
    anchor: str = "start"


@dataclass(slots=True)
class Drawing:
    """The shapes of a picture, from the back to the front, and its height so far."""

    palette: Palette
    title: str
    shapes: list[Box | Line] = field(default_factory=list)
    height: float = MARGIN
    width: float = WIDTH

    def text(
        self,
        text: str,
        size: int,
        *,
        fill: str = "soft",
        weight: str = REGULAR,
        x: float = MARGIN,
        width: float = INNER,
        most: int = MAX_LINES,
    ) -> None:
        """A text in lines, below what is drawn."""
        for line in wrapped(text, size, width, most=most):
            self.height += size * _LINE
            self.line(x, self.height - size * 0.35, line, size, fill, weight)

    def line(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        fill: str,
        weight: str = REGULAR,
        anchor: str = "start",
    ) -> None:
        self.shapes.append(Line(x, y, text, size, self.palette[fill], weight, anchor))

    def box(self, x: float, y: float, width: float, height: float, fill: str, radius: float = 0.0) -> None:
        self.shapes.append(Box(x, y, width, height, self.palette[fill], radius))

    def bar(self, x: float, y: float, width: float, share: float, *, fill: str = "accent") -> None:
        """A bar on its track; `share` is its part of the track in percent."""
        self.box(x, y, width, BAR, "bubble", BAR / 2)
        if (length := width * share / 100) > 0:
            self.box(x, y, length, BAR, fill, min(BAR / 2, length / 2))

    def end(self, foot: Sequence[str]) -> None:
        """Lines about the source, and the margin below."""
        self.height += 14
        for line in foot:
            self.text(line, 14)
        self.height += MARGIN - 8


def shapes_of(card: Card, palette: Palette, *, foot: Sequence[str]) -> Drawing:
    """The drawing of a card: what it asks, its chart and its figures. `foot` are lines about its source."""
    drawing = Drawing(palette, card.prompt)
    drawing.text(" · ".join(filter(None, (card.kind, card.answered))), 17)
    drawing.text(card.prompt, 26, fill="ink", weight=BOLD)
    drawing.height += 18
    if card.notice:
        drawing.text(card.notice, 18)
    if card.parts:
        _facts(drawing, card.facts)
        draw_parts(drawing, card.parts)
    bars = list(card.chosen_bars)
    if card.columns and _fit(card.columns):
        _columns(drawing, card.columns, card.marker)
    else:
        bars += [ChartBar(each.text, 0, each.share, each.height) for each in card.columns]
    _bars(drawing, bars, lambda bar: f"{bar.share} ({amount(bar.count)})" if not card.columns else bar.share)
    if card.unchosen_bars:
        drawing.text(f"{plural(len(card.unchosen_bars), 'option')} without an answer.", 16)
    ranked = [replace(bar, text=f"{n}. {bar.text}") for n, bar in enumerate(card.places, start=1)]
    _bars(drawing, ranked, lambda bar: bar.share)
    if not card.parts:
        _facts(drawing, card.facts)
    if card.note:
        drawing.text(card.note, 16)
    drawing.end(foot)
    return drawing


def _facts(drawing: Drawing, facts: Sequence[Fact]) -> None:
    """Figures side by side, each as wide as its texts ask for."""
    x, top = float(MARGIN), drawing.height
    for fact in facts:
        width = max(_FACT_WIDTH, width_of(fact.name, 15) + 24, width_of(fact.value, 26) + 24)
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, top = float(MARGIN), top + 72
        drawing.line(x, top + 18, fact.name, 15, "soft")
        drawing.line(x, top + 50, fact.value, 26, "ink", BOLD)
        x += width
    if facts:
        drawing.height = top + 76


def _bars(drawing: Drawing, bars: Sequence[ChartBar], said: Callable[[ChartBar], str]) -> None:
    for bar in bars[:MAX_BARS]:
        right = said(bar)
        text = " ".join(filter(None, (bar.emoji, bar.text, "(removed)" if bar.is_removed else "")))
        drawing.text(text, 18, fill="ink", width=INNER - width_of(right, 18) - 24, most=2)
        drawing.line(WIDTH - MARGIN, drawing.height - 6, right, 18, "ink", BOLD, "end")
        top = drawing.height + 4
        drawing.bar(MARGIN, top, INNER, float(bar.width))
        drawing.height = top + BAR + 6
        if bar.note:
            drawing.text(bar.note, 15)
        drawing.height += 10
    if len(bars) > MAX_BARS:
        drawing.text(f"{len(bars) - MAX_BARS:,} more are not drawn.", 16)


def _fit(columns: Sequence[ChartColumn]) -> bool:
    """Whether the labels of columns fit side by side."""
    room = INNER / len(columns) - 4
    return all(width_of(text, 16) <= room for each in columns for text in (each.text, each.share))


def _columns(drawing: Drawing, columns: Sequence[ChartColumn], marker: Track | None) -> None:
    top = drawing.height + 24
    bottom = top + COLUMNS_HEIGHT
    for each in columns:
        height = COLUMNS_HEIGHT * float(each.height) / 100
        middle = MARGIN + INNER * float(each.middle) / 100
        if not each.is_empty:
            x, width = MARGIN + INNER * float(each.x) / 100, INNER * float(each.width) / 100
            drawing.box(x, bottom - height, width, height, "accent", 3)
        drawing.line(middle, bottom - height - 8, each.share, 16, "ink", BOLD, "middle")
        drawing.line(middle, bottom + 24, each.text, 16, "soft", anchor="middle")
    drawing.box(MARGIN, bottom, INNER, 1, "line")
    drawing.height = bottom + 40
    if marker is not None:
        x = MARGIN + INNER * float(marker.x) / 100
        drawing.line(x, drawing.height + 10, UP, 14, "ink", anchor="middle")
        drawing.line(x, drawing.height + 30, f"mean {marker.mean}", 15, "soft", anchor="middle")
        drawing.height += 46
    drawing.height += 6


def draw_parts(drawing: Drawing, parts: Sequence[BarPart]) -> None:
    """A stacked bar with its legend, below what is drawn."""
    top = drawing.height
    for part in parts:
        x, width = MARGIN + INNER * float(part.x) / 100, INNER * float(part.width) / 100
        if width > 0:
            drawing.box(x, top, max(width - 2, 1), 32, PARTS.get(part.key, "accent"))
        if width > width_of(part.share, 16) + 12:  # so that nobody needs to tell colours apart
            drawing.line(x + width / 2, top + 22, part.share, 16, "card", BOLD, "middle")
    drawing.height = top + 44
    for part in parts:
        drawing.box(MARGIN, drawing.height + 4, 14, 14, PARTS.get(part.key, "accent"), 3)
        text = f"{part.text}: {part.share} ({amount(part.count)})"
        drawing.text(text, 17, fill="ink", x=MARGIN + 24, width=INNER - 24, most=1)
        drawing.height += 4
    drawing.height += 14


# --- Texts ------------------------------------------------------------------------------------------


def width_of(text: str, size: int) -> float:
    """The estimated width of a text."""
    return size * sum(_WIDE if unicodedata.east_asian_width(each) in "WF" else _NARROW for each in text)


def wrapped(text: str, size: int, width: float, *, most: int) -> list[str]:
    """A text in at most so many lines. Long words are divided, and a longer text is cut."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if width_of(longer, size) <= width:
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if lines[-1] and width_of(lines[-1] + letter, size) > width:
                lines.append("")
            lines[-1] += letter
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][:-1].rstrip()}\N{HORIZONTAL ELLIPSIS}"]
    return [line for line in lines if line]


# --- Formats ----------------------------------------------------------------------------------------


def svg(drawing: Drawing) -> str:
    """The picture as SVG, on a white ground."""
    width, height = round(drawing.width), round(drawing.height)
    shapes = "\n".join(_as_svg(each) for each in drawing.shapes)
    title = _valid(drawing.title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label={quoteattr(title)} '
        'font-family="system-ui, sans-serif">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{shapes}\n</svg>\n'
    )


def _as_svg(shape: Box | Line) -> str:
    if isinstance(shape, Box):
        return (
            f'<rect x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" '
            f'height="{shape.height:.1f}" rx="{shape.radius:.1f}" fill="{shape.fill}"/>'
        )
    weight = ' font-weight="bold"' if shape.weight == BOLD else ""
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    return (
        f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" font-size="{shape.size}"{weight}{anchor} '
        f'fill="{shape.fill}">{escape(_valid(shape.text))}</text>'
    )


def _valid(text: str) -> str:
    """The text without characters that XML does not have."""
    return "".join(each for each in text if each.isprintable() or each == "\n")


def png(drawing: Drawing) -> bytes | None:
    """The drawing as PNG; None without a font for it. Raises Unavailable if others are drawn for longer."""
    texts = [each.text for each in drawing.shapes if isinstance(each, Line)]
    drawable = {text: lettering.drawable(text) for text in texts}
    if not all(drawable[text] for text in texts if text not in (UP, DOWN)):
        return None
    with _one_at_a_time.held("", timeout=1.0, busy=BUSY, retry_after=2):
        size = (round(drawing.width) * PNG_SCALE, round(drawing.height) * PNG_SCALE)
        picture = Image.new("RGB", size, "#ffffff")
        pen = ImageDraw.Draw(picture)
        for shape in drawing.shapes:
            if isinstance(shape, Box):
                _draw_box(pen, shape)
            else:
                _draw_line(pen, shape, drawable[shape.text])
        file = io.BytesIO()
        picture.save(file, "PNG")  # Its best compression takes six times as long for a tenth of the bytes.
        return file.getvalue()


def _draw_box(pen: ImageDraw.ImageDraw, box: Box) -> None:
    x, y = box.x * PNG_SCALE, box.y * PNG_SCALE
    right, bottom = x + box.width * PNG_SCALE - 1, y + box.height * PNG_SCALE - 1
    pen.rounded_rectangle((x, y, max(x, right), max(y, bottom)), radius=box.radius * PNG_SCALE, fill=box.fill)


def _draw_line(pen: ImageDraw.ImageDraw, line: Line, text: str) -> None:
    x, y = line.x * PNG_SCALE, line.y * PNG_SCALE
    if line.text in (UP, DOWN):
        half = line.size * PNG_SCALE / 2
        base, tip = (y, y - 1.5 * half) if line.text == UP else (y - 1.5 * half, y)
        pen.polygon(((x - half, base), (x + half, base), (x, tip)), fill=line.fill)
        return
    font = lettering.font(line.size * PNG_SCALE, line.weight)
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[line.anchor]
    pen.text((x, y), text, font=font, fill=line.fill, anchor=anchor)


def download(drawing: Drawing, *, kind: str, name: str) -> HttpResponse:
    """The picture as a file to save: SVG, or PNG if the font has all letters. `name` has no ending."""
    content: bytes | None = png(drawing) if kind == PNG else None
    kind = SVG if content is None else PNG
    response = HttpResponse(content or svg(drawing).encode(), content_type=CONTENT_TYPES[kind])
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response
