"""The import contracts in pyproject.toml hold, and test modules do not import each other."""

import ast
import re
import subprocess
import sys
from pathlib import Path

from tests.support import our_code

ROOT = Path(__file__).parent.parent
IMPORTS = re.compile(r"^[ \t]*(?:from|import) (?:[^\n(]*\([^)]*\)|[^\n]*)", re.MULTILINE)
OF_TESTS = re.compile(r"\b(?:test_|conftest\b)")
MADE = re.compile(r"(\w+)(?:: [\w.]+)? = (?:threading\.)?(?:R?Lock|(?:Bounded)?Semaphore|Slots|Condition)\(")
# Locks for which threads wait without an end, and what is done under them.
MOMENTS = "A few lines of Python, without a statement or a request."
WAITS = {
    "communities/gate/authentication.py:_lock": MOMENTS,
    "communities/gate/response_budget.py:_lock": MOMENTS,
    "communities/gate/throttling.py:_lock": MOMENTS,
    "communities/ground/outgoing.py:_lock": MOMENTS,
    "communities/ground/queue.py:_changed": MOMENTS,
    "communities/ground/queue.py:_sending": "The thread that talks to the broker; a fork waits two seconds.",
    "communities/ground/slots.py:_changed": MOMENTS,
    "communities/services/people/platform_members.py:_lock": MOMENTS,
    "config/metrics.py:_lock": MOMENTS,
    "config/web/connections.py:_lock": MOMENTS,
    "surveys/ai/local/embeddings.py:_loading": "A worker loads a model once.",
    "surveys/ai/local/texts/languages.py:_identifying": "A worker loads a model once.",
    "surveys/ai/models/provider.py:_lock": "A worker loads a library once.",
    "surveys/chat/posts.py:_read_lock": MOMENTS,
    "surveys/engine/language/markup.py:_lock": MOMENTS,
    "surveys/services/counting/large.py:_lock": MOMENTS,
    "surveys/services/results/cache.py:_lock": MOMENTS,
    "surveys/services/results/poll.py:_lock": MOMENTS,
    "surveys/services/scripts/cache.py:_lock": MOMENTS,
    "webhooks/services/precise_retries.py:_changed": MOMENTS,
    "webhooks/services/slow_endpoints.py:_lock": MOMENTS,
}
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


def test_no_thread_waits_without_an_end_for_what_takes_long() -> None:
    """Rule 11.842."""
    found = {
        f"{each.path}:{name}"
        for each in our_code.modules("Lock(", "Semaphore(", "Slots(", "Condition(")
        for name in MADE.findall(each.source)
        if re.search(rf"with (?:\w+\.)?{name}:|\b{name}\.acquire\(\)", each.source)
    }

    assert found == set(WAITS)
