"""The OpenAPI schemas of a script agree with the engine's table."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import jsonschema
import pytest
from jsonschema import Draft202012Validator

from surveys.api import blocks
from surveys.engine.intake import fields, reader
from surveys.engine.intake.ordering import order_blocks
from surveys.engine.intake.serialization import script_as_json
from surveys.engine.script import BLOCK_TYPES, ActionConfig, Block, Continue, Option, Scale, Script
from tests.support.cases import try_each
from tests.support.engine.violations import ONE_OF_EACH, Raw

COMPONENTS = blocks.components()
NEVER_SENT = {"scores_ignored", "code", "last_code"}  # what is remembered of a write, not a part of it


def validator(name: str) -> Draft202012Validator:
    schema = {**blocks.ref(name), "components": {"schemas": COMPONENTS}}
    return Draft202012Validator(schema)


@try_each("name", sorted(COMPONENTS))
def test_each_component_is_a_schema_with_a_description(name: str) -> None:
    Draft202012Validator.check_schema(COMPONENTS[name])

    # The blocks of one type have the description of all blocks.
    is_block = {"$ref": "#/components/schemas/BlockFields"} in COMPONENTS[name].get("allOf", ())
    assert is_block or COMPONENTS[name]["description"].endswith(".")
    for key, told in COMPONENTS[name].get("properties", {}).items():
        assert key == "project_id" or told["description"].endswith((".", "...")), key
    json.dumps(COMPONENTS[name])


def test_components_are_the_nouns_of_a_script() -> None:
    mapping = COMPONENTS["Block"]["discriminator"]["mapping"]
    by_type = {reference.rpartition("/")[2]: type for type, reference in mapping.items()}

    assert list(by_type.values()) == list(BLOCK_TYPES)
    assert set(COMPONENTS) - set(by_type) == {
        "ActionConfig",
        "Block",
        "BlockFields",
        "BlockPatch",
        "Condition",
        "Continue",
        "Option",
        "Prompt",
        "Scale",
        "Script",
        "ScriptWarning",
    }


@try_each(
    ("shape", "vocabulary"),
    [
        (fields.BLOCK, Block),
        (fields.OPTION, Option),
        (fields.SCALE, Scale),
        (fields.ACTION_CONFIG, ActionConfig),
        (fields.CONTINUE, Continue),
    ],
)
def test_the_table_and_the_vocabulary_have_the_same_fields(shape: Any, vocabulary: Any) -> None:
    in_table = {field.attribute or key for key, field in shape.fields.items()} - {"correct_answer_id"}

    assert in_table == {each.name for each in dataclasses.fields(vocabulary)} - NEVER_SENT
    assert _properties(shape.name) == set(shape.fields)


def _properties(name: str) -> set[str]:
    """The keys of an object, of a block those of each type."""
    if name != "Block":
        return set(COMPONENTS[name]["properties"])
    _, own = COMPONENTS["BlockPatch"]["allOf"]
    return {*COMPONENTS["BlockFields"]["properties"], *own["properties"]}


@try_each("type_", sorted(ONE_OF_EACH))
def test_what_is_read_fits_the_schema(type_: str) -> None:
    parsed = reader.read_blocks([ONE_OF_EACH[type_]], path="blocks")
    told = script_as_json(Script(blocks=order_blocks(parsed).blocks, scoring_enabled=True))

    validator("Block").validate(ONE_OF_EACH[type_])
    validator("Script").validate({"project_id": "1", "revision": 1, "blocks": told})


@try_each(
    "raw",
    [
        {},
        {"type": "open_text"},
        {"type": "nope", "prompt": "x"},
        {"type": "open_text", "prompt": None},
        {"type": "open_text", "prompt": "x" * 4001},
        {"type": "open_text", "prompt": "x", "position": -1},
        {"type": "open_text", "prompt": "x", "required": "yes"},
        {"type": "open_text", "prompt": "x", "name": ""},
        {"type": "open_text", "prompt": "x", "color": "#ffffff"},
        {"type": "single_punch", "prompt": "x", "options": [{}]},
        {"type": "single_punch", "prompt": "x", "options": [{"value": ""}]},
        {"type": "single_punch", "prompt": "x", "options": [{"value": "a", "anchor_position": "first"}]},
        {"type": "content_block", "prompt": "x", "continue": {}},
        {"type": "open_text", "prompt": "x", "show_when": {"all": []}},
        {"type": "open_text", "prompt": "x", "show_when": {"block": "a", "op": "is", "value": 1}},
    ],
)
def test_what_the_schema_refuses_is_refused_by_the_engine_too(raw: Raw) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator("Block").validate(raw)

    assert reader.read_blocks([raw], path="blocks").violations


def test_a_patch_requires_nothing() -> None:
    validator("BlockPatch").validate({})
    assert "required" not in COMPONENTS["BlockPatch"]


def test_bounds_and_words_are_those_of_the_interface() -> None:
    block, option = COMPONENTS["BlockFields"]["properties"], COMPONENTS["Option"]["properties"]
    own = COMPONENTS["RankingBlock"]["allOf"][1]

    assert own["required"] == ["type", "prompt"]
    assert COMPONENTS["Option"]["required"] == ["value"]
    assert own["properties"]["prompt"] == blocks.ref("Prompt")
    assert COMPONENTS["Prompt"]["maxLength"] == 4000
    assert option["value"] == {**option["value"], "type": "string", "minLength": 1, "maxLength": 500}
    assert block["rank_top_n"] == {**block["rank_top_n"], "type": ["integer", "null"], "minimum": 1}
    assert block["section"]["enum"] == ["intro", "main", "outro", None]
    assert block["options"]["maxItems"] == 1000
    assert block["correct_answer_index"]["deprecated"] is True
    assert block["correct_answer_id"]["writeOnly"] is True
    assert option["anchor_position"]["enum"] == ["last", None]
