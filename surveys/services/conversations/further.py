"""Further questions about short answers, in a conversation (rules 10.60 to 10.69 and 10.73).

    wait(…)      saves an answer; the conversation stays at its block, and a worker is woken
    ask_again(…) asks the question that a step back left unanswered
    waiting(…)   for the worker: what the question is about
    settle(…)    for the worker: the question, or that there is none
    skip_left(…) for the timetable: ends the conversations that were left at one

The worker writes into the conversation's state alone. If the model takes too long, the next `continue` skips
the further question.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings

from communities import services as communities
from communities.ground.errors import Refusal
from communities.ground.queue import wake
from communities.ground.statements import prepared
from communities.ground.transactions import again_after_deadlock, in_transaction
from surveys.engine.script import Block
from surveys.engine.walk import answers, follow_ups, runner
from surveys.engine.walk.answers import InvalidAnswer, Reply
from surveys.engine.walk.follow_ups import Further
from surveys.engine.walk.runner import Turn
from surveys.models import Conversation, Reading
from surveys.services.conversations import saving
from surveys.services.conversations.admission import asks_further
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.ground.batches import change_each

ASK = "surveys.ask_further"
MOST_AT_ONCE = 500  # conversations that one run ends; the next run takes the rest
# SQL for an answer `a` of the conversation `c` with its further answers, each on its own line.
WHOLE_TEXT = """concat_ws(E'\\n', a.value, (
    SELECT string_agg(asked ->> 'answer', E'\\n')
    FROM jsonb_array_elements(c.state -> 'follow_ups' -> a.block_id::text) AS asked
))"""


def may_be_asked(loaded: LoadedConversation, block: Block, reply: Reply) -> bool:
    """Whether a model may ask about a reply to the current block, or about its latest further answer.

    Not where the community cannot pay, so that nobody waits for nothing. In one conversation no more are
    asked than its script allows, however often answers are changed.
    """
    if not follow_ups.wants(block, reply) or not asks_further(loaded.project, loaded.script):
        return False
    if loaded.state.asked >= loaded.script.follow_ups:
        return False
    return communities.can_pay_follow_up(
        community_id=loaded.project.community_id,
        credits_for_ten=settings.CREDITS_FOR_10_FOLLOW_UPS,
        kept=settings.CREDITS_KEPT_FROM_FOLLOW_UPS,
    )


def wait(
    loaded: LoadedConversation, block: Block, reply: Reply, at: datetime, *, is_new: bool = False
) -> LoadedConversation:
    """Save a reply to the current block, which stays the current one, and have a worker write a question."""
    block_id, state = block.id or 0, loaded.state
    until = at + timedelta(seconds=settings.FOLLOW_UP_SECONDS)
    written = Further(block_id, len(follow_ups.of(reply)) + 1, until.timestamp())
    replies = {**state.replies, block_id: reply}
    others = state.aside_without(block_id).items()
    aside = {key: each for key, each in others if each.question is not None}  # of others nothing will come
    state = replace(state, replies=replies, further=written, asked=state.asked + 1, aside=aside)
    moved = saving.save(loaded, Turn(state, block), at=at, block=block, reply=reply, is_new=is_new)
    wake(ASK, conversation_id=str(loaded.conversation.pk), asked=state.asked)
    return moved


def ask_again(loaded: LoadedConversation, at: datetime) -> LoadedConversation | None:
    """Ask the question that a step back left, about an answer that stays, or wait for it further.

    None if there is none.
    """
    block, state = loaded.block, loaded.state
    kept = state.aside.get(block.id or 0) if block else None
    if block is None or kept is None or kept.number > (block.follow_ups or 0):
        return None
    if kept.question is None and at.timestamp() >= kept.until:
        return None
    state = replace(state, further=kept, aside=state.aside_without(kept.block_id))
    return saving.save(loaded, Turn(state, block), at=at)


def reply_about(loaded: LoadedConversation) -> Reply | None:
    """The reply to the current block, while a further question about it is written or asked; else None."""
    block = loaded.block
    if block is None or loaded.state.further is None:
        return None
    return loaded.state.replies[block.id or 0]


def still_waits(loaded: LoadedConversation, at: datetime) -> bool:
    """Whether the conversation stays where it is: a further question is asked, or it is written in time."""
    asked = loaded.state.further
    return asked is not None and (asked.question is not None or at.timestamp() < asked.until)


def repeats(block: Block, reply: Reply, raw: Mapping[str, object]) -> bool:
    """Whether this is the latest answer sent again: the one to the block, or to a further question."""
    exchanges = follow_ups.of(reply)
    try:
        parsed = answers.parse(replace(block, required=None) if exchanges else block, raw)
    except InvalidAnswer:
        return False
    if parsed == follow_ups.without(reply):
        return True
    return bool(exchanges) and parsed.get("text") == exchanges[-1]["answer"]


def waiting(*, conversation_id: uuid.UUID, asked: int, at: datetime) -> LoadedConversation | None:
    """The conversation under a lock, if its `asked`-th further question is still to be written; else None.

    None too if another answer has taken the place of the one that was to be asked about, or nobody can answer
    because the project has closed.
    """
    try:
        loaded = LoadedConversation.locked(conversation_id=conversation_id)
    except Refusal:  # gone, or nobody can continue it
        return None
    unwritten = loaded.state.unwritten
    if unwritten is None or unwritten.block_id not in loaded.script.index_by_id or loaded.is_completed:
        return None
    is_wanted = loaded.state.asked == asked and at.timestamp() < unwritten.until
    return loaded if is_wanted and loaded.project.is_live_at(at) else None


def subject(loaded: LoadedConversation) -> tuple[Block, Reply]:
    """The block and the reply about which a further question is being written."""
    unwritten, script = loaded.state.unwritten, loaded.script
    assert unwritten is not None
    block = script.blocks[script.index_by_id[unwritten.block_id]]
    return block, loaded.state.replies[unwritten.block_id]


def outdate_reading(loaded: LoadedConversation, block: Block) -> None:
    """Forget what an analysis has read in an answer to which something was added; what staff read stays."""
    read = Reading.objects.filter(conversation_id=loaded.conversation.pk, block_id=block.id or 0)
    read.filter(is_corrected=False).delete()


def settle(loaded: LoadedConversation, question: str | None) -> None:
    """Put the written question into a locked conversation; without a question, the next `continue` moves on.

    After a step back, the question waits for the same answer. Nothing that readers of responses see has
    changed, so neither has `updated_at`.
    """
    state, unwritten = loaded.state, loaded.state.unwritten
    assert unwritten is not None
    written = replace(unwritten, question=question, until=unwritten.until if question else 0)
    if state.further is unwritten:
        state = replace(state, further=written)
    else:
        state = replace(state, aside={**state.aside, written.block_id: written})
    stored = saving.storable_state(loaded.script, state, loaded.project)
    Conversation.objects.filter(pk=loaded.conversation.pk).update(state=stored)


def skip_left(*, at: datetime) -> int:
    """Skip the further questions that respondents have left, where nothing else is to be answered.

    Returns the number of conversations. Everything that the author asked was answered while the project was
    open, so they go on also if it has closed since. An error at one does not stop the others.
    """
    unfinished = Conversation.objects.filter(completed_at__isnull=True, project__deleted_at__isnull=True)
    left = unfinished.filter(state__has_key=Conversation.LAPSES, updated_at__lte=_left_before(at))
    return change_each(
        left.order_by("updated_at", "pk"),
        lambda conversation_id: _skip(conversation_id, at),
        most=MOST_AT_ONCE,
        fault="follow_up.fault",
    )


def _left_before(at: datetime) -> datetime:
    return at - timedelta(minutes=settings.MINUTES_UNTIL_A_FOLLOW_UP_IS_SKIPPED)


def _skip(conversation_id: uuid.UUID, at: datetime) -> bool:
    """Skip a further question that was left; False if its conversation stays partial.

    It does if nobody can continue it, its respondent has completed the project as often as it allows, or the
    script asks more by now.
    """
    try:
        goes_on = _go_on(conversation_id, at)
    except Refusal:
        goes_on = False
    if not goes_on:
        with prepared() as cursor:
            cursor.execute(
                f"UPDATE surveys_conversation SET state = state - '{Conversation.LAPSES}'"
                " WHERE id = %s AND updated_at <= %s",
                [conversation_id, _left_before(at)],
            )
    return goes_on


@again_after_deadlock
@in_transaction
def _go_on(conversation_id: uuid.UUID, at: datetime) -> bool:
    """Go on as `skip` would. False if the respondent has moved meanwhile, or more is to be answered."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    block, reply, asked = loaded.block, reply_about(loaded), loaded.state.further
    is_left = not loaded.is_completed and loaded.conversation.updated_at <= _left_before(at)
    if block is None or reply is None or asked is None or not is_left:
        return False
    if not runner.asks_no_more(loaded.script, loaded.state):
        return False
    if asked.question is not None:
        reply = follow_ups.completed(reply, asked.question, None)
    turn = runner.answer(loaded.script, loaded.state, reply)
    saving.save(loaded, turn, at=at, block=block, reply=reply)
    return True
