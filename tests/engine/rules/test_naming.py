"""Names that the editor, drafts and imports give to blocks without a name of their own (rule 3.11)."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from surveys.engine.language import conditions, names
from surveys.engine.language.lexer import NAME_PATTERN
from surveys.engine.rules import naming
from surveys.engine.script import title_case
from tests.support.cases import try_each
from tests.support.effort import examples


@try_each(
    ("prompt", "name"),
    [
        ("How old are you?", "how_old_are_you"),
        ("  Wie groß — in cm?! ", "wie_groß_in_cm"),
        ("Do you like [game], [UserName]?", "do_you_like"),
        ("3 things: which 2 do you like?", "things_which_2_do_you_like"),
        ("好きなゲームは何ですか?", "好きなゲームは何ですか"),
        ("a" * 41, "question_4"),
        ("word " * 20, "word_word_word_word_word_word_word_word"),
        ("Q3?", "question_4"),
        ("Score", "question_4"),
        ("True?", "question_4"),
        ("UserName", "question_4"),
        ("Link", "question_4"),
        ("7 + 7 = ?", "question_4"),
        ("", "question_4"),
    ],
)
def test_a_name_is_made_of_the_words_of_the_prompt(prompt: str, name: str) -> None:
    assert naming.from_words(prompt, number=4, taken=set()) == name


def test_a_name_that_is_taken_gets_a_number() -> None:
    taken = {"How_Old_Are_You", "How_Old_Are_You_2", "Question_4", "Question_5"}

    assert naming.from_words("How old are you?", number=4, taken=taken) == "how_old_are_you_3"
    assert naming.from_words("?", number=4, taken=taken) == "question_6"


@settings(max_examples=examples(200), deadline=None)
@given(prompts=st.lists(st.text(max_size=60) | st.sampled_from(["q1", "Score?", "why"]), max_size=8))
def test_every_name_is_valid_unique_and_no_position(prompts: list[str]) -> None:
    given_names = [block["name"] for block in naming.named([{"prompt": prompt} for prompt in prompts])]

    assert all(NAME_PATTERN.fullmatch(name) for name in given_names)
    assert not any(names.is_position(name.lower()) for name in given_names)
    assert len({title_case(name) for name in given_names}) == len(prompts)


def test_references_follow_from_a_name_like_a_position() -> None:
    row = {"all": [{"block": "q3", "op": "eq", "value": "x"}, {"variable": "q3", "op": "eq", "value": "x"}]}
    compiled = conditions.compile(row, hide=False)
    given_blocks: list[Any] = [
        {"name": "q3", "prompt": "Which game?"},
        {"name": "why", "prompt": "Why [Q3], not [q3]?", "show_when": row, "precondition": compiled},
        {"name": "Q7", "prompt": "", "calculated_formula": "[Q3] + [q3]"},
        {"name": "late", "prompt": "?", "precondition": 'Q3 = "Q3" AND q3 = Q7'},
    ]

    first, second, third, fourth = naming.named(given_blocks)

    assert [block["name"] for block in (first, second, third)] == ["which_game", "why", "question_3"]
    assert second["prompt"] == "Why [which_game], not [q3]?"
    assert second["show_when"]["all"][0]["block"] == "which_game"
    assert second["show_when"]["all"][1]["variable"] == "q3"
    assert second["precondition"] == conditions.compile(second["show_when"], hide=False)
    assert third["calculated_formula"] == "[which_game] + [q3]"
    assert fourth["precondition"] == 'which_game = "Q3" AND q3 = question_3'


def test_a_block_with_an_id_and_what_is_no_block_stay_as_they_are() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"all": [deep]}
    given_blocks: list[Any] = [
        {"id": 7, "name": "q3", "prompt": "Why?"},
        7,
        None,
        {"name": 5, "prompt": ["?"], "show_when": deep, "hide_when": {"all": [1]}, "precondition": "=="},
    ]

    first, second, third, fourth = naming.named(given_blocks)

    assert [first, second, third] == given_blocks[:3]
    assert fourth == {**given_blocks[3], "name": "question_4"}
