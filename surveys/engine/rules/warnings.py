"""What may stand in a script but does not do what its author wants: told beside it, and never refused.

    warnings(script, uses_xp=…, is_anonymous=…, known_achievements=…)

    scores_ignored       points that count for nothing: written while scoring was off, or on a ranking
    not_graded           a right answer that nothing is measured against, as scoring is off
    double_award         XP from a block and, for the whole project, at the end
    unknown_variable     a name that has no value where it stands, and so counts as 0
    unfilled_token       a token within a text of a formula, where none is filled in
    unknown_achievement  an achievement that nobody has described
    tells_the_answers    on an anonymous project: nothing is given, as it would tell what was answered

`field` says where, in the script as a read gives it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from surveys.engine.language import formulas, piping, references
from surveys.engine.language.formulas import Formula
from surveys.engine.script import CALCULATED, Block, Script
from surveys.engine.walk import answers

CODES = (
    "scores_ignored",
    "not_graded",
    "double_award",
    "unknown_variable",
    "unfilled_token",
    "unknown_achievement",
    "tells_the_answers",
)


@dataclass(frozen=True, slots=True)
class ScriptWarning:
    """One of them: the field it is about, of a block or of the whole script."""

    field: str
    code: str
    message: str
    block: Block | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "field": self.field,
            "block_id": self.block and self.block.id,
            "block_name": self.block and self.block.name,
            "code": self.code,
            "message": self.message,
        }


def warnings(
    script: Script, *, uses_xp: bool, is_anonymous: bool, known_achievements: Collection[int] | None
) -> list[dict[str, object]]:
    """All that is told of a script, in the order of its blocks.

    `uses_xp`: the project gives XP at its end (`rewards.use_xp`). `known_achievements` are the numbers that
    are described in the community; None where nobody has asked.
    """
    found = list(_on_the_whole(script))
    for n, block in enumerate(script.blocks):
        path = f"blocks[{n}]"
        found += _scores(script, block, path)
        found += _names(script, n, path)
        if block.type == "action_block":
            found += _actions(block, path, uses_xp, known_achievements)
            if is_anonymous:
                found += _what_tells(block, path)
    return [each.as_json() for each in found]


def _on_the_whole(script: Script) -> Iterator[ScriptWarning]:
    """Scoring came after the script: then no bucket counts, whatever stands in it (interface 2.3, rule 1)."""
    if script.scoring_enabled and not script.is_scored and script.blocks:
        message = (
            "The script was written before scoring was enabled: every bucket scores 0, and score tokens stay "
            "as they are written. Write the script again, while the project is closed, and its scores count."
        )
        yield ScriptWarning("blocks", "scores_ignored", message)


def _scores(script: Script, block: Block, path: str) -> Iterator[ScriptWarning]:
    if script.scoring_enabled and block.type == "ranking" and block.weighed_in:
        message = (
            f"The block {block.name} is a ranking, which scores nothing: its `score_values` do not count."
        )
        yield ScriptWarning(f"{path}.options", "scores_ignored", message, block)
    if not script.scoring_enabled and answers.is_graded(block):
        message = f"The answers to the block {block.name} are not graded while scoring is off."
        yield ScriptWarning(f"{path}.correct_answer_ids", "not_graded", message, block)
    if not block.scores_ignored or not block.options:
        return
    first = "Write" if script.scoring_enabled else "Enable scoring, then write"
    message = (
        f"The `score_values` of the block {block.name} were sent while scoring was off, and count for "
        f"nothing. {first} the script again, with them, or with `score_values: {{}}` to do without."
    )
    yield ScriptWarning(f"{path}.options", "scores_ignored", message, block)


def _names(script: Script, at: int, path: str) -> Iterator[ScriptWarning]:
    block = script.blocks[at]
    if (formula := _formula(block)) is not None:
        where = f"{path}.calculated_formula"
        for mention in references.unknown_names(formula, script, at):
            unknown = f"[{mention.name}], which has no value at this block"
            message = f"`calculated_formula` has {unknown}: it counts as 0."
            yield ScriptWarning(where, "unknown_variable", message, block)
        for token in Counter(piping.tokens(formula.source)) - Counter(each.name for each in formula.mentions):
            message = f"`calculated_formula` has [{token}] within a text, where it stays as it is written."
            yield ScriptWarning(where, "unfilled_token", message, block)
    source = block.action_config.source_key if block.action_config else None
    if source is not None and source not in references.variables(script):
        reason = "" if script.scoring_enabled else ", as scoring is off"
        message = f"`source_key` {source} is no variable here{reason}: no XP is given."
        yield ScriptWarning(f"{path}.action_config.source_key", "unknown_variable", message, block)


def _formula(block: Block) -> Formula | None:
    if block.type != CALCULATED or not block.calculated_formula:
        return None
    try:
        return formulas.parse(block.calculated_formula)
    except formulas.ParseError:  # written before formulas were read
        return None


def _actions(
    block: Block, path: str, uses_xp: bool, known_achievements: Collection[int] | None
) -> Iterator[ScriptWarning]:
    config = block.action_config
    if block.action_kind == "give_xp" and uses_xp:
        message = (
            f"The block {block.name} gives XP, and `rewards.use_xp` gives some at the end as well: whoever "
            "reaches both is awarded twice."
        )
        yield ScriptWarning(path, "double_award", message, block)
    number = config.xp_role_id if config else None
    if number is not None and known_achievements is not None and number not in known_achievements:
        message = (
            f"Nobody has described the achievement {number} in this community: it is granted as "
            f"“Achievement {number}”."
        )
        yield ScriptWarning(f"{path}.action_config.xp_role_id", "unknown_achievement", message, block)


def _what_tells(block: Block, path: str) -> Iterator[ScriptWarning]:
    if block.action_config is not None and block.action_config.source_key is not None:
        message = (
            "On an anonymous project XP is not given from a score, because the amount would tell what was "
            "answered. Give an `xp_amount` instead."
        )
        yield ScriptWarning(f"{path}.action_config.source_key", "tells_the_answers", message, block)
    if block.precondition is not None:
        key = "show_when" if block.show_when else "hide_when" if block.hide_when else "precondition"
        message = (
            f"The block {block.name} stands behind a condition: on an anonymous project it gives nothing, as "
            "what a member is given would tell what they answered."
        )
        yield ScriptWarning(f"{path}.{key}", "tells_the_answers", message, block)
