"""What is known of models: what their tokens cost, and whether they can be told how much to think."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer. `fresh` are those of the input that no cache had or kept."""

    fresh: int = 0
    cache_writes: int = 0
    cache_reads: int = 0
    output: int = 0

    @property
    def input(self) -> int:
        return self.fresh + self.cache_writes + self.cache_reads


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; `cache_writes` are those kept for five minutes."""

    fresh: float
    output: float
    cache_writes: float
    cache_reads: float

    def of(self, usage: Usage) -> float:
        total = self.fresh * usage.fresh + self.output * usage.output
        total += self.cache_writes * usage.cache_writes + self.cache_reads * usage.cache_reads
        return total / 1_000_000


@dataclass(frozen=True, slots=True)
class Model:
    """`long` is the price of prompts above `long_from` tokens, where they have one of their own."""

    price: Price
    takes_effort: bool = True
    long_from: int = 0
    long: Price | None = None


# The provider's own pages on each model and on pricing (platform.claude.com/docs), read on 21 November 2026.
MODELS: Mapping[str, Model] = {
    "claude-opus-5-5": Model(Price(4.0, 20.0, 5.0, 0.2)),
    "claude-sonnet-5-5": Model(Price(2.0, 10.0, 2.5, 0.1)),
    "claude-haiku-5-5": Model(
        Price(0.1, 0.5, 0.125, 0.01), long_from=100_000, long=Price(0.5, 2.5, 0.625, 0.05)
    ),
    "claude-haiku-4-5": Model(Price(1.0, 5.0, 1.25, 0.1), takes_effort=False),
}


def cost(model: str, usage: Usage) -> float | None:
    """US dollars; None for a model whose price is not known."""
    known = MODELS.get(model)
    if known is None:
        return None
    price = known.long if known.long and usage.input > known.long_from else known.price
    return round(price.of(usage), 6)


def takes_effort(model: str) -> bool:
    """Whether it can be told how much to think. Others refuse a request that tells them."""
    return model in MODELS and MODELS[model].takes_effort
