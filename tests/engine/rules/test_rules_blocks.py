"""The rules of one block, by its type: both sides of every rule and bound."""

from __future__ import annotations

from itertools import product

from surveys.engine.script import BLOCK_TYPES, QUESTIONS
from tests.support.cases import try_each
from tests.support.engine.script_builder import PICTURE
from tests.support.engine.violations import (
    ACTION,
    CALCULATED,
    CHOICE,
    CONTENT,
    MULTI,
    NPS,
    NUMERIC,
    ONE_OF_EACH,
    OPINION,
    RANKING,
    RATING,
    TEXT,
    Raw,
    block_faults,
    options,
    points,
    violations,
)

GRADABLE = {"single_punch", "multi_punch", "rating", "opinion_scale", "nps"}
SCALES = {"rating", "opinion_scale", "nps"}
# A value that is not empty, and the types that allow it.
BELONGS = {
    "options": ([{"value": "1", "label": "One"}], GRADABLE | {"ranking"}),
    "min": (1, {"multi_punch", "open_numeric", "rating", "opinion_scale"}),
    "max": (2, {"multi_punch", "open_numeric", "rating", "opinion_scale"}),
    "action_kind": ("give_xp", {"action_block"}),
    "action_config": ({"xp_amount": 5}, {"action_block"}),
    "scale": ({"icon": "numbers"}, SCALES),
    "randomize_options": (True, {"single_punch", "multi_punch", "ranking"}),
    "rank_top_n": (1, {"ranking"}),
    "calculated_formula": ("1", {"calculated_block"}),
    "continue": ({"after": "click"}, {"content_block", "action_block"}),
    "when_correct": ("Yes", GRADABLE),
    "when_incorrect": ("No", GRADABLE),
}
HARMLESS = {
    "options": [],
    "action_config": {"xp_amount": None, "fire_scope": None},
    "scale": {"icon": None, "label_left": None},
    "randomize_options": False,
    "correct_answer_ids": [],
}


def test_a_block_has_one_of_eleven_types() -> None:
    """Rule 3.1."""
    assert len(BLOCK_TYPES) == 11
    assert {*BLOCK_TYPES} - QUESTIONS == {"content_block", "action_block", "calculated_block"}
    assert [type_ for type_ in BLOCK_TYPES if block_faults(ONE_OF_EACH[type_])] == []
    assert block_faults({**TEXT, "type": "slider"}) == [("type", "invalid_choice")]


def test_a_field_of_another_type_is_not_allowed() -> None:
    for key, type_ in product(BELONGS, BLOCK_TYPES):
        value, types = BELONGS[key]

        pairs = block_faults({**ONE_OF_EACH[type_], key: value})

        if key in ("min", "max") and type_ == "nps":
            assert [code for _, code in pairs] == ["too_large" if key == "min" else "too_small"]
        else:
            assert ((key, "not_allowed") in pairs) is (type_ not in types), (key, type_)


def test_a_field_of_another_type_that_says_nothing_is_harmless() -> None:
    for key, type_ in product(HARMLESS, BLOCK_TYPES):
        if type_ in ("single_punch", "multi_punch", "ranking") and key == "options":
            continue
        if type_ == "action_block" and key == "action_config":
            continue

        assert block_faults({**ONE_OF_EACH[type_], key: HARMLESS[key]}) == [], (key, type_)


@try_each("type_", BLOCK_TYPES)
def test_common_fields_are_allowed_on_every_type(type_: str) -> None:
    common = {
        "color": "ffffff",
        "image_url": PICTURE,
        "thumbnail_url": PICTURE,
        "required": True,
    }

    assert block_faults({**ONE_OF_EACH[type_], **common}) == []


@try_each("type_", sorted(BLOCK_TYPES))
def test_only_a_calculated_block_may_have_an_empty_prompt(type_: str) -> None:
    """Rule 3.2."""
    pairs = block_faults({**ONE_OF_EACH[type_], "prompt": ""})

    assert pairs == ([] if type_ == "calculated_block" else [("prompt", "blank")])


