"""References of our buttons and menus, encrypted in their `custom_id`.

The platform shows custom ids to its users, and stores them. So a reference is encrypted and authenticated
(AES-SIV, RFC 5297): nobody can read an id in a reference, and nobody can forge or change a reference. A
reference in a person's own conversation is bound to that person, so that a copy is useless for others.

The same reference always has the same encrypted text, so a message that is drawn twice is equal.
"""

from __future__ import annotations

import base64
import binascii
import functools
import struct
import uuid
from dataclasses import dataclass
from enum import IntEnum

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from communities.ground import sealing

_PRIVATE, _PUBLIC = "c1.", "p1."  # The version distinguishes keys and layouts after a change.
_LAYOUT = struct.Struct(">B16sqqI")
_EVERYBODY = b"everybody"


class Op(IntEnum):
    """The action of a component. Existing messages contain the numbers, so never reuse a number."""

    ANSWER = 1  # Public: begin or resume a conversation.
    VOTE = 2  # Public: vote in a poll.
    INFO = 3  # Public: read about a project.
    VOTE_WRITTEN = 4  # Public: the person sent the window for the text of an option.
    AGREE = 5  # Private, but about a project: agree to its `consent`, and begin.
    SHOW = 10  # Draw the conversation in its current state.
    CHOOSE = 11  # Answer with an option, or with the point of a scale.
    TOGGLE = 12  # Select or deselect an option.
    SUBMIT = 13  # Answer with the selected or ranked options.
    PICK = 14  # Rank an item next.
    UNDO = 15  # Remove the last ranked item.
    MENU = 16  # Answer with the choice in a menu.
    WRITE = 17  # Open the window for a text or number.
    WRITTEN = 18  # The person sent the window.
    GO_ON = 19
    BACK = 20
    SKIP = 21
    AGAIN = 22  # Begin another conversation.
    CHANGE = 30  # Show a poll's question to change the vote.
    RETRACT = 31  # Retract a vote.


@dataclass(frozen=True, slots=True)
class Reference:
    """The objects that a component refers to.

    `subject` is a conversation, or a project as a number in the same form (`of_project`). `step` is the
    number of steps that the conversation had passed when the component was drawn. The `step` of a vote is
    the mark of the privacy mode that the message named. `arg` is the id of an option, or a point.
    """

    op: Op
    subject: uuid.UUID
    block_id: int = 0
    arg: int = 0
    step: int = 0

    @property
    def project_id(self) -> int:
        return self.subject.int


def of_project(project_id: int) -> uuid.UUID:
    """A project's id in the form of a conversation's id."""
    return uuid.UUID(int=project_id)


def seal(reference: Reference, *, platform_id: str | None) -> str:
    """Return the custom id of a component, at most 78 characters. `platform_id` binds the component to one
    person.

    Everybody may use a component whose `platform_id` is None.
    """
    return _sealed_with(sealing.secret_keys()[0], reference, platform_id)


def _sealed_with(key: bytes, reference: Reference, platform_id: str | None) -> str:
    packed = _LAYOUT.pack(
        reference.op, reference.subject.bytes, reference.block_id, reference.arg, reference.step
    )
    prefix = _PUBLIC if platform_id is None else _PRIVATE
    sealed = _cipher(key).encrypt(packed, [_bound_to(platform_id), prefix.encode()])
    return prefix + base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def unseal(custom_id: str, *, platform_id: str) -> Reference | None:
    """Return the reference in a custom id that this person sent; None if the id is not ours, or is bound to
    another person. References that a key of SECRET_KEY_FALLBACKS has sealed are read too.
    """
    found = (_unsealed_with(key, custom_id, platform_id) for key in sealing.secret_keys())
    return next((reference for reference in found if reference is not None), None)


def _unsealed_with(key: bytes, custom_id: str, platform_id: str) -> Reference | None:
    prefix, text = custom_id[: len(_PRIVATE)], custom_id[len(_PRIVATE) :]
    if prefix not in (_PRIVATE, _PUBLIC) or not text.isascii():
        return None
    person = _bound_to(None if prefix == _PUBLIC else platform_id)
    try:
        sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        packed = _cipher(key).decrypt(sealed, [person, prefix.encode()])
        op, subject, block_id, arg, step = _LAYOUT.unpack(packed)
        reference = Reference(Op(op), uuid.UUID(bytes=subject), block_id, arg, step)
    except (InvalidTag, ValueError, binascii.Error, struct.error):
        return None
    # Base64 ignores the last bits of some texts: this check accepts only one spelling of each custom id.
    bound = None if prefix == _PUBLIC else platform_id
    return reference if _sealed_with(key, reference, bound) == custom_id else None


def _bound_to(platform_id: str | None) -> bytes:
    return _EVERYBODY if platform_id is None else f"person:{platform_id}".encode()


@functools.lru_cache(maxsize=16)
def _cipher(key: bytes) -> AESSIV:
    return AESSIV(sealing.derived(sealing.root_of(key), "colloquy:chat references", length=64))
