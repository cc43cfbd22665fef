import json
from pathlib import Path
from typing import Any

import pytest

from surveys.engine.script import PICTURE_FIELDS
from surveys.engine.walk import counting, presentation, runner
from surveys.engine.walk.runner import State
from tests.support.cases import try_each
from tests.support.engine import script_builder

TALKS = sorted(Path(__file__).with_name("conversations").glob("*.json"))
COLOUR = {"type": "single_punch", "options": ["red", "green"]}
TEXT = {"type": "open_text"}
SAYING = {"type": "content_block"}
SEEN = {
    *(
        "id",
        "name",
        "section",
        "type",
        "prompt",
        "description",
        "group",
        "answer_style",
        "color",
        *PICTURE_FIELDS,
        "video_url",
        "options",
    ),
    *(
        "min",
        "max",
        "whole",
        "format",
        "required",
        "action_kind",
        "scale",
        "randomize_options",
        "rank_top_n",
        "position",
        "continue",
    ),
}


def shown(turn) -> Any:
    """The id of the block that a turn shows."""
    return turn.show.id


def waiting(script, state) -> Any:
    return runner.current_block(script, state)


def walked(script, *replies, state=None):
    """The state after these replies; None leaves a statement."""
    state = state or runner.begin(script).state
    for reply in replies:
        turn = runner.proceed(script, state) if reply is None else runner.answer(script, state, reply)
        state = turn.state
    return state


@try_each("file", TALKS)
def test_a_recorded_talk_goes_as_it_went(file):
    talk = json.loads(file.read_text())
    script = script_builder.script(*talk["blocks"], **talk.get("script", {}))
    turn = runner.begin(script)

    for n, move in enumerate([{}, *talk["moves"]]):
        if "answer" in move:
            turn = runner.answer(script, turn.state, move["answer"])
        elif "back" in move:
            turn = runner.back(script, turn.state)
        elif "continue" in move:
            turn = runner.proceed(script, turn.state)
        expected = talk["begins"] if n == 0 else move["then"]
        facts = {"username": talk.get("user_name", "")}
        actual = {
            "shows": turn.show and turn.show.id,
            "prompt": turn.show and runner.fill(script, turn.state, turn.show.prompt, facts),
            "completes": turn.completes,
            "progress": runner.progress(script, turn.state),
            "feedback": turn.feedback and runner.fill(script, turn.state, turn.feedback, facts),
        }
        assert {key: actual[key] for key in expected} == expected, f"move {n}"
        assert runner.State.from_json(json.loads(json.dumps(turn.state.as_json()))) == turn.state

    assert [block.id for block, _ in runner.answers_on_path(script, turn.state)] == talk["answered"]


def test_a_hidden_block_is_passed_over():
    """Rule 4.1."""
    script = script_builder.script(COLOUR, {**TEXT, "precondition": 'Q0 = "red"'}, TEXT)

    assert runner.answer(script, State(), {"option_ids": [10]}).show is script.blocks[2]
    assert runner.answer(script, State(), {"option_ids": [11]}).show is script.blocks[1]


def test_back_goes_to_the_step_shown_before_of_any_type():
    script = script_builder.script(COLOUR, {**TEXT, "precondition": 'Q0 = "red"'}, SAYING, TEXT)
    state = walked(script, {"option_ids": [10]}, None)

    steps = []
    while runner.can_go_back(state):
        turn = runner.back(script, state)
        state = turn.state
        steps.append(shown(turn))

    assert steps == [3, 1]
    with pytest.raises(LookupError):
        runner.back(script, state)


def test_an_answer_from_before_a_step_back_counts_once_its_block_is_passed_again():
    script = script_builder.script(COLOUR, TEXT, {**TEXT, "precondition": "NOT(Q1)"}, SAYING)
    state = walked(script, {"option_ids": [10]}, {"text": "kept"})
    state = runner.back(script, runner.back(script, state).state).state

    again = runner.answer(script, state, {"option_ids": [11]})

    assert again.state.replies[2] == {"text": "kept"}
    assert [block.id for block, _ in runner.answers_on_path(script, again.state)] == [1]


def test_an_answer_hidden_by_a_later_change_has_no_value():
    script = script_builder.script(
        COLOUR,
        {**TEXT, "precondition": 'Q0 = "red"'},
        {**SAYING, "precondition": 'Q1 != "secret"', "prompt": "You said [Q1]."},
        TEXT,
    )
    state = walked(script, {"option_ids": [11]}, {"text": "secret"})
    assert waiting(script, state).id == 3
    state = runner.back(script, runner.back(script, state).state).state

    changed = runner.answer(script, state, {"option_ids": [10]})

    assert shown(changed) == 4
    assert counting.settled(script, changed.state).left == {2}


