"""The names that the script editor offers for logic, formulas and texts."""

from __future__ import annotations

from typing import Any

from surveys.engine.flow import vocabulary
from surveys.engine.language import conditions, piping, references
from surveys.engine.script import BLOCK_TYPES, QUESTIONS, Bucket, Script
from tests.support.cases import try_each

SCORED = Script((), scoring_enabled=True, buckets=(Bucket("Fire Mage"), Bucket("Ice-cold")))


def names_of(terms: Any) -> set[str]:
    return {term["name"] for term in terms}


def test_the_variables_are_those_of_the_language() -> None:
    plain = vocabulary.as_json(Script(()), declared_fields={})
    scored = vocabulary.as_json(SCORED, declared_fields={})

    assert names_of(plain["variables"]) == {"answer"}
    known = references.variables(SCORED)
    assert names_of(scored["variables"]) == {name for name in known if "-" not in name}
    meanings = {term["name"]: term["meaning"] for term in scored["variables"]}  # type: ignore[attr-defined]
    assert meanings["score_fire_mage"] == "The points so far for Fire Mage."
    assert meanings["score"] == "The points so far, over all scores together."
    assert all(meaning.endswith(".") for meaning in meanings.values())


def test_the_tokens_of_prompts_are_those_that_are_filled_in() -> None:
    found = vocabulary.as_json(SCORED, declared_fields={})

    prompt_only = names_of(found["tokens"]) - names_of(found["variables"]) | names_of(found["xp_tokens"])
    assert {name.lower() for name in prompt_only} == piping.PROMPT_VARIABLES


def test_every_type_that_has_a_value_has_operators_that_conditions_know() -> None:
    assert set(vocabulary.KINDS) == QUESTIONS | {"calculated_block"}
    assert set(vocabulary.KINDS) < set(BLOCK_TYPES)
    for kind in set(vocabulary.KINDS.values()):
        assert {operator.op for operator in vocabulary.operators(kind)} <= set(conditions.OPERATORS)


@try_each("kind", ["choice", "choices", "number", "text", "any"])
def test_every_operator_has_words_for_every_kind(kind: str) -> None:
    assert all(vocabulary.operator_words(op, kind) for op in conditions.OPERATORS)


def test_buckets_have_the_name_people_see_and_their_key() -> None:
    assert vocabulary.as_json(SCORED, declared_fields={})["buckets"] == [
        {"name": "Fire Mage", "key": "fire_mage"},
        {"name": "Ice-cold", "key": "ice-cold"},
    ]


def test_declared_fields_have_the_name_that_the_language_knows_and_their_values() -> None:
    found = vocabulary.as_json(Script(()), declared_fields={"customer": (), "campaign": ["mail"]})

    meaning = "What the address of the page, or a personal link, sends along."
    assert found["fields"] == [
        {"name": "field.customer", "meaning": meaning, "called": "Field “customer”", "values": []},
        {"name": "field.campaign", "meaning": meaning, "called": "Field “campaign”", "values": ["mail"]},
    ]
    assert [references.resolve("field.customer", Script(()))] == ["field.customer"]
