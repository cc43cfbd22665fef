"""Replies to the platform: a new message, a changed message, or a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from communities.chat_platform import limits
from surveys.chat import words
from surveys.chat.interactions import Interaction
from surveys.chat.messages import EPHEMERAL, Embed, Message, Window

PONG, MESSAGE, UPDATE, WINDOW = 1, 4, 7, 9  # the platform's kinds of replies

log = structlog.get_logger("colloquy.chat")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to one interaction."""

    kind: int
    data: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        return {"type": self.kind} if self.data is None else {"type": self.kind, "data": self.data}


def answer(interaction: Interaction, message: Message) -> Reply:
    """A message that only this person sees. It replaces the message that they used if that one is private."""
    if interaction.is_in_own_message:
        return Reply(UPDATE, _checked(message))
    return private(message)


def private(message: Message) -> Reply:
    """A new message that only this person sees."""
    return Reply(MESSAGE, {**_checked(message), "flags": EPHEMERAL})


def window(drawn: Window) -> Reply:
    """A window over the message."""
    raw = drawn.as_json()
    if faults := limits.check_window(raw):
        log.error("chat.unlawful_window", faults=[fault.split()[0] for fault in faults])
        return private(Message([Embed(words.FAULT)]))
    return Reply(WINDOW, raw)


def _checked(message: Message) -> dict[str, Any]:
    """The message as JSON. A message that the platform would refuse becomes an error text."""
    raw = message.as_json()
    if faults := limits.check_message(raw):
        # Log only the paths, because the faults may quote a person's text.
        log.error("chat.unlawful_message", faults=[fault.split()[0] for fault in faults])
        return Message([Embed(words.FAULT)]).as_json()
    return raw
