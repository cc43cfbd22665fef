"""What a visitor asks for, done: from a request to a scene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.http import HttpRequest

from communities.errors import Conflict, Forbidden, InvalidRequest, NotFound
from surveys.engine.script import Block
from surveys.engine.walk import runner
from surveys.models import Project
from surveys.pages import words
from surveys.pages.respondent import forms, protection, screens
from surveys.pages.respondent.screens import APPENDED, NOTHING, Screen
from surveys.pages.respondent.visitors import Read, Visit
from surveys.pages.theme import Page
from surveys.services import anonymity
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.loading import LimitReached
from surveys.services.conversations.view import ConversationView
from surveys.services.scripts import editing as scripts


@dataclass(slots=True)
class PageRequest:
    """One request of one visitor. `visit` changes when a conversation is begun or left."""

    request: HttpRequest
    project: Project
    page: Page
    read: Read
    visit: Visit
    respondent: Respondent
    at: datetime

    @property
    def is_live(self) -> bool:
        return self.project.is_live_at(self.at)

    @property
    def has_traps(self) -> bool:
        is_open = self.project.participation == Project.Participation.OPEN_WEB
        return is_open and self.visit.conversation_id is None

    def remember(self, told: ConversationView) -> ConversationView:
        if told.conversation.pk != self.visit.conversation_id:
            self.visit = replace(self.visit, conversation_id=told.conversation.pk)
        return told

    def forget(self) -> None:
        self.visit = replace(self.visit, conversation_id=None)


def show(desk: PageRequest) -> Screen:
    """What waits here for this visitor. Changes nothing."""
    told = _known(desk)
    is_at_limit = False
    if told is None and (desk.read.has_cookie or desk.respondent.is_member):
        told, is_at_limit = _look(desk)
        if told and told.is_completed and desk.request.GET.get("again") and not is_at_limit:
            told = None
    is_sequel = "at" in desk.request.GET  # the answer to a form just sent
    if told is not None:
        desk.remember(told)
        if told.is_completed:
            if "change" in desk.request.GET and desk.is_live and desk.project.change_poll:
                return screens.vote_again(told, desk.page)
            return screens.end(told, desk.page, at=desk.at, note="" if is_sequel else _done_already(desk))
        if desk.is_live:
            return screens.step(told, desk.page, note="" if is_sequel else words.WELCOME_BACK)
    if not desk.is_live:
        return not_live(desk)
    if is_at_limit:
        return done_already(desk)
    try:
        admission.check(project=desk.project, respondent=desk.respondent)
    except Forbidden as refusal:
        return not_admitted(desk, refusal)
    return _first(desk)


def take(desk: PageRequest) -> Screen:
    """Do what the form asks for. What was typed is in the scene wherever it could not be taken."""
    request = desk.request
    is_ours = desk.read.is_sealed if desk.page.is_framed else protection.is_own_form(request)
    if not is_ours:
        keeps_cookies = bool(request.COOKIES) or desk.page.is_framed
        return _once_more(desk, words.ONCE_MORE if keeps_cookies else words.NO_COOKIES)
    try:
        return _do(desk, request.POST.get("do", "answer"))
    except InvalidRequest as refusal:
        violations = refusal.violations
        return _with_error(desk, str(violations[0]["message"]) if violations else refusal.message)
    except forms.BadForm as bad:
        return _with_error(desk, str(bad))
    except Conflict as refusal:
        return _conflict(desk, refusal)
    except Forbidden as refusal:
        return not_admitted(desk, refusal)
    except NotFound:  # the conversation is gone, taken back elsewhere perhaps
        desk.forget()
        return _once_more(desk, words.ONCE_MORE)


def _do(desk: PageRequest, do: str) -> Screen:
    conversation_id = desk.visit.conversation_id
    if do in ("answer", "skip", "go"):
        return _begin(desk, do) if conversation_id is None else _go_on(desk, do)
    if conversation_id is None:
        return _first(desk)
    if do == "back":
        return screens.step(conversations.back(conversation_id=conversation_id, at=desk.at), desk.page)
    if do == "change":
        told = conversations.get(conversation_id=conversation_id, at=desk.at)
        may = told.is_completed and desk.is_live and desk.project.change_poll
        return screens.vote_again(told, desk.page) if may else _stand(desk, told)
    if do == "retract":
        conversations.retract(conversation_id=conversation_id, at=desk.at)
        desk.forget()
        return _first(desk, note=words.TAKEN_BACK, change=screens.WHOLE)
    if do == "again":
        desk.forget()
        _, is_at_limit = _look(desk)
        return done_already(desk) if is_at_limit else _first(desk)
    return _stand(desk, conversations.get(conversation_id=conversation_id, at=desk.at))


def _begin(desk: PageRequest, do: str) -> Screen:
    """The first move makes the row: a poll's is its vote, all in one."""
    if not desk.is_live:
        return not_live(desk)
    if desk.has_traps:
        if not protection.seems_human(desk.request, desk.read, is_answer=do != "go", at=desk.at):
            return _once_more(desk, words.ONCE_MORE)
        if not protection.may_begin(desk.request):
            return _once_more(desk, words.BUSY)
    block = _posted_block(desk)
    who, seed = desk.respondent, desk.visit.seed
    if desk.project.is_poll and block is not None and block.asks:
        raw = forms.raw_answer(block, desk.request.POST)
        told = conversations.vote(project_id=desk.project.pk, respondent=who, raw=raw, at=desk.at, seed=seed)
        return _after(desk, desk.remember(told), NOTHING)
    told = conversations.begin(project_id=desk.project.pk, respondent=who, at=desk.at, seed=seed)
    desk.remember(told)
    waiting = told.step.block.id if told.step else None
    if told.is_completed or block is None or waiting != block.id:
        return _stand(desk, told, note=words.REWRITTEN if block is None else words.WELCOME_BACK)
    return _go_on(desk, do)


