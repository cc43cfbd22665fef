"""Turns a question's figures into a card: a chart, the numbers beside it and a table of the same data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeVar

from communities.ground.words import amount, percent, percents, plural
from surveys.drawing.widgets import emoji
from surveys.engine.flow.wording import heading
from surveys.engine.language import markup
from surveys.engine.language.piping import Authored
from surveys.engine.script import SCALES, Block, Script
from surveys.engine.statistics import by_points, places_of
from surveys.engine.walk import defaults

Entry = Mapping[str, Any]  # an AnalysisBlock as JSON, or one segment of it

KINDS = {
    "single_punch": "One choice",
    "multi_punch": "Several choices",
    "open_text": "Text",
    "open_numeric": "Number",
    "rating": "Rating",
    "opinion_scale": "Scale",
    "nps": "Net promoter score",
    "ranking": "Ranking",
}
NPS_PARTS = {
    "detractors": "Detractors, 0 to 6",
    "passives": "Passives, 7 and 8",
    "promoters": "Promoters, 9 and 10",
}
NUMBERS = {
    "Mean": "mean",
    "Median": "median",
    "Standard deviation": "standard_deviation",
    "Lowest": "min",
    "Highest": "max",
}
MIDDLE_HALF = "Middle half"
OF_SCALES = ("Median", MIDDLE_HALF, "Standard deviation")
NOBODY = "Nobody has answered this yet."
NOBODY_SELECTED = "None of the selected responses has an answer to this."
TOO_FEW = "Too few answers to show yet."
SEVERAL = "People could choose several answers, so shares may add up to more than 100%."
POINTS = (
    "Points, most first: each answer gives {most} to its first place, one less to each next one, and none to "
    "items without a place."
)
MAX_COLUMN_LABEL = 4  # characters; scales with longer labels are drawn as bars
COLUMN_SHARE = 0.72  # the share of its slot that a column fills; the rest is the gap
RANGE_SHARE = 0.94  # the same for columns of ranges, because each range begins where the previous one ends
FULL_HEIGHT = 100.0  # percent of the drawing
RANGES = "Each range is without its upper end, which belongs to the next."
# Characters that fit below a drawing, a space between labels included. Longer labels are drawn diagonally.
MOST_ON_PHONES, MOST_ON_DESKTOPS = 44, 108
MOST_WITH_EMPTY = 20  # options or segments; longer lists fold those without an answer
MAX_LABEL = 13  # characters below a column; ranges of larger numbers are drawn as bars


@dataclass(frozen=True, slots=True)
class ChartBar:
    """`width` is the bar's length in percent, formatted for SVG; `share` is the text shown beside it."""

    text: str
    count: float
    share: str
    width: str
    emoji: str = ""
    is_removed: bool = False
    note: str = ""
    is_right: bool = False  # the correct answer, for readers who may know it


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """One point of a scale. Positions and sizes are percent of the drawing."""

    text: str
    share: str
    x: str
    middle: str
    width: str
    height: str
    top: str
    is_empty: bool
    is_right: bool = False


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part of a stacked bar, starting at `x`. Positions and sizes are percent of the bar."""

    key: str
    text: str
    count: float
    share: str
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class Track:
    """A line from the lowest to the highest value, with a dot at the mean. Screen readers get `summary`."""

    low: str
    high: str
    mean: str
    x: str
    summary: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure with its label."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class DataTable:
    """The data of a chart as a table of texts."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Card:
    """One question. `notice` replaces the chart if there is nothing to draw."""

    id: int
    number: int
    prompt: str
    kind: str
    answered: str
    notice: str = ""
    group: str = ""  # the title that the question shares with its neighbours
    is_removed: bool = False
    bars: Sequence[ChartBar] = ()
    places: Sequence[ChartBar] = ()
    columns: Sequence[ChartColumn] = ()
    labels: str = ""  # the CSS class of labels below the columns that do not fit side by side
    parts: Sequence[BarPart] = ()
    marker: Track | None = None
    facts: Sequence[Fact] = ()
    note: str = ""
    table: DataTable | None = None
    description: str = ""  # describes the columns to screen readers
    of: str = ""  # the key of a card that is of no question

    @property
    def key(self) -> str:
        """The name of the card in addresses."""
        return self.of or f"question-{self.id}"

    @property
    def chosen_bars(self) -> Sequence[ChartBar]:
        """The bars, without those of a long list that nobody chose (rule 6.433)."""
        return [bar for bar in self.bars if bar.count] if self.unchosen_bars else self.bars

    @property
    def unchosen_bars(self) -> Sequence[ChartBar]:
        """The bars of a long list that nobody chose."""
        return [bar for bar in self.bars if not bar.count] if len(self.bars) > MOST_WITH_EMPTY else ()


