"""Migrations agree with the models, and import none of our code, so later changes do not affect them."""

import ast
import re
from pathlib import Path

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.core.management import call_command
from django.db import models
from django.db.migrations import (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    AlterModelManagers,
    AlterModelOptions,
    AlterModelTable,
    CreateModel,
    DeleteModel,
    RemoveConstraint,
    RemoveField,
    RemoveIndex,
    RenameField,
    RenameModel,
    RunPython,
    RunSQL,
    SeparateDatabaseAndState,
)
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from tests.support.cases import try_each

ROOT = Path(__file__).parent.parent
APPS = ("communities", "config", "surveys", "webhooks", "xp")
# The numbers of the last migrations of the release 1.0.0.
RELEASED = {"communities": 9, "config": 2, "surveys": 26, "webhooks": 1, "xp": 3}
# Later migrations that do more than add, each with the reason why the earlier program works on.
REVIEWED: dict[str, str] = {}
ADDING_SQL = re.compile(
    r"\s*(SET|SELECT|UPDATE|INSERT|COMMENT|CREATE INDEX CONCURRENTLY"
    r"|CREATE (OR REPLACE )?(FUNCTION|SEQUENCE|TRIGGER|TABLE)"
    r"|ALTER TABLE \w+ (ADD COLUMN(?!.* NOT NULL)|DROP CONSTRAINT|VALIDATE CONSTRAINT))\b",
    re.IGNORECASE | re.DOTALL,
)
# Changes that an earlier program notices, in any part of a statement but the body of a function.
TAKING_SQL = re.compile(
    r"\b(DROP (COLUMN|DEFAULT|TABLE|FUNCTION|SEQUENCE|SCHEMA|VIEW)|RENAME|TRUNCATE|DELETE FROM"
    r"|ALTER (COLUMN )?\w+ (SET NOT NULL|(SET DATA )?TYPE))\b",
    re.IGNORECASE,
)
BODY = re.compile(r"(\$\w*\$).*?\1", re.DOTALL)
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


def test_a_migration_after_the_first_release_only_adds() -> None:
    """Rule 12.582."""
    others = []
    for migration in MigrationLoader(None).disk_migrations.values():
        app, name = migration.app_label, f"{migration.app_label}.{migration.name}"
        is_ours = app in APPS and name not in REVIEWED
        if is_ours and int(migration.name.split("_")[0]) > RELEASED[app]:
            created = {each.name_lower for each in migration.operations if isinstance(each, CreateModel)}
            others += [
                f"{name}: {operation}"
                for operation in migration.operations
                if not _only_adds(operation, created)
            ]

    assert others == []


@pytest.mark.parametrize(
    ("operation", "is_right"),
    [
        (CreateModel("Badge", [("id", models.BigAutoField(primary_key=True))]), True),
        (AddField("member", "note", models.TextField(null=True)), True),
        (AddField("member", "note", models.TextField(db_default="")), True),
        (AddField("member", "note", models.TextField(default="")), False),
        (AddField("badge", "note", models.TextField(default="")), True),
        (RemoveField("member", "note"), False),
        (RenameField("member", "note", "words"), False),
        (AlterField("member", "note", models.TextField()), False),
        (RenameModel("Member", "Person"), False),
        (DeleteModel("Member"), False),
        (AlterModelTable("Member", "people"), False),
        (AddIndexConcurrently("member", models.Index("note", name="a")), True),
        (AddIndex("member", models.Index("note", name="a")), False),
        (AddConstraint("member", models.UniqueConstraint("note", name="a")), False),
        (AddConstraint("badge", models.UniqueConstraint("note", name="a")), True),
        (RemoveConstraint("member", "a"), True),
        (RunSQL("UPDATE communities_member SET note = ''"), True),
        (RunSQL("ALTER TABLE communities_member ADD COLUMN note text"), True),
        (RunSQL("ALTER TABLE communities_member ADD COLUMN note text NOT NULL"), False),
        (RunSQL(["SET lock_timeout = '2s'", "ALTER TABLE communities_member DROP COLUMN note"]), False),
        (RunSQL("SET lock_timeout = '2s'; DROP TABLE communities_member"), False),
        (RunSQL("ALTER TABLE communities_member ADD COLUMN words text, DROP COLUMN note"), False),
        (RunSQL("ALTER TABLE communities_member DROP CONSTRAINT a, ALTER note SET NOT NULL"), False),
        (RunSQL("CREATE FUNCTION a() RETURNS void AS $$ BEGIN DROP TABLE b; END $$ LANGUAGE plpgsql"), True),
        (SeparateDatabaseAndState([RunSQL("SELECT 1")], [RemoveField("member", "note")]), True),
        (SeparateDatabaseAndState([RemoveField("member", "note")]), False),
    ],
)
def test_a_change_that_the_earlier_program_would_notice_does_not_only_add(
    operation: Operation, is_right: bool
) -> None:
    """Rule 12.582."""
    assert _only_adds(operation, {"badge"}) is is_right


def _only_adds(operation: Operation, created: set[str]) -> bool:
    """Whether a program that does not know the change can go on reading and writing all tables.

    `created` are the models that the same migration creates, which such a program does not use.
    """
    if isinstance(operation, SeparateDatabaseAndState):
        return all(_only_adds(each, created) for each in operation.database_operations)
    if isinstance(operation, RunSQL):
        statements = [operation.sql] if isinstance(operation.sql, str) else operation.sql
        parts = [part for each in statements for part in BODY.sub("", str(each)).split(";") if part.strip()]
        return all(ADDING_SQL.match(part) and not TAKING_SQL.search(part) for part in parts)
    if getattr(operation, "model_name", "").lower() in created:
        return True
    if isinstance(operation, AddField):
        field = operation.field
        return field.null or field.has_db_default() or field.many_to_many is True
    return isinstance(
        operation,
        CreateModel
        | AddIndexConcurrently
        | AlterModelManagers
        | AlterModelOptions
        | RemoveConstraint
        | RemoveIndex
        | RunPython,
    )
