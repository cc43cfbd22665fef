"""The components of a conversation: each converts a click into one call of a service, and draws the reply.

Call and reply share one transaction (`deadline`). A call that may refuse has a savepoint, so the reply can be
drawn after a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from communities.chat_platform.references import Op, Reference
from communities.ground.errors import Conflict, InvalidRequest, NotFound
from communities.ground.rounding import Rounding
from communities.services.people.members import KnownPerson
from surveys.chat import controls, invitations, replies, screens, timed, windows, words
from surveys.chat.controls import References
from surveys.chat.interactions import Interaction
from surveys.chat.messages import Button, Message
from surveys.chat.replies import Reply
from surveys.engine.script import SCALES, Block, Option
from surveys.engine.walk.answers import other_of
from surveys.models import Project
from surveys.services import public_messages
from surveys.services.conversations import admission, moves, removal, unsent_answers
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.saving import LimitReached, NotAgreed
from surveys.services.conversations.view import ConversationView
from surveys.services.ground import lookup
from surveys.services.representations.project import web_url


@dataclass(frozen=True, slots=True)
class Click:
    """One use of a component: its reference, the person, and the time."""

    interaction: Interaction
    reference: Reference
    at: datetime
    who: Callable[[Rounding | None], KnownPerson | None]

    @property
    def platform_id(self) -> str:
        return self.interaction.author.platform_id

    @property
    def community_id(self) -> int:
        return self.interaction.guild_id

    def known(self, project: Project) -> KnownPerson:
        """The person as the community knows them. Raises NotFound if the server belongs to no community."""
        found = self.who(Rounding.DAY if project.is_anonymous else None)
        if found is None:
            raise NotFound(words.NOT_CONNECTED)
        return found


def perform(click: Click) -> Reply:
    """Perform the action of a component. Raises Refusal, which leaves everything unchanged."""
    return _HANDLERS[click.reference.op](click)


# --- The public message -------------------------------------------------------------------------------------


def _begin(click: Click) -> Reply:
    """Begin a person's conversation, or continue it at its present step."""
    project = _project(click)
    if project.response_channel == Project.ResponseChannel.WEB:
        return replies.answer(click.interaction, _on_the_web(project))
    respondent = _respondent(click, project)
    if click.reference.op == Op.ANSWER and (done := _done_before(click, project, respondent)):
        return _shown(click, done, note=words.ANSWERED_BEFORE)
    if _has_to_agree(click, project, respondent):
        return replies.answer(click.interaction, screens.consent(project, platform_id=click.platform_id))
    if click.reference.op == Op.AGREE:
        respondent = admission.agreeing(respondent, project.consent or "")
    try:
        with transaction.atomic():
            view = conversations.begin(project_id=project.pk, respondent=respondent, at=click.at)
    except NotAgreed:  # the text was changed since this click read it
        message = screens.consent(_project(click), platform_id=click.platform_id)
        return replies.answer(click.interaction, message)
    note = words.WELCOME_BACK if view.resumed and view.state.path else ""
    return _shown(click, view, note=note)


def _done_before(click: Click, project: Project, respondent: Respondent) -> ConversationView | None:
    """A completed conversation of a person who may answer again, and is asked before a second one begins."""
    view, is_at_limit = conversations.look(project_id=project.pk, respondent=respondent, at=click.at)
    is_over = view is not None and view.is_completed and view.is_open
    return view if is_over and not is_at_limit else None


def _has_to_agree(click: Click, project: Project, respondent: Respondent) -> bool:
    """Whether a respondent begins without having agreed to the project's present `consent`."""
    if not project.consent:
        return False
    if click.reference.op == Op.AGREE:
        return click.reference.arg != admission.consent_mark(project.consent)
    view, is_at_limit = conversations.look(project_id=project.pk, respondent=respondent, at=click.at)
    if is_at_limit:  # the reply says that the person may not begin
        return False
    return view is None or (view.is_completed and not (project.is_poll and project.change_poll))


