"""The content of a visitor's page. A `Screen` has typed fields; the templates only print them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import partial
from typing import TypeVar

from django.utils import dateformat

from communities.ground import privacy_words
from surveys.drawing import bars, forms, past, rewards, widgets
from surveys.drawing.bars import ResultsView, draw_results
from surveys.drawing.past import Past, PastStep
from surveys.drawing.rewards import Earned, Prize
from surveys.drawing.theme import Page
from surveys.drawing.widgets import LONG_PROMPT, StepWidget, Typed, typed_ahead, typed_of
from surveys.engine.flow.wording import heading
from surveys.engine.language import markup, piping
from surveys.engine.language.piping import Authored
from surveys.engine.script import SCALES, Block
from surveys.engine.walk import answers, defaults, groups, prefill, runner
from surveys.engine.walk.answers import Reply
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.engine.walk.runner import State
from surveys.models import Project
from surveys.services.conversations.admission import consent_mark
from surveys.services.conversations.view import WalkView
from surveys.services.representations.project import web_url
from surveys.services.results import poll as poll_results
from surveys.services.results.poll import PollResults
from surveys.services.scripts import editing as scripts


class PastChange(Enum):
    """How a move changes the past steps that the page already shows."""

    KEPT = "kept"
    APPENDED = "appended"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of the visitor.

    `percent` fills the bar; None hides it. `question` has the form “3 of 8”.
    """

    percent: float | None
    question: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Feedback on a graded answer."""

    is_right: bool
    text: str


@dataclass(frozen=True, slots=True)
class Consent:
    """The text that a respondent agrees to by ticking a box."""

    text: str
    mark: str  # what the box sends: another text has another mark
    is_ticked: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """A button below the end; `do` is the value that the form sends."""

    do: str
    label: str
    is_quiet: bool = False


@dataclass(frozen=True, slots=True)
class AnswersAs:
    """In whose name a visitor answers, and who can see the answers.

    `by` is `link` for the member of a personal link, `sign_in` for a person who is signed in, else empty.
    `sign_out` is the address for a person who is signed in and wants to be somebody else; a link is left by a
    form. `misses` names the rewards that a non-member cannot get, empty if there are none, and `sign_in` is
    where they can still become one who gets them.
    """

    privacy_mode: str
    name: str = ""
    by: str = ""
    sign_out: str = ""
    misses: str = ""
    sign_in: str = ""
    keep_days: int | None = None

    @property
    def deletion(self) -> str:
        """A sentence that says when the answers are deleted."""
        return privacy_words.deleted_after(self.keep_days)


@dataclass(frozen=True, slots=True)
class Link:
    """A link below the end, drawn as a button."""

    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Ending:
    """A text instead of a question. `kept` is the typed text that could not be saved.

    `is_over` means that everything was answered, so the browser deletes unsent answers.
    """

    title: str
    text: str = ""
    moment: datetime | None = None
    kept: str = ""
    actions: Sequence[Action] = ()
    is_over: bool = False
    redirect: str = ""  # an address to lead to at once, but for a frame
    share: str = ""  # the address of a public page
    leaves_the_page: bool = False  # its actions load the whole page again
    items: Sequence[str] = ()
    links: Sequence[Link] = ()
    aside: Link | None = None

    @property
    def is_long(self) -> bool:
        return len(self.title) > LONG_PROMPT

    @property
    def moment_in_words(self) -> str:
        return dateformat.format(self.moment, "j F Y, H:i") if self.moment else ""


# The votes on a poll's question, for a visitor who `has_voted` or not; None if they may not see them.
Votes = Callable[[Block, bool], PollResults | None]

View = TypeVar("View", bound=WalkView)
NO_PROGRESS = Progress(None)
COPY = Action("copy", "Keep a copy of my answers", is_quiet=True)
AGAIN = Action("again", "Answer again", is_quiet=True)
HIDE = Action("hide", "Hide my answers on this device", is_quiet=True)
HIDE_VOTE = Action("hide", "Hide my vote on this device", is_quiet=True)
VOTE_ACTIONS = (Action("change", "Change my vote"), Action("ask-retract", "Take my vote back"))
RETRACTION = (Action("retract", "Yes, take it back"), Action("look", "No, keep it"))

MAX_COPIED = 3 * past.MAX_PAST_CHARACTERS
MAX_TEXTS_AHEAD = 20_000  # characters of the texts that follow a vote


@dataclass(frozen=True, slots=True)
class Task:
    """A task that the sender of a first form has to solve before the form is accepted.

    A browser finds the `number` below `most` for which the SHA-256 of `nonce` and `number` is `target`, and
    presses the button `do` again. Without a script a person answers the `question`.
    """

    signed: str
    nonce: str
    target: str
    most: int
    question: str
    do: str


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A question and its answer in the review. `may_change` is false for a graded answer that is final."""

    step: PastStep
    may_change: bool


