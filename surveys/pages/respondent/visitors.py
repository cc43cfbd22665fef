"""Who a visitor is: signed cookies, or inside another site's frame a signed field of the form.

One cookie names the browser (for limits); one, for each project, holds its conversation's id. In a frame
of another site there are no cookies, so the form's seal carries both. Everywhere the seal tells when the
first page was drawn and how its options were shuffled, as there is no row yet that could remember it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse

VISITOR = "colloquy_visitor"
CONVERSATION = "colloquy_conversation"
KEPT_FOR = 365 * 24 * 3600  # seconds
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Visit:
    """One browser at one project. `since` is when its first page was drawn, in milliseconds."""

    visitor: str
    conversation_id: uuid.UUID | None
    seed: int
    since: int


@dataclass(frozen=True, slots=True)
class Read:
    """A visit as it was found. `is_sealed` says that the form carried a seal of ours for this project."""

    visit: Visit
    is_sealed: bool
    has_cookie: bool


def read(request: HttpRequest, *, slug: str, is_framed: bool, is_anonymous: bool, at: datetime) -> Read:
    """Who visits. Anything missing, foreign or tampered with counts as absent."""
    sealed = _unseal(request.POST.get("seal", ""), slug) if request.method == "POST" else None
    if is_framed:
        visit = sealed or _new(secrets.token_urlsafe(16), slug, is_anonymous, at)
        return Read(visit, sealed is not None, has_cookie=False)
    known = _unsigned(VISITOR, request.COOKIES.get(VISITOR, ""))
    fresh = _new(known or secrets.token_urlsafe(16), slug, is_anonymous, at)
    visit = Visit(
        visitor=fresh.visitor,
        conversation_id=_uuid(_unsigned(CONVERSATION + slug, request.COOKIES.get(CONVERSATION, ""))),
        seed=sealed.seed if sealed else fresh.seed,
        since=sealed.since if sealed else fresh.since,
    )
    return Read(visit, sealed is not None, has_cookie=known is not None)


def seal(visit: Visit, *, slug: str, is_framed: bool) -> str:
    """The signed field of a form. Outside frames it names nobody: that is the cookies' part."""
    visitor = visit.visitor if is_framed else _NONE
    conversation = str(visit.conversation_id or _NONE) if is_framed else _NONE
    return _signer("seal" + slug).sign(f"{visitor}.{conversation}.{visit.seed}.{visit.since}")


def remember(response: HttpResponse, read: Read, visit: Visit, *, slug: str, path: str) -> None:
    """Set the cookies that have changed. `path` is the page's."""
    if not read.has_cookie:
        _set(response, VISITOR, visit.visitor, VISITOR, path="/s/")
    if visit.conversation_id != read.visit.conversation_id:
        if visit.conversation_id is None:
            response.delete_cookie(CONVERSATION, path=path, samesite="Lax")
        else:
            _set(response, CONVERSATION, str(visit.conversation_id), CONVERSATION + slug, path=path)


def _set(response: HttpResponse, name: str, value: str, salt: str, *, path: str) -> None:
    response.set_cookie(
        name,
        _signer(salt).sign(value),
        max_age=KEPT_FOR,
        path=path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _new(visitor: str, slug: str, is_anonymous: bool, at: datetime) -> Visit:
    """A visit without a conversation.

    The seed comes from the visitor, so that a reload does not shuffle anew; on anonymous projects it is
    random, as it is stored beside the answers.
    """
    if is_anonymous:
        seed = secrets.randbits(63)
    else:
        drawn = hmac.new(settings.SECRET_KEY.encode(), f"seed:{slug}:{visitor}".encode(), hashlib.sha256)
        seed = int.from_bytes(drawn.digest()[:8], "big") >> 1
    return Visit(visitor, None, seed, int(at.timestamp() * 1000))


def _unseal(sent: str, slug: str) -> Visit | None:
    read = _unsigned("seal" + slug, sent)
    if read is None:
        return None
    visitor, conversation, seed, since = read.split(".")
    return Visit(visitor, _uuid(conversation), int(seed), int(since))


def _signer(salt: str) -> Signer:
    return Signer(salt=f"surveys.pages.{salt}")


def _unsigned(salt: str, sent: str) -> str | None:
    try:
        return _signer(salt).unsign(sent)
    except BadSignature:
        return None


def _uuid(written: str | None) -> uuid.UUID | None:
    return uuid.UUID(written) if written and written != _NONE else None
