"""What a visitor asks for, from a request to an outcome."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from communities.ground.errors import Conflict, InvalidRequest, NotFound
from communities.ground.words import plural
from surveys.drawing import forms, rewards, screens, words
from surveys.drawing.screens import PastChange, Screen
from surveys.drawing.widgets import Typed
from surveys.engine.script import Block
from surveys.models import Project
from surveys.pages.respondent import kept_forms, not_admitted, notices, protection, unsaved
from surveys.pages.respondent.page_request import PageRequest, block_of, posted_block
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import NotAdmitted
from surveys.services.conversations.saving import LimitReached
from surveys.services.conversations.view import ConversationView, VisitorView, of_visitor
from surveys.services.ground import anonymity

# Parameters of the addresses to which forms lead. With a `_` first they cannot be names of blocks, which an
# address may fill in (`services/conversations/prefill.py`).
AT, AGAIN, CHANGE = "_at", "_again", "_change"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a form. `screen` shows it, and is rendered only if it is needed.

    `address` shows the same after a redirect. It is None if a redirect would lose something: what was typed,
    a note, or what an anonymous conversation gave, which is known only now.
    """

    screen: Callable[[], Screen]
    address: str | None = None


def show(page_request: PageRequest) -> Screen:
    """What waits here for this visitor. Changes nothing but what the platforms tell of them."""
    request, project = page_request.request, page_request.project
    if page_request.link_fault is not None:
        return notices.link_over(page_request, page_request.link_fault)
    if _is_in_chat(page_request):
        return notices.in_chat(page_request)
    if page_request.visit.has_answered and not (page_request.is_live and request.GET.get(AGAIN)):
        return _answered(page_request)
    try:
        view, is_at_limit = _held(page_request), False
    except NotAdmitted as refusal:
        return not_admitted.notice(page_request, refusal)
    if view is None and (page_request.arrival.is_known or page_request.respondent.is_member):
        view, is_at_limit = _look(page_request)
        if view and view.is_completed and request.GET.get(AGAIN) and not is_at_limit:
            view = None
    # The redirect after a form says how far the visitor is, or which past steps they look at.
    follows_a_form = AT in request.GET or page_request.past_before is not None
    if view is not None:
        page_request.remember(view)
        if view.is_completed:
            if CHANGE in request.GET and page_request.is_live and project.change_poll:
                return screens.vote_again(view, page_request.page)
            note = "" if follows_a_form else _answered_already(page_request)
            return screens.end(view, votes=page_request.votes, note=note)
        if page_request.is_live:
            note = "" if follows_a_form else words.WELCOME_BACK
            return screens.step(view, page_request.page, note=note, ahead=page_request.ahead)
    return notices.limit_reached() if is_at_limit and page_request.is_live else _first(page_request)


def perform(page_request: PageRequest) -> Outcome:
    """Do what the form asks for. Whatever could not be saved is still in the controls of the screen."""
    if not _is_own_form(page_request):
        return _again(page_request, words.ONCE_MORE)
    if wait := protection.seconds_to_wait(page_request.request, visitor_id=page_request.visit.visitor_id):
        return _too_fast(page_request, wait)
    if page_request.request.POST.get("do") == notices.LEAVE.do:
        return _leave_link(page_request)
    if page_request.link_fault is not None:
        return Outcome(partial(notices.link_over, page_request, page_request.link_fault))
    if _is_in_chat(page_request):
        return Outcome(partial(notices.in_chat, page_request))
    if page_request.request.POST.get("do") == forms.SHOW_PAST:
        return _show_past(page_request)
    try:
        return _perform(page_request, page_request.request.POST.get("do", "answer"))
    except InvalidRequest as refusal:
        violations = refusal.violations
        return _with_error(page_request, str(violations[0]["message"]) if violations else refusal.message)
    except forms.BadForm as bad:
        return _with_error(page_request, str(bad))
    except Conflict as refusal:
        return _conflict(page_request, refusal)
    except NotAdmitted as refusal:
        page_request.keeps_form = posted_block(page_request) is not None
        return Outcome(partial(not_admitted.notice, page_request, refusal))
    except NotFound:  # the conversation was deleted, for example retracted in another window
        page_request.forget()
        return _again(page_request, words.ONCE_MORE)


def _is_in_chat(page_request: PageRequest) -> bool:
    """Whether the project takes answers on the chat platform alone."""
    project = page_request.project
    return page_request.is_live and project.response_channel == Project.ResponseChannel.CHAT