@dataclass(frozen=True, slots=True)
class Copy:
    """All answers at the end, to print or mail. `address` is the typed one, else the sender's own."""

    items: Sequence[Reviewed]
    mails: bool = False
    address: str = ""
    error: str = ""
    leads_back: bool = True


@dataclass(frozen=True, slots=True)
class Screen:
    """The content of one page: a `step` to answer, or an `ending`, and the parts around it.

    `past` draws the past steps for a whole page or for new past steps: those before a step, or the latest for
    None. `latest` is the step that was just completed.
    """

    step: StepWidget | None = None
    ending: Ending | None = None
    review: Sequence[Reviewed] = ()  # in place of a step
    copy: Copy | None = None  # in place of an ending
    progress: Progress = NO_PROGRESS
    note: str = ""
    unsaved: str = ""  # typed text that was not accepted; the note gives the reason
    verdict: Verdict | None = None
    prize: Prize | None = None
    earned: Earned | None = None
    results: ResultsView | None = None
    results_when: str = ""  # when a poll shows its results, for visitors who have not voted
    closes_at: datetime | None = None  # shown at the first step
    has_traps: bool = False
    consent: Consent | None = None  # asked for at the first step
    task: Task | None = None  # done before a first form is accepted
    answers_as: AnswersAs | None = None
    asks_further: bool = False  # a model may ask about what is written, which stands beside who sees it
    has_lost_link: bool = False  # the page may still name the link's member
    status: int = 200
    retry_after: int | None = None  # seconds
    past_change: PastChange = PastChange.REPLACED
    latest: PastStep | None = None
    past: Callable[[int | None], Past] = lambda before: Past()
    ahead: str = ""  # a form field with the answers that were filled in ahead


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
    view = at_first(_marked(view))
    if view.step is None:
        return notice(title="There is nothing to ask yet.", text="Please come back later.")
    past_change = PastChange.KEPT if error or note or consent_error else PastChange.REPLACED
    screen = step(view, page, typed=typed, error=error, note=note, past_change=past_change, ahead=ahead)
    if consent := consent_of(view.project):
        is_ticked = typed is not None and typed.consent == consent.mark
        consent = replace(consent, is_ticked=is_ticked, error=consent_error)
        screen = replace(screen, consent=consent, status=422 if consent_error else screen.status)
    closes_at = view.project.closes_at
    if not view.project.is_poll:
        return replace(screen, has_traps=has_traps, task=task, closes_at=closes_at)
    question = _as_title(view.step.block)
    return replace(
        screen,
        has_traps=has_traps,
        task=task,
        closes_at=closes_at,
        progress=NO_PROGRESS,
        results=_results(question, votes(question, False), own=None, is_over=False),
        results_when=poll_results.when_seen(view.project),
    )


def consent_of(project: Project) -> Consent | None:
    """The box of the project's `consent`; None if it asks for none."""
    return Consent(Authored(project.consent), str(consent_mark(project.consent))) if project.consent else None


def at_first(view: View) -> View:
    """The view at the step that a visitor sees first: for a poll the question, with the texts before it."""
    while view.project.is_poll and view.step is not None and not view.step.block.asks:
        view = view.moved(runner.proceed(view.script, view.state).state)
    return view


def asks_first(view: WalkView, block: Block | None) -> bool:
    """Whether a block is the first that this visitor sees, so that typed text belongs to it."""
    current = runner.current_block(view.script, at_first(view).state)
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
    view = _marked(view)
    if (begun := groups.first_state(view.script, view.state)) is not None:
        is_there = begun is view.state
        past_change = past_change if is_there or past_change == PastChange.KEPT else PastChange.REPLACED
        can_go_back = view.can_go_back and runner.can_go_back(begun)
        screen = _group(view.moved(begun), page, typed, error, ahead, can_go_back=can_go_back)
        return replace(screen, note=note, past_change=past_change, latest=_latest(view, past_change))
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
        step=replace(widget, moves_on=_moves_on(view, widget)),
        progress=progress_of(view),
        note=note,
        verdict=None if error else verdict_of(view),
        prize=rewards.at_step(view),
        closes_at=view.project.closes_at if is_first else None,
        status=422 if error else 200,
        asks_further=view.asks_further,
        past_change=past_change,
        latest=_latest(view, past_change),
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


