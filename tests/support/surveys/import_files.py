"""Files of responses, from receiving them to storing their responses, without the pages of staff."""

from __future__ import annotations

import csv
import io
from typing import Any

from django.utils import timezone

from surveys.models import Project, ResponseFile
from surveys.services.exports import service as exports
from surveys.services.exports.cells import FileOptions
from surveys.services.imports import files
from surveys.services.imports.files import OpenFile
from tests.support.caller import Caller


def table_of(project: dict[str, Any], format: str = "csv", **options: Any) -> bytes:
    stored = Project.objects.get(pk=project["id"])
    return b"".join(exports.export(project=stored, options=FileOptions(format, **options)).chunks)


def take(caller: Caller, project: dict[str, Any], data: bytes, **chosen: Any) -> OpenFile:
    """Receive, match and check a file."""
    stored = Project.objects.get(pk=project["id"])
    files.receive(
        actor=caller.actor, project=stored, name="past.csv", data=data, zone="Europe/Oslo", at=timezone.now()
    )
    files.check(actor=caller.actor, project=stored)
    return worked(caller, project)


def worked(caller: Caller, project: dict[str, Any]) -> OpenFile:
    """The file after the worker has run."""
    files.run(file_id=ResponseFile.objects.get(project_id=project["id"]).pk)
    opened = files.look(actor=caller.actor, project=Project.objects.get(pk=project["id"]))
    assert opened is not None
    return opened


def stored(caller: Caller, project: dict[str, Any]) -> OpenFile:
    """The file after its responses were imported."""
    files.begin_import(actor=caller.actor, project=Project.objects.get(pk=project["id"]), at=timezone.now())
    return worked(caller, project)


def csv_of(*rows: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