def _leave_link(page_request: PageRequest) -> Outcome:
    """Forget the personal link: whoever sits here is not its member, or goes on without it."""
    page_request.forget_link()
    page_request.respondent = admission.visitor(visitor_id=page_request.visit.visitor_id)
    return Outcome(partial(show, page_request), page_request.page.address)


def _show_past(page_request: PageRequest) -> Outcome:
    """The same step, below other past steps."""
    query = f"{forms.PAST}={page_request.past_before or ''}"
    return Outcome(partial(show, page_request), f"{page_request.page.address}?{query}#history")


def _too_fast(page_request: PageRequest, seconds: int) -> Outcome:
    """The same step with what was typed, as a 429. Nothing was saved and nothing is lost."""
    again = _again(page_request, words.TOO_FAST.format(wait=plural(seconds, "second")))
    return Outcome(lambda: replace(again.screen(), status=429, retry_after=seconds))


def _is_own_form(page_request: PageRequest) -> bool:
    """Whether the form comes from our page: by its seal if it carries the visit, else by Django's check."""
    arrival = page_request.arrival
    return arrival.is_sealed if arrival.is_carried else protection.is_own_form(page_request.request)


def _perform(page_request: PageRequest, do: str) -> Outcome:
    conversation_id, at = page_request.visit.conversation_id, page_request.at
    if do == "check" and conversation_id is None:
        page_request.require_admitted()
        return _from_the_start(page_request)
    if page_request.visit.has_answered and do != "again":
        return Outcome(partial(_answered, page_request))
    if do in ("answer", "skip", "go"):
        if conversation_id is None:
            return _begin(page_request, do)
        return _move(page_request, conversation_id, do)
    if conversation_id is None:
        page_request.stop_skipping()
        return _from_the_start(page_request)
    match do:
        case "back":
            block = posted_block(page_request)
            view = conversations.back(
                conversation_id=conversation_id, at=at, block_id=None if block is None else block.id
            )
            if view.resumed:
                return _standing(page_request, view, note=words.MOVED_ON)
            return _moved(page_request, view, PastChange.REPLACED)
        case "change":
            return _reopen_vote(page_request, conversation_id)
        case "retract":
            conversations.retract(conversation_id=conversation_id, at=at)
            page_request.forget()
            return Outcome(partial(_retracted, page_request))
        case "again":
            return _answer_again(page_request)
    return _moved(
        page_request, conversations.get(conversation_id=conversation_id, at=at), PastChange.REPLACED
    )


def _begin(page_request: PageRequest, do: str) -> Outcome:
    """Begin a conversation with its first move, in one transaction."""
    if not page_request.is_live:
        return Outcome(partial(notices.not_live, page_request))
    if page_request.has_traps:
        request = page_request.request
        if protection.is_trapped(request):  # the next form has no trap, so nobody is asked twice
            page_request.was_trapped = True
            return _again(page_request, words.TRAPPED)
        is_human = protection.seems_human(
            is_sealed=page_request.arrival.is_sealed,
            since=page_request.visit.since,
            is_answer=do != "go" or page_request.ahead.skips,
            at=page_request.at,
        )
        if not is_human:
            return _again(page_request, words.ONCE_MORE)
    block = posted_block(page_request)
    if block is not None and block.asks and do != "go":  # an invalid answer does not count as one more begun
        raw = _raw_answer(page_request, block)
        conversations.require_valid(project=page_request.project, block=block, raw=raw)
    if page_request.has_traps and not protection.may_begin(page_request.request):
        return _again(page_request, words.BUSY)
    page_request.require_admitted()
    project_id, respondent = page_request.project.pk, page_request.respondent
    at, seed = page_request.at, page_request.visit.seed
    if block is None:
        view = conversations.begin(project_id=project_id, respondent=respondent, at=at, seed=seed)
        page_request.remember(view)
        return _standing(page_request, view, note=words.REWRITTEN)
    if page_request.project.is_poll and block.asks:
        raw = _raw_answer(page_request, block)
        view = conversations.vote(project_id=project_id, respondent=respondent, raw=raw, at=at, seed=seed)
        page_request.remember(view)
        return _moved(page_request, view, PastChange.KEPT)
    view = conversations.begin_with_move(
        project_id=project_id,
        respondent=respondent,
        block_id=block.id or 0,
        raw=None if do == "go" else _raw_answer(page_request, block),
        at=at,
        seed=seed,
        ahead=page_request.ahead,
    )
    page_request.remember(view)
    if view.resumed:
        return _standing(page_request, view, note=words.WELCOME_BACK if do == "go" else words.MOVED_ON)
    return _moved(page_request, view, _past_change(page_request, view, block))


