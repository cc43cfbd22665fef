"""Installation by the Makefile: the packages for running by `make run`, and all packages by `make test`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RUN = "requirements.txt"
DEV = "requirements-dev.txt"
NODE = ("bin/npm", "bin/node", ".venv/js/node_modules/.bin/eslint", ".venv/js/node_modules/.bin/tsc")
OF_THE_OUTER_MAKE = frozenset({"MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS", "ARGS", "CONFIRM"})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The Makefile with a setup script and a Python that only write down their arguments."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (RUN, DEV):
        (tmp_path / name).touch()
    for name in (".ci/js/package.json", ".ci/js/package-lock.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in (".ci/setup", ".venv/bin/python", *NODE):
        script = tmp_path / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f'#!/bin/sh\necho "{script.name} $*" >> "{tmp_path}/calls"\n')
        script.chmod(0o755)
    return tmp_path


def _make(project: Path, *arguments: str) -> list[str]:
    """Run make, and return the commands that it called."""
    calls = project / "calls"
    calls.unlink(missing_ok=True)
    # `make test` itself hands its variables on to the tests.
    environment = {name: value for name, value in os.environ.items() if name not in OF_THE_OUTER_MAKE}
    environment["PATH"] = f"{project / 'bin'}:{environment['PATH']}"
    subprocess.run(["make", "--silent", *arguments], cwd=project, check=True, env=environment)
    return calls.read_text().splitlines()


def test_running_installs_its_own_packages_and_does_so_once(project: Path) -> None:
    assert _make(project, "run") == [f"setup .venv {RUN}", "python manage.py run"]
    assert _make(project, "run") == ["python manage.py run"]


def test_testing_installs_everything_and_running_needs_nothing_more(project: Path) -> None:
    _make(project, "run")

    assert _make(project, "test") == [
        f"setup .venv {DEV}",
        "python -m pytest --ignore=tests/browser -m not long -p no:schemathesis",
    ]
    assert _make(project, "test-all", "ARGS=-k poll") == ["python -m pytest -k poll"]
    assert _make(project, "run") == ["python manage.py run"]


def test_an_update_before_running_keeps_the_development_packages(project: Path) -> None:
    _make(project, "setup")
    (project / ".venv/.installed-run").unlink()

    assert _make(project, "run") == [f"setup .venv {DEV}", "python manage.py run"]


def test_a_reset_asks_unless_it_is_confirmed(project: Path) -> None:
    _make(project, "setup")

    assert _make(project, "reset") == ["python manage.py reset"]
    assert _make(project, "reset", "CONFIRM=yes") == ["python manage.py reset --no-input"]
    assert _make(project, "reset", "CONFIRM=no") == ["python manage.py reset"]


def test_only_the_check_of_the_javascript_installs_packages_of_node_and_does_so_once(project: Path) -> None:
    _make(project, "setup")
    checks = ["eslint", "tsc", "node"]

    first, second = _make(project, "check-js"), _make(project, "check-js")

    assert [call.split()[0] for call in first] == ["npm", *checks]
    assert [call.split()[0] for call in second] == checks
