"""What a browser stores about its visits: signed cookies, or a signed field of the form if it sends none.

One cookie identifies the browser, for limits. Each project has a cookie with the id of the conversation, and
another with the id of the visitor's personal link. The signed field, the form's seal, contains the same for
browsers without cookies, such as a frame inside another site. It also contains the time at which the first
page was shown and the seed of its options' order, because no row can store them yet. A frame uses none of
these cookies; see `frames`.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import secrets
import uuid
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from communities.ground import sealing
from surveys.pages.respondent import frames, protection
from surveys.pages.respondent.frames import FramedBrowser
from surveys.services.conversations import admission
from surveys.services.conversations.admission import Respondent

VISITOR = "colloquy_visitor"
CONVERSATION = "colloquy_conversation"
LINK = "colloquy_link"
COOKIE_AGE = 365 * 24 * 3600  # seconds
MAX_KEPT = 300  # characters of an encrypted id
_PURPOSE = "conversations in browsers"
_NONE = "-"
_OWNER_LENGTH = 12  # characters
ANSWERED = uuid.UUID(int=0)  # replaces the id of a conversation that is over (rule 7.14)


@dataclass(frozen=True, slots=True)
class Browser:
    """One browser at one project. `since` is when its first page was shown, in milliseconds.

    `link_id` is the visitor's personal link; each request checks whether it still admits anybody. `fields`
    are the fields of its address, until a conversation stores them. `owner` is the hash of the person whose
    conversation it is; empty without one, and once it is over on an anonymous project.
    """

    visitor_id: str
    conversation_id: uuid.UUID | None
    seed: int
    since: int
    link_id: uuid.UUID | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""

    @property
    def has_answered(self) -> bool:
        """Whether the browser knows only that its conversation is over."""
        return self.conversation_id == ANSWERED


@dataclass(frozen=True, slots=True)
class Arrival:
    """A browser as its request describes it.

    `is_sealed`: the form had a valid seal for this project. `is_known`: the browser, or the site around a
    frame, has stored an earlier visit. `is_carried`: the form carries the visit, because the browser sends no
    CSRF cookie and may send no cookies at all; a redirect would lose the visit. `kept` is the id of the
    conversation as the cookie has it, encrypted. `framed` is the stored visit of a frame.
    """

    browser: Browser
    is_sealed: bool
    is_known: bool
    is_carried: bool
    kept: str = ""
    framed: FramedBrowser | None = None


def arrival(request: HttpRequest, *, slug: str, is_framed: bool, is_anonymous: bool, at: datetime) -> Arrival:
    """The visitor's browser. Values that are missing, of another project or forged count as absent.

    A seal counts only in a form of our own page (`protection.is_same_origin`). Otherwise another site could
    make a browser answer under the site's own seal, and read the answers later. If the browser sends cookies,
    the cookies identify visitor and conversation, and the seal does not.
    """
    is_ours = request.method == "POST" and protection.is_same_origin(request)
    has_cookies = _has_cookies(request)
    reads_id = is_framed or not has_cookies  # else the cookie identifies the conversation
    sealed = _unsealed(request.POST.get("seal", ""), slug, reads_id=reads_id) if is_ours else None
    if is_framed:
        framed = frames.read(request, slug=slug, at=at)
        if framed is not None and not framed.is_in_cookie:
            shown = known_around(framed.conversation_id, is_anonymous=is_anonymous)
            framed = replace(framed, conversation_id=shown)
        browser = _in_frame(framed, sealed, slug, is_anonymous, at)
        return Arrival(browser, sealed is not None, framed is not None, is_carried=True, framed=framed)
    if sealed is not None and not has_cookies:
        return Arrival(sealed, is_sealed=True, is_known=False, is_carried=True)
    known = _unsigned(VISITOR, request.COOKIES.get(VISITOR, ""))
    kept = request.COOKIES.get(CONVERSATION, "")
    conversation_id, owner = _unsealed_cookie(kept, slug)
    link_id = _uuid(_unsigned(LINK + slug, request.COOKIES.get(LINK, "")))
    if sealed is None:
        fresh = _new(known or secrets.token_urlsafe(16), slug, is_anonymous, at)
        browser = Browser(fresh.visitor_id, conversation_id, fresh.seed, fresh.since, link_id, owner=owner)
    else:
        visitor_id = known or secrets.token_urlsafe(16)
        browser = replace(
            sealed, visitor_id=visitor_id, conversation_id=conversation_id, link_id=link_id, owner=owner
        )
    return Arrival(browser, sealed is not None, is_known=known is not None, is_carried=False, kept=kept)


def known_around(conversation_id: uuid.UUID | None, *, is_anonymous: bool) -> uuid.UUID | None:
    """The conversation of a visit as the site around a frame may know the visit: on anonymous projects none.

    That site could open the conversation itself and read its answers, also if it had begun the conversation
    and had let its visitor answer there.
    """
    return conversation_id if conversation_id == ANSWERED or not is_anonymous else None


def seal(browser: Browser, arrival: Arrival, *, slug: str) -> str:
    """The signed field of a form."""
    now, conversation = browser.conversation_id, _NONE
    if now is not None:
        is_kept = arrival.kept and now == arrival.browser.conversation_id
        conversation = arrival.kept if is_kept else sealed_id(now, slug, owner=browser.owner)
    parts = [browser.visitor_id, conversation, browser.seed, browser.since]
    fields = _NONE
    if browser.fields and browser.conversation_id is None:
        fields = urlsafe_b64encode(orjson.dumps(dict(browser.fields))).decode()
    if browser.link_id or fields != _NONE:
        parts.append(browser.link_id or _NONE)
    if fields != _NONE:
        parts.append(fields)
    return _signer("seal" + slug).sign(".".join(map(str, parts)))


def owners(respondent: Respondent, *, slug: str) -> list[str]:
    """The hashes of a person, and of the users who were merged into theirs; none for a nameless visitor."""
    person = respondent.person
    ids = () if person is None else (person.user_id, *person.merged_ids)
    return [_hashed(f"{slug}:person:{user_id}") for user_id in ids]


def of_person(
    browser: Browser, respondent: Respondent, *, slug: str, session_key: str | None, at: datetime
) -> Browser:
    """The browser as this respondent finds it: without the conversation that another person has begun there,
    or somebody who has signed out since.

    The conversation of a personal link itself refuses those who may not continue it, and so does that of a
    deactivated person.
    """
    known = owners(respondent, slug=slug)
    if not browser.owner or browser.owner in known:
        return browser
    if not known and (
        browser.link_id is not None or not admission.has_signed_out(session_key=session_key, at=at)
    ):
        return browser
    return replace(browser, conversation_id=None, owner="")


def owner_of_typed(respondent: Respondent, conversation_id: uuid.UUID | None, *, slug: str) -> str:
    """Return the name under which the browser stores a typed answer: `person.conversation`.

    Both parts are hashed, so the browser stores no ids (survey-typed.js).

    All visitors who are not signed in share one name: their typed answers are stored for one tab only, and in
    a frame without cookies each reload has a new visitor id.
    """
    person = f"{slug}:person:{respondent.user_id}"
    return f"{_hashed(person)}.{_hashed(f'{slug}:conversation:{conversation_id}')}"


def owner_in(name: str) -> str:
    """The person of such a name, as a hash."""
    return name[:_OWNER_LENGTH]


def owners_of_typed(respondent: Respondent, *, slug: str) -> list[str]:
    """The hashes of a person, and that of nobody: what was typed before a sign-in is theirs."""
    return [*owners(respondent, slug=slug), _hashed(f"{slug}:person:None")]


def _hashed(text: str) -> str:
    return salted_hmac("surveys.pages.typed_text", text).hexdigest()[:_OWNER_LENGTH]


def remember(response: HttpResponse, arrival: Arrival, browser: Browser, *, slug: str, path: str) -> None:
    """Set the cookies that have changed. `path` is the page's. A carried visit sets none."""
    if arrival.is_carried:
        return
    if not arrival.is_known:
        _set(response, VISITOR, browser.visitor_id, VISITOR, path="/s/")
    now, was = browser.conversation_id, arrival.browser.conversation_id
    if now != was and now is None:
        delete_cookie(response, CONVERSATION, path=path)
    elif now is not None and now != was:
        kept = sealed_id(now, slug, owner=browser.owner)
        set_cookie(response, CONVERSATION, kept, path=path, max_age=COOKIE_AGE)
    if browser.link_id != arrival.browser.link_id:
        if browser.link_id is None:
            delete_cookie(response, LINK, path=path)
        else:
            _set(response, LINK, str(browser.link_id), LINK + slug, path=path)


