"""The measurements, as a table for a terminal and for a note."""

import os
import platform
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.bench import processes

if TYPE_CHECKING:
    from tests.bench.rows import Result
    from tests.bench.statements import Counted

HEAD = ("row", "operation", "Colloquy", "minimal Django", "times", "goal", "stretch", "reached", "")


def memory_of(pid: int) -> float:
    """Megabytes of the whole web server, at the end."""
    return processes.memory_mb(pid)


def say_progress(results: "Sequence[Result]", begun: float) -> None:
    """Print one line of progress on standard error."""
    last = results[-1]
    sys.stderr.write(
        f"{time.monotonic() - begun:5.0f} s  {last.row:>3}  {last.what}: {last.value:.2f} {last.unit}\n"
    )


def table(results: "Sequence[Result]", counts: "Sequence[Counted]", *, memory: float, seconds: float) -> str:
    """Markdown that reads well as it is."""
    lines = [HEAD, *(_cells(result) for result in results)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(HEAD))]
    told = [_line(HEAD, widths), _line(["-" * width for width in widths], widths)]
    told += [_line(line, widths) for line in lines[1:]]
    said = "\n".join(told)
    statements = "".join(f"One request (row 16): {each.told()}\n" for each in counts)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, two workers of four threads"
    return (
        f"\nCPU milliseconds of web server, PostgreSQL and Valkey together; {machine}.\n\n{said}\n\n"
        f"{statements}"
        f"Memory of the web server at the end: {memory:.0f} MB. Measured in {seconds:.0f} s.\n"
    )


def _cells(result: "Result") -> tuple[str, ...]:
    times = result.value / result.beside if result.beside else None
    return (
        result.row,
        result.what,
        f"{_number(result.value)} {result.unit}".strip(),
        "" if result.beside is None else _number(result.beside),
        "" if times is None else f"{times:.2f}",
        "" if result.goal is None else f"{result.goal:g}",
        "" if result.stretch is None else f"{result.stretch:g}",
        result.verdict,
        result.note,
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == 0 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
