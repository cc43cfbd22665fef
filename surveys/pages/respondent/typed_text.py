"""Names what the browser keeps of an answer that is being typed (survey-typed.js)."""

from __future__ import annotations

import uuid

from django.utils.crypto import salted_hmac

from surveys.services.conversations.admission import Respondent

_LENGTH = 12  # characters


def owner(respondent: Respondent, conversation_id: uuid.UUID | None, *, slug: str) -> str:
    """Who types in which conversation, as `person.conversation`; hashed, so that the browser keeps no ids.

    A visitor who is not signed in is nobody in particular, also across visitor ids: what is kept is kept for
    one tab alone, and a frame without cookies has another visitor at each reload.
    """
    person = f"{slug}:person:{respondent.user_id}"
    return f"{_hashed(person)}.{_hashed(f'{slug}:conversation:{conversation_id}')}"


def _hashed(text: str) -> str:
    return salted_hmac("surveys.pages.typed_text", text).hexdigest()[:_LENGTH]
