"""Exports read back, and answers written straight into the tables."""

from __future__ import annotations

import csv
import io
from typing import Any

import openpyxl
from django.db import connection

from surveys.models import Answer, Conversation, Project
from surveys.services.exports import service as exports
from surveys.services.exports.cells import FileOptions
from surveys.services.results.figures import ALL, Selection
from surveys.services.scripts import editing as scripts
from tests.support.actors import superuser_actor
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario

FIXED = ["id", "status", "session_number", "started_at", "submitted_at", "user_id", "platform_id", "provider"]


def content(made: Project, format: str = "csv", *, selection: Selection = ALL, **options: Any) -> bytes:
    made.refresh_from_db()
    return b"".join(
        exports.export(project=made, options=FileOptions(format, **options), selection=selection).chunks
    )


def lines(written: bytes) -> list[list[str]]:
    """The lines of a CSV, in the form in which readers see them."""
    return list(csv.reader(io.StringIO(written.decode(), newline=""), strict=True))


def sheets(written: bytes) -> list[list[list[Any]]]:
    """The cells of each sheet. None may be a formula or a link."""
    book = openpyxl.load_workbook(io.BytesIO(written))
    for sheet in book.worksheets:
        assert not sheet._hyperlinks
        for row in sheet.iter_rows():
            assert {cell.data_type for cell in row} <= {"s", "n", "d", "inlineStr"}
    return [[[cell.value for cell in row] for row in sheet.iter_rows()] for sheet in book.worksheets]


def questions(made: Project, **told: Any) -> list[list[str]]:
    """The CSV without its first columns, headers first."""
    written = lines(content(made, **told))
    assert written[0][: len(FIXED)] == FIXED
    return [line[len(FIXED) :] for line in written]


def in_sheet(made: Project, **told: Any) -> list[list[Any]]:
    """The same for the workbook's only sheet."""
    (only,) = sheets(content(made, "xlsx", **told))
    assert only[0][: len(FIXED)] == FIXED
    return [line[len(FIXED) :] for line in only]


def answered(made: Project, *said: object, who: str | None = None) -> Any:
    return scenario.say(scenario.begin(made, who), *said)


def write_again(made: Project, *blocks: dict[str, Any]) -> None:
    """Close a project, replace its script, and open it again."""
    Project.objects.filter(pk=made.pk).update(status="inactive")
    scripts.replace_script(
        actor=superuser_actor(community_id=made.community_id),
        project_id=made.pk,
        body={"blocks": list(blocks)},
        at=LUNCHTIME,
    )
    made.refresh_from_db()


def fill(made: Project, count: int) -> None:
    """Add `count` completed responses with a choice, a number and a text, to the first three blocks."""
    choice, number, text = scenario.script(made).blocks[:3]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH made AS (
                INSERT INTO {Conversation._meta.db_table} (id, project_id, provider, seed, state, is_listed,
                    started_at, updated_at, completed_at)
                SELECT (lpad(to_hex(%s::bigint * 1000000 + n), 12, '0') || '7000a000000000000000')::uuid,
                    %s, 'web', n, '{{}}', true, now(), now(), now()
                FROM generate_series(1, %s) n
                RETURNING id
            )
            INSERT INTO {Answer._meta.db_table} (conversation_id, block_id, ordinal, option_id, value, number)
            SELECT made.id, each.block_id, 0, each.option_id, each.value, each.number
            FROM made CROSS JOIN (VALUES (%s::bigint, %s::bigint, %s, NULL::float8), (%s, NULL, '7', 7),
                (%s, NULL, 'Because of the sea, mostly.', NULL)) each (block_id, option_id, value, number)
            """,
            [
                made.pk,
                made.pk,
                count,
                choice.id,
                choice.options[0].id,
                choice.options[0].value,
                number.id,
                text.id,
            ],
        )
        # With statistics of nearly empty tables the export of some thousand responses took ten times as long.
        cursor.execute(f"ANALYZE {Conversation._meta.db_table}, {Answer._meta.db_table}")