def _move(page_request: PageRequest, conversation_id: uuid.UUID, do: str) -> Outcome:
    """Move a conversation that has begun."""
    at, block = page_request.at, posted_block(page_request)
    if block is None:
        raise Conflict("This question is not part of the survey any more.")
    if do == "go":
        view = conversations.go_on(
            conversation_id=conversation_id, at=at, block_id=block.id, ahead=page_request.ahead
        )
        return _moved(page_request, view, _past_change(page_request, view, block))
    raw = _raw_answer(page_request, block)
    if page_request.project.is_poll:
        view = conversations.change_vote(conversation_id=conversation_id, raw=raw, at=at)
        return _moved(page_request, view, PastChange.KEPT)
    view = conversations.answer(conversation_id=conversation_id, raw=raw, at=at, ahead=page_request.ahead)
    return _moved(page_request, view, _past_change(page_request, view, block))


def _past_change(page_request: PageRequest, view: ConversationView, block: Block) -> PastChange:
    """How a move from a block changes the past: by this one step, unless others were answered ahead.

    A question is past already while there is a further one about its answer.
    """
    is_one_step = not view.resumed and view.state.path[-1:] == (block.id,)
    if forms.follow_up_of(page_request.request.POST) or view.state.further is not None:
        return PastChange.REPLACED
    return PastChange.APPENDED if is_one_step else PastChange.REPLACED


def _raw_answer(page_request: PageRequest, block: Block) -> Mapping[str, object]:
    """The answer in the form. Raises BadForm."""
    sent = page_request.request.POST
    raw = forms.raw_answer(block, sent, language=page_request.page.lang)
    return {**raw, "follow_up": forms.follow_up_of(sent)}


def _reopen_vote(page_request: PageRequest, conversation_id: uuid.UUID) -> Outcome:
    """Show the question of a poll again, with the vote. The vote counts until another is given."""
    view = conversations.get(conversation_id=conversation_id, at=page_request.at)
    if not (view.is_completed and page_request.is_live and page_request.project.change_poll):
        return _moved(page_request, view, PastChange.REPLACED)
    address = f"{page_request.page.address}?{CHANGE}=1#step"
    return Outcome(partial(screens.vote_again, view, page_request.page), address)


def _answer_again(page_request: PageRequest) -> Outcome:
    """Leave a completed conversation, so that the next form begins another."""
    page_request.forget()
    _, is_at_limit = _look(page_request)
    if is_at_limit:
        return Outcome(notices.limit_reached)
    return Outcome(partial(_first, page_request), f"{page_request.page.address}?{AGAIN}=1")


def _retracted(page_request: PageRequest) -> Screen:
    """The poll's question again. Replaces the past steps, because the gifts they show were taken back."""
    first = _first(page_request, note=words.TAKEN_BACK)
    return replace(first, past_change=PastChange.REPLACED)


def _from_the_start(page_request: PageRequest) -> Outcome:
    return Outcome(partial(_first, page_request), f"{page_request.page.address}?{AT}=0#step")


def _moved(
    page_request: PageRequest, view: ConversationView, past_change: PastChange = PastChange.APPENDED
) -> Outcome:
    """A conversation as it stands after a move."""
    page_request.remember(view)
    screen = partial(_screen_of, page_request, view, past_change=past_change)
    if page_request.visit.has_answered or (view.project.is_anonymous and rewards.has_given(view)):
        return Outcome(screen)
    return Outcome(screen, f"{page_request.page.address}?{AT}={len(view.state.path)}#step")


def _standing(page_request: PageRequest, view: ConversationView, *, note: str = "") -> Outcome:
    """A conversation as it stands, with a note why nothing moved, and the text that was not taken."""
    outcome, text = _moved(page_request, view, PastChange.REPLACED), unsaved.text_of(page_request, view)
    return replace(
        outcome,
        screen=lambda: unsaved.shown(_screen_of(page_request, view, note=note), text),
        address=outcome.address if not note and not text else None,
    )


def _screen_of(
    page_request: PageRequest,
    view: ConversationView,
    *,
    note: str = "",
    past_change: PastChange = PastChange.REPLACED,
) -> Screen:
    if view.is_completed or view.step is None:
        return screens.end(view, votes=page_request.votes, note=note, past_change=past_change)
    return screens.step(view, page_request.page, note=note, past_change=past_change, ahead=page_request.ahead)