def _vote(click: Click) -> Reply:
    """Vote in a poll, or change an earlier vote.

    A respondent who has to give consent first votes in a message of their own afterwards.
    """
    project = _project(click)
    if project.response_channel == Project.ResponseChannel.WEB:
        return replies.answer(click.interaction, _on_the_web(project))
    question = invitations.question_of(project)
    raw = _raw(click, question.type)
    if (option := _other_in(question, raw)) is not None:
        ref = click.reference
        to = References(ref.subject, click.platform_id, ref.block_id, ref.step)
        return replies.window(windows.for_option(question, option, to.to(Op.VOTE_WRITTEN, option.id or 0)))
    return _voted(click, project, raw)


def _vote_written(click: Click) -> Reply:
    """Vote for the option whose text was written in the window."""
    return _voted(click, _project(click), _written_option(click))


def _voted(click: Click, project: Project, raw: Mapping[str, object]) -> Reply:
    if click.reference.step != admission.privacy_number(project):
        public_messages.ask(project, at=click.at)  # a message from before these marks is drawn anew
        return replies.private(screens.notice(words.OTHER_PRIVACY))
    respondent = replace(_respondent(click, project), privacy_mark=admission.privacy_mark(project))
    if _has_to_agree(click, project, respondent):
        return replies.private(screens.consent(project, platform_id=click.platform_id))
    try:
        with transaction.atomic():
            view = conversations.vote(project_id=project.pk, respondent=respondent, raw=raw, at=click.at)
    except LimitReached:
        return _voted_before(click, project, respondent)
    except InvalidRequest as refusal:
        codes = {each["code"] for each in refusal.violations or ()}
        raise Conflict(refusal.message if codes & {"conflicting", "required"} else words.CHANGED) from None
    return replies.answer(click.interaction, screens.draw(view, platform_id=click.platform_id))


def _voted_before(click: Click, project: Project, respondent: Respondent) -> Reply:
    view, _ = conversations.look(project_id=project.pk, respondent=respondent, at=click.at)
    if view is None or not view.is_completed:
        text = words.VOTED_ELSEWHERE if project.change_poll else words.VOTED_BEFORE
        return replies.answer(click.interaction, screens.notice(text))
    message = screens.draw(view, platform_id=click.platform_id, note=words.VOTED_BEFORE)
    return replies.answer(click.interaction, message)


def _info(click: Click) -> Reply:
    project = _project(click)
    return replies.private(invitations.info(project, at=click.at))


def _project(click: Click) -> Project:
    """The project of a public message. Raises NotFound for a project of another community."""
    return lookup.in_community(community_id=click.community_id, project_id=click.reference.project_id)


# --- One's own message --------------------------------------------------------------------------------------


def _show(click: Click) -> Reply:
    return _shown(click, conversations.get(conversation_id=click.reference.subject, at=click.at))


def _choose(click: Click) -> Reply:
    """Answer with a button or a menu: the answer is sent at once."""
    ref = click.reference
    view = conversations.get(conversation_id=ref.subject, at=click.at)
    block = _block_of(view)
    raw = _raw(click, block.type if block and block.id == ref.block_id else "")
    if block is not None and (option := _other_in(block, raw)) is not None:
        if isinstance(ids := raw.get("option_ids"), list):
            with transaction.atomic():
                unsent_answers.tick(
                    conversation_id=ref.subject,
                    block_id=ref.block_id,
                    option_ids=ids,
                    step=ref.step,
                    at=click.at,
                )
        return _option_window(click, view, block, option)
    if _is_vote(view):
        with transaction.atomic():
            view = moves.change_vote(conversation_id=ref.subject, raw=raw, at=click.at)
        return _shown(click, view)
    return _answered(click, raw)


def _is_vote(view: ConversationView) -> bool:
    """Whether this is a vote that was given, and may be changed."""
    return view.project.is_poll and view.is_completed


def _block_of(view: ConversationView) -> Block | None:
    """The block that waits, or the question of a vote that was given."""
    if _is_vote(view):
        return invitations.question_of(view.project)
    return view.step.block if view.step else None


def _other_in(block: Block, raw: Mapping[str, object]) -> Option | None:
    """The option with `is_other`, if it is among those that were chosen."""
    ids = raw.get("option_ids") or [raw.get("option_id")]
    other = block.other
    return other if other is not None and isinstance(ids, list) and other.id in ids else None