def review(view: WalkView, *, note: str = "", past_change: PastChange = PastChange.REPLACED) -> Screen:
    """All answers before the end, each with a way to change it."""
    view = _marked(view)
    return Screen(
        review=_reviewed(view, most=past.MAX_PAST_CHARACTERS, may_change=True),
        progress=Progress(100),
        note=note,
        verdict=verdict_of(view),
        past_change=past_change,
    )


def copy(
    view: WalkView,
    *,
    mails: bool = False,
    address: str = "",
    error: str = "",
    note: str = "",
    leads_back: bool = True,
) -> Screen:
    """All answers of a conversation that is over. Without other past steps the page has room for each."""
    items = _reviewed(view, most=MAX_COPIED, may_change=False)
    return Screen(
        copy=Copy(items, mails, address, error, leads_back), note=note, status=422 if error else 200
    )


def _reviewed(view: WalkView, *, most: int, may_change: bool) -> Sequence[Reviewed]:
    """The questions and answers, which are cut if they have more than `most` characters together."""
    asked = [each for each in _marked(view).history() if each.block.asks]
    steps = [past.step_of(view, each) for each in asked]
    most = most if sum(step.size for step in steps) <= most else most // len(asked)
    return [
        Reviewed(
            replace(step, prompt=markup.plain(step.prompt), reply=past.cut(step.reply, most)),
            may_change and not view.is_settled(each.block),
        )
        for step, each in zip(steps, asked, strict=True)
    ]


def vote_again(view: WalkView, page: Page, *, typed: Typed | None = None, error: str = "") -> Screen:
    """A poll's question with the current vote, which may be changed."""
    view = _marked(view)
    question, reply, before = _poll_question(view)
    return Screen(
        step=_step(view, view.present(before, question), page, typed or typed_of(reply), error=error),
        closes_at=view.project.closes_at,
        status=422 if error else 200,
        past=partial(past.past_of, view, count=len(before.path)),
    )


def end(
    view: WalkView,
    *,
    votes: Votes,
    note: str = "",
    past_change: PastChange = PastChange.REPLACED,
) -> Screen:
    """The end: thanks, rewards, a poll's results if they may be seen, and further actions.

    A `note` greets visitors who return to a completed conversation. They are not led away.
    """
    view = _marked(view)
    draw = _end_of_poll if view.project.is_poll else _end_of_survey
    screen = draw(view, votes=votes, note=note, past_change=past_change)
    assert screen.ending is not None
    ending = screen.ending
    if view.project.is_public and view.is_open:
        ending = replace(ending, share=web_url(view.project))
    if view.end is not None and view.end.url:
        url, links = view.end.url, (Link(view.end.label, view.end.url),)
        ending = replace(ending, links=links, redirect="" if note or not view.end.redirects else url)
    return replace(screen, ending=ending)


def _end_of_survey(view: WalkView, *, votes: Votes, note: str, past_change: PastChange) -> Screen:
    title, text = _thanks(view, "Thank you! That was the last question.")
    return Screen(
        ending=Ending(title, text, actions=_actions(view), is_over=True),
        progress=Progress(100),
        note=note,
        verdict=verdict_of(view),
        earned=rewards.at_the_end(view, is_news=not note),
        past_change=past_change,
        latest=_latest(view, past_change),
        past=partial(past.past_of, view),
    )


def _end_of_poll(view: WalkView, *, votes: Votes, note: str, past_change: PastChange) -> Screen:
    question, reply, before = _poll_question(view)
    title, below = _thanks(view, "Thank you for voting.")
    text = _joined(filter(None, [below, *(block.words for block in view.texts_ahead())]))
    asked = question
    if "[" in question.prompt:
        asked = replace(question, prompt=view.present(before, question).prompt)
    results = _results(_as_title(asked), votes(question, True), own=reply, is_over=not view.is_open)
    if results is None and view.is_open:
        text = text or "The results can be seen here once the poll is closed."
    return Screen(
        ending=Ending(title, text, actions=_actions(view), is_over=True),
        note=note,
        verdict=verdict_of(view),
        earned=rewards.at_the_end(view, is_news=not note),
        results=results,
        past_change=past_change,
        latest=_latest(view, past_change),
        past=partial(past.past_of, view, count=len(before.path)),
    )


