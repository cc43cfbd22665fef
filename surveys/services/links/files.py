"""The valid links of a project as a file for staff: names, written mail addresses, and the links'
addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain

import orjson

from communities.gate.downloads import File
from communities.ground.actors import Actor
from communities.ground.spreadsheets import csv_line
from communities.ground.transactions import in_transaction
from communities.services.mail import recipients as communities
from surveys.models import PersonalLink, Project
from surveys.services.exports.cells import SHEET, WORKBOOK, Cell, CellStyle
from surveys.services.exports.service import (
    BYTE_ORDER_MARK,
    MEDIA_TYPES,
    file_chunks,
    file_name,
    in_chunks,
)
from surveys.services.links import addresses, fields, service

FORMATS = ("csv", "xlsx")
HEADERS = ("member_id", "name", "email", "url", "expires_at", "id", "metadata")
_AT_ONCE = 500


def export(*, actor: Actor, project: Project, format: str, at: datetime, with_bom: bool = False) -> File:
    """The links that are valid, oldest first, in one of `FORMATS`. Nothing is read before the first chunk."""
    if format == "csv":
        start = [BYTE_ORDER_MARK if with_bom else b"", csv_line(HEADERS)]
        lines = (csv_line(cells) for cells in _rows(actor, project, at, SHEET))  # type: ignore[arg-type] # texts only
        chunks = in_chunks(chain(start, lines))
    else:
        from surveys.services.exports import xlsx  # noqa: PLC0415 - 12 MB of memory, needed for workbooks only

        cells, times = _rows(actor, project, at, WORKBOOK), [HEADERS.index("expires_at")]
        chunks = file_chunks(lambda: xlsx.workbook(HEADERS, cells, name="Links", times=times))
    return File(MEDIA_TYPES[format], file_name(f"{project.name} links", format), chunks)


@in_transaction
def note_export(*, actor: Actor, project: Project, format: str, at: datetime) -> None:
    """Record in the audit trail that the actor gets the addresses. Call this when the first chunk exists."""
    service.record_export(project, actor=actor, format=format, at=at)


def _rows(actor: Actor, project: Project, at: datetime, style: CellStyle) -> Iterator[Sequence[Cell]]:
    valid = PersonalLink.objects.filter(project=project, revoked_at__isnull=True, expires_at__gt=at)
    ordered = valid.order_by("created_at", "pk")
    ids = list(ordered.values_list("pk", flat=True))
    for start in range(0, len(ids), _AT_ONCE):
        links = ordered.filter(pk__in=ids[start : start + _AT_ONCE])
        yield from _cells(actor, project, list(links), style)


def _cells(
    actor: Actor, project: Project, links: Sequence[PersonalLink], style: CellStyle
) -> Iterator[Sequence[Cell]]:
    people = communities.recipients(
        community_id=project.community_id, member_ids=[link.member_id for link in links]
    )
    for link in links:
        person = people.get(link.member_id)
        if person is not None:  # A member who has left needs no address.
            yield (
                str(link.member_id),
                style.text(person.name),
                style.text(person.written),
                addresses.url_of(project=project, link_id=link.pk),
                style.time(link.expires_at.astimezone(UTC)),
                str(link.pk),
                orjson.dumps(carried).decode()
                if (carried := fields.readable_metadata(link, project, actor=actor))
                else "",
            )
