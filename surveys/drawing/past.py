"""The past steps above the current one: their number and length are limited by the size of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from communities.ground.translation import say
from surveys.drawing import rewards, widgets
from surveys.engine.intake import videos
from surveys.engine.language import markup, piping
from surveys.engine.walk import answers, groups
from surveys.services.conversations.view import Exchange, WalkView

MAX_PAST_STEPS = 50  # on one page (rule 6.40)
# Limit for the past steps on one page. Beyond this limit each prompt and each answer is cut, because the page
# must stay below 1 MB even if the HTML of each character takes 5 bytes.
MAX_PAST_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True)
class PastStep:
    """One past step. `reply` is the answer in words, `given` the XP of an action block.

    `sign` is the emoji of the chosen option; with `is_sign_alone`, only screen readers get the words.
    `follow_ups` are further questions about the answer, each with its answer; empty for a skip.
    """

    block_id: int | None
    prompt: str
    reply: str = ""
    sign: str = ""
    is_sign_alone: bool = False
    is_skipped: bool = False
    given: str = ""
    follow_ups: Sequence[tuple[str, str]] = ()

    @property
    def size(self) -> int:
        """Its characters."""
        asked = sum(len(question) + len(answer) for question, answer in self.follow_ups)
        return len(self.prompt) + len(self.reply) + asked


@dataclass(frozen=True, slots=True)
class Past:
    """A part of the past steps, oldest first.

    `earlier` and `later` are the steps before which the neighbouring parts end; None if there is no such
    part.
    """

    steps: Sequence[PastStep] = ()
    earlier: int | None = None
    later: int | None = None


def past_of(view: WalkView, before: int | None, *, count: int | None = None) -> Past:
    """The last past steps before the step `before`, or the latest.

    For a poll only the first `count` steps are drawn. Other steps are drawn on request, and are neither
    filled in nor rendered until then.
    """
    count = view.past_count if count is None else count
    end = count if before is None else max(1, min(before, count))
    first = max(0, end - MAX_PAST_STEPS)
    screens = groupby(view.history(first, end), lambda each: groups.first_index(view.script, each.block))
    steps = [_of_screen(view, list(exchanges)) for _, exchanges in screens]
    if sum(step.size for step in steps) > MAX_PAST_CHARACTERS:
        steps = [_shortened(step) for step in steps]
    later = min(end + MAX_PAST_STEPS, count) if end < count else None
    return Past(steps, earlier=first or None, later=later)


def _of_screen(view: WalkView, exchanges: Sequence[Exchange]) -> PastStep:
    """The past step of one question, or of the rows of a group: under its title, each with its answer."""
    steps = [step_of(view, each) for each in exchanges]
    if len(steps) == 1:
        return steps[0]
    title = piping.Authored(markup.escape(exchanges[0].block.group or ""))
    rows = [
        f"{prompt}{' ' if prompt.endswith(('?', ':', '.', '!', '…')) else ': '}{step.reply or say('Skipped')}"
        for step, each in zip(steps, exchanges, strict=True)
        for prompt in [markup.plain(each.block.prompt)]
    ]
    return PastStep(steps[-1].block_id, title, "\n".join(rows))


def step_of(view: WalkView, exchange: Exchange) -> PastStep:
    """A past step as the page draws it."""
    block = rewards.shown(view, exchange.block)
    is_skipped = block.asks and not answers.is_answer(exchange.reply)
    said = widgets.said(block, exchange.reply)
    title = piping.Authored(markup.escape(block.group or ""))
    texts = [title, block.prompt] if title else [block.prompt]
    if not block.asks:
        texts += filter(None, [block.description, videos.link(block.video_url)])
    return PastStep(
        block.id,
        piping.joined("\n" if title else "\n\n", texts) if len(texts) > 1 else block.prompt,
        said.text,
        said.sign,
        said.is_sign_alone,
        is_skipped,
        rewards.in_short(view, block),
        [(str(each["question"]), each["answer"] or "") for each in exchange.follow_ups],
    )


def cut(text: str, most: int) -> str:
    """The text, which ends with an ellipsis if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    shorter = f"{text[: most - 1].rstrip()}…"
    return piping.Authored(shorter) if type(text) is piping.Authored else shorter


def _shortened(step: PastStep) -> PastStep:
    most = MAX_PAST_CHARACTERS // MAX_PAST_STEPS // 2 // (1 + len(step.follow_ups))
    asked = [(cut(question, most), cut(answer, most)) for question, answer in step.follow_ups]
    return replace(step, prompt=cut(step.prompt, most), reply=cut(step.reply, most), follow_ups=asked)
