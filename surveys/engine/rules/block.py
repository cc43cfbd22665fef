"""What one block must be, by its type: which fields it may carry, which it needs, and within what bounds."""

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
    QUESTIONS,
    SCALES,
    STATEMENTS,
    WITH_ITEMS,
    ActionConfig,
    Bucket,
    Violation,
)

Rule = Callable[[RuleContext], Iterator[Violation]]

# For each type, the fields that may say nothing on it: (key, the vocabulary's name).
_BARRED: Mapping[str, tuple[tuple[str, str], ...]] = {
    block_type: tuple(
        (key, field.attribute or key)
        for key, field in BLOCK.fields.items()
        if field.only_on is not None and block_type not in field.only_on and key != "correct_answer_id"
    )
    for block_type in BLOCK_TYPES
}
_STYLES: Mapping[str, tuple[str, ...]] = {
    "ranking": ("full_text", "emoji_only"),
    **dict.fromkeys(SCALES, ("buttons", "select_menu")),
}
# The lowest points a scale may start at, and how many points it may have.
_POINTS: Mapping[str, tuple[tuple[int, ...], int, int]] = {
    "rating": ((1,), 2, 10),
    "opinion_scale": ((0, 1), 2, 11),
    "nps": ((0,), 11, 11),
}
_GIVES = {
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
)


