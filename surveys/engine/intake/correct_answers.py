"""The correct answers of a block: the ways to send them are converted to ids, or to indexes before there are
ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.script import Block, Option, Violation


def resolve(values: dict[str, object], block_path: BlockPath) -> list[Violation]:
    """Convert what names the correct options to ids and indexes (rules 3.24, 3.25 and 3.150).

    Changes `values`: `correct_answer_ids` becomes a tuple in display order if the options have ids, and
    `correct_answer_index` the first one's index in display order, beside `correct_answer_indexes` if there
    are several. Submitted indexes refer to the submitted array, and are ignored if ids are sent too
    (rule 3.26). So clients may send a block back with its options in another order.
    """
    options: tuple[Option, ...] = values.get("options", ())  # type: ignore[assignment]
    ids: list[int] = values.pop("correct_answer_ids", None) or []  # type: ignore[assignment]
    singular: int | None = values.pop("correct_answer_id", None)  # type: ignore[assignment]
    index: int | None = values.pop("correct_answer_index", None)  # type: ignore[assignment]
    indexes: list[int] = values.pop("correct_answer_indexes", None) or []  # type: ignore[assignment]
    if ids or singular is not None:
        return _by_id(values, options, ids, singular, block_path)
    if indexes or index is not None:
        return _by_index(values, options, indexes, index, block_path)
    return []


def _by_index(
    values: dict[str, object],
    options: tuple[Option, ...],
    plural: list[int],
    singular: int | None,
    block_path: BlockPath,
) -> list[Violation]:
    key = "correct_answer_indexes" if plural else "correct_answer_index"
    indexes = plural or [singular or 0]
    paths = [f"{key}[{n}]" for n in range(len(plural))] or [key]
    violations = _repeated(indexes, paths, block_path)
    if plural and singular is not None and singular not in plural:
        message = "`correct_answer_index` and `correct_answer_indexes` name different options."
        violations.append(Violation(block_path.field("correct_answer_index"), "conflicting", message))
    for path, each in zip(paths, indexes, strict=True):
        if each not in block_path.options:
            message = f"`{path}` must be the index of one of the options sent with it."
            violations.append(Violation(block_path.field(path), "too_large", message))
    places = [place for place, sent in enumerate(block_path.options) if sent in indexes]
    if not violations:
        _set_places(values, places)
        ids = [options[place].id for place in places]
        if None not in ids:
            values["correct_answer_ids"] = tuple(ids)
    return violations


def _by_id(
    values: dict[str, object],
    options: tuple[Option, ...],
    plural: list[int],
    singular: int | None,
    block_path: BlockPath,
) -> list[Violation]:
    ids = plural or [singular or 0]
    paths = [f"correct_answer_ids[{n}]" for n in range(len(plural))] or ["correct_answer_id"]
    violations = _repeated(ids, paths, block_path)
    if plural and singular is not None and plural != [singular]:
        message = "`correct_answer_id` and `correct_answer_ids` name different options."
        violations.append(Violation(block_path.field("correct_answer_id"), "conflicting", message))
    known = {option.id for option in options if option.id is not None}
    for path, each in zip(paths, ids, strict=True):
        if each not in known:
            message = f"`{path}` must be the id of one of the options sent with it."
            if not known:
                message += (
                    " Before they have ids, `correct_answer_index` or `correct_answer_indexes` names them."
                )
            violations.append(Violation(block_path.field(path), "not_found", message))
    places = [place for place, option in enumerate(options) if option.id is not None and option.id in ids]
    values["correct_answer_ids"] = tuple(options[place].id for place in places) or tuple(ids)
    if places:
        _set_places(values, places)
    return violations


def _repeated(named: Sequence[object], paths: Sequence[str], block_path: BlockPath) -> list[Violation]:
    return [
        Violation(block_path.field(path), "duplicate", f"`{path}` names an option that is named before it.")
        for n, path in enumerate(paths)
        if named[n] in named[:n]
    ]


def _set_places(values: dict[str, object], places: Sequence[int]) -> None:
    values["correct_answer_index"] = places[0]
    if len(places) > 1:
        values["correct_answer_indexes"] = tuple(places)


def with_ids(block: Block) -> Block:
    """The block after its options have received ids: indexes from its first write are replaced by ids."""
    if block.correct_answer_ids:
        return block
    ids = [option_id for place in block.correct_places if (option_id := block.options[place].id) is not None]
    return replace(block, correct_answer_ids=tuple(ids)) if ids else block
