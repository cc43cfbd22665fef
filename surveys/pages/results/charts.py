"""A question's figures as a chart, the numbers beside it and the table behind it: all that a card draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from communities.words import plural
from surveys.engine.script import SCALES, Block
from surveys.pages.respondent.widgets import emoji
from surveys.pages.words import share

Entry = Mapping[str, Any]  # an AnalysisBlock, or a part of one, as JSON

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
SEVERAL = "Several could be chosen, so shares may add up to more than 100%."
LOWER_IS_BETTER = "Average rank, best first. 1 is the first place, so lower is better."
LONGEST_UNDER_A_COLUMN = 3  # characters; longer labels stand beside bars
COLUMN_SHARE = 0.72  # of the room that each column has
HEIGHT_OF_COLUMNS = 100.0


@dataclass(frozen=True, slots=True)
class Bar:
    """`width` is of the full bar, in percent as SVG reads it; `share` is the same as people read it."""

    text: str
    count: int
    share: str
    width: str
    emoji: str = ""
    is_removed: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One point of a scale. Places and sizes are percent of the drawing."""

    text: str
    share: str
    x: str
    middle: str
    width: str
    height: str
    top: str
    is_none: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar that is divided, drawn from `x` on."""

    key: str
    text: str
    count: int
    share: str
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class Track:
    """A line from the lowest to the highest with the mean on it."""

    low: str
    high: str
    mean: str
    x: str
    told: str


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Card:
    """One question. `notice` stands in place of a chart where there is nothing to draw."""

    id: int
    number: int
    prompt: str
    kind: str
    answered: str
    notice: str = ""
    is_removed: bool = False
    bars: Sequence[Bar] = ()
    places: Sequence[Bar] = ()
    columns: Sequence[Column] = ()
    parts: Sequence[Part] = ()
    marker: Track | None = None
    track: Track | None = None
    facts: Sequence[Fact] = ()
    note: str = ""
    table: Table | None = None
    drawn: str = ""  # what a drawing without text of its own shows, in words


def card(entry: Entry, block: Block | None, *, number: int) -> Card:
    """The card of a question. `block` is the question in the script, whose options nobody may have chosen."""
    made = Card(
        id=entry["block_id"],
        number=number,
        prompt=entry["prompt"],
        kind=KINDS[entry["block_type"]],
        answered="",
        is_removed=bool(entry.get("is_archived")),
    )
    count = entry["response_count"]
    if count is None:
        return made
    made = replace(made, answered=answers(count))
    if not count:
        return replace(made, notice="Nobody has answered this yet.")
    match entry["block_type"]:
        case "single_punch" | "multi_punch":
            return _choices(made, entry, block)
        case "nps":
            return _nps(_scale(made, entry, block), entry)
        case "rating" | "opinion_scale":
            return _scale(made, entry, block)
        case "open_numeric":
            return _numbers(made, entry)
        case "ranking":
            return _ranking(made, entry)
    return made


def bars_of(entry: Entry, block: Block | None) -> list[Bar]:
    """A bar for each option of the script, those nobody chose too, then for what was removed since."""
    told = entry["distribution"] or []
    if entry["block_type"] in SCALES:
        return [_point(each, block) for each in told]
    by_option = {each["option_id"]: each for each in told}
    bars = []
    for option in block.options if block else ():
        each = by_option.pop(option.id, None)
        count, percentage = (each["count"], each["percentage"]) if each else (0, 0.0)
        bars.append(_bar(option.display_text, count, percentage, emoji(option)))
    is_removed = bool(bars)
    return bars + [
        replace(_bar(_label(each), each["count"], each["percentage"]), is_removed=is_removed)
        for each in by_option.values()
    ]


def _choices(made: Card, entry: Entry, block: Block | None) -> Card:
    bars = bars_of(entry, block)
    note = SEVERAL if entry["block_type"] == "multi_punch" else ""
    return replace(made, bars=bars, note=note, table=table_of(bars, "Answer"))


def _scale(made: Card, entry: Entry, block: Block | None) -> Card:
    bars, mean = bars_of(entry, block), (entry["stats"] or {}).get("mean")
    if entry["block_type"] == "nps" or all(len(bar.text) <= LONGEST_UNDER_A_COLUMN for bar in bars):
        drawn = f"Columns from {bars[0].text} to {bars[-1].text}"
        made = replace(made, columns=_columns(bars), drawn=f"{drawn}. The table below has the numbers.")
    else:
        made = replace(made, bars=bars)
    if mean is not None:
        points = [float(each["value"]) for each in entry["distribution"]]
        marker = _track(points[0], points[-1], mean)
        if made.columns:
            marker = replace(marker, x=_percent(_place(points, mean)))
        facts = [Fact("Mean", f"{number(mean)} of {number(points[0])} to {number(points[-1])}")]
        made = replace(made, marker=marker, facts=facts)
    return replace(made, table=table_of(bars, "Point"))


def _place(points: Sequence[float], value: float) -> float:
    """Where a value stands among columns, each of which has its point in its middle."""
    for n, (low, high) in enumerate(pairwise(points)):
        if low <= value <= high:
            return (n + 0.5 + (value - low) / (high - low)) / len(points) * 100
    return 50.0


def _nps(made: Card, entry: Entry) -> Card:
    nps = entry["nps"]
    if nps["score"] is None:
        return made
    score = Fact(f"Score, from {number(-100)} to 100", signed(nps["score"]))
    return replace(made, parts=nps_parts(nps), facts=[score, *made.facts])


def _numbers(made: Card, entry: Entry) -> Card:
    stats = entry["stats"] or {}
    mean, low, high = stats.get("mean"), stats.get("min"), stats.get("max")
    if mean is None:
        return replace(made, notice="None of the answers is a number.")
    rows = [("Mean", mean), ("Lowest", low), ("Highest", high)]
    facts = [Fact(name, number(value)) for name, value in rows if value is not None]
    track = None
    if low is not None and high is not None:
        track = _track(low, high, mean)
    table = Table(
        ("Figure", "Value"),
        [(fact.name, fact.value) for fact in facts] + [("Numbers", f"{stats['count']:,}")],
    )
    return replace(made, track=track, facts=facts, table=table)


def _ranking(made: Card, entry: Entry) -> Card:
    """Best first. A longer bar is a better place: full for first, nearly none for last."""
    items = sorted(
        entry["ranking"] or [],
        key=lambda item: (
            item["average_rank"] is None,
            item["average_rank"] or 0,
            -item["first_choice_count"],
        ),
    )
    places = []
    for item in items:
        rank = item["average_rank"]
        if rank is None:
            places.append(Bar(_label(item), 0, "\N{EN DASH}", "0", note="Nobody ranked this."))
            continue
        width = (len(items) - rank + 1) / len(items) * 100
        first = item["first_choice_count"]
        note = f"first for {first:,}, ranked by {item['ranked_count']:,}"
        places.append(Bar(_label(item), item["ranked_count"], f"{rank:.2f}", _percent(width), note=note))
    rows = [
        (_label(item), _rank(item), f"{item['first_choice_count']:,}", f"{item['ranked_count']:,}")
        for item in items
    ]
    table = Table(("Item", "Average rank", "First choice of", "Ranked by"), rows)
    return replace(made, places=places, note=LOWER_IS_BETTER, table=table)


def nps_parts(nps: Entry) -> Sequence[Part]:
    return divide([(key, text, nps[key]) for key, text in NPS_PARTS.items()])


def divide(parts: Sequence[tuple[str, str, int]]) -> list[Part]:
    """A bar divided into parts, each by its key, what it is called and its count."""
    total = sum(count for _, _, count in parts)
    made, x = [], 0.0
    for key, text, count in parts:
        width = count / total * 100 if total else 0.0
        made.append(Part(key, text, count, share(width), _percent(x), _percent(width)))
        x += width
    return made


# --- Parts ------------------------------------------------------------------------------------------


def table_of(bars: Sequence[Bar], name: str) -> Table:
    rows = [
        (
            f"{bar.text} (removed)" if bar.is_removed else bar.text,
            f"{bar.count:,}",
            f"{float(bar.width):.2f}%",
        )
        for bar in bars
    ]
    return Table((name, "Answers", "Share"), rows)


def _bar(text: str, count: int, percentage: float, sign: str = "") -> Bar:
    return Bar(text, count, share(percentage), _percent(percentage), sign)


def _point(each: Entry, block: Block | None) -> Bar:
    """A point of a scale: its number, and its label or emoji where it has one."""
    options = {option.value: option for option in (block.options if block else ())}
    option = options.get(each["value"])
    text = each["value"]
    if option and option.label and option.label != text:
        text = f"{text} {option.label}"
    return _bar(text, each["count"], each["percentage"], emoji(option) if option else "")


def _columns(bars: Sequence[Bar]) -> list[Column]:
    """As high as their share of the highest, so that the shape is seen."""
    most = max(float(bar.width) for bar in bars) or 1.0
    step = 100 / len(bars)
    columns = []
    for n, bar in enumerate(bars):
        height = float(bar.width) / most * HEIGHT_OF_COLUMNS
        columns.append(
            Column(
                text=bar.emoji or bar.text,
                share=bar.share,
                x=_percent(n * step + step * (1 - COLUMN_SHARE) / 2),
                middle=_percent((n + 0.5) * step),
                width=_percent(step * COLUMN_SHARE),
                height=_percent(height),
                top=_percent(HEIGHT_OF_COLUMNS - height),
                is_none=not bar.count,
            )
        )
    return columns


def _track(low: float, high: float, mean: float) -> Track:
    x = (mean - low) / (high - low) * 100 if high > low else 50.0
    told = f"Mean {number(mean)}, between {number(low)} and {number(high)}"
    return Track(number(low), number(high), number(mean), _percent(x), told)


def _label(each: Entry) -> str:
    return str(each.get("label") or each["value"])


def _rank(item: Entry) -> str:
    return "\N{EN DASH}" if item["average_rank"] is None else f"{item['average_rank']:.2f}"


# --- Numbers in words -------------------------------------------------------------------------------


def answers(count: int) -> str:
    return plural(count, "answer")


def number(value: float) -> str:
    """With two decimals at most, and a sign that is one."""
    text = f"{value:,.2f}".rstrip("0").rstrip(".")
    return text.replace("-", "\N{MINUS SIGN}")


def signed(value: float) -> str:
    return number(value) if value <= 0 else f"+{number(value)}"


def _percent(value: float) -> str:
    return f"{value:.2f}"
