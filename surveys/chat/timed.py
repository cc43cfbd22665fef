"""Texts that continue by themselves (`continue.after: pause`), in the message that their reader sees.

The platform lets us change that message for fifteen minutes after a click. The reader can also continue with
the button; the first of both counts. Anonymous projects store nothing about a click, so there only the button
continues.
"""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta

from django.conf import settings

from communities.chat_platform import client
from communities.chat_platform.client import Refused, Unauthorized
from communities.ground.errors import Refusal
from communities.ground.sealing import Unreadable, unseal
from communities.models import ChatTask
from communities.services.chat import outbox
from surveys.chat import screens
from surveys.chat.interactions import Interaction
from surveys.engine.walk import defaults
from surveys.engine.walk.follow_ups import STAGE
from surveys.services.conversations import moves
from surveys.services.conversations.view import ConversationView

ADVANCE = "surveys.advance_in_chat"
TOKEN_LIVES = timedelta(minutes=14)


def plan(interaction: Interaction, view: ConversationView, *, at: datetime) -> None:
    """If the current step is a timed text, let a worker continue when its time is over."""
    _plan(view, token=interaction.token, platform_id=interaction.author.platform_id, clicked_at=at, at=at)


def _plan(
    view: ConversationView, *, token: str, platform_id: str, clicked_at: datetime, at: datetime
) -> None:
    """Write the task of the worker. `clicked_at` is when the platform made the token, which expires later."""
    block = view.step.block if view.step else None
    pause = defaults.pause_of(block) if block and not block.asks else None
    if block is None or pause is None:
        return
    is_too_late = at + timedelta(seconds=pause) > clicked_at + TOKEN_LIVES
    if view.project.is_anonymous or is_too_late or view.is_completed:
        return
    payload = {
        "token": token,
        "platform_id": platform_id,
        "block_id": block.id,
        "step": view.state.place,
        "at": clicked_at.isoformat(),
    }
    outbox.put(
        community_id=view.project.community_id,
        kind=ADVANCE,
        subject=f"{view.conversation.pk}:{view.state.place}",
        at=at,
        due_at=at + timedelta(seconds=pause),
        payload=json.dumps(payload),
    )


def advance(task: ChatTask, at: datetime) -> None:
    """Continue a conversation, and show the next step in its reader's message."""
    if task.payload is None:
        return
    try:
        payload = json.loads(
            unseal(bytes(task.payload), purpose=outbox.PURPOSE, row=f"{task.kind}:{task.subject}")
        )
    except Unreadable:
        return
    if at - datetime.fromisoformat(payload["at"]) > TOKEN_LIVES:
        return
    conversation_id, step = uuid.UUID(task.subject.partition(":")[0]), payload["step"]
    try:
        view = moves.go_on(conversation_id=conversation_id, block_id=payload["block_id"], at=at, step=step)
    except Refusal:
        return  # the project was closed or deleted meanwhile: a press of the button shows it
    if view.resumed and view.state.place not in (step, step + 1, step + STAGE):
        return  # the reader has continued, the step still waits, or a further question was written meanwhile
    platform_id, token = payload["platform_id"], payload["token"]
    clicked_at = datetime.fromisoformat(payload["at"])
    _plan(view, token=token, platform_id=platform_id, clicked_at=clicked_at, at=at)
    message = screens.draw(view, platform_id=platform_id).as_json()
    application = settings.CHAT
    assert application is not None
    path = f"/webhooks/{application.application_id}/{token}/messages/@original"
    try:
        client.request("PATCH", path, json=message, as_bot=False)
    except (Refused, Unauthorized):
        return  # the message was deleted or is too old: its button still continues
