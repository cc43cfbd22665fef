"""Screens for those who cannot answer now: the project is closed, or they have answered already."""

from __future__ import annotations

from dataclasses import replace

from surveys.drawing import forms, screens
from surveys.drawing.screens import Screen
from surveys.pages.respondent.page_request import PageRequest, posted_block
from surveys.services import public_messages
from surveys.services.conversations import admission
from surveys.services.conversations.admission import NotAdmitted
from surveys.services.links.opening import Fault

LEAVE = screens.Action("leave", "Go on without this link")
NOT_OPEN_YET = "Not open yet."
_KEPT_NOTHING = "Thank you! This browser keeps nothing of your answers."
_OVER = {
    Fault.UNKNOWN: (
        "This link does not work.",
        "Perhaps a part of it got lost. Please open it as it stands in your mail, or ask for a new one.",
    ),
    Fault.EXPIRED: (
        "This link has expired.",
        "Personal links work for 30 days. Please ask whoever sent it for a new one.",
    ),
    Fault.REVOKED: (
        "This link was withdrawn.",
        "Whoever sent it has withdrawn it. If you think that is a mistake, please ask them for a new one.",
    ),
    Fault.LEFT: (
        "This link does not work any more.",
        "It was made for somebody who is no member any more.",
    ),
    Fault.DEACTIVATED: (
        "This link does not work any more.",
        "It was made for somebody whose account is deactivated.",
    ),
}


def not_live(page_request: PageRequest) -> Screen:
    """Closed, or not open yet. What was typed stays in sight."""
    project, at = page_request.project, page_request.at
    is_post = page_request.request.method == "POST"
    unsaved_text = _sent_in_words(page_request)
    noun = "poll" if project.is_poll else "survey"
    if project.is_pending_at(at):
        return screens.notice(
            title=NOT_OPEN_YET, text=f"This {noun} opens on", moment=project.opens_at, kept=unsaved_text
        )
    if not project.was_opened_by(at):
        return screens.notice(title=NOT_OPEN_YET, text="Please come back later.", kept=unsaved_text)
    has_begun = page_request.visit.conversation_id is not None
    saved = " What you answered before is saved." if has_begun and not project.is_poll else ""
    text = (
        f"It closed before this answer could be taken.{saved}"
        if is_post
        else f"It takes no more answers. Thank you for coming by.{saved}"
    )
    sees_results = has_begun or _is_admitted(page_request)
    results = None
    if sees_results:
        results = screens.closed_poll_results(project, has_voted=has_begun, votes=page_request.votes)
    return screens.notice(title=f"This {noun} is closed.", text=text, kept=unsaved_text, results=results)


def in_chat(page_request: PageRequest) -> Screen:
    """The project is answered on the chat platform, not here."""
    project = page_request.project
    noun = "poll" if project.is_poll else "survey"
    address = public_messages.address_of(project)
    links = (screens.Link("Open it in the chat", address),) if address else ()
    text = f"This {noun} is answered in the chat of its community. Look for its message in the server there."
    return screens.notice(title=f"This {noun} is in the chat.", text=text, links=links)


def _is_admitted(page_request: PageRequest) -> bool:
    try:
        admission.check(project=page_request.project, respondent=page_request.respondent, at=page_request.at)
    except NotAdmitted:
        return False
    return True


def limit_reached() -> Screen:
    return screens.notice(
        title="You have answered already.",
        text="You have answered this as often as its author allows. Thank you!",
    )


def answered(page_request: PageRequest, *, may_answer_again: bool) -> Screen:
    """An anonymous project in a browser that has answered, and keeps neither the answers nor their id."""
    project = page_request.project
    if project.is_poll:
        results = screens.closed_poll_results(project, has_voted=True, votes=page_request.votes)
        return screens.notice(title="You have voted in this poll.", text=_KEPT_NOTHING, results=results)
    return screens.notice(
        title="You have answered this already.",
        text=_KEPT_NOTHING,
        actions=(screens.AGAIN,) if may_answer_again else (),
    )


def link_over(page_request: PageRequest, fault: Fault) -> Screen:
    """A personal link that admits nobody. What was typed stays in sight, and what was saved stays saved."""
    title, text = _OVER[fault]
    if page_request.visit.conversation_id is not None:
        text += " What you answered before is saved."
    is_held = page_request.arrival.visit.link_id is not None
    screen = screens.notice(title=title, text=text, kept=_sent_in_words(page_request), status=403)
    assert screen.ending is not None
    ending = replace(screen.ending, actions=(LEAVE,) if is_held else (), leaves_the_page=True)
    return replace(screen, ending=ending, has_lost_link=True)


def _sent_in_words(page_request: PageRequest) -> str:
    """The answer in the form that came, which is not saved; empty if none came."""
    request = page_request.request
    if request.method != "POST" or request.POST.get("do", "answer") != "answer":
        return ""
    return forms.in_words(posted_block(page_request), request.POST)