@try_each(
    ("raw", "expected"),
    [
        (CALCULATED, []),
        ({**CALCULATED, "calculated_formula": None}, [("calculated_formula", "required")]),
        ({**CALCULATED, "calculated_formula": " "}, [("calculated_formula", "required")]),
        ({**CALCULATED, "calculated_formula": 7}, [("calculated_formula", "invalid_type")]),
        ({"type": "calculated_block", "prompt": ""}, [("calculated_formula", "required")]),
    ],
)
def test_a_calculated_block_has_a_formula(raw: Raw, expected: list[tuple[str, str]]) -> None:
    assert block_faults(raw) == expected


@try_each("type_", ["single_punch", "multi_punch", "ranking"])
@try_each("sent", [{"options": None}, {"options": []}, {}])
def test_choices_and_rankings_have_options(type_: str, sent: Raw) -> None:
    """Rule 3.12."""
    raw = {"type": type_, "prompt": "Which?", **sent}

    assert block_faults(raw) == [("options", "required")]


@try_each(("count", "expected"), [(1, ["too_few"]), (2, []), (20, []), (21, ["too_many"])])
def test_a_ranking_takes_2_to_20_items(count: int, expected: list[str]) -> None:
    """Rule 3.12."""
    assert [code for _, code in block_faults({**RANKING, "options": options(count)})] == expected


def test_a_choice_takes_a_single_option() -> None:
    assert block_faults({**CHOICE, "options": options(1)}) == []


@try_each(
    ("type_", "allowed"),
    [
        ("single_punch", {"full_text", "emoji_only", "select_menu", "buttons"}),
        ("multi_punch", {"full_text", "emoji_only", "select_menu", "buttons"}),
        ("ranking", {"full_text", "emoji_only"}),
        ("rating", {"buttons", "select_menu"}),
        ("opinion_scale", {"buttons", "select_menu"}),
        ("nps", {"buttons", "select_menu"}),
        # Elsewhere a style has no effect, and does no harm.
        ("open_text", {"full_text", "emoji_only", "select_menu", "buttons"}),
        ("content_block", {"full_text", "emoji_only", "select_menu", "buttons"}),
    ],
)
def test_answer_styles_suit_the_type(type_: str, allowed: set[str]) -> None:
    """Rules 3.18 and 3.19."""
    for style in ("full_text", "emoji_only", "select_menu", "buttons"):
        pairs = block_faults({**ONE_OF_EACH[type_], "answer_style": style})
        assert pairs == ([] if style in allowed else [("answer_style", "not_allowed")])
    assert block_faults({**ONE_OF_EACH[type_], "answer_style": None}) == []


@try_each(
    ("raw", "expected"),
    [
        ({**NUMERIC, "min": 5, "max": 5}, []),
        ({**NUMERIC, "min": -(10**15), "max": 10**15}, []),
        ({**NUMERIC, "min": 6, "max": 5}, [("min", "too_large")]),
        ({**NUMERIC, "min": 10**15 + 1}, [("min", "too_large")]),
        ({**NUMERIC, "min": 1.5}, [("min", "invalid_type")]),
        ({**MULTI, "min": 0, "max": 1}, []),
        ({**MULTI, "min": 2, "max": 2}, []),
        ({**MULTI, "min": 2, "max": 1}, [("min", "too_large")]),
        ({**MULTI, "min": -1}, [("min", "too_small")]),
        ({**MULTI, "max": 0}, [("max", "too_small")]),
        ({**MULTI, "max": 3}, [("max", "too_large")]),
        ({**MULTI, "min": 3}, [("min", "too_large")]),
        ({**MULTI, "max": 3, "options": "a"}, [("options", "invalid_type")]),
    ],
)
def test_limits_of_counts_and_values(raw: Raw, expected: list[tuple[str, str]]) -> None:
    assert block_faults(raw) == expected


@try_each(
    ("top", "expected"),
    [(None, []), (1, []), (2, []), (3, [("rank_top_n", "too_large")]), (0, [("rank_top_n", "too_small")])],
)
def test_rank_top_n_is_one_to_the_number_of_items(top: int | None, expected: list[tuple[str, str]]) -> None:
    assert block_faults({**RANKING, "rank_top_n": top}) == expected


