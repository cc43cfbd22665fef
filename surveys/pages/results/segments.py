"""A question's figures side by side, once for each answer to the question that they are divided by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from communities.words import plural
from surveys.engine.script import Block
from surveys.pages.results.charts import Bar, Entry, Part, Table, bars_of, nps_parts, number, signed

MOST_DRAWN = 8
NONE = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Series:
    """One segment: its letter stands at each of its bars, so that no colour has to tell it."""

    letter: str
    text: str
    told: str
    key: str


@dataclass(frozen=True, slots=True)
class Line:
    series: Series
    bar: Bar


@dataclass(frozen=True, slots=True)
class Group:
    """What one option, or one item, comes to in each segment."""

    text: str
    emoji: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Divided:
    series: Series
    score: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Segments:
    legend: Sequence[Series]
    groups: Sequence[Group]
    divided: Sequence[Divided]
    note: str
    table: Table


def legend_of(segments: Sequence[Entry]) -> list[Series]:
    return [
        Series(
            _letter(n),
            str(each["label"] or each["value"]),
            plural(each["count"], "response"),
            f"s{n % 8 + 1}",
        )
        for n, each in enumerate(segments)
    ]


def segments_of(entry: Entry, block: Block | None, legend: Sequence[Series]) -> Segments | None:
    """How a question was answered in each segment; None where its answers cannot be laid side by side."""
    parts = [{**part, "block_type": entry["block_type"]} for part in entry["segments"]]
    shown = [(series, part) for series, part in zip(legend, parts, strict=True) if part["response_count"]]
    drawn = shown[:MOST_DRAWN]
    if not drawn:
        return None
    groups: Sequence[Group] = ()
    divided: Sequence[Divided] = ()
    match entry["block_type"]:
        case "nps":
            divided = [Divided(series, _score(part), nps_parts(part["nps"])) for series, part in drawn]
            rows = _rows_of_scale(parts, block)
        case "single_punch" | "multi_punch":
            groups, rows = _groups(drawn, block), _rows_of_bars(parts, block)
        case "rating" | "opinion_scale":
            groups, rows = _groups(drawn, block), _rows_of_scale(parts, block)
        case "ranking":
            rows = _rows_of_ranking(parts)
        case "open_numeric":
            rows = _rows_of_numbers(parts)
        case _:
            rows = [("Answers", *(f"{part['response_count']:,}" for part in parts))]
    note = ""
    if len(shown) > len(drawn) and (groups or divided):
        note = f"The first {len(drawn)} of {len(shown)} are drawn; the table has all."
    head = ("Answer", *(f"{series.letter} {series.text}" for series in legend))
    return Segments([series for series, _ in drawn], groups, divided, note, Table(head, rows))


Drawn = Sequence[tuple[Series, Entry]]
Rows = list[tuple[str, ...]]


def _groups(drawn: Drawn, block: Block | None) -> list[Group]:
    columns = [[Line(series, bar) for bar in bars_of(part, block)] for series, part in drawn]
    return [Group(lines[0].bar.text, lines[0].bar.emoji, lines) for lines in zip(*columns, strict=True)]


def _rows_of_bars(parts: Sequence[Entry], block: Block | None) -> Rows:
    columns = [bars_of(part, block) for part in parts]
    return [
        (bars[0].text, *(f"{bar.share} ({bar.count:,})" for bar in bars))
        for bars in zip(*columns, strict=True)
    ]


def _rows_of_scale(parts: Sequence[Entry], block: Block | None) -> Rows:
    rows = [*_rows_of_bars(parts, block), _figure("Mean", "mean", parts)]
    if parts[0]["nps"]:
        rows.append(("Score", *(_score(part) for part in parts)))
    return rows


def _rows_of_ranking(parts: Sequence[Entry]) -> Rows:
    columns = [part["ranking"] for part in parts]
    return [
        (
            f"{items[0]['label'] or items[0]['value']}: average rank",
            *(_number(item["average_rank"]) for item in items),
        )
        for items in zip(*columns, strict=True)
    ]


def _rows_of_numbers(parts: Sequence[Entry]) -> Rows:
    names = {"Mean": "mean", "Lowest": "min", "Highest": "max", "Numbers": "count"}
    return [_figure(name, key, parts) for name, key in names.items()]


def _figure(name: str, key: str, parts: Sequence[Entry]) -> tuple[str, ...]:
    return (name, *(_number((part["stats"] or {}).get(key)) for part in parts))


def _score(part: Entry) -> str:
    score = part["nps"]["score"]
    return NONE if score is None else signed(score)


def _number(value: float | None) -> str:
    return NONE if value is None else number(value)


def _letter(n: int) -> str:
    """A to Z, then AA and so on."""
    first, last = divmod(n, len(ascii_uppercase))
    return (ascii_uppercase[first - 1] if first else "") + ascii_uppercase[last]
