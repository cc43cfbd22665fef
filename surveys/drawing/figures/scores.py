"""Cards for scores and for results of calculated blocks, which only staff see.

score_cards(figures, …)       a card for each bucket
variable_cards(figures, …)    a card for each calculated block
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from communities.ground.words import amount, plural
from surveys.drawing.figures.bins import bins_of
from surveys.drawing.figures.charts import (
    TOO_FEW,
    ChartBar,
    ChartColumn,
    DataTable,
    Entry,
    Fact,
    base_of,
    facts_of,
    number,
    table_of,
    weighted,
    with_columns,
    with_shares,
)
from surveys.drawing.figures.segments import (
    MAX_DRAWN,
    NO_VALUE,
    SPREAD,
    OptionComparison,
    SegmentBar,
    SegmentComparison,
    Series,
    legend_of,
)
from surveys.engine.statistics import percentage
from surveys.services.results.figures import Figures

NOBODY = "Nobody has one yet: they are counted once a response is completed."
RIGHT_ALONE = "Mean, counting only points of fully right answers"
RANGES = "Each range is without its upper end, which belongs to the next; the last one includes it."
FEW = "Values of fewer than five people are not shown: those of {}."
NOBODY_SELECTED = "None of the selected responses has one: they are counted once a response is completed."


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """One bucket, or one calculated block. `key` is used for the id of its card."""

    key: str
    kind: str
    name: str
    counted: str
    notice: str = ""
    facts: Sequence[Fact] = ()
    columns: Sequence[ChartColumn] = ()
    labels: str = ""  # the CSS class of labels below the columns that do not fit side by side
    bars: Sequence[ChartBar] = ()
    note: str = ""
    description: str = ""
    table: DataTable | None = None
    comparison: SegmentComparison | None = None


def score_cards(counted: Figures, *, is_filtered: bool) -> list[ScoreCard]:
    """A card for each bucket, then one for all buckets together."""
    return [
        _card(f"score-{n}", "Score", each["name"], each, counted, is_filtered)
        for n, each in enumerate(counted.scores or (), start=1)
    ]


def variable_cards(counted: Figures, *, is_filtered: bool) -> list[ScoreCard]:
    """A card for each calculated block."""
    return [
        _card(
            f"variable-{each['block_id']}", "Calculated", _in_words(each["name"]), each, counted, is_filtered
        )
        for each in counted.variables
    ]


def _in_words(name: str | None) -> str:
    """A block's name as a title: `team_share` is "Team share"."""
    words = " ".join((name or "").replace("_", " ").split())
    return words[:1].upper() + words[1:]


def _card(key: str, kind: str, name: str, entry: Entry, counted: Figures, is_filtered: bool) -> ScoreCard:
    counted_in_words = f"{plural(entry['count'], 'response')}{weighted(entry)}"
    card = ScoreCard(key, kind, name or "Unnamed", counted_in_words)
    if not entry["count"]:
        return replace(card, notice=NOBODY_SELECTED if is_filtered else NOBODY)
    card = _texts(card, entry) if entry.get("is_text") else _numbers(card, entry)
    segments = legend_of(counted.segments or ())
    is_compared = segments and entry["distribution"]
    return replace(card, comparison=compare(entry, segments) if is_compared else None)


def _texts(card: ScoreCard, entry: Entry) -> ScoreCard:
    if not entry["distribution"]:
        texts = plural(entry["other_values"], "different text")
        counted = plural(entry["other_count"], "response")
        return replace(card, note=f"{texts}, in {counted}. What they say is not shared.")
    bars = with_shares([bar_of(each) for each in entry["distribution"]], others=entry["other_count"])
    note = ""
    if entry["other_values"]:
        others = f"{entry['other_values']:,} other{'' if entry['other_values'] == 1 else 's'}"
        note = f"{others}, in {plural(entry['other_count'], 'response')}, are not listed."
    return replace(card, bars=bars, note=note, table=table_of_results(bars, "Result"))


