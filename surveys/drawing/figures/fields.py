"""Cards for declared fields, such as the number of responses from each campaign. Only staff see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from communities.ground.words import plural
from surveys.drawing.figures.charts import Entry, base_of, weighted, with_shares
from surveys.drawing.figures.scores import ScoreCard, bar_of, compare, table_of_results
from surveys.drawing.figures.segments import legend_of
from surveys.engine.statistics import percentage
from surveys.services.results.figures import Figures

NOBODY = "Nobody has answered yet."
NOBODY_SELECTED = "No responses match these filters."


def field_cards(counted: Figures, *, is_filtered: bool) -> list[ScoreCard]:
    """A card for each declared field. The field that segments the figures is not compared with itself."""
    legend = legend_of(counted.segments or ())
    divided_by = counted.segment_by and counted.segment_by["field"]
    cards = []
    for each in counted.fields:
        entry = _with_others(each)
        card = ScoreCard(
            f"field-{each['name']}",
            "Field",
            each["name"],
            f"{plural(each['count'], 'response')}{weighted(each)}",
        )
        if not each["count"]:
            cards.append(replace(card, notice=NOBODY_SELECTED if is_filtered else NOBODY))
            continue
        bars = with_shares([bar_of(part) for part in entry["distribution"]])
        is_compared = legend and divided_by != each["name"]
        cards.append(
            replace(
                card,
                bars=bars,
                table=table_of_results(bars, "Value"),
                comparison=compare(entry, legend) if is_compared else None,
            )
        )
    return cards


def _with_others(field: Entry) -> dict[str, Any]:
    """The figures in the format of texts: labels are values, and the last entry sums the values that are not
    listed.
    """
    others = ""
    if field["other_values"]:
        others = f"{field['other_values']:,} other{'' if field['other_values'] == 1 else 's'}"
    return {
        **_as_texts(field, others),
        "is_text": True,
        "segments": [_as_texts(each, others) for each in field.get("segments", ())],
    }


def _as_texts(part: Mapping[str, Any], others: str) -> dict[str, Any]:
    entries = [{**each, "value": each["label"] or each["value"]} for each in part["distribution"]]
    if others:
        count, of = part["other_count"], base_of(part)
        entries.append({"value": others, "count": count, "percentage": percentage(count, of)})
    return {**part, "distribution": entries}
