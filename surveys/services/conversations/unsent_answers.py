"""Answers in the making: what a respondent ticks, ranks or types at one question before they send it.

On the chat platform each tick is a request of its own, so what is ticked is kept here. Every function takes
the `block_id` and `step` of the control that was used, and changes nothing if the conversation has moved.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from communities.ground.errors import InvalidRequest
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from surveys import written_numbers
from surveys.engine.script import CHOICES, Block
from surveys.models import AnswerDraft, Conversation
from surveys.services.conversations import service, view
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.conversations.view import ConversationView

FORGOTTEN = timedelta(days=1)  # after the last move of the conversation
_DRAFTED = frozenset({"multi_punch", "ranking", "open_text", "open_numeric"})


@dataclass(frozen=True, slots=True)
class UnsentAnswer:
    """The options ticked, or ranked best first, and what was typed and could not be taken."""

    option_ids: tuple[int, ...] = ()
    text: str = ""


def of(conversation: ConversationView) -> UnsentAnswer:
    """The draft at the step that waits: what was kept, else the earlier answer that is offered again."""
    step = conversation.step
    if step is None or step.block.type not in _DRAFTED:
        return UnsentAnswer()
    return _kept(conversation.loaded, step.block)


@in_transaction
def toggle(
    *, conversation_id: uuid.UUID, block_id: int, option_id: int, step: int, at: datetime
) -> ConversationView:
    """Tick an option, or take the tick away. Raises InvalidRequest beyond the most that may be ticked."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if loaded.block is None or draft is None or option_id not in loaded.block.option_by_id:
        return view.of_conversation(loaded, at, resumed=True)
    chosen = list(draft.option_ids)
    if option_id in chosen:
        chosen.remove(option_id)
    else:
        most = loaded.block.max
        if most is not None and len(chosen) >= most:
            raise InvalidRequest(f"Choose at most {most}. Press one that you have chosen to take it out.")
        chosen.append(option_id)
    _write(loaded, chosen)
    return view.of_conversation(loaded, at)


@in_transaction
def rank(
    *, conversation_id: uuid.UUID, block_id: int, option_id: int, step: int, at: datetime
) -> ConversationView:
    """Rank an item next."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if loaded.block is None or draft is None or option_id not in loaded.block.option_by_id:
        return view.of_conversation(loaded, at, resumed=True)
    most = loaded.block.rank_top_n or len(loaded.block.options)
    if option_id not in draft.option_ids and len(draft.option_ids) < most:
        _write(loaded, [*draft.option_ids, option_id])
    return view.of_conversation(loaded, at)


@in_transaction
def unrank(
    *, conversation_id: uuid.UUID, block_id: int, ranked: int, step: int, at: datetime
) -> ConversationView:
    """Take the item back that was ranked last. `ranked` is how many were when the button was drawn."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if draft is not None and draft.option_ids and len(draft.option_ids) == ranked:
        _write(loaded, draft.option_ids[:-1])
    return view.of_conversation(loaded, at, resumed=draft is None)


@in_transaction
def submit(*, conversation_id: uuid.UUID, block_id: int, step: int, at: datetime) -> ConversationView:
    """Answer with what is ticked or ranked. Refuses as `answer` does."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if loaded.block is None or draft is None:
        return view.of_conversation(loaded, at, resumed=True)
    key = "ranking" if loaded.block.type == "ranking" else "option_ids"
    moved = service.answer(
        conversation_id=conversation_id,
        raw={"block_id": block_id, key: list(draft.option_ids)},
        at=at,
        step=step,
    )
    _forget(conversation_id)
    return moved


@in_transaction
def submit_text(
    *, conversation_id: uuid.UUID, block_id: int, text: str, step: int, at: datetime, language: str = "en"
) -> ConversationView:
    """Answer with what was typed in a language. Refuses as `answer` does; `keep_text` then keeps it."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    if loaded.block is not None and loaded.block.type == "open_numeric":
        text = written_numbers.plain(text, language=language)
    moved = service.answer(
        conversation_id=conversation_id, raw={"block_id": block_id, "value": text}, at=at, step=step
    )
    if not moved.resumed:
        _forget(conversation_id)
    return moved