def _go_on(desk: PageRequest, do: str) -> Screen:
    conversation_id = desk.visit.conversation_id
    assert conversation_id is not None
    block = _posted_block(desk)
    if block is None:
        raise Conflict("This question is not part of the survey any more.")
    if do == "go":
        told = conversations.get(conversation_id=conversation_id, at=desk.at)
        if told.step is None or told.step.block.id != block.id:  # sent twice: the first time counts
            return _stand(desk, told)
        return _after(desk, conversations.go_on(conversation_id=conversation_id, at=desk.at))
    raw = forms.raw_answer(block, desk.request.POST)
    if desk.project.is_poll:
        return _after(desk, _vote_anew(desk, block, raw), NOTHING)
    return _after(desk, conversations.answer(conversation_id=conversation_id, raw=raw, at=desk.at))


def _vote_anew(desk: PageRequest, block: Block, raw: object) -> ConversationView:
    """Change a vote: back to the question first, where the poll allows it."""
    conversation_id = desk.visit.conversation_id
    assert conversation_id is not None
    assert isinstance(raw, dict)
    told = conversations.get(conversation_id=conversation_id, at=desk.at)
    if told.is_completed and not desk.project.change_poll:
        return conversations.answer(conversation_id=conversation_id, raw=raw, at=desk.at)
    while (told.step is None or told.step.block.id != block.id) and runner.can_go_back(told.state):
        told = conversations.back(conversation_id=conversation_id, at=desk.at)
    return conversations.answer(conversation_id=conversation_id, raw=raw, at=desk.at)


def _after(desk: PageRequest, told: ConversationView, change: str = APPENDED) -> Screen:
    if told.is_completed or told.step is None:
        return screens.end(told, desk.page, at=desk.at, change=change)
    return screens.step(told, desk.page, change=change)


def _stand(desk: PageRequest, told: ConversationView, *, note: str = "") -> Screen:
    """A conversation as it stands."""
    if told.is_completed or told.step is None:
        return screens.end(told, desk.page, at=desk.at, note=note)
    return screens.step(told, desk.page, note=note)


def _first(desk: PageRequest, *, note: str = "", change: str | None = None) -> Screen:
    scene = screens.first(
        desk.project,
        desk.page,
        seed=desk.visit.seed,
        respondent=desk.respondent,
        note=note,
        has_traps=desk.has_traps,
        at=desk.at,
    )
    return replace(scene, change=change) if change else scene


def _once_more(desk: PageRequest, note: str) -> Screen:
    """The same step again with what was typed: nothing is lost, nothing was taken."""
    typed = forms.typed_in(_posted_block(desk), desk.request.POST)
    if not desk.is_live:
        return not_live(desk)
    told = _known(desk)
    if told is not None and not told.is_completed and told.step is not None:
        is_same = str(told.step.block.id) == desk.request.POST.get("block")
        return screens.step(told, desk.page, typed=typed if is_same else None, note=note, change=NOTHING)
    if told is not None:
        return screens.end(told, desk.page, at=desk.at)
    return screens.first(
        desk.project,
        desk.page,
        seed=desk.visit.seed,
        respondent=desk.respondent,
        typed=typed,
        note=note,
        has_traps=desk.has_traps,
        at=desk.at,
    )


