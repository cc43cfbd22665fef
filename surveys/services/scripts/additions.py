"""The parts of a script that were added after its project opened, by the script's history (rule 6.420)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db.models import Exists, JSONField, OuterRef, Subquery, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from communities.ground.audit_actions import Action
from communities.models import AuditEntry
from surveys.models import Project


@dataclass(frozen=True, slots=True)
class Added:
    """When a block or an option was added, and the revision of the script that has it first."""

    at: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class Additions:
    """The blocks and options that were added after the opening, by id."""

    blocks: Mapping[int, Added] = field(default_factory=dict)
    options: Mapping[int, Added] = field(default_factory=dict)


def read(project_id: int) -> Additions:
    """The additions that the script's history lists; a history is kept for a limited time. No id that was
    removed returns.
    """
    entries = AuditEntry.objects.filter(project_id=project_id)
    project = Project.with_deleted.filter(pk=OuterRef("project_id"), opened_at__isnull=False)
    opened = entries.filter(action=Action.PROJECT_OPENED).order_by("happened_at", "pk").values("happened_at")
    first = Coalesce(Subquery(opened[:1]), Value(datetime.min.replace(tzinfo=UTC)))
    writes = entries.filter(Exists(project), action=Action.SCRIPT_UPDATED, happened_at__gte=first)
    ids = {
        f"{side}_{kind}": RawSQL(
            f"jsonb_path_query_array({side}, '$.blocks[*]{path}.id')", [], output_field=JSONField()
        )
        for side in ("before", "after")
        for kind, path in (("blocks", ""), ("options", ".options[*]"))
    }
    found: dict[str, dict[int, Added]] = {"blocks": {}, "options": {}}
    rows = writes.annotate(**ids).order_by("happened_at", "pk")
    for row in rows.values("happened_at", "after__revision", *ids):
        for kind in found:
            for each in {*(row[f"after_{kind}"] or ())}.difference(row[f"before_{kind}"] or ()):
                found[kind][each] = Added(row["happened_at"], row["after__revision"])
    return Additions(**found)
