"""One move costs what its script and its answers cost together, not their product. Work is counted."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surveys.engine.language import expressions, values
from surveys.engine.language.lexer import MAX_LENGTH
from surveys.engine.rules import logic as rules
from surveys.engine.script import CALCULATED, Bucket, Script
from surveys.engine.walk import answers, counting, prefill, runner, scoring
from surveys.engine.walk.prefill import Prefill
from surveys.engine.walk.replay import GivenAnswer, replay
from tests.support.effort import examples
from tests.support.engine import script_builder
from tests.support.engine.random_scripts import replies, scripts
from tests.support.engine.violations import faults

BLOCKS = 20
CHOICES = [f"{n}.0" for n in range(100)]

TEXT = {"type": "open_text", "name": "T"}
CHOICE = {"type": "multi_punch", "name": "Q", "options": CHOICES}
ACCENTS = {"value": "x\u0316\u0301" * 3_300}
DIGITS = {"value": "9" * answers.MAX_TEXT}
ALL = {"option_ids": [10 + n for n in range(100)]}


def many(item: str, join: str, *, head: str = "", tail: str = "") -> str:
    """An item, repeated up to the limit of a condition or a formula."""
    return head + join.join([item] * ((MAX_LENGTH - len(head + tail)) // len(item + join))) + tail


def hiding(item: str, *, name: str = "T") -> str:
    return many(item, " OR ", tail=f' OR {name}!="z"')


def choosing(item: str) -> str:
    return many(item, " or ", head="if ", tail=" then 1 else 2")


class Work:
    """The characters that were normalised and read as numbers, and the functions that were called."""

    def __init__(self) -> None:
        self.characters = self.calls = 0

    def reading(self, function: Callable[[str], Any]) -> Callable[[str], Any]:
        def counted(text: str) -> Any:
            self.characters += len(text)
            return function(text)

        return counted

    def profile(self, frame: object, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")


@contextmanager
def counted_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    work = Work()
    with monkeypatch.context() as patch:
        for name in ("sent_text", "composed", "_PLAIN_NUMBER"):
            patch.setattr(values, name, work.reading(getattr(values, name)))
        before = sys.getprofile()
        sys.setprofile(work.profile)
        try:
            yield work
        finally:
            sys.setprofile(before)


@pytest.mark.parametrize(
    ("question", "raw", "kind", "text"),
    [
        (TEXT, ACCENTS, "condition", many('"b"', ",", head="T in [", tail='] OR T!="z"')),
        (TEXT, ACCENTS, "condition", hiding('T="b"')),
        (TEXT, ACCENTS, "condition", hiding('"b" in T')),
        (TEXT, DIGITS, "condition", hiding("T=1")),
        (TEXT, DIGITS, "condition", hiding("T<1")),
        (TEXT, DIGITS, "condition", hiding("answer=1")),
        (CHOICE, ALL, "condition", many('"b"', ",", head="Q in [", tail='] OR Q!="z"')),
        (CHOICE, ALL, "condition", hiding('"b" in Q', name="Q")),
        (CHOICE, ALL, "condition", hiding("Q!=Q", name="Q")),
        (TEXT, DIGITS, "formula", many("[T]", "+")),
        (TEXT, DIGITS, "formula", many("[T]*[T]", "+")),
        (TEXT, ACCENTS, "formula", choosing('[T]=="b"')),
        (TEXT, ACCENTS, "formula", choosing('(if 1 then [T] else 0)=="b"')),
        (TEXT, DIGITS, "formula", choosing("argmax([T])==1")),
        (CHOICE, ALL, "formula", choosing('(if 1 then [Q] else 0)=="b"')),
    ],
    ids=lambda each: each[:20] if isinstance(each, str) else "",
)
def test_a_move_reads_and_normalises_an_answer_once(monkeypatch, question, raw, kind, text):
    logic = {"type": "content_block", "precondition": text}
    if kind == "formula":
        logic = {"type": "calculated_block", "calculated_formula": text}
    buckets = tuple(Bucket(f"b{n}") for n in range(100))
    script = script_builder.script(question, *[logic] * BLOCKS, buckets=buckets, scoring_enabled=True)
    state = runner.begin(script).state
    reply = answers.parse(script.blocks[0], raw)
    runner.answer(script, state, reply)  # parses, once for all walks

    with counted_work(monkeypatch) as work:
        turn = runner.answer(script, state, reply)

    assert turn.show is None
    assert len(turn.state.results) == (BLOCKS if kind == "formula" else 0)
    length = len(str(reply.get("text", "".join(CHOICES))))
    assert len(text) > MAX_LENGTH - 100
    assert work.characters <= 5 * length + BLOCKS * len(text)
    assert work.calls <= 10 * length + 3 * BLOCKS * len(text)


class Searched(str):
    """A text that counts the characters compared in searches, at the worst case of each search."""

    __slots__ = ()
    compared = 0

    def __contains__(self, part: object, /) -> bool:
        Searched.compared += len(str(part)) * len(self)
        return super().__contains__(str(part))


LONGEST = f"{'a' * 49}b{'a' * 49}"


@pytest.mark.parametrize(
    "searching",
    ['"ab" in T', f'"{LONGEST}" in T', f'["{LONGEST}", "ab"] in T', "Q in T", f'Q in "{"a" * 1_900}"'],
    ids=["short", "long", "several", "options", "options in a text"],
)
def test_the_largest_script_compares_no_more_characters_than_its_limit(monkeypatch, searching):
    options = [{"value": f"{LONGEST[3:]}{n:03}"} for n in range(100)]
    asked: list[dict[str, Any]] = [{**CHOICE, "options": options, "prompt": "?"}, {**TEXT, "prompt": "?"}]
    is_long = searching == "Q in T" or len(searching) > 1_000
    text = f'{searching} OR T!="z"' if is_long else many(searching, " OR ", tail=' OR T!="z"')
    logic = {"type": "content_block", "prompt": "!", "precondition": text}
    fitting = bisect_left(range(190), True, key=lambda n: bool(faults([*asked, *[logic] * n]))) - 1
    script = script_builder.script(*asked, *[logic] * fitting)
    state = runner.answer(script, runner.begin(script).state, answers.parse(script.blocks[0], ALL)).state
    monkeypatch.setattr(values, "composed", Searched)
    monkeypatch.setattr(Searched, "compared", 0)
    expressions.parse.cache_clear()

    turn = runner.answer(script, state, {"text": "a" * answers.MAX_TEXT})
    while turn.show is not None:
        turn = runner.proceed(script, turn.state)

    assert turn.completes
    assert 0 < Searched.compared <= rules.MAX_SEARCHED * answers.MAX_TEXT


# --- Scores ---------------------------------------------------------------------------------------


def scored_script(count: int) -> tuple[Script, dict[int, answers.Reply]]:
    """Questions that score, with conditions on the score, and an answer to each of them."""
    asked = {
        "type": "single_punch",
        "options": [{"value": "a", "score_values": {"fire": Decimal(1)}}, "b"],
        "precondition": "score_fire < 0",
    }
    script = script_builder.script(
        *[{**asked, "name": f"B{n}"} for n in range(count)],
        buckets=(Bucket("Fire"),),
        scoring_enabled=True,
    )
    return script, {block.id: {"option_ids": [block.options[0].id]} for block in script.blocks}


def look_ahead(script: Script, given: dict[int, answers.Reply]) -> tuple[int, ...]:
    return counting.looked_ahead(script, runner.State(replies=given)).path


def realign(script: Script, given: dict[int, answers.Reply]) -> tuple[int, ...]:
    state = runner.State(at=len(script.blocks), path=tuple(given), replies=given)
    return runner.realign(script, state).path


def skip(script: Script, given: dict[int, answers.Reply]) -> tuple[int, ...]:
    ahead = Prefill({block_id: ["a"] for block_id in given}, skips=True)
    state = prefill.passed(script, runner.begin(script).state, ahead)
    return (*state.path, script.blocks[state.at].id or 0)  # only the respondent ends it


def import_completed(script: Script, given: dict[int, answers.Reply]) -> tuple[int, ...]:
    rows = [GivenAnswer(block_id=block_id, value="a") for block_id in given]
    return replay(script, rows, is_completed=True, fields={})[0].state.path


def import_partial(script: Script, given: dict[int, answers.Reply]) -> tuple[int, ...]:
    rows = [GivenAnswer(block_id=block_id, value="a") for block_id in given]
    state = replay(script, rows, is_completed=False, fields={})[0].state
    return (*state.path, script.blocks[state.at].id or 0)


def look_back(script: Script, given: dict[int, answers.Reply]) -> tuple[int, ...]:
    state = runner.State(at=len(script.blocks), path=tuple(given), replies=given)
    past = runner.PastSteps(script, state)
    for step in range(len(given)):
        then, known = past.before(step)
        assert runner.fill(script, then, "[score_fire]", {}, known=known) == str(step)
    return tuple(given)


@pytest.mark.parametrize("pass_all", [look_ahead, realign, skip, import_completed, import_partial, look_back])
def test_a_walk_over_many_blocks_adds_the_points_of_each_block_once(monkeypatch, pass_all):
    count, added = 30, list[int]()
    script, given = scored_script(count)
    plain = scoring.Sums.add

    def add(self, block, reply):
        added.append(block.id)
        plain(self, block, reply)

    monkeypatch.setattr(scoring.Sums, "add", add)

    passed = pass_all(script, given)

    assert passed == tuple(given)
    assert count - 1 <= len(added) <= 2 * count


def plainly_looked_ahead(script: Script, state: runner.State) -> runner.State:
    """The definition: at each block, the values are those of the path up to there."""
    index = script.index_by_id
    ahead = [index[each] for each in state.replies if each in index and each not in state.path]
    end = max(ahead, default=-1) + 1
    if end <= state.at:
        return state
    state = replace(state, results=runner.results_before(script, state, state.at))
    for block in script.blocks[state.at : end]:
        reply = state.replies.get(block.id or 0)
        known = runner.path_values(script, state)
        if known.hides(block):
            continue
        if block.type == CALCULATED:
            results = dict(state.results)
            runner.calculate(block, results, known)
            state = replace(state, results=results)
        elif reply is not None and (block.id not in state.left or answers.fits(block, reply)):
            state = replace(state, path=(*state.path, block.id or 0))
    return replace(state, at=end)


@settings(
    max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(script=scripts(), data=st.data())
def test_running_sums_look_ahead_like_the_definition(script, data):
    state = runner.begin(script).state
    for _ in range(data.draw(st.integers(0, 15))):
        block = runner.current_block(script, state)
        if runner.can_go_back(state) and (block is None or data.draw(st.booleans())):
            state = runner.back(script, state).state
        elif block is not None and block.asks:
            state = runner.answer(script, state, data.draw(replies(block))).state
        elif block is not None:
            state = runner.proceed(script, state).state

        assert counting.looked_ahead(script, state) == plainly_looked_ahead(script, state)
        state = counting.settled(script, state)
        assert scoring_by_definition(script, state) == runner.score_variables(script, state)


@settings(
    max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(script=scripts(), data=st.data())
def test_past_steps_have_the_values_of_their_own_state(script, data):
    state = runner.begin(script).state
    while (block := runner.current_block(script, state)) is not None:
        reply = data.draw(replies(block)) if block.asks else None
        turn = runner.proceed(script, state) if reply is None else runner.answer(script, state, reply)
        state = turn.state
    if data.draw(st.booleans()):  # as of a response from before the blocks were moved
        state = replace(state, path=tuple(data.draw(st.permutations(state.path))))
    past = runner.PastSteps(script, state)
    names = ["answer", "score", *(f"q{n + 1}" for n in range(len(script.blocks)))]

    steps = range(len(state.path))
    for step in [*steps, *data.draw(st.permutations(steps))]:
        then, known = past.before(step)

        assert then == runner.state_at_step(script, state, step)
        plain = runner.path_values(script, then)
        assert [known.value(name) for name in names] == [plain.value(name) for name in names]
        assert known.latest == plain.latest


def scoring_by_definition(script: Script, state: runner.State) -> dict[str, Decimal]:
    """Every variable as rules 5.6, 5.7, 5.9 and 5.10 define it, each by itself."""
    passed = [(script.blocks[script.index_by_id[each]], state.replies.get(each)) for each in state.path]
    graded = [(block, reply) for block, reply in passed if answers.is_graded(block)]
    right = [(block, reply) for block, reply in graded if reply and answers.is_correct(block, reply)]

    def earned(blocks: Any, key: str) -> Decimal:
        return sum(
            (
                (option.score_values or {}).get(key, Decimal(0))
                for block, reply in blocks
                if reply
                for option in answers.chosen_options(block, reply)
            ),
            Decimal(0),
        )

    def most(blocks: Any, key: str, of_block: Any) -> Decimal:
        return sum((of_block(block, key) for block, _ in blocks), Decimal(0))

    variables: dict[str, Decimal] = dict.fromkeys(
        ["score", "max_score", "score_correct", "max_score_correct"], Decimal(0)
    )
    for key in script.bucket_keys:
        of_bucket = {
            "score": earned(passed, key),
            "max_score": most(passed, key, scoring.max_points),
            "score_correct": earned(right, key),
            "max_score_correct": most(graded, key, scoring.max_correct_points),
        }
        for name, amount in of_bucket.items():
            variables[f"{name}_{key}"] = amount
            variables[name] += amount
    counts = {"correct_answers": Decimal(len(right)), "max_correct_answers": Decimal(len(graded))}
    return variables | counts
