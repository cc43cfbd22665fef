"""The long form of a table of responses: a row for each answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from surveys.engine.language import markup
from surveys.engine.language.piping import Authored
from surveys.engine.script import NUMBERS
from surveys.models import Project
from surveys.services.exports.cells import (
    FIXED_COLUMNS,
    Cell,
    CellStyle,
    FileOptions,
    Kind,
    NumberText,
    ResponseTable,
    TableColumn,
    fixed_cells,
    number,
    shortened,
)
from surveys.services.exports.columns import MAX_PART, option_texts, with_removed_options
from surveys.services.exports.table import ANSWERS, FOLLOW_UPS, OTHER
from surveys.services.representations.response import read_part
from surveys.services.scripts import cache as script_cache

_COLUMNS = (
    TableColumn("block_id", Kind.INTEGER),
    TableColumn("block"),
    TableColumn("prompt"),
    TableColumn("item"),
    TableColumn("value"),
    TableColumn("number", Kind.NUMBER),
)
_CODE = TableColumn("code", Kind.INTEGER)


def answer_table(project: Project, options: FileOptions, style: CellStyle) -> ResponseTable:
    """One row for each answer: for each chosen option of a multi punch, and for each ranked item of a
    ranking.

    `value` is the label of an option (with `own_values` its value), the number, the text, or the rank of
    `item`. A further question about an answer is the `item` of a row of its own, and so is the option for
    which a text was written. With `codes` there is also the code of the option.
    """
    cached, codes = script_cache.of(project), options.codes
    catalogue, stored = cached.catalogue, cached.stored
    blocks = {block_id: with_removed_options(block, stored) for block_id, block in catalogue.blocks.items()}
    of_block: dict[int, list[Cell]] = {}
    for block_id, block in blocks.items():
        # The prompt is repeated for each of 100 chosen options of a block
        prompt = shortened(markup.plain(Authored(block.prompt)), MAX_PART)
        of_block[block_id] = [NumberText(block_id), style.text(block.name or ""), style.text(prompt)]
    texts_of = option_texts(catalogue, own_values=options.own_values)
    labels = {option_id: style.text(label) for option_id, label in texts_of.items()}
    code_of = {option.id: NumberText(option.code) for block in blocks.values() for option in block.options}
    rank, none = catalogue.rank, [None, None] if codes else [None]

    def answer_cells(block_id: int, option_id: int | None, text: str) -> list[Cell]:
        block = blocks[block_id]
        label: Cell = None if option_id is None else labels.get(option_id)
        item: Cell = None
        if block.type == "ranking":
            item, label = label, None
        read = number(text, style) if block.type in NUMBERS or item is not None else None
        value = label or read or style.text(text)
        as_number = read if isinstance(read, NumberText) else None
        code = [code_of.get(option_id)] if codes else []
        return [*of_block[block_id], item, value, as_number, *code]

    def rows(row: Sequence[Any]) -> Iterator[Sequence[Cell]]:
        first = fixed_cells(row, project.is_anonymous, style)
        asked, written = read_part(row[FOLLOW_UPS]) or {}, read_part(row[OTHER]) or {}
        blocks_of_row, options, texts = (each or () for each in row[ANSWERS])
        answers = zip(blocks_of_row, options, texts, strict=True)
        for block_id, option_id, text in sorted(answers, key=lambda answer: rank.get(answer[0], len(rank))):
            if block_id in blocks:  # otherwise the block was added after the columns were determined
                yield [*first, *answer_cells(block_id, option_id, text)]
                own = written.get(str(block_id))
                if own is not None and own["option_id"] == option_id:
                    yield [*first, *of_block[block_id], labels.get(option_id), style.text(own["text"]), *none]
                for each in asked.get(str(block_id), ()):
                    said = None if each["answer"] is None else style.text(each["answer"])
                    question = style.text(each["question"])
                    yield [*first, *of_block[block_id], question, said, *none]

    return ResponseTable([*FIXED_COLUMNS, *_COLUMNS, *([_CODE] if codes else [])], rows)
