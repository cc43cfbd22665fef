"""A conversation as the interface and the pages show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from surveys.engine.script import Block, Script
from surveys.engine.walk import answers, presentation, runner
from surveys.engine.walk.answers import Reply
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services.conversations import tokens
from surveys.services.conversations.loading import LoadedConversation
from surveys.services.conversations.tokens import TokenContext
from xp.services.standings import Totals


@dataclass(frozen=True, slots=True)
class Step:
    """The block that waits for the respondent, as they see it.

    `reply` is their earlier answer here (engine/walk/answers: Reply), offered again after a step back; None
    if there is none. `given` is the XP that an action block gave.
    """

    block: Block
    progress: float
    can_go_back: bool
    reply: Reply | None
    given: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """A past step: the block as it was seen, and the answer in words, empty for a skip."""

    block: Block
    reply: Reply | None
    answer: str


@dataclass(frozen=True)
class ConversationView:
    """A conversation as it stands after a move. Each part is worked out when it is first read.

    `unfilled_feedback` is the graded answer's `when_correct` or `when_incorrect`, its tokens not filled in.
    `resumed` says that the conversation had begun earlier.
    """

    loaded: LoadedConversation
    at: datetime
    unfilled_feedback: str | None = None
    resumed: bool = False

    @property
    def conversation(self) -> Conversation:
        return self.loaded.conversation

    @property
    def project(self) -> Project:
        return self.loaded.conversation.project

    @property
    def script(self) -> Script:
        return self.loaded.script

    @property
    def state(self) -> State:
        return self.loaded.state

    @property
    def is_completed(self) -> bool:
        return self.loaded.is_completed

    @cached_property
    def context(self) -> TokenContext:
        """What tokens stand for, for this respondent."""
        return tokens.for_conversation(self.loaded, at=self.at)

    @cached_property
    def step(self) -> Step | None:
        """What waits for the respondent; None at the end."""
        block = self.loaded.block
        if block is None:
            return None
        return Step(
            block=self.present(self.state, block),
            progress=runner.progress(self.script, self.state),
            can_go_back=self.loaded.can_go_back_at(self.at),
            reply=self.state.replies.get(block.id or 0),
            given=self.context.given.get(block.id or 0, 0),
        )

    @cached_property
    def feedback(self) -> str | None:
        """What a graded answer earned, for the move that gave the answer."""
        return self.unfilled_feedback and self._filled(None, self.unfilled_feedback)

    @cached_property
    def outro(self) -> Sequence[Block]:
        """The outro at the end as the respondent sees it: the thank-you, and actions that gave something."""
        if self.loaded.block is not None or not self.is_completed:
            return ()
        fired = self.state.fired
        shown = (block for block in self.script.outro if block.action_kind is None or block.id in fired)
        return [self.present(self.state, block) for block in shown]

    @property
    def thank_you(self) -> str | None:
        return next((block.prompt for block in self.outro if block.type == "content_block"), None)

    @property
    def earned_xp(self) -> int:
        """The XP that this conversation has given so far; a deduction is negative."""
        return sum(self.context.given.values())

    @property
    def totals(self) -> Totals | None:
        """The respondent's standing in the community; None for those who are not members."""
        return self.context.totals

    def present(self, state: State, block: Block, *, given: Mapping[int, int] | None = None) -> Block:
        """A block as the respondent sees it at any point of this conversation.

        `given` is the XP given up to that point; None means until now.
        """
        values = tokens.values(self.context, block, [block.prompt], given=given)
        return presentation.present(
            self.script, state, block, seed=self.conversation.seed, token_values=values
        )

    def history(self) -> list[Exchange]:
        """The past steps, oldest first."""
        return [self._exchange(step) for step in range(len(self.state.path))]

    def latest(self) -> Exchange | None:
        """The step that the respondent left last."""
        return self._exchange(len(self.state.path) - 1) if self.state.path else None

    def last_feedback(self) -> str | None:
        """The feedback to the latest answer, also when the page is loaded again later."""
        if self.feedback or not self.state.path:
            return self.feedback
        block = self._block(self.state.path[-1])
        reply = self.state.replies.get(block.id or 0)
        text = runner.feedback(self.script, block, reply) if reply else None
        return text and self._filled(block, text)

    def _block(self, block_id: int) -> Block:
        return self.script.blocks[self.script.index_by_id[block_id]]

    def _exchange(self, step: int) -> Exchange:
        block_id = self.state.path[step]
        block, reply = self._block(block_id), self.state.replies.get(block_id)
        state_then = runner.state_at_step(self.script, self.state, step)
        shown = self.present(state_then, block, given=self._given_up_to(block))
        return Exchange(shown, reply, answers.display_text(block, reply))

    def _given_up_to(self, block: Block) -> Mapping[int, int]:
        """The XP given by actions up to a block, by block id."""
        given = self.context.given
        if not given:
            return given
        index = self.script.index_by_id
        position = index[block.id or 0]
        return {
            block_id: xp for block_id, xp in given.items() if index.get(block_id, position + 1) <= position
        }

    def _filled(self, block: Block | None, text: str) -> str:
        return runner.fill(self.script, self.state, text, tokens.values(self.context, block, [text]))
