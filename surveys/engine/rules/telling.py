"""Changes of a script by which their writer could learn who answered what (rule 1.90)."""

from __future__ import annotations

from collections.abc import Sequence

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.language import references
from surveys.engine.rules import carrying
from surveys.engine.rules.script import has_token_in_link
from surveys.engine.script import Block, Script, Violation

LINK_OF_READERS = (
    "Only owners of the project and admins write links with tokens in `{key}`: another site would learn who "
    "answers what."
)
GIFT_OF_READERS = (
    "Only owners of the project and admins write an action block with a condition: what it gives would tell "
    "others how somebody answered."
)


def telling_changes(before: Script, after: Script, *, block_paths: Sequence[BlockPath]) -> list[Violation]:
    """Changes by which their writer could learn who answered what (rule 1.90): links whose addresses have
    tokens, and action blocks with a condition, because others see XP, achievements and roles.
    """
    stored = {block.id: block for block in (*before.blocks, *before.outro)}
    found = []
    for block, block_path in zip((*after.blocks, *after.outro), block_paths, strict=False):
        was = stored.get(block.id)
        for key in references.TEXTS_WITH_TOKENS:
            text = getattr(block, key)
            known = was and getattr(was, key)
            if has_token_in_link(text, after) and not (known and text in _forms(known, before, after)):
                message = LINK_OF_READERS.format(key=key)
                found.append(Violation(block_path.field(key), "not_allowed", message))
        if block.action_kind and block.precondition and not _is_same_gift(was, block, before, after):
            found.append(Violation(block_path.field("action_kind"), "not_allowed", GIFT_OF_READERS))
    return found


def _is_same_gift(was: Block | None, block: Block, before: Script, after: Script) -> bool:
    if was is None or (was.action_kind, was.action_config) != (block.action_kind, block.action_config):
        return False
    condition = was.precondition
    if condition is None or condition == block.precondition:
        return condition == block.precondition
    carried = carrying.carried_expression(condition, before=before, after=after.blocks, own_variables=())
    return carried == block.precondition


def _forms(text: str, before: Script, after: Script) -> tuple[str, str]:
    """A stored text, and the same with the new names of the script."""
    return text, carrying.carried_text(text, before=before, after=after.blocks)
