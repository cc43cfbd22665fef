"""What happened, as a table for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.torture.checks import Stored, duplicates, first_arrivals
from tests.torture.kills import SECONDS_TO_RECOVER, Kill
from tests.torture.receiver import Endpoint

Line = tuple[object, ...]
Slowest = tuple[float, str]  # seconds, and the type of the event


def table(
    events: dict[str, Stored], kills: Sequence[Kill], endpoints: Sequence[Endpoint], *, hastened: int
) -> str:
    """Rounds, kills by program, deliveries by endpoint, events by type."""
    slowest = _slowest_after(events, kills, endpoints[0])
    return "\n".join(
        [
            *_drawn(
                ("round", "killed", "which", "works again, s", "slowest delivery, s", "of"),
                _rounds(kills, slowest),
            ),
            "",
            *_drawn(
                ("killed", "times", "works again at the latest, s", "slowest delivery, s"),
                _programs(kills, slowest),
            ),
            "",
            *_drawn(("endpoint", "attempts", "refused", "came", "again"), map(_endpoint, endpoints)),
            "",
            *_drawn(("event", "times"), sorted(Counter(event.type for event in events.values()).items())),
            "",
            f"{len(kills)} kills, {len(events)} events; {hastened} deliveries waited for a full hour.",
            "",
        ]
    )


def _rounds(kills: Sequence[Kill], slowest: Sequence[Slowest]) -> list[Line]:
    return [
        (number, kill.program, kill.whom, _seconds(kill.recovered), _seconds(seconds), type)
        for number, (kill, (seconds, type)) in enumerate(zip(kills, slowest, strict=True), start=1)
    ]


def _programs(kills: Sequence[Kill], slowest: Sequence[Slowest]) -> list[Line]:
    lines: list[Line] = []
    for program in sorted({kill.program for kill in kills}):
        seconds = [each for kill, (each, _) in zip(kills, slowest, strict=True) if kill.program == program]
        recovered = [kill.recovered or SECONDS_TO_RECOVER for kill in kills if kill.program == program]
        lines.append((program, len(seconds), _seconds(max(recovered)), _seconds(max(seconds))))
    return lines


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f}"


def _slowest_after(events: dict[str, Stored], kills: Sequence[Kill], endpoint: Endpoint) -> list[Slowest]:
    """Of what arrived first between a kill and the next one: the longest time since it happened.

    What happens by the clock happens at its moment, whenever the scheduler notices.
    """
    slowest: list[Slowest] = [(0, "")] * len(kills)
    for event_id, came_at in first_arrivals(endpoint).items():
        event = events.get(event_id)
        before = sum(kill.at <= came_at for kill in kills)
        if before and event is not None and not event.is_rounded:
            seconds = came_at - event.created_at.timestamp()
            slowest[before - 1] = max(slowest[before - 1], (seconds, event.type))
    return slowest


def _endpoint(endpoint: Endpoint) -> Line:
    refused = sum(arrival.status != 200 for arrival in endpoint.arrivals)
    came = len(first_arrivals(endpoint))
    return endpoint.name, len(endpoint.arrivals), refused, came, duplicates(endpoint)


def _drawn(head: Line, lines: Iterable[Line]) -> list[str]:
    rows = [tuple(map(str, line)) for line in [head, *lines]]
    widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
    rows.insert(1, tuple("-" * width for width in widths))
    return [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
