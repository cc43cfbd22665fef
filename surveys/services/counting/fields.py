"""The number of responses with each value of the declared fields, for readers of single responses.

    part(names, where, values, …)      the part of a statement that counts them; None without any fields
    figures(fields, counted, …)        the figures of each field, as JSON

There may be as many undeclared values as responses. Therefore only the most frequent values are listed, with
the number of the other values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from communities.ground.statements import Part
from surveys.engine.statistics import DistributionEntry, percentage
from surveys.services.counting.derived import Counted
from surveys.services.counting.divisions import NOT_GIVEN, Division, name_of

MAX_LISTED = 20  # Each field lists at most this many values.
# The entries of each field are the listed values, and the responses without a value.
ENTRIES = MAX_LISTED + 1
# A field may have a different value in each response. So values are compared by their bytes, only the listed
# values are counted in segments, and all other values are counted together. For 300,000 responses, a field
# with few values takes 0.3 s. A field with a different value in each takes 2 s, or 4 s in segments.
_COUNTED = """
    WITH picked AS MATERIALIZED (
        SELECT name, mark, coalesce(fields->>name, '') COLLATE "C" AS value, {people} AS people
        FROM (
            SELECT {mark} AS mark, c.state->'fields' AS fields{weight}
            FROM surveys_conversation c WHERE {where} AND c.is_listed OFFSET 0
        ) states, unnest(%s::text[]) name
        GROUP BY 1, 2, 3
    ),
    whole AS MATERIALIZED ({whole}),
    ranked AS MATERIALIZED (
        SELECT name, value, people, row_number() OVER (PARTITION BY name ORDER BY people DESC, value) AS place
        FROM whole WHERE value <> ''
    ),
    listed AS MATERIALIZED (
        SELECT name, value, people FROM ranked WHERE place <= {most}
        UNION ALL SELECT name, value, people FROM whole WHERE value = ''
    ),
    marks AS MATERIALIZED (SELECT name, mark, sum(people) AS people FROM picked GROUP BY 1, 2)
    SELECT json_build_object(
        'values', (SELECT json_agg(json_build_array(name, segment, value, people)) FROM (
            SELECT name, NULL::text AS segment, value, people FROM listed {values}) counted),
        'sums', (SELECT json_agg(json_build_array(name, segment, people)) FROM (
            SELECT name, NULL::text AS segment, sum(people) AS people FROM marks GROUP BY 1 {sums}) summed),
        'others', (SELECT json_agg(json_build_array(name, others)) FROM (
            SELECT name, count(*) AS others FROM ranked WHERE place > {most} GROUP BY 1) left_out)
    )
"""
_WHOLE = "SELECT name, value, people FROM picked"
_WHOLE_OF_SEGMENTS = "SELECT name, value, sum(people) AS people FROM picked GROUP BY 1, 2"
_VALUES = """
    UNION ALL SELECT picked.name, segment.name, value, sum(picked.people)
    FROM picked JOIN listed USING (name, value), LATERAL {} segment(name) GROUP BY 1, 2, 3
"""
_SUMS = """
    UNION ALL SELECT marks.name, segment.name, sum(people)
    FROM marks, LATERAL {} segment(name) GROUP BY 1, 2
"""


def part(
    names: Sequence[str],
    where: str,
    values: Sequence[Any],
    division: Division | None,
    weight: Part | None = None,
) -> Part | None:
    """The part of a statement that counts the values of these fields in selected conversations `c`, or adds
    up the conversations' weights.
    """
    if not names:
        return None
    sql = _COUNTED.format(
        mark=division.mark if division else "NULL::jsonb",
        people="sum(weight)" if weight else "count(*)",
        weight=f", {weight[0]} AS weight" if weight else "",
        where=where,
        whole=_WHOLE_OF_SEGMENTS if division else _WHOLE,
        values=_VALUES.format(division.in_mark) if division else "",
        sums=_SUMS.format(division.in_mark) if division else "",
        most=MAX_LISTED,
    )
    marked = [*(division.values if division else []), *(weight[1] if weight else [])]
    return sql, [*marked, *values, list(names)]


def figures(
    fields: Mapping[str, Sequence[str]], counted: Counted, segments: Sequence[DistributionEntry] | None
) -> list[dict[str, Any]]:
    """The figures of each field. `fields` are names, each with the values that are listed first.

    With `segments`, the figures of each field are repeated for each segment, with the same values.
    """
    people = {
        (name, segment, value): int(count) for name, segment, value, count in counted.get("values") or ()
    }
    sums = {(name, segment): int(count) for name, segment, count in counted.get("sums") or ()}
    others = {name: int(count) for name, count in counted.get("others") or ()}
    found = []
    for name, declared in fields.items():
        values = _listed(name, declared, people)
        field = {
            "name": name,
            **_figures(name, None, values, people, sums),
            "other_values": others.get(name, 0),
        }
        if segments is not None:
            field["segments"] = [
                {**entry.as_json(), **_figures(name, name_of(entry), values, people, sums)}
                for entry in segments
            ]
        found.append(field)
    return found


def _listed(
    name: str, declared: Sequence[str], people: Mapping[tuple[str, str | None, str], int]
) -> list[str]:
    """The listed values, most frequent first; values without responses and the missing value are included."""
    own = {
        value: count for (field, segment, value), count in people.items() if (field, segment) == (name, None)
    }
    given = sorted((value for value in own if value), key=lambda value: (-own[value], value))
    given += [value for value in declared if value not in own][: max(0, MAX_LISTED - len(given))]
    return sorted([*given, ""], key=lambda value: -own.get(value, 0))


def _figures(
    name: str,
    segment: str | None,
    values: Sequence[str],
    people: Mapping[tuple[str, str | None, str], int],
    sums: Mapping[tuple[str, str | None], int],
) -> dict[str, Any]:
    count = sums.get((name, segment), 0)
    own = [people.get((name, segment, value), 0) for value in values]
    return {
        "count": count,
        "distribution": [
            {
                "option_id": None,
                "value": value,
                "label": None if value else NOT_GIVEN,
                "count": had,
                "percentage": percentage(had, count),
            }
            for value, had in zip(values, own, strict=True)
        ],
        "other_count": count - sum(own),
    }
