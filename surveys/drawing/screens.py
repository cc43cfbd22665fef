"""The steps of a visitor: the first, the current one, and a vote again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TypeVar

from communities.ground import privacy_words
from communities.ground.translation import say
from surveys.drawing import forms, past, rewards, widgets
from surveys.drawing.bars import ResultsView, draw_results
from surveys.drawing.parts import (
    NO_PROGRESS,
    Consent,
    PastChange,
    Progress,
    Screen,
    Task,
    Verdict,
    Votes,
    notice,
)
from surveys.drawing.past import PastStep
from surveys.drawing.theme import Page
from surveys.drawing.widgets import StepWidget, Typed, typed_ahead, typed_of
from surveys.drawing.words import words_now
from surveys.engine.language import markup
from surveys.engine.language.piping import Authored
from surveys.engine.script import SCALES, Block
from surveys.engine.walk import answers, defaults, groups, prefill, runner
from surveys.engine.walk.answers import Reply
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.engine.walk.runner import State
from surveys.models import Project
from surveys.services.conversations import admission
from surveys.services.conversations.admission import consent_mark
from surveys.services.conversations.view import WalkView
from surveys.services.results import poll as poll_results
from surveys.services.results.poll import PollResults
from surveys.services.scripts import cache as script_cache

View = TypeVar("View", bound=WalkView)


def first(
    view: WalkView,
    page: Page,
    *,
    votes: Votes,
    typed: Typed | None = None,
    error: str = "",
    note: str = "",
    has_traps: bool = False,
    task: Task | None = None,
    ahead: Prefill = NOTHING,
    consent_error: str = "",
) -> Screen:
    """The first step after the steps that are answered `ahead`.

    It asks for the project's `consent`, and says when the project closes automatically. A poll's page shows
    its question together with the texts before it.
    """
    view = at_first(marked(view))
    if view.step is None:
        return notice(title=say("There is nothing to ask yet."), text=say("Please come back later."))
    past_change = PastChange.KEPT if error or note or consent_error else PastChange.REPLACED
    screen = step(view, page, typed=typed, error=error, note=note, past_change=past_change, ahead=ahead)
    if consent := consent_of(view.project):
        is_ticked = typed is not None and typed.consent == consent.mark
        consent = replace(consent, is_ticked=is_ticked, error=consent_error)
        screen = replace(screen, consent=consent, status=422 if consent_error else screen.status)
    closes_at = view.project.closes_at
    if not view.project.is_poll:
        return replace(screen, has_traps=has_traps, task=task, closes_at=closes_at)
    question = as_title(view.step.block)
    return replace(
        screen,
        has_traps=has_traps,
        task=task,
        closes_at=closes_at,
        progress=NO_PROGRESS,
        results=draw_votes(question, votes(question, False), own=None, is_over=False),
        results_when=poll_results.when_seen(view.project),
    )


def told_in_words(project: Project) -> str:
    """Who reads the answers, whether an AI may ask about them, and when they are deleted, as a page tells it
    before the first answer.
    """
    is_open = project.privacy_mode == Project.PrivacyMode.TRANSPARENT
    asks = admission.asks_further(project, script_cache.script_of(project))
    words = words_now()
    who = words.members_read_this if is_open else words.team_reads_this
    sentences = [words.is_anonymous if project.is_anonymous else who, *([words.ai_asks] if asks else [])]
    return " ".join([*sentences, privacy_words.deleted_after(project.keep_responses_days)]).rstrip()


def consent_of(project: Project) -> Consent | None:
    """The box of the project's `consent`; None if it asks for none."""
    return Consent(Authored(project.consent), str(consent_mark(project.consent))) if project.consent else None


def at_first(view: View) -> View:
    """The view at the step that a visitor sees first: for a poll the question, with the texts before it."""
    while view.project.is_poll and view.block is not None and not view.block.asks:
        view = view.moved(runner.proceed(view.script, view.state).state)
    return view