def _option_window(click: Click, view: ConversationView, block: Block, option: Option) -> Reply:
    ref = click.reference
    _, before = other_of(view.state.replies.get(block.id or 0)) or (0, "")
    text = before if _is_vote(view) else unsent_answers.of(view).text or before
    to = References(ref.subject, click.platform_id, ref.block_id, ref.step)
    return replies.window(windows.for_option(block, option, to.to(Op.WRITTEN, option.id or 0), value=text))


def _written_option(click: Click) -> dict[str, object]:
    """The option that a window was about, with its text, as the interface's answer object."""
    ref = click.reference
    text = windows.written(click.interaction.fields)
    return {"block_id": ref.block_id, "option_id": ref.arg, "other_text": text}


def _answered(click: Click, raw: Mapping[str, object]) -> Reply:
    ref = click.reference
    with transaction.atomic():
        view = moves.answer(conversation_id=ref.subject, raw=raw, at=click.at, step=ref.step)
    return _moved(click, view)


def _drafted(click: Click, change: Callable[..., ConversationView], **more: object) -> Reply:
    ref = click.reference
    with transaction.atomic():
        view = change(conversation_id=ref.subject, block_id=ref.block_id, step=ref.step, at=click.at, **more)
    return _moved(click, view)


def _toggle(click: Click) -> Reply:
    return _drafted(click, unsent_answers.toggle, option_id=click.reference.arg)


def _pick(click: Click) -> Reply:
    return _drafted(click, unsent_answers.rank, option_id=click.reference.arg)


def _undo(click: Click) -> Reply:
    return _drafted(click, unsent_answers.unrank, ranked=click.reference.arg)


def _submit(click: Click) -> Reply:
    return _drafted(click, unsent_answers.submit)


def _write(click: Click) -> Reply:
    """Open the window for a text or number, or for the text of an option."""
    ref = click.reference
    view = conversations.get(conversation_id=ref.subject, at=click.at)
    block = _block_of(view)
    is_here = block is not None and block.id == ref.block_id and view.state.place == ref.step
    if ref.arg and is_here and block is not None and block.other is not None:
        return _option_window(click, view, block, block.other)
    if view.step is None or view.step.block.id != ref.block_id or view.state.place != ref.step:
        return _shown(click, view, note=words.MOVED_ON)
    return replies.window(windows.draw(view, platform_id=click.platform_id))


def _written(click: Click) -> Reply:
    """Answer with the typed text or number, or take the text of an option."""
    if click.reference.arg:
        return _take_option(click)
    text, language = windows.written(click.interaction.fields), click.interaction.locale
    return _drafted(click, unsent_answers.submit_text, text=text, language=language)


def _take_option(click: Click) -> Reply:
    """Take the text of an option: answer with it, or tick the option among others."""
    ref, raw = click.reference, _written_option(click)
    view = conversations.get(conversation_id=ref.subject, at=click.at)
    if _is_vote(view):
        with transaction.atomic():
            return _shown(click, moves.change_vote(conversation_id=ref.subject, raw=raw, at=click.at))
    block = _block_of(view)
    ticks = block is not None and block.type == "multi_punch" and not controls.has_menu(block)
    change = unsent_answers.tick_with_text if ticks else unsent_answers.submit_with_text
    return _drafted(click, change, option_id=ref.arg, text=raw["other_text"])


def keep_written(click: Click) -> None:
    """Store a typed answer that was refused, so the person can correct it."""
    ref, text = click.reference, windows.written(click.interaction.fields)
    with transaction.atomic():
        unsent_answers.keep_text(conversation_id=ref.subject, block_id=ref.block_id, text=text, step=ref.step)


def _go_on(click: Click) -> Reply:
    ref = click.reference
    with transaction.atomic():
        view = moves.go_on(conversation_id=ref.subject, block_id=ref.block_id, at=click.at, step=ref.step)
    return _moved(click, view)


def _back(click: Click) -> Reply:
    ref = click.reference
    with transaction.atomic():
        view = moves.back(conversation_id=ref.subject, at=click.at, step=ref.step)
    return _moved(click, view)


