"""The settings of the minimal views that `make bench` compares with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


def test_the_minimal_views_start_without_what_ours_insist_on() -> None:
    program = (
        "import django; django.setup(); from tests.bench import minimal; print(len(minimal.urlpatterns))"
    )

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=Path(__file__).resolve().parent.parent,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.bench.minimal_settings"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, int(done.stdout or 0) > 5) == (0, True), done.stderr
