"""Performs the action of a visitor's request, and returns its outcome."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from communities.gate import throttling
from communities.ground.errors import Conflict, InvalidRequest, NotFound
from communities.ground.words import plural
from communities.services.mail.mails import is_sendable
from surveys.drawing import endings, forms, rewards, screens, words
from surveys.drawing.parts import PastChange, Screen
from surveys.drawing.widgets import Typed
from surveys.engine.script import Block
from surveys.engine.walk.runner import State
from surveys.models import Project
from surveys.pages.respondent import kept_forms, not_admitted, notices, protection
from surveys.pages.respondent.visit import Visit, block_of, posted_block
from surveys.services.conversations import admission, moves, places, removal
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import NotAdmitted, consent_mark
from surveys.services.conversations.places import Full
from surveys.services.conversations.saving import LimitReached, NotAgreed
from surveys.services.conversations.view import ConversationView, VisitorView, of_visitor
from surveys.services.ground import anonymity, metadata
from surveys.services.responses import copies
from surveys.services.scripts import cache as script_cache

# Parameters of the addresses to which forms redirect. They begin with `_`, because other parameters may be
# names of blocks (`services/conversations/prefill.py`).
AT, AGAIN, CHANGE, COPY = "_at", "_again", "_change", "_copy"
COPIES_PER_ADDRESS_AND_HOUR = 10  # mails that one network may ask for


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a form. `screen` is computed only if it is needed.

    `address` shows the same screen after a redirect. It is None if a redirect would lose something: typed
    text, a note, or the gifts of an anonymous conversation, which are known only during this request.
    """

    screen: Callable[[], Screen]
    address: str | None = None


def show(visit: Visit) -> Screen:
    """The screen that this visitor sees. Changes nothing but memberships and roles that platforms report."""
    request, project = visit.request, visit.project
    if visit.link_fault is not None:
        return notices.link_over(visit, visit.link_fault)
    if token := request.GET.get(copies.PARAMETER):
        return _mailed_copy(visit, token)
    if _is_in_chat(visit):
        return notices.in_chat(visit)
    if visit.browser.has_answered and not (visit.is_live and request.GET.get(AGAIN)):
        return _answered(visit)
    try:
        view, is_at_limit = _held(visit), False
    except NotAdmitted as refusal:
        return not_admitted.notice(visit, refusal)
    if view is None and (visit.arrival.is_known or visit.respondent.is_member):
        view, is_at_limit = _look(visit)
        if view and view.is_completed and request.GET.get(AGAIN) and not is_at_limit:
            view = None
    # The redirect after a form includes the visitor's progress, or the past steps that they look at.
    follows_a_form = AT in request.GET or visit.past_before is not None
    if view is not None:
        visit.remember(view)
        if view.is_completed:
            if CHANGE in request.GET and visit.is_live and project.change_poll:
                return screens.vote_again(view, visit.page)
            if COPY in request.GET and visit.has_copies:
                return endings.copy(view, mails=project.mail_copy, address=visit.own_address)
            note = "" if follows_a_form else _answered_already(visit)
            return endings.end(view, votes=visit.votes, note=note)
        if visit.is_live:
            note = "" if follows_a_form else words.WELCOME_BACK
            if view.is_at_review:
                return endings.review(view, note=note)
            return screens.step(view, visit.page, note=note, ahead=visit.ahead)
    return notices.limit_reached() if is_at_limit and visit.is_live else _first(visit)


