"""Facts about models: the prices of their tokens, the requirements of their caches, and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one response. `uncached` counts input that was neither read from nor written to a cache."""

    uncached: int = 0
    cache_writes: int = 0
    cache_reads: int = 0
    output: int = 0

    @property
    def input(self) -> int:
        """All tokens of the input, cached or not."""
        return self.uncached + self.cache_writes + self.cache_reads


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """US dollars for a million tokens. `cache_writes` are cached for five minutes."""

    uncached: float
    output: float
    cache_writes: float
    cache_reads: float

    def cost_of(self, usage: TokenUsage) -> float:
        """US dollars for all tokens of a response."""
        total = self.uncached * usage.uncached + self.output * usage.output
        total += self.cache_writes * usage.cache_writes + self.cache_reads * usage.cache_reads
        return total / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about one model. `long_prices`, if any, apply to inputs of more than `long_from` tokens.

    A beginning of fewer than `cacheable_from` tokens is not cached.
    """

    prices: TokenPrices
    accepts_effort: bool = True
    cacheable_from: int = 1_024
    long_from: int = 0
    long_prices: TokenPrices | None = None


# From the provider's pages on its models and prices (platform.claude.com/docs), read on 21 November 2026. A
# model that is missing here, as every model of another provider, has no known price: None, never 0.
MODELS: Mapping[str, ModelInfo] = {
    "claude-opus-5-5": ModelInfo(TokenPrices(4.0, 20.0, 5.0, 0.2)),
    "claude-sonnet-5-5": ModelInfo(TokenPrices(2.0, 10.0, 2.5, 0.1)),
    "claude-haiku-5-5": ModelInfo(
        TokenPrices(0.1, 0.5, 0.125, 0.01),
        # We could not look up this number, so it is the number of the model's predecessor.
        cacheable_from=4_096,
        long_from=100_000,
        long_prices=TokenPrices(0.5, 2.5, 0.625, 0.05),
    ),
    "claude-haiku-4-5": ModelInfo(
        TokenPrices(1.0, 5.0, 1.25, 0.1), accepts_effort=False, cacheable_from=4_096
    ),
}


# A token in a bulk costs this part of its price, by the provider's page on batch processing.
BULK_SHARE = 0.5


def cost_of(model: str, usage: TokenUsage, *, in_bulk: bool = False) -> float | None:
    """The price of a response in US dollars; None for a model whose prices we do not know."""
    info = MODELS.get(model)
    if info is None:
        return None
    prices = info.long_prices if info.long_prices and usage.input > info.long_from else info.prices
    return round(prices.cost_of(usage) * (BULK_SHARE if in_bulk else 1), 6)


def accepts_effort(model: str) -> bool:
    """Whether a model has the `effort` setting. Other models refuse a request that contains it."""
    return model in MODELS and MODELS[model].accepts_effort


def can_cache(model: str, *, characters: int) -> bool:
    """Return whether the API can cache the first `characters` characters of a prompt. A token has about four
    characters.
    """
    return model in MODELS and characters / 4 >= MODELS[model].cacheable_from