def asks_first(view: WalkView, block: Block | None) -> bool:
    """Whether a block is the first that this visitor sees, so that typed text belongs to it."""
    current = at_first(view).block
    return block is not None and current is not None and current.id == block.id


def step(
    view: WalkView,
    page: Page,
    *,
    typed: Typed | None = None,
    error: str = "",
    note: str = "",
    past_change: PastChange = PastChange.REPLACED,
    ahead: Prefill = NOTHING,
) -> Screen:
    """The current step.

    Its control contains the value that was `typed`, else the earlier answer, else an answer `ahead`. The
    first step says when the project closes automatically, also to returning visitors.
    """
    view = marked(view)
    if (begun := groups.first_state(view.script, view.state)) is not None:
        is_there = begun is view.state
        past_change = past_change if is_there or past_change == PastChange.KEPT else PastChange.REPLACED
        can_go_back = view.can_go_back and runner.can_go_back(begun)
        screen = _group(view.moved(begun), page, typed, error, ahead, can_go_back=can_go_back)
        return replace(screen, note=note, past_change=past_change, latest=latest_step(view, past_change))
    assert view.step is not None
    is_first = view.project.is_poll or not runner.can_go_back(view.state)
    widget = _step(
        view,
        view.step.block,
        page,
        _typed_or_ahead(view, typed, ahead, page),
        can_go_back=view.step.can_go_back,
        error=error,
        is_locked=view.step.is_locked,
        follow_up=view.step.follow_up,
        group=view.step.group,
    )
    return Screen(
        step=widget,
        moves_on=_moves_on(view, widget),
        progress=progress_of(view),
        note=note,
        verdict=None if error else verdict_of(view),
        prize=rewards.at_step(view),
        closes_at=view.project.closes_at if is_first else None,
        status=422 if error else 200,
        asks_further=view.asks_further,
        past_change=past_change,
        latest=latest_step(view, past_change),
        past=partial(past.past_of, view),
    )


def _group(
    view: WalkView, page: Page, typed: Typed | None, error: str, ahead: Prefill, *, can_go_back: bool
) -> Screen:
    """The questions of a group, whose first the `view` stands at."""
    blocks = groups.rows(view.script, view.state)
    return Screen(
        step=widgets.draw_group(
            Authored(markup.escape(blocks[0].group or "")),
            [view.present(view.state, block) for block in blocks],
            typed=[_row_typed(view, block, typed, ahead, page) for block in blocks],
            errors=[_row_error(view, block, typed) if error else "" for block in blocks],
            can_go_back=can_go_back,
            error=error,
        ),
        progress=progress_of(view),
        verdict=None if error else verdict_of(view),
        closes_at=None if runner.can_go_back(view.state) else view.project.closes_at,
        status=422 if error else 200,
        past=partial(past.past_of, view),
    )


def _row_typed(view: WalkView, block: Block, typed: Typed | None, ahead: Prefill, page: Page) -> Typed:
    if typed is not None and typed.rows:
        return Typed(chosen=typed.rows.get(block.id or 0, frozenset()))
    reply = view.state.replies.get(block.id or 0) or prefill.reply_to(view.script, block, ahead)
    return typed_of(reply, language=page.lang)


def _row_error(view: WalkView, block: Block, typed: Typed | None) -> str:
    chosen = typed.rows.get(block.id or 0, frozenset()) if typed else frozenset()
    try:
        answers.parse(block, forms.row_answer(block, chosen))
    except answers.InvalidAnswer as invalid:
        return str(invalid)
    return ""


def _moves_on(view: WalkView, widget: StepWidget) -> bool:
    """Whether one choice leads to the next step (rule 6.177), but not to feedback, nor to the end."""
    project, block = view.project, view.script.blocks[view.state.at]
    is_one_choice = widget.is_group and (block.type == "single_punch" or block.type in SCALES)
    if not project.advance_on_choice or project.is_poll or not is_one_choice or widget.is_locked:
        return False
    if view.script.scoring_enabled and (block.when_correct or block.when_incorrect):
        return False
    return project.review or not view.may_be_last


