"""Marks the correct answers on the cards of a quiz, only for readers who may know them."""

from __future__ import annotations

from dataclasses import replace

from communities.ground.words import percents
from surveys.drawing.figures.charts import Card, Entry, Fact, bars_of, table_of
from surveys.engine.script import SCALES, Block
from surveys.engine.walk.answers import is_graded


def with_solution(card: Card, entry: Entry, block: Block) -> Card:
    """Return the card of a question with its correct options marked, and how many people were right.

    A question with several choices only gets the marks: the figures do not show who chose exactly the correct
    options.
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
    if block.type != "multi_punch" and right:
        count = sum(bar.count for bar in marked if bar.is_right)
        others = sum(bar.count for bar in marked) - count
        share, _ = percents([count, others])
        card = replace(card, facts=[Fact("Right answers", f"{share} ({count:,})"), *card.facts])
    if card.bars:
        card = replace(card, bars=marked)
    if card.columns:
        columns = [
            replace(column, is_right=is_right) for column, is_right in zip(card.columns, marks, strict=True)
        ]
        card = replace(card, columns=columns, description=f"{card.description} Right: {texts}.")
    return replace(card, table=table_of(marked, table.head[0]))
