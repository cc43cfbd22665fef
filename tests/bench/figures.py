"""Rows 9, 10, 11 and 20: all distributions, parts of them, an analysis read again, and the memory of who
makes one."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlencode

import psycopg

from surveys.models import Project
from tests.bench.rows import Bench, Result, cost
from tests.bench.servers import DataServers
from tests.bench.world import QUESTIONS

_GOALS = {10_000: (30.0, 10.0), 100_000: (250.0, 100.0), 1_000_000: (2_500.0, 1_000.0)}
_PLAIN = """
    SELECT block_id, option_id, number, count(*) FROM surveys_answer
    WHERE block_id = ANY(%s) GROUP BY 1, 2, 3
"""

# So that nothing is answered from what was counted before.
_CHANGE = "UPDATE surveys_tally SET changes = changes + 1 WHERE project_id = %s"


def measured(bench: Bench, filled: Sequence[tuple[int, Project]], data: DataServers) -> list[Result]:
    """Rows 9 to 11 for projects with these numbers of responses; the last project is analysed."""
    results = [_distributions(bench, project, size, data) for size, project in filled]
    size, project = filled[-1]
    return [*results, *_parts(bench, project, size), *_analysis(bench, project, size, data)]


def _distributions(bench: Bench, project: Project, size: int, data: DataServers) -> Result:
    client, times = bench.colloquy.client(), max(2, 300_000 // size)
    read = partial(client.call, "GET", bench.api(f"/projects/{project.pk}/analysis/results"))
    told = read(headers=bench.headers()).json()
    assert isinstance(told["blocks"], list)
    blocks = [block["block_id"] for block in told["blocks"]]
    assert (told["response_count"], len(blocks)) == (size * QUESTIONS, QUESTIONS), "Not what was loaded."
    with psycopg.connect(data.database_url, autocommit=True) as plain:
        beside = cost(bench.minimal, [lambda: plain.execute(_PLAIN, [blocks]).fetchall()] * times)

        def read_after_a_change() -> None:
            plain.execute(_CHANGE, [project.pk])
            read(headers=bench.headers())

        value = cost(bench.colloquy, [read_after_a_change] * times)
    goal, stretch = _GOALS.get(size, (None, None))
    return Result(
        "9", f"all distributions of {size:,} responses", value, beside, goal, stretch, note="plain SQL"
    )


def _parts(bench: Bench, project: Project, size: int) -> list[Result]:
    """Filters that no other request has, so no response comes from cached counts."""
    client, path = bench.colloquy.client(), bench.api(f"/projects/{project.pk}/analysis/results")
    told = client.call("GET", path, headers=bench.headers()).json()
    assert isinstance(told["blocks"], list)
    of_type = {block["block_type"]: block["block_id"] for block in reversed(told["blocks"])}
    choice, scale, number = (of_type[each] for each in ("single_punch", "opinion_scale", "open_numeric"))
    where = urlencode({"where": 'item_0 != "none" AND (item_1 >= 0 OR item_1 < 0)'})
    minutes = count()

    def read(query: str) -> None:
        after = f"submitted_after=2001-01-01T00:{next(minutes):02}:00Z"
        part = client.call("GET", f"{path}?{after}{query}", headers=bench.headers()).json()
        assert part["response_count"] == size * QUESTIONS, "Not what was loaded."

    def cross() -> None:
        after = f"submitted_after=2001-01-01T00:{next(minutes):02}:00Z"
        query = f"{after}&rows={choice}&columns={scale}"
        part = client.call("GET", path.replace("results", "cross") + f"?{query}", headers=bench.headers())
        assert part.json()["count"] == size, "Not what was loaded."

    def over_time() -> None:
        after = f"submitted_after=2001-01-01T00:{next(minutes):02}:00Z"
        address = path.replace("results", "participation") + f"?{after}"
        part: Any = client.call("GET", address, headers=bench.headers()).json()
        assert part["blocks"][0]["seen"] == size, "Not what was loaded."

    for _ in range(4):  # each process loads NumPy once
        read("&status=completed")
    kinds = (
        ("filtered", "&status=completed&provider=web"),
        ("segmented", f"&segment_by={choice}"),
        ("selected by an expression", f"&{where}"),
        ("filtered and segmented", f"&status=completed&provider=web&segment_by={choice}"),
        ("segmented by numbers in bands", f"&segment_by={number}:2,10"),
        ("segmented by weeks", "&segment_by=completed.week"),
    )
    asked: list[tuple[str, Callable[[], object]]] = [(kind, partial(read, query)) for kind, query in kinds]
    return [
        Result("20", f"{size:,} responses {kind}", cost(bench.colloquy, [ask] * 3), None, 1500)
        for kind, ask in (*asked, ("in a cross table", cross), ("over time", over_time))
    ]


def _analysis(bench: Bench, project: Project, size: int, data: DataServers) -> list[Result]:
    client, path = bench.colloquy.client(), bench.api(f"/projects/{project.pk}/analysis")
    asked = client.call("POST", f"{path}?ai=false", headers=bench.headers(), expect=202).json()
    memory = _memory(str(asked["id"]), data)
    times = max(50, bench.repetitions // 5)
    again = partial(client.call, "POST", f"{path}?ai=false")
    assert again(headers=bench.headers()).json()["status"] == "completed"
    posted = cost(bench.colloquy, [lambda: again(headers=bench.headers())] * times)
    read = cost(bench.colloquy, [lambda: client.call("GET", path, headers=bench.headers())] * times)
    return [
        Result("10", "analysis asked for again, nothing new", posted, None, 8, 3),
        Result("10", "analysis read again", read, None, 8, 3),
        Result(
            "11", f"memory over idle, {size:,} responses analysed", memory, None, 100, 30, "MB", note="worker"
        ),
    ]


def _memory(analysis_id: str, data: DataServers) -> float:
    command = [sys.executable, "-m", "tests.bench.analysing", analysis_id]
    said = subprocess.run(
        command, env={**os.environ, **data.environment}, stdout=subprocess.PIPE, check=True, text=True
    )
    return float(said.stdout.split()[-1])
