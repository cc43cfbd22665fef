"""Answers that a link fills in ahead, such as `?color=red&skip=1` in the address of a page (rule 6.37).

A value that does not answer its question is ignored. The control shows a filled-in value to the respondent,
who may change it. With `skips`, the walk passes questions that are answered ahead, except:

- the last question, and the question of a poll: only the respondent ends a conversation or votes
- a question that was answered or skipped before: a respondent who went back can change the answer
- a ranking: its order counts only after the respondent changes or confirms it (rule 6.26)
- a graded question of a quiz: its answer could not be changed afterwards (rule 5.15)
- an option with `is_other`: its text is written by the respondent alone (rule 6.156)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from communities.ground.cached import cached_property
from communities.ground.sent_text import sent_text
from surveys.engine.script import SCALES, Block, Script
from surveys.engine.walk import answers, presentation, runner
from surveys.engine.walk.answers import InvalidAnswer, Reply
from surveys.engine.walk.runner import State

_SEVERAL = frozenset({"multi_punch", "ranking"})


@dataclass(frozen=True, slots=True)
class Prefill:
    """Texts by block id. Each text is a typed answer, or the value or label of an option."""

    texts: Mapping[int, Sequence[str]] = field(default_factory=dict)
    skips: bool = False


NOTHING = Prefill()


def reply_to(script: Script, block: Block, prefill: Prefill) -> Reply | None:
    """The filled-in reply to a question; None if there is none or it is invalid."""
    texts = prefill.texts.get(block.id or 0)
    if not texts or not block.asks:
        return None
    try:
        return parse(presentation.effective_block(script, block), texts)
    except InvalidAnswer:
        return None


def parse(block: Block, texts: Sequence[str]) -> Reply | None:
    """The reply that these texts give; None if they are blank. Raises InvalidAnswer if they are invalid.

    Several options are given by several texts, or by one text with commas if no option contains a comma. For
    a question with one answer the last text counts.
    """
    names = _Names(block)
    named = list(map(names.value_of, texts))
    value: object = names.several(named) if block.type in _SEVERAL else named[-1]
    if not value or (isinstance(value, str) and not sent_text(value)):
        return None
    return answers.parse_choice(block, {"value": value})


class _Names:
    """The values and the labels of a block's options, read once for all texts."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self._values = {
            name: option.value for option in block.options for name in (option.value, option.display_text)
        }

    def several(self, texts: Sequence[str]) -> list[str]:
        """The values of the options that the texts name."""
        has_commas = any("," in name for name in self._values)
        parts = [sent_text(part) for text in texts for part in ([text] if has_commas else text.split(","))]
        return [self.value_of(part) for part in parts if part]

    def value_of(self, text: str) -> str:
        """The value of the only option that equals the text except for case; else the text."""
        text = sent_text(text)
        if text in self._values or self.block.type in SCALES:
            return text
        alike = self._alike.get(text.casefold(), ())
        return next(iter(alike)) if len(alike) == 1 else text

    @cached_property
    def _alike(self) -> Mapping[str, Set[str]]:
        """The values of options, by the values and labels of the options without case."""
        alike: dict[str, set[str]] = {}
        for name, value in self._values.items():
            alike.setdefault(name.casefold(), set()).add(value)
        return alike


def passed(script: Script, state: State, prefill: Prefill) -> State:
    """The state at the first step that the respondent has to answer or read."""
    walk = runner.Walk(script, state)
    while (reply := given_reply(script, walk.state, prefill)) is not None:
        state = walk.state
        if walk.answer(reply).completes:
            return state
    return walk.state


def given_reply(script: Script, state: State, prefill: Prefill) -> Reply | None:
    """The reply that passes the current question; None for the last question."""
    block = runner.current_block(script, state)
    if not prefill.skips or block is None or script.is_poll or block.type == "ranking":
        return None
    if block.id in state.replies or (script.scoring_enabled and answers.is_graded(block)):
        return None
    reply = reply_to(script, block, prefill)
    return None if reply is not None and answers.lacks_text(block, reply) else reply
