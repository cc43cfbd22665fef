"""A page in the frame of another site: how it remembers its visitor, and what the site around it keeps."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse

from surveys.drawing.rendering import Handover
from surveys.pages.respondent import frame_visits
from surveys.pages.respondent.frame_visits import LIFETIME
from surveys.pages.respondent.page_request import PageRequest


def handover(page_request: PageRequest) -> Handover:
    """The site around keeps the visit where no cookie does, from its start and whenever it has changed.

    Where our site is https, that shows at the first form: the page before it has set a cookie.
    """
    framed = page_request.arrival.framed
    known_by = "" if framed is None else "cookie" if framed.is_in_cookie else "token"
    may_be_in_cookie = frame_visits.keeps_cookies() and _is_new(page_request)
    is_kept = not _is_new(page_request) and not _has_changed(page_request)
    if known_by == "cookie" or may_be_in_cookie or is_kept:
        return Handover("", 0, known_by)
    until = page_request.at + LIFETIME
    return Handover(_token(page_request, until), int(until.timestamp()), known_by)


def remember(response: HttpResponse, page_request: PageRequest) -> None:
    """Set the cookie for somebody new, or where the visit has changed.

    What the site around handed over never becomes a cookie. A site could hand over a visit of its own, and a
    browser that does not know partitioned cookies would take it along to other sites.
    """
    if not frame_visits.keeps_cookies():
        return
    framed = page_request.arrival.framed
    is_in_cookie = framed is not None and framed.is_in_cookie
    if _is_new(page_request) or (is_in_cookie and _has_changed(page_request)):
        token = _token(page_request, page_request.at + LIFETIME)
        frame_visits.set_cookie(response, token, path=page_request.request.path)


def _is_new(page_request: PageRequest) -> bool:
    """Whether somebody comes of whom nothing is remembered."""
    return page_request.arrival.framed is None and page_request.request.method != "POST"


def _has_changed(page_request: PageRequest) -> bool:
    visit, was = page_request.visit, page_request.arrival.visit
    return (visit.conversation_id, visit.link_id) != (was.conversation_id, was.link_id)


def _token(page_request: PageRequest, until: datetime) -> str:
    visit = page_request.visit
    return frame_visits.token(
        visitor_id=visit.visitor_id,
        conversation_id=visit.conversation_id,
        link_id=visit.link_id,
        slug=page_request.project.slug,
        until=until,
    )
