"""Three ways to name a correct answer come to one: the option's id, or its index while it has none."""

from __future__ import annotations

from dataclasses import replace

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.script import Block, Option, Violation


def resolve(values: dict[str, object], block_path: BlockPath) -> list[Violation]:
    """Turn `correct_answer_ids`, `correct_answer_id` and `correct_answer_index` into ids and an index.

    `values` is changed: afterwards `correct_answer_ids` is a tuple where the option has an id already,
    and `correct_answer_index` is its position among the options in display order. An index that is sent
    counts in the array sent. Two of the three that name different options are told as conflicting.
    """
    options: tuple[Option, ...] = values.get("options", ())  # type: ignore[assignment]
    plural: list[int] = values.pop("correct_answer_ids", None) or []  # type: ignore[assignment]
    singular: int | None = values.pop("correct_answer_id", None)  # type: ignore[assignment]
    index: int | None = values.pop("correct_answer_index", None)  # type: ignore[assignment]
    faults = []

    ids = plural
    if singular is not None:
        if plural and plural != [singular]:
            message = "`correct_answer_id` and `correct_answer_ids` name different options."
            faults.append(Violation(block_path.field("correct_answer_id"), "conflicting", message))
        ids = plural or [singular]
    key = "correct_answer_ids[0]" if plural else "correct_answer_id"
    by_id = None
    if ids:
        values["correct_answer_ids"] = tuple(ids)
        by_id = next((n for n, option in enumerate(options) if option.id == ids[0]), None)
        if by_id is None:
            message = f"`{key}` must be the id of one of the options sent with it."
            if not any(option.id for option in options):
                message += " Before they have ids, `correct_answer_index` names one."
            faults.append(Violation(block_path.field(key), "not_found", message))

    if index is not None:
        by_index = block_path.options.index(index) if index in block_path.options else None
        if by_index is None:
            message = "`correct_answer_index` must be the index of one of the options sent with it."
            faults.append(Violation(block_path.field("correct_answer_index"), "too_large", message))
        elif not ids:
            by_id = by_index
            if (option_id := options[by_index].id) is not None:
                values["correct_answer_ids"] = (option_id,)
        elif by_id is not None and by_id != by_index:
            message = "`correct_answer_index` and `correct_answer_ids` name different options."
            faults.append(Violation(block_path.field("correct_answer_index"), "conflicting", message))
    if by_id is not None:
        values["correct_answer_index"] = by_id
    return faults


def with_ids(block: Block) -> Block:
    """The same block once its options have ids: an index from the first write has become an id."""
    if block.correct_answer_ids or block.correct_answer_index is None:
        return block
    option_id = block.options[block.correct_answer_index].id
    return block if option_id is None else replace(block, correct_answer_ids=(option_id,))
