"""Remembers a visitor in the frame of another site by a token that identifies the visit.

If this site uses https, the browser stores the token in a partitioned cookie: one for each site that shows
the frame, so nobody is followed from site to site. If the browser stores no cookie, the script of the site
around the frame (embed.js) stores the token and sends it back in the frame's address.

The token is encrypted, because the site around the frame can read it, and is valid for one project. It
contains no name, and a visitor has a different id in each project. The site around the frame could use the
token to continue in the visitor's place; a cookie prevents that, so the cookie is preferred. On anonymous
projects that site gets and gives no conversation (`browsers.known_around`).
"""

from __future__ import annotations

import binascii
import json
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.cookies import Morsel

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from communities.ground import sealing

COOKIE = "colloquy_frame"
PARAMETER = "colloquy-visit"  # in the frame's address; with a hyphen, no declared field has this name
LIFETIME = timedelta(days=365)
MAX_LENGTH = 1000  # characters; a token of ours has about 250
_PURPOSE = "frame visits"


@dataclass(frozen=True, slots=True)
class FramedBrowser:
    """The visit of a token. `is_in_cookie`: the browser stored the token, not the site around the frame."""

    visitor_id: str
    conversation_id: uuid.UUID | None
    link_id: uuid.UUID | None
    is_in_cookie: bool


class _PartitionedMorsel(Morsel[str]):
    """A cookie with the attribute `Partitioned`, which Python's own class has from 3.14 on."""

    def OutputString(self, attrs: Container[str] | None = None) -> str:
        return f"{super().OutputString(attrs)}; Partitioned"


def read(request: HttpRequest, *, slug: str, at: datetime) -> FramedBrowser | None:
    """The visit of the token in the cookie, else in the address; None without a valid token.

    The address of a form is ignored, because the form's seal identifies the visit. The address of a page
    outside a frame is ignored too: somebody could open it in a tab and pass it on, and another person would
    become the same visitor.
    """
    found = _opened(request.COOKIES.get(COOKIE, ""), slug, at, is_in_cookie=True)
    is_in_frame = request.headers.get("Sec-Fetch-Dest") != "document"  # browsers send it on https
    if found is None and request.method != "POST" and is_in_frame:
        found = _opened(request.GET.get(PARAMETER, ""), slug, at, is_in_cookie=False)
    return found


def token(
    *,
    visitor_id: str,
    conversation_id: uuid.UUID | None,
    link_id: uuid.UUID | None,
    slug: str,
    until: datetime,
) -> str:
    """A token that identifies this visit at this project until the given time."""
    parts = [int(until.timestamp()), visitor_id, *(each and str(each) for each in (conversation_id, link_id))]
    sealed = sealing.seal(json.dumps(parts), purpose=_PURPOSE, row=slug)
    return urlsafe_b64encode(sealed).decode()


def set_cookie(response: HttpResponse, value: str, *, path: str) -> None:
    """Let the browser store a token, separately for each site that shows the frame (CHIPS)."""
    response.set_cookie(
        COOKIE,
        value,
        max_age=LIFETIME,
        path=path,
        secure=True,
        httponly=True,
        samesite="None",
    )
    plain, partitioned = response.cookies[COOKIE], _PartitionedMorsel()
    partitioned.set(plain.key, plain.value, plain.coded_value)
    partitioned.update(plain)
    response.cookies[COOKIE] = partitioned


def keeps_cookies() -> bool:
    """Whether frames may set a cookie here. Browsers accept a partitioned cookie only on https."""
    return settings.SESSION_COOKIE_SECURE


def _opened(value: str, slug: str, at: datetime, *, is_in_cookie: bool) -> FramedBrowser | None:
    if not value or len(value) > MAX_LENGTH:
        return None
    try:
        sealed = urlsafe_b64decode(value)
        until, visitor_id, conversation, link = json.loads(sealing.unseal(sealed, purpose=_PURPOSE, row=slug))
    except (sealing.Unreadable, binascii.Error, ValueError):
        return None
    if at.timestamp() >= until:
        return None
    conversation_id, link_id = (each and uuid.UUID(each) for each in (conversation, link))
    return FramedBrowser(visitor_id, conversation_id, link_id, is_in_cookie)