def _with_error(desk: PageRequest, error: str) -> Screen:
    """The step again, with what was typed and what is wrong with it."""
    block = _posted_block(desk)
    typed = forms.typed_in(block, desk.request.POST)
    told = _known(desk)
    if told is not None and told.is_completed:
        return screens.vote_again(told, desk.page, typed=typed, error=error)
    if told is not None and told.step is not None:
        return screens.step(told, desk.page, typed=typed, error=error, status=422, change=NOTHING)
    return screens.first(
        desk.project,
        desk.page,
        seed=desk.visit.seed,
        respondent=desk.respondent,
        typed=typed,
        error=error,
        status=422,
        has_traps=desk.has_traps,
        at=desk.at,
    )


def _conflict(desk: PageRequest, refusal: Conflict) -> Screen:
    if not desk.is_live:
        return not_live(desk)
    if isinstance(refusal, LimitReached):
        return done_already(desk)
    if refusal.retry_after is not None:
        return _once_more(desk, words.ONCE_MORE)
    told = _known(desk)
    if told is None:
        return _once_more(desk, words.ONCE_MORE)
    why = words.REWRITTEN if _posted_block(desk) is None else words.MOVED_ON
    return _stand(desk, told, note="" if told.is_completed else why)


def _look(desk: PageRequest) -> tuple[ConversationView | None, bool]:
    return conversations.look(project_id=desk.project.pk, respondent=desk.respondent, at=desk.at)


def _known(desk: PageRequest) -> ConversationView | None:
    """The conversation this visitor holds. One that is gone, or began under other privacy, is let go."""
    conversation_id = desk.visit.conversation_id
    if conversation_id is None:
        return None
    try:
        told = conversations.get(conversation_id=conversation_id, at=desk.at)
    except NotFound:
        told = None
    is_as_it_was = anonymity.is_anonymous(conversation_id) == desk.project.is_anonymous
    if told is None or told.project.pk != desk.project.pk or not is_as_it_was:
        desk.forget()
        return None
    return told


def _posted_block(desk: PageRequest) -> Block | None:
    """The block a form belongs to, where the script still has it."""
    sent = desk.request.POST.get("block", "")
    script = scripts.load(project_id=desk.project.pk, revision=desk.project.revision)
    if not (sent.isascii() and sent.isdigit()):
        return None
    index = script.index_by_id.get(int(sent[:19]))
    return None if index is None else script.blocks[index]


def not_live(desk: PageRequest) -> Screen:
    """Closed, or not open yet. What was typed stays in sight."""
    kept = ""
    if desk.request.method == "POST":
        kept = forms.in_words(_posted_block(desk), desk.request.POST)
    what = "poll" if desk.project.is_poll else "survey"
    if desk.project.is_pending_at(desk.at):
        return screens.notice(
            desk.page,
            title="Not open yet.",
            text=f"This {what} opens on",
            moment=desk.project.opens_at,
            kept=kept,
        )
    if desk.project.delivery is None:  # nobody has opened it, so nothing was closed
        return screens.notice(
            desk.page, title=f"This {what} is not open.", text="Please come back later.", kept=kept
        )
    has_voted = desk.visit.conversation_id is not None
    saved = " What you answered before is saved." if has_voted and not desk.project.is_poll else ""
    text = (
        f"It closed before this answer could be taken.{saved}"
        if desk.request.method == "POST"
        else f"It takes no more answers. Thank you for coming by.{saved}"
    )
    results = (
        screens.closed_poll_results(desk.project, has_voted=has_voted, at=desk.at)
        if has_voted or _is_admitted(desk)
        else None
    )
    return screens.notice(desk.page, title=f"This {what} is closed.", text=text, kept=kept, results=results)


def _is_admitted(desk: PageRequest) -> bool:
    try:
        admission.check(project=desk.project, respondent=desk.respondent)
    except Forbidden:
        return False
    return True


def done_already(desk: PageRequest) -> Screen:
    return screens.notice(
        desk.page,
        title="You have answered already.",
        text="Each person can answer this as often as its author allows, and that is done. Thank you!",
    )


def not_admitted(desk: PageRequest, refusal: Forbidden) -> Screen:
    """Told apart by what is missing: a sign-in, or a place in the community."""
    community = desk.project.community.name
    is_private = desk.project.participation == Project.Participation.PRIVATE
    if is_private and not desk.respondent.is_member:
        is_signed_in = not desk.page.is_framed and desk.request.user.is_authenticated
        if is_signed_in:
            return screens.notice(
                desk.page,
                title="This is for members only.",
                text=f"You are signed in, but not as a member of {community}. Join it, or sign in as a "
                "member, and open this page again.",
                status=403,
            )
        return screens.notice(
            desk.page,
            title="Please sign in first.",
            text=f"This is for members of {community}. Sign in there, then open this page again.",
            status=403,
        )
    return screens.notice(desk.page, title="You cannot answer this yet.", text=refusal.message, status=403)


def _done_already(desk: PageRequest) -> str:
    return "You have voted in this poll." if desk.project.is_poll else "You have answered this already."