def _thanks(view: WalkView, otherwise: str) -> tuple[str, str]:
    """The closing words, and the text below them."""
    return (view.thanks.prompt, view.thanks.description or "") if view.thanks else (otherwise, "")


def notice(
    *,
    title: str,
    text: str = "",
    moment: datetime | None = None,
    kept: str = "",
    status: int = 200,
    results: ResultsView | None = None,
    note: str = "",
    items: Sequence[str] = (),
    links: Sequence[Link] = (),
    aside: Link | None = None,
    actions: Sequence[Action] = (),
) -> Screen:
    """A friendly text instead of a question. `kept` is the typed text that could not be saved."""
    return Screen(
        ending=Ending(title, text, moment, kept, actions, items=items, links=links, aside=aside),
        note=note,
        results=results,
        status=status,
        past_change=PastChange.KEPT if kept else PastChange.REPLACED,
    )


def stored_votes(project: Project, *, at: datetime) -> Votes:
    """The votes of the project's visitors, for people who may see them."""

    def votes(block: Block, has_voted: bool) -> PollResults | None:
        if not poll_results.may_be_seen(project=project, has_voted=has_voted, at=at):
            return None
        return poll_results.count(project=project, block=block, at=at)

    return votes


def voters_in_words(project: Project, *, at: datetime) -> str:
    """How many voted in a closed poll, for visitors who may not see its results."""
    block = _question_of(project)
    return "" if block is None else bars.voters(poll_results.count(project=project, block=block, at=at))


def _question_of(project: Project) -> Block | None:
    script = scripts.load(project_id=project.pk, revision=project.revision)
    return next((block for block in script.blocks if block.asks), None)


def closed_poll_results(project: Project, *, has_voted: bool, votes: Votes) -> ResultsView | None:
    """The results under the notice of a closed poll, if they may be seen."""
    block = _question_of(project) if project.is_poll else None
    if block is None:
        return None
    # There is no respondent whose values could fill in the prompt
    script = scripts.load(project_id=project.pk, revision=project.revision)
    headed = replace(block, prompt=heading(block.prompt, script))
    return _results(headed, votes(block, has_voted), own=None, is_over=True)


def _marked(view: View) -> View:
    """The view whose texts are Markdown, in which no value of a token is markup."""
    return view if view.escape else replace(view, escape=markup.escape)


def _as_title(block: Block) -> Block:
    return replace(block, prompt=markup.plain(block.prompt))


def _results(
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


def _joined(texts: Iterable[str]) -> str:
    """The texts joined. Texts beyond the limit are not filled in."""
    joined, length = [], 0
    for text in texts:
        joined.append(text)
        length += len(text) + 2
        if length > MAX_TEXTS_AHEAD:
            break
    return past.cut(piping.joined("\n\n", joined), MAX_TEXTS_AHEAD)


def _latest(view: WalkView, past_change: PastChange) -> PastStep | None:
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


def _poll_question(view: WalkView) -> tuple[Block, Reply | None, State]:
    """A poll's question, the vote, and the state just before the vote."""
    block = next(block for block in view.script.blocks if block.asks)
    assert block.id is not None
    path = view.state.path
    path_before = path[: path.index(block.id)] if block.id in path else path
    state_before = State(view.script.index_by_id[block.id], path_before, view.state.replies)
    return block, view.state.replies.get(block.id), state_before


def _actions(view: WalkView) -> Sequence[Action]:
    project = view.project
    most, number = project.max_completes_per_user, view.session_number
    keeps = not project.is_anonymous  # there the browser keeps no answers
    if project.is_poll:
        changes = VOTE_ACTIONS if view.is_open and project.change_poll else ()
        return (*changes, HIDE_VOTE) if keeps else changes
    again = (AGAIN,) if view.is_open and (most is None or (number or 1) < most) else ()
    return (COPY, *again, HIDE) if keeps else again