# --- Scales ---------------------------------------------------------------------------------------


@try_each(
    ("raw", "low", "high", "expected"),
    [
        (RATING, None, None, []),
        (RATING, 1, 2, []),
        (RATING, 1, 10, []),
        (RATING, None, 10, []),
        (RATING, 1, 1, [("max", "too_small")]),
        (RATING, 1, 11, [("max", "too_large")]),
        (RATING, None, -3, [("max", "too_small")]),
        (RATING, 0, 5, [("min", "too_small")]),
        (RATING, 2, 5, [("min", "too_large")]),
        (OPINION, None, None, []),
        (OPINION, 0, 1, []),
        (OPINION, 0, 10, []),
        (OPINION, 1, 2, []),
        (OPINION, 1, 11, []),
        (OPINION, 0, 0, [("max", "too_small")]),
        (OPINION, 0, 11, [("max", "too_large")]),
        (OPINION, 1, 12, [("max", "too_large")]),
        (OPINION, 1, 1, [("max", "too_small")]),
        (OPINION, -1, 5, [("min", "too_small")]),
        (OPINION, 2, 5, [("min", "too_large")]),
        (NPS, None, None, []),
        (NPS, 0, 10, []),
        (NPS, 0, None, []),
        (NPS, 1, 10, [("min", "too_large")]),
        (NPS, -1, 10, [("min", "too_small")]),
        (NPS, 0, 9, [("max", "too_small")]),
        (NPS, 0, 11, [("max", "too_large")]),
        (RATING, "1", 5, [("min", "invalid_type")]),
    ],
)
def test_scales_have_their_range(
    raw: Raw, low: object, high: object, expected: list[tuple[str, str]]
) -> None:
    """Rule 3.21."""
    assert block_faults({**raw, "min": low, "max": high}) == expected


@try_each("key", ["label_left", "label_center", "label_right"])
def test_anchors_are_for_scales_other_than_nps(key: str) -> None:
    """Rule 3.22."""
    assert block_faults({**RATING, "scale": {key: "Bad"}}) == []
    assert block_faults({**OPINION, "scale": {key: "Bad"}}) == []
    assert block_faults({**NPS, "scale": {key: "Bad"}}) == [(f"scale.{key}", "not_allowed")]
    assert block_faults({**NPS, "scale": {key: None, "icon": "numbers"}}) == []


@try_each(
    ("key", "expected"),
    [("label_left", ["conflicting"]), ("label_right", ["conflicting"]), ("label_center", [])],
)
def test_anchors_do_not_stand_beside_labels_on_the_points(key: str, expected: list[str]) -> None:
    """Rule 3.22."""
    labelled = {**RATING, "options": points(1, 5, label="so"), "scale": {key: "Bad"}}
    pictured = {**RATING, "options": points(1, 5, emoji="👍"), "scale": {key: "Bad"}}

    assert [code for _, code in block_faults(labelled)] == expected
    assert block_faults(pictured) == []


@try_each("high", [4, 5])
def test_a_centre_label_is_accepted_even_without_a_middle_point(high: int) -> None:
    assert block_faults({**RATING, "max": high, "scale": {"label_center": "So so"}}) == []


@try_each(
    ("raw", "expected"),
    [
        ({**RATING, "options": points(1, 5, label="so")}, []),
        ({**OPINION, "options": points(0, 10, emoji="👍")}, []),
        ({**OPINION, "min": 1, "max": 11, "options": points(1, 11, emoji="👍")}, []),
        ({**NPS, "options": points(0, 10, label="so")}, []),
        ({**RATING, "options": points(1, 4, label="so")}, [("options", "too_few")]),
        (
            {**RATING, "options": points(1, 6, label="so")},
            [("options", "too_many"), ("options[5].value", "invalid_choice")],
        ),
        ({**RATING, "options": points(0, 4, label="so")}, [("options[0].value", "invalid_choice")]),
        (
            {**RATING, "max": 2, "options": [{"value": "1", "label": "a"}, {"value": "1", "label": "b"}]},
            [("options[1].value", "duplicate")],
        ),
        (
            {**RATING, "max": 2, "options": [{"value": "01", "label": "a"}, {"value": "2", "emoji": "👍"}]},
            [("options[0].value", "invalid_choice")],
        ),
        (
            {**RATING, "max": 2, "options": [{"value": "1"}, {"value": "2", "label": ""}]},
            [("options[0].label", "required"), ("options[1].label", "required")],
        ),
        (
            {**RATING, "max": 2, "options": [{"value": 1, "label": "a"}, {"value": "2", "label": "b"}]},
            [("options[0].value", "invalid_type")],
        ),
        ({**RATING, "max": 12, "options": points(1, 3, label="so")}, [("max", "too_large")]),
    ],
)
def test_options_of_a_scale_present_its_points(raw: Raw, expected: list[tuple[str, str]]) -> None:
    assert block_faults(raw) == expected


