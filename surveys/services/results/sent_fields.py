"""Fields that results are filtered and divided by: declared ones, and others that callers have sent along.

refuse_unknown(project=…, names=…)     names that are neither declared nor sent
offered(project=…)                     names, each with values to choose from
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from communities.errors import refuse_all
from communities.statements import fetch_rows
from surveys.engine.script import Violation
from surveys.models import Project

MAX_OFFERED = 20  # fields
MAX_OFFERED_VALUES = 50  # of each field
LOOKED_AT = 2_000  # responses, of which the sent values are offered
_UNKNOWN = """
    SELECT name FROM unnest(%s::text[]) name WHERE NOT EXISTS (
        SELECT FROM surveys_conversation c
        WHERE c.project_id = %s AND c.is_listed AND c.state->'fields' ? name
    )
"""
# Ids grow with time, so these are the latest; on anonymous projects they are random.
_SENT = """
    SELECT field.key, field.value FROM (
        SELECT state->'fields' AS fields FROM surveys_conversation
        WHERE project_id = %s ORDER BY id DESC LIMIT %s
    ) latest, jsonb_each_text(fields) field
    WHERE field.value <> '' GROUP BY 1, 2 ORDER BY 1, count(*) DESC, 2
"""


def refuse_unknown(*, project: Project, names: Mapping[str, str]) -> None:
    """Refuse fields that are neither declared nor known from any response. `names` are by parameter.

    Looking for a name that nothing has reads all responses of the project.
    """
    others = sorted({name for name in names.values() if name not in project.hidden_fields})
    unknown = {name for (name,) in fetch_rows(_UNKNOWN, [others, project.pk])} if others else set()
    violations = [
        Violation(
            parameter,
            "not_found",
            f"No field `{name}` is declared in `settings.hidden_fields`, and no response has it.",
        )
        for parameter, name in names.items()
        if name in unknown
    ]
    if violations:
        refuse_all(violations)


def offered(*, project: Project) -> dict[str, Sequence[str]]:
    """Fields to filter by, in the order of their declaration, then others by name; with their values.

    Values are the declared ones, then those of the latest responses, the most frequent first.
    """
    declared = project.hidden_fields
    fields = {name: list(declared[name]) if isinstance(declared, dict) else [] for name in declared}
    for name, value in fetch_rows(_SENT, [project.pk, LOOKED_AT]):
        values = fields.setdefault(name, [])
        if value not in values:
            values.append(value)
    return {name: values[:MAX_OFFERED_VALUES] for name, values in list(fields.items())[:MAX_OFFERED]}
