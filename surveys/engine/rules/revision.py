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

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal

from surveys.engine.intake.field_paths import BlockPath, is_invalid
from surveys.engine.language import names, references
from surveys.engine.rules import block_words
from surveys.engine.script import (
    PRESENTATION,
    WITH_ITEMS,
    ActionConfig,
    Block,
    Continue,
    Option,
    Scale,
    Script,
    Violation,
)

# The fields that may change while a project is active (rules 2.10 and 2.11). All other fields are structure.
_WORDING = frozenset(
    {*PRESENTATION, "video_url", "group", "color", "when_correct", "when_incorrect", "continue_"}
)
_OPTION_WORDING = frozenset({"label", "emoji", "image_url", "image_alt"})
# These are compared in another way: order and ids over the whole script, a condition by its compiled
# precondition, the indexes of correct answers by their ids, a scale by its icon, `required` by its direction.
_COMPARED_ELSEWHERE = frozenset(
    {"id", "options", "position", "section", "show_when", "hide_when", "scale", "required"}
    | {"correct_answer_index", "correct_answer_indexes"}
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
    before: Script,
    after: Script,
    *,
    block_paths: Sequence[BlockPath],
    reached: Callable[[Collection[int]], Collection[int]] = frozenset,
) -> list[Violation]:
    """Report changes that are refused while the project is active (rules 2.10 to 2.12).

    `reached` returns which of these blocks a respondent has seen, by id. It is called only if blocks have
    changed their order; without it, every block counts as seen.
    """
    violations: list[Violation] = []
    stored = {block.id: block for block in before.blocks if block.id is not None}
    for block, block_path in zip(after.blocks, block_paths, strict=False):
        was = None if block.id is None else stored.pop(block.id, None)
        if was is not None:
            violations += _block_changes(was, block, block_path, scoring=before.scoring_enabled)
    for number, was in enumerate(before.blocks, 1):
        if was.id in stored:
            message = "No block can be removed while the project is active. "
            message += f"Missing: {block_words.in_words(was, number)}."
            violations.append(Violation("blocks", "read_only", message))
    if not violations:
        violations += _seen_and_moved(before, after, reached)
        violations += _positions_of_moved(before, after, block_paths)
    return violations


def changes_wording_alone(before: Script, after: Script, *, block_paths: Sequence[BlockPath]) -> bool:
    """Whether the two scripts have the same structure (rule 2.11)."""
    structures = [
        [(block.id, bool(block.required), [option.id for option in block.options]) for block in script.blocks]
        for script in (before, after)
    ]
    return structures[0] == structures[1] and not frozen_changes(before, after, block_paths=block_paths)


def _seen_and_moved(
    before: Script, after: Script, reached: Callable[[Collection[int]], Collection[int]]
) -> Iterator[Violation]:
    """Report stored blocks that changed their order although a respondent has seen them."""
    old = [block.id for block in before.blocks if block.id is not None]
    sent = (block.id for block in after.blocks if block.id in before.index_by_id and block.id is not None)
    new = list(dict.fromkeys(sent))  # an id that is sent twice is refused anyway
    places = [n for n, (was, now) in enumerate(zip(old, new, strict=True)) if was != now]
    if not places:
        return
    moved = old[places[0] : places[-1] + 1]
    seen = set(reached(moved)) & set(moved)
    if seen:
        number = before.index_by_id[min(seen, key=moved.index)] + 1
        message = (
            "Blocks that respondents have seen cannot be reordered while the project is active: "
            f"{block_words.in_words(before.blocks[number - 1], number)}."
        )
        yield Violation("blocks", "read_only", message)


def _positions_of_moved(
    before: Script, after: Script, block_paths: Sequence[BlockPath]
) -> Iterator[Violation]:
    """Report unchanged texts in which a position refers to a block that is at another position now."""
    stored = {block.id: block for block in (*before.blocks, *before.outro) if block.id is not None}
    walked = zip((*after.blocks, *after.outro), block_paths, strict=False)
    for number, (block, block_path) in enumerate(walked, 1):
        was = stored.get(block.id) if block.id is not None else None
        for key, mentions in references.mentions(block) if was else ():
            attribute = "precondition" if key in ("show_when", "hide_when") else key
            if getattr(was, attribute) != getattr(block, attribute):
                continue
            for name in (mention.name for mention in mentions if names.is_position(mention.name)):
                at = references.resolve(name, before)
                moved = isinstance(at, int) and after.index_by_id.get(before.blocks[at].id or 0) != at
                if moved:
                    message = (
                        f"In {block_words.in_words(block, number)}, `{key}` refers to a block by its "
                        f"position {name}, and another block would be there. Use the name of the block first."
                    )
                    yield Violation(block_path.field(key), "read_only", message)
                    break


def _block_changes(was: Block, block: Block, block_path: BlockPath, *, scoring: bool) -> Iterator[Violation]:
    for attribute in _FROZEN:
        if not _same(_compared(was, attribute), _compared(block, attribute)):
            key = attribute
            if key == "precondition":
                key = references.condition_key(block)
            yield _frozen(block_path.field(key), f"`{key}` cannot change")
    if was.section != block.section:
        yield _frozen(block_path.field("section"), "`section` cannot change")
    if (was.scale or Scale()).icon != (block.scale or Scale()).icon:
        yield _frozen(block_path.field("scale.icon"), "`icon` cannot change")
    if block.required and not was.required:
        yield _frozen(block_path.field("required"), "`required` cannot be switched on")
    yield from _option_changes(was, block, block_path, scoring=scoring)


def _option_changes(was: Block, block: Block, block_path: BlockPath, *, scoring: bool) -> Iterator[Violation]:
    kept = [option.id for option in block.options if option.id is not None]
    if block.type not in WITH_ITEMS and [option.id for option in was.options] != [
        option.id for option in block.options
    ]:
        yield _frozen(block_path.field("options"), "options of a scale cannot be added, removed or reordered")
        return
    if any(option.id not in kept for option in was.options):
        yield _frozen(block_path.field("options"), "options cannot be removed")
        return
    for n, new in enumerate(block.options):
        if new.id is None:
            continue
        old = was.option_by_id[new.id]
        for key in _OPTION_FROZEN:
            if key == "score_values" and not scoring:
                continue
            if not _same(getattr(old, key), getattr(new, key)):
                yield _frozen(block_path.option(n, key), f"`{key}` cannot change")


def _compared(block: Block, attribute: str) -> object:
    """The value of a field; correct answers in any order, because they follow the order of the options."""
    value = getattr(block, attribute)
    return frozenset(value) if attribute == "correct_answer_ids" and value else value


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
