"""Cards for scores and for results of calculated blocks, which only staff see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from communities.words import plural
from surveys.pages.results.charts import (
    MAX_COLUMN_LABEL,
    ChartBar,
    ChartColumn,
    DataTable,
    Entry,
    Fact,
    Track,
    columns_of,
    number,
    table_of,
    track_of,
)
from surveys.pages.results.segments import (
    MAX_DRAWN,
    NO_VALUE,
    OptionComparison,
    SegmentBar,
    SegmentComparison,
    Series,
    legend_of,
)
from surveys.pages.words import share
from surveys.services.results.figures import Figures

NOBODY = "Nobody has one yet: they are counted once a response is completed."
RANGES = "Each range is without its upper end, which belongs to the next; the last one includes it."
MAX_FILLED = 11  # columns


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """One bucket, or one calculated block. `key` makes the id of its card."""

    key: str
    kind: str
    name: str
    counted: str
    notice: str = ""
    facts: Sequence[Fact] = ()
    columns: Sequence[ChartColumn] = ()
    bars: Sequence[ChartBar] = ()
    track: Track | None = None
    note: str = ""
    description: str = ""
    table: DataTable | None = None
    comparison: SegmentComparison | None = None


def score_cards(counted: Figures) -> list[ScoreCard]:
    """A card for each bucket, then one for all of them."""
    segments = legend_of(counted.segments or ())
    return [
        _card(f"score-{n}", "Score", each, segments) for n, each in enumerate(counted.scores or (), start=1)
    ]


def variable_cards(counted: Figures) -> list[ScoreCard]:
    """A card for each calculated block."""
    segments = legend_of(counted.segments or ())
    return [_card(f"variable-{each['block_id']}", "Calculated", each, segments) for each in counted.variables]


def _card(key: str, kind: str, entry: Entry, segments: Sequence[Series]) -> ScoreCard:
    name, count = entry["name"] or "Unnamed", entry["count"]
    card = ScoreCard(key, kind, name, plural(count, "response"))
    if not count:
        return replace(card, notice=NOBODY)
    card = _texts(card, entry) if entry.get("is_text") else _numbers(card, entry)
    is_compared = segments and entry["distribution"]
    return replace(card, comparison=_comparison(entry, segments) if is_compared else None)


def _texts(card: ScoreCard, entry: Entry) -> ScoreCard:
    if not entry["distribution"]:
        texts = plural(entry["other_values"], "different text")
        counted = plural(entry["other_count"], "response")
        return replace(card, note=f"{texts}, in {counted}. What they say is not shared.")
    bars = [_bar(each) for each in entry["distribution"]]
    note = ""
    if entry["other_values"]:
        others = f"{entry['other_values']:,} other{'' if entry['other_values'] == 1 else 's'}"
        note = f"{others}, in {plural(entry['other_count'], 'response')}, are not listed."
    return replace(card, bars=bars, note=note, table=_table(bars, "Result"))


def _numbers(card: ScoreCard, entry: Entry) -> ScoreCard:
    most, correct = entry.get("max_score"), entry.get("score_correct")
    mean = number(entry["mean"]) if most is None else f"{number(entry['mean'])} of {number(most)}"
    facts = [Fact("Mean", mean), Fact("Lowest", number(entry["min"])), Fact("Highest", number(entry["max"]))]
    if correct and correct["mean"] is not None:
        right = f"{number(correct['mean'])} of {number(correct['max_score_correct'])}"
        facts.append(Fact("Mean of right answers alone", right))
    bars = [_bar(each) for each in _filled(entry["distribution"])]
    table = _table(bars, "Points" if card.kind == "Score" else "Result")
    is_ranges = entry["distribution"][0]["value"] is None
    card = replace(card, facts=facts, table=table, note=RANGES if is_ranges else "")
    if len(bars) > 1 and all(len(bar.text) <= MAX_COLUMN_LABEL for bar in bars):
        description = f"Columns from {bars[0].text} to {bars[-1].text}. The table below has the numbers."
        return replace(card, columns=columns_of(bars), description=description)
    return replace(card, bars=bars, track=track_of(entry["min"], entry["max"], entry["mean"]))


def _table(bars: Sequence[ChartBar], name: str) -> DataTable:
    return replace(table_of(bars, name), head=(name, "Responses", "Share"))


def _filled(distribution: Sequence[Entry]) -> Sequence[Entry]:
    """Whole numbers close together, with those between that nobody has: the distance shows in the columns."""
    values = [each["value"] for each in distribution]
    if not all(isinstance(value, int) for value in values) or values[-1] - values[0] >= MAX_FILLED:
        return distribution
    by_value = {each["value"]: each for each in distribution}
    nobody: dict[str, Any] = {"count": 0, "percentage": 0.0}
    return [by_value.get(value) or {"value": value, **nobody} for value in range(values[0], values[-1] + 1)]


def _bar(each: Entry) -> ChartBar:
    return ChartBar(_text(each), each["count"], share(each["percentage"]), f"{each['percentage']:.2f}")


def _text(each: Entry) -> str:
    if each["value"] is None:
        return f"{number(each['from'])} to {number(each['to'])}"
    return each["value"] if isinstance(each["value"], str) else number(each["value"])


def _comparison(entry: Entry, legend: Sequence[Series]) -> SegmentComparison | None:
    """How the segments differ: by their means, or by how often each text is the result."""
    parts = entry["segments"]
    shown = [
        (replace(series, answered=part["count"]), part)
        for series, part in zip(legend, parts, strict=True)
        if part["count"]
    ]
    drawn = shown[:MAX_DRAWN]
    if not drawn:
        return None
    if entry.get("is_text"):
        groups = [
            OptionComparison(
                _text(each),
                "",
                [SegmentBar(series, _bar(part["distribution"][n])) for series, part in drawn],
            )
            for n, each in enumerate(entry["distribution"][:MAX_DRAWN])
        ]
        rows = [
            (_text(each), *(_counted(part["distribution"][n]) for part in parts))
            for n, each in enumerate(entry["distribution"])
        ]
    else:
        groups = _means(entry, drawn)
        figures = {"Mean": "mean", "Lowest": "min", "Highest": "max"}
        rows = [(name, *(_figure(part[key]) for part in parts)) for name, key in figures.items()]
    rows.append(("Responses", *(f"{part['count']:,}" for part in parts)))
    note = ""
    if len(shown) > len(drawn):
        note = f"The first {len(drawn)} of {len(shown)} segments are drawn; the table has all."
    head = ("Figure", *(f"{series.letter} {series.text}" for series in legend))
    return SegmentComparison([series for series, _ in drawn], groups, (), note, DataTable(head, rows))


def _means(entry: Entry, drawn: Sequence[tuple[Series, Entry]]) -> list[OptionComparison]:
    """Bars from 0; none where a mean is below it."""
    means = [part["mean"] for _, part in drawn]
    longest = max([*means, entry.get("max_score") or 0])
    if min(means) < 0 or longest <= 0:
        return []
    bars = [
        SegmentBar(
            series, ChartBar("", part["count"], number(part["mean"]), f"{part['mean'] / longest * 100:.2f}")
        )
        for series, part in drawn
    ]
    return [OptionComparison("Mean", "", bars)]


def _counted(each: Entry) -> str:
    return f"{share(each['percentage'])} ({each['count']:,})"


def _figure(value: float | None) -> str:
    return NO_VALUE if value is None else number(value)
