"""The proof that two accounts belong to one person, stored in the session for ten minutes.

A signed-in person has confirmed who they are, and has then signed in with an account of another user at an
identity provider. These two sign-ins have changed nothing. The code that merges the two users reads and
deletes the proof. The proof does not prove a second factor of the other user.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest

from communities.models import Identity
from communities.services.people.identities import BelongsToAnother

LASTS = timedelta(minutes=10)
_KEY = "account_merge"


@dataclass(frozen=True, slots=True)
class MergeProof:
    """The proof of two users: `keep_user_id` is signed in, and `drop_user_id` owns `identity`."""

    keep_user_id: int
    drop_user_id: int
    identity: Identity
    proven_at: datetime


def keep_proof(request: HttpRequest, conflict: BelongsToAnother, *, at: datetime) -> None:
    """Store that the signed-in person has proven another user's identity."""
    request.session[_KEY] = {
        "keep": request.user.pk,
        "drop": conflict.user_id,
        "identity": conflict.identity_id,
        "at": at.isoformat(),
    }


def read_proof(request: HttpRequest, *, at: datetime) -> MergeProof | None:
    """The proof, if it is still valid: at most ten minutes old, for the same users and this identity."""
    kept = request.session.get(_KEY)
    if not kept or kept["keep"] != request.user.pk:
        return None
    proven_at = datetime.fromisoformat(kept["at"])
    identity = Identity.objects.select_related("user").filter(pk=kept["identity"]).first()
    if identity is None or identity.user_id != kept["drop"] or not proven_at <= at < proven_at + LASTS:
        forget_proof(request)
        return None
    return MergeProof(kept["keep"], kept["drop"], identity, proven_at)


def forget_proof(request: HttpRequest) -> None:
    """Delete the proof after its use, or because the person does not want it."""
    request.session.pop(_KEY, None)
