"""The rounds: in each, one of the programs is killed at a random moment, and all has to work again soon."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.torture.programs import Keeper

MOST_SECONDS_DEAD = 1.5
SECONDS_TO_RECOVER = 60
SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class Kill:
    """`at` is in Unix seconds; `recovered` seconds later an event came that had happened since, or never."""

    program: str
    whom: str
    at: float
    recovered: float | None


def rounds(
    keeper: Keeper, *, count: int, seconds: float, chance: random.Random, has_news: Callable[[float], bool]
) -> list[Kill]:
    """Kill as often as `count` says, each program equally often, at a moment of the first `seconds`.

    `has_news` says whether an event came that happened after a moment in Unix seconds.
    """
    programs: list[str] = []
    while len(programs) < count:
        programs += chance.sample([*keeper.victims], len(keeper.victims))
    kills = []
    for program in programs[:count]:
        keeper.keep(chance.uniform(0, seconds))
        victim = keeper.victims[program]
        victim.rests_until = time.monotonic() + chance.uniform(0, MOST_SECONDS_DEAD)
        at = time.time()
        whom = "it was down" if victim.has_ended() else victim.kill(chance)
        kills.append(Kill(program, whom, at, _recovery(keeper, at, has_news)))
    return kills


def _recovery(keeper: Keeper, at: float, has_news: Callable[[float], bool]) -> float | None:
    keeper.keep(MOST_SECONDS_DEAD)
    while not has_news(at):
        if time.time() > at + SECONDS_TO_RECOVER:
            return None
        keeper.keep(SECONDS_BETWEEN_LOOKS)
    return time.time() - at
