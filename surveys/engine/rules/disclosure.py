"""Changes of a script by which their writer could learn who answered what (rules 1.90 and 1.152)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.language import references
from surveys.engine.language.lexer import Mention
from surveys.engine.rules import carrying
from surveys.engine.rules.dependence import Dependence, depends_on_answers
from surveys.engine.rules.script import FEEDBACK, VIDEO, has_token_in_link, leading_out
from surveys.engine.script import Block, Script, Violation

OWNERS = "Only owners of the project and admins write"
TOKEN_OF_READERS = f"{OWNERS} links with tokens in `{{key}}`: another site would learn who answers what."
LINK_OF_READERS = (
    f"{OWNERS} a link in `{{key}}` that depends on answers: another site would learn who answers what."
)
GIFT_OF_READERS = (
    f"{OWNERS} an action block that depends on answers: what it gives would tell others how somebody "
    "answered."
)
QUESTION_OF_GIFT = (
    "Only owners of the project and admins change `{key}` here: what an action block gives depends on it."
)
QUESTION_OF_END = (
    "Only owners of the project and admins change `{key}` here: whether a response counts, and what its end "
    "gives, depends on it."
)
LOGIC_OF_READERS = (
    f"{OWNERS} conditions and formulas on this project, and change what these refer to: figures over few "
    "people would tell single answers. Send `{key}` as it is."
)
_NamesOf = Callable[[Block], Sequence[Mention]]
_LOGIC_NAMES: Mapping[str, _NamesOf] = {
    "precondition": references.named_by_condition,
    "calculated_formula": references.named_by_formula,
}
_CARRIED = (*_LOGIC_NAMES, "show_when", "hide_when", *references.TEXTS_WITH_TOKENS)
# The fields that say what a question asks and counts; a gift can depend on these.
_ASKED = ("type", "prompt", "description", "options", "correct_answer_ids", "min", "max")


def revealing_changes(
    before: Script,
    after: Script,
    *,
    block_paths: Sequence[BlockPath],
    dependence_before: Dependence,
    dependence: Dependence,
) -> list[Violation]:
    """Changes by which their writer could learn who answered what: of conditions and formulas, of links that
    send answers, of links and action blocks that depend on answers, because others see XP, achievements and
    roles, and of the questions behind these.

    `dependence_before` and `dependence` are what the project's settings make depend on answers, by the script
    `before` and `after` the change.
    """
    kept = _kept(before, after)
    places_before = {block.id: at for at, block in enumerate((*before.blocks, *before.outro))}
    placed = list(zip((*after.blocks, *after.outro), block_paths, strict=False))
    found: dict[str, Violation] = {}
    for at, (block, block_path) in enumerate(placed):
        was = kept.get(block.id)
        depends = depends_on_answers(block, at, after, dependence)
        depended = was is not None and depends_on_answers(
            was, places_before[was.id], before, dependence_before
        )
        is_new = depends and not depended
        changes = [
            *_logic(was, block, before, after, at),
            *_links(was, block, after, depends=depends, is_new=is_new),
            *_gifts(was, block, depends=depends, is_new=is_new),
        ]
        for key, message in changes:
            field = block_path.field(key)
            found.setdefault(field, Violation(field, "not_allowed", message.format(key=key)))
        if not changes and _is_gift_by_answers(block, depends=depends):
            for n in references.needed(block, after, at):
                found |= _question(kept, placed[n], QUESTION_OF_GIFT)
    for n in dependence.questions:
        found = {**_question(kept, placed[n], QUESTION_OF_END), **found}
    return list(found.values())


def _question(
    kept: Mapping[int | None, Block], placed: tuple[Block, BlockPath], message: str
) -> dict[str, Violation]:
    """The changes of a question, by their fields."""
    block, block_path = placed
    fields = {key: block_path.field(key) for key in _changes_of_question(kept.get(block.id), block)}
    return {field: Violation(field, "not_allowed", message.format(key=key)) for key, field in fields.items()}


def _kept(before: Script, after: Script) -> Mapping[int | None, Block]:
    """The stored blocks by id, with the new names of the script in their texts and logic."""
    stored = {block.id: block for block in (*before.blocks, *before.outro)}
    now = (*after.blocks, *after.outro)
    as_stored = tuple(
        replace(block, **{key: getattr(stored[block.id], key) for key in _CARRIED})
        for block in now
        if block.id in stored
    )
    others = tuple(block for block in now if block.id not in stored)
    carried = carrying.carry(before, (*as_stored, *others))[: len(as_stored)]
    return {
        block.id: replace(stored[block.id], **{key: getattr(block, key) for key in _CARRIED})
        for block in carried
    }


def _logic(
    was: Block | None, block: Block, before: Script, after: Script, at: int
) -> Iterator[tuple[str, str]]:
    """The condition and the formula, if they are not the stored ones, or refer to other blocks."""
    for key, named in _LOGIC_NAMES.items():
        stored = getattr(was, key, None)
        if getattr(block, key) != stored or (
            stored and was and _meanings(named(block), after, at) != _meanings_before(named, was, before)
        ):
            yield references.condition_key(block) if key == "precondition" else key, LOGIC_OF_READERS


def _meanings_before(named: _NamesOf, was: Block, before: Script) -> Sequence[object]:
    every = enumerate((*before.blocks, *before.outro))
    at, stored = next((n, block) for n, block in every if block.id == was.id)
    return _meanings(named(stored), before, at)


def _meanings(named: Sequence[Mention], script: Script, at: int) -> Sequence[object]:
    """The field or variable of each name, and the ids of the blocks that give the name its value."""
    return [
        (
            meaning if isinstance(meaning := references.resolve(each.name, script), str) else None,
            [script.blocks[n].id for n in references.meant(each.name, script, at)],
        )
        for each in named
    ]


def _links(
    was: Block | None, block: Block, after: Script, *, depends: bool, is_new: bool
) -> Iterator[tuple[str, str]]:
    leading = leading_out(block)
    for key in (*references.TEXTS_WITH_TOKENS, VIDEO):
        text = getattr(block, key)
        is_written = was is None or text != getattr(was, key)
        if is_written and has_token_in_link(text, after):
            yield key, TOKEN_OF_READERS
        elif key in leading and (is_new or (is_written and (depends or key in FEEDBACK))):
            yield key, LINK_OF_READERS


def _gifts(was: Block | None, block: Block, *, depends: bool, is_new: bool) -> Iterator[tuple[str, str]]:
    is_written = was is None or (block.action_kind, block.action_config) != (
        was.action_kind,
        was.action_config,
    )
    if (is_written or is_new) and _is_gift_by_answers(block, depends=depends):
        yield "action_kind", GIFT_OF_READERS


def _is_gift_by_answers(block: Block, *, depends: bool) -> bool:
    """Whether what a block gives depends on answers: by who sees it, or as many XP as a score.

    The service makes the gifts of the outro.
    """
    config = block.action_config
    is_by_score = config is not None and config.source_key is not None
    return block.action_kind is not None and block.section != "outro" and (depends or is_by_score)


def _changes_of_question(was: Block | None, block: Block) -> Iterator[str]:
    for key in _ASKED:
        if was is not None and getattr(block, key) != getattr(was, key):
            yield key
