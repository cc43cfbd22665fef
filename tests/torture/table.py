"""The results of a run as a table for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.torture.checks import StoredEvent, duplicates, first_arrivals
from tests.torture.kills import SECONDS_TO_RECOVER, Kill
from tests.torture.receiver import Endpoint

Row = tuple[object, ...]
Slowest = tuple[float, str]  # seconds, and the type of the event


def table(
    events: dict[str, StoredEvent],
    kills: Sequence[Kill],
    endpoints: Sequence[Endpoint],
    *,
    shortened_waits: int,
) -> str:
    """Tables of rounds, kills by program, deliveries by endpoint, and events by type."""
    slowest = _slowest_after(events, kills, endpoints[0])
    return "\n".join(
        [
            *_formatted(
                ("round", "killed", "processes", "recovered after, s", "slowest delivery, s", "event"),
                _rounds(kills, slowest),
            ),
            "",
            *_formatted(
                ("killed", "times", "slowest recovery, s", "slowest delivery, s"),
                _programs(kills, slowest),
            ),
            "",
            *_formatted(
                ("endpoint", "attempts", "refused", "arrived", "duplicates"), map(_endpoint, endpoints)
            ),
            "",
            *_formatted(("event", "times"), sorted(Counter(event.type for event in events.values()).items())),
            "",
            f"{len(kills)} kills, {len(events)} events, {shortened_waits} waits for a full hour skipped.",
            "",
        ]
    )


def _rounds(kills: Sequence[Kill], slowest: Sequence[Slowest]) -> list[Row]:
    return [
        (number, kill.program, kill.processes, _seconds(kill.recovered), _seconds(seconds), type)
        for number, (kill, (seconds, type)) in enumerate(zip(kills, slowest, strict=True), start=1)
    ]


def _programs(kills: Sequence[Kill], slowest: Sequence[Slowest]) -> list[Row]:
    lines: list[Row] = []
    for program in sorted({kill.program for kill in kills}):
        seconds = [slow for kill, (slow, _) in zip(kills, slowest, strict=True) if kill.program == program]
        recovered = [kill.recovered or SECONDS_TO_RECOVER for kill in kills if kill.program == program]
        lines.append((program, len(seconds), _seconds(max(recovered)), _seconds(max(seconds))))
    return lines


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f}"


def _slowest_after(
    events: dict[str, StoredEvent], kills: Sequence[Kill], endpoint: Endpoint
) -> list[Slowest]:
    """For each kill, the slowest delivery until the next one: the time from the event to its first arrival.

    A scheduled change counts from its scheduled time, not from when the scheduler notices it.
    """
    slowest: list[Slowest] = [(0, "")] * len(kills)
    for event_id, arrived_at in first_arrivals(endpoint).items():
        event = events.get(event_id)
        before = sum(kill.at <= arrived_at for kill in kills)
        if before and event is not None and not event.is_rounded:
            seconds = arrived_at - event.created_at.timestamp()
            slowest[before - 1] = max(slowest[before - 1], (seconds, event.type))
    return slowest


def _endpoint(endpoint: Endpoint) -> Row:
    refused = sum(arrival.status != 200 for arrival in endpoint.arrivals)
    arrived = len(first_arrivals(endpoint))
    return endpoint.name, len(endpoint.arrivals), refused, arrived, duplicates(endpoint)


def _formatted(head: Row, lines: Iterable[Row]) -> list[str]:
    rows = [tuple(map(str, line)) for line in [head, *lines]]
    widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
    rows.insert(1, tuple("-" * width for width in widths))
    return [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
