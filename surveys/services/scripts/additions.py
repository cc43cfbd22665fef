"""The parts of a script that were added after its project opened, by the script's history (rule 6.420)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from communities.ground.audit_actions import Action
from communities.ground.statements import prepared


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


_WRITES_SINCE_OPENING = f"""
SELECT e.happened_at, (e.after->>'revision')::int,
    jsonb_path_query_array(e.before, '$.blocks[*].id'), jsonb_path_query_array(e.after, '$.blocks[*].id'),
    jsonb_path_query_array(e.before, '$.blocks[*].options[*].id'),
    jsonb_path_query_array(e.after, '$.blocks[*].options[*].id')
FROM communities_auditentry e
WHERE e.project_id = %(project)s AND e.action = '{Action.SCRIPT_UPDATED}'
    AND EXISTS (SELECT 1 FROM surveys_project WHERE id = %(project)s AND opened_at IS NOT NULL)
    AND e.happened_at >= coalesce((
        SELECT min(happened_at) FROM communities_auditentry
        WHERE project_id = %(project)s AND action = '{Action.PROJECT_OPENED}'
    ), '-infinity')
ORDER BY e.happened_at, e.id
"""


def read(project_id: int) -> Additions:
    """The additions that the script's history lists; a history is kept for a limited time. No id that was
    removed returns.
    """
    with prepared() as cursor:
        cursor.execute(_WRITES_SINCE_OPENING, {"project": project_id})
        rows = cursor.fetchall()
    blocks: dict[int, Added] = {}
    options: dict[int, Added] = {}
    for happened_at, revision, *ids in rows:
        added = Added(happened_at, revision)
        lists = (orjson.loads(each or "[]") for each in ids)  # Django asks psycopg for JSON as text.
        blocks_before, blocks_after, options_before, options_after = map(set, lists)
        blocks |= dict.fromkeys(blocks_after - blocks_before, added)
        options |= dict.fromkeys(options_after - options_before, added)
    return Additions(blocks, options)
