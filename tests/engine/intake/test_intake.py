"""Raw JSON is read field by field: types, bounds, nulls and unknown keys."""

from __future__ import annotations

from surveys.engine.intake import fields, reader
from surveys.engine.intake.field_types import BooleanType, ChoiceType, IntegerType, ObjectType, TextType
from surveys.engine.script import (
    Violation,
)
from tests.support.cases import try_each
from tests.support.engine.intake import read_block
from tests.support.engine.violations import (
    ACTION,
    CHOICE,
    CONTENT,
    RATING,
    TEXT,
    Raw,
    block_faults,
    faults,
    options,
    violations,
)

SHAPES = {
    "": (fields.BLOCK, lambda part: {**TEXT, **part}),
    "options[0].": (fields.OPTION, lambda part: {**CHOICE, "options": [{"value": "a", **part}]}),
    "scale.": (fields.SCALE, lambda part: {**RATING, "scale": part}),
    "action_config.": (fields.ACTION_CONFIG, lambda part: {**ACTION, "action_config": part}),
    "continue.": (fields.CONTINUE, lambda part: {**CONTENT, "continue": {"after": "click", **part}}),
}
EVERY_FIELD = [(prefix, key) for prefix, (shape, _) in SHAPES.items() for key in shape.fields]


def shape_faults(raw: object, *, scoring: bool = True) -> list[tuple[str, str]]:
    parsed = reader.read_blocks(raw, path="blocks", scoring=scoring)
    return [(each.field, each.code) for each in parsed.violations]


def test_a_value_of_another_type_is_reported_by_path_and_name() -> None:
    for prefix, key in EVERY_FIELD:
        shape, sent = SHAPES[prefix]
        kind = shape.fields[key].type
        wrong: list[object] = [["a"], 1.5, float("nan"), 10**400]
        wrong += [7] if isinstance(kind, TextType | ChoiceType | BooleanType) else ["text"]
        wrong += [] if isinstance(kind, BooleanType) else [True]
        has_objects = isinstance(kind, ObjectType) or key in ("show_when", "hide_when", "score_values")
        wrong += [] if has_objects else [{"a": 1}]
        for value in wrong:
            parsed = reader.read_blocks([sent({key: value})], path="script.blocks")

            path = f"script.blocks[0].{prefix}{key}"
            violations = [each for each in parsed.violations if each.field.startswith(path)]
            assert violations, (path, value)
            assert all(f"`{key}" in each.message and each.message.endswith(".") for each in violations), path


def test_null_clears_nullable_fields_and_is_refused_elsewhere() -> None:
    for prefix, key in EVERY_FIELD:
        shape, sent = SHAPES[prefix]

        pairs = shape_faults([sent({key: None})])

        expected = [] if shape.fields[key].nullable else [(f"blocks[0].{prefix}{key}", "null")]
        assert (prefix, key, pairs) == (prefix, key, expected)


@try_each(
    ("prefix", "key"),
    [pair for pair in EVERY_FIELD if isinstance(SHAPES[pair[0]][0].fields[pair[1]].type, IntegerType)],
)
def test_integers_are_bounded_on_both_sides(prefix: str, key: str) -> None:
    shape, sent = SHAPES[prefix]
    kind = shape.fields[key].type
    assert isinstance(kind, IntegerType)

    def codes(value: object) -> set[str]:
        pairs = shape_faults([sent({key: value})])
        return {code for field, code in pairs if code in ("too_small", "too_large", "invalid_type")}

    assert codes(kind.minimum) <= {"too_large"}  # an index out of the options sent is another matter
    assert codes(kind.minimum - 1) == {"too_small"}
    assert "too_small" not in codes(kind.maximum)
    assert "too_large" in codes(kind.maximum + 1)
    assert codes(1.0) == {"invalid_type"}
    assert codes(True) == {"invalid_type"}


