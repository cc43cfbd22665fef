"""The rules of one block, by its type: the fields it may have, those it needs, and their bounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from surveys.engine.intake.field_types import quoted_list
from surveys.engine.intake.fields import BLOCK
from surveys.engine.language import names
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import (
    BLOCK_TYPES,
    CALCULATED,
    CHOICES,
    FACTS,
    QUESTIONS,
    SCALES,
    STATEMENTS,
    WITH_ITEMS,
    ActionConfig,
    Bucket,
    Violation,
)

Rule = Callable[[RuleContext], Iterator[Violation]]

# For each type, the fields that must be empty on it: (key, attribute of Block).
_NOT_ALLOWED: Mapping[str, tuple[tuple[str, str], ...]] = {
    block_type: tuple(
        (key, spec.attribute or key)
        for key, spec in BLOCK.fields.items()
        if spec.only_on is not None and block_type not in spec.only_on and key != "correct_answer_id"
    )
    for block_type in BLOCK_TYPES
}
_STYLES: Mapping[str, tuple[str, ...]] = {
    "ranking": ("full_text", "emoji_only"),
    **dict.fromkeys(SCALES, ("buttons", "select_menu")),
}
# The points at which a scale may start, its fewest and its most points.
_POINTS: Mapping[str, tuple[tuple[int, ...], int, int]] = {
    "rating": ((1,), 2, 10),
    "opinion_scale": ((0, 1), 2, 11),
    "nps": ((0,), 11, 11),
}
_ACTION_KEYS = {
    "give_xp": ("xp_amount", "source_key"),
    "give_achievement": ("xp_role_id",),
    "give_role": ("role_id",),
}
_FAMILIES = (
    (WITH_ITEMS | SCALES, "choices, rankings and scales"),
    (CHOICES | SCALES, "choices and scales"),
    (WITH_ITEMS, "`single_punch`, `multi_punch` and `ranking`"),
    (SCALES, "`rating`, `opinion_scale` and `nps`"),
    (STATEMENTS, "`content_block` and `action_block`"),
    (QUESTIONS | STATEMENTS, "blocks that are shown"),
)


def fields_belong_to_the_type(context: RuleContext) -> Iterator[Violation]:
    block = context.block
    for key, attribute in _NOT_ALLOWED[block.type]:
        value = getattr(block, attribute)
        if value is None or value is False or value == () or _is_empty(value):
            continue
        only_on = BLOCK.fields[key].only_on or frozenset()
        message = f"`{key}` is not allowed on a `{block.type}` block, only on {_family(only_on)}."
        yield context.violation(key, "not_allowed", message)


def _is_empty(value: object) -> bool:
    """Whether this is an object without any value: a Scale, ActionConfig or Continue of nulls."""
    slots = getattr(value, "__slots__", None)
    return slots is not None and all(getattr(value, slot) is None for slot in slots)


def _family(types: frozenset[str]) -> str:
    for family, words in _FAMILIES:
        if types == family:
            return words
    return quoted_list(tuple(sorted(types)))


def prompts_say_something(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.2."""
    if context.block.type != CALCULATED and not context.block.prompt.strip():
        yield context.violation(
            "prompt", "blank", "`prompt` must not be blank, except on a `calculated_block`."
        )


def calculated_blocks_have_a_formula(context: RuleContext) -> Iterator[Violation]:
    if context.block.type == CALCULATED and not (context.block.calculated_formula or "").strip():
        message = "`calculated_formula` is required on a `calculated_block`."
        yield context.violation("calculated_formula", "required", message)


