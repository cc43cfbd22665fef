"""Comparisons and cross tables as pictures to download, with the figures of their pages.

compared(comparison, …)     a question across segments: bars side by side, or a table
crossed(table, …)           a cross table, with a bar in each cell
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from communities.ground.words import amount
from surveys.drawing.figures.charts import Card
from surveys.drawing.figures.crossing import LESS_MARK, MORE_MARK, DrawnCell, DrawnTable
from surveys.drawing.figures.picture import (
    BAR,
    DOWN,
    INNER,
    MARGIN,
    UP,
    WIDTH,
    Drawing,
    Palette,
    draw_parts,
    width_of,
)
from surveys.drawing.figures.segments import SegmentBar, SegmentComparison, Series
from surveys.drawing.lettering import BOLD

MAX_BARS = 120  # of all options together
MAX_ROWS, MAX_COLUMNS = 50, 12
_FIRST, _COLUMN = 250.0, 105.0  # the widths of the first column of a table, and the least of the others
_LETTER = 34
_SERIES = ("accent", "star", "good", "line", "bad", "ink", "accent-ink", "soft")  # as in results.css
_COLOURS = {f"s{n}": name for n, name in enumerate(_SERIES, start=1)}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table. `share` is the length of its bar in percent, and `mark` a sign behind its text."""

    text: str
    share: float | None = None
    mark: str = ""


