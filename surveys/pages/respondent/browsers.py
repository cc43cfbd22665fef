"""What a browser keeps of its visits: signed cookies, or a signed field of the form if it sends none.

One cookie names the browser, for limits. One for each project holds the id of its conversation, and another
that of the personal link by which somebody came. The signed field, the form's seal, carries the same for
browsers without cookies, such as a frame inside another site.
It also carries when the first page was shown and the seed of its options' order, since no row exists yet
that could keep them. A frame takes none of these cookies: `frames` says how it remembers.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from surveys.pages.respondent import frames, protection
from surveys.pages.respondent.frames import FramedBrowser
from surveys.services.conversations.admission import Respondent

VISITOR = "colloquy_visitor"
CONVERSATION = "colloquy_conversation"
LINK = "colloquy_link"
COOKIE_AGE = 365 * 24 * 3600  # seconds
_NONE = "-"
_OWNER_LENGTH = 12  # characters
ANSWERED = uuid.UUID(int=0)  # in place of a conversation's id, where the browser keeps no more (rule 7.14)


@dataclass(frozen=True, slots=True)
class Browser:
    """One browser at one project. `since` is when its first page was shown, in milliseconds.

    `link_id` is the personal link by which it came. Whether that still admits anybody is asked each time.
    `fields` is what its address sent along, until a conversation stores it.
    """

    visitor_id: str
    conversation_id: uuid.UUID | None
    seed: int
    since: int
    link_id: uuid.UUID | None = None
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_answered(self) -> bool:
        """Whether all that is known of the conversation is that it is over."""
        return self.conversation_id == ANSWERED


@dataclass(frozen=True, slots=True)
class Arrival:
    """A browser as the request brought it.

    `is_sealed` says that the form had a valid seal for this project. `is_known` says that the browser, or the
    site around a frame, brought a visitor back. `is_carried` says that the form carries the visit, because
    the browser sends no CSRF cookie and perhaps none at all: no redirect could keep the visit. `framed` is
    what a frame was remembered by.
    """

    browser: Browser
    is_sealed: bool
    is_known: bool
    is_carried: bool
    framed: FramedBrowser | None = None


def arrival(request: HttpRequest, *, slug: str, is_framed: bool, is_anonymous: bool, at: datetime) -> Arrival:
    """Who visits. Anything missing, foreign or tampered with counts as absent.

    A seal counts only in a form of our own page (`protection.is_same_origin`). Otherwise another site could
    make a browser answer under the site's own seal, and read the answers later. Beside cookies a seal names
    nobody: the visitor and the conversation are the cookies'.
    """
    is_ours = request.method == "POST" and protection.is_same_origin(request)
    sealed = _unsealed(request.POST.get("seal", ""), slug) if is_ours else None
    if is_framed:
        framed = frames.read(request, slug=slug, at=at)
        browser = _in_frame(framed, sealed, slug, is_anonymous, at)
        return Arrival(browser, sealed is not None, framed is not None, is_carried=True, framed=framed)
    if sealed is not None and not _has_cookies(request):
        return Arrival(sealed, is_sealed=True, is_known=False, is_carried=True)
    known = _unsigned(VISITOR, request.COOKIES.get(VISITOR, ""))
    conversation_id = _uuid(_unsigned(CONVERSATION + slug, request.COOKIES.get(CONVERSATION, "")))
    link_id = _uuid(_unsigned(LINK + slug, request.COOKIES.get(LINK, "")))
    if sealed is None:
        fresh = _new(known or secrets.token_urlsafe(16), slug, is_anonymous, at)
        browser = Browser(fresh.visitor_id, conversation_id, fresh.seed, fresh.since, link_id)
    else:
        visitor_id = known or secrets.token_urlsafe(16)
        browser = Browser(visitor_id, conversation_id, sealed.seed, sealed.since, link_id, sealed.fields)
    return Arrival(browser, sealed is not None, is_known=known is not None, is_carried=False)


def seal(browser: Browser, *, slug: str) -> str:
    """The signed field of a form."""
    parts = [browser.visitor_id, browser.conversation_id or _NONE, browser.seed, browser.since]
    fields = _NONE
    if browser.fields and browser.conversation_id is None:
        fields = urlsafe_b64encode(orjson.dumps(dict(browser.fields))).decode()
    if browser.link_id or fields != _NONE:
        parts.append(browser.link_id or _NONE)
    if fields != _NONE:
        parts.append(fields)
    return _signer("seal" + slug).sign(".".join(map(str, parts)))


def owner_of_typed(respondent: Respondent, conversation_id: uuid.UUID | None, *, slug: str) -> str:
    """Return the name under which the browser keeps a typed answer: `person.conversation`.

    Hashed, so that the browser keeps no ids (survey-typed.js).

    A visitor who is not signed in is nobody in particular, also across visitor ids: what is kept is kept for
    one tab alone, and a frame without cookies has another visitor at each reload.
    """
    person = f"{slug}:person:{respondent.user_id}"
    return f"{_hashed(person)}.{_hashed(f'{slug}:conversation:{conversation_id}')}"


def _hashed(text: str) -> str:
    return salted_hmac("surveys.pages.typed_text", text).hexdigest()[:_OWNER_LENGTH]


def remember(response: HttpResponse, arrival: Arrival, browser: Browser, *, slug: str, path: str) -> None:
    """Set the cookies that have changed. `path` is the page's. A carried visit sets none."""
    if arrival.is_carried:
        return
    if not arrival.is_known:
        _set(response, VISITOR, browser.visitor_id, VISITOR, path="/s/")
    for name, now, was in (
        (CONVERSATION, browser.conversation_id, arrival.browser.conversation_id),
        (LINK, browser.link_id, arrival.browser.link_id),
    ):
        if now != was and now is None:
            delete_cookie(response, name, path=path)
        elif now != was:
            _set(response, name, str(now), name + slug, path=path)


