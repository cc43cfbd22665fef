"""Any walk with steps back ends where a straight walk with the final answers ends (decisions 8.11)."""

from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from surveys.engine.script import Bucket
from surveys.engine.walk import answers, counting, runner
from surveys.engine.walk.replay import GivenAnswer, replay
from tests.support.effort import examples
from tests.support.engine import script_builder

WORDS = ["a", "b", "c"]
WEIGHTS = [{"fire": 2}, {"fire": -1, "ice": 1}, {"ice": 3}]
SCORES = ["score", "max_score", "score_fire", "max_score_ice", "score_correct", "correct_answers"]
KINDS = ["single_punch", "multi_punch", "open_text", "open_numeric", "content_block", "calculated_block"]


@st.composite
def conditions(draw, before: list[str]):
    """An expression over the questions that stand before."""
    if not before:
        return None
    leaf = st.one_of(
        st.builds(
            "{} {} {}".format,
            st.sampled_from(before),
            st.sampled_from(["=", "!=", "<", ">="]),
            st.integers(0, 2),
        ),
        st.builds('{} = "{}"'.format, st.sampled_from(before), st.sampled_from(WORDS)),
        st.builds('"{}" in {}'.format, st.sampled_from(WORDS), st.sampled_from(before)),
        st.sampled_from(before),
        st.just('answer = "a"'),
        st.builds("{} > {}".format, st.sampled_from(SCORES), st.integers(-1, 4)),
    )
    tree = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("NOT({})".format, inner),
        ),
        max_leaves=4,
    )
    return draw(st.none() | tree)


@st.composite
def formulas(draw, before: list[str]) -> str:
    """A formula over scores, and over the blocks that stand before."""
    names = st.sampled_from([*before, *SCORES]).map("[{}]".format)
    return draw(
        st.one_of(
            st.just("argmax([score_fire], [score_ice])"),
            st.builds("{} + 2 * {}".format, names, names),
            st.builds("if {} > 1 then {} else b".format, names, names),
        )
    )


@st.composite
def scripts(draw) -> Any:
    before: list[str] = []
    blocks = []
    for n in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(KINDS))
        raw = {"type": kind, "name": f"B{n}", "precondition": draw(conditions(list(before)))}
        if kind in ("single_punch", "multi_punch"):
            raw["options"] = [
                {"value": word, "score_values": {key: Decimal(points) for key, points in weights.items()}}
                for word, weights in zip(WORDS, draw(st.permutations(WEIGHTS)), strict=True)
            ]
            if draw(st.booleans()):
                raw["correct_answer_ids"] = [10 * (n + 1)]
        if kind == "calculated_block":
            raw["calculated_formula"] = draw(formulas(list(before)))
        if kind != "content_block":
            before.append(f"B{n}")
        blocks.append(raw)
    return script_builder.script(*blocks, scoring_enabled=True, buckets=(Bucket("Fire"), Bucket("Ice")))


def replies(block) -> st.SearchStrategy[Any]:
    ids = [option.id for option in block.options]
    by_kind = {
        "single_punch": lambda: st.sampled_from(ids).map(lambda chosen: {"option_ids": [chosen]}),
        "multi_punch": lambda: st.lists(st.sampled_from(ids), min_size=1, unique=True).map(
            lambda chosen: {"option_ids": chosen}
        ),
        "open_text": lambda: st.sampled_from(WORDS).map(lambda text: {"text": text}),
        "open_numeric": lambda: st.integers(0, 2).map(lambda number: {"number": str(number)}),
    }
    return st.just({"skipped": True}) | by_kind[block.type]()


def walk(script: Any, data) -> runner.State:
    """Wander about, back and forth, then straight to the end."""
    state = runner.begin(script).state
    for wander in [True] * data.draw(st.integers(0, 25)) + [False] * (len(script.blocks) + 1):
        block = runner.current_block(script, state)
        if wander and runner.can_go_back(state) and data.draw(st.booleans()):
            turn = runner.back(script, state)
        elif block is None:
            continue
        elif block.asks:
            turn = runner.answer(script, state, data.draw(replies(block)))
        else:
            turn = runner.proceed(script, state)
        state = runner.State.from_json(turn.state.as_json())
        assert turn.show is runner.current_block(script, state)
    return state