def perform(visit: Visit) -> Outcome:
    """Perform the action of the form. Input that could not be saved stays in the controls of the screen."""
    if not _is_own_form(visit):
        return _again(visit, words.ONCE_MORE)
    if wait := protection.seconds_to_wait(visit.request, visitor_id=visit.browser.visitor_id):
        return _too_fast(visit, wait)
    if visit.request.POST.get("do") == notices.LEAVE.do:
        return _leave_link(visit)
    if visit.link_fault is not None:
        return Outcome(partial(notices.link_over, visit, visit.link_fault))
    if _is_in_chat(visit):
        return Outcome(partial(notices.in_chat, visit))
    if visit.request.POST.get("do") == forms.SHOW_PAST:
        return _show_past(visit)
    try:
        return _perform(visit, visit.request.POST.get("do", "answer"))
    except NotAgreed:  # the text was changed since this request read it
        visit.project.refresh_from_db(fields=["consent"])
        return _without_consent(visit)
    except InvalidRequest as refusal:
        violations = refusal.violations
        return _with_error(visit, str(violations[0]["message"]) if violations else refusal.message)
    except forms.BadForm as bad:
        return _with_error(visit, str(bad))
    except Conflict as refusal:
        return _conflict(visit, refusal)
    except NotAdmitted as refusal:
        visit.keeps_form = posted_block(visit) is not None
        return Outcome(partial(not_admitted.notice, visit, refusal))
    except NotFound:  # the conversation was deleted, for example retracted in another window
        visit.forget()
        return _again(visit, words.ONCE_MORE)


def _is_in_chat(visit: Visit) -> bool:
    """Whether the project accepts answers only on the chat platform."""
    project = visit.project
    return visit.is_live and project.response_channel == Project.ResponseChannel.CHAT


def _leave_link(visit: Visit) -> Outcome:
    """Forget the personal link, for a visitor who is not its member or wants to continue without it."""
    visit.forget_link()
    visit.respondent = admission.visitor(visitor_id=visit.browser.visitor_id)
    return Outcome(partial(show, visit), visit.page.address)


def _show_past(visit: Visit) -> Outcome:
    """The current step, below another part of the past steps."""
    query = f"{forms.PAST}={visit.past_before or ''}"
    return Outcome(partial(show, visit), f"{visit.page.address}?{query}#history")


def _too_fast(visit: Visit, seconds: int) -> Outcome:
    """The same step as a 429, with the typed text. Nothing is saved."""
    again = _again(visit, words.TOO_FAST.format(wait=plural(seconds, "second")))
    return Outcome(lambda: replace(again.screen(), status=429, retry_after=seconds))


def _is_own_form(visit: Visit) -> bool:
    """Whether the form comes from our page: by its seal if it carries the visit, else by Django's check."""
    arrival = visit.arrival
    return arrival.is_sealed if arrival.is_carried else protection.is_own_form(visit.request)


def _perform(visit: Visit, do: str) -> Outcome:
    conversation_id, at = visit.browser.conversation_id, visit.at
    if do == "check" and conversation_id is None:
        visit.require_admitted()
        return _from_the_start(visit)
    if visit.browser.has_answered and do != "again":
        return Outcome(partial(_answered, visit))
    if do in ("answer", "skip", "go"):
        if conversation_id is None:
            return _begin(visit, do)
        return _move(visit, conversation_id, do)
    if conversation_id is None:
        visit.stop_skipping()
        return _from_the_start(visit)
    if do.startswith(forms.REVISE):
        return _revise(visit, conversation_id, forms.revised_id(do))
    match do:
        case forms.SEND:
            view = moves.go_on(conversation_id=conversation_id, at=at, ahead=visit.ahead)
            visit.tell(view, *_completed(view))
            return _moved(visit, view, PastChange.REPLACED)
        case "back":
            block = posted_block(visit)
            view = moves.back(
                conversation_id=conversation_id,
                at=at,
                block_id=None if block is None else block.id,
                follow_up=forms.follow_up_of(visit.request.POST),
                as_group=True,
            )
            if view.resumed:
                return _standing(visit, view, note=words.MOVED_ON)
            return _moved(visit, view, PastChange.REPLACED)
        case "change":
            return _reopen_vote(visit, conversation_id)
        case "ask-retract":
            return _ask_to_retract(visit, conversation_id)
        case "retract":
            removal.retract(conversation_id=conversation_id, at=at)
            visit.forget()
            return Outcome(partial(_retracted, visit))
        case "again":
            return _answer_again(visit)
        case "copy" | "mail" if visit.has_copies:
            return _copy(visit, conversation_id, mails=do == "mail" and visit.project.mail_copy)
        case "hide":
            return _hide(visit, conversation_id)
    return _moved(visit, conversations.get(conversation_id=conversation_id, at=at), PastChange.REPLACED)