Drawing = TypeVar("Drawing", bound=Any)


def draw_card(
    entry: Entry, block: Block | None, *, script: Script, number: int, nobody: str = NOBODY
) -> Card:
    """Return the card of a question. `block` is the question in the script; it adds options with no votes.

    `nobody` is the notice of a question without answers.
    """
    card = Card(
        id=entry["block_id"],
        number=number,
        prompt=heading(entry["prompt"], script),
        kind=KINDS[entry["block_type"]],
        answered="",
        group=markup.plain(Authored(block.group)) if block is not None and block.group else "",
        is_removed=bool(entry.get("is_archived")),
    )
    count = entry["response_count"]
    if count is None:
        return replace(card, notice=TOO_FEW)
    said = f"{answers(count)}{weighted(entry)}"
    card = replace(card, answered=" \N{MIDDLE DOT} ".join([said, *_since(entry)]))
    if not count:
        return replace(card, notice=nobody)
    match entry["block_type"]:
        case "single_punch" | "multi_punch":
            return _choices(card, entry, block)
        case "nps":
            return _nps(_scale(card, entry, block), entry)
        case "rating" | "opinion_scale":
            return _scale(card, entry, block)
        case "open_numeric":
            return _numbers(card, entry)
        case "ranking":
            return _ranking(card, entry, block)
    return card


def _since(entry: Entry) -> Iterator[str]:
    """Since when a question is asked, and how many could see it, if it was added after the opening."""
    if entry.get("since"):
        yield f"asked since {_day(entry['since'])}"
    if (seen := entry.get("could_see_count")) is not None:
        yield f"{plural(max(seen, entry['response_count']), 'response')} could see it"


def _day(moment: str) -> str:
    return f"{datetime.fromisoformat(moment):%-d %b %Y}"


def _added(entry: Entry) -> Mapping[int, str]:
    """What stands behind the options that were added after the opening, by id."""
    options = entry.get("added_options") or ()
    return {each["option_id"]: f" (since {_day(each['since'])})" for each in options}


def bars_of(entry: Entry, block: Block | None) -> list[ChartBar]:
    """Return a bar for each option of the script, chosen or not, then for chosen options removed since."""
    bars = _bars(entry, block)
    if entry["block_type"] == "multi_punch":
        return bars
    return with_shares(bars)


def with_shares(bars: Sequence[ChartBar], *, others: float = 0) -> list[ChartBar]:
    """Return the bars with shares that add up to 100%. `others` are counted, but have no bar."""
    shares = percents([*(bar.count for bar in bars), others])
    return [replace(bar, share=share) for bar, share in zip(bars, shares, strict=False)]


def _bars(entry: Entry, block: Block | None) -> list[ChartBar]:
    distribution = entry["distribution"] or []
    if entry["block_type"] in SCALES:
        return [_point(each, block) for each in distribution]
    by_option = {each["option_id"]: each for each in distribution}
    bars, added = [], _added(entry)
    for option in block.options if block else ():
        each = by_option.pop(option.id, None)
        count, percentage = (each["count"], each["percentage"]) if each else (0, 0.0)
        text = f"{option.display_text}{added.get(option.id or 0, '')}"
        bars.append(_bar(text, count, percentage, emoji(option)))
    is_removed = bool(bars)
    return bars + [
        replace(_bar(_label(each), each["count"], each["percentage"]), is_removed=is_removed)
        for each in by_option.values()
    ]


def _choices(card: Card, entry: Entry, block: Block | None) -> Card:
    bars = bars_of(entry, block)
    note = SEVERAL if entry["block_type"] == "multi_punch" else ""
    return replace(card, bars=bars, note=note, table=table_of(bars, "Answer"))


def _scale(card: Card, entry: Entry, block: Block | None) -> Card:
    stats = entry["stats"] or {}
    bars, mean = bars_of(entry, block), stats.get("mean")
    if entry["block_type"] == "nps" or all(len(bar.text) <= MAX_COLUMN_LABEL for bar in bars):
        description = f"Columns from {bars[0].text} to {bars[-1].text}. The table below has the numbers."
        card = replace(card, columns=columns_of(bars), description=description)
    else:
        card = replace(card, bars=bars)
    if mean is not None:
        points = [float(each["value"]) for each in entry["distribution"]]
        marker = track_of(points[0], points[-1], mean)
        if card.columns:
            marker = replace(marker, x=_percent(_position(points, mean)))
        facts = [
            Fact("Mean", f"{number(mean)} of {number(points[0])} to {number(points[-1])}"),
            *(fact for fact in facts_of(stats) if fact.name in OF_SCALES),
        ]
        card = replace(card, marker=marker, facts=facts)
    return replace(card, table=table_of(bars, "Point"))


