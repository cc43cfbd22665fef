"""The calls to a model, their tokens and their costs: added up for a caller, and for the metrics of the
installation.

    with measure() as spent:            # in the thread that calls the provider
        provider.assign_themes(batch)
    spent.cost_usd                      # None if a price is not known

A thread that is started inside the block is not measured, unless the thread runs in a copy of the context.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from redis.exceptions import RedisError

from communities.ground import redis_connection

# Hashes in Redis; their fields are the labels of a metric, joined by `|`.
CALLS, TOKENS, COSTS = "colloquy:ai:calls", "colloquy:ai:tokens", "colloquy:ai:costs"
FOLLOW_UPS = "colloquy:ai:follow_ups"
# The further questions of one community on one day, by outcome.
FOLLOW_UPS_OF_DAY = "colloquy:ai:follow_ups:{community}:{day}"
DAYS_TOLD = 7
log = structlog.get_logger("colloquy.ai")


@dataclass(slots=True)
class Spending:
    """The calls of a piece of work, their tokens, and their price. Threads may add to it at the same time.

    `input_tokens` include tokens read from a cache. `cost_usd` is None if the price of any call is unknown.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, other: Spending) -> None:
        """Add another spending, such as the spending of one call or of another thread."""
        with self._lock:
            self.calls += other.calls
            self.input_tokens += other.input_tokens
            self.output_tokens += other.output_tokens
            if self.cost_usd is not None:
                is_known = other.cost_usd is not None
                self.cost_usd = round(self.cost_usd + (other.cost_usd or 0), 6) if is_known else None

    def as_json(self) -> dict[str, float | None]:
        """Return the current sums, for storing."""
        with self._lock:
            names = ("calls", "input_tokens", "output_tokens", "cost_usd")
            return {name: getattr(self, name) for name in names}


_measured: ContextVar[tuple[Spending, ...]] = ContextVar("measured", default=())


@contextmanager
def measure(spent: Spending | None = None) -> Iterator[Spending]:
    """Add up the costs of the calls inside the block, in `spent` if given. In nested blocks, each block adds
    up its own calls.
    """
    spent = spent or Spending()
    token = _measured.set((*_measured.get(), spent))
    try:
        yield spent
    finally:
        _measured.reset(token)


def record(
    spent: Spending, *, provider: str, model: str, purpose: str, outcome: str, cached_tokens: int
) -> None:
    """Add one call to all running measurements, and to the metrics."""
    for each in _measured.get():
        each.add(spent)
    if settings.METRICS:
        labels = f"{provider}|{model.replace('|', '_')}|{purpose}"
        try:
            with redis_connection.client().pipeline(transaction=False) as pipeline:
                pipeline.hincrby(CALLS, f"{labels}|{outcome}", spent.calls)
                pipeline.hincrby(TOKENS, f"{labels}|input", spent.input_tokens - cached_tokens)
                pipeline.hincrby(TOKENS, f"{labels}|cached", cached_tokens)
                pipeline.hincrby(TOKENS, f"{labels}|output", spent.output_tokens)
                pipeline.hincrbyfloat(COSTS, labels, spent.cost_usd or 0)
                pipeline.execute()
        except RedisError as error:
            log.warning("ai.not_counted", cause=type(error).__name__)


def count_follow_up(outcome: str, *, community_id: int, at: datetime) -> None:
    """Count a further question, asked or not asked, for its community and in the metrics."""
    of_day = FOLLOW_UPS_OF_DAY.format(community=community_id, day=at.date())
    try:
        with redis_connection.client().pipeline(transaction=False) as pipeline:
            pipeline.hincrby(of_day, outcome, 1)
            pipeline.expire(of_day, timedelta(days=DAYS_TOLD + 1))
            if settings.METRICS:
                pipeline.hincrby(FOLLOW_UPS, outcome, 1)
            pipeline.execute()
    except RedisError as error:
        log.warning("ai.not_counted", cause=type(error).__name__)


def follow_ups_of(community_id: int, *, at: datetime) -> Mapping[str, int]:
    """The further questions of a community in the last DAYS_TOLD days, by outcome; empty without Redis."""
    counts: dict[str, int] = {}
    try:
        with redis_connection.client().pipeline(transaction=False) as pipeline:
            for n in range(DAYS_TOLD):
                day = at.date() - timedelta(days=n)
                pipeline.hgetall(FOLLOW_UPS_OF_DAY.format(community=community_id, day=day))
            days = pipeline.execute()
    except RedisError as error:
        log.warning("ai.not_counted", cause=type(error).__name__)
        return {}
    for outcome, count in (each for day in days for each in day.items()):
        counts[outcome.decode()] = counts.get(outcome.decode(), 0) + int(count)
    return counts


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums over all processes since Redis was last empty, by the labels of the metrics."""

    calls: Mapping[tuple[str, ...], float]  # The keys are provider, model, purpose and outcome.
    tokens: Mapping[tuple[str, ...], float]  # The keys are provider, model, purpose and kind.
    # The keys are provider, model and purpose. An unknown price counts as 0.
    costs: Mapping[tuple[str, ...], float]
    follow_ups: Mapping[tuple[str, ...], float]  # The keys are outcomes.


def totals() -> Totals:
    """Read the totals. Raises RedisError."""
    with redis_connection.client().pipeline(transaction=False) as pipeline:
        for name in (CALLS, TOKENS, COSTS, FOLLOW_UPS):
            pipeline.hgetall(name)
        return Totals(*map(_by_labels, pipeline.execute()))


def _by_labels(raw: Any) -> dict[tuple[str, ...], float]:
    return {tuple(labels.decode().split("|")): float(value) for labels, value in raw.items()}