def _revise(visit: Visit, conversation_id: uuid.UUID, block_id: int) -> Outcome:
    """Go back from the review to one question."""
    view = moves.revise(conversation_id=conversation_id, block_id=block_id, at=visit.at)
    if view.resumed:
        return _standing(visit, view, note=words.MOVED_ON)
    return _moved(visit, view, PastChange.REPLACED)


def _begin(visit: Visit, do: str) -> Outcome:
    """Begin a conversation with its first move, in one transaction."""
    if not visit.is_live:
        return Outcome(partial(notices.not_live, visit))
    block, group = posted_block(visit), _group_of(visit, do)
    raw: Mapping[str, object] | None = None
    if block is not None and do != "go" and not group:
        raw = _raw_answer(visit, block)
        if block.asks:  # an invalid answer does not count as one more begun
            conversations.require_valid(project=visit.project, block=block, raw=raw)
    if (text := visit.project.consent) and visit.request.POST.get(forms.CONSENT) != str(consent_mark(text)):
        return _without_consent(visit)
    if visit.has_traps and (asks := _proof_asked(visit, do)) is not None:
        return asks
    visit.require_admitted()
    visit.respondent = admission.agreeing(visit.respondent, visit.project.consent or "")
    project_id, respondent = visit.project.pk, visit.respondent
    at, seed = visit.at, visit.browser.seed
    if block is None:
        view = conversations.begin(project_id=project_id, respondent=respondent, at=at, seed=seed)
        visit.tell(view, "started")
        return _standing(visit, view, note=words.REWRITTEN)
    if visit.project.is_poll and block.asks and raw is not None:
        view = conversations.vote(project_id=project_id, respondent=respondent, raw=raw, at=at, seed=seed)
        visit.tell(view, "started", "answered", "completed")
        return _moved(visit, view, PastChange.KEPT)
    view = conversations.begin_with_move(
        project_id=project_id,
        respondent=respondent,
        block_id=block.id or 0,
        raw=raw,
        at=at,
        seed=seed,
        ahead=visit.ahead,
        group=group,
        stops=True,
    )
    visit.tell(view, "started", *(() if do == "go" else ("answered",)), *_completed(view))
    if view.resumed:
        return _standing(visit, view, note=words.WELCOME_BACK if do == "go" else words.MOVED_ON)
    return _moved(visit, view, _past_change(visit, view, block))


def _proof_asked(visit: Visit, do: str) -> Outcome | None:
    """The same step with a task, if a program may have sent this first form; None if it is accepted."""
    project, at = visit.project, visit.at
    given = protection.proof(visit.request, project, at=at)
    if given.is_done:
        admission.note_proof(project_id=project.pk, outcome="passed", at=at)
        if given.is_hasty and visit.respondent.person is None:
            visit.respondent = replace(visit.respondent, is_suspected=True)
        return None
    may_be_a_program = protection.may_be_a_program(
        visit.request,
        project,
        is_sealed=visit.arrival.is_sealed,
        since=visit.browser.since,
        is_answer=do != "go" or visit.ahead.skips,
        at=at,
    )
    if not may_be_a_program:
        return None
    is_again = bool(visit.request.POST.get("task"))
    admission.note_proof(project_id=project.pk, outcome="refused" if is_again else "asked", at=at)
    visit.task = protection.task(project, do=do, at=at)
    return _again(visit, words.ANOTHER_TASK if is_again else words.TASK)


def _without_consent(visit: Visit) -> Outcome:
    """The first step with what was typed, and the box that has to be ticked. Nothing was saved."""
    typed = forms.typed_in(posted_block(visit), visit.request.POST)
    return Outcome(partial(_first, visit, typed=typed, consent_error=words.WORDS["consent"]))


