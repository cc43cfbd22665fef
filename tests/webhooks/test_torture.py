"""The short form of `make torture`: every program is killed once under load."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SECONDS_TO_END = 300


def test_no_event_is_lost_doubled_or_invented_when_programs_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.torture", "--rounds", "4", "--seconds", "2"]

    run = subprocess.run(
        [*command, "--logs", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS_TO_END,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "4 kills" in run.stdout
