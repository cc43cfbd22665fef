"""A walk through a script as the interface and the pages show it, wherever its state is stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from django.utils.encoding import iri_to_uri
from django.utils.functional import cached_property

from communities.ground.translation import say
from communities.services.pictures import copies
from communities.services.pictures.copies import Copy
from surveys.engine.language import markup, piping
from surveys.engine.rules.script import has_link
from surveys.engine.script import Block, Script
from surveys.engine.walk import answers, follow_ups, prefill, presentation, runner
from surveys.engine.walk.answers import Reply
from surveys.engine.walk.path_values import PathValues
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.engine.walk.runner import PastSteps, State
from surveys.models import Conversation, Project
from surveys.services.conversations import admission, ends, tokens
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.conversations.tokens import TokenContext
from surveys.services.ground import metadata, script_settings
from surveys.services.scripts import cache as script_cache
from xp.services.standings import Totals

_THANKS = Block(type="content_block", section="outro", prompt="")
_BY_TOMORROW = (
    "This is added by tomorrow, together with what others earned, so that nobody can tell which answers are "
    "yours."
)
_WITHIN_AN_HOUR = (
    "This is added within about an hour, together with what others earned, so that nobody can tell which "
    "answers are yours."
)


@dataclass(frozen=True, slots=True)
class Step:
    """The current block, as the respondent sees it.

    `reply` is their earlier answer here (engine/walk/answers: Reply), shown again after a step back; None if
    there is none. If `is_locked`, it cannot be changed. `given` is the XP that an action block gave. If the
    step is a further question, or waits for one that is being written, `follow_up` is its number; otherwise
    it is 0. `group` is the title that the block shares with its neighbours, and its place among them.
    """

    block: Block
    progress: float
    can_go_back: bool
    reply: Reply | None
    given: int = 0
    is_locked: bool = False
    follow_up: int = 0
    group: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A past step: the block as the respondent saw it, and the answer in words, empty for a skip.

    `follow_ups` are the further questions about the answer, each with its answer.
    """

    block: Block
    reply: Reply | None
    answer: str
    follow_ups: Sequence[Mapping[str, str | None]] = ()


@dataclass(frozen=True, slots=True)
class End:
    """Where the end leads, with tokens filled in. `message` takes the place of the thanks; empty for none.

    Without a `url` there is no button.
    """

    message: str
    url: str
    label: str
    redirects: bool


