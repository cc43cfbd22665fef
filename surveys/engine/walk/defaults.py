"""Defaults of a step, used alike by pages, chat and interface (rule 3.18).

They are the texts and signs that the author did not choose: buttons, help under a question, the ends and
icons of scales, and the number of options in an answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from unicodedata import east_asian_width

from communities.ground.translation import number, say
from surveys.engine.intake.fields import MAX_PAUSE
from surveys.engine.script import SCALES, STATEMENTS, Block, Continue, Option, Scale
from surveys.engine.walk import formats

NPS_ENDS = ("Not at all likely", "Extremely likely")  # the standard ends of an NPS question
ACKNOWLEDGED = "Okay"  # the button of a statement
CONTINUE = "Continue"  # the button of a question
VOTE = "Vote"  # the button of a poll's question
SKIP = "Skip"  # the second button of an optional question
WORDS_A_MINUTE = 200  # that people read


def ends_of(block: Block) -> tuple[str, str, str]:
    """The labels at the left end, the centre and the right end of a scale; empty without a label.

    An even number of points has no centre.
    """
    if block.type == "nps":
        return NPS_ENDS[0], "", NPS_ENDS[1]
    scale, (low, high) = block.scale, block.points
    if scale is None:
        return "", "", ""
    centre = (scale.label_center or "") if (high - low) % 2 == 0 else ""
    return scale.label_left or "", centre, scale.label_right or ""


def icon_of(block: Block) -> str:
    """The icon of a scale's points: `stars`, `numbers` or `emoji`."""
    return (block.scale and block.scale.icon) or ("stars" if block.type == "rating" else "numbers")


def stars_of(block: Block, value: str) -> tuple[int, int] | None:
    """The number of stars at a point, and of all; None for a scale that is not drawn as stars."""
    low, high = block.points
    if icon_of(block) != "stars" or any(option.label for option in block.options):
        return None
    return int(value) - low + 1, high - low + 1


def words_of_point(block: Block, value: str) -> str:
    """A point of a scale as people read it: its stars (“4 of 5 ★”), its label, its emoji, or its number."""
    if stars := stars_of(block, value):
        return f"{stars[0]} of {stars[1]} \N{BLACK STAR}"
    option = next((each for each in block.options if each.value == value), None)
    sign = option.emoji if option and not (option.emoji or "").startswith("<") else None
    return (option and option.label) or sign or value


def choice_limits(block: Block) -> tuple[int, int]:
    """The fewest and the most options that a multi punch takes.

    The fewest is 0 if the question is optional and sets no minimum; an answer without options is then a skip.
    """
    least = block.min or 0
    most = len(block.together) or 1
    return max(least, 1) if block.required else least, min(block.max or most, most)


def ranked_count(block: Block) -> int:
    """The number of items that a respondent ranks."""
    return block.rank_top_n or len(block.options)


def pause_of(block: Block) -> int | None:
    """The seconds until a text continues by itself: the author's, or as many as reading it takes.

    None for a text that waits for a button.
    """
    if block.continue_ is None or block.continue_.after != "pause" or not block.continue_.pause:
        return None
    text = f"{block.prompt} {block.description or ''}"
    wide = sum(east_asian_width(sign) in "WF" for sign in text)  # of scripts without spaces
    to_read = math.ceil((len(text.split()) + wide / 2) * 60 / WORDS_A_MINUTE)
    return min(max(block.continue_.pause, to_read), MAX_PAUSE)


def button_of(block: Block, *, is_poll: bool = False) -> str:
    """The label of the button that leaves a step."""
    label = block.continue_.label if block.continue_ else None
    if block.type in STATEMENTS:
        return label or say(ACKNOWLEDGED)
    return say(VOTE if is_poll else CONTINUE)


def help_of(block: Block) -> str:
    """The sentence under a question about the answers that it accepts; empty if none is needed."""
    match block.type:
        case "multi_punch":
            return _choice_help(block)
        case "open_numeric":
            return _number_help(block)
        case "open_text":
            return formats.help_of(block.format)
        case "ranking":
            count = ranked_count(block)
            if count == len(block.options):
                return say("Put all items in order, best first.")
            return say("Choose your best {count}, best first. The others are not counted.", count=count)
    return ""


def _choice_help(block: Block) -> str:
    low, high = block.min, block.max
    if low is not None and high is not None:
        if low == high:
            return say("Choose {count}.", count=low)
        return say("Choose {fewest} to {most}.", fewest=low, most=high)
    if low is not None and low > 1:
        return say("Choose at least {count}.", count=low)
    return say("Choose all that apply.") if high is None else say("Choose up to {count}.", count=high)


def _number_help(block: Block) -> str:
    low, high = block.min, block.max
    bounds = {"least": low, "most": high}
    values = {name: number(bound) for name, bound in bounds.items() if bound is not None}
    return say(_NUMBERS[bool(block.whole), low is not None, high is not None], **values)


_NUMBERS = {  # by whether it is whole, and has a least and a greatest
    (True, True, True): "A whole number from {least} to {most}.",
    (True, True, False): "A whole number, at least {least}.",
    (True, False, True): "A whole number, at most {most}.",
    (True, False, False): "A whole number.",
    (False, True, True): "A number from {least} to {most}.",
    (False, True, False): "A number, at least {least}.",
    (False, False, True): "A number, at most {most}.",
    (False, False, False): "A number.",
}


def effective(block: Block, *, is_poll: bool) -> Block:
    """The block with every default filled in, so the code that draws it needs no defaults."""
    continue_ = block.continue_ or Continue()
    label, pause = button_of(block, is_poll=is_poll), pause_of(block) or continue_.pause
    defaults: dict[str, Any] = {"continue_": Continue(continue_.after, pause, label)}
    if block.type in SCALES:
        defaults |= _of_scale(block)
    elif block.type == "multi_punch":
        defaults["min"], defaults["max"] = choice_limits(block)
    elif block.type == "open_numeric":
        defaults["whole"] = bool(block.whole)
    elif block.type == "ranking":
        defaults["rank_top_n"] = ranked_count(block)
    return replace(block, **defaults)


def _of_scale(block: Block) -> dict[str, Any]:
    """The ends of a scale, and an option for each point that has the label of the point."""
    low, high = block.points
    left, centre, right = ends_of(block)
    by_value = {option.value: option for option in block.options}
    points = [by_value.get(str(n)) or Option(str(n)) for n in range(low, high + 1)]
    return {
        "min": low,
        "max": high,
        "scale": Scale(icon_of(block), left or None, centre or None, right or None),
        "options": tuple(replace(point, label=point.display_text) for point in points),
    }
