"""Unsent answers: options that a respondent in chat ticks or ranks before sending, and refused texts.

On the chat platform each tick is a request of its own, so the ticks are stored here. Functions take the
`block_id` and `step` of the control that was used, and change nothing if the conversation has moved.
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
from surveys.engine.walk import answers
from surveys.models import Conversation, UnsentAnswer
from surveys.services.conversations import moves, view
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.conversations.view import ConversationView

FORGOTTEN = timedelta(days=1)  # after the last move of the conversation
_DRAFTED = frozenset({"multi_punch", "ranking", "open_text", "open_numeric"})


@dataclass(frozen=True, slots=True)
class UnsentValue:
    """The options that are ticked, or ranked best first, and a typed text that was refused.

    Beside ticked options it is the text for the option with `is_other`.
    """

    option_ids: tuple[int, ...] = ()
    text: str = ""


def of(conversation: ConversationView) -> UnsentValue:
    """The unsent answer at the current step, else the earlier answer, which the form shows again."""
    step = conversation.step
    if step is None or step.block.type not in _DRAFTED:
        return UnsentValue()
    return _kept(conversation.loaded, step.block)


@in_transaction
def toggle(
    *, conversation_id: uuid.UUID, block_id: int, option_id: int, step: int, at: datetime
) -> ConversationView:
    """Tick an option, or remove its tick. Raises InvalidRequest if too many options would be ticked.

    An exclusive option removes the ticks of all others, and each other option that of the exclusive one.
    """
    loaded, draft = _opened(conversation_id, block_id, step)
    if loaded.block is None or draft is None or option_id not in loaded.block.option_by_id:
        return view.of_conversation(loaded, at, resumed=True)
    chosen = list(draft.option_ids)
    if option_id in chosen:
        chosen.remove(option_id)
    else:
        chosen = _with(loaded.block, chosen, option_id)
    _write(loaded, chosen, _text_for(loaded.block, chosen, draft.text))
    return view.of_conversation(loaded, at)


@in_transaction
def tick(
    *, conversation_id: uuid.UUID, block_id: int, option_ids: Sequence[int], step: int, at: datetime
) -> ConversationView:
    """Keep the options that were chosen in a menu, while a text is written for one of them."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if loaded.block is not None and draft is not None:
        _write(loaded, option_ids, draft.text)
    return view.of_conversation(loaded, at, resumed=draft is None)


@in_transaction
def tick_with_text(
    *, conversation_id: uuid.UUID, block_id: int, option_id: int, text: str, step: int, at: datetime
) -> ConversationView:
    """Tick the option with `is_other`, with its text. Raises InvalidRequest as `toggle` does."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if loaded.block is None or draft is None or option_id not in loaded.block.option_by_id:
        return view.of_conversation(loaded, at, resumed=True)
    chosen = [each for each in draft.option_ids if each != option_id]
    _write(loaded, _with(loaded.block, chosen, option_id), text)
    return view.of_conversation(loaded, at)


@in_transaction
def submit_with_text(
    *, conversation_id: uuid.UUID, block_id: int, option_id: int, text: str, step: int, at: datetime
) -> ConversationView:
    """Answer with the option with `is_other`, its text, and what else is ticked. Refuses as `answer` does."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if loaded.block is None or draft is None:
        return view.of_conversation(loaded, at, resumed=True)
    raw: dict[str, object] = {"block_id": block_id, "option_id": option_id, "other_text": text}
    if loaded.block.type == "multi_punch":
        del raw["option_id"]
        raw["option_ids"] = list(dict.fromkeys([*draft.option_ids, option_id]))
    moved = moves.take_at(step, loaded, raw, at)
    _forget(conversation_id)
    return moved


def _with(block: Block, chosen: Sequence[int], option_id: int) -> list[int]:
    """The ticks with one more. Raises InvalidRequest beyond the most that may be ticked."""
    options, most = block.option_by_id, block.max
    if options[option_id].is_exclusive:
        return [option_id]
    others = [each for each in chosen if not options[each].is_exclusive]
    if most is not None and len(others) >= most:
        raise InvalidRequest(f"Choose at most {most}. Press one that you have chosen to take it out.")
    return [*others, option_id]


def _text_for(block: Block, chosen: Sequence[int], text: str) -> str:
    """The text, if the option for which it was written is still ticked."""
    return text if block.other is not None and block.other.id in chosen else ""


