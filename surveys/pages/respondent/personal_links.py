"""Visits by a personal link: `/s/<slug>?link=<signed>` (rule 6.39).

The first request sets a cookie and redirects to the page's own address, which contains no secret. A browser
that does not send the cookie back gets the page at once, and its forms carry the link in their seal.

The link counts as opened when a browser sends the cookie back, or sends a form. Programs that only read the
address, such as mail scanners and chat previews, usually store no cookies. HEAD requests do nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict

from surveys.drawing.theme import Page
from surveys.models import Project
from surveys.pages.respondent.browsers import Arrival, Browser
from surveys.services.links import addresses, opening
from surveys.services.links.opening import Fault, Guest, LinkRefused

TAKEN = "taken"  # in the address after the first redirect, which set a cookie: check that the cookie is sent


def is_here(request: HttpRequest) -> bool:
    """Whether a request is for the address of a personal link."""
    return request.method == "GET" and addresses.PARAMETER in request.GET


def followed(
    request: HttpRequest, project: Project, browser: Browser, *, at: datetime
) -> tuple[Browser, Guest | None, Fault | None]:
    """The browser with the link in the address if there is one, and the guest whom its link admits.

    If the link admits nobody, the third value says why. With another link than before, this browser leaves
    its conversation, which may be another person's.
    """
    link_id = browser.link_id
    if is_here(request):
        link_id = addresses.link_id_of(request.GET[addresses.PARAMETER])
    if link_id is None:
        return browser, None, Fault.UNKNOWN if is_here(request) else None
    if link_id != browser.link_id:
        browser = replace(browser, link_id=link_id, conversation_id=None)
    try:
        return browser, opening.admit(link_id=link_id, project=project, at=at), None
    except LinkRefused as refused:
        return browser, None, refused.fault


def next_address(request: HttpRequest, arrival: Arrival, guest: Guest, page: Page) -> str | None:
    """The address to which a valid link redirects; None if this request shows the page."""
    if not is_here(request) or page.is_framed:
        return None
    others = _without_link(request.GET)
    if arrival.browser.link_id == guest.link_id:
        return page.address + (f"?{others}" if others else "")
    if TAKEN in request.GET:
        return None
    sent = {addresses.PARAMETER: request.GET[addresses.PARAMETER], TAKEN: "1"}
    return f"{page.address}?{'&'.join(filter(None, [urlencode(sent), others]))}"


def _without_link(query: QueryDict) -> str:
    """The other parameters of the address, such as declared fields and filled-in answers."""
    others = query.copy()
    for name in (addresses.PARAMETER, TAKEN):
        others.pop(name, None)
    return others.urlencode()


def note_opening(
    request: HttpRequest, arrival: Arrival, guest: Guest, project: Project, *, at: datetime
) -> None:
    """Record that the link was opened, if this request shows that a person has opened it."""
    is_prefetched = "prefetch" in request.headers.get("Sec-Purpose", "")
    has_cookie = arrival.browser.link_id == guest.link_id
    if has_cookie and request.method in ("GET", "POST") and not is_prefetched:
        opening.note_opening(guest=guest, project=project, at=at)
