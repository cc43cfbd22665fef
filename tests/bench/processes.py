"""What the kernel has counted for a tree of processes: those that live in it, and those that ended."""

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
    children = defaultdict(list)
    for pid, fields in stats.items():
        children[int(fields[PARENT])].append(pid)
    waiting, seen = list(roots), set()
    ticks = 0
    while waiting:
        pid = waiting.pop()
        if pid in seen or pid not in stats:
            continue
        seen.add(pid)
        ticks += sum(map(int, stats[pid][FIRST_TIME:AFTER_TIMES]))
        waiting += children[pid]
    return ticks * MS_PER_TICK


def memory_mb(root: int) -> float:
    """Memory of a process and all below it, shared pages counted once (PSS), in megabytes."""
    stats = _stats()
    inside = {root}
    while more := {pid for pid, fields in stats.items() if int(fields[PARENT]) in inside} - inside:
        inside |= more
    kilobytes = 0
    for pid in inside:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                kilobytes += int(line.split()[1])
    return kilobytes / 1024


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
