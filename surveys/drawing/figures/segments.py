"""Compares a question's figures across segments: the groups of people by their answer to another question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

from communities.ground.words import amount, plural
from surveys.drawing.figures.charts import (
    MOST_WITH_EMPTY,
    BarPart,
    ChartBar,
    DataTable,
    Entry,
    bars_of,
    nps_parts,
    number,
    signed,
)
from surveys.drawing.figures.texts import theme_bars
from surveys.engine.script import Block

MAX_DRAWN = 8
NO_VALUE = "\N{EN DASH}"
SPREAD = {
    "Mean": "mean",
    "Standard deviation": "standard_deviation",
    "Lowest": "min",
    "Lower quartile": "lower_quartile",
    "Median": "median",
    "Upper quartile": "upper_quartile",
    "Highest": "max",
}


@dataclass(frozen=True, slots=True)
class Series:
    """One segment. Its letter labels each of its bars, so that readers need not distinguish colours.

    `answered` of its `count` responses answered the question that is compared.
    """

    letter: str
    text: str
    count: int
    answered: int
    key: str

    @property
    def count_text(self) -> str:
        if self.answered < self.count:
            return f"{self.answered:,} of {self.count:,} answered"
        return plural(self.count, "response")


@dataclass(frozen=True, slots=True)
class SegmentBar:
    """The bar of one option in one segment."""

    series: Series
    bar: ChartBar


@dataclass(frozen=True, slots=True)
class OptionComparison:
    """One option or scale point in each segment."""

    text: str
    emoji: str
    bars: Sequence[SegmentBar]


@dataclass(frozen=True, slots=True)
class SegmentScore:
    """The net promoter score of one segment, with its stacked bar."""

    series: Series
    score: str
    parts: Sequence[BarPart]


@dataclass(frozen=True, slots=True)
class SegmentComparison:
    """One question compared across segments. `scores` is for net promoter scores, `groups` for the others."""

    legend: Sequence[Series]
    groups: Sequence[OptionComparison]
    scores: Sequence[SegmentScore]
    note: str
    table: DataTable

    @property
    def chosen_groups(self) -> Sequence[OptionComparison]:
        """The groups, without those of a long list that nobody chose (rule 6.433)."""
        if len(self.groups) <= MOST_WITH_EMPTY:
            return self.groups
        return [group for group in self.groups if any(each.bar.count for each in group.bars)]

    @property
    def notes(self) -> Sequence[str]:
        """What is not drawn; the table has it."""
        empty = len(self.groups) - len(self.chosen_groups)
        unchosen = f"{plural(empty, 'option')} without an answer, in the table alone." if empty else ""
        return [each for each in (self.note, unchosen) if each]


def legend_of(segments: Sequence[Entry]) -> list[Series]:
    """Return the segments of the figures with their letters, counts and colour classes."""
    return [
        Series(
            _letter(n),
            str(each["label"] or each["value"]),
            each["count"],
            each["count"],
            f"s{n % 8 + 1}",
        )
        for n, each in enumerate(segments)
    ]


def compare(entry: Entry, block: Block | None, legend: Sequence[Series]) -> SegmentComparison | None:
    """Return how each segment answered a question; None if no segment has answers."""
    parts = [{**part, "block_type": entry["block_type"]} for part in entry["segments"]]
    shown = [
        (replace(series, answered=part["response_count"]), part)
        for series, part in zip(legend, parts, strict=True)
        if part["response_count"]
    ]
    drawn = shown[:MAX_DRAWN]
    if not drawn:
        return None
    if len(legend) > MOST_WITH_EMPTY:  # the table of a long list has those with an answer alone
        legend, parts = [series for series, _ in shown], [part for _, part in shown]
    groups: Sequence[OptionComparison] = ()
    scores: Sequence[SegmentScore] = ()
    match entry["block_type"]:
        case "nps":
            scores = [SegmentScore(series, _score(part), nps_parts(part["nps"])) for series, part in drawn]
            rows = _rows_of_scale(parts, block)
        case "single_punch" | "multi_punch":
            groups, rows = _groups(drawn, block), _rows_of_bars(parts, block)
        case "rating" | "opinion_scale":
            groups, rows = _groups(drawn, block), _rows_of_scale(parts, block)
        case "ranking":
            rows = _rows_of_ranking(parts)
        case "open_numeric":
            rows = _rows_of_numbers(parts)
        case "open_text" if drawn[0][1]["open_text"]:
            groups, rows = _groups_of_themes(drawn), _rows_of_themes(parts)
        case _:
            rows = [("Answers", *(f"{part['response_count']:,}" for part in parts))]
    note = ""
    if len(shown) > len(drawn) and (groups or scores):
        note = f"The first {len(drawn)} of {len(shown)} segments are drawn; the table has all."
    head = ("Answer", *(f"{series.letter} {series.text}" for series in legend))
    return SegmentComparison([series for series, _ in drawn], groups, scores, note, DataTable(head, rows))


Drawn = Sequence[tuple[Series, Entry]]
Rows = list[tuple[str, ...]]


def _groups(drawn: Drawn, block: Block | None) -> list[OptionComparison]:
    columns = [[SegmentBar(series, bar) for bar in bars_of(part, block)] for series, part in drawn]
    return [
        OptionComparison(bars[0].bar.text, bars[0].bar.emoji, bars) for bars in zip(*columns, strict=True)
    ]


def _groups_of_themes(drawn: Drawn) -> list[OptionComparison]:
    columns = [[SegmentBar(series, bar) for bar in theme_bars(part["open_text"])] for series, part in drawn]
    return [OptionComparison(bars[0].bar.text, "", bars) for bars in zip(*columns, strict=True)]


def _rows_of_themes(parts: Sequence[Entry]) -> Rows:
    columns = [theme_bars(part["open_text"]) for part in parts]
    rows = [
        (bars[0].text, *(f"{bar.share} ({amount(bar.count)})" for bar in bars))
        for bars in zip(*columns, strict=True)
    ]
    return [*rows, ("Answers read", *(f"{part['open_text']['analysed_count']:,}" for part in parts))]


def _rows_of_bars(parts: Sequence[Entry], block: Block | None) -> Rows:
    columns = [bars_of(part, block) for part in parts]
    return [
        (bars[0].text, *(f"{bar.share} ({amount(bar.count)})" for bar in bars))
        for bars in zip(*columns, strict=True)
    ]


def _rows_of_scale(parts: Sequence[Entry], block: Block | None) -> Rows:
    rows = [*_rows_of_bars(parts, block), _figure("Mean", "mean", parts), _figure("Median", "median", parts)]
    if parts[0]["nps"]:
        columns = [nps_parts(part["nps"]) for part in parts]
        rows += [
            (groups[0].text, *(f"{group.share} ({amount(group.count)})" for group in groups))
            for groups in zip(*columns, strict=True)
        ]
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
    return [_figure(name, key, parts) for name, key in {**SPREAD, "Numbers": "count"}.items()]


def _figure(name: str, key: str, parts: Sequence[Entry]) -> tuple[str, ...]:
    return (name, *(_number((part["stats"] or {}).get(key)) for part in parts))


def _score(part: Entry) -> str:
    score = part["nps"]["score"]
    return NO_VALUE if score is None else signed(score)


def _number(value: float | None) -> str:
    return NO_VALUE if value is None else number(value)


def _letter(n: int) -> str:
    """Return A to Z, then AA and so on."""
    first, last = divmod(n, len(ascii_uppercase))
    return (ascii_uppercase[first - 1] if first else "") + ascii_uppercase[last]
