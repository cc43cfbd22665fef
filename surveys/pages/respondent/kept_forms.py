"""The form that a visitor sent before they had to sign in, stored in their browser until they return.

It is in a cookie, not in a session: on anonymous projects no row may join an answer to the person who signs
in. The cookie is encrypted, valid for one page, and expires after half an hour. Only the person for whom the
form was drawn finds it again; a form that was drawn for nobody is there for whoever signs in. If a form is
too long, the page shows the answer to be copied instead.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
import zlib
from collections.abc import Collection

from django.http import HttpRequest, HttpResponse, QueryDict

from communities.ground import sealing
from surveys.drawing import forms
from surveys.pages.respondent import browsers

COOKIE = "colloquy_typed"
MAX_AGE = 1800  # seconds
MAX_LENGTH = 3000  # characters; browsers keep 4,096 bytes of a cookie with its name and attributes
_PURPOSE = "kept forms"
_FIELDS = ("block", "option", "value", forms.ROWS, forms.CONSENT)


def read(request: HttpRequest, *, slug: str, owners: Collection[str]) -> QueryDict | None:
    """The form that this browser stores for a page; None if it stores none that was drawn for `owners`."""
    cookie = request.COOKIES.get(COOKIE, "")
    try:
        sealed = base64.urlsafe_b64decode(cookie)
        kept_at, owner, packed = json.loads(sealing.unseal(sealed, purpose=_PURPOSE, row=slug))
    except (sealing.Unreadable, binascii.Error, ValueError):
        return None
    if time.time() - kept_at > MAX_AGE or owner not in owners:
        return None
    return QueryDict(zlib.decompress(base64.b64decode(packed)))


def keep(response: HttpResponse, sent: QueryDict, *, slug: str, path: str) -> None:
    """Store the fields of an answer in the browser, if they are short enough."""
    kept = QueryDict(mutable=True)
    for name in sent:
        if name in _FIELDS or name.startswith(("rank-", "row-")):
            kept.setlist(name, sent.getlist(name))
    packed = base64.b64encode(zlib.compress(kept.urlencode().encode())).decode()
    owner = browsers.owner_in(sent.get(forms.OWNER, ""))
    sealed = sealing.seal(json.dumps([int(time.time()), owner, packed]), purpose=_PURPOSE, row=slug)
    cookie = base64.urlsafe_b64encode(sealed).decode()
    if len(cookie) > MAX_LENGTH:
        return
    browsers.set_cookie(response, COOKIE, cookie, path=path, max_age=MAX_AGE)


def forget(response: HttpResponse, *, path: str) -> None:
    browsers.delete_cookie(response, COOKIE, path=path)