def _position(points: Sequence[float], value: float) -> float:
    """Return the position of a value in percent. Each column has its point at its centre."""
    for n, (low, high) in enumerate(pairwise(points)):
        if low <= value <= high:
            return (n + 0.5 + (value - low) / (high - low)) / len(points) * 100
    return 50.0


def _nps(card: Card, entry: Entry) -> Card:
    nps = entry["nps"]
    if nps["score"] is None:
        return card
    score = Fact(f"Score, from {number(-100)} to 100", signed(nps["score"]))
    return replace(card, parts=nps_parts(nps), facts=[score, *card.facts])


def _numbers(card: Card, entry: Entry) -> Card:
    stats = entry["stats"] or {}
    if stats.get("mean") is None:
        return replace(card, notice="None of the answers is a number.")
    card = replace(card, facts=facts_of(stats))
    histogram = entry.get("histogram")
    if histogram is None:
        rows = [(fact.name, fact.value) for fact in card.facts]
        table = DataTable(("Figure", "Value"), [*rows, ("Numbers", f"{stats['count']:,}")])
        return replace(card, table=table)
    bars = with_shares([_bar_of_range(each, histogram) for each in histogram["ranges"]])
    is_range = not histogram["is_whole"] or histogram["width"] > 1
    note = "" if histogram["is_whole"] else RANGES
    return with_columns(replace(card, table=table_of(bars, "Number"), note=note), bars, is_range=is_range)


def _bar_of_range(each: Entry, histogram: Entry) -> ChartBar:
    """The bar of a range; a range of whole numbers includes both of its ends, such as 0–19."""
    low, high = each["from"], each["to"]
    if histogram["is_whole"]:
        text = number(low) if histogram["width"] == 1 else range_of(low, high - 1)
    else:
        text = range_of(low, high, decimals=max(0, -Decimal(repr(histogram["width"])).adjusted()))
    return _bar(text, each["count"], each["percentage"])


def facts_of(stats: Entry) -> list[Fact]:
    """Return the statistics of numbers that are known, with the quartiles as the middle half."""
    facts = [Fact(name, number(stats[key])) for name, key in NUMBERS.items() if stats.get(key) is not None]
    if stats.get("median") is not None:
        half = range_of(stats["lower_quartile"], stats["upper_quartile"])
        facts.insert(2, Fact(MIDDLE_HALF, half))
    return facts


def with_columns(card: Drawing, bars: Sequence[ChartBar], *, is_range: bool) -> Drawing:
    """Return the card of numbers with columns, or with bars if their labels are too long."""
    longest = max(len(bar.text) for bar in bars)
    if len(bars) == 1 or longest > MAX_LABEL:
        return replace(card, bars=bars)
    description = f"Columns from {bars[0].text} to {bars[-1].text}. The table below has the numbers."
    columns = columns_of(bars, filled=RANGE_SHARE) if is_range else columns_of(bars)
    labels = _labels(len(bars) * (longest + 1))
    return replace(card, columns=columns, labels=labels, description=description)


def _labels(characters: int) -> str:
    if characters > MOST_ON_DESKTOPS:
        return "aslant"
    return "aslant-on-phones" if characters > MOST_ON_PHONES else ""


def _ranking(card: Card, entry: Entry, block: Block | None) -> Card:
    """Sort items by points. An average rank ignores the respondents who gave an item no place."""
    ranking = entry["ranking"] or []
    most = places_of(ranking, block)
    items = by_points(ranking)
    highest = most * base_of(entry, "response_count")
    places, added = [], _added(entry)
    for item in items:
        total, rank = item["points"], item["average_rank"]
        note = "Nobody ranked this."
        if rank is not None:
            first = item["first_choice_count"]
            average = f"average rank {rank:.2f}"
            note = f"first for {amount(first)}, ranked by {amount(item['ranked_count'])}, {average}"
        width = _percent(100 * total / highest if highest else 0.0)
        text = f"{_label(item)}{added.get(item['option_id'], '')}"
        places.append(ChartBar(text, item["ranked_count"], number(total), width, note=note))
    rows = [
        (
            _label(item),
            number(item["points"]),
            _rank(item),
            amount(item["first_choice_count"]),
            amount(item["ranked_count"]),
        )
        for item in items
    ]
    table = DataTable(("Item", "Points", "Average rank", "First choice of", "Ranked by"), rows)
    return replace(card, places=places, note=POINTS.format(most=plural(most, "point")), table=table)


