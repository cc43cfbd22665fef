"""Rows 14 and 15: many clients at once."""

import statistics
import threading
import time
from collections.abc import Callable

from tests.bench.client import Client, Form, Visitor, form_in
from tests.bench.rows import Bench, Result, Served, converse

CLIENTS = 8


def crowd_of_voters(bench: Bench) -> list[Result]:
    path, count = f"/s/{bench.world.poll.slug}", bench.repetitions * 2
    ready: list[tuple[Visitor, Form]] = []

    def look(client: Client, number: int) -> None:
        visitor = Visitor(client)
        ready.append((visitor, form_in(visitor.get(path).body, at=path)))

    _crowd(bench.colloquy, count, look)
    waiting = iter(ready)
    lock = threading.Lock()

    def vote(client: Client, number: int) -> None:
        with lock:
            visitor, form = next(waiting)
        visitor.over(client).post(form, answer=number)

    seconds, times, errors = _crowd(bench.colloquy, count, vote)
    plain = bench.minimal.client()
    option = (
        plain.call("GET", f"/polls/{bench.world.poll.pk}").body.partition(b'value="')[2].partition(b'"')[0]
    )
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    plain_seconds, plain_times, _ = _crowd(
        bench.minimal,
        count,
        lambda client, _: client.call(
            "POST", f"/polls/{bench.world.poll.pk}", b"option=" + option, headers=headers
        ),
    )
    what = f"{CLIENTS} clients voting"
    p95, plain_p95 = _p95(times), _p95(plain_times)
    return [
        Result("14", f"{what}, votes", count / seconds, count / plain_seconds, 300, 450, "per s", True),
        Result("14", f"{what}, p95", p95, plain_p95, 40, 25),
        Result("14", f"{what}, errors", errors, None, 0, 0, ""),
    ]


def crowd_of_respondents(bench: Bench) -> list[Result]:
    count = max(40, bench.repetitions // 5)
    seconds, times, errors = _crowd(bench.colloquy, count, lambda client, _: converse(bench, client))
    note = f"{errors} errors, p95 of a whole conversation {_p95(times):.0f} ms"
    what = f"{CLIENTS} clients, ten answers each (interface)"
    return [Result("15", what, count / seconds, None, 35, 60, "per s", True, note)]


def _crowd(site: Served, count: int, job: Callable[[Client, int], object]) -> tuple[float, list[float], int]:
    """Seconds for all, milliseconds of each, and how many failed."""
    times: list[float] = []
    failures: list[Exception] = []
    numbers = iter(range(count))
    lock = threading.Lock()

    def work() -> None:
        client = site.client(connections=1)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            begun = time.perf_counter()
            try:
                job(client, number)
            except Exception as failure:
                failures.append(failure)
            times.append((time.perf_counter() - begun) * 1000)

    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun, times, len(failures)


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
