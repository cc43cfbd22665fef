"""The engine's classes → JSON, as reads return it: with every key of chapter 3, null if empty.

The result can be sent back: `reader` reads it into the same block, without a violation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from surveys.engine.language.values import json_number
from surveys.engine.script import ActionConfig, Block, Continue, Option, Scale, Script


def without_solutions(script: Script) -> Script:
    """The script without values that a respondent could not know: answers, points, feedback and formulas."""
    return replace(
        script, blocks=tuple(map(_unsolved, script.blocks)), outro=tuple(map(_unsolved, script.outro))
    )


def is_graded(script: Script) -> bool:
    """Whether any question has a correct answer, feedback or points, from which a reader could learn the
    answers of a quiz.

    A formula alone grades nothing.
    """
    return any(map(_is_graded, (*script.blocks, *script.outro)))


def _is_graded(block: Block) -> bool:
    has_points = any(option.score_values for option in block.options)
    return block.has_correct_answer or has_points or bool(block.when_correct or block.when_incorrect)


def _unsolved(block: Block) -> Block:
    return replace(
        block,
        options=tuple(replace(option, score_values=None) for option in block.options),
        correct_answer_ids=None,
        correct_answer_index=None,
        correct_answer_indexes=None,
        when_correct=None,
        when_incorrect=None,
        calculated_formula=None,
        scores_ignored=False,
    )


def script_as_json(script: Script, *, outro: bool = False) -> list[dict[str, object]]:
    """The blocks of a script in order, followed by its outro blocks if `outro` is set."""
    blocks = script.blocks + script.outro if outro else script.blocks
    return [block_as_json(block, scoring=script.scoring_enabled) for block in blocks]


def block_as_json(block: Block, *, scoring: bool) -> dict[str, object]:
    """One block with its logic, scores and correct answers, for authors of scripts (rule 3.3)."""
    correct, places = block.correct_answer_ids, _correct_places(block)
    return {
        "id": block.id,
        "name": block.name,
        "section": block.section,
        "type": block.type,
        "prompt": block.prompt,
        "description": block.description,
        "group": block.group,
        "answer_style": block.answer_style,
        "color": block.color,
        "image_url": block.image_url,
        "image_alt": block.image_alt,
        "thumbnail_url": block.thumbnail_url,
        "thumbnail_alt": block.thumbnail_alt,
        "video_url": block.video_url,
        "options": [_option(option, scoring=scoring) for option in block.options] or None,
        "min": block.min,
        "max": block.max,
        "whole": block.whole,
        "format": block.format,
        "required": block.required,
        "precondition": block.precondition,
        "show_when": block.show_when,
        "hide_when": block.hide_when,
        "action_kind": block.action_kind,
        "action_config": _action_config(block.action_config),
        "correct_answer_ids": list(correct) if correct else None,
        "correct_answer_index": places[0] if places else None,
        "correct_answer_indexes": places or None,
        "when_correct": block.when_correct,
        "when_incorrect": block.when_incorrect,
        "scale": _scale(block.scale),
        "randomize_options": block.randomize_options,
        "rank_top_n": block.rank_top_n,
        "follow_ups": block.follow_ups,
        "calculated_formula": block.calculated_formula,
        "position": block.position,
        "continue": _continue(block.continue_),
    }


def _option(option: Option, *, scoring: bool) -> dict[str, object]:
    serialized: dict[str, object] = {
        "id": option.id,
        "value": option.value,
        "label": option.label,
        "emoji": option.emoji,
        "display_order": option.display_order,
        "anchor_position": option.anchor_position,
        "is_exclusive": option.is_exclusive,
        "is_other": option.is_other,
        "image_url": option.image_url,
        "image_alt": option.image_alt,
    }
    if scoring:
        serialized["score_values"] = _weights(option.score_values)
    return serialized


def _weights(weights: Mapping[str, Decimal] | None) -> dict[str, int | float] | None:
    if weights is None:
        return None
    return {key: json_number(points) for key, points in weights.items()}


def _correct_places(block: Block) -> list[int]:
    """The current indexes of the correct options. Only the ids are stored; the indexes are computed from
    them.
    """
    if not block.correct_answer_ids:
        return list(block.correct_places)
    return [n for n, option in enumerate(block.options) if option.id in block.correct_answer_ids]


def _action_config(config: ActionConfig | None) -> dict[str, object] | None:
    if config is None:
        return None
    return {
        "xp_amount": config.xp_amount,
        "source_key": config.source_key,
        "xp_role_id": config.xp_role_id,
        "role_id": config.role_id,
        "fire_scope": config.fire_scope,
    }


def _scale(scale: Scale | None) -> dict[str, object] | None:
    if scale is None:
        return None
    return {
        "icon": scale.icon,
        "label_left": scale.label_left,
        "label_center": scale.label_center,
        "label_right": scale.label_right,
    }


def _continue(continue_: Continue | None) -> dict[str, object] | None:
    if continue_ is None:
        return None
    return {
        "after": continue_.after,
        "pause": continue_.pause,
        "label": continue_.label,
    }
