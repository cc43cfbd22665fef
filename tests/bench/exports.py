"""Row 19: all responses of a project as a file.

Memory is the highest of a web process, minus its idle memory.
"""

import http.client
import time
from pathlib import Path

from surveys.models import Project
from surveys.services.exports.service import MEDIA_TYPES
from tests.bench import processes
from tests.bench.rows import Bench, Result
from tests.bench.servers import Site

MOST = 100_000  # the size that the goal speaks of
MEMORY = 150  # megabytes
SECONDS_TO_WAIT = 600
AT_ONCE = 65_536


def exported(bench: Bench, project: Project, count: int) -> list[Result]:
    """Over HTTP, from the first byte to the last."""
    assert isinstance(bench.colloquy, Site)
    idle = {pid: _told(pid, "VmRSS") for pid in _web_processes(bench.colloquy)}
    results = []
    for format in MEDIA_TYPES:
        for pid in idle:
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # its highest is counted anew
        cpu, begun = bench.colloquy.cpu_ms(), time.monotonic()
        size, first = _take(bench, bench.colloquy, project, format)
        cpu, seconds = bench.colloquy.cpu_ms() - cpu, time.monotonic() - begun
        memory = max(_told(pid, "VmHWM") - before for pid, before in idle.items())
        what = f"export of {count:,} responses as {format}"
        note = f"{size / 1e6:.0f} MB, first byte after {first:.2f} s, all after {seconds:.1f} s"
        results.append(Result("19", what, cpu, note=note))
        results.append(Result("19", f"memory over idle, {format}", memory, goal=MEMORY, unit="MB"))
    return results


def _web_processes(site: Site) -> list[int]:
    return sorted(processes.family([site.pid]) - {site.pid})


def _told(pid: int, name: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


def _take(bench: Bench, site: Site, project: Project, format: str) -> tuple[int, float]:
    """The bytes of the file, and the seconds until the first byte. A file that breaks off raises."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=SECONDS_TO_WAIT)
    begun = time.monotonic()
    path = bench.api(f"/projects/{project.pk}/responses/export?format={format}")
    connection.request("GET", path, headers=bench.headers())
    answer = connection.getresponse()
    assert answer.status == 200, answer.read(600)
    size, first = len(answer.read(1)), time.monotonic() - begun
    while part := answer.read(AT_ONCE):
        size += len(part)
    connection.close()
    return size, first