def _numbers(card: ScoreCard, entry: Entry) -> ScoreCard:
    if entry["mean"] is None:
        return replace(card, notice=TOO_FEW)
    hidden = entry["count"] - sum(each["count"] for each in entry["distribution"])
    few = FEW.format(plural(hidden, "response")) if hidden else ""
    if not entry["distribution"]:
        return replace(card, facts=_facts(entry), note=few)
    bins = bins_of(entry["distribution"])
    bars = []
    for each in bins:
        part = percentage(each.count, base_of(entry))
        bars.append(ChartBar(each.text, each.count, "", f"{part:.2f}"))
    bars = with_shares(bars, others=hidden)
    is_by_value = entry["distribution"][0]["value"] is not None
    rows = (
        with_shares([bar_of(each) for each in entry["distribution"]], others=hidden) if is_by_value else bars
    )
    card = replace(
        card,
        facts=_facts(entry),
        table=table_of_results(rows, "Points" if card.kind == "Score" else "Result"),
        note=" ".join(filter(None, (RANGES if any(each.is_open for each in bins) else "", few))),
    )
    return with_columns(card, bars, is_range=bins[0].is_range)


def _facts(entry: Entry) -> list[Fact]:
    most, correct = entry.get("max_score"), entry.get("score_correct")
    mean = number(entry["mean"]) if most is None else f"{number(entry['mean'])} of {number(most)}"
    facts = [Fact("Mean", mean), *facts_of(entry)[1:]]
    if correct and correct["mean"] is not None:
        right = f"{number(correct['mean'])} of {number(correct['max_score_correct'])}"
        if right != mean:
            facts.append(Fact(RIGHT_ALONE, right))
    return facts


def table_of_results(bars: Sequence[ChartBar], name: str) -> DataTable:
    return replace(table_of(bars, name), head=(name, "Responses", "Share"))


def bar_of(each: Entry) -> ChartBar:
    """A bar whose share is set once all bars in its group are known."""
    return ChartBar(_text(each), each["count"], "", f"{each['percentage']:.2f}")


def _text(each: Entry) -> str:
    return each["value"] if isinstance(each["value"], str) else number(each["value"])


def compare(entry: Entry, legend: Sequence[Series]) -> SegmentComparison | None:
    """The comparison of the segments: by their means, or by the number of each text result."""
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
        bars_of_drawn = [(series, _bars_of(part)) for series, part in drawn]
        groups = [
            OptionComparison(_text(each), "", [SegmentBar(series, bars[n]) for series, bars in bars_of_drawn])
            for n, each in enumerate(entry["distribution"][:MAX_DRAWN])
        ]
        columns = [_bars_of(part) for part in parts]
        rows = [
            (_text(each), *(f"{bars[n].share} ({amount(bars[n].count)})" for bars in columns))
            for n, each in enumerate(entry["distribution"])
        ]
    else:
        groups = _means(entry, drawn)
        rows = [(name, *(_figure(part[key]) for part in parts)) for name, key in SPREAD.items()]
    rows.append(("Responses", *(f"{part['count']:,}" for part in parts)))
    note = ""
    if len(shown) > len(drawn):
        note = f"The first {len(drawn)} of {len(shown)} segments are drawn; the table has all."
    head = ("Figure", *(f"{series.letter} {series.text}" for series in legend))
    return SegmentComparison([series for series, _ in drawn], groups, (), note, DataTable(head, rows))


def _bars_of(part: Entry) -> list[ChartBar]:
    """The texts of one segment. Their shares leave room for the texts that are not listed."""
    bars = [bar_of(each) for each in part["distribution"]]
    return with_shares(bars, others=max(0, base_of(part) - sum(bar.count for bar in bars)))


def _means(entry: Entry, drawn: Sequence[tuple[Series, Entry]]) -> list[OptionComparison]:
    """Bars that begin at 0; none if a mean is negative."""
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


def _figure(value: float | None) -> str:
    return NO_VALUE if value is None else number(value)
