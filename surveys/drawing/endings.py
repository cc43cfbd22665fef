"""The end of a visitor's way: the review, the thanks, a copy of all answers, and the results of a poll."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from communities.ground.translation import say
from surveys.drawing import bars, past, rewards
from surveys.drawing.bars import ResultsView
from surveys.drawing.parts import Action, Copy, Ending, Link, PastChange, Progress, Reviewed, Screen, Votes
from surveys.drawing.screens import as_title, draw_votes, latest_step, marked, poll_question, verdict_of
from surveys.engine.flow.wording import heading
from surveys.engine.intake import videos
from surveys.engine.language import markup, piping
from surveys.engine.script import Block
from surveys.models import Project
from surveys.services.conversations.view import WalkView
from surveys.services.representations.project import web_url
from surveys.services.results import poll as poll_results
from surveys.services.results.poll import PollResults
from surveys.services.scripts import cache as script_cache

COPY = Action("copy", "Keep a copy of my answers", is_quiet=True)
AGAIN = Action("again", "Answer again", is_quiet=True)
HIDE = Action("hide", "Hide my answers on this device", is_quiet=True)
HIDE_VOTE = Action("hide", "Hide my vote on this device", is_quiet=True)
VOTE_ACTIONS = (Action("change", "Change my vote"), Action("ask-retract", "Take my vote back"))
RETRACTION = (Action("retract", "Yes, take it back"), Action("look", "No, keep it"))

MAX_COPIED = 3 * past.MAX_PAST_CHARACTERS
MAX_TEXTS_AHEAD = 20_000  # characters of the texts that follow a vote


def review(view: WalkView, *, note: str = "", past_change: PastChange = PastChange.REPLACED) -> Screen:
    """All answers before the end, each with a way to change it."""
    view = marked(view)
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
    asked = [each for each in marked(view).history() if each.block.asks]
    steps = [past.step_of(view, each) for each in asked]
    most = most if sum(step.size for step in steps) <= most else most // len(asked)
    return [
        Reviewed(
            replace(step, prompt=markup.plain(step.prompt), reply=past.cut(step.reply, most)),
            may_change and not view.is_settled(each.block),
        )
        for step, each in zip(steps, asked, strict=True)
    ]


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
    view = marked(view)
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
    title, text = _thanks(view, say("Thank you! That was the last question."))
    return Screen(
        ending=Ending(title, text, actions=_actions(view), is_over=True),
        progress=Progress(100),
        note=note,
        verdict=verdict_of(view),
        earned=rewards.at_the_end(view, is_news=not note),
        past_change=past_change,
        latest=latest_step(view, past_change),
        past=partial(past.past_of, view),
    )


def _end_of_poll(view: WalkView, *, votes: Votes, note: str, past_change: PastChange) -> Screen:
    question, reply, before = poll_question(view)
    title, below = _thanks(view, say("Thank you for voting."))
    ahead = (text for block in view.texts_ahead() for text in (block.words, videos.link(block.video_url)))
    text = _joined(filter(None, [below, *ahead]))
    asked = question
    if "[" in question.prompt:
        asked = replace(question, prompt=view.present(before, question).prompt)
    results = draw_votes(as_title(asked), votes(question, True), own=reply, is_over=not view.is_open)
    if results is None and view.is_open:
        text = text or say("The results can be seen here once the poll is closed.")
    return Screen(
        ending=Ending(title, text, actions=_actions(view), is_over=True),
        note=note,
        verdict=verdict_of(view),
        earned=rewards.at_the_end(view, is_news=not note),
        results=results,
        past_change=past_change,
        latest=latest_step(view, past_change),
        past=partial(past.past_of, view, count=len(before.path)),
    )


def _thanks(view: WalkView, otherwise: str) -> tuple[str, str]:
    """The closing words, and the text below them."""
    if view.thanks is None:
        return otherwise, ""
    return rewards.in_own_words(view.thanks.prompt), view.thanks.description or ""


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
    script = script_cache.script_of(project)
    return next((block for block in script.blocks if block.asks), None)


def closed_poll_results(project: Project, *, has_voted: bool, votes: Votes) -> ResultsView | None:
    """The results under the notice of a closed poll, if they may be seen."""
    block = _question_of(project) if project.is_poll else None
    if block is None:
        return None
    # There is no respondent whose values could fill in the prompt
    script = script_cache.script_of(project)
    headed = replace(block, prompt=heading(block.prompt, script))
    return draw_votes(headed, votes(block, has_voted), own=None, is_over=True)


def _joined(texts: Iterable[str]) -> str:
    """The texts joined. Texts beyond the limit are not filled in."""
    joined, length = [], 0
    for text in texts:
        joined.append(text)
        length += len(text) + 2
        if length > MAX_TEXTS_AHEAD:
            break
    return past.cut(piping.joined("\n\n", joined), MAX_TEXTS_AHEAD)


def _actions(view: WalkView) -> Sequence[Action]:
    project = view.project
    most, number = project.max_completes_per_user, view.session_number
    keeps = not project.is_anonymous  # there the browser keeps no answers
    if project.is_poll:
        changes = VOTE_ACTIONS if view.is_open and project.change_poll else ()
        return (*changes, HIDE_VOTE) if keeps else changes
    again = (AGAIN,) if view.is_open and (most is None or (number or 1) < most) else ()
    return (COPY, *again, HIDE) if keeps else again
