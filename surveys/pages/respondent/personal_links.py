"""Coming by a personal link: `/s/<slug>?link=<signed>` (rule 6.39).

The address is traded for a cookie, and leads on to the page's own address, which shows no secret. A browser
that brings no cookie back gets the page at once, and its forms carry the link in their seal.

The link is known to be opened once a browser brings the cookie back, or sends a form. What only looks at the
address, such as a scanner of mails or the preview of a chat, keeps no cookies as a rule; HEAD does nothing.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict

from surveys.drawing.theme import Page
from surveys.models import Project
from surveys.pages.respondent.browsers import Arrival, Browser
from surveys.services.links import addresses, opening
from surveys.services.links.opening import Fault, Guest, LinkRefused

TAKEN = "taken"  # in the address to which the first answer leads: a cookie was given, look whether it is here


def is_here(request: HttpRequest) -> bool:
    """Whether a request comes to the address of a personal link."""
    return request.method == "GET" and addresses.PARAMETER in request.GET


def followed(request: HttpRequest, browser: Browser) -> Browser:
    """The browser, with the link in the address if there is one.

    What this browser had begun is left with another link: it may be another person's.
    """
    if not is_here(request):
        return browser
    link_id = addresses.link_id_of(request.GET[addresses.PARAMETER])
    if link_id is None or link_id == browser.link_id:
        return browser
    return replace(browser, link_id=link_id, conversation_id=None)


def admitted(
    request: HttpRequest, project: Project, link_id: uuid.UUID | None, *, at: datetime
) -> tuple[Guest | None, Fault | None]:
    """Whom the link admits, or why it admits nobody; neither without a link."""
    if is_here(request) and addresses.link_id_of(request.GET[addresses.PARAMETER]) is None:
        return None, Fault.UNKNOWN
    if link_id is None:
        return None, None
    try:
        return opening.admit(link_id=link_id, project=project, at=at), None
    except LinkRefused as refused:
        return None, refused.fault


def next_address(request: HttpRequest, arrival: Arrival, guest: Guest | None, page: Page) -> str | None:
    """Where a valid link leads on to. None if the page is drawn here."""
    if guest is None or not is_here(request) or page.is_framed:
        return None
    others = _without_link(request.GET)
    if arrival.browser.link_id == guest.link_id:
        return page.address + (f"?{others}" if others else "")
    if TAKEN in request.GET:
        return None
    sent = {addresses.PARAMETER: request.GET[addresses.PARAMETER], TAKEN: "1"}
    return f"{page.address}?{'&'.join(filter(None, [urlencode(sent), others]))}"


def _without_link(query: QueryDict) -> str:
    """What else the address says, such as declared fields and answers that are filled in ahead."""
    others = query.copy()
    for name in (addresses.PARAMETER, TAKEN):
        others.pop(name, None)
    return others.urlencode()


def note_opening(
    request: HttpRequest, arrival: Arrival, guest: Guest | None, project: Project, *, at: datetime
) -> None:
    """Write down that the link was opened, if this shows that a person has done so."""
    is_prefetched = "prefetch" in request.headers.get("Sec-Purpose", "")
    has_cookie = guest is not None and arrival.browser.link_id == guest.link_id
    if guest is not None and has_cookie and request.method in ("GET", "POST") and not is_prefetched:
        opening.note_opening(guest=guest, project=project, at=at)
