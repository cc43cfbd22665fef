"""What a visitor is shown: each scene is one template part with its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from django.utils import dateformat

from surveys.engine.script import Block, Script
from surveys.engine.walk import answers, presentation, runner
from surveys.engine.walk.answers import Reply
from surveys.engine.walk.runner import State
from surveys.models import Project
from surveys.pages.respondent import rewards
from surveys.pages.respondent.bars import ResultsView, draw_results
from surveys.pages.respondent.widgets import LONG_PROMPT, StepView, Typed, draw, typed_of
from surveys.pages.theme import Page
from surveys.services.conversations import tokens
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.tokens import TokenContext
from surveys.services.conversations.view import ConversationView, Exchange
from surveys.services.results import poll as poll_results
from surveys.services.scripts import editing as scripts

STEP, END = "respondent/step.html", "respondent/end.html"
# How a turn changes the past that stands in the page.
NOTHING, APPENDED, WHOLE = "nothing", "appended", "whole"


@dataclass(frozen=True, slots=True)
class Said:
    """A step of the past. `reply` is the answer in words, `given` the XP that an action gave."""

    block_id: int | None
    prompt: str
    reply: str = ""
    is_skipped: bool = False
    given: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far along. `percent` fills the bar, or leaves it out; `told` says it in words."""

    percent: float | None
    number: int
    told: str


@dataclass(frozen=True, slots=True)
class Verdict:
    is_right: bool
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    do: str
    label: str


NO_PROGRESS = Progress(None, 0, "")
CHANGES = (Action("change", "Change my vote"), Action("retract", "Take my vote back"))


@dataclass(frozen=True, slots=True)
class Ending:
    title: str
    text: str = ""
    moment: datetime | None = None
    kept: str = ""
    moves: Sequence[Action] = ()

    @property
    def is_long(self) -> bool:
        return len(self.title) > LONG_PROMPT

    @property
    def moment_in_words(self) -> str:
        return dateformat.format(self.moment, "j F Y, H:i") if self.moment else ""


# What the templates look at in every scene. They know no silent blank: a name they misspell is an error.
NOTHING_MORE: Mapping[str, object] = MappingProxyType(
    dict.fromkeys(("step", "end", "results", "verdict", "note", "traps", "prize", "earned"))
    | {"progress": NO_PROGRESS, "said": None, "keeps_past": False, "past": ()}
)


@dataclass(frozen=True, slots=True)
class Screen:
    """One answer to a visitor. `said` is the step that was just left; the whole past is made when needed.

    What `context` leaves out is as in NOTHING_MORE.
    """

    part: str
    context: Mapping[str, object]
    status: int = 200
    change: str = WHOLE
    said: Said | None = None
    told: ConversationView | None = None
    past: Sequence[Said] = field(default_factory=tuple)

    def whole_past(self) -> Sequence[Said]:
        return history_of(self.told) if self.told else self.past


def history_of(told: ConversationView) -> list[Said]:
    return [said_of(told, exchange) for exchange in told.history()]


def said_of(told: ConversationView, exchange: Exchange) -> Said:
    block = exchange.block
    is_skipped = block.asks and not answers.is_answer(exchange.reply)
    return Said(block.id, block.prompt, exchange.answer, is_skipped, rewards.in_short(told, block))