def _has_cookies(request: HttpRequest) -> bool:
    """Whether the browser sends any cookie of ours. With a form of another site it sends none."""
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
    """A random seed, for an order of options that identifies nobody."""
    return secrets.randbits(63)


def _new(visitor_id: str, slug: str, is_anonymous: bool, at: datetime) -> Browser:
    """A visit without a conversation.

    The seed is computed from the visitor id, so a reload keeps the order of options. On anonymous projects it
    is random, because it is stored with the answers.
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
    """The visit of a frame. As on the plain page, a seal identifies nobody if a visit is stored."""
    if framed is None:
        return sealed or _new(secrets.token_urlsafe(16), slug, is_anonymous, at)
    browser = sealed or _new(framed.visitor_id, slug, is_anonymous, at)
    return replace(
        browser,
        visitor_id=framed.visitor_id,
        conversation_id=framed.conversation_id,
        link_id=framed.link_id,
        owner="",
    )


def _unsealed(sent: str, slug: str, *, reads_id: bool) -> Browser | None:
    """The browser that a seal describes; without its conversation unless the caller `reads_id`."""
    text = _unsigned("seal" + slug, sent)
    if text is None:
        return None
    visitor_id, conversation, seed, since, *more = text.split(".")
    link, fields = [*more, _NONE, _NONE][:2]
    if visitor_id == _NONE:  # a seal written before seals identified visitors outside frames
        return Browser(secrets.token_urlsafe(16), None, int(seed), int(since))
    carried = {} if fields == _NONE else orjson.loads(urlsafe_b64decode(fields))
    kept = conversation if reads_id and conversation != _NONE else ""
    conversation_id, owner = _unsealed_cookie(kept, slug)
    return Browser(visitor_id, conversation_id, int(seed), int(since), _uuid(link), carried, owner)


def sealed_id(conversation_id: uuid.UUID, slug: str, *, owner: str = "") -> str:
    """A conversation's id as a browser keeps it: encrypted, since it is the id of the response too. With the
    hash of its `owner`.
    """
    sealed = sealing.seal(f"{conversation_id} {owner}".rstrip(), purpose=_PURPOSE, row=slug)
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def unsealed_id(kept: str, slug: str) -> uuid.UUID | None:
    return _unsealed_cookie(kept, slug)[0]


def _unsealed_cookie(kept: str, slug: str) -> tuple[uuid.UUID | None, str]:
    """The id of a conversation and the hash of its owner.

    The text enters the next seal as it is, so it must contain no character but those of its alphabet: a dot
    would add parts to the seal, such as the link of another person.
    """
    if not kept or len(kept) > MAX_KEPT:
        return None, ""
    try:
        sealed = b64decode(kept + "=" * (-len(kept) % 4), altchars=b"-_", validate=True)
        conversation_id, _, owner = sealing.unseal(sealed, purpose=_PURPOSE, row=slug).partition(" ")
        return _uuid(conversation_id), owner
    except (sealing.Unreadable, binascii.Error, ValueError):
        return None, ""


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