def straight(script: Any, final: Any) -> runner.State:
    turn = runner.begin(script)
    while turn.show is not None:
        if turn.show.asks:
            turn = runner.answer(script, turn.state, final[turn.show.id])
        else:
            turn = runner.proceed(script, turn.state)
    return turn.state


@settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(script=scripts(), data=st.data())
def test_a_walk_with_steps_back_ends_where_the_straight_walk_ends(script, data):
    wandered = walk(script, data)
    final = {
        block_id: wandered.replies[block_id] for block_id in wandered.path if block_id in wandered.replies
    }

    direct = straight(script, final)

    assert (wandered.at, wandered.path) == (direct.at, direct.path)
    assert list(runner.answers_on_path(script, wandered)) == list(runner.answers_on_path(script, direct))
    assert wandered.results == direct.results
    assert runner.score_variables(script, wandered) == runner.score_variables(script, direct)
    assert runner.realign(script, wandered) == wandered


@settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(script=scripts(), data=st.data())
def test_the_stored_answers_of_any_walk_replay_to_the_same_state(script, data):
    by_id = data.draw(st.booleans())
    turn, rows = runner.begin(script), []
    is_completed = data.draw(st.booleans())
    while turn.show is not None:
        block = turn.show
        if not block.asks:
            turn = runner.proceed(script, turn.state)
            continue
        reply = data.draw(replies(block))
        if "option_ids" in reply:
            reply = {"option_ids": sorted(reply["option_ids"])}
        names = {"block_id": block.id} if by_id else {"block_name": block.name}
        rows += [
            GivenAnswer(**names, value=row.value, option_id=row.option_id if by_id else None)
            for row in answers.rows(block, reply)
        ]
        turn = runner.answer(script, turn.state, reply)
        if not is_completed and rows and turn.show is not None and data.draw(st.booleans()):
            break
    is_completed = turn.show is None

    walk, violations = replay(script, data.draw(st.permutations(rows)), is_completed=is_completed, fields={})

    assert violations == []
    if is_completed:
        assert walk.state == turn.state
    else:  # skips after the last answer leave no trace
        assert list(runner.answers_on_path(script, walk.state)) == list(
            runner.answers_on_path(script, turn.state)
        )
        assert turn.state.path[: len(walk.state.path)] == walk.state.path


@settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(script=scripts(), data=st.data())
def test_the_answers_of_any_unfinished_walk_that_count_replay(script, data):
    state = runner.begin(script).state
    for _ in range(data.draw(st.integers(0, 25))):
        block = runner.current_block(script, state)
        if runner.can_go_back(state) and (block is None or data.draw(st.booleans())):
            state = runner.back(script, state).state
        elif block is not None and block.asks:
            state = runner.answer(script, state, data.draw(replies(block))).state
        elif block is not None:
            state = runner.proceed(script, state).state
        state = counting.settled(script, state)
    stored = {key: reply for key, reply in state.counted.items() if "skipped" not in reply}
    assume(stored)
    rows = [
        GivenAnswer(block_id=key, value=row.value, option_id=row.option_id)
        for key, reply in stored.items()
        for row in answers.rows(script.blocks[script.index_by_id[key]], reply)
    ]

    walk, violations = replay(script, data.draw(st.permutations(rows)), is_completed=False, fields={})

    kept = {key: reply for key, reply in walk.state.replies.items() if "skipped" not in reply}
    assert violations == []
    assert {key: answers_of(reply) for key, reply in kept.items()} == {
        key: answers_of(reply) for key, reply in stored.items()
    }
    assert walk.state.at < len(script.blocks) or not walk.state.path


def answers_of(reply: Any) -> Any:
    """A reply, in which the order of choices does not matter: it is the script's."""
    return sorted(reply["option_ids"]) if "option_ids" in reply else reply
