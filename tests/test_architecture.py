"""The import rule of the architecture, as written in pyproject.toml."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINT = "import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())"


def test_imports_go_only_where_the_architecture_lets_them() -> None:
    linted = subprocess.run(
        [sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert linted.returncode == 0, linted.stdout + linted.stderr
