"""Screens for visitors who cannot answer now, and for answers that were not saved."""

from __future__ import annotations

from dataclasses import replace

from communities.ground.sent_text import sent_text
from communities.ground.translation import say
from surveys.drawing import endings, forms, parts
from surveys.drawing.parts import PastChange, Screen
from surveys.engine.script import Block
from surveys.engine.walk import answers
from surveys.pages.respondent.visit import Visit, posted_block
from surveys.services import public_messages
from surveys.services.conversations import admission
from surveys.services.conversations.admission import NotAdmitted
from surveys.services.conversations.places import Full
from surveys.services.conversations.view import ConversationView
from surveys.services.links.opening import Fault

LEAVE = parts.Action("leave", "Go on without this link")
LOOK = parts.Action("look", "Look at my answers")
NOT_OPEN_YET = "Not open yet."
_SAVED = "What you answered before is saved."
_POLL_IN_CHAT = (
    "This poll is answered in the chat of its community. Look for its message in the server there."
)
_SURVEY_IN_CHAT = (
    "This survey is answered in the chat of its community. Look for its message in the server there."
)
_FULL_NEW = "Nothing more is stored."
_FULL_BEGUN = (
    "The last places were taken while you answered. What you answered before is kept as an unfinished "
    "response. Your last answer is not stored."
)
_FULL_REVIEWED = (
    "There is no place left for these answers. They are kept as an unfinished response, and you can still "
    "change them."
)
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


def not_live(visit: Visit) -> Screen:
    """The project is closed, or not open yet. The typed answer stays visible."""
    project, at = visit.project, visit.at
    is_post = visit.request.method == "POST"
    unsaved_text = _sent_in_words(visit)
    if project.is_pending_at(at):
        return parts.notice(
            title=say(NOT_OPEN_YET),
            text=say("This poll opens on" if project.is_poll else "This survey opens on"),
            moment=project.opens_at,
            kept=unsaved_text,
        )
    if not project.was_opened_by(at):
        return parts.notice(title=say(NOT_OPEN_YET), text=say("Please come back later."), kept=unsaved_text)
    has_begun = visit.browser.conversation_id is not None
    if is_post:
        text = say("It closed before this answer could be taken.")
    elif project.is_poll:
        text = say("It takes no more votes. Thank you for coming by.")
    else:
        text = say("It takes no more answers. Thank you for coming by.")
    if has_begun and not project.is_poll:
        text = f"{text} {say(_SAVED)}"
    sees_results = has_begun or _is_admitted(visit)
    results = None
    if sees_results:
        results = endings.closed_poll_results(project, has_voted=has_begun, votes=visit.votes)
    if sees_results and project.is_poll and results is None:
        text = f"{text} {endings.voters_in_words(project, at=at)}".strip()
    title = say("This poll is closed." if project.is_poll else "This survey is closed.")
    return parts.notice(title=title, text=text, kept=unsaved_text, results=results)


def in_chat(visit: Visit) -> Screen:
    """The project is answered on the chat platform, not here."""
    project = visit.project
    address = public_messages.address_of(project)
    links = (parts.Link(say("Open it in the chat"), address),) if address else ()
    text = _POLL_IN_CHAT if project.is_poll else _SURVEY_IN_CHAT
    title = say("This poll is in the chat." if project.is_poll else "This survey is in the chat.")
    return parts.notice(title=title, text=say(text), links=links)


def _is_admitted(visit: Visit) -> bool:
    try:
        admission.check(project=visit.project, respondent=visit.respondent, at=visit.at)
    except NotAdmitted:
        return False
    return True


def limit_reached() -> Screen:
    return parts.notice(
        title=say("You have answered already."),
        text=say("You have answered this as often as its author allows. Thank you!"),
    )


def take_back() -> Screen:
    """Asks before a vote is taken back."""
    screen = parts.notice(
        title=say("Take your vote back?"),
        text=say("It will not count any more. You can vote again while the poll is open."),
        actions=endings.RETRACTION,
    )
    return replace(screen, past_change=PastChange.KEPT)


def full(visit: Visit, refusal: Full) -> Screen:
    """The project is full, for everybody or for responses like this one. What was typed stays in sight."""
    has_begun = visit.browser.conversation_id is not None
    text, actions = _FULL_BEGUN if has_begun else _FULL_NEW, tuple[parts.Action, ...]()
    if visit.request.POST.get("do") == forms.SEND:
        text, actions = _FULL_REVIEWED, (LOOK,)
    return parts.notice(title=say(refusal.words), text=say(text), kept=_sent_in_words(visit), actions=actions)


def answered(visit: Visit, *, may_answer_again: bool) -> Screen:
    """An anonymous project in a browser that has answered and stores neither the answers nor their id."""
    project = visit.project
    if project.is_poll:
        results = endings.closed_poll_results(project, has_voted=True, votes=visit.votes)
        title = say("You have voted in this poll.")
        return parts.notice(title=title, text=say(_KEPT_NOTHING), results=results)
    return parts.notice(
        title=say("You have answered this already."),
        text=say(_KEPT_NOTHING),
        actions=(endings.AGAIN,) if may_answer_again else (),
    )


def no_copy() -> Screen:
    """A link to answers that shows none."""
    return parts.notice(
        title=say("This link does not work."),
        text=say("It has expired, a part of it got lost, or the answers were deleted."),
        status=404,
    )


def link_over(visit: Visit, fault: Fault) -> Screen:
    """A personal link that admits nobody. The typed answer stays visible, and saved answers stay saved."""
    title, text = map(say, _OVER[fault])
    if visit.browser.conversation_id is not None:
        text = f"{text} {say(_SAVED)}"
    is_held = visit.arrival.browser.link_id is not None
    screen = parts.notice(title=title, text=text, kept=_sent_in_words(visit), status=403)
    assert screen.ending is not None
    ending = replace(screen.ending, actions=(LEAVE,) if is_held else (), leaves_the_page=True)
    return replace(screen, ending=ending, has_lost_link=True)


def _sent_in_words(visit: Visit) -> str:
    """The unsaved answer in the submitted form; empty without an answer."""
    request = visit.request
    if request.method != "POST" or request.POST.get("do", "answer") != "answer":
        return ""
    return forms.in_words(posted_block(visit), request.POST)


def untaken(visit: Visit, view: ConversationView) -> str:
    """The answer in a form that was not saved because the conversation had moved on.

    Returns it in words; empty if the conversation has the same answer.
    """
    block, text = posted_block(visit), untaken_text(visit)
    is_held = block is not None and block.id in view.state.path and _answer(view, block) == text
    return "" if is_held else text


def untaken_text(visit: Visit) -> str:
    """The answer in a form in words; empty for a form without one."""
    return sent_text(_sent_in_words(visit))


def _answer(view: ConversationView, block: Block) -> str:
    return answers.display_text(block, view.state.replies.get(block.id or 0))


def with_untaken(screen: Screen, text: str) -> Screen:
    """The screen with the text of an answer that was not saved."""
    if screen.ending is not None:
        return replace(screen, ending=replace(screen.ending, kept=text))
    return replace(screen, unsaved=text)
