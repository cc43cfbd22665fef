"""The content of a visitor's page. A `Screen` has typed fields; the templates only print them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from communities.ground import privacy_words
from surveys.drawing.bars import ResultsView
from surveys.drawing.past import Past, PastStep
from surveys.drawing.rewards import Earned, Prize
from surveys.drawing.widgets import LONG_PROMPT, StepWidget
from surveys.drawing.words import time_in_words
from surveys.engine.script import Block
from surveys.services.results.poll import PollResults


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
        return time_in_words(self.moment) if self.moment else ""


# The votes on a poll's question, for a visitor who `has_voted` or not; None if they may not see them.
Votes = Callable[[Block, bool], PollResults | None]
NO_PROGRESS = Progress(None)


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
    moves_on: bool = False  # the step leads on once a choice was made by pointer
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
    asks_further: bool = False  # a model may ask about what is written, which stands beside who sees it
    has_lost_link: bool = False  # the page may still name the link's member
    status: int = 200
    retry_after: int | None = None  # seconds
    past_change: PastChange = PastChange.REPLACED
    latest: PastStep | None = None
    past: Callable[[int | None], Past] = lambda before: Past()

    @property
    def closes_in_words(self) -> str:
        return time_in_words(self.closes_at) if self.closes_at else ""


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
