"""Compares two revisions of a script: values that are copied from the stored one, and changes that are
refused.

    blocks      = keep_stored_scores(before, blocks)                     # while scoring is off
    blocks      = carry_ignored_scores(before, blocks, sent_keys=...)
    violations += references_to_removed(before, after, block_paths=...)  # 400
    frozen      = frozen_changes(before, after, block_paths=...)         # 409 while the project is active
    outro       = with_presentation(stored, sent, sent_keys=...)         # the writable part of an outro block

Blocks and options are the same if they have the same ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal

from surveys.engine.intake.field_paths import BlockPath, is_invalid
from surveys.engine.language import names, references
from surveys.engine.rules import block_words
from surveys.engine.script import (
    PRESENTATION,
    ActionConfig,
    Block,
    Continue,
    Option,
    Scale,
    Script,
    Violation,
)

# The fields that may change while a project is active (rules 2.10 and 2.11). All other fields are structure.
_WORDING = frozenset({*PRESENTATION, "group", "color", "when_correct", "when_incorrect", "continue_"})
_OPTION_WORDING = frozenset({"label", "emoji"})
# These are compared in another way: order and ids over the whole script, a condition by its compiled
# precondition, the index of the correct answer by its id, and a scale by its icon.
_COMPARED_ELSEWHERE = frozenset(
    {"id", "options", "position", "section", "show_when", "hide_when", "correct_answer_index", "scale"}
)
_NOT_SENT = frozenset({"scores_ignored", "last_code", "code"})
_FROZEN = tuple(
    field.name for field in fields(Block) if field.name not in _WORDING | _COMPARED_ELSEWHERE | _NOT_SENT
)
_OPTION_FROZEN = tuple(
    field.name
    for field in fields(Option)
    if field.name not in _OPTION_WORDING | _NOT_SENT | {"id", "display_order"}
)


# --- Scores while scoring is off --------------------------------------------------------------------


def keep_stored_scores(before: Script, after: Sequence[Block]) -> tuple[Block, ...]:
    """While scoring is off, ignore the submitted points and keep the stored ones for later.

    A block is not marked as `scores_ignored` if the submitted points equal the stored ones.
    """
    stored = {option.id: option.score_values for block in before.blocks for option in block.options}
    return tuple(
        replace(
            block,
            scores_ignored=block.scores_ignored and not _equals_stored(block, stored),
            options=tuple(replace(option, score_values=stored.get(option.id)) for option in block.options),
        )
        if block.scores_ignored or any(each.score_values != stored.get(each.id) for each in block.options)
        else block
        for block in after
    )


def _equals_stored(block: Block, stored: Mapping[int | None, Mapping[str, Decimal] | None]) -> bool:
    sent = [option for option in block.options if option.score_values]
    return bool(sent) and all(option.score_values == stored.get(option.id) for option in sent)


def carry_ignored_scores(
    before: Script, after: Sequence[Block], *, sent_keys: Sequence[Collection[str]]
) -> tuple[Block, ...]:
    """Keep the mark `scores_ignored` of the stored blocks until points are sent while scoring is on.

    `score_values: {}` counts as sending points, namely none. Options sent without points, as reads return
    them, keep the mark.
    """
    stored = {block.id for block in before.blocks if block.scores_ignored}
    return tuple(
        replace(block, scores_ignored=True)
        if block.id in stored and not (before.scoring_enabled and "options" in sent and _has_points(block))
        else block
        for block, sent in zip(after, sent_keys, strict=True)
    )


def _has_points(block: Block) -> bool:
    return any(option.score_values is not None for option in block.options)


# --- Removing -------------------------------------------------------------------------------------


def references_to_removed(
    before: Script, after: Script, *, block_paths: Sequence[BlockPath]
) -> list[Violation]:
    """Report references to blocks that `after` no longer has, each at the field that contains it (rule 3.32).

    The outro is searched too; its `block_paths` follow the others. A name that another block has now refers
    to that block. A position is reported only in unchanged text, if no block or an existing block has moved
    to the position of the removed one.
    """
    remaining = {block.id for block in after.blocks}
    removed = {n: block for n, block in enumerate(before.blocks) if block.id not in remaining}
    if not removed:
        return []
    walked = zip((*after.blocks, *after.outro), block_paths, strict=True)
    return [
        violation
        for number, (block, block_path) in enumerate(walked, 1)
        for violation in _dangling(block, number, block_path, removed, before, after)
    ]


def without_reported(violations: Sequence[Violation], in_use: Sequence[Violation]) -> list[Violation]:
    """`violations` without unknown references to removed blocks, which `in_use` reports already."""
    reported = frozenset(violation.field for violation in in_use)
    return [
        violation
        for violation in violations
        if violation.code != "unknown_reference" or not is_invalid(violation.field, reported)
    ]


def _dangling(
    block: Block,
    number: int,
    block_path: BlockPath,
    removed: Mapping[int, Block],
    before: Script,
    after: Script,
) -> Iterator[Violation]:
    was = next((stored for stored in (*before.blocks, *before.outro) if stored.id == block.id), None)
    for key, mentions in references.mentions(block):
        attribute = "precondition" if key in ("show_when", "hide_when") else key
        is_unchanged = was is not None and getattr(was, attribute) == getattr(block, attribute)
        for name in (mention.name for mention in mentions):
            meaning = references.resolve(name, before)
            if not isinstance(meaning, int) or meaning not in removed:
                continue
            now = references.resolve(name, after)
            if names.is_position(name):
                successor = after.blocks[now] if isinstance(now, int) else None
                is_dangling = is_unchanged and (successor is None or successor.id is not None)
            else:
                is_dangling = now is None
            if is_dangling:
                gone = block_words.in_words(removed[meaning], meaning + 1)
                message = (
                    f"In {block_words.in_words(block, number)}, `{key}` refers to what was {gone}. That "
                    "block cannot be removed before this reference is."
                )
                yield Violation(block_path.field(key), "in_use", message)
                break


# --- Changing while active ------------------------------------------------------------------------


def frozen_changes(
    before: Script, after: Script, *, block_paths: Sequence[BlockPath], path: str = "blocks"
) -> list[Violation]:
    """Report structural changes, which are refused while the project is active (rule 2.12)."""
    violations: list[Violation] = []
    stored = {block.id: block for block in before.blocks if block.id is not None}
    for block, block_path in zip(after.blocks, block_paths, strict=True):
        was = None if block.id is None else stored.pop(block.id, None)
        if was is None:
            violations.append(_frozen(block_path.path or path, "a block cannot be added"))
        else:
            violations += _block_changes(was, block, block_path, scoring=before.scoring_enabled)
    for number, was in enumerate(before.blocks, 1):
        if was.id in stored:
            message = "No block can be removed while the project is active. "
            message += f"Missing: {block_words.in_words(was, number)}."
            violations.append(Violation(path, "read_only", message))
    if not violations and [block.id for block in before.blocks] != [block.id for block in after.blocks]:
        violations.append(_frozen(path, "blocks cannot be reordered"))
    return violations


def _block_changes(was: Block, block: Block, block_path: BlockPath, *, scoring: bool) -> Iterator[Violation]:
    for attribute in _FROZEN:
        if not _same(getattr(was, attribute), getattr(block, attribute)):
            key = attribute
            if key == "precondition":
                key = references.condition_key(block)
            yield _frozen(block_path.field(key), f"`{key}` cannot change")
    if was.section != block.section:
        yield _frozen(block_path.field("section"), "`section` cannot change")
    if (was.scale or Scale()).icon != (block.scale or Scale()).icon:
        yield _frozen(block_path.field("scale.icon"), "`icon` cannot change")
    if [option.id for option in was.options] != [option.id for option in block.options]:
        yield _frozen(block_path.field("options"), "options cannot be added, removed or reordered")
        return
    for n, (old, new) in enumerate(zip(was.options, block.options, strict=True)):
        for key in _OPTION_FROZEN:
            if key == "score_values" and not scoring:
                continue
            if not _same(getattr(old, key), getattr(new, key)):
                yield _frozen(block_path.option(n, key), f"`{key}` cannot change")


def _same(old: object, new: object) -> bool:
    """Whether two values are equal; null, false and empty are equal to each other, but not to zero."""
    return old == new or (_is_empty(old) and _is_empty(new))


def _is_empty(value: object) -> bool:
    return value is None or value is False or value in ((), ActionConfig()) or value == {}


def _frozen(path: str, what: str) -> Violation:
    return Violation(path, "read_only", f"{what[0].upper()}{what[1:]} while the project is active.")


# --- Outro blocks ---------------------------------------------------------------------------------


def with_presentation(stored: Block, sent: Block, *, sent_keys: Collection[str]) -> Block:
    """An outro block with the submitted values of its writable fields: its presentation and its pause.

    All other fields are read-only and ignored (rules 3.27 and 3.29). `sent_keys` are the keys that were sent.
    """
    changes: dict[str, object] = {key: getattr(sent, key) for key in PRESENTATION if key in sent_keys}
    if "continue" in sent_keys and sent.continue_ is not None:
        if stored.continue_ is None:
            changes["continue_"] = sent.continue_
        else:
            changes["continue_"] = Continue(
                after=stored.continue_.after,
                pause=sent.continue_.pause or stored.continue_.pause,
                label=stored.continue_.label,
            )
    return replace(stored, **changes)  # type: ignore[arg-type]