def first(
    project: Project,
    page: Page,
    *,
    seed: int,
    respondent: Respondent,
    typed: Typed | None = None,
    error: str = "",
    note: str = "",
    status: int = 200,
    has_traps: bool = False,
    at: datetime,
) -> Screen:
    """The first step, drawn from the script alone: whoever only looks leaves no row behind."""
    script = scripts.load(project_id=project.pk, revision=project.revision)
    state, block = runner.begin(script).state, runner.begin(script).show

    def as_seen(state: State, block: Block) -> tuple[Block, TokenContext]:
        hearer = tokens.for_visitor(project, script, state, respondent, at=at)
        spoken = tokens.values(hearer, block, [block.prompt])
        return presentation.present(script, state, block, seed=seed, token_values=spoken), hearer

    past: list[Said] = []
    # A poll's page is its question with the words before it.
    while project.is_poll and block is not None and not block.asks:
        seen, _ = as_seen(state, block)
        past.append(Said(block.id, seen.prompt))
        turn = runner.proceed(script, state)
        state, block = turn.state, turn.show
    if block is None:
        return notice(page, title="There is nothing to ask yet.", text="Please come back later.")
    seen, hearer = as_seen(state, block)
    step = _step(seen, page, typed or Typed(), error=error, is_poll=project.is_poll)
    context: dict[str, object] = {
        "step": step,
        "prize": rewards.of_block(
            project, script, seen, given=hearer.given.get(seen.id or 0, 0), is_given=respondent.is_member
        ),
        "note": note,
        "traps": has_traps,
        "progress": NO_PROGRESS if project.is_poll else progress_of(script, state),
    }
    if project.is_poll and poll_results.may_be_seen(project=project, has_voted=False, at=at):
        context["results"] = results_of(seen, own=None, at=at)
    return Screen(STEP, context, status, change=NOTHING if error or note else WHOLE, past=past)


def step(
    told: ConversationView,
    page: Page,
    *,
    typed: Typed | None = None,
    error: str = "",
    note: str = "",
    status: int = 200,
    change: str = WHOLE,
) -> Screen:
    """The step that waits in a conversation that was begun."""
    assert told.step is not None
    drawn = _step(
        told.step.block,
        page,
        typed or typed_of(told.step.reply),
        can_go_back=told.step.can_go_back,
        error=error,
        is_poll=told.project.is_poll,
    )
    context = {
        "step": drawn,
        "prize": rewards.at_step(told),
        "note": note,
        "verdict": None if error else verdict_of(told),
        "progress": progress_of(told.script, told.state),
    }
    return Screen(STEP, context, status, change, _latest(told, change), told)


def vote_again(told: ConversationView, page: Page, *, typed: Typed | None = None, error: str = "") -> Screen:
    """A poll's question with the vote that was given, to be changed."""
    block, reply, before = _vote(told)
    drawn = _step(_seen(told, before, block), page, typed or typed_of(reply), error=error, is_poll=True)
    return Screen(STEP, {"step": drawn}, 422 if error else 200, past=_statements_before(told))


def end(told: ConversationView, page: Page, *, at: datetime, note: str = "", change: str = WHOLE) -> Screen:
    """All is said: thanks, what was earned, a poll's results where they may be seen, what may still be done.

    With a `note` somebody comes back to what they finished before.
    """
    project = told.project
    context: dict[str, object] = {"note": note, "progress": Progress(100, 0, ""), "verdict": verdict_of(told)}
    context["earned"] = rewards.at_the_end(told, is_news=not note)
    text = ""
    if project.is_poll:
        context["progress"] = NO_PROGRESS
        text = "\n\n".join(_after_the_vote(told))
        if poll_results.may_be_seen(project=project, has_voted=True, at=at):
            block, reply, before = _vote(told)
            asked = replace(block, prompt=_seen(told, before, block).prompt)
            context["results"] = results_of(asked, own=reply, at=at)
        elif project.is_live_at(at):
            text = text or "The results can be seen here once the poll is closed."
    usual = "Thank you for voting." if project.is_poll else "Thank you! That was the last question."
    context["end"] = Ending(told.thank_you or usual, text, moves=_moves(told, at))
    past = _statements_before(told) if project.is_poll else ()
    return Screen(END, context, 200, change, _latest(told, change), None if project.is_poll else told, past)


def notice(
    page: Page,
    *,
    title: str,
    text: str = "",
    moment: datetime | None = None,
    kept: str = "",
    status: int = 200,
    results: ResultsView | None = None,
    moves: Sequence[Action] = (),
) -> Screen:
    """A friendly word instead of a question. `kept` is what was typed and could not be taken."""
    ending = Ending(title, text, moment, kept, moves)
    context = {"end": ending, "results": results}
    return Screen(END, context, status, NOTHING if kept else WHOLE)


