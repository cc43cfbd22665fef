"""`python -m tests.bench.analysing <analysis id>` makes it, and says how many megabytes over idle it took."""

import sys
from pathlib import Path

import django
from django.db import connection

django.setup()

from surveys.models import Analysis  # noqa: E402 - models are known only now
from surveys.services.ai_work.analysis import service as analysis  # noqa: E402


def main() -> None:
    """The highest memory, minus the memory of the process with everything loaded and connected."""
    connection.ensure_connection()
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far is what it is now
    idle = _highest()
    while not Analysis.objects.get(pk=int(sys.argv[1])).is_finished:  # it gives its turn to others
        analysis.run(analysis_id=int(sys.argv[1]))
    sys.stdout.write(f"{_highest() - idle:.1f}\n")


def _highest() -> float:
    """Megabytes at most so far. `getrusage` would return the parent's value if that was larger."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    main()