@try_each(
    ("prefix", "key"),
    [
        pair
        for pair in EVERY_FIELD
        if isinstance(kind := SHAPES[pair[0]][0].fields[pair[1]].type, TextType) and kind.check is None
    ],
)
def test_texts_are_bounded_in_code_points(prefix: str, key: str) -> None:
    shape, sent = SHAPES[prefix]
    kind = shape.fields[key].type
    assert isinstance(kind, TextType)

    assert "too_long" not in [code for _, code in shape_faults([sent({key: "👍" * kind.maximum})])]
    assert shape_faults([sent({key: "👍" * (kind.maximum + 1)})]) == [
        (f"blocks[0].{prefix}{key}", "too_long")
    ]


def test_every_enumeration_takes_its_words_and_no_other() -> None:
    for prefix, key in EVERY_FIELD:
        shape, sent = SHAPES[prefix]
        kind = shape.fields[key].type
        if not isinstance(kind, ChoiceType):
            continue
        refused = (f"blocks[0].{prefix}{key}", "invalid_choice")
        for choice in kind.choices:
            assert refused not in shape_faults([sent({key: choice})]), choice
        for wrong in (kind.choices[0].upper(), f"{kind.choices[0]} ", ""):
            assert shape_faults([sent({key: wrong})]) == [refused], wrong


@try_each(
    ("raw", "expected"),
    [
        ({}, [("type", "required"), ("prompt", "required")]),
        ({"type": "open_text"}, [("prompt", "required")]),
        ({"prompt": "Why?"}, [("type", "required")]),
        ({"type": "open_text", "prompt": ""}, [("prompt", "blank")]),
        ({"type": "open_text", "prompt": " \n"}, [("prompt", "blank")]),
        ({"type": "calculated_block", "prompt": "", "calculated_formula": "1"}, []),
        ({**CHOICE, "options": [{}]}, [("options[0].value", "required")]),
        ({**CHOICE, "options": [{"value": ""}]}, [("options[0].value", "blank")]),
        ({**CHOICE, "options": [{"value": "a"}, "b"]}, [("options[1]", "invalid_type")]),
        ({**CONTENT, "continue": {}}, [("continue.after", "required")]),
    ],
)
def test_required_fields_are_missed(raw: Raw, expected: list[tuple[str, str]]) -> None:
    """Rule 3.2."""
    assert block_faults(raw) == expected


@try_each("raw", ["text", 7, {}, {"blocks": []}, True, 1.5])
def test_a_body_that_is_no_list_of_blocks_is_reported_and_not_raised(raw: object) -> None:
    assert faults(raw) == [("blocks", "invalid_type")]


def test_an_item_that_is_no_block_is_reported_once_and_keeps_its_index() -> None:
    raw: list[object] = [7, None, [], {**TEXT, "precondition": "q1 = 1 OR q2 = 2"}]

    assert faults(raw) == [(f"blocks[{n}]", "invalid_type") for n in range(3)]


def test_200_blocks_are_taken_and_one_more_is_not_but_outro_blocks_do_not_count() -> None:
    assert faults([TEXT] * 200) == []
    assert faults([TEXT] * 201) == [("blocks", "too_many")]
    assert faults([TEXT] * 200 + [{**CONTENT, "section": "outro", "id": 5}]) == []


def test_100_options_are_taken_and_one_more_is_not() -> None:
    assert block_faults({**CHOICE, "options": options(100)}) == []
    assert block_faults({**CHOICE, "options": options(101)}) == [("options", "too_many")]


@try_each(
    ("name", "code"),
    [
        ("a", None),
        ("a" * 64, None),
        ("a" * 65, "too_long"),
        ("favGame 2-b_c", None),
        ("q0", None),
        ("q12", None),
        ("Ærø", None),
        ("", "blank"),
        ("  ", "blank"),
        ("1a", "invalid"),
        ("_a", "invalid"),
        ("a.b", "invalid"),
        ("a\nb", "invalid"),
        ("a[b]", "invalid"),
    ],
)
def test_a_name_begins_with_a_letter_and_has_no_punctuation(name: str, code: str | None) -> None:
    assert block_faults({**TEXT, "name": name}) == ([("name", code)] if code else [])