def _move(visit: Visit, conversation_id: uuid.UUID, do: str) -> Outcome:
    """Move a conversation that has begun."""
    at, block = visit.at, posted_block(visit)
    if block is None:
        raise Conflict("This question is not part of the survey any more.")
    if do == "go":
        view = moves.go_on(
            conversation_id=conversation_id, at=at, block_id=block.id, ahead=visit.ahead, stops=True
        )
        visit.tell(view, *_completed(view))
        return _moved(visit, view, _past_change(visit, view, block))
    if group := _group_of(visit, do):
        view = moves.answer_group(conversation_id=conversation_id, raws=group, at=at, ahead=visit.ahead)
        visit.tell(view, "answered", *_completed(view))
        return _moved(visit, view, PastChange.REPLACED)
    raw = _raw_answer(visit, block)
    if visit.project.is_poll:
        view = moves.change_vote(conversation_id=conversation_id, raw=raw, at=at)
        visit.tell(view, "answered")
        return _moved(visit, view, PastChange.KEPT)
    view = moves.answer(conversation_id=conversation_id, raw=raw, at=at, ahead=visit.ahead, stops=True)
    visit.tell(view, "answered", *_completed(view))
    return _moved(visit, view, _past_change(visit, view, block))


def _completed(view: ConversationView) -> Sequence[str]:
    """The event of a move that ended the conversation."""
    return ("completed",) if view.is_completed else ()


def _past_change(visit: Visit, view: ConversationView, block: Block) -> PastChange:
    """How a move from a block changes the past steps: it adds one, or several if others were answered ahead.

    A question is a past step already while a further question about its answer is shown.
    """
    is_one_step = not view.resumed and view.state.path[-1:] == (block.id,)
    if forms.follow_up_of(visit.request.POST) or view.state.further is not None:
        return PastChange.REPLACED
    return PastChange.APPENDED if is_one_step else PastChange.REPLACED


def _group_of(visit: Visit, do: str) -> list[Mapping[str, object]]:
    """The answers of a group's form; empty for any other form."""
    sent = visit.request.POST
    if do != "answer" or forms.ROWS not in sent:
        return []
    project = visit.project
    return forms.row_answers(script_cache.script_of(project), sent)


def _raw_answer(visit: Visit, block: Block) -> Mapping[str, object]:
    """The answer in the form. Raises BadForm."""
    sent = visit.request.POST
    raw = forms.raw_answer(block, sent, language=visit.page.lang)
    return {**raw, "follow_up": forms.follow_up_of(sent)}


def _reopen_vote(visit: Visit, conversation_id: uuid.UUID) -> Outcome:
    """Show the question of a poll again, with the vote. The vote counts until the visitor changes it."""
    view = conversations.get(conversation_id=conversation_id, at=visit.at)
    if not (view.is_completed and visit.is_live and visit.project.change_poll):
        return _moved(visit, view, PastChange.REPLACED)
    address = f"{visit.page.address}?{CHANGE}=1#step"
    return Outcome(partial(screens.vote_again, view, visit.page), address)


def _ask_to_retract(visit: Visit, conversation_id: uuid.UUID) -> Outcome:
    """Ask whether the vote is to be taken back. It counts until the visitor says so."""
    view = conversations.get(conversation_id=conversation_id, at=visit.at)
    if not (view.is_completed and visit.is_live and visit.project.change_poll):
        return _moved(visit, view, PastChange.REPLACED)
    return Outcome(notices.take_back)


def _copy(visit: Visit, conversation_id: uuid.UUID, *, mails: bool) -> Outcome:
    """Show all answers of a conversation that is over, or mail them."""
    view = conversations.get(conversation_id=conversation_id, at=visit.at)
    if not view.is_completed:
        return _moved(visit, view, PastChange.REPLACED)
    draw = partial(endings.copy, view, mails=visit.project.mail_copy, address=visit.own_address)
    if not mails:
        return Outcome(draw, f"{visit.page.address}?{COPY}=1#step")
    to = visit.request.POST.get("email", "").strip()
    draw = partial(draw, address=to)
    if not _is_address(to):
        return Outcome(partial(draw, error=words.NOT_AN_ADDRESS))
    name = f"colloquy:copies:{throttling.hashed(throttling.address_of(visit.request))}"
    if throttling.take(name, COPIES_PER_ADDRESS_AND_HOUR, seconds=throttling.HOUR).is_used_up:
        return Outcome(partial(draw, error=words.TOO_MANY_MAILS))
    try:
        copies.send(view, to=to, user_id=visit.signed_in_id, at=visit.at)
    except Conflict:
        return Outcome(partial(draw, error=words.TOO_MANY_MAILS))
    return Outcome(partial(draw, mails=False, note=words.MAILED.format(to=to)))


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return is_sendable(text)


