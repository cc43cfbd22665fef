"""What the options of one block must be, and whether the chat platform can show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from surveys.engine.intake.emojis import count_renderable
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import SCALES, Violation

CHAT_OPTIONS = 25
CHAT_BUTTON = 40
CHAT_SELECT = 50


def values_differ(spot: RuleContext) -> Iterator[Violation]:
    """Exact in case, as answers are compared."""
    seen: set[str] = set()
    for n, option in enumerate(spot.block.options):
        if option.value in seen and option.value:
            yield spot.option_fault(
                n, "value", "duplicate", "`value` is that of another option of this block."
            )
        seen.add(option.value)


def scale_options_present_the_points(spot: RuleContext) -> Iterator[Violation]:
    """One for each point, its value the point's number, carrying an emoji or a label."""
    block = spot.block
    if block.type not in SCALES or not spot.sound("min", "max", "options"):
        return
    low, high = block.points
    if not 0 < high - low + 1 <= 11:  # another rule tells of the range
        return
    points = [str(point) for point in range(low, high + 1)]
    if len(block.options) != len(points):
        code = "too_few" if len(block.options) < len(points) else "too_many"
        message = f"`options` of a scale must be one for each point, {low} to {high}, or none."
        yield spot.fault("options", code, message)
    for n, option in enumerate(block.options):
        if option.value not in points:
            message = f"`value` must be the number of a point, {low} to {high}."
            yield spot.option_fault(n, "value", "invalid_choice", message)
        is_weighed = option.score_values or spot.block.scores_ignored
        if not (option.label or option.emoji or is_weighed):
            message = "`label` or `emoji` is required on the option of a scale point."
            yield spot.option_fault(n, "label", "required", message)


RULES: tuple[Callable[[RuleContext], Iterator[Violation]], ...] = (
    values_differ,
    scale_options_present_the_points,
)


def fits_chat(spot: RuleContext) -> Iterator[Violation]:
    """What is seen (the label, else the value) fits on a button or in a menu (decisions 14.17).

    Lengths are code points, as everywhere in the interface. `emoji_only` draws no text.
    """
    block = spot.block
    if len(block.options) > CHAT_OPTIONS:
        message = f"`options` may hold at most {CHAT_OPTIONS} where the project is delivered by chat."
        yield spot.fault("options", "too_many", message)
    if block.answer_style == "emoji_only":
        return
    widest = CHAT_SELECT if block.answer_style == "select_menu" else CHAT_BUTTON
    for n, option in enumerate(block.options):
        key = "label" if option.label else "value"
        if len(option.seen) > widest:
            message = (
                f"`{key}` may have at most {widest} characters on the chat platform, not {len(option.seen)}."
            )
            yield spot.option_fault(n, key, "too_long", message)
        if count_renderable(option.seen) + count_renderable(option.emoji or "") > 1:
            message = f"`{key}` and `emoji` may hold one emoji together on the chat platform."
            yield spot.option_fault(n, key, "too_many_emoji", message)
