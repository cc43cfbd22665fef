"""The screens of a preview and the effects of its forms: the respondent's screens, without a conversation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from django.http import QueryDict

from communities.ground.errors import Conflict, InvalidRequest
from communities.ground.ids import id_of
from surveys.drawing import endings, forms, parts, rewards, screens, words
from surveys.drawing.parts import PastChange, Screen
from surveys.drawing.theme import Page
from surveys.drawing.widgets import Typed
from surveys.engine.script import Block
from surveys.engine.walk.answers import Reply
from surveys.services.conversations.moves import RowsChanged
from surveys.services.previews import samples
from surveys.services.previews.service import Preview
from surveys.services.results.poll import PollResults

NOTHING_GIVEN = "In the preview nothing is given."
SCREENED_OUT = "This end screens out: the response is in no count and no result."
FAULT = "This block is not ready yet: its form says what is missing or wrong."
FORCED = "After these answers, its condition hides this block."
NO_FOLLOW_UP = "In the preview no further question is asked about the answer."
NO_MAIL = "In the preview no mail is sent."
NO_PICTURE = "A picture is missing here until the script is saved and the picture has been fetched."
EMPTY = "There is nothing to preview yet."
EMPTY_TEXT = "Add a block, and it appears here as people will see it."


@dataclass(frozen=True)
class Moved:
    """A preview after a form was sent.

    `needs_page` means that a redirect would lose the content of `screen`.
    """

    preview: Preview
    screen: Screen
    needs_page: bool = False


def show(preview: Preview, page: Page, *, past_change: PastChange = PastChange.REPLACED) -> Screen:
    """The current screen of the preview."""
    return _screen(preview, page, past_change=past_change)


def perform(preview: Preview, page: Page, sent: QueryDict) -> Moved:
    """Carry out the action of a preview's form."""
    block = _posted_block(preview, sent)
    try:
        return _perform(preview, page, sent, block)
    except InvalidRequest as refusal:
        return _with_error(preview, page, sent, block, str(refusal.violations[0]["message"]))
    except forms.BadForm as bad:
        return _with_error(preview, page, sent, block, str(bad))
    except RowsChanged:
        typed = forms.typed_in(block, sent)
        return Moved(preview, _screen(preview, page, typed=typed, note=words.REWRITTEN), needs_page=True)
    except Conflict:
        note = words.REWRITTEN if block is None else words.MOVED_ON
        return Moved(preview, _screen(preview, page, note=note), needs_page=True)


def _perform(preview: Preview, page: Page, sent: QueryDict, block: Block | None) -> Moved:
    match sent.get("do", "answer"):
        case "back":
            moved = preview.at_group().back()
        case "again":
            moved = preview.restarted()
        case forms.SEND:
            moved = preview.sent()
        case do if do.startswith(forms.REVISE):
            moved = preview.revised(forms.revised_id(do))
        case forms.SHOW_PAST:
            return Moved(preview, _screen(preview, page), needs_page=True)
        case "retract":
            moved = preview.restarted()
            return Moved(moved, _screen(moved, page, note=words.TAKEN_BACK), needs_page=True)
        case "copy" | "mail" as do if preview.walk.is_completed:
            note = NO_MAIL if do == "mail" else ""
            copy = endings.copy(preview.view(), mails=preview.project.mail_copy, note=note)
            return Moved(preview, copy, needs_page=True)
        case "look" | "hide":
            return Moved(preview, _screen(preview, page), needs_page=True)
        case "change":
            return Moved(preview, screens.vote_again(preview.view(), page), needs_page=True)
        case do:
            if block is None or (do != "go" and not block.asks):
                raise Conflict("This is not the current block of the preview.")
            if group := forms.row_answers(preview.source.script, sent):
                after = preview.group_answered(group)
                return Moved(after, _screen(after, page))
            after = (
                preview.proceeded()
                if do == "go"
                else preview.answered(forms.raw_answer(block, sent, language=page.lang))
            )
            past_change = PastChange.KEPT if preview.project.is_poll else PastChange.APPENDED
            return Moved(after, _screen(after, page, past_change=past_change))
    return Moved(moved, _screen(moved, page))


def _with_error(preview: Preview, page: Page, sent: QueryDict, block: Block | None, error: str) -> Moved:
    """The same step, with the typed values and an error message."""
    typed = forms.typed_in(block, sent)
    if preview.walk.is_completed:
        screen = screens.vote_again(preview.view(), page, typed=typed, error=error)
    else:
        screen = _screen(preview, page, typed=typed, error=error, past_change=PastChange.KEPT)
    return Moved(preview, screen, needs_page=True)


def _screen(
    preview: Preview,
    page: Page,
    *,
    typed: Typed | None = None,
    error: str = "",
    note: str = "",
    past_change: PastChange = PastChange.REPLACED,
) -> Screen:
    view = preview.view()
    if preview.is_empty:
        return parts.notice(title=EMPTY, text=EMPTY_TEXT)
    question = next((block for block in view.script.blocks if block.asks), None)
    own = view.state.replies.get(question.id or 0) if question else None
    votes = partial(_votes, preview, own)
    if view.is_completed and not view.state.path:
        return parts.notice(title="There is nothing to ask yet.", text="Please come back later.")
    if view.is_completed:
        note = note or (NOTHING_GIVEN if rewards.has_given(view) else "")
        if view.screens_out:
            note = SCREENED_OUT
        screen = endings.end(view, votes=votes, past_change=past_change)
        ending = screen.ending and replace(screen.ending, redirect="")
        return replace(screen, note=note, ending=ending)
    if view.is_at_review:
        return endings.review(view, note=note)
    if preview.project.is_poll:
        screen = screens.first(view, page, votes=votes, typed=typed, error=error)
    else:
        screen = screens.step(view, page, typed=typed, error=error, past_change=past_change)
        if not view.state.path:
            screen = replace(screen, consent=screens.consent_of(view.project))
    return replace(screen, note=note or _note(preview, screen))


def _votes(preview: Preview, own: Reply | None, block: Block, has_voted: bool) -> PollResults | None:
    return samples.votes(preview.project, block, own, has_voted=has_voted)


def _note(preview: Preview, screen: Screen) -> str:
    """The notes about the current block that only the preview shows."""
    notes = [FAULT] if preview.view().faults else []
    notes += [FORCED] if preview.walk.forced is not None else []
    notes += [NO_PICTURE] if _lacks_picture(preview, screen) else []
    notes += [NOTHING_GIVEN] if screen.prize is not None else []
    step = preview.view().step
    notes += [NO_FOLLOW_UP] if step is not None and step.block.follow_ups else []
    return " ".join(notes)


def _lacks_picture(preview: Preview, screen: Screen) -> bool:
    waiting, drawn = preview.view().step, screen.step
    if waiting is None or drawn is None:
        return False
    pairs = ((waiting.block.image_url, drawn.image), (waiting.block.thumbnail_url, drawn.thumbnail))
    options = {option.id: option.image_url for option in waiting.block.options if option.image_url}
    shown = {choice.id for choice in drawn.choices if choice.image}
    return any(address and copy is None for address, copy in pairs) or not options.keys() <= shown


def _posted_block(preview: Preview, sent: QueryDict) -> Block | None:
    index = preview.source.script.index_by_id.get(id_of(sent.get("block", "")) or 0)
    return None if index is None else preview.source.script.blocks[index]
