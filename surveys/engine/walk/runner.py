"""The walk through a script: from a state and an answer to the next state and the next block.

The walk goes forward one block at a time. The condition of a block reads only the answers to the blocks on
the path before it, so a walk with steps back ends like a straight walk with the final answers. After a step
back, later answers are kept, and their questions show them again. For conditions and prompts they count only
after their block has been passed again. For readers of the response they count as long as the other answers
do not hide their block (rule 6.29).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from communities.ground.sent_text import composed
from surveys.engine.language import formulas, names, piping
from surveys.engine.language.lexer import MAX_LENGTH
from surveys.engine.language.names import COUNTS
from surveys.engine.language.values import Value, number_text
from surveys.engine.script import CALCULATED, SCALES, Block, Script
from surveys.engine.walk import answers, follow_ups, scoring
from surveys.engine.walk.answers import MAX_TEXT, Reply
from surveys.engine.walk.follow_ups import Further
from surveys.engine.walk.path_values import PathValues

# The parts of replies that a state stores beside the answers.
_PARTS = frozenset({follow_ups.KEY, answers.OTHER})


@dataclass(frozen=True, slots=True)
class State:
    """The state of a conversation.

    `at` is the index of the current block, or the number of blocks at the end. `path` are the ids of the
    blocks shown before the current one, in order. `replies` are by block id and may include blocks that are
    not on the path. `left` are the replies that do not count, because other answers hide their blocks
    (`counting`). `results` are the results of the calculated blocks before the current one, in the form of
    replies. `fired` are the actions that ran, with the XP that each gave; they stay after a step back.
    `fields` are the fields that the conversation began with, by key. `display_name` is the respondent's name.
    `earns` is false for an imported response that gives its respondent nothing. `further` is the further
    question about the answer to the current block, and `asked` is the number of further questions requested
    so far. `aside` are the further questions that a step back left unanswered or unwritten, by block id; none
    of these blocks is on the path. Only the one that was requested last can be unwritten.
    `left_out` are blocks that were added before the furthest place (`realign`).
    `consent` is the text that the respondent agreed to, and the moment (`at`). `reviewed` are the ids of the
    blocks that were passed, while one of their answers is changed from the review at the end.
    """

    at: int = 0
    path: tuple[int, ...] = ()
    replies: Mapping[int, Reply] = field(default_factory=dict)
    left: frozenset[int] = frozenset()
    results: Mapping[int, Reply] = field(default_factory=dict)
    fired: Mapping[int, int] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    display_name: str = ""
    earns: bool = True
    further: Further | None = None
    asked: int = 0
    aside: Mapping[int, Further] = field(default_factory=dict)
    consent: Mapping[str, str] = field(default_factory=dict)
    language: str = ""
    left_out: frozenset[int] = frozenset()
    reviewed: tuple[int, ...] = ()

    @property
    def place(self) -> int:
        """A number that differs between this step and those around it, further questions included."""
        return len(self.path) + (self.further.place if self.further else 0)

    @property
    def counted(self) -> Mapping[int, Reply]:
        """The replies that count."""
        if not self.left:
            return self.replies
        return {block_id: reply for block_id, reply in self.replies.items() if block_id not in self.left}

    def aside_without(self, block_id: int) -> Mapping[int, Further]:
        """`aside` without the further question of one block."""
        return {key: further for key, further in self.aside.items() if key != block_id}

    @property
    def unwritten(self) -> Further | None:
        """The further question that is being written."""
        wanted = (self.further, *self.aside.values())
        return next((each for each in wanted if each is not None and each.question is None), None)

    def as_json(self) -> dict[str, object]:
        """The state as JSON. `answers` has only the replies that count, `left` has the others.

        Further questions about answers are in the key `follow_ups`, and texts for options in `other`, where
        SQL reads them.
        """
        counted = self.counted
        raw: dict[str, object] = {
            "at": self.at,
            "path": list(self.path),
            "answers": {str(k): _without_parts(v) for k, v in counted.items()},
        }
        for key in _PARTS:
            if parts := {str(k): v[key] for k, v in counted.items() if key in v}:
                raw[key] = parts
        if self.left:
            raw["left"] = {str(k): v for k, v in self.replies.items() if k in self.left}
        if self.results:
            raw["results"] = {str(k): v for k, v in self.results.items()}
        if self.fired:
            raw["fired"] = {str(k): v for k, v in self.fired.items()}
        if self.fields:
            raw["fields"] = dict(self.fields)
        if self.display_name:
            raw["display_name"] = self.display_name
        if not self.earns:
            raw["earns"] = False
        if self.further is not None:
            raw["further"] = self.further.as_json()
        if self.asked:
            raw["asked"] = self.asked
        if self.left_out:
            raw["left_out"] = sorted(self.left_out)
        if self.aside:
            raw["aside"] = {str(k): v.as_json() for k, v in self.aside.items()}
        if self.consent:
            raw["consent"] = dict(self.consent)
        if self.language:
            raw["language"] = self.language
        if self.reviewed:
            raw["reviewed"] = list(self.reviewed)
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> State:
        path = raw.get("path") or []
        assert isinstance(path, list)
        left = _by_id(raw.get("left"))
        counted = _by_id(raw.get("answers"))
        for key in _PARTS:
            for block_id, part in _by_id(raw.get(key)).items():
                counted[block_id] = {**counted[block_id], key: part}
        further = raw.get("further")
        return cls(
            at=int(str(raw.get("at", 0))),
            path=tuple(path),
            replies={**counted, **left},
            left=frozenset(left),
            results=_by_id(raw.get("results")),
            fired=_by_id(raw.get("fired")),
            fields=_texts(raw.get("fields")),
            display_name=str(raw.get("display_name", "")),
            earns=raw.get("earns", True) is True,
            further=Further.from_json(further) if isinstance(further, dict) else None,
            asked=int(str(raw.get("asked", 0))),
            left_out=frozenset(_ids(raw.get("left_out"))),
            aside={k: Further.from_json(v) for k, v in _by_id(raw.get("aside")).items()},
            consent=_texts(raw.get("consent")),
            language=str(raw.get("language", "")),
            reviewed=_ids(raw.get("reviewed")),
        )


def _without_parts(reply: Reply) -> Reply:
    """The reply without the parts that a state stores beside the answers."""
    if _PARTS.isdisjoint(reply):
        return reply
    return {key: value for key, value in reply.items() if key not in _PARTS}


def _by_id(raw: object) -> dict[int, Any]:
    """The map with integer keys; the keys of JSON are texts."""
    if not raw:
        return {}
    assert isinstance(raw, dict)
    return {int(block_id): value for block_id, value in raw.items()}


def _ids(raw: object) -> tuple[int, ...]:
    return tuple(raw) if isinstance(raw, list) else ()


def _texts(raw: object) -> Mapping[str, str]:
    return raw if isinstance(raw, dict) else {}


@dataclass(frozen=True, slots=True)
class Turn:
    """The result of one move. `show` is None at the end.

    `completes` is true for the move that ends the conversation: reaching the end, or a vote in a poll.
    `feedback` is the text for a graded answer, with tokens not yet filled in.
    """

    state: State
    show: Block | None
    completes: bool = False
    feedback: str | None = None


class Walk:
    """Moves forward from a state, one after the other. The moves share values and scores."""

    def __init__(self, script: Script, state: State) -> None:
        self.script = script
        self.state = state
        self._known = path_values(script, state)

    def forward(self) -> Turn:
        """Pass hidden and calculated blocks, and stop at the first block that the respondent sees."""
        return self._forward(self.state.at)

    def _forward(self, at: int, **passed: Any) -> Turn:
        """The same from block `at` on. `passed` are changes of the state by the blocks before `at`."""
        script, known = self.script, self._known
        known.results = results = results_before(script, self.state, at)
        for index in range(at, len(script.blocks)):
            block = script.blocks[index]
            if known.hides(block):
                continue
            if block.type != CALCULATED:
                self.state = replace(self.state, at=index, results=results, further=None, **passed)
                return Turn(self.state, show=block)
            calculate(block, results, known)
        self.state = replace(self.state, at=len(script.blocks), results=results, further=None, **passed)
        return Turn(self.state, show=None, completes=True)

    def answer(self, reply: Reply) -> Turn:
        """Take the reply to the current block, which must be a question, and proceed to the next block."""
        block = self.script.blocks[self.state.at]
        assert block.id is not None
        turn = self._leave(block, {**self.state.replies, block.id: reply})
        return Turn(
            turn.state,
            turn.show,
            completes=turn.completes or self.script.is_poll,
            feedback=feedback(self.script, block, reply),
        )

    def proceed(self) -> Turn:
        """Leave the current block and proceed to the next block that is shown."""
        return self._leave(self.script.blocks[self.state.at], self.state.replies)

    def leave_out(self) -> Turn:
        """Proceed to the next block that is shown, as if the current one were not in the script."""
        return self._forward(self.state.at + 1)

    def _leave(self, block: Block, replies: Mapping[int, Reply]) -> Turn:
        """Leave the current block with these replies: one copy of the state for the whole move."""
        assert block.id is not None
        self._known.pass_block(block.id, replies.get(block.id))
        path = (*self.state.path, block.id)
        aside = self.state.aside_without(block.id)
        return self._forward(self.state.at + 1, path=path, replies=replies, aside=aside)


def begin(
    script: Script, *, fields: Mapping[str, str] | None = None, display_name: str = "", language: str = ""
) -> Turn:
    """The first turn of a conversation, with the fields and the name that were sent with the request."""
    return Walk(script, State(fields=fields or {}, display_name=display_name, language=language)).forward()


def current_block(script: Script, state: State) -> Block | None:
    """The block that the respondent sees, or None at the end."""
    return script.blocks[state.at] if state.at < len(script.blocks) else None


def answer(script: Script, state: State, reply: Reply) -> Turn:
    """Take the reply to the current block, which must be a question, and proceed to the next one shown."""
    return Walk(script, state).answer(reply)


def proceed(script: Script, state: State) -> Turn:
    """Leave the current block, which asks nothing, and proceed to the next one shown."""
    return Walk(script, state).proceed()


def asks_no_more(script: Script, state: State) -> bool:
    """Whether no question is left once the current block is left with its reply."""
    turn = proceed(script, state)
    while turn.show is not None and not turn.show.asks:
        turn = proceed(script, turn.state)
    return turn.show is None


def back(script: Script, state: State) -> Turn:
    """Go back to the previous block that was shown, or from a further question to the question itself.

    The further question is kept for the same answer. Raises LookupError at the first step.
    """
    if not can_go_back(state):
        raise LookupError("This is the first step.")
    if (further := state.further) is not None:
        aside = {**state.aside, further.block_id: further}
        return Turn(replace(state, further=None, aside=aside), show=script.blocks[state.at])
    previous = state_at_step(script, state, len(state.path) - 1)
    return Turn(previous, show=script.blocks[previous.at])


def revisit(script: Script, state: State, block_id: int) -> Turn:
    """From the end of the walk back to one of its blocks, to change an answer. `to_review` leads on."""
    before = state_at_step(script, state, state.path.index(block_id))
    return Turn(replace(before, reviewed=state.path), show=script.blocks[before.at])


def to_review(script: Script, state: State) -> Turn | None:
    """Past the blocks that were passed before an answer was changed, up to the first that is new or does not
    fit. None if the walk stays where it is.
    """
    walk, last = Walk(script, state), None
    block = current_block(script, state)
    while block is not None and block.id in state.reviewed:
        reply = state.replies.get(block.id or 0)
        if not block.asks:
            last = walk.proceed()
        elif reply is not None and answers.fits(block, reply):
            last = walk.answer(reply)
        else:
            break
        block = last.show
    return last


def can_go_back(state: State) -> bool:
    """Whether a block was shown before the current step."""
    return bool(state.path) or state.further is not None


def state_at_step(script: Script, state: State, step: int) -> State:
    """The state when the `step`-th block of the path was shown, counted from 0."""
    at = script.index_by_id[state.path[step]]
    results = results_before(script, state, at)
    return replace(state, at=at, path=state.path[:step], results=results, further=None)


class PastSteps:
    """The past steps of a walk. Reading them in order is fastest: each value is found only once."""

    def __init__(self, script: Script, state: State) -> None:
        self.script, self.state = script, state
        self._step = self._at = 0
        self._known: PathValues | None = None

    def before(self, step: int) -> tuple[State, PathValues]:
        """The state when the `step`-th block was shown, counted from 0, and the values at that point.

        The values are valid until the next call.
        """
        then = state_at_step(self.script, self.state, step)
        known = self._known
        if known is None or step < self._step or then.at < self._at:  # the script may have been reordered
            self._known = known = path_values(self.script, then)
        else:
            for block_id in self.state.path[self._step : step]:
                known.pass_block(block_id, self.state.replies.get(block_id))
            known.results = then.results
        self._step, self._at = step, then.at
        return then, known


def realign(script: Script, state: State) -> State:
    """The state of an unfinished conversation after a change of the script, never further than before.

    The walk repeats with the stored replies, up to the first block that was not passed before or whose reply
    no longer fits. Blocks that were added before the furthest place are left out (rule 2.20). Replies to
    removed blocks are kept, and so is an open further question of that block.
    """
    passed = frozenset(state.path)
    furthest = max((script.index_by_id.get(block_id, -1) for block_id in passed), default=-1)
    newest, left_out = max(passed, default=0), set(state.left_out)
    walk = Walk(script, replace(state, at=0, path=()))
    turn = walk.forward()
    while (shown := turn.show) is not None:
        block_id = shown.id or 0
        if block_id not in passed:
            # Ids rise, so a block with a higher id than all passed blocks was added after they were passed.
            if turn.state.at > furthest or (block_id < newest and block_id not in left_out):
                break
            left_out.add(block_id)
            turn = walk.leave_out()
        elif shown.asks:
            reply = state.replies.get(block_id)
            if reply is None or not answers.fits(shown, reply):
                break
            turn = walk.answer(reply)
        else:
            turn = walk.proceed()
    return replace(turn.state, further=_further_at(turn.show, state), left_out=frozenset(left_out))


def _further_at(block: Block | None, before: State) -> Further | None:
    """The further question of the earlier state, if it is about the answer to this block."""
    further = before.further
    if further is None or block is None or block.id != further.block_id or not block.follow_ups:
        return None
    return further if answers.fits(block, before.replies[further.block_id]) else None


def ended(script: Script, turn: Turn) -> Turn:
    """The turn with the end in place of the next block."""
    state = replace(turn.state, at=len(script.blocks), further=None, aside={})
    return replace(turn, state=state, show=None, completes=True)


def completed_state(script: Script, state: State) -> State:
    """The state of a completed conversation after a change of the script. Added blocks are not asked."""
    path = tuple(block_id for block_id in state.path if block_id in script.index_by_id)
    at = len(script.blocks)
    return replace(state, at=at, path=path, results=results_before(script, state, at), further=None)


def latest_reply(script: Script, state: State) -> tuple[Block, Reply] | None:
    """The question passed last, with its reply, which may be a skip."""
    for block_id in reversed(state.path):
        block, reply = script.blocks[script.index_by_id[block_id]], state.replies.get(block_id)
        if block.asks and reply is not None:  # no reply if the block was no question at that time
            return block, reply
    return None


def feedback(script: Script, block: Block, reply: Reply) -> str | None:
    """The feedback to a graded answer, with tokens not yet filled in; None if there is none."""
    if not script.scoring_enabled:
        return None
    match answers.is_correct(block, reply):
        case True:
            return block.when_correct
        case False:
            return block.when_incorrect
    return None


def settled_reply(script: Script, state: State) -> Reply | None:
    """The answer to the current block, if the respondent has seen whether it is right; None otherwise.

    Such an answer cannot be changed (rule 5.15). A block with only one feedback text shows the result too: by
    the absence of the text.
    """
    block = current_block(script, state)
    if block is None or not script.shows_correctness or not (block.when_correct or block.when_incorrect):
        return None
    reply = state.replies.get(block.id or 0)
    if reply is None or answers.is_correct(block, reply) is None:
        return None
    return reply if answers.fits(block, reply) else None


def progress(script: Script, state: State) -> float:
    """The progress through the script from 0 to 1, counted in blocks."""
    return round(state.at / len(script.blocks), 4) if script.blocks else 1.0


def answers_on_path(script: Script, state: State) -> Iterator[tuple[Block, Reply]]:
    """The answered blocks on the path with their replies, in script order."""
    for block_id in state.path:
        reply = state.replies.get(block_id)
        if reply is not None and answers.is_answer(reply):
            yield script.blocks[script.index_by_id[block_id]], reply


def values(script: Script, state: State) -> Callable[[str], Value]:
    """A function from the names in expressions to their values at this point of the walk.

    Calculated results are rounded to the digits with which formulas compare.
    """
    return path_values(script, state).value


def path_values(script: Script, state: State) -> PathValues:
    """The values at this point of the walk. Later results are added to the same `results`."""
    return PathValues(
        script, path=state.path, replies=state.replies, results=state.results, fields=state.fields
    )


def score_variables(script: Script, state: State) -> Mapping[str, Decimal]:
    """The score variables over the blocks shown so far (rule 5.10)."""
    blocks = (script.blocks[script.index_by_id[block_id]] for block_id in state.path)
    return scoring.variables(script, ((block, state.replies.get(block.id or 0)) for block in blocks))


def fill(
    script: Script,
    state: State,
    text: str,
    token_values: Mapping[str, str],
    *,
    escape: Callable[[str], str] | None = None,
    known: PathValues | None = None,
) -> str:
    """A prompt or feedback with its tokens filled in, within the limits of `piping.fill`.

    `token_values` are the values that the engine does not know, by lower-case token (`username`). An unknown
    token stays as written; the token of an unanswered block is empty (rules 4.28 and 4.30). Score tokens
    also stay if scoring was enabled after the script was written (rule 5.1). `escape` escapes each value in a
    text that is markup. `known` are the values of this state, if the caller has them.
    """
    if "[" not in text:
        return piping.Authored(text)
    if known is None:
        known = path_values(script, state)

    def text_of(token: str) -> str | None:
        if (special := token_values.get(token.lower())) is not None:
            return special
        meaning = known.meaning(token)
        if isinstance(meaning, int):
            block = script.blocks[meaning]
            if block.type == CALCULATED:
                return _display_text(known.value(token))
            return _inserted(block, known.reply_on_path(meaning), is_markup=escape is not None)
        if meaning == "answer":
            return _inserted(*known.latest, is_markup=escape is not None) if known.latest else ""
        if meaning is not None and (key := names.field_key(meaning)) is not None:
            return state.fields.get(key, "")
        if meaning is None or not (script.is_scored or meaning in COUNTS):
            return None
        return _display_text(known.value(meaning))

    return piping.fill(text, text_of, escape=escape)


def _inserted(block: Block, reply: Reply | None, *, is_markup: bool) -> str:
    """The text that a token inserts for a reply, marked if the author wrote it and not the respondent.

    A point of a scale without a label is its number in plain text, which programs read (rule 4.34).
    """
    text = answers.display_text(block, reply)
    if block.type in SCALES and reply is not None and "number" in reply:
        number = str(reply["number"])
        label = next((each.label for each in block.options if each.value == number), None)
        return piping.Point(text if is_markup else label or number, number)
    is_written = reply is None or "text" in reply or answers.OTHER in reply
    return text if is_written else piping.Authored(text)


def calculate(block: Block, results: dict[int, Reply], known: PathValues) -> None:
    """Add the result of a calculated block. A block without a formula, as in some copies, has no result."""
    if block.calculated_formula:
        results[block.id or 0] = _calculated(block.calculated_formula, known, results)


def results_before(script: Script, state: State, at: int) -> dict[int, Reply]:
    """The results of calculated blocks before an index; later ones are calculated again."""
    index = script.index_by_id
    return {block_id: result for block_id, result in state.results.items() if index.get(block_id, at) < at}


def _calculated(formula: str, known: PathValues, others: Mapping[int, Reply]) -> Reply:
    """The result of a formula at this point, in the form of a reply.

    A text result is no longer than a formula, and all text results together no longer than an answer
    (rule 4.33): many blocks may copy one long answer, and state, responses and events contain every copy.
    """
    result = formulas.parse(formula).evaluate(known.exact, known.label)
    if isinstance(result, str):
        taken = sum(len(str(other.get("text", ""))) for other in others.values())
        room = max(0, min(MAX_LENGTH, MAX_TEXT - taken))
        return {"text": piping.shortened(composed(result), room) if room else ""}
    return {"number": format(result, "f")}


def _display_text(value: Value) -> str:
    """A calculated value or a score as people read it; empty if there is no value."""
    return number_text(value) if isinstance(value, Decimal) else str(value or "")
