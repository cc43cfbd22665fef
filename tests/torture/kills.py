"""Rounds of kills: each kills one program at a random moment, and everything has to recover soon."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.torture.supervisor import Supervisor

MAX_SECONDS_DEAD = 1.5
SECONDS_TO_RECOVER = 60
SECONDS_BETWEEN_CHECKS = 0.1


@dataclass(frozen=True)
class Kill:
    """A kill at a Unix time. `recovered` is the seconds until a later event arrived, or None."""

    program: str
    processes: str
    at: float
    recovered: float | None


def rounds(
    supervisor: Supervisor,
    *,
    count: int,
    seconds: float,
    rng: random.Random,
    has_news: Callable[[float], bool],
) -> list[Kill]:
    """Kill `count` times, each program equally often, each time after at most `seconds`.

    `has_news` returns whether an event that happened after a Unix time has arrived.
    """
    programs: list[str] = []
    while len(programs) < count:
        programs += rng.sample([*supervisor.victims], len(supervisor.victims))
    kills = []
    for program in programs[:count]:
        supervisor.watch(rng.uniform(0, seconds))
        victim = supervisor.victims[program]
        victim.dead_until = time.monotonic() + rng.uniform(0, MAX_SECONDS_DEAD)
        at = time.time()
        processes = "it was down" if victim.has_ended() else victim.kill(rng)
        kills.append(Kill(program, processes, at, _recovery(supervisor, at, has_news)))
    return kills


def _recovery(supervisor: Supervisor, at: float, has_news: Callable[[float], bool]) -> float | None:
    supervisor.watch(MAX_SECONDS_DEAD)
    while not has_news(at):
        if time.time() > at + SECONDS_TO_RECOVER:
            return None
        supervisor.watch(SECONDS_BETWEEN_CHECKS)
    return time.time() - at