def _skip(click: Click) -> Reply:
    return _answered(click, {"block_id": click.reference.block_id, "skip": True})


def _change(click: Click) -> Reply:
    view = conversations.get(conversation_id=click.reference.subject, at=click.at)
    if not screens.may_change_vote(view):
        return _shown(click, view)
    return replies.answer(click.interaction, screens.change_vote(view, platform_id=click.platform_id))


def _retract(click: Click) -> Reply:
    with transaction.atomic():
        removal.retract(conversation_id=click.reference.subject, at=click.at)
    return replies.answer(click.interaction, screens.notice(words.TAKEN_BACK, colour=screens.DEFAULT_COLOUR))


def as_it_stands(click: Click) -> Reply:
    """The person's conversation below a public message, unchanged: the reply to a repeated click."""
    project = _project(click)
    respondent = _respondent(click, project)
    view, _ = conversations.look(project_id=project.pk, respondent=respondent, at=click.at)
    if view is None:
        return replies.answer(click.interaction, screens.notice(words.PRESS_AGAIN))
    return _shown(click, view)


def redraw(click: Click, *, error: str = "") -> Reply:
    """The conversation at its present step, with an error. Raises NotFound if it was deleted."""
    view = conversations.get(conversation_id=click.reference.subject, at=click.at)
    if click.reference.op in (Op.CHANGE, Op.CHOOSE, Op.MENU) and screens.may_change_vote(view):
        return replies.answer(
            click.interaction, screens.change_vote(view, platform_id=click.platform_id, error=error)
        )
    return _shown(click, view, error=error)


def _respondent(click: Click, project: Project) -> Respondent:
    """The person as a respondent, whom their account admits, with the language of their client."""
    return replace(admission.in_chat(click.known(project)), language=click.interaction.locale)


def _on_the_web(project: Project) -> Message:
    """The message for a project that is now answered on its page."""
    text = "This is answered on the web now. What you answered before is saved."
    return screens.notice(text, rows=[[Button(words.ANSWER, address=web_url(project))]])


def _moved(click: Click, view: ConversationView) -> Reply:
    return _shown(click, view, note=words.MOVED_ON if view.resumed else "")


def _shown(click: Click, view: ConversationView, *, note: str = "", error: str = "") -> Reply:
    if view.project.response_channel == Project.ResponseChannel.WEB and not view.is_completed:
        return replies.answer(click.interaction, _on_the_web(view.project))
    timed.plan(click.interaction, view, at=click.at)
    message = screens.draw(view, platform_id=click.platform_id, note=note, error=error)
    return replies.answer(click.interaction, message)


def _raw(click: Click, kind: str) -> Mapping[str, object]:
    """The click or choice as an answer object of the interface."""
    ref, values = click.reference, click.interaction.values
    numbers = [int(value) for value in values if value.isdecimal()]
    if kind in SCALES:
        return {"block_id": ref.block_id, "value": str(numbers[0] if values and numbers else ref.arg)}
    if kind == "multi_punch" and (values or ref.op == Op.MENU):
        return {"block_id": ref.block_id, "option_ids": numbers}
    return {"block_id": ref.block_id, "option_id": numbers[0] if numbers else ref.arg}


_HANDLERS: Mapping[Op, Callable[[Click], Reply]] = {
    Op.ANSWER: _begin,
    Op.AGAIN: _begin,
    Op.AGREE: _begin,
    Op.VOTE: _vote,
    Op.VOTE_WRITTEN: _vote_written,
    Op.INFO: _info,
    Op.SHOW: _show,
    Op.CHOOSE: _choose,
    Op.MENU: _choose,
    Op.TOGGLE: _toggle,
    Op.PICK: _pick,
    Op.UNDO: _undo,
    Op.SUBMIT: _submit,
    Op.WRITE: _write,
    Op.WRITTEN: _written,
    Op.GO_ON: _go_on,
    Op.BACK: _back,
    Op.SKIP: _skip,
    Op.CHANGE: _change,
    Op.RETRACT: _retract,
}
