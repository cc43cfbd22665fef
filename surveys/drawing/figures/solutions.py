"""Marks the correct answers on the cards of a quiz, only for readers who may know them."""

from __future__ import annotations

from dataclasses import replace

from communities.ground.words import amount, percents
from surveys.drawing.figures.charts import Card, Entry, Fact, bars_of, table_of
from surveys.engine.script import SCALES, Block
from surveys.engine.walk.answers import is_graded


def with_solution(card: Card, entry: Entry, block: Block, *, exact: int | None = None) -> Card:
    """Return the card of a question with its correct options marked, and how many people were right.

    `exact` is how many chose exactly the correct options of a question with several choices. Without it such
    a question only gets the marks, because the figures do not show that.
    """
    table = card.table
    if table is None or not is_graded(block) or block.type != entry["block_type"]:
        return card
    right = [option for option in block.options if option.id in (block.correct_answer_ids or ())]
    if block.type in SCALES:
        values = {option.value for option in right}
        marks = [each["value"] in values for each in entry["distribution"]]
    else:
        ids = {option.id for option in right}
        marks = [option.id in ids for option in block.options]
    bars = bars_of(entry, block)
    marks += [False] * (len(bars) - len(marks))  # removed options
    marked = [replace(bar, is_right=is_right) for bar, is_right in zip(bars, marks, strict=True)]
    texts = ", ".join(bar.text for bar in marked if bar.is_right)
    count = exact if block.type == "multi_punch" else sum(bar.count for bar in marked if bar.is_right)
    if count is not None and right:
        all_answers = entry["response_count"] if exact is not None else sum(bar.count for bar in marked)
        others = max(all_answers - count, 0)
        share, _ = percents([count, others])
        card = replace(card, facts=[Fact("Right answers", f"{share} ({amount(count)})"), *card.facts])
    if card.bars:
        card = replace(card, bars=marked)
    if card.columns:
        columns = [
            replace(column, is_right=is_right) for column, is_right in zip(card.columns, marks, strict=True)
        ]
        card = replace(card, columns=columns, description=f"{card.description} Right: {texts}.")
    return replace(card, table=table_of(marked, table.head[0]))