@try_each(
    ("given", "expected"),
    [
        (points(1, 2, emoji="👍"), []),
        (None, [("options", "required")]),
        (
            [{"value": "1", "emoji": "👍"}, {"value": "2", "label": "Good"}],
            [("options[1].emoji", "required")],
        ),
    ],
)
def test_emoji_as_icon_need_an_emoji_on_each_point(given: object, expected: list[tuple[str, str]]) -> None:
    assert block_faults({**RATING, "max": 2, "scale": {"icon": "emoji"}, "options": given}) == expected


# --- Actions, pauses, feedback --------------------------------------------------------------------


@try_each(
    ("kind", "config", "expected"),
    [
        ("give_xp", {"xp_amount": 0}, []),
        ("give_xp", {"source_key": "score"}, []),
        ("give_xp", {"source_key": "max_score_correct_fire_mage", "fire_scope": "session"}, []),
        ("give_xp", {"source_key": "favGame"}, [("action_config.source_key", "unknown_reference")]),
        ("give_xp", {"xp_amount": 1, "source_key": "score"}, [("action_config.source_key", "conflicting")]),
        ("give_xp", {"xp_amount": -1}, [("action_config.xp_amount", "too_small")]),
        ("give_xp", {}, [("action_config.xp_amount", "required")]),
        ("give_xp", None, [("action_config", "required")]),
        ("give_xp", {"xp_amount": 1, "role_id": "7"}, [("action_config.role_id", "not_allowed")]),
        ("give_role", {"role_id": "7"}, []),
        ("give_role", {"role_id": 7}, [("action_config.role_id", "invalid_type")]),
        ("give_role", {"role_id": "9" * 20}, []),
        ("give_role", {"role_id": "9" * 21}, [("action_config.role_id", "too_long")]),
        ("give_role", {"role_id": "07"}, [("action_config.role_id", "invalid")]),
        ("give_role", {"role_id": "@everyone"}, [("action_config.role_id", "invalid")]),
        ("give_role", {"role_id": "\u0667"}, [("action_config.role_id", "invalid")]),
        ("give_xp", {"xp_amount": 1_000_000}, []),
        ("give_xp", {"xp_amount": 1_000_001}, [("action_config.xp_amount", "too_large")]),
        ("give_role", {"fire_scope": "respondent"}, [("action_config.role_id", "required")]),
        ("give_achievement", {"xp_role_id": 7}, []),
        ("give_achievement", {"xp_role_id": 0}, [("action_config.xp_role_id", "too_small")]),
        ("give_achievement", {}, [("action_config.xp_role_id", "required")]),
        (None, {"xp_amount": 1}, [("action_kind", "required")]),
        ("give_gold", {"xp_amount": 1}, [("action_kind", "invalid_choice")]),
    ],
)
def test_an_action_needs_what_it_gives(
    kind: str | None, config: object, expected: list[tuple[str, str]]
) -> None:
    assert block_faults({**ACTION, "action_kind": kind, "action_config": config}) == expected