def _typed_or_ahead(view: WalkView, typed: Typed | None, ahead: Prefill, page: Page) -> Typed:
    """The typed values, else the control's initial values.

    Without ranks, an order that was filled in ahead stays.
    """
    if typed is None or typed.rows:  # the rows of a group, whose questions are asked one by one now
        return _answered(view, ahead, page)
    if any(typed.ranks.values()):
        return typed
    return replace(typed, order=_answered(view, ahead, page).order)


def _answered(view: WalkView, ahead: Prefill, page: Page) -> Typed:
    """The initial values of the step's control."""
    assert view.step is not None
    if view.step.reply is not None:
        return typed_of(view.step.reply, language=page.lang)
    if view.step.follow_up:
        return Typed()
    block = view.script.blocks[view.state.at]
    reply = prefill.reply_to(view.script, block, ahead)
    return typed_ahead(block, reply, language=page.lang)


def vote_again(view: WalkView, page: Page, *, typed: Typed | None = None, error: str = "") -> Screen:
    """A poll's question with the current vote, which may be changed."""
    view = marked(view)
    question, reply, before = poll_question(view)
    return Screen(
        step=_step(view, view.present(before, question), page, typed or typed_of(reply), error=error),
        closes_at=view.project.closes_at,
        status=422 if error else 200,
        past=partial(past.past_of, view, count=len(before.path)),
    )


def marked(view: View) -> View:
    """The view whose texts are Markdown, in which no value of a token is markup."""
    return view if view.escape else replace(view, escape=markup.escape)


def as_title(block: Block) -> Block:
    plain = markup.plain(block.prompt)
    return block if plain == block.prompt else replace(block, prompt=plain)


def draw_votes(
    block: Block, votes: PollResults | None, *, own: Reply | None, is_over: bool
) -> ResultsView | None:
    return None if votes is None else draw_results(block, votes, own=own, is_over=is_over)


def verdict_of(view: WalkView) -> Verdict | None:
    """The feedback on the latest answer, if it was graded."""
    if not view.state.path or not view.script.scoring_enabled or view.state.further is not None:
        return None
    block = view.script.blocks[view.script.index_by_id[view.state.path[-1]]]
    reply = view.state.replies.get(block.id or 0)
    text = view.last_feedback()
    if not text or reply is None:
        return None
    return Verdict(bool(answers.is_correct(block, reply)), text)


def progress_of(view: WalkView) -> Progress:
    percent = round(runner.progress(view.script, view.state) * 100, 1)
    return Progress(percent, view.question_number)


def latest_step(view: WalkView, past_change: PastChange) -> PastStep | None:
    latest = view.latest() if past_change == PastChange.APPENDED else None
    return past.step_of(view, latest) if latest else None


def _step(
    view: WalkView,
    block: Block,
    page: Page,
    typed: Typed,
    *,
    can_go_back: bool = False,
    error: str = "",
    is_locked: bool = False,
    follow_up: int = 0,
    group: str = "",
) -> StepWidget:
    return widgets.draw(
        rewards.shown(view, block),
        typed=typed,
        pictures=view.pictures(*block.pictures),
        can_go_back=can_go_back,
        error=error,
        button=defaults.button_of(block, is_poll=view.project.is_poll),
        draws_colours=page.draws_colours,
        is_locked=is_locked,
        follow_up=follow_up,
        group=group,
    )


def poll_question(view: WalkView) -> tuple[Block, Reply | None, State]:
    """A poll's question, the vote, and the state just before the vote."""
    block = next(block for block in view.script.blocks if block.asks)
    assert block.id is not None
    path = view.state.path
    path_before = path[: path.index(block.id)] if block.id in path else path
    state_before = State(view.script.index_by_id[block.id], path_before, view.state.replies)
    return block, view.state.replies.get(block.id), state_before