def test_answers_ahead_count_until_the_other_answers_hide_them():
    script = script_builder.script(
        COLOUR,
        {**TEXT, "precondition": 'Q0 = "red"'},
        TEXT,
        {**TEXT, "precondition": 'NOT(Q2 = "b")'},
        {"type": "calculated_block", "calculated_formula": 'if [Q1] = "a" then 1 else 2'},
        TEXT,
    )
    state = walked(script, {"option_ids": [11]}, {"text": "a"}, {"text": "b"}, {"text": "c"})
    for _ in range(4):
        state = counting.settled(script, runner.back(script, state).state)

    at_first = counting.looked_ahead(script, state)
    assert (state.left, at_first.path, at_first.results) == (frozenset(), (1, 2, 3, 4), {})
    red = counting.settled(script, runner.answer(script, state, {"option_ids": [10]}).state)
    assert (red.left, counting.looked_ahead(script, red).path) == (frozenset({2}), (1, 3, 4))
    assert dict(red.counted) == {1: {"option_ids": [10]}, 3: {"text": "b"}, 4: {"text": "c"}}
    assert runner.State.from_json(red.as_json()) == red

    green = runner.answer(script, runner.back(script, red).state, {"option_ids": [11]}).state
    assert counting.settled(script, green).left == frozenset()


def test_the_latest_answer_is_the_last_that_was_no_skip():
    """Rule 4.18."""
    script = script_builder.script(
        TEXT, TEXT, {**SAYING, "prompt": "[answer]"}, {**TEXT, "precondition": 'answer = "a"'}, TEXT
    )
    state = walked(script, {"text": "a"}, {"skipped": True})

    assert runner.fill(script, state, "[answer]", {}) == "a"
    assert shown(runner.proceed(script, state)) == 5


def test_a_vote_completes_a_poll_and_words_may_follow():
    script = script_builder.script(SAYING, COLOUR, SAYING, is_poll=True)
    state = walked(script, None)

    voted = runner.answer(script, state, {"option_ids": [10]})

    assert (voted.completes, shown(voted)) == (True, 3)
    assert runner.proceed(script, voted.state).show is None


def test_a_script_with_nothing_to_show_is_over_at_once():
    for script in (script_builder.script(), script_builder.script({**TEXT, "precondition": "true"})):
        turn = runner.begin(script)
        assert (turn.show, turn.completes, runner.progress(script, turn.state)) == (None, True, 1.0)


def test_progress_grows_from_nothing_to_one():
    script = script_builder.script(TEXT, TEXT, TEXT, TEXT)

    values = [runner.progress(script, walked(script, *[{"skipped": True}] * n)) for n in range(5)]

    assert values == [0.0, 0.25, 0.5, 0.75, 1.0]


@try_each("token", ["[UserName]", "[username]"])
def test_tokens_are_filled_and_unknown_ones_stay(token):
    script = script_builder.script({**TEXT, "name": "Pet"}, SAYING)
    state = walked(script, {"text": "[UserName] the <b>cat</b>"})

    text = runner.fill(script, state, f"{token}: [Pet], [pet], [Q9], [q2], 5 [x y].", {"username": "Ann"})

    assert text == "Ann: [UserName] the <b>cat</b>, [UserName] the <b>cat</b>, [Q9], , 5 [x y]."


@try_each(
    ("scored", "reply", "expected"),
    [
        (True, {"option_ids": [10]}, "Right: red."),
        (True, {"option_ids": [11]}, "No."),
        (True, {"skipped": True}, None),
        (False, {"option_ids": [10]}, None),
    ],
)
def test_a_graded_answer_earns_its_words(scored, reply, expected):
    """Rule 5.14."""
    graded = {
        **COLOUR,
        "correct_answer_ids": [10],
        "when_correct": "Right: [answer].",
        "when_incorrect": "No.",
    }
    script = script_builder.script(graded, TEXT, scoring_enabled=scored)

    turn = runner.answer(script, State(), reply)

    assert (turn.feedback and runner.fill(script, turn.state, turn.feedback, {})) == expected


