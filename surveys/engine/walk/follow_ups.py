"""Further questions about a short answer, which a model writes (rules 10.60 to 10.69 and 10.73).

    wants(block, reply)         whether one may be asked about a reply
    shown(block, further, …)    what the respondent sees instead of the block, which stays the current one
    completed(reply, …)         the reply with one more question and its answer

A reply stores its further questions under `follow_ups`. So they are changed, hidden and deleted with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from communities.ground.translation import say
from surveys.engine.script import Block, Continue

KEY = "follow_ups"  # in a reply, and in a state
SHORT = 200  # characters: a further question is asked about shorter answers
WRITING = "One moment, please."
NONE_CAME = "Thank you, please go on."
GO_ON = "Go on"
PAUSE = 2  # seconds between the page's requests for a question that is being written
STAGE = 10_000  # more than the steps of any conversation
Reply = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Further:
    """The `number`-th further question about the answer to a block, from 1.

    Without a `question`, the model is still writing. At `until`, in Unix seconds, the conversation continues
    without the question.
    """

    block_id: int
    number: int
    until: float
    question: str | None = None

    @property
    def place(self) -> int:
        """The number that this further question adds to the place of its block among the steps."""
        return STAGE * (2 * self.number - (self.question is None))

    def as_json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        return cls(**raw)


def without(reply: Reply) -> Reply:
    """The reply without its further questions."""
    return {key: value for key, value in reply.items() if key != KEY} if KEY in reply else reply


def of(reply: Reply | None) -> Sequence[Mapping[str, str | None]]:
    """The further questions about a reply, each with its answer; None for a skipped one."""
    exchanges = (reply or {}).get(KEY, ())
    assert isinstance(exchanges, list | tuple)
    return exchanges


def wants(block: Block, reply: Reply) -> bool:
    """Whether a further question may be asked about a reply, or about the latest answer to one."""
    exchanges = of(reply)
    text = exchanges[-1]["answer"] if exchanges else reply.get("text")
    return len(exchanges) < (block.follow_ups or 0) and 0 < len(str(text or "")) < SHORT


def completed(reply: Reply, question: str, answer: str | None) -> Reply:
    """The reply with one more further question and its answer."""
    return {**reply, KEY: [*of(reply), {"question": question, "answer": answer}]}


def shown(block: Block, further: Further, *, now: float, escape: Callable[[str], str] | None = None) -> Block:
    """The step that the respondent sees at a block: the further question, or a timed text while the model
    writes it.

    If the time is over without a question, the block is a text with a button, for pages that cannot continue
    by themselves. `escape` escapes the model's text where the page shows markup.
    """
    plain = Block("open_text", id=block.id, name=block.name, section=block.section, position=block.position)
    if further.question is not None:
        return replace(plain, prompt=escape(further.question) if escape else further.question)
    plain = replace(plain, type="content_block")
    if now >= further.until:
        return replace(plain, prompt=say(NONE_CAME), continue_=Continue(label=say(GO_ON)))
    pause = min(PAUSE, math.ceil(further.until - now))
    return replace(plain, prompt=say(WRITING), continue_=Continue("pause", pause, say(GO_ON)))
