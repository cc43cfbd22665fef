"""The answers that an address fills in, carried through the steps of a visit: `?color=red&skip=1`.

A signed field of the form carries them. A cookie of the page carries them through the redirects between plain
forms. The server stores neither: on anonymous projects no row may contain what an address says about its
reader. The cookie is deleted at the end of the conversation, with the browser's session, or after a day.
"""

from __future__ import annotations

import base64
import binascii
import time
import zlib
from dataclasses import replace

import orjson
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse

from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.models import Project
from surveys.pages.respondent import browsers
from surveys.pages.respondent.browsers import Arrival
from surveys.services.conversations import prefill

FIELD = "ahead"
COOKIE = "colloquy_ahead"
MAX_AGE = 24 * 3600  # seconds
_MAX_UNPACKED = 10 * prefill.MAX_BYTES


def of_request(
    request: HttpRequest, project: Project, arrival: Arrival, *, language: str, is_of_another: bool
) -> Prefill:
    """The filled-in answers of the address, else of the form, else of the cookie.

    Form and cookie count as empty if they carry the visit of another person, whom this browser leaves.
    """
    if request.method == "GET":
        query = dict(request.GET.lists())
        found = prefill.of_address(project=project, query=query, language=language)
        if found != NOTHING:
            return found
    if is_of_another:
        carried = NOTHING
    elif sent := request.POST.get(FIELD, ""):
        carried = _unpacked(sent, project.slug)
    else:
        carried = NOTHING if arrival.is_carried else _in_cookie(request, project.slug)
    # The project may have become anonymous since the address was opened.
    ahead = prefill.allowed(project, carried)
    return replace(ahead, skips=False) if ahead.skips and not prefill.may_skip(project) else ahead


def packed(ahead: Prefill, *, slug: str) -> str:
    """The signed text for a form or a cookie."""
    texts = {str(block_id): texts for block_id, texts in ahead.texts.items()}
    data = zlib.compress(orjson.dumps([int(time.time()), ahead.skips, texts]))
    return _signer(slug).sign(base64.urlsafe_b64encode(data).decode())


def remember(
    request: HttpRequest, response: HttpResponse, arrival: Arrival, ahead: Prefill, *, slug: str, path: str
) -> None:
    """Set or delete the cookie if it has to change. A visit that the form carries has no cookie."""
    if arrival.is_carried or ahead == _in_cookie(request, slug):
        return
    if ahead == NOTHING:
        browsers.delete_cookie(response, COOKIE, path=path)
    else:
        browsers.set_cookie(response, COOKIE, packed(ahead, slug=slug), path=path)


def _in_cookie(request: HttpRequest, slug: str) -> Prefill:
    return _unpacked(request.COOKIES.get(COOKIE, ""), slug)


def _unpacked(sent: str, slug: str) -> Prefill:
    """The answers in a signed text; none if it was not signed for this page, or is too old."""
    if not sent:
        return NOTHING
    try:
        data = base64.urlsafe_b64decode(_signer(slug).unsign(sent))
    except (BadSignature, binascii.Error):
        return NOTHING
    at, skips, texts = orjson.loads(zlib.decompressobj().decompress(data, _MAX_UNPACKED))
    if time.time() - at > MAX_AGE:
        return NOTHING
    return Prefill({int(block_id): each for block_id, each in texts.items()}, skips)


def _signer(slug: str) -> Signer:
    return Signer(salt=f"surveys.pages.ahead.{slug}")
