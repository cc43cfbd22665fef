"""One version of a script against the next: what a rename carries along, what may not go or change.

    blocks      = carry_renames(before, arrangement.blocks)      # before `rules.check`, on idle projects
    blocks      = keep_scores(before, blocks)                    # while scoring is off
    blocks      = carry_ignored_scores(before, blocks, given=...)
    violations += renames_at_fault(before, after, places=...)    # 400
    violations += removed_in_use(before, after, places=...)      # 400
    frozen      = frozen_changes(before, after, places=...)      # 409 while the project is active
    outro       = with_presentation(stored, sent, given=...)     # all that a resubmitted outro block may say

Blocks and options are the same where their ids are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import fields, replace
from decimal import Decimal

from surveys.engine.intake.field_paths import BlockPath, is_invalid
from surveys.engine.intake.fields import MAX_PROMPT
from surveys.engine.language import conditions, expressions, formulas, names, piping, references
from surveys.engine.script import ActionConfig, Block, Continue, Option, Scale, Script, Violation, title_case

_TEXTS_WITH_TOKENS = ("prompt", "when_correct", "when_incorrect")

# What may change while a project is active (decisions 5 and 14.14). All else is structure.
_WORDING = frozenset(
    {"prompt", "image_url", "thumbnail_url", "color", "when_correct", "when_incorrect", "continue_"}
)
_OPTION_WORDING = frozenset({"label", "emoji"})
# Told by other fields: the order and the ids by the whole, the condition by what it compiles to, the index
# by the id, and a scale in its own way.
_TOLD_OTHERWISE = frozenset(
    {"id", "options", "position", "section", "show_when", "hide_when", "correct_answer_index", "scale"}
)
_NOT_SENT = frozenset({"scores_ignored"})
_FROZEN = tuple(
    each.name for each in fields(Block) if each.name not in _WORDING | _TOLD_OTHERWISE | _NOT_SENT
)
_OPTION_FROZEN = tuple(
    each.name for each in fields(Option) if each.name not in _OPTION_WORDING | {"id", "display_order"}
)


# --- Renaming -------------------------------------------------------------------------------------


def renames(before: Script, after: Sequence[Block]) -> dict[str, str]:
    """Old title → new name, of every block that has another name now (decisions 6.13)."""
    titles = {block.id: block.title for block in before.blocks if block.name}
    return {
        titles[block.id]: block.name
        for block in after
        if block.id in titles and block.name and titles[block.id] != block.title
    }


def carry_renames(before: Script, after: Sequence[Block]) -> tuple[Block, ...]:
    """`after` with references to renamed blocks rewritten, in texts that this write did not change.

    A reference that cannot be rewritten (the new name has no form in an expression) stays, and is
    told as unknown by the rules.
    """
    renamed = renames(before, after)
    if not renamed:
        return tuple(after)
    stored = {block.id: block for block in (*before.blocks, *before.outro) if block.id is not None}
    variables = references.variables(before)
    return tuple(
        _carried(block, stored[block.id], renamed, variables) if block.id in stored else block
        for block in after
    )


def _carried(block: Block, was: Block, renamed: Mapping[str, str], variables: Collection[str]) -> Block:
    changes: dict[str, object] = {}
    for key in _TEXTS_WITH_TOKENS:
        text = getattr(block, key)
        if text and text == getattr(was, key):
            changes[key] = piping.rename(text, renamed, variables=variables)
    formula = block.calculated_formula
    if formula and formula == was.calculated_formula:
        changes["calculated_formula"] = _renamed_formula(formula, renamed, variables)
    for key in ("show_when", "hide_when"):
        condition = getattr(block, key)
        if condition is not None and condition == getattr(was, key):
            condition = _renamed_condition(condition, renamed, variables)
            try:
                changes["precondition"] = conditions.compile(condition, hide=key == "hide_when")
            except conditions.ConditionError:
                continue
            changes[key] = condition
    raw = block.show_when is None and block.hide_when is None
    if raw and block.precondition and block.precondition == was.precondition:
        with suppress(expressions.ParseError):
            changes["precondition"] = expressions.rename(block.precondition, renamed, variables=variables)
    return replace(block, **changes) if changes else block  # type: ignore[arg-type]


def _renamed_formula(text: str, renamed: Mapping[str, str], variables: Collection[str]) -> str:
    """A formula with its references rewritten. Brackets within its texts are none, and stay."""
    pieces: list[str] = []
    at = 0
    for mention in _mentioned_in_formula(text):
        new = renamed.get(title_case(mention.name))
        if new is None or names.is_position(mention.name) or mention.name in variables:
            continue
        start = mention.column - 1
        pieces += [text[at:start], f"[{piping.token_form(new)}]"]
        at = text.index("]", start) + 1
    return "".join([*pieces, text[at:]])


def _mentioned_in_formula(text: str) -> Sequence[formulas.Mention]:
    try:
        return formulas.parse(text).mentions
    except formulas.ParseError:  # the rules tell of it
        return ()


def _renamed_condition(
    condition: Mapping[str, object], renamed: Mapping[str, str], variables: Collection[str]
) -> dict[str, object]:
    changed = dict(condition)
    for key in ("all", "any"):
        parts = condition.get(key)
        if isinstance(parts, list):
            changed[key] = [_renamed_condition(part, renamed, variables) for part in parts]
    block, variable = condition.get("block"), condition.get("variable")
    if isinstance(block, str):
        changed["block"] = renamed.get(title_case(block), block)
    if isinstance(variable, str) and variable not in variables and not names.is_position(variable):
        new = renamed.get(title_case(variable))
        if new is not None:
            changed["variable"] = names.expression_form(new)
    return changed


def rename_violations(
    before: Script, after: Script, *, places: Sequence[BlockPath], faulty: Set[str] = frozenset()
) -> Iterator[Violation]:
    """New names that tokens cannot write, and texts that a carried rename has made too long.

    `places` are those of the outro too; nothing is said of fields that are `faulty` already.
    """
    renamed = renames(before, after.blocks)
    for block, place in zip((*after.blocks, *after.outro), places, strict=True):
        if block.name and block.name in renamed.values() and piping.is_prompt_variable(block.name):
            message = f"`name` cannot become {block.name}, as tokens of that name are a variable's."
            yield Violation(place.at("name"), "not_allowed", message)
        for key in _TEXTS_WITH_TOKENS:
            length = len(getattr(block, key) or "")
            if renamed and length > MAX_PROMPT and not is_invalid(place.at(key), faulty):
                message = (
                    f"`{key}` of the block {block.name} would have {length:,} characters with the new names "
                    f"in it, and must have at most {MAX_PROMPT:,}."
                )
                yield Violation(place.at(key), "too_long", message)


# --- Scores that count for nothing -----------------------------------------------------------------


def keep_stored_scores(before: Script, after: Sequence[Block]) -> tuple[Block, ...]:
    """While scoring is off, points that are sent are ignored: those stored earlier stay for its return.

    That some were ignored is not said of a block whose options were sent with those that stay.
    """
    stored = {option.id: option.score_values for block in before.blocks for option in block.options}
    return tuple(
        replace(
            block,
            scores_ignored=block.scores_ignored and not _as_stored(block, stored),
            options=tuple(replace(option, score_values=stored.get(option.id)) for option in block.options),
        )
        for block in after
    )


def _as_stored(block: Block, stored: Mapping[int | None, Mapping[str, Decimal] | None]) -> bool:
    sent = [option for option in block.options if option.score_values]
    return bool(sent) and all(option.score_values == stored.get(option.id) for option in sent)


def carry_ignored_scores(
    before: Script, after: Sequence[Block], *, given: Sequence[Collection[str]]
) -> tuple[Block, ...]:
    """`after` with what is known of points that were ignored earlier, until some are sent that count.

    `{}` counts as well: whoever sends it wants none. What was read and is sent back says nothing of them.
    """
    stored = {block.id for block in before.blocks if block.scores_ignored}
    return tuple(
        replace(block, scores_ignored=True)
        if block.id in stored and not (before.scoring_enabled and "options" in sent and _has_points(block))
        else block
        for block, sent in zip(after, given, strict=True)
    )


def _has_points(block: Block) -> bool:
    return any(option.score_values is not None for option in block.options)


# --- Removing -------------------------------------------------------------------------------------


def references_to_removed(before: Script, after: Script, *, places: Sequence[BlockPath]) -> list[Violation]:
    """What still refers to a block that `after` no longer has, told where it is written: in the outro too,
    whose `places` come after the others.

    A name that another block has taken over refers to that one. A position counts where the text is
    as it was, and an older block has moved into the place of the removed one, or none has.
    """
    kept = {block.id for block in after.blocks}
    removed = {n: block for n, block in enumerate(before.blocks) if block.id not in kept}
    if not removed:
        return []
    return [
        violation
        for block, place in zip((*after.blocks, *after.outro), places, strict=True)
        for violation in _still_referring(block, place, removed, before, after)
    ]


def without_reported(found: Sequence[Violation], in_use: Sequence[Violation]) -> list[Violation]:
    """`found` without the references that are unknown because their block is removed: told by `in_use`."""
    told = frozenset(violation.field for violation in in_use)
    return [
        violation
        for violation in found
        if violation.code != "unknown_reference" or not is_invalid(violation.field, told)
    ]


def _still_referring(
    block: Block, place: BlockPath, removed: Mapping[int, Block], before: Script, after: Script
) -> Iterator[Violation]:
    was = next((each for each in (*before.blocks, *before.outro) if each.id == block.id), None)
    for key, mentioned in _mentions(block):
        attribute = "precondition" if key in ("show_when", "hide_when") else key
        unchanged = was is not None and getattr(was, attribute) == getattr(block, attribute)
        for name in mentioned:
            meant = references.resolve(name, before)
            if not isinstance(meant, int) or meant not in removed:
                continue
            now = references.resolve(name, after)
            if names.is_position(name):
                in_its_place = after.blocks[now] if isinstance(now, int) else None
                dangling = unchanged and (in_its_place is None or in_its_place.id is not None)
            else:
                dangling = now is None
            if dangling:
                message = (
                    f"`{key}` of the block {block.name} refers to the block {removed[meant].name}, "
                    "which cannot be removed before that is changed."
                )
                yield Violation(place.at(key), "in_use", message)
                break


def _mentions(block: Block) -> Iterator[tuple[str, Sequence[str]]]:
    if block.precondition:
        key = "show_when" if block.show_when else "hide_when" if block.hide_when else "precondition"
        with suppress(expressions.ParseError):  # the rules tell of it
            yield key, [mention.name for mention in expressions.parse(block.precondition).mentions]
    for key in _TEXTS_WITH_TOKENS:
        text = getattr(block, key)
        if text and "[" in text:
            yield key, piping.tokens(text)
    if block.calculated_formula:
        mentions = _mentioned_in_formula(block.calculated_formula)
        yield "calculated_formula", [mention.name for mention in mentions]


# --- Changing while active ------------------------------------------------------------------------


def frozen_changes(
    before: Script, after: Script, *, places: Sequence[BlockPath], path: str = "blocks"
) -> list[Violation]:
    """What of the change from `before` to `after` is structure, and so waits until the project is closed."""
    found: list[Violation] = []
    stored = {block.id: block for block in before.blocks if block.id is not None}
    for block, place in zip(after.blocks, places, strict=True):
        was = None if block.id is None else stored.pop(block.id, None)
        if was is None:
            found.append(_frozen(place.path or path, "a block cannot be added"))
        else:
            found += _block_changes(was, block, place, scoring=before.scoring_enabled)
    for was in stored.values():
        found.append(_frozen(path, f"the block {was.name} cannot be removed"))
    if not found and [block.id for block in before.blocks] != [block.id for block in after.blocks]:
        found.append(_frozen(path, "blocks cannot be reordered"))
    return found


def _block_changes(was: Block, block: Block, place: BlockPath, *, scoring: bool) -> Iterator[Violation]:
    for attribute in _FROZEN:
        if not _same(getattr(was, attribute), getattr(block, attribute)):
            key = attribute
            if key == "precondition":
                key = "show_when" if block.show_when else "hide_when" if block.hide_when else key
            yield _frozen(place.at(key), f"`{key}` cannot change")
    if was.section != block.section:
        yield _frozen(place.at("section"), "`section` cannot change")
    if (was.scale or Scale()).icon != (block.scale or Scale()).icon:
        yield _frozen(place.at("scale.icon"), "`icon` cannot change")
    if [option.id for option in was.options] != [option.id for option in block.options]:
        yield _frozen(place.at("options"), "options cannot be added, removed or reordered")
        return
    for n, (old, new) in enumerate(zip(was.options, block.options, strict=True)):
        for key in _OPTION_FROZEN:
            if key == "score_values" and not scoring:
                continue
            if not _same(getattr(old, key), getattr(new, key)):
                yield _frozen(place.option(n, key), f"`{key}` cannot change")


def _same(old: object, new: object) -> bool:
    """Equal, null and false and empty being one. (Zero is a number, and not among them.)"""
    return old == new or (_says_nothing(old) and _says_nothing(new))


def _says_nothing(value: object) -> bool:
    return value is None or value is False or value in ((), ActionConfig()) or value == {}


def _frozen(path: str, what: str) -> Violation:
    return Violation(path, "read_only", f"{what[0].upper()}{what[1:]} while the project is active.")


# --- Outro blocks ---------------------------------------------------------------------------------


def with_presentation(stored: Block, sent: Block, *, given: Collection[str]) -> Block:
    """An outro block with the presentation it was resubmitted with: prompt, pictures and pause.

    Everything else of it is read-only and passed over (interface 2.4). `given` are the keys sent.
    """
    changes: dict[str, object] = {
        key: getattr(sent, key) for key in ("prompt", "image_url", "thumbnail_url") if key in given
    }
    if "continue" in given and sent.continue_ is not None:
        if stored.continue_ is None:
            changes["continue_"] = sent.continue_
        else:
            changes["continue_"] = Continue(
                after=stored.continue_.after,
                pause=sent.continue_.pause or stored.continue_.pause,
                label=stored.continue_.label,
            )
    return replace(stored, **changes)  # type: ignore[arg-type]
