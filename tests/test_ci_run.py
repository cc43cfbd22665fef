"""Failed tests in `.ci/run`: a test that then passes alone is flaky, any other fails the step."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent
# The functions of the script without its steps, and a step that says which tests were flaky.
SCRIPT = (
    (ROOT / ".ci" / "run").read_text().partition('step "Debian packages"')[0]
    + """
step "Tests" run_tests test
printf 'FLAKY %s\\n' "${flaky[@]}"
printf 'FIRST %s\\n' "${failures[@]}"
exit "$status"
"""
)

FAILS_ONCE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", {names})
def test_it(name):
    marker = Path(name)
    failed_before = marker.exists()
    marker.touch()
    assert failed_before

def test_another():
    assert {another}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the shortened `.ci/run`, and with a `make test` that runs pytest."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_text(SCRIPT)
    (tmp_path / "Makefile").write_text("test:\n\t@.venv/bin/python -m pytest $(ARGS)\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --quiet -p pytest_randomly -p xdist\n")
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (binaries / "python").chmod(0o755)
    return tmp_path


def _run(project: Path) -> tuple[int, list[str], list[str]]:
    """Run the tests of the folder as `.ci/run` does.

    Returns the status, the flaky tests, and the tests that failed at first, with their output.
    """
    environment = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "true"}
    done = subprocess.run(["bash", ".ci/run"], cwd=project, capture_output=True, text=True, env=environment)
    flaky = re.findall(r"^FLAKY (\S+)  seed \d+$", done.stdout, re.MULTILINE)
    return done.returncode, flaky, re.findall(r"^FIRST FAILED (\S+ - .+)$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("names", "another", "status", "flaky"),
    [
        (["a", "b", "c"], True, 0, 3),
        (["a", "b", "c", "d"], True, 1, 0),
        (["a"], False, 1, 1),
    ],
)
def test_a_test_that_passes_alone_is_flaky_and_at_most_three_are(
    project: Path, names: list[str], another: bool, status: int, flaky: int
) -> None:
    (project / "test_it.py").write_text(FAILS_ONCE.format(names=names, another=another))

    returned, told, failures = _run(project)

    assert (returned, len(told)) == (status, flaky)
    assert sorted(told) == [f"test_it.py::test_it[{name}]" for name in names][:flaky]
    assert len(failures) == len(names) + (not another)
    assert all(
        " - AssertionError: assert False" in failure or " - assert False" in failure for failure in failures
    )


@pytest.mark.parametrize("source", ["import nothing_of_this_name", "import os; os._exit(3)"])
def test_another_end_of_pytest_fails_the_step(project: Path, source: str) -> None:
    (project / "test_it.py").write_text(source)

    assert _run(project)[:2] == (1, [])
