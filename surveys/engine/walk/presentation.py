"""A block as the respondent sees it: tokens filled in, options shuffled, answers and logic removed.

As JSON a step has less than MAX_STEP bytes (rule 6.40): the rules of scripts refuse blocks of more than
MAX_BLOCK bytes, and long values of tokens are cut.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from surveys.engine.intake.serialization import block_as_json
from surveys.engine.language.piping import Authored, shortened
from surveys.engine.language.values import json_bytes
from surveys.engine.script import Block, Option, Script
from surveys.engine.walk import answers, defaults, runner
from surveys.engine.walk.path_values import PathValues
from surveys.engine.walk.runner import State

MAX_STEP = 65_536  # bytes
MAX_BLOCK = 60_000  # bytes of a block as its author wrote it
MAX_MENU_STEP, MAX_MENU_BLOCK = 262_144, 250_000  # the same of a long menu (rule 6.157)
_AROUND = (
    5_000  # bytes of a step beside its block: ids that the block gets, defaults, help, the ids in an answer
)
_ALWAYS_FITS = 400  # characters of a prompt, beside any block

# Scores, correct answers and logic (rules 6.7 and 6.8), and the configuration of actions.
HIDDEN_KEYS = (
    "precondition",
    "show_when",
    "hide_when",
    "correct_answer_ids",
    "correct_answer_index",
    "correct_answer_indexes",
    "when_correct",
    "when_incorrect",
    "calculated_formula",
    "action_config",
    "follow_ups",
)
# Keys of options that a step leaves out where they are empty, so that a hundred options fit (rule 6.151).
_WHERE_SET = ("is_exclusive", "is_other", "image_url", "image_alt")


def effective_block(script: Script, block: Block) -> Block:
    """The block with a poll's question always required, because a skip is no vote."""
    return replace(block, required=True) if script.is_poll and block.asks and not block.required else block


def present(
    script: Script,
    state: State,
    block: Block,
    *,
    seed: int,
    token_values: Mapping[str, str],
    escape: Callable[[str], str] | None = None,
    known: PathValues | None = None,
) -> Block:
    """The block at this point of a conversation.

    `seed` determines the order of its options. For `token_values`, `escape` and `known` see `runner.fill`.
    """

    def filled(text: str) -> str:
        return runner.fill(script, state, text, token_values, escape=escape, known=known)

    prompt = _fitting(block, "prompt", filled(block.prompt))
    description = block.description
    if description and "[" in description:
        description = _fitting(replace(block, prompt=prompt), "description", filled(description))
    elif description:
        description = Authored(description)
    return replace(
        block,
        prompt=prompt,
        description=description,
        options=tuple(option_order(block, seed=seed)),
        required=True if script.is_poll and block.asks else block.required,  # as `effective_block` says
        precondition=None,
        show_when=None,
        hide_when=None,
        correct_answer_ids=None,
        correct_answer_index=None,
        correct_answer_indexes=None,
        when_correct=None,
        when_incorrect=None,
        calculated_formula=None,
        action_config=None,
    )


def option_order(block: Block, *, seed: int) -> Sequence[Option]:
    """The block's options in the order of this conversation.

    The same seed and block give the same order on every server and Python version, so options are sorted by a
    hash instead of shuffled by a random generator. Options that stay last follow in stored order.
    """
    if not block.randomize_options:
        return block.options
    loose = [option for option in block.options if not option.stays_last]
    pinned = [option for option in block.options if option.stays_last]
    return sorted(loose, key=lambda option: _sort_key(seed, block.id, option.id)) + pinned


def _sort_key(seed: int, block_id: int | None, option_id: int | None) -> bytes:
    return hashlib.blake2b(f"{seed}:{block_id}:{option_id}".encode(), digest_size=8).digest()


def _fitting(block: Block, key: str, text: str) -> str:
    """A filled text of the block, shortened if the step would reach MAX_STEP.

    The step also includes an earlier answer and the other text of the block.
    """
    if key == "prompt" and len(text) <= _ALWAYS_FITS:
        return text
    most_bytes = MAX_MENU_STEP if block.is_long_menu else MAX_STEP
    room = most_bytes - _AROUND - json_bytes(as_json(replace(block, **{key: ""})))  # type: ignore[arg-type]
    if block.type == "open_text":
        room -= answers.MAX_TEXT_BYTES
    if json_bytes(text) <= room:
        return text
    fitting = bisect_right(range(len(text)), room, key=lambda most: json_bytes(shortened(text, most)))
    cut = shortened(text, max(fitting - 1, 0))
    return Authored(cut) if type(text) is Authored else cut


def block_bytes(block: Block) -> int:
    """The size of a block as its author wrote it, in bytes of the JSON that respondents get."""
    return json_bytes(as_json(block))


def as_json(block: Block) -> dict[str, object]:
    """A block returned by `present` as JSON, without the keys that respondents must not see."""
    return seen(block_as_json(block, scoring=False))


def seen(serialized: dict[str, object]) -> dict[str, object]:
    """A block as JSON for its author → the same for respondents. Changes the object."""
    for key in HIDDEN_KEYS:
        del serialized[key]
    options = serialized["options"]
    for option in options if isinstance(options, list) else ():
        for key in _WHERE_SET:
            if not option[key]:
                del option[key]
    return serialized


def step_as_json(block: Block, *, is_poll: bool) -> dict[str, object]:
    """The same for the current step, with every default filled in (`defaults.effective`)."""
    shown = as_json(defaults.effective(block, is_poll=is_poll))
    return {**shown, "required": block.required} if block.asks else shown
