"""Formulas evaluated with values of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from surveys.engine.language.formulas import parse
from surveys.engine.language.values import Value

VALUES: Mapping[str, Value] = {
    "a": Decimal(1),
    "b": Decimal(2),
    "c": Decimal(3),
    "three": Decimal(3),
    "half": Decimal("0.5"),
    "zero": Decimal("0.0"),
    "minus": Decimal(-4),
    "game": "chess",
    "digits": "20.0",
    "day": "2026-01-31",
    "later": "2026-03-01",
    "odd": "1e5",
    "empty": "",
    "false": "false",
    "list": ("chess", "go"),
    "one": ("chess",),
    "one five": ("5",),
    "none": (),
    "flag": True,
    "Fav Game-2": Decimal(7),
    "huge": Decimal("1E+99"),
    "nan": Decimal("NaN"),
    "snan": Decimal("sNaN"),
    "infinite": Decimal("-Infinity"),
    "far": Decimal("1E+999999999"),
    "near": Decimal("1E-999999999"),
    "score_fire_mage": Decimal(5),
    "score_warrior": Decimal(5),
    "score_rogue": Decimal(4),
}
BUCKETS = {"score_fire_mage": "Fire Mage", "score_warrior": "warriorOfOld", "score_rogue": "2024"}


def result(text: str, values: Mapping[str, Value] = VALUES) -> Decimal | str:
    """The value of a formula, a number or a text."""
    return parse(text).evaluate(values.get, lambda name: BUCKETS.get(name, name))
