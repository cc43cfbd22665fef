"""The correct answer of a block: three ways to send it are converted to one, the option's id or its index."""

from __future__ import annotations

from dataclasses import replace

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.script import Block, Option, Violation


def resolve(values: dict[str, object], block_path: BlockPath) -> list[Violation]:
    """Convert `correct_answer_ids`, `correct_answer_id` and `correct_answer_index` to ids and an index
    (rules 3.24 and 3.25).

    Changes `values`: `correct_answer_ids` becomes a tuple if the option has an id, and `correct_answer_index`
    the option's index in display order. A submitted index refers to the submitted array, and is ignored if
    ids are sent too (rule 3.26). So clients may send a block back with its options in another order.
    `correct_answer_id` and `correct_answer_ids` must name the same option.
    """
    options: tuple[Option, ...] = values.get("options", ())  # type: ignore[assignment]
    plural: list[int] = values.pop("correct_answer_ids", None) or []  # type: ignore[assignment]
    singular: int | None = values.pop("correct_answer_id", None)  # type: ignore[assignment]
    index: int | None = values.pop("correct_answer_index", None)  # type: ignore[assignment]
    if plural or singular is not None:
        return _by_id(values, options, plural, singular, block_path)
    if index is None:
        return []
    if index not in block_path.options:
        message = "`correct_answer_index` must be the index of one of the options sent with it."
        return [Violation(block_path.field("correct_answer_index"), "too_large", message)]
    position = block_path.options.index(index)
    values["correct_answer_index"] = position
    if (option_id := options[position].id) is not None:
        values["correct_answer_ids"] = (option_id,)
    return []


def _by_id(
    values: dict[str, object],
    options: tuple[Option, ...],
    plural: list[int],
    singular: int | None,
    block_path: BlockPath,
) -> list[Violation]:
    violations = []
    if plural and singular is not None and plural != [singular]:
        message = "`correct_answer_id` and `correct_answer_ids` name different options."
        violations.append(Violation(block_path.field("correct_answer_id"), "conflicting", message))
    ids = tuple(plural) or (singular,)
    values["correct_answer_ids"] = ids
    position = next((n for n, option in enumerate(options) if option.id == ids[0]), None)
    if position is not None:
        values["correct_answer_index"] = position
        return violations
    key = "correct_answer_ids[0]" if plural else "correct_answer_id"
    message = f"`{key}` must be the id of one of the options sent with it."
    if not any(option.id for option in options):
        message += " Before they have ids, `correct_answer_index` names one."
    return [*violations, Violation(block_path.field(key), "not_found", message)]


def with_ids(block: Block) -> Block:
    """The block after its options have received ids: the index from its first write is replaced by an id."""
    if block.correct_answer_ids or block.correct_answer_index is None:
        return block
    option_id = block.options[block.correct_answer_index].id
    return block if option_id is None else replace(block, correct_answer_ids=(option_id,))
