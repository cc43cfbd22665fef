"""Performs the action of a visitor's request, and returns its outcome."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from communities.gate import throttling
from communities.ground.errors import Conflict, InvalidRequest, NotFound
from communities.ground.translation import count, say
from communities.services.mail.mails import is_sendable
from surveys.drawing import endings, forms, screens, words
from surveys.drawing.parts import PastChange, Screen
from surveys.engine.script import Block
from surveys.pages.respondent import not_admitted, notices, outcomes, protection
from surveys.pages.respondent.outcomes import Outcome
from surveys.pages.respondent.visit import Visit, posted_block
from surveys.services.conversations import admission, moves, removal
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import NotAdmitted, consent_mark
from surveys.services.conversations.saving import NotAgreed
from surveys.services.conversations.view import ConversationView
from surveys.services.responses import copies
from surveys.services.scripts import cache as script_cache

ANSWERING = ("answer", "skip", "go")  # the actions that store an answer, or may begin a conversation
COPIES_PER_ADDRESS_AND_HOUR = 10  # mails that one network may ask for


def perform(visit: Visit) -> Outcome:
    """Perform the action of the form. Input that could not be saved stays in the controls of the screen."""
    if not _is_own_form(visit):
        return outcomes.again(visit, words.ONCE_MORE)
    if wait := protection.seconds_to_wait(visit.request, visitor_id=visit.browser.visitor_id):
        return _too_fast(visit, wait)
    if visit.request.POST.get("do") == notices.LEAVE.do:
        return _leave_link(visit)
    if visit.link_fault is not None:
        return Outcome(partial(notices.link_over, visit, visit.link_fault))
    if outcomes.is_in_chat(visit):
        return Outcome(partial(notices.in_chat, visit))
    if visit.request.POST.get("do") == forms.SHOW_PAST:
        return _show_past(visit)
    if visit.is_signed_out:
        return outcomes.signed_out(visit)
    do = visit.request.POST.get("do", "answer")
    mark = visit.request.POST.get(forms.PRIVACY_MARK)
    if do in ANSWERING and mark not in (None, admission.privacy_mark(visit.project)):
        return outcomes.again(visit, say(words.OTHER_PRIVACY, now=screens.told_in_words(visit.project)))
    try:
        return _perform(visit, do)
    except NotAgreed:  # the text was changed since this request read it
        visit.project.refresh_from_db(fields=["consent"])
        return outcomes.without_consent(visit)
    except InvalidRequest as refusal:
        violations = refusal.violations
        return outcomes.with_error(visit, str(violations[0]["message"]) if violations else refusal.message)
    except forms.BadForm as bad:
        return outcomes.with_error(visit, str(bad))
    except Conflict as refusal:
        return outcomes.conflict(visit, refusal)
    except NotAdmitted as refusal:
        visit.keeps_form = posted_block(visit) is not None
        return Outcome(partial(not_admitted.notice, visit, refusal))
    except NotFound:  # the conversation was deleted, for example retracted in another window
        visit.forget()
        return outcomes.again(visit, words.ONCE_MORE)


def _leave_link(visit: Visit) -> Outcome:
    """Forget the personal link, for a visitor who is not its member or wants to continue without it."""
    visit.forget_link()
    visit.respondent = admission.visitor(visitor_id=visit.browser.visitor_id)
    return Outcome(partial(outcomes.show, visit), visit.page.address)


def _show_past(visit: Visit) -> Outcome:
    """The current step, below another part of the past steps."""
    query = f"{forms.PAST}={visit.past_before or ''}"
    return Outcome(partial(outcomes.show, visit), f"{visit.page.address}?{query}#history")


def _too_fast(visit: Visit, seconds: int) -> Outcome:
    """The same step as a 429, with the typed text. Nothing is saved."""
    again = outcomes.again(visit, count(seconds, words.TOO_FAST_1, words.TOO_FAST))
    return Outcome(lambda: replace(again.screen(), status=429, retry_after=seconds))


def _is_own_form(visit: Visit) -> bool:
    """Whether the form comes from our page: by its seal if it carries the visit, else by Django's check."""
    arrival = visit.arrival
    return arrival.is_sealed if arrival.is_carried else protection.is_own_form(visit.request)


def _perform(visit: Visit, do: str) -> Outcome:
    conversation_id, at = visit.browser.conversation_id, visit.at
    if do == "check" and conversation_id is None:
        visit.require_admitted()
        return outcomes.from_the_start(visit)
    if visit.browser.has_answered and do != "again":
        return Outcome(partial(outcomes.answered, visit))
    if do in ANSWERING:
        if conversation_id is None:
            return _begin(visit, do)
        return _move(visit, conversation_id, do)
    if conversation_id is None:
        visit.stop_skipping()
        return outcomes.from_the_start(visit)
    if do == "back" or do.startswith(forms.REVISE):
        view = _back(visit, conversation_id, do)
        if view.resumed:
            return outcomes.unchanged(visit, view, note=words.MOVED_ON)
        return outcomes.moved(visit, view, PastChange.REPLACED)
    match do:
        case forms.SEND:
            view = moves.go_on(conversation_id=conversation_id, at=at, ahead=visit.ahead)
            visit.tell(view, *_completed(view))
            return outcomes.moved(visit, view, PastChange.REPLACED)
        case "retract":
            removal.retract(conversation_id=conversation_id, at=at)
            visit.forget()
            return Outcome(partial(_retracted, visit))
        case "again":
            return _answer_again(visit)
    return _look_back(visit, conversations.get(conversation_id=conversation_id, at=at), do)