@dataclass(frozen=True, kw_only=True)
class WalkView(ABC):
    """A walk at its present step. Each property is computed when it is first read.

    Subclasses say where the walk is stored: in a conversation, nowhere yet, or in a preview. `seed`
    determines the order of options. `unfilled_feedback` is the graded answer's `when_correct` or
    `when_incorrect` with its tokens not filled in. `escape` escapes the values of tokens in texts that are
    markup.
    """

    project: Project
    script: Script
    state: State
    seed: int
    at: datetime
    unfilled_feedback: str | None = None
    escape: Callable[[str], str] | None = None

    @cached_property
    @abstractmethod
    def context(self) -> TokenContext:
        """The values of tokens for this respondent."""

    @property
    def is_completed(self) -> bool:
        return False

    @property
    def is_open(self) -> bool:
        """Whether the project accepts answers now. A walk that is stored nowhere yet may continue."""
        return True

    @property
    def can_go_back(self) -> bool:
        """Whether there are questions before, to which the respondent may go back."""
        return not self.project.is_poll and runner.can_go_back(self.state)

    @property
    def session_number(self) -> int | None:
        """The number of this session among the respondent's sessions; None if it is not counted."""
        return None

    def moved(self, state: State) -> Self:
        """The same walk at another state. The state is not saved."""
        return replace(self, state=state)

    def has_fired(self, block: Block) -> bool:
        """Whether an action block gave the respondent something."""
        return block.id in self.state.fired

    @cached_property
    def block(self) -> Block | None:
        """The current block as the script has it; None at the end."""
        return runner.current_block(self.script, self.state)

    @cached_property
    def step(self) -> Step | None:
        """The current step; None at the end."""
        block = self.block
        if block is None:
            return None
        further, seen = self.state.further, self.present(self.state, block, known=self._known)
        if further is not None:
            seen = follow_ups.shown(seen, further, now=self.at.timestamp(), escape=self.escape)
        return Step(
            block=seen,
            progress=runner.progress(self.script, self.state),
            can_go_back=self.can_go_back,
            reply=None if further else self.state.replies.get(block.id or 0),
            given=self.context.given.get(block.id or 0, 0),
            is_locked=self._is_locked(self.state),
            follow_up=further.number if further else 0,
            group="" if further or not block.group else self._group_in_words(block.group),
        )

    def _group_in_words(self, title: str) -> str:
        place = self.script.places_in_groups.get(self.state.at)
        if place is None:
            return title
        return f"{title} \N{MIDDLE DOT} {say('{n} of {all}', n=place[0], all=place[1])}"

    @property
    def asks_further(self) -> bool:
        """Whether a model may ask about what the respondent writes."""
        return admission.asks_further(self.project, self.script)

    @property
    def question_number(self) -> str:
        """“3 of 8” at the third question, or “3 of 5 to 8” while the number of questions depends on answers.

        At a text it is the number of the last question before; empty before the first question, and in a
        script without questions.
        """
        script, state = self.script, self.state
        passed = sum(1 for block_id in state.path if script.blocks[script.index_by_id[block_id]].asks)
        number = passed + (self.block is not None and self.block.asks)
        fewest, most = (passed + ahead for ahead in self._ahead)
        if not number:
            return ""
        if fewest == most:
            return say("{n} of {all}", n=number, all=most)
        return say("{n} of {fewest} to {most}", n=number, fewest=fewest, most=most)

    @property
    def may_be_last(self) -> bool:
        """Whether the current question may be the last one."""
        fewest, _ = self._ahead
        return fewest <= 1

    @cached_property
    def _ahead(self) -> tuple[int, int]:
        """The fewest and the most questions from the current step on."""
        return self._known.questions_ahead(self.state.at)

    @cached_property
    def _known(self) -> PathValues:
        """The values of names at this step. The text and the count of questions ahead share them."""
        return runner.path_values(self.script, self.state)

    @cached_property
    def feedback(self) -> str | None:
        """The feedback to a graded answer, in the view that the answer's own move returns."""
        return self.unfilled_feedback and self._filled(None, self.unfilled_feedback)

    @cached_property
    def outro(self) -> Sequence[Block]:
        """The outro as the respondent sees it: the thank-you, and actions that gave something."""
        if not self._is_over:
            return ()
        blocks = [block for block in self.script.outro if block.action_kind is None or self.has_fired(block)]
        shown = [self._without_links(self.present(self.state, block)) for block in blocks]
        if self.end is None or not self.end.message:
            return shown
        thanks = next((block for block in shown if block.type == "content_block"), _THANKS)
        others = (block for block in shown if block is not thanks)
        return [replace(thanks, prompt=self.end.message, description=None), *others]

    def _without_links(self, block: Block) -> Block:
        """A block of the outro whose links are words alone if another site would learn answers by who opens
        them (rule 1.182).
        """
        if not self.project.is_anonymous or not any(map(has_link, (block.prompt, block.description))):
            return block
        if not script_settings.depending(self.project, self.script).shown_at_end:
            return block
        prompt, description = (
            markup.escape(piping.BARE_ADDRESS.sub("", markup.plain(text)).rstrip())
            if has_link(text)
            else text
            for text in (block.prompt, block.description or "")
        )
        return replace(block, prompt=prompt, description=description or None)

    @cached_property
    def end(self) -> End | None:
        """The first of the project's `ends` whose expression is true, else its `end`; None before the end."""
        project = self.project
        if not self._is_over or not (project.end or project.ends):
            return None
        chosen = ends.chosen(project, self.script, self.state)
        if chosen is None:
            return None
        message, url = chosen.get("message") or "", chosen["url"] or ""
        return End(
            message=message and self._filled(None, message),
            url=url and self._filled_address(url),
            label=chosen["label"] or self._label_of_thanks or "Continue",
            redirects=bool(url) and chosen["redirect"],
        )

    @property
    def screens_out(self) -> bool:
        """Whether the end that this walk has reached screens out, by the project's present `ends`."""
        return self._is_over and ends.outcome(self.project, self.script, self.state) is not None

    @property
    def _label_of_thanks(self) -> str:
        """The words on the button below the script's thanks; empty for none."""
        labels = (block.continue_.label for block in self.script.outro if block.continue_)
        return next(filter(None, labels), "")

    @property
    def is_at_review(self) -> bool:
        """Whether all blocks are passed, and the respondent looks at the answers before the end."""
        return self.block is None and not self.is_completed

    def is_settled(self, block: Block) -> bool:
        """Whether a past block has a graded answer that cannot be changed."""
        step = self.state.path.index(block.id or 0)
        return self._is_locked(runner.state_at_step(self.script, self.state, step))

    def _is_locked(self, state: State) -> bool:
        if not (self.project.lock_graded_answers and self.script.shows_correctness):
            return False
        return runner.settled_reply(self.script, state) is not None

    @property
    def _is_over(self) -> bool:
        return self.block is None and self.is_completed

    @property
    def response_id(self) -> str:
        """The id of the response; empty if none is stored."""
        return ""

    def _filled_address(self, address: str) -> str:
        """An address with the values of its tokens, percent-encoded."""
        values = {"response_id": self.response_id, **tokens.values(self.context, None, [address])}
        filled = runner.fill(self.script, self.state, address, values, escape=piping.in_address)
        return iri_to_uri(filled).replace("[", "%5B").replace("]", "%5D")

    @property
    def thank_you(self) -> str | None:
        """The text of the closing words."""
        return None if self.thanks is None else self.thanks.prompt

    @property
    def thanks(self) -> Block | None:
        """The closing words as the respondent sees them; None before the end."""
        return next((block for block in self.outro if block.type == "content_block"), None)

    @property
    def earned_xp(self) -> int:
        """The XP that this walk has given so far; a deduction is negative."""
        return sum(self.context.given.values())

    @property
    def deferral(self) -> str:
        """A sentence that says when rewards are added; empty if they are added at once."""
        if not self.project.is_anonymous:
            return ""
        return say(_BY_TOMORROW if self.project.rounds_times_to_day else _WITHIN_AN_HOUR)

    @property
    def totals(self) -> Totals | None:
        """The respondent's totals in the community; None for respondents who are not members."""
        return self.context.totals

    def present(
        self,
        state: State,
        block: Block,
        *,
        given: Mapping[int, int] | None = None,
        known: PathValues | None = None,
    ) -> Block:
        """A block as the respondent sees it at any point of this walk.

        `given` is the XP given up to that point; None means up to now. `known` are the values of names at
        that point, if the caller has them.
        """
        texts = [block.prompt, block.description or ""]
        values = tokens.values(self.context, block, texts, given=given)
        return presentation.present(
            self.script, state, block, seed=self.seed, token_values=values, escape=self.escape, known=known
        )

    def pictures(self, *addresses: str | None) -> Mapping[str | None, Copy]:
        """Our copies of pictures, by the addresses that authors wrote. Pages show only copies (rule 7.15)."""
        return copies.in_community(self.project.community_id, addresses) if any(addresses) else {}

    def texts_ahead(self) -> Iterator[Block]:
        """The texts from the current step to the next question. After a vote they are shown together."""
        state, block = self.state, self.block
        while block is not None and not block.asks:
            yield self.present(state, block)
            turn = runner.proceed(self.script, state)
            state, block = turn.state, turn.show

    @property
    def past_count(self) -> int:
        """The number of past steps. A question counts as past while a further question about it is shown."""
        return len(self.state.path) + (self.state.further is not None)

    def history(self, first: int = 0, end: int | None = None) -> list[Exchange]:
        """The past steps, oldest first: all, or the steps from `first` to before `end`, counted from 0."""
        return [self.exchange(step) for step in range(self.past_count)[first:end]]

    def latest(self) -> Exchange | None:
        """The step that the respondent left last."""
        return self.exchange(len(self.state.path) - 1) if self.state.path else None

    def last_feedback(self) -> str | None:
        """The feedback to the latest answer, for pages that are loaded again later."""
        if self.feedback or not self.state.path or self.state.further is not None:
            return self.feedback
        block = self._block(self.state.path[-1])
        reply = self.state.replies.get(block.id or 0)
        text = runner.feedback(self.script, block, reply) if reply else None
        return text and self._filled(block, text)

    def _block(self, block_id: int) -> Block:
        return self.script.blocks[self.script.index_by_id[block_id]]

    def exchange(self, step: int) -> Exchange:
        """The past step with this number, from 0. Reading several steps is fastest in their order."""
        if step == len(self.state.path):
            block, then, known = self.script.blocks[self.state.at], self.state, self._known
        else:
            block = self._block(self.state.path[step])
            then, known = self._past.before(step)
        reply = self.state.replies.get(block.id or 0)
        shown = self.present(then, block, given=self._given_up_to(block), known=known)
        return Exchange(shown, reply, answers.display_text(block, reply), follow_ups.of(reply))

    @cached_property
    def _past(self) -> PastSteps:
        return PastSteps(self.script, self.state)

    def _given_up_to(self, block: Block) -> Mapping[int, int]:
        """The XP given by actions up to a block, by block id."""
        given = self.context.given
        if not given:
            return given
        index = self.script.index_by_id
        position = index[block.id or 0]
        return {
            block_id: xp for block_id, xp in given.items() if index.get(block_id, position + 1) <= position
        }

    def _filled(self, block: Block | None, text: str) -> str:
        values = tokens.values(self.context, block, [text])
        return runner.fill(self.script, self.state, text, values, escape=self.escape)


