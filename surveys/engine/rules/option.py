"""The rules of one block's options, and the limits of the chat platform."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from communities.ground.sent_text import appearance
from surveys.engine.intake.emojis import count_renderable
from surveys.engine.intake.fields import MAX_MENU_OPTIONS, MAX_OPTIONS
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import CHOICES, SCALES, WITH_ITEMS, Violation
from surveys.engine.walk import presentation

MAX_LABELS = 25_000  # characters of all labels and emoji of a block: a page draws them up to four times
MAX_MENU_LABELS = 60_000  # the same of a long menu, which a page draws once

MAX_PICTURES = 30  # of the options of a block

CHAT_OPTIONS = 25
CHAT_BUTTON = 40
CHAT_SELECT = 50
CHAT_TEXT = 3_900  # of a message's 4,096, with room for help and for the note about who will know the answer
CHAT_SIGN = 12  # characters that a line of the legend has around its label


def values_differ(context: RuleContext) -> Iterator[Violation]:
    """No two options look the same (rule 3.5).

    Case matters, as in comparisons of answers; options that differ only in case make a warning.
    """
    first: dict[str, int] = {}
    for n, option in enumerate(context.block.options):
        other = first.setdefault(appearance(option.value), n) if option.value else n
        if other == n:
            continue
        message = "`value` is already used by another option of this block."
        if option.value != context.block.options[other].value:
            message = (
                f"`value` looks the same as that of option {other + 1}: they differ only in white space, or "
                "in characters that nobody sees."
            )
        yield context.option_violation(n, "value", "duplicate", message)


def scale_options_present_the_points(context: RuleContext) -> Iterator[Violation]:
    """One option for each point, with the point's number as its value and an emoji or a label."""
    block = context.block
    if block.type not in SCALES or not context.is_valid("min", "max", "options"):
        return
    low, high = block.points
    if not 0 < high - low + 1 <= 11:  # reported by the rule of the range
        return
    points = [str(point) for point in range(low, high + 1)]
    if len(block.options) != len(points):
        code = "too_few" if len(block.options) < len(points) else "too_many"
        message = f"`options` of a scale must be one for each point, {low} to {high}, or none."
        yield context.violation("options", code, message)
    for n, option in enumerate(block.options):
        if option.value not in points:
            message = f"`value` must be the number of a point, {low} to {high}."
            yield context.option_violation(n, "value", "invalid_choice", message)
        has_scores = option.score_values or block.scores_ignored
        if not (option.label or option.emoji or has_scores):
            message = "`label` or `emoji` is required on the option of a scale point."
            yield context.option_violation(n, "label", "required", message)


def options_fit_a_step(context: RuleContext) -> Iterator[Violation]:
    """Each text of an option has a limit, and so has the sum of a hundred options (rule 3.38)."""
    block = context.block
    if len(block.options) > MAX_OPTIONS and not block.is_long_menu:  # reported by the rule of the number
        return
    labels = sum(len(option.display_text) + len(option.emoji or "") for option in block.options)
    most = MAX_MENU_LABELS if block.is_long_menu else MAX_LABELS
    if labels > most:
        message = (
            f"The labels (else values) and emoji of `options` must have at most {most:,} characters "
            f"together, not {labels:,}."
        )
        yield context.violation("options", "too_long", message)
        return
    size = presentation.block_bytes(block)
    most = presentation.MAX_MENU_BLOCK if block.is_long_menu else presentation.MAX_BLOCK
    if size > most:
        message = f"`options` must be shorter: as JSON a block has at most {most:,} bytes, not {size:,}."
        yield context.violation("options", "too_long", message)


