"""Signing secrets as the database stores them: encrypted, and bound to their community.

A copy of the database alone is not enough to sign, and a row that was moved to another community cannot be
decrypted there.
"""

from __future__ import annotations

from communities.ground import sealing
from communities.ground.sealing import Seal, SealedColumn
from webhooks.models import Webhook


def seal(secret: str, *, community_id: int) -> bytes:
    """Encrypt a secret for one community."""
    return sealing.encrypt(secret.encode(), seal=_seal_of(community_id))


def unseal(sealed: bytes | memoryview, *, community_id: int) -> str:
    """Decrypt a secret. Raises Unreadable if the key, the community or the bytes have changed."""
    return sealing.decrypt(sealed, seal=_seal_of(community_id)).decode()


def _seal_of(community_id: int) -> Seal:
    return Seal("colloquy:webhooks:signing-secrets", f"community:{community_id}".encode())


SEALED_COLUMNS = tuple(
    SealedColumn(Webhook, name, lambda row: _seal_of(row.community_id))
    for name in ("sealed_secret", "sealed_previous_secret")
)
