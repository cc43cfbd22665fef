"""What a conversation says, for the interface and the pages to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from communities.services import members
from surveys.engine import answers, runner, showing
from surveys.engine.answers import Reply
from surveys.engine.runner import State
from surveys.engine.script import Block, Script
from surveys.models import Conversation, Project


@dataclass(frozen=True, slots=True)
class Step:
    """What waits for the respondent.

    `block` is as they see it. `reply` is what they answered here before they went back (engine/answers:
    Reply), to be offered again; None where there is none.
    """

    block: Block
    progress: float
    can_go_back: bool
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One step that is past: the block as it was seen, and the answer in words, empty for a skip."""

    block: Block
    reply: Reply | None
    answer: str


@dataclass(frozen=True, slots=True)
class Told:
    """A conversation as it stands. `resumed` says that it had been begun before."""

    conversation: Conversation
    project: Project
    script: Script
    state: State
    step: Step | None
    feedback: str | None
    thank_you: str | None
    resumed: bool = False

    @property
    def is_completed(self) -> bool:
        return self.conversation.completed_at is not None

    def history(self) -> list[Exchange]:
        """The steps so far, first to last, made when asked for."""
        facts = _facts(self.conversation, *(self._block(block_id).prompt for block_id in self.state.path))
        return [self._exchange(n, block_id, facts) for n, block_id in enumerate(self.state.path)]

    def latest(self) -> Exchange | None:
        """The step that was left last."""
        if not self.state.path:
            return None
        block_id = self.state.path[-1]
        facts = _facts(self.conversation, self._block(block_id).prompt)
        return self._exchange(len(self.state.path) - 1, block_id, facts)

    def last_feedback(self) -> str | None:
        """What is said about the answer just given: still known when the page is loaded anew."""
        if self.feedback or not self.state.path:
            return self.feedback
        block = self._block(self.state.path[-1])
        reply = self.state.replies.get(block.id or 0)
        text = runner.feedback(self.script, block, reply) if reply else None
        return text and runner.fill(self.script, self.state, text, _facts(self.conversation, text))

    def _block(self, block_id: int) -> Block:
        return self.script.blocks[self.script.index_by_id[block_id]]

    def _exchange(self, n: int, block_id: int, facts: Mapping[str, str]) -> Exchange:
        block, reply = self._block(block_id), self.state.replies.get(block_id)
        then = replace(self.state, path=self.state.path[:n])
        seen = showing.seen(self.script, then, block, seed=self.conversation.seed, facts=facts)
        return Exchange(seen, reply, answers.shown(block, reply))


def tell(
    *,
    conversation: Conversation,
    script: Script,
    state: State,
    can_go_back: bool,
    feedback: str | None = None,
    resumed: bool = False,
) -> Told:
    """Put a conversation into words. `feedback` has its tokens still to be filled in."""
    block = runner.current(script, state)
    outro = _outro(script) if block is None and conversation.completed_at else None
    facts = _facts(conversation, *(text for text in (block and block.prompt, outro, feedback) if text))
    return Told(
        conversation=conversation,
        project=conversation.project,
        script=script,
        state=state,
        step=_step(conversation, script, state, block, facts, can_go_back) if block else None,
        feedback=feedback and runner.fill(script, state, feedback, facts),
        thank_you=outro and runner.fill(script, state, outro, facts),
        resumed=resumed,
    )


def _step(
    conversation: Conversation,
    script: Script,
    state: State,
    block: Block,
    facts: Mapping[str, str],
    can_go_back: bool,
) -> Step:
    return Step(
        block=showing.seen(script, state, block, seed=conversation.seed, facts=facts),
        progress=runner.progress(script, state),
        can_go_back=can_go_back,
        reply=state.replies.get(block.id or 0),
    )


def _outro(script: Script) -> str | None:
    """The words of the first outro block that says something."""
    return next((block.prompt for block in script.outro if block.type == "content_block"), None)


def _facts(conversation: Conversation, *texts: str) -> Mapping[str, str]:
    """What tokens stand for that the engine cannot know. The name is looked up only where it is spoken.

    An anonymous conversation has no name to say, not even while it runs: whoever holds its id could read it.
    """
    if not any("username" in text.lower() for text in texts):
        return {}
    if conversation.user_id is None:
        return {"username": ""}
    community_id = conversation.project.community_id
    return {"username": members.display_name(community_id=community_id, user_id=conversation.user_id)}
