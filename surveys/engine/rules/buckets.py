"""The buckets that a script makes of its keys in `score_values`, where none are declared (decisions 7.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from surveys.engine.intake.fields import MAX_BUCKET_NAME, MAX_BUCKETS
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import Block, Bucket, Script, Violation


def derive_names(blocks: Sequence[Block]) -> tuple[str, ...]:
    """One bucket for each key, or `Score` where there is none.

    Points that were sent while scoring was off are awaited: until they are sent again there is no bucket.
    """
    keys = dict.fromkeys(
        key for block in blocks for option in block.options for key in option.score_values or ()
    )
    if keys:
        return tuple(dict.fromkeys(map(name_of, keys)))
    return () if any(block.scores_ignored for block in blocks) else ("Score",)


def name_of(key: str) -> str:
    """`fire_mage` → `Fire Mage`. A name that would not make the key again is the key itself."""
    name = key.replace("_", " ").title()
    makes_the_key = Bucket(name).key == key and name == name.strip() and len(name) <= MAX_BUCKET_NAME
    return name if makes_the_key else key


def violations(script: Script, spots: Sequence[RuleContext]) -> Iterator[Violation]:
    """Each key that cannot have a bucket beside the others. Of declared ones that was asked already."""
    first: dict[str, str] = {}
    known = frozenset(script.bucket_keys)
    for spot in spots:
        for n, option in enumerate(spot.block.options):
            for key in option.score_values or ():
                variable = key.replace("-", "_")
                if key not in known or first.get(variable) == key:
                    continue
                place = f"score_values.{key}"
                if variable in first:
                    message = f"`{place}` and {first[variable]} would be one variable: score_{variable}."
                    yield spot.option_fault(n, place, "duplicate", message)
                elif len(first) == MAX_BUCKETS:
                    message = f"`{place}` would make one bucket more than there may be: {MAX_BUCKETS}."
                    yield spot.option_fault(n, place, "too_many", message)
                    return
                first.setdefault(variable, key)
