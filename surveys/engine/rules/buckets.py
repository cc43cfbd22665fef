"""The buckets that a script derives from the keys of `score_values` if none are declared (rule 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from surveys.engine.intake.fields import MAX_BUCKET_NAME, MAX_BUCKETS
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import Block, Bucket, Script, Violation


def derive_names(blocks: Sequence[Block]) -> tuple[str, ...]:
    """One bucket name for each key, or `Score` if there are no keys.

    A script whose points were sent while scoring was off has no bucket until the points are sent again.
    """
    keys = dict.fromkeys(
        key for block in blocks for option in block.options for key in option.score_values or ()
    )
    if keys:
        return tuple(dict.fromkeys(map(name_of, keys)))
    return () if any(block.scores_ignored for block in blocks) else ("Score",)


def name_of(key: str) -> str:
    """`fire_mage` → `Fire Mage`; the key itself if that name would not produce the same key."""
    name = key.replace("_", " ").title()
    is_reversible = Bucket(name).key == key and name == name.strip() and len(name) <= MAX_BUCKET_NAME
    return name if is_reversible else key


def violations(script: Script, contexts: Sequence[RuleContext]) -> Iterator[Violation]:
    """Violations for keys that cannot become buckets next to the others.

    Declared buckets are checked when they are declared.
    """
    first: dict[str, str] = {}
    known = frozenset(script.bucket_keys)
    for context in contexts:
        for n, option in enumerate(context.block.options):
            for key in option.score_values or ():
                variable = key.replace("-", "_")
                if key not in known or first.get(variable) == key:
                    continue
                field = f"score_values.{key}"
                if variable in first:
                    message = f"`{field}` and {first[variable]} would be the same variable: score_{variable}."
                    yield context.option_violation(n, field, "duplicate", message)
                elif len(first) == MAX_BUCKETS:
                    message = f"`{field}` would add a bucket, and {MAX_BUCKETS} is the maximum."
                    yield context.option_violation(n, field, "too_many", message)
                    return
                first.setdefault(variable, key)
