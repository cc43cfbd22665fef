"""Renders a screen as HTML: the whole page, or the part that htmx inserts."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template import loader

from surveys.drawing.parts import AnswersAs, PastChange, Screen
from surveys.drawing.theme import Page
from surveys.drawing.words import words_now


@dataclass(frozen=True, slots=True)
class Handover:
    """The frame's message about the visit to the script of the surrounding site.

    `token` is the text that this script should store until `until`, in seconds since the epoch. It is empty
    if the script has it already, or if the cookie is enough. `known_by` says how the visitor was recognised:
    `cookie`, `token`, or empty for a new visitor. `events` are what this request did (rule 6.234).
    """

    token: str
    until: int
    known_by: str
    events: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Hidden:
    """The parts of a page that are not visible.

    `seal` is the signed field of its forms, `csrf` their token; empty for none. `owner` identifies an unsent
    answer that the browser stores. `handover` is for the site around a frame. `told` is the mark of what
    the page tells of privacy. `ahead` is a form field with the answers that were filled in ahead.
    """

    seal: str
    csrf: str
    owner: str = ""
    handover: Handover | None = None
    privacy_mark: str = ""
    ahead: str = ""


def page(
    page: Page,
    screen: Screen,
    hidden: Hidden,
    *,
    answers_as: AnswersAs | None = None,
    before: int | None = None,
    takes_focus: bool = True,
) -> HttpResponse:
    """The whole page, with the past steps `before` a step, or with the latest.

    `answers_as` says who reads the answers, and in whose name they are given.

    `takes_focus` gives a note or an error the keyboard's focus when the page has loaded. Browsers refuse that
    for frames of other sites.
    """
    takes_focus = takes_focus and not page.is_framed
    context = _context(page, screen, hidden, answers_as, is_fragment=False, takes_focus=takes_focus)
    return _response("respondent/page.html", context | {"past": screen.past(before)}, screen)


def fragment(
    page: Page, screen: Screen, hidden: Hidden, *, answers_as: AnswersAs | None = None
) -> HttpResponse:
    """The part that htmx inserts into the page: the step, and changes around it.

    `answers_as` replaces what the page tells about privacy; None leaves that.
    """
    past = screen.past(None) if screen.past_change == PastChange.REPLACED else None
    context = _context(page, screen, hidden, answers_as, is_fragment=True, takes_focus=False)
    return _response("respondent/fragment.html", context | {"past": past}, screen)


def token(request: HttpRequest) -> str:
    """The CSRF token of the next form: the token that the last form has proven valid, else a new one.

    A new token with its cookie took 0.07 ms each time. It would protect nothing, because no response is
    compressed.
    """
    is_good = getattr(request, "csrf_processing_done", False)
    sent: str = request.POST.get("csrfmiddlewaretoken", "") if is_good else ""
    # A browser without the cookie gets a new secret. Django draws its 32 signs one by one.
    request.META.setdefault("CSRF_COOKIE", secrets.token_hex(16))
    return sent or get_token(request)


def _context(
    page: Page,
    screen: Screen,
    hidden: Hidden,
    answers_as: AnswersAs | None,
    *,
    is_fragment: bool,
    takes_focus: bool,
) -> dict[str, object]:
    return {
        "page": page,
        "screen": screen,
        "words": words_now(),
        "hidden": hidden,
        "answers_as": answers_as,
        "is_fragment": is_fragment,
        "takes_focus": takes_focus,
    }


def _response(template: str, context: dict[str, object], screen: Screen) -> HttpResponse:
    response = HttpResponse(loader.get_template(template).render(context), status=screen.status)
    if screen.retry_after is not None:
        response["Retry-After"] = str(screen.retry_after)
    return response