def _mailed_copy(visit: Visit, token: str) -> Screen:
    """The answers to which the link of a mail leads."""
    conversation_id = copies.opened(visit.project, token, at=visit.at)
    try:
        if conversation_id is not None:
            view = conversations.get(conversation_id=conversation_id, at=visit.at)
            return endings.copy(view, leads_back=False)
    except NotFound:  # the response was deleted
        pass
    return notices.no_copy()


def _hide(visit: Visit, conversation_id: uuid.UUID) -> Outcome:
    """Let the browser forget the answers of a conversation that is over."""
    view = conversations.get(conversation_id=conversation_id, at=visit.at)
    if not view.is_completed:
        return _moved(visit, view, PastChange.REPLACED)
    visit.hide()
    screen = partial(_answered, visit)
    return Outcome(lambda: replace(screen(), past_change=PastChange.REPLACED), visit.page.address)


def _answer_again(visit: Visit) -> Outcome:
    """Leave a completed conversation, so that the next form begins another."""
    visit.forget()
    _, is_at_limit = _look(visit)
    if is_at_limit:
        return Outcome(notices.limit_reached)
    return Outcome(partial(_first, visit), f"{visit.page.address}?{AGAIN}=1")


def _retracted(visit: Visit) -> Screen:
    """The poll's question again. Replaces the past steps, because the gifts they show were taken back."""
    first = _first(visit, note=words.TAKEN_BACK)
    return replace(first, past_change=PastChange.REPLACED)


def _from_the_start(visit: Visit) -> Outcome:
    return Outcome(partial(_first, visit), f"{visit.page.address}?{AT}=0#step")


def _moved(visit: Visit, view: ConversationView, past_change: PastChange = PastChange.APPENDED) -> Outcome:
    """The outcome of a move that changed the conversation."""
    visit.remember(view)
    screen = partial(_screen_of, visit, view, past_change=past_change)
    if visit.browser.has_answered or (view.project.is_anonymous and rewards.has_given(view)):
        return Outcome(screen)
    return Outcome(screen, f"{visit.page.address}?{AT}={len(view.state.path)}#step")


def _standing(visit: Visit, view: ConversationView, *, note: str = "") -> Outcome:
    """The outcome of a form that changed nothing, with a note about the reason, and the unsaved answer."""
    outcome, text = _moved(visit, view, PastChange.REPLACED), notices.untaken(visit, view)
    return replace(
        outcome,
        screen=lambda: notices.with_untaken(_screen_of(visit, view, note=note), text),
        address=outcome.address if not note and not text else None,
    )


def _screen_of(
    visit: Visit,
    view: ConversationView,
    *,
    note: str = "",
    past_change: PastChange = PastChange.REPLACED,
) -> Screen:
    if view.is_at_review:
        return endings.review(view, note=note)
    if view.is_completed:
        return endings.end(view, votes=visit.votes, note=note, past_change=past_change)
    return screens.step(view, visit.page, note=note, past_change=past_change, ahead=visit.ahead)


def _first(
    visit: Visit, *, typed: Typed | None = None, error: str = "", note: str = "", consent_error: str = ""
) -> Screen:
    """The first step, if this visitor may see it and there is a place for them."""
    if not visit.is_live:
        return notices.not_live(visit)
    try:
        visit.require_admitted()
    except NotAdmitted as refusal:
        return not_admitted.notice(visit, refusal)
    fields = metadata.allowed(visit.project, visit.respondent.metadata)
    language = metadata.language_of(visit.project, visit.respondent.language)
    if (full := places.first_full(visit.project, State(fields=fields, language=language))) is not None:
        return notices.full(visit, full)
    view = of_visitor(
        project=visit.project,
        respondent=visit.respondent,
        seed=visit.browser.seed,
        at=visit.at,
        ahead=visit.ahead,
    )
    if typed is None or not screens.asks_first(view, posted_block(visit)):
        typed = _kept(visit, view)
    return screens.first(
        view,
        visit.page,
        votes=visit.votes,
        typed=typed,
        error=error,
        note=note,
        has_traps=visit.has_traps,
        task=visit.task,
        ahead=visit.ahead,
        consent_error=consent_error,
    )


