"""The range of questions ahead: earlier answers have decided some, and later ones decide others."""

from surveys.engine.walk import runner
from tests.support.cases import try_each
from tests.support.engine import script_builder

CHOICE = {"type": "single_punch", "options": ["yes", "no"]}
TEXT = {"type": "open_text"}
SAYING = {"type": "content_block"}


def questions_ahead(script, state):
    return runner.path_values(script, state).questions_ahead(state.at)


def only(condition, **block):
    return {**TEXT, **block, "precondition": f"NOT({condition})"}


SCRIPT = script_builder.script(
    {**CHOICE, "name": "plays"},
    only('plays = "yes"', name="where"),
    only('where = "club"', name="which"),
    only('field.source = "mail"', name="mail"),
    SAYING,
    only('plays = "no"', name="why"),
    TEXT,
)


@try_each(
    ("answers", "ranges"),
    [
        (["no"], [(2, 5), (2, 2), (2, 2), (1, 1)]),
        (["yes", "club"], [(2, 5), (2, 3), (2, 2), (1, 1), (1, 1)]),
        (["yes", "park"], [(2, 5), (2, 3), (1, 1), (1, 1)]),
    ],
)
def test_the_range_narrows_to_what_is_asked(answers, ranges):
    turn = runner.begin(SCRIPT)
    seen = [questions_ahead(SCRIPT, turn.state)]

    for value in [*answers, "x", "x"]:
        block = turn.show
        if block is None:
            break
        if not block.asks:
            turn = runner.proceed(SCRIPT, turn.state)
            seen.append(questions_ahead(SCRIPT, turn.state))
            continue
        option = next((each for each in block.options if each.value == value), None)
        reply = {"option_ids": [option.id]} if option else {"text": value}
        turn = runner.answer(SCRIPT, turn.state, reply)
        if turn.show is not None:
            seen.append(questions_ahead(SCRIPT, turn.state))

    assert seen == ranges


def test_a_question_after_a_score_is_not_decided():
    script = script_builder.script(TEXT, only("score > 3"), TEXT, scoring_enabled=True, is_scored=True)

    assert questions_ahead(script, runner.begin(script).state) == (2, 3)