def _back(visit: Visit, conversation_id: uuid.UUID, do: str) -> ConversationView:
    """Go back by one step, or from the review to one question."""
    if do != "back":
        return moves.revise(conversation_id=conversation_id, block_id=forms.revised_id(do), at=visit.at)
    block = posted_block(visit)
    return moves.back(
        conversation_id=conversation_id,
        at=visit.at,
        block_id=None if block is None else block.id,
        follow_up=forms.follow_up_of(visit.request.POST),
        as_group=True,
    )


def _look_back(visit: Visit, view: ConversationView, do: str) -> Outcome:
    """Perform an action that changes no answers: of a conversation that is over, else none.

    A vote counts until the visitor has changed it, or has confirmed that it is taken back.
    """
    may_change = view.is_completed and visit.is_live and visit.project.change_poll
    match do:
        case "change" if may_change:
            address = f"{visit.page.address}?{outcomes.CHANGE}=1#step"
            return Outcome(partial(screens.vote_again, view, visit.page), address)
        case "ask-retract" if may_change:
            return Outcome(notices.take_back)
        case "copy" | "mail" if view.is_completed and visit.has_copies:
            return _copy(visit, view, mails=do == "mail" and visit.mails_copies)
        case "hide" if view.is_completed:
            visit.hide()
            screen = partial(outcomes.answered, visit)
            return Outcome(lambda: replace(screen(), past_change=PastChange.REPLACED), visit.page.address)
    return outcomes.moved(visit, view, PastChange.REPLACED)


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
        return outcomes.without_consent(visit)
    if visit.has_traps and (asks := _proof_asked(visit, do)) is not None:
        return asks
    visit.require_admitted()
    mark = visit.request.POST.get(forms.PRIVACY_MARK, admission.privacy_mark(visit.project))
    respondent = admission.agreeing(visit.respondent, visit.project.consent or "")
    visit.respondent = replace(respondent, privacy_mark=mark)
    project_id, respondent = visit.project.pk, visit.respondent
    at, seed = visit.at, visit.browser.seed
    if block is None:
        view = conversations.begin(project_id=project_id, respondent=respondent, at=at, seed=seed)
        visit.tell(view, "started")
        return outcomes.unchanged(visit, view, note=words.REWRITTEN)
    if visit.project.is_poll and block.asks and raw is not None:
        view = conversations.vote(project_id=project_id, respondent=respondent, raw=raw, at=at, seed=seed)
        visit.tell(view, "started", "answered", "completed")
        return outcomes.moved(visit, view, PastChange.KEPT)
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
        return outcomes.unchanged(visit, view, note=words.WELCOME_BACK if do == "go" else words.MOVED_ON)
    return outcomes.moved(visit, view, _past_change(visit, view, block))


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
    return outcomes.again(visit, words.ANOTHER_TASK if is_again else words.TASK)


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
        return outcomes.moved(visit, view, _past_change(visit, view, block))
    if group := _group_of(visit, do):
        view = moves.answer_group(conversation_id=conversation_id, raws=group, at=at, ahead=visit.ahead)
        visit.tell(view, "answered", *_completed(view))
        return outcomes.moved(visit, view, PastChange.REPLACED)
    raw = _raw_answer(visit, block)
    if visit.project.is_poll:
        view = moves.change_vote(conversation_id=conversation_id, raw=raw, at=at)
        visit.tell(view, "answered")
        return outcomes.moved(visit, view, PastChange.KEPT)
    view = moves.answer(conversation_id=conversation_id, raw=raw, at=at, ahead=visit.ahead, stops=True)
    visit.tell(view, "answered", *_completed(view))
    return outcomes.moved(visit, view, _past_change(visit, view, block))


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


def _copy(visit: Visit, view: ConversationView, *, mails: bool) -> Outcome:
    """Show all answers of a conversation that is over, or mail them."""
    draw = partial(endings.copy, view, mails=visit.mails_copies, address=visit.own_address)
    if not mails:
        return Outcome(draw, f"{visit.page.address}?{outcomes.COPY}=1#step")
    to = visit.request.POST.get("email", "").strip()
    draw = partial(draw, address=to)
    if not _is_address(to):
        return Outcome(partial(draw, error=say(words.NOT_AN_ADDRESS)))
    name = f"colloquy:copies:{throttling.hashed(throttling.address_of(visit.request))}"
    if throttling.take(name, COPIES_PER_ADDRESS_AND_HOUR, seconds=throttling.HOUR).is_used_up:
        return Outcome(partial(draw, error=say(words.TOO_MANY_MAILS)))
    try:
        copies.send(view, to=to, user_id=visit.signed_in_id, at=visit.at)
    except Conflict:
        return Outcome(partial(draw, error=say(words.TOO_MANY_MAILS)))
    return Outcome(partial(draw, mails=False, note=say(words.MAILED, to=to)))


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return is_sendable(text)


def _answer_again(visit: Visit) -> Outcome:
    """Leave a completed conversation, so that the next form begins another."""
    visit.forget()
    _, is_at_limit = outcomes.latest_view(visit)
    if is_at_limit:
        return Outcome(notices.limit_reached)
    return Outcome(partial(outcomes.first_step, visit), f"{visit.page.address}?{outcomes.AGAIN}=1")


def _retracted(visit: Visit) -> Screen:
    """The poll's question again. Replaces the past steps, because the gifts they show were taken back."""
    first = outcomes.first_step(visit, note=words.TAKEN_BACK)
    return replace(first, past_change=PastChange.REPLACED)
