"""A rating block with a precondition."""

from __future__ import annotations

from surveys.engine.script import Block, Scale

RATING = Block(
    "rating",
    "How?",
    id=3,
    name="how",
    precondition="FavGame in [1] OR q1 = 2",
    scale=Scale("stars"),
    position=2,
)
