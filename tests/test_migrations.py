"""Migrations agree with the models, and import none of our code, so later changes do not affect them."""

import ast
from pathlib import Path

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.core.management import call_command
from django.db.migrations import RunPython, RunSQL, SeparateDatabaseAndState
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from tests.support.cases import try_each

ROOT = Path(__file__).parent.parent
APPS = ("communities", "config", "surveys", "webhooks", "xp")
OURS = {*APPS, "tests"}
MIGRATIONS = sorted(
    path for app in APPS for path in (ROOT / app / "migrations").glob("*.py") if path.name != "__init__.py"
)


def _uses_of_ours(source: str) -> list[str]:
    """Every name of our packages that a migration uses, but for what makes the default of a new row.

    Django writes those itself, by their full name, and never calls them while it migrates.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "default":
            node.value = ast.Constant(None)
    nodes = list(ast.walk(tree))
    imported = [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    used = [ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)]
    return [name for name in imported + used if name.split(".")[0] in OURS]


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    call_command("makemigrations", check=True, dry_run=True)


@try_each("path", MIGRATIONS)
def test_a_migration_imports_no_application_code(path: Path) -> None:
    assert _uses_of_ours(path.read_text()) == []


def test_a_migration_that_commits_between_its_operations_can_be_run_again() -> None:
    """As after a kill: `migrate` drops the unfinished index, and a function finds the remaining work."""
    others = [
        f"{migration.app_label}.{migration.name}: {operation}"
        for migration in MigrationLoader(None).disk_migrations.values()
        if migration.app_label in APPS and not migration.atomic
        for operation in migration.operations
        if not _is_repeatable(operation)
    ]

    assert others == []


def _is_repeatable(operation: Operation) -> bool:
    if isinstance(operation, RunSQL):
        return not operation.sql or any(
            words in str(operation.sql)
            for words in ("lock_timeout", "IF EXISTS", "IF NOT EXISTS", "VALIDATE CONSTRAINT", "SET NOT NULL")
        )
    if isinstance(operation, SeparateDatabaseAndState):
        return all(map(_is_repeatable, operation.database_operations))
    return isinstance(operation, AddIndexConcurrently | RemoveIndexConcurrently | RunPython)
