"""Reads the names that a page takes from its address, as the tab Delivery shows them: one on each line, some
with values.

campaign                 any value
campaign: mail, poster   these values, which anonymous projects need
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from surveys.engine.language import references
from surveys.engine.script import Script
from surveys.services.ground.metadata import (
    MAX_COMBINATIONS,
    MAX_FIELDS,
    MAX_KEY,
    MAX_VALUE,
    MAX_VALUES,
    combinations,
    is_key,
)

Declared = list[str] | dict[str, list[str]]
MAX_SHOWN = 60  # characters of an invalid name


def read(text: str) -> Declared:
    """The names, one on each line; with their allowed values if any line has values after a colon."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not any(":" in line for line in lines):
        return list(dict.fromkeys(lines))
    parts = [line.partition(":") for line in lines]
    return {
        name.strip(): [value.strip() for value in values.split(",") if value.strip()]
        for name, _, values in parts
    }


def faults(declared: Declared, *, is_anonymous: bool) -> Iterator[str]:
    """The faults of the names and their values, in the words of the form."""
    if len(declared) > MAX_FIELDS:
        yield f"There can be at most {MAX_FIELDS} names; here are {len(declared)}."
        return
    for name in declared:
        if not is_key(name):
            yield _no_name(name)
    if isinstance(declared, dict):
        for name, values in declared.items():
            yield from _faults_of_values(name, values)
        if is_anonymous and combinations(declared) > MAX_COMBINATIONS:
            yield (
                f"On anonymous projects the values have at most {MAX_COMBINATIONS} combinations (one value "
                f"or none of each name); here are {combinations(declared):,}. With more, an address of their "
                "own could name each respondent."
            )
    elif is_anonymous and declared:
        yield (
            "On anonymous projects each name needs the values that are allowed, because any other text could "
            f"tell who answers. Write them behind a colon, such as {_shortened(declared[0])}: mail, poster."
        )


def _no_name(name: str) -> str:
    if not name:
        return "A name is missing before a colon. Write it in front, such as campaign: mail, poster."
    rule = f"use up to {MAX_KEY} small letters (a to z), digits and _"
    return f"“{_shortened(name)}” cannot be a name: {rule}."


def _faults_of_values(name: str, values: Sequence[str]) -> Iterator[str]:
    shown = _shortened(name)
    if not values:
        yield f"“{shown}” has no values. Write them behind a colon, such as {shown}: mail, poster."
    elif len(values) > MAX_VALUES:
        yield f"“{shown}” can have at most {MAX_VALUES} values; here are {len(values)}."
    if any(len(value) > MAX_VALUE for value in values):
        yield f"A value of “{shown}” is longer than {MAX_VALUE} characters."


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_SHOWN else f"{name[: MAX_SHOWN - 1]}…"


def _listed(words: Sequence[object]) -> str:
    """`2`, `2 and 5`, `2, 5 and 7`."""
    *others, last = map(str, words)
    return f"{', '.join(others)} and {last}" if others else last


def missed_in(script: Script, removed: Collection[str]) -> str:
    """A message about names that were removed, but that the script still uses; empty if it uses none."""
    places: Mapping[str, list[int]] = {name: [] for name in removed}
    for number, block in enumerate(script.blocks, start=1):
        for name in references.fields_in(block).intersection(removed):
            places[name].append(number)
    told = [
        f"field.{name} (block{'s' if len(numbers) > 1 else ''} {_listed(numbers)})"
        for name, numbers in places.items()
        if numbers
    ]
    if not told:
        return ""
    return (
        f"The script still uses {_listed(told)}, which the page does not take from its address any more: "
        "it is empty there, unless a personal link or a program sends it along."
    )
