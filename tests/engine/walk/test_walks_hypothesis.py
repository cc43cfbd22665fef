"""Any walk with steps back ends where a straight walk with the final answers ends (rules 6.30 and 6.31)."""

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from surveys.engine.walk import answers, counting, runner
from surveys.engine.walk.replay import GivenAnswer, replay
from tests.support.effort import examples
from tests.support.engine.random_scripts import replies, scripts


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