def nps_parts(nps: Entry) -> Sequence[BarPart]:
    """Return the stacked bar of a net promoter score: detractors, passives and promoters."""
    return divide([(key, text, nps[key]) for key, text in NPS_PARTS.items()])


def divide(parts: Sequence[tuple[str, str, float]]) -> list[BarPart]:
    """Return the parts of a stacked bar, given the key, text and count of each part."""
    total = sum(count for _, _, count in parts)
    shares = percents([count for _, _, count in parts])
    divided, x = [], 0.0
    for (key, text, count), share in zip(parts, shares, strict=True):
        width = count / total * 100 if total else 0.0
        divided.append(BarPart(key, text, count, share, _percent(x), _percent(width)))
        x += width
    return divided


# --- Parts ------------------------------------------------------------------------------------------


def table_of(bars: Sequence[ChartBar], name: str) -> DataTable:
    """Return the bars as a table. `name` is the header of the first column."""
    rows = [
        (
            f"{bar.text}{' (right)' if bar.is_right else ''}{' (removed)' if bar.is_removed else ''}",
            amount(bar.count),
            f"{float(bar.width):.2f}%",
        )
        for bar in bars
    ]
    return DataTable((name, "Answers", "Share"), rows)


def _bar(text: str, count: float, percentage: float, sign: str = "") -> ChartBar:
    return ChartBar(text, count, percent(percentage), _percent(percentage), sign)


def _point(each: Entry, block: Block | None) -> ChartBar:
    """Return the bar of a scale point: its number, with its label and emoji if it has them."""
    options = {option.value: option for option in (block.options if block else ())}
    option = options.get(each["value"])
    text = each["value"]
    if option and option.label and option.label != text:
        text = f"{text} {option.label}"
    elif block and block.type in SCALES and defaults.stars_of(block, text):
        text = f"{text} \N{BLACK STAR}"
    return _bar(text, each["count"], each["percentage"], emoji(option) if option else "")


def columns_of(bars: Sequence[ChartBar], *, filled: float = COLUMN_SHARE) -> list[ChartColumn]:
    """Return columns scaled to the highest one, so that the shape of the distribution shows.

    `filled` is the share of its slot that each column fills.
    """
    highest = max(float(bar.width) for bar in bars) or 1.0
    step = 100 / len(bars)
    columns = []
    for n, bar in enumerate(bars):
        height = float(bar.width) / highest * FULL_HEIGHT
        columns.append(
            ChartColumn(
                text=bar.emoji or bar.text,
                share=bar.share,
                x=_percent(n * step + step * (1 - filled) / 2),
                middle=_percent((n + 0.5) * step),
                width=_percent(step * filled),
                height=_percent(height),
                top=_percent(FULL_HEIGHT - height),
                is_empty=not bar.count,
            )
        )
    return columns


def track_of(low: float, high: float, mean: float) -> Track:
    x = (mean - low) / (high - low) * 100 if high > low else 50.0
    summary = f"Mean {number(mean)}, between {number(low)} and {number(high)}"
    return Track(number(low), number(high), number(mean), _percent(x), summary)


def _label(each: Entry) -> str:
    return str(each.get("label") or each["value"])


def _rank(item: Entry) -> str:
    return "\N{EN DASH}" if item["average_rank"] is None else f"{item['average_rank']:.2f}"


# --- Numbers in words -------------------------------------------------------------------------------


def base_of(entry: Entry, name: str = "count") -> float:
    """The base of an entry's shares: the number of its responses, or the sum of their weights."""
    base: float = entry.get("weighted_count", entry[name])
    return base


def weighted(entry: Entry) -> str:
    """The sum of the weights of a base, to stand behind its number of responses; empty without weights."""
    return f", weighted {amount(entry['weighted_count'])}" if "weighted_count" in entry else ""


def answers(count: int) -> str:
    """Return a count of answers: `1 answer`, `1,200 answers`."""
    return plural(count, "answer")


def number(value: float | Decimal, decimals: int = 2) -> str:
    """Format a number with at most two decimals, or as many as given, and a true minus sign (U+2212)."""
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "\N{MINUS SIGN}")


def range_of(low: Any, high: Any, decimals: int = 2) -> str:
    """A range in words. Next to a minus sign, a dash would be misread."""
    ends = number(low, decimals), number(high, decimals)
    return (" to " if low < 0 else "\N{EN DASH}").join(ends)


def signed(value: float) -> str:
    """Format a number like `number`, with a plus sign if it is positive."""
    return number(value) if value <= 0 else f"+{number(value)}"


def _percent(value: float) -> str:
    return f"{value:.2f}"
