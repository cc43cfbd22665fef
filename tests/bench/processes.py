"""The kernel's counts for a tree of processes: running ones, and ones that have ended."""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")
PARENT, FIRST_TIME, AFTER_TIMES = 1, 11, 15  # fields of /proc/<pid>/stat behind the name, from 0


def cpu_ms(roots: Iterable[int]) -> float:
    """CPU milliseconds, user and system, that these processes and all below them have used so far.

    A process that ended counts too, from the moment its parent has fetched its exit code.
    """
    stats = _stats()
    ticks = (sum(map(int, stats[pid][FIRST_TIME:AFTER_TIMES])) for pid in _family(roots, stats))
    return sum(ticks) * MS_PER_TICK


def memory_mb(root: int) -> float:
    """Memory of a process and all below it, shared pages counted once (PSS), in megabytes."""
    kilobytes = 0
    for pid in family([root]):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                kilobytes += int(line.split()[1])
    return kilobytes / 1024


def family(roots: Iterable[int]) -> set[int]:
    """Those of these processes that live, and all below them."""
    return _family(roots, _stats())


def _family(roots: Iterable[int], stats: dict[int, list[str]]) -> set[int]:
    children = defaultdict(list)
    for pid, fields in stats.items():
        children[int(fields[PARENT])].append(pid)
    waiting, seen = list(roots), set[int]()
    while waiting:
        pid = waiting.pop()
        if pid not in seen and pid in stats:
            seen.add(pid)
            waiting += children[pid]
    return seen


def _stats() -> dict[int, list[str]]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path(f"/proc/{name}/stat").read_text()
            except OSError:  # it ended meanwhile
                continue
            found[int(name)] = text.rpartition(")")[2].split()
    return found
