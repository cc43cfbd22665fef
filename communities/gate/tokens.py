"""Tokens with which a page leads one conversation, in place of an API key (rules 11.90 to 11.93).

A token is signed and stored nowhere. It names the conversation and the API key that asked for it, and has the
rights of this key now: none, once the key is revoked.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.core.signing import BadSignature, Signer

from communities.ground.errors import InvalidApiKey

PREFIX = "cqt_"
MAX_LENGTH = 200  # The characters of a token. A longer text is never valid.
DEFAULT_SECONDS, MIN_SECONDS, MAX_SECONDS = 3600, 60, 86_400
SECONDS_OF_CLOCKS = 60  # Clocks of two machines may differ.
NOT_VALID = "This token is not valid."
ENDED = "This conversation has ended, and its tokens with it."
_SIGNER = Signer(salt="communities.conversation_token", sep=".")


@dataclass(frozen=True, slots=True)
class ConversationToken:
    """The content of a token: the conversation that the token leads, and the API key that asked for it."""

    conversation_id: uuid.UUID
    api_key_id: int


def issue(*, conversation_id: uuid.UUID, api_key_id: int, expires_at: datetime) -> str:
    """A token for one conversation."""
    return PREFIX + _SIGNER.sign(f"{conversation_id.hex}-{api_key_id:x}-{int(expires_at.timestamp()):x}")


def read(token: str, *, at: datetime) -> ConversationToken:
    """Return what a token says. Raises InvalidApiKey if we did not sign the token, or if it has expired, or
    if it is valid for longer than `issue` ever makes a token.
    """
    if len(token) > MAX_LENGTH or not token.startswith(PREFIX):
        raise InvalidApiKey(NOT_VALID)
    try:
        said = _SIGNER.unsign(token.removeprefix(PREFIX))
    except BadSignature:
        raise InvalidApiKey(NOT_VALID) from None
    conversation_id, api_key_id, expires_at = said.split("-")
    if int(expires_at, 16) <= at.timestamp():
        raise InvalidApiKey("This token has expired: ask for a new one.")
    if int(expires_at, 16) > at.timestamp() + MAX_SECONDS + SECONDS_OF_CLOCKS:
        raise InvalidApiKey(NOT_VALID)
    return ConversationToken(uuid.UUID(conversation_id), int(api_key_id, 16))
