"""The short form of `make torture`: programs are killed under load, each of them once in `.ci/run`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.effort import IS_THOROUGH

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent
SECONDS_TO_END = 300
KILLS = 4 if IS_THOROUGH else 2


@pytest.mark.thorough
def test_no_event_is_lost_doubled_or_invented_when_programs_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.torture", "--rounds", str(KILLS), "--seconds", "2"]

    run = subprocess.run(
        [*command, "--logs", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS_TO_END,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{KILLS} kills" in run.stdout
