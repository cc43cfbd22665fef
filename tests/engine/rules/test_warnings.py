"""Warnings about a script that is valid but does not do what its author probably wants."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from surveys.engine.language import names, piping
from surveys.engine.language.values import json_bytes
from surveys.engine.rules.warnings import CODES, MAX_WARNINGS, warnings
from surveys.engine.script import ActionConfig, Block, Bucket, Option, Script, title_case
from tests.support.cases import try_each

QUESTION = Block("single_punch", "Which?", id=7, name="game", options=(Option("chess", 1), Option("go", 2)))
IGNORED = replace(QUESTION, scores_ignored=True)
XP = Block(
    "action_block",
    "Here.",
    id=8,
    name="prize",
    action_kind="give_xp",
    action_config=ActionConfig(xp_amount=5),
)
FROM_SCORE = replace(XP, action_config=ActionConfig(source_key="score"))
BADGE = replace(XP, action_kind="give_achievement", action_config=ActionConfig(xp_role_id=3))
ROLE = replace(XP, action_kind="give_role", action_config=ActionConfig(role_id="77"))
SUM = Block("calculated_block", id=9, name="sum", calculated_formula="[game] + [score] * 2")


def warned_of(*blocks: Block, **how: Any) -> list[tuple[object, object]]:
    """The field and code of each warning; the script is scored by default."""
    facts = {"uses_xp": False, "is_anonymous": False, "known_achievements": None}
    facts |= {key: how.pop(key) for key in facts if key in how}
    fields = {"scoring_enabled": True, "buckets": (Bucket("Score"),)} | how
    warned = warnings(Script(blocks, **fields), **facts)  # type: ignore[arg-type]
    assert {warning["code"] for warning in warned} <= set(CODES)
    assert all(str(warning["message"]).endswith(".") for warning in warned)
    return [(warning["field"], warning["code"]) for warning in warned]


def test_a_script_that_does_what_it_says_has_no_warnings() -> None:
    facts = {"uses_xp": True, "is_anonymous": True, "known_achievements": {3}}

    assert warned_of(QUESTION, SUM, **facts) == []
    assert warned_of(QUESTION, XP, FROM_SCORE, BADGE, ROLE, known_achievements={3}) == []
    assert warned_of(**facts) == []


def test_a_warning_names_its_block() -> None:
    (warning,) = warnings(
        Script((QUESTION, XP)), uses_xp=True, is_anonymous=False, known_achievements=frozenset()
    )

    assert warning.pop("message")
    assert warning == {"field": "blocks[1]", "block_id": 8, "block_name": "prize", "code": "double_award"}


@try_each(
    ("scoring", "advice"),
    [
        (False, "Enable scoring, then write the script again, with them, or with `score_values: {}`"),
        (True, "Write the script again"),
    ],
)
def test_a_warning_of_ignored_points_says_what_to_do(scoring: bool, advice: str) -> None:
    script = Script((QUESTION, IGNORED), scoring_enabled=scoring)

    (warning,) = warnings(script, uses_xp=False, is_anonymous=False, known_achievements=None)

    assert (warning["field"], warning["code"]) == ("blocks[1].options", "scores_ignored")
    assert advice in str(warning["message"])


@try_each(
    ("options", "expected"),
    [
        (
            (Option("Yes"), Option("No"), Option("yes"), Option("YES")),
            ["options[2].value", "options[3].value"],
        ),
        ((Option("Straße"), Option("STRASSE")), ["options[1].value"]),
        ((Option("a"), Option("b", label="A")), ["options[1].label"]),
        ((Option("a", label="So\u200b"), Option("b", label="so")), ["options[1].label"]),
        ((Option("a", label="So", emoji="👍"), Option("b", label="So", emoji="👎")), []),
        ((Option("a"), Option("ä"), Option("aa")), []),
    ],
)
def test_options_that_differ_in_case_alone_are_told(options: tuple[Option, ...], expected: list[str]) -> None:
    block = replace(QUESTION, options=options)

    found = [str(field) for field, code in warned_of(block) if code == "similar_options"]

    assert {each.removeprefix("blocks[0].") for each in found} >= set(expected)
    assert bool(found) is bool(expected)
    assert warned_of(replace(block, type="rating")) == []


@try_each(
    ("value", "sign"),
    [
        *((f"Y{sign}es", f"U+{ord(sign):04X}") for sign in "\u00ad\u061c\u200b\u200c\u200d\u2060\ufeff\x01"),
        *(
            (seen, "")
            for seen in ("Yes", "two words", "é", "❤️", "1️⃣", "👩‍👧", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "می‌خواهم", "क्‍ष", "葛\U000e0100")
        ),
    ],
)
def test_a_character_of_a_value_that_nobody_sees_is_told(value: str, sign: str) -> None:
    block = replace(QUESTION, options=(Option("No"), Option(value)))

    found = warnings(Script((block,)), uses_xp=False, is_anonymous=False, known_achievements=None)

    told = [
        each["field"] for each in found if each["code"] == "unseen_character" and sign in str(each["message"])
    ]
    assert told == (["blocks[0].options[1].value"] if sign else [])


def test_warnings_that_are_not_about_a_name_say_the_number_and_the_text_of_their_block() -> None:
    twins = replace(QUESTION, options=(Option("Yes", 1), Option("yes", 2)), correct_answer_ids=(1,))
    items = (Option("a", id=1, score_values={"score": Decimal(1)}), Option("b", id=2))
    ranking = Block("ranking", "In which order?", id=4, name="order", options=items)
    blocks = (twins, ranking, IGNORED, XP, replace(BADGE, precondition='game = "Yes"'))

    found = [
        warning
        for is_scored in (True, False)
        for warning in warnings(
            Script(blocks, scoring_enabled=is_scored, buckets=(Bucket("Score"),)),
            uses_xp=True,
            is_anonymous=True,
            known_achievements={3},
        )
    ]

    assert {each["code"] for each in found} == {
        "similar_options",
        "scores_ignored",
        "not_graded",
        "double_award",
        "tells_the_answers",
    }
    for warning in found:
        at = int(str(warning["field"]).removeprefix("blocks[").split("]")[0])
        assert str(warning["message"]).startswith(f"In block {at + 1}, “{blocks[at].prompt}”, ")


def test_a_script_from_before_scoring_has_one_warning() -> None:
    assert warned_of(QUESTION, is_scored=False) == [("blocks", "scores_ignored")]
    assert warned_of(QUESTION, is_scored=False, scoring_enabled=False) == []
    assert warned_of(is_scored=False) == []


def test_points_of_a_ranking_are_warned_of() -> None:
    items = (Option("a", id=1, score_values={"score": Decimal(1)}), Option("b", id=2))
    ranking = Block("ranking", id=4, name="order", options=items)

    assert warned_of(ranking) == [("blocks[0].options", "scores_ignored")]
    assert warned_of(ranking, scoring_enabled=False) == []


def test_a_correct_answer_that_is_not_graded_is_warned_of() -> None:
    graded = replace(QUESTION, correct_answer_ids=(1,))

    assert warned_of(graded, scoring_enabled=False) == [("blocks[0].correct_answer_ids", "not_graded")]
    assert warned_of(graded) == []


@try_each(
    ("formula", "scoring", "unknown"),
    [
        ("[game] + [gmae] + [gmae]", True, ["gmae"]),
        ("[score] + [score_mage]", True, ["score_mage"]),
        ("[score] + [max_score]", False, ["score", "max_score"]),
        ("[sum] + [later]", True, ["sum", "later"]),
        ("argmax([score_a], [score])", True, ["score_a"]),
        ("[Game] + [q1]", True, []),
        ("1 +", True, []),
    ],
)
def test_a_name_in_a_formula_without_a_value_is_warned_of(
    formula: str, scoring: bool, unknown: list[str]
) -> None:
    later = Block("open_text", id=10, name="later")
    script = Script(
        (QUESTION, replace(SUM, calculated_formula=formula), later),
        scoring_enabled=scoring,
        buckets=(Bucket("Score"),),
    )

    warned = warnings(script, uses_xp=False, is_anonymous=False, known_achievements=None)

    assert [warning["field"] for warning in warned] == ["blocks[1].calculated_formula"] * len(unknown)
    assert all(f"[{name}]" in str(warning["message"]) for name, warning in zip(unknown, warned, strict=True))
    assert {warning["code"] for warning in warned} <= {"unknown_variable"}


def test_a_score_to_award_is_unknown_while_scoring_is_off() -> None:
    where = ("blocks[0].action_config.source_key", "unknown_variable")

    assert warned_of(FROM_SCORE, scoring_enabled=False) == [where]
    assert warned_of(replace(XP, action_config=ActionConfig(source_key="score_rogue"))) == [where]


def test_an_achievement_without_a_description_is_warned_of() -> None:
    assert warned_of(BADGE, known_achievements={4}) == [
        ("blocks[0].action_config.xp_role_id", "unknown_achievement")
    ]
    assert warned_of(BADGE, known_achievements=None) == []


@try_each(
    ("logic", "field"),
    [
        ({}, "precondition"),
        ({"show_when": {"block": "game", "op": "eq", "value": "go"}}, "show_when"),
        ({"hide_when": {"block": "game", "op": "eq", "value": "go"}}, "hide_when"),
    ],
)
@try_each("block", [XP, BADGE, ROLE])
def test_a_conditional_award_reveals_answers_of_an_anonymous_project(
    block: Block, logic: Any, field: str
) -> None:
    conditional = replace(block, precondition='game = "go"', **logic)

    assert warned_of(QUESTION, conditional, is_anonymous=True) == [
        (f"blocks[1].{field}", "tells_the_answers")
    ]
    assert warned_of(QUESTION, conditional) == []


def test_xp_from_a_score_reveals_answers_of_an_anonymous_project() -> None:
    assert warned_of(FROM_SCORE, is_anonymous=True) == [
        ("blocks[0].action_config.source_key", "tells_the_answers")
    ]


def test_the_achievements_of_a_script_are_those_its_blocks_grant() -> None:
    other = replace(BADGE, action_config=ActionConfig(xp_role_id=9))

    assert Script((QUESTION, BADGE, XP, other), outro=(BADGE,)).achievements == {3, 9}


@try_each(
    ("formula", "tokens"),
    [
        ('if [game] == "chess" then "level [game]" else Go [game-2]!', ["game", "game-2"]),
        ('if [game] == "[chess]" then [game] else [answer]', ["chess"]),
        ('if [game] == "[2]" then "[]" else [game]', []),
    ],
)
def test_brackets_inside_text_of_a_formula_are_warned_of(formula: str, tokens: list[str]) -> None:
    game = Block("open_text", "Which?", id=7, name="game")
    script = Script((game, replace(SUM, calculated_formula=formula)))

    warned = warnings(script, uses_xp=False, is_anonymous=False, known_achievements=None)

    assert [(warning["field"], warning["code"]) for warning in warned] == [
        ("blocks[1].calculated_formula", "unfilled_token")
    ] * len(tokens)
    assert [
        f"[{token}]" in str(warning["message"]) for token, warning in zip(tokens, warned, strict=True)
    ] == [True] * len(tokens)


@try_each(
    ("prompt", "suggested"),
    [
        ("Hi [UserNam]!", "username"),
        ("You said [Coluor].", "colour"),
        ("You said [coluor|something].", "colour"),
        ("You have [xp_pints].", "xp_points"),
        ("Hi [UserName], you said [colour] [q1] [field.x] [optional] [xp_name].", None),
    ],
)
def test_a_misspelt_token_is_warned_of_and_other_brackets_are_not(prompt: str, suggested: str | None) -> None:
    game = Block("open_text", "Which?", id=7, name="colour")
    script = Script((game, replace(game, id=8, name="other", prompt=prompt)))

    warned = warnings(script, uses_xp=False, is_anonymous=False, known_achievements=None)

    found = [(each["field"], each["code"], str(each["message"]).partition("mean ")[2]) for each in warned]
    assert found == ([("blocks[1].prompt", "unknown_token", f"[{suggested}]?")] if suggested else [])


def test_at_most_ten_tokens_are_compared_with_names() -> None:
    game = Block("open_text", "Which?", id=7, name="colour")
    prompt = " ".join(f"[colou{letter}]" for letter in "abcdefghijkl")
    script = Script((game, replace(game, id=8, name="other", prompt=prompt)))

    warned = warnings(script, uses_xp=False, is_anonymous=False, known_achievements=None)

    assert [each["code"] for each in warned] == ["unknown_token"] * 10


def test_a_name_in_a_formula_like_an_automatic_name_says_how_the_name_is_written() -> None:
    first = replace(QUESTION, name="q0")
    made = Script((first, replace(SUM, calculated_formula="[q0] + [Q0]")))

    warned = warnings(made, uses_xp=False, is_anonymous=False, known_achievements=None)

    assert [each["message"] for each in warned if each["code"] == "unknown_variable"] == [
        "`calculated_formula` refers to [q0], which has no value at this block and counts as 0. The block "
        "named q0 is written Q0."
    ]


@try_each(
    ("precondition", "shown", "declared", "field"),
    [
        ('field.customer = "vip"', None, (), "blocks[0].precondition"),
        ('field.customer = "vip"', {"variable": "field.customer"}, ("campaign",), "blocks[0].show_when"),
        ('field.customer = "vip"', None, ("customer",), None),
        ('field.customer = "vip"', None, None, None),
    ],
)
def test_a_condition_on_a_field_that_the_page_does_not_take_is_warned_of(
    precondition: str, shown: Any, declared: Any, field: str | None
) -> None:
    made = Script((replace(QUESTION, precondition=precondition, show_when=shown),))

    warned = warnings(
        made, uses_xp=False, is_anonymous=False, known_achievements=None, declared_fields=declared
    )

    assert [each["field"] for each in warned] == ([field] if field else [])
    assert {each["code"] for each in warned} <= {"undeclared_field"}


@try_each(
    ("name", "kind", "declared", "is_warned"),
    [
        ("skip", "open_text", (), True),
        ("Link", "open_text", (), True),
        ("skip", "content_block", (), False),
        ("skipped", "open_text", (), False),
        ("My customer", "open_text", ("my_customer",), True),
        ("customer", "open_text", ("campaign",), False),
        ("skip", "open_text", None, False),
    ],
)
def test_a_question_that_the_address_cannot_fill_in_is_warned_of(
    name: str, kind: str, declared: Any, is_warned: bool
) -> None:
    made = Script((replace(QUESTION, name=name, type=kind),))

    warned = warnings(
        made, uses_xp=False, is_anonymous=False, known_achievements=None, declared_fields=declared
    )

    assert [(each["field"], each["code"]) for each in warned] == [
        ("blocks[0].name", "reserved_name")
    ] * is_warned


def ambiguous(*blocks: Block, **fields: Any) -> list[tuple[object, object]]:
    warned = warnings(Script(blocks, **fields), uses_xp=False, is_anonymous=False, known_achievements=None)
    return [(each["field"], each["message"]) for each in warned if each["code"] == "ambiguous_name"]


NAMED = replace(QUESTION, id=20, name="q3", prompt="Which one?")
OTHER = Block("open_text", "Why?", id=21, name="why")
POSITION = {"variable": "q3", "op": "eq", "value": "x"}


@try_each(
    ("fields", "places"),
    [
        ({"prompt": "[q3] and [q3]"}, ["prompt"]),
        ({"prompt": "[Q3], [q33], q3 [q 3]"}, []),
        ({"when_correct": "[q3]", "when_incorrect": "No: [q3]"}, ["when_correct", "when_incorrect"]),
        ({"precondition": "NOT(q3 > 5) OR Q3 = 1"}, ["precondition"]),
        ({"precondition": 'why = "q3"'}, []),
        (
            {
                "precondition": 'NOT((q3 = "x" OR q3 = "x"))',
                "show_when": {"any": [POSITION, {"all": [POSITION]}]},
            },
            ["show_when.any[0].variable", "show_when.any[1].all[0].variable"],
        ),
        ({"precondition": 'Q3 = "x"', "hide_when": {"block": "q3", "op": "eq", "value": "x"}}, []),
        ({"type": "calculated_block", "calculated_formula": "[q3] * 4"}, ["calculated_formula"]),
        ({"type": "calculated_block", "calculated_formula": "argmax([q3], [Q3])"}, ["calculated_formula"]),
    ],
)
def test_a_position_that_is_the_name_of_another_block_is_ambiguous(
    fields: dict[str, Any], places: list[str]
) -> None:
    """Rule 3.10."""
    asked = Block(**{"type": "open_text", "id": 22, "name": "last", **fields})

    found = [field for field, _ in ambiguous(NAMED, OTHER, SUM, asked)]

    assert found == [f"blocks[3].{each}" for each in places]
    assert ambiguous(OTHER, SUM, NAMED, asked) == []  # there q3 is the third block


def test_both_readings_of_an_ambiguous_name_are_told() -> None:
    asked = Block("open_text", "[q3]?", id=22, name="last", precondition="q3 = 1")

    assert [message for _, message in ambiguous(NAMED, SUM, OTHER, asked)] == [
        "`precondition` contains q3, which is a position: it means block 3, “Why?”. Another block has the "
        "name q3: block 1, “Which one?”, which is written Q3. Give that block another name, so that it is "
        "clear which of them is meant.",
        "`prompt` contains [q3], which is a position: it means block 3, “Why?”. Another block has the name "
        "q3: block 1, “Which one?”, which is written [Q3]. Give that block another name, so that it is clear "
        "which of them is meant.",
    ]
    ((_, message),) = ambiguous(NAMED, replace(OTHER, prompt="[q3]"))
    assert "which is a position: it means no block." in str(message)


PROMPT_VARIABLES = sorted(piping.PROMPT_VARIABLES)
BUCKET = Bucket("Fire Mage")
ALL_VARIABLES = sorted(names.VARIABLES | names.bucket_variables(BUCKET.key))


@try_each("spelt", [str, str.upper, title_case])
def test_a_block_with_the_name_of_a_variable_is_warned_of(spelt: Any) -> None:
    scored = {"scoring_enabled": True, "buckets": (BUCKET,)}
    for variable in [*ALL_VARIABLES, *PROMPT_VARIABLES]:
        named = replace(OTHER, name=spelt(variable))

        ((field, message),) = ambiguous(QUESTION, named, **scored)

        assert field == "blocks[1].name"
        assert variable in str(message)
        assert ("is written" in str(message)) is (variable not in PROMPT_VARIABLES), variable


def test_a_score_is_a_variable_only_while_scoring_is_on() -> None:
    named = replace(OTHER, name="score")

    assert ambiguous(named, replace(QUESTION, prompt="[score]", precondition="score > 1")) == []


SCORE = replace(OTHER, name="Score", prompt="How many?")
USER = replace(OTHER, name="userName")


@try_each(
    ("fields", "places"),
    [
        ({"prompt": "[score] [score]", "when_correct": "[answer]"}, ["prompt"]),
        ({"prompt": "[Score] [max_score]"}, []),
        ({"precondition": "score > 3 AND Score > 3"}, ["precondition"]),
        ({"precondition": "Score > 3"}, []),
        (
            {"precondition": "score > 1", "show_when": {"variable": "score", "op": "gt", "value": 1}},
            ["show_when.variable"],
        ),
        ({"type": "calculated_block", "calculated_formula": "[score] * [Score]"}, ["calculated_formula"]),
        ({"when_incorrect": "No, [UserName|you]!"}, ["when_incorrect"]),
        ({"type": "calculated_block", "calculated_formula": "[UserName] * 2"}, []),  # the block
        ({"precondition": 'username = "x"'}, []),
    ],
)
def test_a_variable_that_is_the_name_of_a_block_is_ambiguous(
    fields: dict[str, Any], places: list[str]
) -> None:
    """Rule 4.20."""
    asked = Block(**{"type": "open_text", "id": 22, "name": "last", **fields})

    found = [field for field, _ in ambiguous(SCORE, USER, asked, scoring_enabled=True)]

    assert found == ["blocks[0].name", "blocks[1].name", *(f"blocks[2].{each}" for each in places)]


def test_both_readings_of_a_variable_are_told() -> None:
    asked = Block("open_text", "[score], [username]?", id=22, name="last")

    found = ambiguous(SCORE, USER, asked, scoring_enabled=True)

    assert [message for _, message in found] == [
        "The name Score is that of a variable too: `score` means the variable, and this block is written "
        "`Score`. Give the block another name.",
        "The name userName is that of a variable too: in texts [username] means the variable, in any case, "
        "so none can contain the answer to this block; conditions and formulas mean the block. Give the "
        "block another name.",
        "`prompt` contains [score], which means the variable. A block has the name Score: block 1, “How "
        "many?”, which is written [Score]. Give that block another name, so that it is clear which of them "
        "is meant.",
        "`prompt` contains [username], which means the variable. A block has the name userName: block 2, "
        "“Why?”, which no text can name. Give that block another name, so that it is clear which of them is "
        "meant.",
    ]


def test_the_outro_may_have_ambiguous_names_too() -> None:
    thanks = Block("content_block", "Thanks, [q3].", id=30, name="thank_you", section="outro")

    assert [field for field, _ in ambiguous(NAMED, OTHER, outro=(thanks,))] == ["blocks[2].prompt"]


def test_values_that_no_answer_has_are_warned_of() -> None:
    later = Block("open_text", id=10, name="later", precondition='game = "poker" OR game > 1')

    assert warned_of(QUESTION, later) == [
        ("blocks[1].precondition", "unknown_value"),
        ("blocks[1].precondition", "never_true"),
    ]


@try_each("name", ["x{n}", "x{n}" + "y" * 55])
def test_a_script_has_as_many_warnings_as_a_reader_can_use(name: str) -> None:
    names = [f"[{name.format(n=n)}]" for n in range(25)]
    sums = [replace(SUM, id=n, name=f"sum{n}", calculated_formula="+".join(names)) for n in range(200)]

    warned = warnings(Script(tuple(sums)), uses_xp=False, is_anonymous=False, known_achievements=None)

    assert 50 < len(warned) <= MAX_WARNINGS
    assert json_bytes(warned) < 65_536