def _has_cookies(request: HttpRequest) -> bool:
    """Whether the browser sends any cookie of ours, which it would not to a form of another site."""
    names = (VISITOR, CONVERSATION, LINK, settings.CSRF_COOKIE_NAME, settings.SESSION_COOKIE_NAME)
    return any(name in request.COOKIES for name in names)


def _set(response: HttpResponse, name: str, value: str, salt: str, *, path: str) -> None:
    set_cookie(response, name, _signer(salt).sign(value), path=path, max_age=COOKIE_AGE)


def set_cookie(
    response: HttpResponse, name: str, value: str, *, path: str, max_age: int | None = None
) -> None:
    """Set a cookie that no script reads. `max_age` is in seconds; None keeps it for the browser's session."""
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path=path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def delete_cookie(response: HttpResponse, name: str, *, path: str) -> None:
    """Delete a cookie that `set_cookie` has set for the same path."""
    response.delete_cookie(name, path=path, samesite="Lax")


def random_seed() -> int:
    """A seed that follows from nothing, for an order of options that identifies nobody."""
    return secrets.randbits(63)


def _new(visitor_id: str, slug: str, is_anonymous: bool, at: datetime) -> Browser:
    """A visit without a conversation.

    The seed follows from the visitor, so that a reload keeps the order of options. On anonymous projects it
    is random, because it is stored beside the answers.
    """
    if is_anonymous:
        seed = random_seed()
    else:
        text = f"seed:{slug}:{visitor_id}"
        digest = hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).digest()
        seed = int.from_bytes(digest[:8], "big") >> 1
    return Browser(visitor_id, None, seed, int(at.timestamp() * 1000))


def _in_frame(
    framed: FramedBrowser | None, sealed: Browser | None, slug: str, is_anonymous: bool, at: datetime
) -> Browser:
    """The visit of a frame. As on the plain page, a seal names nobody beside what is remembered."""
    if framed is None:
        return sealed or _new(secrets.token_urlsafe(16), slug, is_anonymous, at)
    browser = sealed or _new(framed.visitor_id, slug, is_anonymous, at)
    return replace(
        browser,
        visitor_id=framed.visitor_id,
        conversation_id=framed.conversation_id,
        link_id=framed.link_id,
    )


def _unsealed(sent: str, slug: str) -> Browser | None:
    text = _unsigned("seal" + slug, sent)
    if text is None:
        return None
    visitor_id, conversation, seed, since, *more = text.split(".")
    link, fields = [*more, _NONE, _NONE][:2]
    if visitor_id == _NONE:  # written before the seal named visitors outside frames
        return Browser(secrets.token_urlsafe(16), None, int(seed), int(since))
    carried = {} if fields == _NONE else orjson.loads(urlsafe_b64decode(fields))
    return Browser(visitor_id, _uuid(conversation), int(seed), int(since), _uuid(link), carried)


def _signer(salt: str) -> Signer:
    return Signer(salt=f"surveys.pages.{salt}")


def _unsigned(salt: str, sent: str) -> str | None:
    if not sent:
        return None
    try:
        return _signer(salt).unsign(sent)
    except BadSignature:
        return None


def _uuid(text: str | None) -> uuid.UUID | None:
    return uuid.UUID(text) if text and text != _NONE else None