@try_each(
    ("color", "good"),
    [
        ("5865F2", True),
        ("5865f2", True),
        ("#5865F2", False),
        ("FFF", False),
        ("GGGGGG", False),
        ("٣٣٣٣٣٣", False),
    ],
)
def test_a_color_is_six_hexadecimal_digits(color: str, good: bool) -> None:
    assert bool(block_faults({**CONTENT, "color": color})) is not good


@try_each("key", ["image_url", "thumbnail_url"])
@try_each(
    ("url", "code"),
    [
        ("https://example.com/a.png?b=c#d", None),
        ("https://example.com:8443/a", None),
        ("http://example.com/a.png", "invalid"),
        ("https://ann:secret@example.com/a.png", "not_allowed"),
        ("https://ann@example.com/a.png", "not_allowed"),
        ("https://@example.com/a.png", "not_allowed"),
        ("HTTPS://EXAMPLE.COM", None),
        ("https://[2001:db8::1]/a", None),
        ("https://bücher.example/ä", None),
        ("https://example.com/" + "a" * 2028, None),
        ("https://example.com/" + "a" * 2029, "too_long"),
        ("javascript:alert(1)", "invalid"),
        ("data:image/png;base64,AAAA", "invalid"),
        ("ftp://example.com/a", "invalid"),
        ("//example.com/a", "invalid"),
        ("/a.png", "invalid"),
        ("https://", "invalid"),
        ("https:///a", "invalid"),
        ("https://example.com/a b", "invalid"),
        ("https://example.com/\n", "invalid"),
        ('https://example.com/"onload', "invalid"),
        ("http://[", "invalid"),
        ("http://example.com:port/", "invalid"),
    ],
)
def test_a_picture_is_at_a_web_address(key: str, url: str, code: str | None) -> None:
    assert block_faults({**TEXT, key: url}) == ([(key, code)] if code else [])


@try_each("key", ["label", "emoji"])
def test_empty_text_is_null_in_nullable_fields(key: str) -> None:
    block = read_block({**CHOICE, "options": [{"value": "a", key: ""}]})

    assert getattr(block.options[0], key) is None


@try_each("text", ["a\x00b", "a\ud800b"])
def test_text_that_the_database_cannot_store_is_refused(text: str) -> None:
    assert block_faults({**TEXT, "prompt": text}) == [("prompt", "invalid")]
    condition = {"block": "q0", "op": "eq", "value": text}
    assert ("blocks[1].show_when.value", "invalid") in faults([TEXT, {**TEXT, "show_when": condition}])
    listed = {"block": "q0", "op": "in", "value": [text]}
    assert ("blocks[1].hide_when.value[0]", "invalid") in faults([TEXT, {**TEXT, "hide_when": listed}])


# --- Order, outro, conditions ---------------------------------------------------------------------


def test_options_come_in_display_order_ties_by_the_array() -> None:
    """Rule 3.16."""
    sent = [
        {"value": "a", "display_order": 2},
        {"value": "b"},
        {"value": "c", "display_order": 0},
        {"value": "d", "display_order": 1},
    ]

    block = read_block({**CHOICE, "options": sent})

    assert [(each.value, each.display_order) for each in block.options] == [
        ("c", 0),
        ("b", 1),
        ("d", 2),
        ("a", 3),
    ]


def test_violations_of_options_have_their_index_in_the_array_sent() -> None:
    sent = [{"value": "a", "display_order": 9}, {"value": "b"}, {"value": "a"}]

    assert block_faults({**CHOICE, "options": sent}) == [("options[0].value", "duplicate")]


def test_an_outro_block_needs_its_id() -> None:
    raw = [{**CONTENT, "section": "outro"}]

    assert violations(raw) == [
        Violation("blocks[0].id", "required", "section='outro' requires id for update"),
    ]
    assert faults([{**CONTENT, "section": "outro", "id": 3}]) == []


