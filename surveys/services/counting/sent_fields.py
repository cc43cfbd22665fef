"""The fields that filter and segment results: declared fields, and other fields that callers have sent.

declared(project=…, names=…)           the declared ones of some names, each with its declared values
refuse_unknown(project_id=…, names=…)  names that no response has
offered(project=…)                     names, each with values to choose from
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from communities.ground.errors import refuse_all
from communities.ground.statements import fetch_rows
from surveys.engine.script import Violation
from surveys.models import Project

MAX_OFFERED = 20  # At most this many fields are offered.
MAX_OFFERED_VALUES = 50  # Each field offers at most this many values.
LOOKED_AT = 2_000  # The sent values of this many responses are offered.
# The order is that of the index `response_by_change`, so no more rows are read than needed.
_LATEST = """
    SELECT state->'fields' AS fields FROM surveys_conversation
    WHERE project_id = %s AND is_listed ORDER BY updated_at DESC, id DESC LIMIT %s
"""
# Most names are found in the latest responses. One pass looks for all other names; the EXISTS prevents the
# pass if there are none.
_UNKNOWN = f"""
    WITH latest AS MATERIALIZED ({_LATEST}),
    missing AS MATERIALIZED (
        SELECT name FROM unnest(%s::text[]) name
        WHERE NOT EXISTS (SELECT FROM latest WHERE fields ? name)
    )
    SELECT name FROM missing WHERE name NOT IN (
        SELECT key FROM surveys_conversation c, LATERAL jsonb_object_keys(c.state->'fields') key
        WHERE EXISTS (SELECT FROM missing) AND c.project_id = %s AND c.is_listed
            AND c.state->'fields' ?| (SELECT array_agg(name) FROM missing)
    )
"""
_SENT = f"""
    SELECT field.key, field.value FROM ({_LATEST}) latest, jsonb_each_text(fields) field
    WHERE field.value <> '' GROUP BY 1, 2 ORDER BY 1, count(*) DESC, 2
"""


def declared(*, project: Project, names: Collection[str]) -> dict[str, list[str]]:
    """Return the declared fields among some names, each with its declared values; no values mean that any
    value is allowed.
    """
    fields = project.hidden_fields
    return {name: list(fields[name]) if isinstance(fields, dict) else [] for name in fields if name in names}


def refuse_unknown(*, project_id: int, names: Mapping[str, str]) -> None:
    """Refuse fields that no response has. `names` are by parameter, without declared fields.

    Searching for a name that does not exist reads all responses of the project.
    """
    if not names:
        return
    wanted = sorted(set(names.values()))
    unknown = {name for (name,) in fetch_rows(_UNKNOWN, [project_id, LOOKED_AT, wanted, project_id])}
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
    """Fields to filter by, with their values: in the order of their declaration, then others by name.

    The values are the declared values, then the values of the latest responses, the most frequent first.
    """
    fields = declared(project=project, names=project.hidden_fields)
    for name, value in fetch_rows(_SENT, [project.pk, LOOKED_AT]):
        values = fields.setdefault(name, [])
        if value not in values:
            values.append(value)
    return {name: values[:MAX_OFFERED_VALUES] for name, values in list(fields.items())[:MAX_OFFERED]}