@try_each("raw", [CONTENT, ACTION])
@try_each(
    ("sent", "expected"),
    [
        ({"after": "click"}, []),
        ({"after": "click", "pause": 5, "label": "On"}, []),
        ({"after": "pause", "pause": 1}, []),
        ({"after": "pause", "pause": 300}, []),
        ({"after": "pause", "pause": 0}, [("continue.pause", "too_small")]),
        ({"after": "pause", "pause": 301}, [("continue.pause", "too_large")]),
        ({"after": "pause"}, [("continue.pause", "required")]),
        ({"after": "never"}, [("continue.after", "invalid_choice")]),
        ({"after": None, "pause": 5}, [("continue.after", "null")]),
        ({"pause": 5}, [("continue.after", "required")]),
    ],
)
def test_one_goes_on_by_a_click_or_after_a_pause(
    raw: Raw, sent: Raw, expected: list[tuple[str, str]]
) -> None:
    assert block_faults({**raw, "continue": sent}) == expected


@try_each("key", ["when_correct", "when_incorrect"])
def test_feedback_needs_a_correct_answer(key: str) -> None:
    assert block_faults({**CHOICE, key: "So."}) == [("correct_answer_ids", "required")]
    assert block_faults({**CHOICE, key: "So.", "correct_answer_index": 0}) == []
    assert block_faults({**CHOICE, key: ""}) == []
    with_ids = {**CHOICE, "options": [{"id": 1, "value": "a"}], key: "So."}
    assert block_faults({**with_ids, "correct_answer_ids": [1]}) == []
    assert block_faults({**with_ids, "correct_answer_id": 1}) == []


def test_a_correct_answer_is_for_choices_and_scales() -> None:
    scale = {**RATING, "max": 2, "options": points(1, 2, label="so"), "correct_answer_index": 1}

    assert block_faults(scale) == []
    assert block_faults({**RANKING, "correct_answer_index": 1}) == [("correct_answer_index", "not_allowed")]
    assert block_faults({**TEXT, "correct_answer_index": 1}) == [("correct_answer_index", "too_large")]


# --- Scores ---------------------------------------------------------------------------------------


def scored(*keys: str) -> Raw:
    return {**CHOICE, "options": [{"value": "a", "score_values": dict.fromkeys(keys, 1)}]}


def test_score_values_match_the_declared_buckets() -> None:
    assert block_faults(scored("fire"), scoring=True, bucket_keys=["fire", "ice"]) == []
    assert block_faults(scored("fire", "Ice"), scoring=True, bucket_keys=["fire", "ice"]) == [
        ("options[0].score_values.Ice", "unknown_reference")
    ]


def test_without_declared_buckets_every_key_makes_one() -> None:
    assert block_faults(scored("fire", "anything"), scoring=True) == []


@try_each(
    ("source", "expected"),
    [("score_fire", []), ("correct_answers", []), ("score_ice", ["unknown_reference"])],
)
def test_score_variables_of_actions_match_the_declared_buckets(source: str, expected: list[str]) -> None:
    raw = {**ACTION, "action_config": {"source_key": source}}

    assert [code for _, code in block_faults(raw, scoring=True, bucket_keys=["fire"])] == expected
    assert block_faults(raw, scoring=False, bucket_keys=["fire"]) == []


def test_an_unknown_bucket_is_reported_with_where_to_declare_it() -> None:
    raw = [scored("ice"), {**ACTION, "action_config": {"source_key": "score_ice"}}]

    messages = [violation.message for violation in violations(raw, scoring=True, bucket_keys=["fire"])]

    where = "The buckets are: fire. Declare another in the project's `scoring.buckets`."
    assert messages == [
        f"`score_values` has the key ice, which matches no bucket. {where}",
        f"`source_key` score_ice matches no bucket. {where}",
    ]


def test_every_message_names_its_field_and_is_a_sentence() -> None:
    raw = [
        {"type": "nope", "prompt": 7},
        {**RANKING, "options": options(1), "rank_top_n": 5, "answer_style": "buttons", "min": 1},
        {**RATING, "min": 4, "scale": {"icon": "emoji", "label_left": 1}, "randomize_options": True},
        {**ACTION, "action_config": {}, "continue": {"after": "pause"}},
        {**CALCULATED, "calculated_formula": ""},
    ]

    for violation in violations(raw):
        leaf = violation.field.rsplit(".", 1)[-1].split("[")[0]
        assert f"`{leaf}" in violation.message or "`action_config`" in violation.message, violation
        assert violation.message.endswith(".")
