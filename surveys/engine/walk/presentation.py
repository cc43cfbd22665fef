"""A block as the respondent sees it: tokens filled in, options shuffled, answers and logic removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from surveys.engine.intake.serialization import block_as_json
from surveys.engine.script import Block, Script
from surveys.engine.walk import defaults, runner, shuffle
from surveys.engine.walk.runner import State

# Scores, correct answers and logic (decisions 8.2), and the configuration of actions.
HIDDEN_KEYS = (
    "precondition",
    "show_when",
    "hide_when",
    "correct_answer_ids",
    "correct_answer_index",
    "when_correct",
    "when_incorrect",
    "calculated_formula",
    "action_config",
)


def effective_block(script: Script, block: Block) -> Block:
    """The block as it applies: a poll's question is always required, because a skip is no vote."""
    return replace(block, required=True) if script.is_poll and block.asks else block


def present(
    script: Script,
    state: State,
    block: Block,
    *,
    seed: int,
    token_values: Mapping[str, str],
    escape: Callable[[str], str] = runner.unchanged,
) -> Block:
    """The block at this point of a conversation.

    `seed` determines the order of its options; for `token_values` and `escape` see `runner.fill`.
    """
    return replace(
        block,
        prompt=runner.fill(script, state, block.prompt, token_values, escape=escape),
        options=tuple(shuffle.option_order(block, seed=seed)),
        required=True if script.is_poll and block.asks else block.required,  # as `effective_block` says
        precondition=None,
        show_when=None,
        hide_when=None,
        correct_answer_ids=None,
        correct_answer_index=None,
        when_correct=None,
        when_incorrect=None,
        calculated_formula=None,
        action_config=None,
    )


def as_json(block: Block) -> dict[str, object]:
    """A block returned by `present` as JSON, without the keys that respondents must not see."""
    serialized = block_as_json(block, scoring=False)
    for key in HIDDEN_KEYS:
        del serialized[key]
    return serialized


def step_as_json(block: Block, *, is_poll: bool) -> dict[str, object]:
    """The same for the step that waits, with every default filled in (`defaults.effective`)."""
    shown = as_json(defaults.effective(block, is_poll=is_poll))
    return {**shown, "required": block.required} if block.asks else shown