def compared(
    comparison: SegmentComparison, card: Card, *, divided_by: str, palette: Palette, foot: Sequence[str]
) -> Drawing:
    """The drawing of one question's comparison. `foot` are lines about its source."""
    drawing = _begun(f"{card.kind} \N{MIDDLE DOT} {card.answered}", card.prompt, palette)
    drawing.text(f"Compared by: {divided_by}", 17)
    drawing.height += 10
    if comparison.groups or comparison.scores:
        _legend(drawing, comparison.legend)
    most = max(1, MAX_BARS // len(comparison.legend))
    for group in comparison.chosen_groups[:most]:
        drawing.height += 8
        drawing.text(" ".join(filter(None, (group.emoji, group.text))), 18, fill="ink", most=2)
        _bars(drawing, group.bars)
    _left_out(drawing, len(comparison.chosen_groups) - most, "options")
    for each in comparison.scores[:MAX_BARS]:
        drawing.height += 8
        title = f"{each.series.letter} {each.series.text}: score {each.score}"
        drawing.text(title, 18, fill="ink", weight=BOLD, most=2)
        drawing.height += 6
        draw_parts(drawing, each.parts)
    if not (comparison.groups or comparison.scores):
        head, rows = comparison.table.head, comparison.table.rows
        columns = [[Cell(text) for text in row[1 : MAX_COLUMNS + 1]] for row in rows[:MAX_ROWS]]
        _table(drawing, head[1 : MAX_COLUMNS + 1], [row[0] for row in rows[:MAX_ROWS]], columns)
        _left_out(drawing, len(head) - 1 - MAX_COLUMNS, "segments")
    for note in comparison.notes:
        drawing.text(note, 16)
    drawing.end(foot)
    return drawing


def crossed(table: DrawnTable, *, noun: str, palette: Palette, foot: Sequence[str]) -> Drawing:
    """The drawing of a cross table. `foot` are lines about its source."""
    counted = f"{amount(table.all_responses)} {noun}{'' if table.all_responses == 1 else 's'}"
    weighted = f", weighted {amount(table.count)}" if table.weighting else ""
    title = f"{table.rows} \N{MULTIPLICATION SIGN} {table.columns}"
    drawing = _begun(f"{counted} with an answer to both{weighted}", title, palette)
    for sentence in table.sentences:
        drawing.text(sentence, 16, fill="ink")
    drawing.height += 10
    is_weighted = bool(table.weighting)
    lines = table.lines[:MAX_ROWS]
    heads = [*table.heads[:MAX_COLUMNS], "All", *(["Unweighted"] if is_weighted else [])]
    cells = [
        [
            *(_cell_of(cell, table.shared) for cell in line.cells[:MAX_COLUMNS]),
            _all(line.share, line.count),
            *([Cell(amount(line.responses))] if is_weighted else []),
        ]
        for line in lines
    ]
    sums = list(map(_all, table.shares_of_sums, table.sums))[:MAX_COLUMNS]
    responses = [Cell(amount(each)) for each in table.responses[:MAX_COLUMNS]]
    of_all = [Cell(amount(table.all_responses))] if is_weighted else []
    cells.append([*sums, _all("100%", table.count), *of_all])
    names = [*(line.text for line in lines), "All"]
    if is_weighted:
        cells.append([*responses, Cell(""), *of_all])
        names.append("Unweighted")
    _table(drawing, heads, names, cells)
    _left_out(drawing, len(table.lines) - MAX_ROWS, "rows")
    _left_out(drawing, len(table.heads) - MAX_COLUMNS, "columns")
    beside = "sum of the weights" if is_weighted else "number"
    drawing.text(
        f"Percentages are of {table.of}, beside the {beside} of {noun}s; in “All”, of all in the table.", 15
    )
    for note in chain(table.notes, table.weighting):
        drawing.text(note, 15)
    drawing.end(foot)
    return drawing


def _begun(kind: str, title: str, palette: Palette) -> Drawing:
    drawing = Drawing(palette, title)
    drawing.text(kind, 17)
    drawing.text(title, 26, fill="ink", weight=BOLD)
    drawing.height += 8
    return drawing


def _legend(drawing: Drawing, legend: Sequence[Series]) -> None:
    for each in legend:
        drawing.box(MARGIN, drawing.height + 3, 14, 14, _COLOURS[each.key], 3)
        drawing.line(MARGIN + 22, drawing.height + 16, each.letter, 16, "ink", BOLD)
        text = f"{each.text} \N{MIDDLE DOT} {each.count_text}"
        drawing.text(text, 16, x=MARGIN + 22 + _LETTER, width=INNER - 22 - _LETTER, most=1)
        drawing.height += 4


def _bars(drawing: Drawing, bars: Sequence[SegmentBar]) -> None:
    texts = [f"{each.bar.share} ({amount(each.bar.count)})" for each in bars]
    length = INNER - _LETTER - max(width_of(text, 16) for text in texts) - 16
    for each, text in zip(bars, texts, strict=True):
        base = drawing.height + 20
        drawing.line(MARGIN, base, each.series.letter, 16, "ink", BOLD)
        drawing.bar(
            MARGIN + _LETTER, base - BAR, length, float(each.bar.width), fill=_COLOURS[each.series.key]
        )
        drawing.line(WIDTH - MARGIN, base, text, 16, "ink", BOLD, "end")
        drawing.height = base + 6


def _cell_of(cell: DrawnCell, shared: str) -> Cell:
    mark = {MORE_MARK: UP, LESS_MARK: DOWN}.get(cell.mark, "")
    return Cell(f"{cell.share} ({amount(cell.count)})", cell.shares[shared], mark)


def _all(share: str, count: float) -> Cell:
    return Cell(f"{share} ({amount(count)})")


def _table(
    drawing: Drawing, heads: Sequence[str], names: Sequence[str], cells: Sequence[Sequence[Cell]]
) -> None:
    """A table whose columns are as wide as the picture lets them, or the picture as they need."""
    width = max(_COLUMN, (INNER - _FIRST) / len(heads))
    whole = _FIRST + width * len(heads)
    drawing.width = max(WIDTH, whole + 2 * MARGIN)
    places = [MARGIN + _FIRST + width * n for n in range(len(heads))]
    top, bottom = drawing.height, drawing.height
    for x, head in zip(places, heads, strict=True):
        drawing.height = top
        drawing.text(head, 15, weight=BOLD, x=x, width=width - 12, most=4)
        bottom = max(bottom, drawing.height)
    drawing.height = bottom + 6
    for name, row in zip(names, cells, strict=True):
        drawing.box(MARGIN, drawing.height, whole, 1, "hairline")
        top = drawing.height + 4
        drawing.height = top
        drawing.text(name, 15, fill="ink", width=_FIRST - 16, most=3)
        bottom = drawing.height
        for x, cell in zip(places, row, strict=True):
            drawing.height = top
            drawing.text(cell.text, 15, fill="ink", x=x, width=width - 12, most=2)
            if cell.mark:
                drawing.line(x + width - 14, top + 16, cell.mark, 12, "ink", anchor="middle")
            if cell.share is not None:
                drawing.bar(x, drawing.height + 4, width - 20, min(cell.share, 100))
                drawing.height += 4 + BAR
            bottom = max(bottom, drawing.height)
        drawing.height = bottom + 8
    drawing.height += 6


def _left_out(drawing: Drawing, count: int, things: str) -> None:
    if count > 0:
        drawing.text(f"{count:,} more {things} are not drawn.", 16)