@dataclass(frozen=True, kw_only=True)
class ConversationView(WalkView):
    """A conversation after a move. `resumed` says that the conversation had begun earlier."""

    loaded: LoadedConversation
    resumed: bool = False

    @property
    def conversation(self) -> Conversation:
        return self.loaded.conversation

    @cached_property
    def context(self) -> TokenContext:
        return tokens.for_conversation(self.loaded, at=self.at)

    @property
    def is_completed(self) -> bool:
        return self.loaded.is_completed

    @property
    def response_id(self) -> str:
        return str(self.conversation.pk)

    @property
    def is_open(self) -> bool:
        return self.project.is_live_at(self.at)

    @property
    def can_go_back(self) -> bool:
        return self.loaded.can_go_back_at(self.at)

    @property
    def session_number(self) -> int | None:
        return self.conversation.session_number


@dataclass(frozen=True, kw_only=True)
class VisitorView(WalkView):
    """The first step for a visitor who has not begun. Nothing about the visit is stored."""

    respondent: Respondent

    @cached_property
    def context(self) -> TokenContext:
        return tokens.for_visitor(self.project, self.script, self.state, self.respondent, at=self.at)

    def has_fired(self, block: Block) -> bool:
        """Whether the block will give the visitor something after they begin."""
        return self.respondent.is_member


def of_conversation(
    loaded: LoadedConversation, at: datetime, *, feedback: str | None = None, resumed: bool = False
) -> ConversationView:
    """The view of a conversation. `feedback` is that of the latest answer, with its tokens not filled in."""
    return ConversationView(
        project=loaded.project,
        script=loaded.script,
        state=loaded.state,
        seed=loaded.conversation.seed,
        unfilled_feedback=feedback,
        loaded=loaded,
        at=at,
        resumed=resumed,
    )


def of_visitor(
    *, project: Project, respondent: Respondent, seed: int, at: datetime, ahead: Prefill = NOTHING
) -> VisitorView:
    """The first step of a project for a visitor, after the questions that are answered `ahead`.

    Their conversation begins with the same `seed`.
    """
    script = script_cache.script_of(project)
    first = runner.begin(script, fields=metadata.allowed(project, respondent.metadata)).state
    return VisitorView(
        project=project,
        script=script,
        state=prefill.passed(script, first, ahead),
        seed=seed,
        respondent=respondent,
        at=at,
    )
