"""The script that a preview walks: the blocks of a draft with all their faults.

A block that a save would refuse keeps its position. Parts that cannot be evaluated are left out (a faulty
condition never hides its block), and a block that cannot be drawn becomes a statement. `faults` describe the
faults of each block.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from communities.ground.errors import InvalidRequest
from surveys.engine.intake import correct_answers
from surveys.engine.language import expressions, formulas
from surveys.engine.language.lexer import ParseError
from surveys.engine.script import CALCULATED, SCALES, STATEMENTS, WITH_ITEMS, Block, Option, Script
from surveys.models import Project
from surveys.services.drafts import keys, starting
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import planning

MAX_POINTS = 21  # of a scale that can be drawn
NO_PROMPT = "This block has no text yet."
FIRST_NEW_ID = 2**52  # above all stored ids; with 48 more bits still below 2**53
_LOGIC = ("precondition", "show_when", "hide_when")
_PLACES = ("correct_answer_index", "correct_answer_indexes")
_CORRECT = ("correct_answer_ids", "correct_answer_id", *_PLACES)

_FIELD = re.compile(r"blocks\[(\d+)\](?:\.(\w+))?")

Faults = Mapping[str, str]  # the name of a field (empty: the whole block) → its fault


@dataclass(frozen=True)
class PreviewScript:
    """A script in which every block and option has an id. `keys` and `faults` are by block id."""

    script: Script
    keys: Mapping[int, str]
    faults: Mapping[int, Sequence[str]]

    def block_of(self, key: str) -> Block | None:
        """The block with a key of the editor; outro blocks are found too."""
        by_id = {block.id: block for block in (*self.script.blocks, *self.script.outro)}
        return next((by_id.get(block_id) for block_id, each in self.keys.items() if each == key), None)


def of_project(project: Project) -> PreviewScript:
    """The script as it is stored."""
    script = script_cache.script_of(project)
    stored_keys = {block.id or 0: f"b{block.id}" for block in (*script.blocks, *script.outro)}
    return PreviewScript(script, stored_keys, {})


def of_template(*, project: Project, template_id: str, at: datetime) -> PreviewScript:
    """A template of the library, instead of the project's script.

    Raises InvalidRequest for an unknown template.
    """
    return of_blocks(
        project=project, blocks=starting.of_template(project=project, template_id=template_id), at=at
    )


def of_blocks(*, project: Project, blocks: Sequence[object], at: datetime) -> PreviewScript:
    """The script that a save of these blocks would make, as far as it can be shown. Faults never raise here.

    `blocks` are those of a draft (`services/drafts`), with their keys.
    """
    body = {"blocks": keys.as_sent(blocks)}
    plan = planning.plan_script(project=project, body=body, xp_limit=None, at=at)  # nothing is saved
    faults = _faults(plan)
    walked, block_keys, block_faults = [], {}, {}
    taken: set[int] = set()
    for block, place in zip(plan.script.blocks, plan.ordered.block_paths, strict=True):
        index = keys.index_of(place.path)
        sent = blocks[index] if index is not None else None
        wrong = faults.get(index, {})
        key = _key(sent) or f"b{block.id or index}"
        ready = _with_ids(_drawable(block, wrong), key, _option_keys(sent, place.options), taken)
        walked.append(ready)
        block_keys[ready.id or 0] = key
        if wrong:
            block_faults[ready.id or 0] = tuple(wrong.values())
    outro = [_with_ids(block, f"outro:{block.name}", (), taken) for block in plan.script.outro]
    block_keys |= {block.id or 0: _outro_key(block, blocks) for block in outro}
    script = replace(plan.script, blocks=tuple(walked), outro=tuple(outro))
    return PreviewScript(script, block_keys, block_faults)


def _faults(plan: planning.Plan) -> Mapping[int | None, Faults]:
    """The faults that a save would refuse, by the block's index in the submitted array and by field.

    An open project freezes the structure of its script, but that is no fault of a block.
    """
    refusals = [refusal for refusal in plan.refusals if isinstance(refusal, InvalidRequest)]
    faults: dict[int | None, dict[str, str]] = {}
    for refusal in refusals:
        for violation in refusal.violations or ():
            match = _FIELD.match(str(violation["field"]))
            if match:
                of_block = faults.setdefault(int(match[1]), {})
                of_block.setdefault(match[2] or "", str(violation["message"]).replace("`", ""))
    return faults


# --- What can be drawn ------------------------------------------------------------------------------


def _drawable(block: Block, faults: Faults) -> Block:
    """The block without parts that cannot be evaluated; a statement if its control cannot be drawn."""
    block = replace(block, prompt=block.prompt or NO_PROMPT)
    if not _is_condition(block.precondition) or any(key in faults for key in _LOGIC):
        block = replace(block, precondition=None)
    if any(key in faults for key in _CORRECT):
        block = replace(
            block, correct_answer_ids=None, correct_answer_index=None, correct_answer_indexes=None
        )
    if faults.keys() & {"min", "max"} and block.type not in SCALES:
        block = replace(block, min=None, max=None)
    if "rank_top_n" in faults:
        block = replace(block, rank_top_n=None)
    return block if _has_control(block, faults) else _as_statement(block)


def _has_control(block: Block, faults: Faults) -> bool:
    if "" in faults or "type" in faults:
        return False
    if block.type == CALCULATED:
        return "calculated_formula" not in faults and _is_formula(block.calculated_formula)
    if block.type in SCALES:
        low, high = block.points
        return low < high and high - low < MAX_POINTS
    return block.type in STATEMENTS or block.type not in WITH_ITEMS or bool(block.options)


def _as_statement(block: Block) -> Block:
    return Block(
        type="content_block",
        id=block.id,
        name=block.name,
        section=block.section,
        position=block.position,
        prompt=block.prompt,
        description=block.description,
        precondition=block.precondition,
    )


def _is_condition(text: str | None) -> bool:
    try:
        return text is None or expressions.parse(text) is not None
    except ParseError:
        return False


def _is_formula(text: str | None) -> bool:
    try:
        return text is not None and formulas.parse(text) is not None
    except ParseError:
        return False


# --- Ids and keys -----------------------------------------------------------------------------------


def _with_ids(block: Block, key: str, option_keys: Sequence[str | None], taken: set[int]) -> Block:
    """The block with an id, and with ids for its options, where they are missing.

    The ids are computed from the keys, so they stay the same while somebody types.
    """
    block_id = block.id if block.id and block.id not in taken else _new_id(key, taken)
    taken.add(block_id)
    used: set[int] = set()
    options: list[Option] = []
    for n, option in enumerate(block.options):
        own_key = option_keys[n] if n < len(option_keys) else None
        option_id = option.id if option.id and option.id not in used else None
        option_id = option_id or _new_id(f"{key}:{own_key or n}", used)
        used.add(option_id)
        options.append(replace(option, id=option_id))
    block = replace(block, id=block_id, options=tuple(options))
    is_beyond = any(place >= len(options) for place in block.correct_places)
    return block if is_beyond else correct_answers.with_ids(block)


def _new_id(key: str, taken: Iterable[int]) -> int:
    number = FIRST_NEW_ID + int.from_bytes(hashlib.blake2b(key.encode(), digest_size=6).digest())
    while number in taken:
        number += 1
    return number


def _key(sent: object) -> str | None:
    key = sent.get(keys.KEY) if isinstance(sent, dict) else None
    return key if isinstance(key, str) else None


def _option_keys(sent: object, order: Sequence[int]) -> list[str | None]:
    """The keys of a block's options in their order; `order` are their indexes in the submitted array."""
    options = sent.get("options") if isinstance(sent, dict) else None
    if not isinstance(options, list):
        return []
    return [_key(options[place]) if place < len(options) else None for place in order]


def _outro_key(block: Block, blocks: Sequence[object]) -> str:
    for sent in blocks:
        if isinstance(sent, dict) and sent.get("id") == block.id and (key := _key(sent)):
            return key
    return f"b{block.id}"