def exclusive_options_are_of_a_multi_punch(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.151."""
    if context.block.type == "multi_punch":
        return
    for n, option in enumerate(context.block.options):
        if option.is_exclusive:
            message = "`is_exclusive` is only allowed on the options of a `multi_punch` block."
            yield context.option_violation(n, "is_exclusive", "not_allowed", message)


def one_option_of_a_choice_has_a_text(context: RuleContext) -> Iterator[Violation]:
    """Rule 3.152."""
    others = [n for n, option in enumerate(context.block.options) if option.is_other]
    if context.block.type in CHOICES:
        for n in others[1:]:
            message = "`is_other` is true on another option of this block already: only one can have a text."
            yield context.option_violation(n, "is_other", "too_many", message)
        return
    for n in others:
        message = "`is_other` is only allowed on the options of `single_punch` and `multi_punch` blocks."
        yield context.option_violation(n, "is_other", "not_allowed", message)


def pictures_are_of_choices_and_rankings(context: RuleContext) -> Iterator[Violation]:
    """Rules 3.155 and 3.156."""
    pictured = [n for n, option in enumerate(context.block.options) if option.image_url]
    if context.block.type not in WITH_ITEMS:
        for n in pictured:
            message = "`image_url` is only allowed on the options of choices and rankings."
            yield context.option_violation(n, "image_url", "not_allowed", message)
    elif len(pictured) > MAX_PICTURES:
        message = f"At most {MAX_PICTURES} options of a block have pictures, not {len(pictured)}."
        yield context.option_violation(pictured[MAX_PICTURES], "image_url", "too_many", message)


def only_a_menu_has_many_options(context: RuleContext) -> Iterator[Violation]:
    """Rules 3.36 and 3.157."""
    options = len(context.block.options)
    if options > MAX_OPTIONS and not context.block.is_long_menu:
        message = (
            f"`options` must hold at most {MAX_OPTIONS}, not {options:,}. A `single_punch` whose "
            f"`answer_style` is `select_menu` may have up to {MAX_MENU_OPTIONS:,}."
        )
        yield context.violation("options", "too_many", message)


RULES: tuple[Callable[[RuleContext], Iterator[Violation]], ...] = (
    only_a_menu_has_many_options,
    pictures_are_of_choices_and_rankings,
    one_option_of_a_choice_has_a_text,
    exclusive_options_are_of_a_multi_punch,
    values_differ,
    options_fit_a_step,
    scale_options_present_the_points,
)


def fits_chat_poll(context: RuleContext) -> Iterator[Violation]:
    """Under a poll for everybody, a menu cannot keep several choices while a text is written (rule 3.154)."""
    for n, option in enumerate(context.block.options):
        if option.is_other and context.block.type == "multi_punch":
            message = "`is_other` is not allowed on a `multi_punch` poll that is delivered by chat."
            yield context.option_violation(n, "is_other", "not_allowed", message)


def fits_chat(context: RuleContext) -> Iterator[Violation]:
    """The label, or else the value, fits on a button or in a menu of the chat platform (rule 3.20).

    Lengths are counted in code points, as everywhere in the interface. `emoji_only` shows no text.
    """
    block = context.block
    if len(block.options) > CHAT_OPTIONS:
        message = f"`options` must hold at most {CHAT_OPTIONS} if the project is delivered by chat."
        yield context.violation("options", "too_many", message)
    # The text of the message: prompt and description, and the meaning of emoji, points or ranks.
    has_legend = block.answer_style == "emoji_only" or block.type in SCALES or block.type == "ranking"
    legend = sum(len(option.display_text) + CHAT_SIGN for option in block.options) if has_legend else 0
    if len(block.words) + len(block.group or "") + legend > CHAT_TEXT:
        message = (
            f"`prompt`, `description` and the labels of `options` must have at most {CHAT_TEXT:,} characters "
            "together on the chat platform."
        )
        yield context.violation("prompt", "too_long", message)
    if block.answer_style == "emoji_only":
        return
    longest = CHAT_SELECT if block.answer_style == "select_menu" else CHAT_BUTTON
    for n, option in enumerate(block.options):
        key = "label" if option.label else "value"
        length = len(option.display_text)
        if length > longest:
            message = f"`{key}` must have at most {longest} characters on the chat platform, not {length}."
            yield context.option_violation(n, key, "too_long", message)
        if count_renderable(option.display_text) + count_renderable(option.emoji or "") > 1:
            message = f"`{key}` and `emoji` must hold at most one emoji together on the chat platform."
            yield context.option_violation(n, key, "too_many_emoji", message)
