"""The buckets that a script derives from the keys of its score values (rules 5.2 and 5.3)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from surveys.engine.intake.field_paths import stored_paths
from surveys.engine.intake.reader import read_blocks
from surveys.engine.rules import buckets
from surveys.engine.rules import script as script_rules
from surveys.engine.script import Block, Bucket, Option, Script
from tests.support.cases import try_each


def weighed(*keys: str) -> Block:
    options = tuple(Option(f"option {n}", score_values={key: Decimal(1)}) for n, key in enumerate(keys))
    return Block("single_punch", "Which?", name="game", options=options)


def faults(*blocks: Block) -> list[tuple[str, str]]:
    """The violations of a script without declared buckets."""
    script = Script(blocks, scoring_enabled=True, buckets=tuple(map(Bucket, buckets.derive_names(blocks))))
    violations = script_rules.check(
        script, block_paths=stored_paths(script, path="blocks"), chat=False, bucket_keys=script.bucket_keys
    )
    assert all(each.message.endswith(".") for each in violations)
    return [(each.field, each.code) for each in violations]


@try_each(
    ("key", "name"),
    [
        ("fire_mage", "Fire Mage"),
        ("half-elf", "Half-Elf"),
        ("a_", "a_"),
        ("_a", "_a"),
        ("_", "_"),
        ("stra\u00dfe", "Stra\u00dfe"),
        ("\u00df", "\u00df"),
        ("Fire", "Fire"),
        ("fire mage", "fire mage"),
        ("_".join(["\u01f0"] * 32), "_".join(["\u01f0"] * 32)),  # longer, once capitals are two characters
    ],
)
def test_a_bucket_is_named_so_that_its_name_makes_the_key(key: str, name: str) -> None:
    assert buckets.name_of(key) == name


@given(st.text(min_size=1, max_size=64))
def test_any_key_makes_a_valid_bucket_or_is_refused(text: str) -> None:
    raw = {"type": "single_punch", "prompt": "?", "options": [{"value": "a", "score_values": {text: 1}}]}
    parsed = read_blocks([raw], path="blocks")
    if parsed.violations:
        return
    (name,) = buckets.derive_names(parsed.blocks)

    accepted = faults(replace(parsed.blocks[0], name="game")) == []

    (key,) = parsed.blocks[0].scored_buckets
    assert accepted is (Bucket(name).key == key)
    assert not accepted or (name == name.strip() and 1 <= len(name) <= 64)


def test_without_keys_there_is_one_bucket_unless_points_are_awaited() -> None:
    plain = Block("open_text", "Why?", name="why")
    awaiting = replace(plain, scores_ignored=True)

    assert buckets.derive_names([plain]) == ("Score",)
    assert buckets.derive_names([plain, awaiting]) == ()
    assert buckets.derive_names([weighed("warm"), awaiting]) == ("Warm",)


def test_two_keys_of_one_variable_are_refused() -> None:
    assert faults(weighed("a-b", "c"), replace(weighed("a-b", "a_b"), name="other")) == [
        ("blocks[1].options[1].score_values.a_b", "duplicate")
    ]


def test_the_hundred_and_first_bucket_is_refused() -> None:
    hundred = weighed(*(f"k{n}" for n in range(100)))

    assert faults(hundred) == []
    assert faults(hundred, replace(weighed("k0", "k100", "k101"), name="other")) == [
        ("blocks[1].options[1].score_values.k100", "too_many")
    ]