def _first(
    page_request: PageRequest, *, typed: Typed | None = None, error: str = "", note: str = ""
) -> Screen:
    """The first step, if this visitor may see it."""
    if not page_request.is_live:
        return notices.not_live(page_request)
    try:
        page_request.require_admitted()
    except NotAdmitted as refusal:
        return not_admitted.notice(page_request, refusal)
    view = of_visitor(
        project=page_request.project,
        respondent=page_request.respondent,
        seed=page_request.visit.seed,
        at=page_request.at,
        ahead=page_request.ahead,
    )
    if typed is None or not screens.asks_first(view, posted_block(page_request)):
        typed = _kept(page_request, view)
    return screens.first(
        view,
        page_request.page,
        votes=page_request.votes,
        typed=typed,
        error=error,
        note=note,
        has_traps=page_request.has_traps,
        ahead=page_request.ahead,
    )


def _kept(page_request: PageRequest, view: VisitorView) -> Typed | None:
    """What the visitor typed before they had to sign in."""
    kept = kept_forms.read(page_request.request, slug=page_request.project.slug)
    block = None if kept is None else block_of(page_request.project, kept)
    if kept is None or not screens.asks_first(view, block):
        return None
    return forms.typed_in(block, kept)


def _again(page_request: PageRequest, note: str) -> Outcome:
    """The same step with what was typed, to be sent again. Nothing was saved and nothing is lost."""
    if not page_request.is_live:
        return Outcome(partial(notices.not_live, page_request))
    typed = forms.typed_in(posted_block(page_request), page_request.request.POST)
    view = _held(page_request)
    if view is None:
        return Outcome(partial(_first, page_request, typed=typed, note=note))
    if view.is_completed or view.step is None:
        return _moved(page_request, view, PastChange.REPLACED)
    is_same = str(view.step.block.id) == page_request.request.POST.get("block")
    return Outcome(
        partial(
            screens.step,
            view,
            page_request.page,
            typed=typed if is_same else None,
            note=note,
            past_change=PastChange.KEPT,
            ahead=page_request.ahead,
        )
    )


def _with_error(page_request: PageRequest, error: str) -> Outcome:
    """The same step, with the input and an error message."""
    typed = forms.typed_in(posted_block(page_request), page_request.request.POST)
    view, page = _held(page_request), page_request.page
    if view is None:
        return Outcome(partial(_first, page_request, typed=typed, error=error))
    if view.is_completed or view.step is None:
        return Outcome(partial(screens.vote_again, view, page, typed=typed, error=error))
    return Outcome(partial(screens.step, view, page, typed=typed, error=error, past_change=PastChange.KEPT))


def _conflict(page_request: PageRequest, refusal: Conflict) -> Outcome:
    if not page_request.is_live:
        return Outcome(partial(notices.not_live, page_request))
    if isinstance(refusal, LimitReached):
        return Outcome(notices.limit_reached)
    view = None if refusal.retry_after is not None else _held(page_request)
    if view is None:
        return _again(page_request, words.ONCE_MORE)
    if view.is_completed:
        return _standing(page_request, view, note=words.VOTED if view.project.is_poll else words.FINISHED)
    note = words.REWRITTEN if posted_block(page_request) is None else words.MOVED_ON
    return _standing(page_request, view, note=note)


def _look(page_request: PageRequest) -> tuple[ConversationView | None, bool]:
    return conversations.look(
        project_id=page_request.project.pk, respondent=page_request.respondent, at=page_request.at
    )


def _held(page_request: PageRequest) -> ConversationView | None:
    """The conversation that this visitor holds, unless it is gone or began under other privacy."""
    conversation_id = page_request.visit.conversation_id
    if conversation_id is None or page_request.visit.has_answered:
        return None
    try:
        view = conversations.get(conversation_id=conversation_id, at=page_request.at)
    except NotFound:
        page_request.forget()
        return None
    keeps_privacy = anonymity.is_anonymous(conversation_id) == page_request.project.is_anonymous
    if view.project.pk != page_request.project.pk or not keeps_privacy:
        page_request.forget()
        return None
    return view


def _answered(page_request: PageRequest) -> Screen:
    """For a browser that keeps no more than that it answered."""
    if not page_request.is_live:
        return notices.not_live(page_request)
    _, is_at_limit = _look(page_request)
    return notices.answered(page_request, may_answer_again=not is_at_limit)


def _answered_already(page_request: PageRequest) -> str:
    if page_request.project.is_poll:
        return "You have voted in this poll." + ("" if page_request.is_live else " It is closed now.")
    return "You have answered this already."
