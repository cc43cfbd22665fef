"""What a conversation says, for the interface and the pages to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from surveys.engine.script import Block, Script
from surveys.engine.walk import answers, presentation, runner
from surveys.engine.walk.answers import Reply
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services.conversations import tokens
from surveys.services.conversations.tokens import TokenContext
from xp.services.standings import Totals


@dataclass(frozen=True, slots=True)
class Step:
    """What waits for the respondent.

    `block` is as they see it. `reply` is what they answered here before they went back (engine/answers:
    Reply), to be offered again; None where there is none. `given` is the XP that an action block gave.
    """

    block: Block
    progress: float
    can_go_back: bool
    reply: Reply | None
    given: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """One step that is past: the block as it was seen, and the answer in words, empty for a skip."""

    block: Block
    reply: Reply | None
    answer: str


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A conversation as it stands. `resumed` says that it had been begun before.

    `outro` holds, at the end, the outro's blocks as this respondent sees them: the thank-you, and those
    actions that gave them something.
    """

    conversation: Conversation
    project: Project
    script: Script
    state: State
    step: Step | None
    feedback: str | None
    outro: Sequence[Block]
    hearer: TokenContext
    resumed: bool = False

    @property
    def is_completed(self) -> bool:
        return self.conversation.completed_at is not None

    @property
    def thank_you(self) -> str | None:
        """The words at the end."""
        return next((block.prompt for block in self.outro if block.type == "content_block"), None)

    @property
    def at(self) -> datetime:
        return self.hearer.at

    def earned_xp(self) -> int:
        """The XP that this conversation has given so far, a deduction below 0."""
        return sum(self.hearer.given.values())

    def totals(self) -> Totals | None:
        return self.hearer.totals

    def history(self) -> list[Exchange]:
        """The steps so far, first to last, made when asked for."""
        return [self._exchange(n) for n in range(len(self.state.path))]

    def latest(self) -> Exchange | None:
        """The step that was left last."""
        return self._exchange(len(self.state.path) - 1) if self.state.path else None

    def last_feedback(self) -> str | None:
        """What is said about the answer just given: still known when the page is loaded anew."""
        if self.feedback or not self.state.path:
            return self.feedback
        block = self._block(self.state.path[-1])
        reply = self.state.replies.get(block.id or 0)
        text = runner.feedback(self.script, block, reply) if reply else None
        return text and _filled(self.script, self.state, self.hearer, block, text)

    def _block(self, block_id: int) -> Block:
        return self.script.blocks[self.script.index_by_id[block_id]]

    def _exchange(self, n: int) -> Exchange:
        block_id = self.state.path[n]
        block, reply = self._block(block_id), self.state.replies.get(block_id)
        then = runner.state_at_step(self.script, self.state, n)
        given = _given_up_to(block, self.hearer, self.script)
        told = tokens.values(self.hearer, block, [block.prompt], given=given)
        seen = presentation.present(self.script, then, block, seed=self.conversation.seed, token_values=told)
        return Exchange(seen, reply, answers.display_text(block, reply))


def render(
    *,
    conversation: Conversation,
    script: Script,
    state: State,
    can_go_back: bool,
    feedback: str | None = None,
    resumed: bool = False,
    at: datetime,
) -> ConversationView:
    """Put a conversation into words. `feedback` has its tokens still to be filled in."""
    hearer = tokens.for_conversation(conversation, script, state, at=at)
    block = runner.current_block(script, state)
    step = None
    if block is not None:
        told = tokens.values(hearer, block, [block.prompt])
        step = _step(
            conversation, script, state, block, told, can_go_back, hearer.given.get(block.id or 0, 0)
        )
    return ConversationView(
        conversation=conversation,
        project=conversation.project,
        script=script,
        state=state,
        step=step,
        feedback=feedback and _filled(script, state, hearer, None, feedback),
        outro=_outro(conversation, script, state, hearer) if step is None else (),
        hearer=hearer,
        resumed=resumed,
    )


def _step(
    conversation: Conversation,
    script: Script,
    state: State,
    block: Block,
    told: Mapping[str, str],
    can_go_back: bool,
    given: int,
) -> Step:
    return Step(
        block=presentation.present(script, state, block, seed=conversation.seed, token_values=told),
        progress=runner.progress(script, state),
        can_go_back=can_go_back,
        reply=state.replies.get(block.id or 0),
        given=given,
    )


def _outro(conversation: Conversation, script: Script, state: State, hearer: TokenContext) -> Sequence[Block]:
    """The outro as this respondent sees it; nothing before the end."""
    if conversation.completed_at is None:
        return ()
    shown = [block for block in script.outro if block.action_kind is None or block.id in state.fired]
    return [
        presentation.present(
            script,
            state,
            block,
            seed=conversation.seed,
            token_values=tokens.values(hearer, block, [block.prompt]),
        )
        for block in shown
    ]


def _filled(script: Script, state: State, hearer: TokenContext, block: Block | None, text: str) -> str:
    return runner.fill(script, state, text, tokens.values(hearer, block, [text]))


def _given_up_to(block: Block, hearer: TokenContext, script: Script) -> Mapping[int, int]:
    """What had been given when a block was shown."""
    at, index = script.index_by_id[block.id or 0], script.index_by_id
    return {key: xp for key, xp in hearer.given.items() if index.get(key, at + 1) <= at}