class TestRealigning:
    """A conversation continues in a script that was edited after it had begun."""

    old = script_builder.script(COLOUR, SAYING, TEXT, TEXT)

    def test_words_alone_change_nothing(self):
        state = walked(self.old, {"option_ids": [10]}, None, {"text": "a"})

        assert (
            runner.realign(script_builder.script(COLOUR, {**SAYING, "prompt": "New."}, TEXT, TEXT), state)
            == state
        )

    def test_it_goes_no_further_than_a_new_question(self):
        state = walked(self.old, {"option_ids": [10]}, None, {"text": "a"})
        new = script_builder.script(COLOUR, SAYING, {**TEXT, "id": 3}, {**TEXT, "id": 77}, {**TEXT, "id": 4})

        there = runner.realign(new, state)

        assert (there.at, there.path, dict(there.replies)) == (3, (1, 2, 3), dict(state.replies))

    def test_a_new_question_before_the_furthest_place_is_left_out(self):
        """Rule 2.20."""
        kept = [{**block, "id": number} for number, block in enumerate((TEXT, SAYING, TEXT, TEXT), 1)]
        state = walked(script_builder.script(*kept), {"text": "a"}, None, {"text": "b"})
        new = script_builder.script({**TEXT, "id": 77}, *kept[:2], {**TEXT, "id": 78}, *kept[2:])

        there = runner.realign(new, state)

        assert (there.at, there.path, dict(there.replies)) == (5, (1, 2, 3), dict(state.replies))

    def test_what_was_left_out_once_stays_so_after_other_changes(self):
        """Rule 2.20."""
        one, two, three, four = ({**TEXT, "id": number} for number in (1, 2, 3, 4))
        added, later = {**TEXT, "id": 77}, {**TEXT, "id": 78}
        state = walked(script_builder.script(one, two, three, four), {"text": "a"}, {"text": "b"})
        grown = script_builder.script(one, added, two, three, later, four)

        state = runner.realign(grown, state)
        for text in ("c", "d"):
            state = runner.answer(grown, state, {"text": text}).state
        there = runner.realign(script_builder.script(one, added, two, three, later, four), state)

        assert (there.at, there.path) == (5, (1, 2, 3, 78))

    def test_a_ranking_that_has_more_items_now_stays_answered(self):
        """Rule 2.10."""
        items = [{"id": n, "value": str(n)} for n in (11, 12, 13)]
        old = script_builder.script({"type": "ranking", "options": items[:2]}, TEXT)
        new = script_builder.script({"type": "ranking", "options": items}, TEXT)
        state = walked(old, {"option_ids": [12, 11]})

        assert runner.realign(new, state).at == 1

    def test_an_older_question_that_other_logic_shows_now_is_asked(self):
        old = script_builder.script(COLOUR, {**TEXT, "precondition": "true"}, TEXT, TEXT)
        state = walked(old, {"option_ids": [10]}, {"text": "a"})

        there = runner.realign(script_builder.script(COLOUR, TEXT, TEXT, TEXT), state)

        assert (there.at, there.path) == (1, (1,))

    def test_an_answer_that_no_longer_fits_is_asked_again(self):
        state = walked(self.old, {"option_ids": [10]}, None, {"text": "a"})
        new = script_builder.script(
            {"type": "single_punch", "options": [{"id": 11, "value": "green"}]}, SAYING, TEXT, TEXT
        )

        assert runner.realign(new, state).at == 0

    def test_removed_blocks_leave_the_path(self):
        state = walked(self.old, {"option_ids": [10]}, None, {"text": "a"})
        new = script_builder.script({**TEXT, "id": 3}, {**TEXT, "id": 4})

        there = runner.realign(new, state)

        assert (there.at, there.path) == (1, (3,))


def test_a_completed_conversation_stays_completed_after_an_edit():
    old = script_builder.script(COLOUR, SAYING, TEXT)
    state = walked(old, {"option_ids": [10]}, None, {"text": "a"})
    new = script_builder.script(COLOUR, {**TEXT, "id": 2}, {**TEXT, "id": 77})

    there = runner.completed_state(new, state)

    assert (there.at, there.path) == (3, (1, 2))
    latest = runner.latest_reply(new, there)
    assert latest is not None
    assert latest[0].id == 1


def test_a_respondent_sees_no_logic_no_scores_and_no_right_answers():
    script = script_builder.script(
        {
            **COLOUR,
            "precondition": "false",
            "correct_answer_ids": [10],
            "when_correct": "Yes",
            "options": [{"value": "red", "score_values": {"a": 1}}, "green"],
        },
        scoring_enabled=True,
    )

    serialized: dict[str, Any] = presentation.as_json(
        presentation.present(script, State(), script.blocks[0], seed=1, token_values={})
    )

    assert set(serialized) == SEEN
    (option, *_) = serialized["options"]
    assert set(option) == {
        "id",
        "value",
        "label",
        "emoji",
        "display_order",
        "anchor_position",
    }
