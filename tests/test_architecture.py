"""The import contracts in pyproject.toml hold, and test modules do not import each other."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
IMPORTS = re.compile(r"^[ \t]*(?:from|import) (?:[^\n(]*\([^)]*\)|[^\n]*)", re.MULTILINE)
OF_TESTS = re.compile(r"\b(?:test_|conftest\b)")
LINT = "import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())"


def test_imports_go_only_where_the_architecture_lets_them() -> None:
    linted = subprocess.run(
        [sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert linted.returncode == 0, linted.stdout + linted.stderr


def imported_modules(path: Path) -> set[str]:
    """The modules that a file imports, and the names that it imports from packages.

    A file without a name of a test module in any import has none, which saves most of the work.
    """
    modules = set()
    source = path.read_text(encoding="utf-8")
    if not any(OF_TESTS.search(each) for each in IMPORTS.findall(source)):
        return set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return modules


def test_no_test_module_is_imported() -> None:
    """Code that several test modules need is in tests/support or tests/factories.py."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    test_modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in files
        if path.name.startswith("test_") or path.name == "conftest.py"
    }

    imports = {str(path.relative_to(ROOT)): imported_modules(path) & test_modules for path in files}

    assert len(test_modules) > 100
    assert {path: modules for path, modules in imports.items() if modules} == {}