def closed_poll_results(project: Project, *, has_voted: bool, at: datetime) -> ResultsView | None:
    """The results under a closed poll's notice, where they may be seen."""
    if not project.is_poll or not poll_results.may_be_seen(project=project, has_voted=has_voted, at=at):
        return None
    script = scripts.load(project_id=project.pk, revision=project.revision)
    block = next((block for block in script.blocks if block.asks), None)
    return None if block is None else results_of(block, own=None, at=at)


def results_of(block: Block, *, own: Reply | None, at: datetime) -> ResultsView:
    return draw_results(block, poll_results.count(block=block, at=at), own=own)


def verdict_of(told: ConversationView) -> Verdict | None:
    """What was said about the answer just given, where it was graded."""
    if not told.state.path or not told.script.scoring_enabled:
        return None
    block = told.script.blocks[told.script.index_by_id[told.state.path[-1]]]
    reply = told.state.replies.get(block.id or 0)
    text = told.last_feedback()
    if not text or reply is None:
        return None
    return Verdict(bool(answers.is_correct(block, reply)), text)


def progress_of(script: Script, state: State) -> Progress:
    """“3 of about 8”: about, as logic may pass over some of those ahead."""
    asked = sum(1 for block_id in state.path if script.blocks[script.index_by_id[block_id]].asks)
    ahead = sum(1 for block in script.blocks[state.at :] if block.asks)
    number = min(asked + 1, asked + ahead)
    percent = round(runner.progress(script, state) * 100, 1)
    return Progress(percent, number, f"{number} of about {asked + ahead}" if asked + ahead else "")


def _step(
    block: Block, page: Page, typed: Typed, *, is_poll: bool, can_go_back: bool = False, error: str = ""
) -> StepView:
    return draw(
        block,
        typed=typed,
        can_go_back=can_go_back,
        error=error,
        button="Vote" if is_poll else "Continue",
        draws_colours=page.draws_colours,
    )


def _seen(told: ConversationView, state: State, block: Block) -> Block:
    """A block as it was or will be seen at another point of the conversation."""
    spoken = tokens.values(told.hearer, block, [block.prompt])
    return presentation.present(told.script, state, block, seed=told.conversation.seed, token_values=spoken)


def _latest(told: ConversationView, change: str) -> Said | None:
    latest = told.latest() if change == APPENDED else None
    return said_of(told, latest) if latest else None


def _vote(told: ConversationView) -> tuple[Block, Reply | None, State]:
    """A poll's question, the vote, and the state just before it."""
    block = next(block for block in told.script.blocks if block.asks)
    assert block.id is not None
    path = told.state.path
    before = path[: path.index(block.id)] if block.id in path else path
    at = told.script.index_by_id[block.id]
    return block, told.state.replies.get(block.id), State(at, before, told.state.replies)


def _statements_before(told: ConversationView) -> Sequence[Said]:
    _, _, before = _vote(told)
    return [said for said in history_of(told) if said.block_id in before.path]


def _after_the_vote(told: ConversationView) -> Sequence[str]:
    """What a poll says after its question: shown at once, as the vote has completed it."""
    said: list[str] = []
    state, block = told.state, runner.current_block(told.script, told.state)
    while block is not None and not block.asks:
        said.append(_seen(told, state, block).prompt)
        turn = runner.proceed(told.script, state)
        state, block = turn.state, turn.show
    return said


def _moves(told: ConversationView, at: datetime) -> Sequence[Action]:
    project = told.project
    if not project.is_live_at(at):
        return ()
    if project.is_poll:
        return CHANGES if project.change_poll else ()
    most, number = project.max_completes_per_user, told.conversation.session_number
    if most is None or (number or 1) < most:
        return (Action("again", "Answer again"),)
    return ()
