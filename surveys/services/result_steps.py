"""Shared results that go on only in steps of several responses, so that no step is one person's.

Whoever looks at a page of sums before and after somebody answers knows what that was. The sums of an open
anonymous project therefore stand still until so many more have come. What stands
is kept in Redis, the same for all processes; while that is away the sums are shown as they are.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson
from django.core.cache import cache
from redis.exceptions import RedisError

from communities.wire import render
from surveys.models import Project
from surveys.services.figures import Figures

STANDS_FOR = 30 * 24 * 3600  # seconds, if nobody looks
TURN = 60  # seconds in which one process alone goes on from a step


@dataclass(frozen=True, slots=True)
class Step:
    figures: Figures
    at: datetime


def stand_still(project: Project, now: Step, *, least: int) -> Step:
    """The step that all see: `now` where at least so many more have answered since the last, or fewer."""
    key = f"shared-results:{project.results_token}:{project.revision}"
    try:
        stands = _read(cache.get(key))
        count = now.figures.conversation_count
        if stands is not None:
            before = stands.figures.conversation_count
            # One process alone goes on: of two steps by two processes the second could be one answer more.
            if before <= count < before + least or not cache.add(f"{key}:{before}", 1, TURN):
                return stands
        if count >= least:
            cache.set(key, render({**asdict(now.figures), "at": now.at}), STANDS_FOR)
    except RedisError:
        pass
    return now


def _read(kept: Any) -> Step | None:
    if kept is None:
        return None
    told = orjson.loads(kept)
    at = datetime.fromisoformat(told.pop("at"))
    return Step(Figures(**told), at)
