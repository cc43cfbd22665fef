"""The parts of a script that depend on answers: by the condition of a block, or by `ends` and `quotas` of its
project.

    depends_on_answers(block, at, script, dependence)   whether a block does
    of_settings(script, ends=…, …)                      what these settings make depend on answers
    decided_at(where, script=…)                         where an expression of these settings is certain
    column_of_answer(where)                             where it names an answer

An end that screens out decides who reaches the blocks behind it, and who completes, as a quota does. Each end
decides what is shown at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surveys.engine.language import expressions, names, references
from surveys.engine.script import Block, Script

LANGUAGE = "language"  # a block of this name is written in title case
SCREEN_OUT = "screen_out"  # the key of an end


@dataclass(frozen=True, slots=True)
class Dependence:
    """What the settings of a project make depend on answers.

    `screened_from` is the index of the first block that only those reach whom no end over answers has
    screened out; None for no block. `shown_at_end`: the words at the end do. `completes`: who is rewarded at
    the end does, by the answers to `questions`, the indexes of blocks.
    """

    screened_from: int | None = None
    shown_at_end: bool = False
    completes: bool = False
    questions: frozenset[int] = frozenset()

    def decides(self, at: int, script: Script) -> bool:
        """Whether the settings show the block `at` this index after some answers alone. The outro follows
        the blocks.
        """
        if at >= len(script.blocks):
            return self.shown_at_end
        return self.screened_from is not None and self.screened_from <= at


NOTHING = Dependence()


def of_settings(
    script: Script,
    *,
    ends: Sequence[Mapping[str, Any]],
    quotas: Sequence[Mapping[str, Any]],
    rewards_all: bool,
) -> Dependence:
    """What the ends and quotas of a project make depend on answers. Their expressions are valid.

    `rewards_all`: people who are screened out get what those get who complete.
    """
    deciding = [each["where"] for each in quotas if column_of_answer(each["where"]) is not None]
    places: list[int | None] = []
    screened_from = None
    for n, end in enumerate(ends):
        places.append(decided_at(end["where"], script=script))
        texts = [each["where"] for each in ends[: n + 1] if column_of_answer(each["where"]) is not None]
        if not (end.get(SCREEN_OUT) and texts):
            continue
        deciding += [] if rewards_all else texts
        reached = [place for place in places if place is not None]
        if screened_from is None and len(reached) == len(places):
            screened_from = max(reached)
    is_shown = bool(deciding) or any(column_of_answer(end["where"]) is not None for end in ends)
    questions = {n for text in dict.fromkeys(deciding) for n in _questions(text, script)}
    return Dependence(screened_from, is_shown, bool(deciding), frozenset(questions))


def depends_on_answers(block: Block, at: int, script: Script, dependence: Dependence) -> bool:
    """Whether some people alone see the block `at` this index, by its condition or by the settings.

    A condition over fields counts too: an anonymous response has its fields.
    """
    return block.precondition is not None or dependence.decides(at, script)


def decided_at(text: str, *, script: Script) -> int | None:
    """The first place of the script at which no answer to come can change the expression.

    None if it names a score, which grows until the end.
    """
    at = 0
    for mention in expressions.parse(text).mentions:
        if mention.name == LANGUAGE or names.field_key(mention.name) is not None:
            continue
        place = references.resolve(mention.name, script)
        if not isinstance(place, int):
            return None
        at = max(at, place + 1)
    return at


def column_of_answer(text: str) -> int | None:
    """The column of the first name that an answer could change; None if there is none."""
    mentions = expressions.parse(text).mentions
    of_answers = (
        each.column for each in mentions if each.name != LANGUAGE and names.field_key(each.name) is None
    )
    return next(of_answers, None)


def _questions(text: str, script: Script) -> set[int]:
    """The indexes of the blocks on which an expression depends."""
    reader = Block(type="content_block", precondition=text)
    return references.needed(reader, script, len(script.blocks))