@in_transaction
def keep_text(*, conversation_id: uuid.UUID, block_id: int, text: str, step: int) -> None:
    """Keep a text that could not be taken, so that it can be mended."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if draft is not None:
        _write(loaded, (), text)


def forget(*, conversation_ids: Collection[uuid.UUID]) -> None:
    """Delete what was typed or ticked and not sent, in conversations whose person is erased."""
    AnswerDraft.objects.filter(conversation_id__in=conversation_ids).delete()


def forget_left(*, at: datetime) -> int:
    """Delete the drafts of conversations that are over, gone, or silent for a day. Returns how many."""
    alive = Conversation.objects.filter(
        pk=OuterRef("conversation_id"), completed_at__isnull=True, updated_at__gt=at - FORGOTTEN
    )
    deleted, _ = AnswerDraft.objects.filter(~Q(Exists(alive))).delete()
    return deleted


def _opened(
    conversation_id: uuid.UUID, block_id: int, step: int
) -> tuple[LoadedConversation, UnsentAnswer | None]:
    """Lock a conversation, and return it with what is not sent yet; None if it stands elsewhere."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    block = loaded.block
    if block is None or block.id != block_id or loaded.state.place != step:
        return loaded, None
    return loaded, _kept(loaded, block)


def _kept(loaded: LoadedConversation, block: Block) -> UnsentAnswer:
    """What was kept at a block, without options that it has lost; else the earlier answer."""
    draft = _read(loaded, block) or _earlier(loaded)
    return replace(draft, option_ids=tuple(each for each in draft.option_ids if each in block.option_by_id))


def _earlier(loaded: LoadedConversation) -> UnsentAnswer:
    """The answer that was given here before a step back."""
    block = loaded.block
    reply = loaded.state.replies.get(block.id or 0) if block else None
    if block is None or reply is None or loaded.state.further is not None:
        return UnsentAnswer()
    ids = reply.get("option_ids")
    if isinstance(ids, list):
        return UnsentAnswer(tuple(ids))
    return UnsentAnswer(text=str(reply.get("text") or reply.get("number") or ""))


def _read(loaded: LoadedConversation, block: Block) -> UnsentAnswer | None:
    with prepared() as cursor:
        cursor.execute(
            "SELECT option_ids, text FROM surveys_answerdraft"
            " WHERE conversation_id = %s AND block_id = %s AND follow_up = %s",
            [loaded.conversation.pk, block.id, _follow_up(loaded)],
        )
        row = cursor.fetchone()
    return None if row is None else UnsentAnswer(tuple(row[0]), row[1])


def _write(loaded: LoadedConversation, option_ids: Sequence[int], text: str = "") -> None:
    block: Block | None = loaded.block
    assert block is not None
    ids = list(option_ids)
    if block.type in CHOICES:  # in the script's order, so that the order of ticks tells nothing
        ids = [each for each in block.option_by_id if each in ids]
    with prepared() as cursor:
        cursor.execute(
            "INSERT INTO surveys_answerdraft (conversation_id, block_id, follow_up, option_ids, text)"
            " VALUES (%s, %s, %s, %s::bigint[], %s)"
            " ON CONFLICT (conversation_id) DO UPDATE SET block_id = excluded.block_id,"
            " follow_up = excluded.follow_up, option_ids = excluded.option_ids, text = excluded.text",
            [loaded.conversation.pk, block.id, _follow_up(loaded), ids, text],
        )


def _follow_up(loaded: LoadedConversation) -> int:
    """The number of the further question that is asked or written; 0 at the question itself."""
    return loaded.state.further.number if loaded.state.further else 0


def _forget(conversation_id: uuid.UUID) -> None:
    with prepared() as cursor:
        cursor.execute("DELETE FROM surveys_answerdraft WHERE conversation_id = %s", [conversation_id])