def choices_have_options(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.12."""
    if context.block.type in WITH_ITEMS and not context.block.options:
        yield context.violation(
            "options", "required", f"`options` is required on a `{context.block.type}` block."
        )


def rankings_have_2_to_20_items(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.12."""
    if context.block.type != "ranking" or not context.block.options:
        return
    items = len(context.block.options)
    if items < 2:
        yield context.violation("options", "too_few", "`options` of a ranking must be 2 to 20 items.")
    elif items > 20:
        yield context.violation(
            "options", "too_many", f"`options` of a ranking must be 2 to 20 items, not {items}."
        )


def answer_styles_suit_the_type(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.19."""
    style, styles = context.block.answer_style, _STYLES.get(context.block.type)
    if style and styles and style not in styles:
        allowed = " or ".join(f"`{name}`" for name in styles)
        message = f"`answer_style` must be {allowed} on a `{context.block.type}` block."
        yield context.violation("answer_style", "not_allowed", message)


def minimum_is_not_above_maximum(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.5."""
    block = context.block
    if block.type in SCALES or block.min is None or block.max is None:
        return
    if block.min > block.max:
        yield context.violation("min", "too_large", f"`min` must be at most `max`, which is {block.max}.")


def counts_can_be_chosen(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.151: exclusive options do not count, because they are chosen alone."""
    block = context.block
    if block.type != "multi_punch":
        return
    for key, value, least in (("min", block.min, 0), ("max", block.max, 1)):
        if value is None:
            continue
        if value < least:
            yield context.violation(
                key, "too_small", f"`{key}` must be at least {least} on a `multi_punch` block."
            )
        elif block.options and value > (most := len(block.together) or 1) and context.is_valid("options"):
            which = "options" if most == len(block.options) else "options that are not exclusive"
            message = f"`{key}` must be at most the number of {which}, which is {most}."
            yield context.violation(key, "too_large", message)


def rank_top_n_is_among_the_items(context: RuleContext) -> Iterator[Violation]:
    """Rules 3.5 and 3.23."""
    block = context.block
    if block.type != "ranking" or block.rank_top_n is None or not context.is_valid("options"):
        return
    if block.options and block.rank_top_n > len(block.options):
        message = f"`rank_top_n` must be at most the number of items, which is {len(block.options)}."
        yield context.violation("rank_top_n", "too_large", message)


def scales_have_their_range(context: RuleContext) -> Iterator[Violation]:
    block = context.block
    if block.type not in SCALES or not context.is_valid("min", "max"):
        return
    starts, fewest, most = _POINTS[block.type]
    low, high = block.points
    if block.type == "nps":
        for key, value, fixed in (("min", low, 0), ("max", high, 10)):
            if value != fixed:
                code = "too_small" if value < fixed else "too_large"
                yield context.violation(key, code, f"`{key}` of an `nps` block is always {fixed}.")
    elif low not in starts:
        code = "too_small" if low < starts[0] else "too_large"
        words = " or ".join(str(start) for start in starts)
        yield context.violation("min", code, f"`min` must be {words} on a `{block.type}` block.")
    elif not fewest <= high - low + 1 <= most:
        code = "too_small" if high <= low else "too_large"
        least, greatest = low + fewest - 1, low + most - 1
        message = f"`max` must be {least} to {greatest} because `min` is {low}: {fewest} to {most} points."
        yield context.violation("max", code, message)


def scale_labels_suit_the_points(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.22."""
    block = context.block
    if block.type not in SCALES or block.scale is None:
        return
    labelled = any(option.label for option in block.options)
    for key in ("label_left", "label_center", "label_right"):
        if getattr(block.scale, key) is None:
            continue
        if block.type == "nps":
            message = f"`{key}` is not allowed on an `nps` block, whose labels are standard."
            yield context.violation(f"scale.{key}", "not_allowed", message)
        elif labelled and key != "label_center":
            message = f"`{key}` cannot be combined with labels on the points."
            yield context.violation(f"scale.{key}", "conflicting", message)


def emoji_icons_have_their_emoji(context: RuleContext) -> Iterator[Violation]:
    block = context.block
    if block.type not in SCALES or block.scale is None or block.scale.icon != "emoji":
        return
    if not block.options:
        message = "`options` is required if `scale.icon` is `emoji`: one for each point, with its emoji."
        yield context.violation("options", "required", message)
    for n, option in enumerate(block.options):
        if not option.emoji:
            message = "`emoji` is required on each point if `scale.icon` is `emoji`."
            yield context.option_violation(n, "emoji", "required", message)


def actions_have_what_they_give(context: RuleContext) -> Iterator[Violation]:
    block = context.block
    if block.type != "action_block":
        return
    if block.action_kind is None:
        yield context.violation("action_kind", "required", "`action_kind` is required on an `action_block`.")
        return
    config = block.action_config or ActionConfig()
    allowed = _ACTION_KEYS[block.action_kind]
    sent = [key for key in allowed if getattr(config, key) is not None]
    words = " or ".join(f"`{key}`" for key in allowed)
    if not sent and all(context.is_valid(f"action_config.{key}") for key in allowed):
        key = f"action_config.{allowed[0]}" if block.action_config else "action_config"
        yield context.violation(key, "required", f"`action_config` needs {words} for `{block.action_kind}`.")
    elif len(sent) > 1:
        message = f"`action_config` takes either {words}, not both."
        yield context.violation(f"action_config.{sent[1]}", "conflicting", message)
    for key in ("xp_amount", "source_key", "xp_role_id", "role_id"):
        if key not in allowed and getattr(config, key) is not None:
            message = f"`{key}` is not allowed if `action_kind` is `{block.action_kind}`."
            yield context.violation(f"action_config.{key}", "not_allowed", message)
    if config.source_key is not None and not names.looks_like_score(config.source_key):
        message = "`source_key` must be a score variable, such as `score` or `score_<bucket>`."
        yield context.violation("action_config.source_key", "unknown_reference", message)


def pauses_have_their_seconds(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.4."""
    continue_ = context.block.continue_
    if context.block.type not in STATEMENTS or continue_ is None:
        return
    if continue_.after == "pause" and continue_.pause is None and context.is_valid("continue.after"):
        message = "`pause` is required if `after` is `pause`: the seconds to wait."
        yield context.violation("continue.pause", "required", message)


def further_questions_are_about_prose(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.122."""
    block = context.block
    if block.follow_ups and block.format in FACTS:
        message = f"`follow_ups` is not allowed with the `format` {block.format}, whose answers are no prose."
        yield context.violation("follow_ups", "not_allowed", message)


def feedback_has_a_correct_answer(context: RuleContext) -> Iterator[Violation]:
    block = context.block
    if block.type not in QUESTIONS or not (block.when_correct or block.when_incorrect):
        return
    prefix = context.block_path.field("correct_answer_i")
    if not block.has_correct_answer and not any(path.startswith(prefix) for path in context.invalid_fields):
        key = "when_correct" if block.when_correct else "when_incorrect"
        yield context.violation(
            "correct_answer_ids", "required", f"`correct_answer_ids` is required with `{key}`."
        )


def only_a_multi_punch_has_several_correct_answers(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.150."""
    block = context.block
    correct = block.correct_answer_ids or block.correct_places
    if block.type not in (CHOICES | SCALES) - {"multi_punch"} or len(correct) < 2:
        return
    key = "correct_answer_ids" if block.correct_answer_ids else "correct_answer_indexes"
    message = f"`{key}` must name one option on a `{block.type}` block, not {len(correct)}."
    yield context.violation(key, "too_many", message)


def scores_have_buckets(context: RuleContext, bucket_keys: Collection[str] | None) -> Iterator[Violation]:
    """The keys of score values, and score variables, must match declared buckets, if there are any."""
    if bucket_keys is None:
        return
    known = ", ".join(sorted(bucket_keys)) or "none"
    declare = f"The buckets are: {known}. Declare another in the project's `scoring.buckets`."
    for n, option in enumerate(context.block.options):
        for key in option.score_values or ():
            if key not in bucket_keys:
                bucket_key = Bucket(key).key
                hint = f"Write it {bucket_key}." if bucket_key in bucket_keys else declare
                message = f"`score_values` has the key {key}, which matches no bucket. {hint}"
                yield context.option_violation(n, f"score_values.{key}", "unknown_reference", message)
    config = context.block.action_config
    source = config.source_key if config else None
    variables = names.script_variables(scoring_enabled=True, bucket_keys=tuple(bucket_keys))
    if source is not None and names.looks_like_variable(source) and source not in variables:
        message = f"`source_key` {source} matches no bucket. {declare}"
        yield context.violation("action_config.source_key", "unknown_reference", message)


RULES: tuple[Rule, ...] = (
    fields_belong_to_the_type,
    prompts_say_something,
    calculated_blocks_have_a_formula,
    choices_have_options,
    rankings_have_2_to_20_items,
    answer_styles_suit_the_type,
    minimum_is_not_above_maximum,
    counts_can_be_chosen,
    rank_top_n_is_among_the_items,
    scales_have_their_range,
    scale_labels_suit_the_points,
    emoji_icons_have_their_emoji,
    actions_have_what_they_give,
    pauses_have_their_seconds,
    further_questions_are_about_prose,
    feedback_has_a_correct_answer,
    only_a_multi_punch_has_several_correct_answers,
)
