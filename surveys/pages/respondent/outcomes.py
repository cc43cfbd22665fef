"""What a visitor sees: of a page, and after a form, whose outcome may also be a redirect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from communities.ground.errors import Conflict, NotFound
from communities.ground.translation import say
from surveys.drawing import endings, forms, rewards, screens, words
from surveys.drawing.parts import PastChange, Screen
from surveys.drawing.widgets import Typed
from surveys.engine.walk.runner import State
from surveys.models import Project
from surveys.pages.respondent import browsers, kept_forms, not_admitted, notices
from surveys.pages.respondent.visit import Visit, block_of, posted_block
from surveys.services.conversations import moves, places
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import NotAdmitted
from surveys.services.conversations.places import Full
from surveys.services.conversations.saving import LimitReached
from surveys.services.conversations.view import ConversationView, VisitorView, of_visitor
from surveys.services.ground import anonymity, metadata
from surveys.services.responses import copies

# Parameters of the addresses to which forms redirect. They begin with `_`, because other parameters may be
# names of blocks (`services/conversations/prefill.py`).
AT, AGAIN, CHANGE, COPY = "_at", "_again", "_change", "_copy"


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
    if is_in_chat(visit):
        return notices.in_chat(visit)
    if visit.browser.has_answered and not (visit.is_live and request.GET.get(AGAIN)):
        return answered(visit)
    try:
        view, is_at_limit = own_view(visit), False
    except NotAdmitted as refusal:
        return not_admitted.notice(visit, refusal)
    if view is None and (visit.arrival.is_known or visit.respondent.is_member):
        view, is_at_limit = latest_view(visit)
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
                return endings.copy(view, mails=visit.mails_copies, address=visit.own_address)
            note = "" if follows_a_form else _answered_already(visit)
            return endings.end(view, votes=visit.votes, note=note)
        if visit.is_live:
            note = "" if follows_a_form else words.WELCOME_BACK
            if view.is_at_review:
                return endings.review(view, note=note)
            return screens.step(view, visit.page, note=note, ahead=visit.ahead)
    return notices.limit_reached() if is_at_limit and visit.is_live else first_step(visit)


def moved(visit: Visit, view: ConversationView, past_change: PastChange = PastChange.APPENDED) -> Outcome:
    """The outcome of a move that changed the conversation."""
    visit.remember(view)
    screen = partial(_screen_of, visit, view, past_change=past_change)
    if visit.browser.has_answered or (view.project.is_anonymous and rewards.has_given(view)):
        return Outcome(screen)
    return Outcome(screen, f"{visit.page.address}?{AT}={len(view.state.path)}#step")


def unchanged(visit: Visit, view: ConversationView, *, note: str = "") -> Outcome:
    """The outcome of a form that changed nothing, with a note about the reason, and the unsaved answer."""
    outcome, text = moved(visit, view, PastChange.REPLACED), notices.untaken(visit, view)
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


def first_step(
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
    slug = visit.project.slug
    owners = browsers.owners_of_typed(visit.respondent, slug=slug)
    kept = kept_forms.read(visit.request, slug=slug, owners=owners)
    block = None if kept is None else block_of(visit.project, kept)
    if kept is None or not screens.asks_first(view, block):
        return None
    return forms.typed_in(block, kept)


def from_the_start(visit: Visit) -> Outcome:
    """The outcome of a form that leads to the first step."""
    return Outcome(partial(first_step, visit), f"{visit.page.address}?{AT}=0#step")


def again(visit: Visit, note: str) -> Outcome:
    """The same step with the typed answer, which the visitor has to send again. Nothing is saved."""
    if not visit.is_live:
        return Outcome(partial(notices.not_live, visit))
    typed = forms.typed_in(posted_block(visit), visit.request.POST)
    view = own_view(visit)
    if view is None:
        return Outcome(partial(first_step, visit, typed=typed, note=note))
    if view.is_completed or view.block is None:
        return moved(visit, view, PastChange.REPLACED)
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


def with_error(visit: Visit, error: str) -> Outcome:
    """The same step, with the input and an error message."""
    typed = forms.typed_in(posted_block(visit), visit.request.POST)
    view, page = own_view(visit), visit.page
    if view is None:
        return Outcome(partial(first_step, visit, typed=typed, error=error))
    if view.is_at_review:
        return moved(visit, view, PastChange.REPLACED)
    if view.is_completed:
        return Outcome(partial(screens.vote_again, view, page, typed=typed, error=error))
    return Outcome(partial(screens.step, view, page, typed=typed, error=error, past_change=PastChange.KEPT))


def conflict(visit: Visit, refusal: Conflict) -> Outcome:
    """The outcome of a form that was refused because of the state of the project or the conversation."""
    if not visit.is_live:
        return Outcome(partial(notices.not_live, visit))
    if isinstance(refusal, LimitReached):
        return Outcome(notices.limit_reached)
    if isinstance(refusal, Full):
        places.mark(refusal, at=visit.at)
        return Outcome(partial(notices.full, visit, refusal))
    if isinstance(refusal, moves.RowsChanged):
        return again(visit, words.REWRITTEN)
    view = None if refusal.retry_after is not None else own_view(visit)
    if view is None:
        return again(visit, words.ONCE_MORE)
    if view.is_completed:
        return unchanged(visit, view, note=words.VOTED if view.project.is_poll else words.FINISHED)
    note = words.REWRITTEN if posted_block(visit) is None else words.MOVED_ON
    return unchanged(visit, view, note=note)


def signed_out(visit: Visit) -> Outcome:
    """The first step, with the answer of somebody who is not signed in any more. Nothing was saved."""
    text = notices.untaken_text(visit)
    return Outcome(lambda: notices.with_untaken(first_step(visit, note=words.SIGNED_OUT), text))


def without_consent(visit: Visit) -> Outcome:
    """The first step with what was typed, and the box that has to be ticked. Nothing was saved."""
    typed = forms.typed_in(posted_block(visit), visit.request.POST)
    return Outcome(partial(first_step, visit, typed=typed, consent_error=say(words.WORDS["consent"])))


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


def answered(visit: Visit) -> Screen:
    """The screen for a browser that stores only the fact that it has answered."""
    if not visit.is_live:
        return notices.not_live(visit)
    _, is_at_limit = latest_view(visit)
    return notices.answered(visit, may_answer_again=not is_at_limit)


def _answered_already(visit: Visit) -> str:
    if visit.project.is_poll:
        voted = say("You have voted in this poll.")
        return voted if visit.is_live else f"{voted} {say('It is closed now.')}"
    return say("You have answered this already.")


def is_in_chat(visit: Visit) -> bool:
    """Whether the project accepts answers only on the chat platform."""
    project = visit.project
    return visit.is_live and project.response_channel == Project.ResponseChannel.CHAT


def own_view(visit: Visit) -> ConversationView | None:
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


def latest_view(visit: Visit) -> tuple[ConversationView | None, bool]:
    """This person's latest conversation, and whether they have reached the limit."""
    return conversations.look(project_id=visit.project.pk, respondent=visit.respondent, at=visit.at)