def _kept(visit: Visit, view: VisitorView) -> Typed | None:
    """The answer that the visitor typed before they had to sign in."""
    kept = kept_forms.read(visit.request, slug=visit.project.slug)
    block = None if kept is None else block_of(visit.project, kept)
    if kept is None or not screens.asks_first(view, block):
        return None
    return forms.typed_in(block, kept)


def _again(visit: Visit, note: str) -> Outcome:
    """The same step with the typed answer, which the visitor has to send again. Nothing is saved."""
    if not visit.is_live:
        return Outcome(partial(notices.not_live, visit))
    typed = forms.typed_in(posted_block(visit), visit.request.POST)
    view = _held(visit)
    if view is None:
        return Outcome(partial(_first, visit, typed=typed, note=note))
    if view.is_completed or view.block is None:
        return _moved(visit, view, PastChange.REPLACED)
    is_same = str(view.block.id) == visit.request.POST.get("block")
    return Outcome(
        partial(
            screens.step,
            view,
            visit.page,
            typed=typed if is_same or typed.rows else None,
            note=note,
            past_change=PastChange.KEPT,
            ahead=visit.ahead,
        )
    )


def _with_error(visit: Visit, error: str) -> Outcome:
    """The same step, with the input and an error message."""
    typed = forms.typed_in(posted_block(visit), visit.request.POST)
    view, page = _held(visit), visit.page
    if view is None:
        return Outcome(partial(_first, visit, typed=typed, error=error))
    if view.is_at_review:
        return _moved(visit, view, PastChange.REPLACED)
    if view.is_completed:
        return Outcome(partial(screens.vote_again, view, page, typed=typed, error=error))
    return Outcome(partial(screens.step, view, page, typed=typed, error=error, past_change=PastChange.KEPT))


def _conflict(visit: Visit, refusal: Conflict) -> Outcome:
    if not visit.is_live:
        return Outcome(partial(notices.not_live, visit))
    if isinstance(refusal, LimitReached):
        return Outcome(notices.limit_reached)
    if isinstance(refusal, Full):
        places.mark(refusal, at=visit.at)
        return Outcome(partial(notices.full, visit, refusal))
    if isinstance(refusal, moves.RowsChanged):
        return _again(visit, words.REWRITTEN)
    view = None if refusal.retry_after is not None else _held(visit)
    if view is None:
        return _again(visit, words.ONCE_MORE)
    if view.is_completed:
        return _standing(visit, view, note=words.VOTED if view.project.is_poll else words.FINISHED)
    note = words.REWRITTEN if posted_block(visit) is None else words.MOVED_ON
    return _standing(visit, view, note=note)


def _look(visit: Visit) -> tuple[ConversationView | None, bool]:
    return conversations.look(project_id=visit.project.pk, respondent=visit.respondent, at=visit.at)


def _held(visit: Visit) -> ConversationView | None:
    """This visitor's conversation, unless it is deleted or began before the project's privacy changed."""
    conversation_id = visit.browser.conversation_id
    if conversation_id is None or visit.browser.has_answered:
        return None
    try:
        view = conversations.get(conversation_id=conversation_id, at=visit.at)
    except NotFound:
        visit.forget()
        return None
    keeps_privacy = anonymity.is_anonymous(conversation_id) == visit.project.is_anonymous
    if view.project.pk != visit.project.pk or not keeps_privacy:
        visit.forget()
        return None
    return view


def _answered(visit: Visit) -> Screen:
    """The screen for a browser that stores only the fact that it has answered."""
    if not visit.is_live:
        return notices.not_live(visit)
    _, is_at_limit = _look(visit)
    return notices.answered(visit, may_answer_again=not is_at_limit)


def _answered_already(visit: Visit) -> str:
    if visit.project.is_poll:
        return "You have voted in this poll." + ("" if visit.is_live else " It is closed now.")
    return "You have answered this already."