@try_each(
    ("logic", "precondition"),
    [
        ({"show_when": {"block": "Q0", "op": "eq", "value": "a"}}, 'NOT((Q0 = "a"))'),
        ({"hide_when": {"block": "Q0", "op": "eq", "value": "a"}}, 'Q0 = "a"'),
        ({"precondition": "q1 = 1"}, "q1 = 1"),
        ({"precondition": ""}, None),
        ({"precondition": None, "show_when": None, "hide_when": None}, None),
    ],
)
def test_conditions_come_with_their_compiled_precondition(logic: Raw, precondition: str | None) -> None:
    assert read_block({**TEXT, **logic}).precondition == precondition


LEAF = {"block": "Q0", "op": "eq", "value": "a"}


@try_each(
    ("logic", "expected"),
    [
        ({"show_when": LEAF, "precondition": 'NOT((Q0 = "a"))'}, []),
        ({"hide_when": LEAF, "precondition": 'Q0 = "a"'}, []),
        ({"hide_when": LEAF, "precondition": 'NOT((Q0 = "a"))'}, [("precondition", "conflicting")]),
        ({"show_when": LEAF, "precondition": 'Q0 = "a"'}, [("precondition", "conflicting")]),
        ({"show_when": LEAF, "hide_when": LEAF}, [("hide_when", "conflicting")]),
        ({"show_when": LEAF, "hide_when": LEAF, "precondition": 'Q0 = "a"'}, [("hide_when", "conflicting")]),
        ({"show_when": {}}, [("show_when", "required")]),
        ({"show_when": {"all": []}}, [("show_when.all", "too_few")]),
        (
            {"hide_when": {"any": [LEAF, {"block": "Q0"}]}},
            [("hide_when.any[1].op", "required"), ("hide_when.any[1].value", "required")],
        ),
        ({"hide_when": []}, [("hide_when", "invalid_type")]),
    ],
)
def test_of_the_three_ways_to_write_logic_one_is_sent(logic: Raw, expected: list[tuple[str, str]]) -> None:
    """Rule 4.16."""
    pairs = faults([{**CHOICE, "name": "Q0"}, {**TEXT, **logic}])

    assert pairs == [(f"blocks[1].{field}", code) for field, code in expected]


def test_conditions_nested_without_end_are_refused_and_not_raised() -> None:
    condition: Raw = dict(LEAF)
    for _ in range(2_000):
        condition = {"all": [condition]}

    assert [code for _, code in faults([CHOICE, {**TEXT, "show_when": condition}])] == ["too_deep"]


# --- Unknown keys ---------------------------------------------------------------------------------


def test_unknown_keys_are_ignored_and_listed_by_path() -> None:
    raw = [
        {**TEXT, "promt": 1},
        {**CHOICE, "options": [{"value": "a", "lable": 1}]},
        {**RATING, "scale": {"ikon": 1}},
        {**ACTION, "action_config": {"xp_amount": 1, "xp": 1}},
        {**CONTENT, "continue": {"after": "click", "then": 1}},
        {**TEXT, "show_when": {"all": [{**LEAF, "blok": 1}]}},
    ]

    parsed = reader.read_blocks(raw, path="script.blocks")

    assert parsed.violations == []
    assert parsed.ignored == [
        "script.blocks[0].promt",
        "script.blocks[1].options[0].lable",
        "script.blocks[2].scale.ikon",
        "script.blocks[3].action_config.xp",
        "script.blocks[4].continue.then",
        "script.blocks[5].show_when.all[0].blok",
    ]
    assert parsed.blocks[5].show_when == {"all": [LEAF]}


def test_hostile_keys_are_listed_in_a_form_that_fits_a_header() -> None:
    parsed = reader.read_blocks([{**TEXT, "a\r\nSet-Cookie: b,é": 1, "k" * 1000: 1}], path="blocks")

    assert parsed.ignored == ["blocks[0].a??Set-Cookie? b??", f"blocks[0].{'k' * 64}"]