def fields_belong_to_the_type(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    for key, attribute in _BARRED[block.type]:
        value = getattr(block, attribute)
        if value is None or value is False or value == () or _says_nothing(value):
            continue
        only_on = BLOCK.fields[key].only_on or frozenset()
        message = f"`{key}` is not allowed on a `{block.type}` block, only on {_family(only_on)}."
        yield spot.fault(key, "not_allowed", message)


def _says_nothing(value: object) -> bool:
    slots = getattr(value, "__slots__", None)
    return slots is not None and all(getattr(value, slot) is None for slot in slots)


def _family(types: frozenset[str]) -> str:
    for family, words in _FAMILIES:
        if types == family:
            return words
    return quoted_list(tuple(sorted(types)))


def prompts_say_something(spot: RuleContext) -> Iterator[Violation]:
    if spot.block.type != CALCULATED and not spot.block.prompt.strip():
        yield spot.fault("prompt", "blank", "`prompt` must not be blank, except on a `calculated_block`.")


def calculated_blocks_have_a_formula(spot: RuleContext) -> Iterator[Violation]:
    if spot.block.type == CALCULATED and not (spot.block.calculated_formula or "").strip():
        message = "`calculated_formula` is required on a `calculated_block`."
        yield spot.fault("calculated_formula", "required", message)


def choices_have_options(spot: RuleContext) -> Iterator[Violation]:
    if spot.block.type in WITH_ITEMS and not spot.block.options:
        yield spot.fault("options", "required", f"`options` is required on a `{spot.block.type}` block.")


def rankings_have_2_to_20_items(spot: RuleContext) -> Iterator[Violation]:
    if spot.block.type != "ranking" or not spot.block.options:
        return
    items = len(spot.block.options)
    if items < 2:
        yield spot.fault("options", "too_few", "`options` of a ranking must be 2 to 20 items.")
    elif items > 20:
        yield spot.fault("options", "too_many", f"`options` of a ranking must be 2 to 20 items, not {items}.")


def answer_styles_suit_the_type(spot: RuleContext) -> Iterator[Violation]:
    style, styles = spot.block.answer_style, _STYLES.get(spot.block.type)
    if style and styles and style not in styles:
        allowed = " or ".join(f"`{each}`" for each in styles)
        message = f"`answer_style` must be {allowed} on a `{spot.block.type}` block."
        yield spot.fault("answer_style", "not_allowed", message)


def minimum_is_not_above_maximum(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    if block.type in SCALES or block.min is None or block.max is None:
        return
    if block.min > block.max:
        yield spot.fault("min", "too_large", f"`min` must be at most `max`, which is {block.max}.")


def counts_can_be_chosen(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    if block.type != "multi_punch":
        return
    for key, value, least in (("min", block.min, 0), ("max", block.max, 1)):
        if value is None:
            continue
        if value < least:
            yield spot.fault(key, "too_small", f"`{key}` must be at least {least} on a `multi_punch` block.")
        elif block.options and value > len(block.options) and spot.sound("options"):
            message = f"`{key}` must be at most the number of options, which is {len(block.options)}."
            yield spot.fault(key, "too_large", message)


def rank_top_n_is_among_the_items(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    if block.type != "ranking" or block.rank_top_n is None or not spot.sound("options"):
        return
    if block.options and block.rank_top_n > len(block.options):
        message = f"`rank_top_n` must be at most the number of items, which is {len(block.options)}."
        yield spot.fault("rank_top_n", "too_large", message)


def scales_have_their_range(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    if block.type not in SCALES or not spot.sound("min", "max"):
        return
    starts, fewest, most = _POINTS[block.type]
    low, high = block.points
    if block.type == "nps":
        for key, value, fixed in (("min", low, 0), ("max", high, 10)):
            if value != fixed:
                code = "too_small" if value < fixed else "too_large"
                yield spot.fault(key, code, f"`{key}` of an `nps` block is always {fixed}.")
    elif low not in starts:
        code = "too_small" if low < starts[0] else "too_large"
        words = " or ".join(str(start) for start in starts)
        yield spot.fault("min", code, f"`min` must be {words} on a `{block.type}` block.")
    elif not fewest <= high - low + 1 <= most:
        code = "too_small" if high <= low else "too_large"
        least, greatest = low + fewest - 1, low + most - 1
        message = f"`max` must be {least} to {greatest} where `min` is {low}: {fewest} to {most} points."
        yield spot.fault("max", code, message)


def scale_labels_suit_the_points(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    if block.type not in SCALES or block.scale is None:
        return
    labelled = any(option.label for option in block.options)
    for key in ("label_left", "label_center", "label_right"):
        if getattr(block.scale, key) is None:
            continue
        if block.type == "nps":
            message = f"`{key}` is not allowed on an `nps` block, whose anchors are the standard ones."
            yield spot.fault(f"scale.{key}", "not_allowed", message)
        elif labelled and key != "label_center":
            message = f"`{key}` cannot stand beside labels on the points."
            yield spot.fault(f"scale.{key}", "conflicting", message)


def emoji_icons_have_their_emoji(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    if block.type not in SCALES or block.scale is None or block.scale.icon != "emoji":
        return
    if not block.options:
        message = "`options` is required where `scale.icon` is `emoji`: one for each point, with its emoji."
        yield spot.fault("options", "required", message)
    for n, option in enumerate(block.options):
        if not option.emoji:
            message = "`emoji` is required on each point where `scale.icon` is `emoji`."
            yield spot.option_fault(n, "emoji", "required", message)


def actions_have_what_they_give(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    if block.type != "action_block":
        return
    if block.action_kind is None:
        yield spot.fault("action_kind", "required", "`action_kind` is required on an `action_block`.")
        return
    config = block.action_config or ActionConfig()
    needed = _GIVES[block.action_kind]
    given = [key for key in needed if getattr(config, key) is not None]
    words = " or ".join(f"`{key}`" for key in needed)
    if not given and all(spot.sound(f"action_config.{key}") for key in needed):
        key = f"action_config.{needed[0]}" if block.action_config else "action_config"
        yield spot.fault(key, "required", f"`action_config` needs {words} for `{block.action_kind}`.")
    elif len(given) > 1:
        message = f"`action_config` takes either {words}, not both."
        yield spot.fault(f"action_config.{given[1]}", "conflicting", message)
    for key in ("xp_amount", "source_key", "xp_role_id", "role_id"):
        if key not in needed and getattr(config, key) is not None:
            message = f"`{key}` is not allowed where `action_kind` is `{block.action_kind}`."
            yield spot.fault(f"action_config.{key}", "not_allowed", message)
    if config.source_key is not None and not names.looks_like_score(config.source_key):
        message = "`source_key` must be a score variable, such as `score` or `score_<bucket>`."
        yield spot.fault("action_config.source_key", "unknown_reference", message)


def pauses_have_their_seconds(spot: RuleContext) -> Iterator[Violation]:
    continue_ = spot.block.continue_
    if spot.block.type not in STATEMENTS or continue_ is None:
        return
    if continue_.after == "pause" and continue_.pause is None and spot.sound("continue.after"):
        message = "`pause` is required where `after` is `pause`: the seconds to wait."
        yield spot.fault("continue.pause", "required", message)


def feedback_has_a_correct_answer(spot: RuleContext) -> Iterator[Violation]:
    block = spot.block
    if block.type not in QUESTIONS or not (block.when_correct or block.when_incorrect):
        return
    named = block.correct_answer_ids or block.correct_answer_index is not None
    if not named and not any(path.startswith(spot.place.at("correct_answer_i")) for path in spot.faulty):
        key = "when_correct" if block.when_correct else "when_incorrect"
        yield spot.fault(
            "correct_answer_ids", "required", f"`correct_answer_ids` is required where `{key}` is sent."
        )


def scores_have_buckets(spot: RuleContext, bucket_keys: Collection[str] | None) -> Iterator[Violation]:
    """Keys of score values and score variables, held against the declared buckets, if there are any."""
    if bucket_keys is None:
        return
    known = ", ".join(sorted(bucket_keys)) or "none"
    declare = f"The buckets are: {known}. Another is declared in the project's `scoring.buckets`."
    for n, option in enumerate(spot.block.options):
        for key in option.score_values or ():
            if key not in bucket_keys:
                written = Bucket(key).key
                hint = f"Write it {written}." if written in bucket_keys else declare
                message = f"`score_values` has the key {key}, which matches no bucket. {hint}"
                yield spot.option_fault(n, f"score_values.{key}", "unknown_reference", message)
    config = spot.block.action_config
    source = config.source_key if config else None
    variables = names.script_variables(scoring_enabled=True, bucket_keys=tuple(bucket_keys))
    if source is not None and names.looks_like_variable(source) and source not in variables:
        message = f"`source_key` {source} matches no bucket. {declare}"
        yield spot.fault("action_config.source_key", "unknown_reference", message)


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
    feedback_has_a_correct_answer,
)