@in_transaction
def rank(
    *, conversation_id: uuid.UUID, block_id: int, option_id: int, step: int, at: datetime
) -> ConversationView:
    """Give an item the next rank."""
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
    """Remove the item that was ranked last. `ranked` is the number of ranked items that the button saw."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if draft is not None and draft.option_ids and len(draft.option_ids) == ranked:
        _write(loaded, draft.option_ids[:-1])
    return view.of_conversation(loaded, at, resumed=draft is None)


@in_transaction
def submit(*, conversation_id: uuid.UUID, block_id: int, step: int, at: datetime) -> ConversationView:
    """Answer with the ticked or ranked options. Refuses as `answer` does."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if loaded.block is None or draft is None:
        return view.of_conversation(loaded, at, resumed=True)
    key = "ranking" if loaded.block.type == "ranking" else "option_ids"
    raw = {"block_id": block_id, key: list(draft.option_ids), "other_text": draft.text or None}
    moved = moves.take_at(step, loaded, raw, at)
    _forget(conversation_id)
    return moved


@in_transaction
def submit_text(
    *, conversation_id: uuid.UUID, block_id: int, text: str, step: int, at: datetime, language: str = "en"
) -> ConversationView:
    """Answer with a text typed in a language. Refuses as `answer` does; then `keep_text` stores the text."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    if loaded.block is not None and loaded.block.type == "open_numeric":
        try:
            text = written_numbers.read(text, language=language)
        except written_numbers.UnclearNumber as unclear:
            raise InvalidRequest(str(unclear)) from None
    moved = moves.take_at(step, loaded, {"block_id": block_id, "value": text}, at)
    if not moved.resumed:
        _forget(conversation_id)
    return moved


@in_transaction
def keep_text(*, conversation_id: uuid.UUID, block_id: int, text: str, step: int) -> None:
    """Store a text that was refused, so the respondent can correct it."""
    loaded, draft = _opened(conversation_id, block_id, step)
    if draft is not None:
        _write(loaded, (), text)


def forget(*, conversation_ids: Collection[uuid.UUID]) -> None:
    """Delete the unsent answers in conversations of an erased person."""
    UnsentAnswer.objects.filter(conversation_id__in=conversation_ids).delete()


def forget_left(*, at: datetime) -> int:
    """Delete unsent answers of completed, deleted and, after a day, idle conversations. Returns how many."""
    alive = Conversation.objects.filter(
        pk=OuterRef("conversation_id"), completed_at__isnull=True, updated_at__gt=at - FORGOTTEN
    )
    deleted, _ = UnsentAnswer.objects.filter(~Q(Exists(alive))).delete()
    return deleted


def _opened(
    conversation_id: uuid.UUID, block_id: int, step: int
) -> tuple[LoadedConversation, UnsentValue | None]:
    """Lock a conversation and return it with its unsent answer; with None if it is at another step."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    block = loaded.block
    if block is None or block.id != block_id or loaded.state.place != step:
        return loaded, None
    return loaded, _kept(loaded, block)


def _kept(loaded: LoadedConversation, block: Block) -> UnsentValue:
    """The unsent answer at a block, without options that were removed; else the earlier answer."""
    draft = _read(loaded, block) or _earlier(loaded)
    return replace(draft, option_ids=tuple(each for each in draft.option_ids if each in block.option_by_id))


def _earlier(loaded: LoadedConversation) -> UnsentValue:
    """The answer that the respondent gave at this block before a step back."""
    block = loaded.block
    reply = loaded.state.replies.get(block.id or 0) if block else None
    if block is None or reply is None or loaded.state.further is not None:
        return UnsentValue()
    ids = reply.get("option_ids")
    if isinstance(ids, list):
        _, text = answers.other_of(reply) or (0, "")
        return UnsentValue(tuple(ids), text)
    return UnsentValue(text=str(reply.get("text") or reply.get("number") or ""))


def _read(loaded: LoadedConversation, block: Block) -> UnsentValue | None:
    with prepared() as cursor:
        cursor.execute(
            "SELECT option_ids, text FROM surveys_answerdraft"
            " WHERE conversation_id = %s AND block_id = %s AND follow_up = %s",
            [loaded.conversation.pk, block.id, _follow_up(loaded)],
        )
        row = cursor.fetchone()
    return None if row is None else UnsentValue(tuple(row[0]), row[1])


def _write(loaded: LoadedConversation, option_ids: Sequence[int], text: str = "") -> None:
    block: Block | None = loaded.block
    assert block is not None
    ids = list(option_ids)
    if block.type in CHOICES:  # in the script's order, so the order of ticks is not stored
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
