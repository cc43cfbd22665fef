"""Counts of values that are computed from answers: scores in each bucket, and results of calculated blocks.

    part(script, where, values, …)     the part of a statement that counts them; None if there are none
    max_entries(script)                the highest possible number of entries in their distributions

Scores and results are stored on the conversation's row, in the state of its last move (rule 5.12). Only
completed responses are counted, or only partial responses if the selection contains nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from communities.ground.statements import Part
from surveys.engine import spread
from surveys.engine.script import CALCULATED, Script
from surveys.engine.statistics import DistributionEntry
from surveys.engine.walk import answers
from surveys.services.counting.divisions import Division

# At most this many different numbers are listed one by one: a scale from 0 to 10 has 11 points.
MAX_VALUES = 11
MAX_RANGES = 10
MAX_TEXTS = 100
MAX_TEXT = 500  # A longer result, in characters, is cut.

Counted = Mapping[str, Sequence[Sequence[Any]]]  # Lists of rows, by the names in the statement's result.


def is_of_field(entry: DistributionEntry) -> bool:
    """Whether a segment belongs to a value, such as a field's."""
    option_id, value = entry.key
    return option_id is None and isinstance(value, str)


_COMPLETED = "c.completed_at IS NOT NULL AND c.is_listed"
_PARTIAL = "c.is_listed AND c.completed_at IS NULL"
# One pass over the rows groups each bucket, the sum of the buckets and each calculated block separately. So
# few groups remain even if no two respondents have the same scores in all buckets. For a million responses
# with two buckets and two calculated blocks, the pass takes 4 s of CPU. Unpacking all of them (`jsonb_each`)
# would take up to 40 s.
_SEGMENTS = "UNION ALL SELECT segment.name, kind, key, value, people FROM named, LATERAL {} segment(name)"
_PICKED = """
    picked AS MATERIALIZED (
        SELECT {grouped_mark}, array_position(ARRAY[{grouping}], 0) AS place,
            (ARRAY[{columns}])[array_position(ARRAY[{grouping}], 0)] AS value,
            to_jsonb(added) AS added, {people} AS people
        FROM (
            SELECT mark, {picks}{weight} FROM (
                SELECT {mark} AS mark, c.state->'scores' AS scores, c.state->'results' AS results{weighed}
                FROM surveys_conversation c WHERE {where} OFFSET 0
            ) states OFFSET 0
        ) parts GROUP BY GROUPING SETS ({sets})
    ),
    named AS (
        SELECT kind, key, mark, coalesce(value, added) AS value, people
        FROM picked JOIN (VALUES {names}) names(place, kind, key) USING (place)
        WHERE value IS NOT NULL OR added IS NOT NULL
    ),
    parts AS MATERIALIZED (
        SELECT NULL::text AS segment, kind, key, value, people FROM named
        {segments}
    ),
"""
# The numbers around each quartile: those at the index `last * quartile / 4` and at the next one. Of weights:
# those where the sum of the weights reaches the quarter, and where it passes the quarter.
_UNWEIGHTED = ("(upto - 0) * 4 > last * {0}", "(upto - 1) * 4 > last * {0}")
_WEIGHTED = ("upto * 4 >= (last + 1) * {0}", "upto * 4 > (last + 1) * {0}")


def _around(places: Sequence[str]) -> str:
    numbers = (
        f"min(number) FILTER (WHERE {place.format(quartile)} OR upto > last)::text"
        for quartile in spread.QUARTILES
        for place in places
    )
    return f"ARRAY[{', '.join(numbers)}]"


# Numbers are `numeric`, so sums are exact in any order of rows. A range of many numbers is divided at
# multiples of 1, 2 or 5 times a power of ten. The step is the smallest one that makes at most MAX_RANGES
# ranges.
_COUNTED = f"""
    calculated AS MATERIALIZED (
        SELECT segment, key, people, value->>'text' AS text,
            CASE WHEN value->>'number' NOT IN ('NaN', 'Infinity', '-Infinity')
                THEN (value->>'number')::numeric END AS number
        FROM parts WHERE kind = 'variable'
    ),
    worded AS (SELECT DISTINCT key FROM calculated WHERE text IS NOT NULL),
    all_numbers AS (
        SELECT kind, segment, key, (value->>0)::numeric AS number, (value->>1)::numeric AS most, people
        FROM parts WHERE kind IN ('score', 'total')
        UNION ALL
        SELECT kind || '_correct', segment, key, (value->>2)::numeric, (value->>3)::numeric, people
        FROM parts WHERE kind IN ('score', 'total') AND %s
        UNION ALL
        SELECT 'variable', segment, key, number, NULL, people
        FROM calculated WHERE key NOT IN (SELECT key FROM worded)
    ),
    numbers AS MATERIALIZED (
        SELECT kind, segment, key, number, max(most) AS most, sum(people) AS people
        FROM all_numbers WHERE number IS NOT NULL GROUP BY 1, 2, 3, 4
    ),
    ranges AS MATERIALIZED (
        SELECT kind, segment, key, count(*) AS different, sum(people) AS people,
            sum(number * people) AS total, min(number) AS low, max(number) AS high, max(most) AS most,
            sum(number * number * people) AS squares, {{around}} AS around
        FROM (
            SELECT *, sum(people) OVER (PARTITION BY kind, segment, key ORDER BY number) AS upto,
                sum(people) OVER (PARTITION BY kind, segment, key) - 1 AS last
            FROM numbers
        ) placed GROUP BY 1, 2, 3
    ),
    steps AS MATERIALIZED (
        SELECT kind, key, high, CASE WHEN different > {MAX_VALUES} THEN (
            SELECT min(step) FROM (
                SELECT ('1e' || floor(log(nullif(high - low, 0) / {MAX_RANGES})))::numeric * factor AS step
                FROM unnest(ARRAY[1, 2, 5, 10, 20]) factor
            ) possible WHERE ceil(high / step) - floor(low / step) <= {MAX_RANGES}
        ) END AS step
        FROM ranges WHERE segment IS NULL AND kind IN ('score', 'total', 'variable')
    ),
    entries AS (
        SELECT kind, segment, key, step,
            CASE WHEN step IS NULL THEN number
                ELSE least(floor(number / step), ceil(high / step) - 1) * step END AS low,
            sum(people) AS people
        FROM numbers JOIN steps USING (kind, key) GROUP BY 1, 2, 3, 4, 5
    ),
    texts AS MATERIALIZED (
        SELECT segment, key, left(coalesce(text, trim_scale(number)::text), {MAX_TEXT}) AS text,
            sum(people) AS people
        FROM calculated
        WHERE key IN (SELECT key FROM worded) AND (text IS NOT NULL OR number IS NOT NULL)
        GROUP BY 1, 2, 3
    ),
    places AS MATERIALIZED (
        SELECT key, text,
            row_number() OVER (PARTITION BY key ORDER BY people DESC, text COLLATE "C") AS place
        FROM texts WHERE segment IS NULL
    )
    SELECT json_build_object(
        'ranges', (SELECT json_agg(json_build_array(
            kind, segment, key, people, total::text, low::text, high::text, most::text, squares::text,
            around)) FROM ranges),
        'entries', (SELECT json_agg(json_build_array(
            kind, segment, key, trim_scale(low)::text, step::text, people) ORDER BY low) FROM entries),
        'texts', (SELECT json_agg(json_build_array(segment, key, text, people) ORDER BY place)
            FROM texts JOIN places USING (key, text) WHERE place <= {MAX_TEXTS}),
        'sums', (SELECT json_agg(json_build_array(segment, key, people)) FROM (
            SELECT segment, key, sum(people) AS people FROM texts GROUP BY 1, 2) summed),
        'others', (SELECT json_agg(json_build_array(key, others)) FROM (
            SELECT key, count(*) AS others FROM places WHERE place > {MAX_TEXTS} GROUP BY 1) left_out)
    )
"""


def part(
    script: Script,
    where: str,
    values: Sequence[Any],
    *,
    is_partial: bool,
    division: Division | None,
    weight: Part | None = None,
) -> Part | None:
    """The part of a statement that counts selected conversations `c`; None if nothing is computed.

    With `weight`, the weights of the conversations are added up instead.
    """
    if not derives_anything(script):
        return None
    buckets = list(script.bucket_keys) if script.scoring_enabled else []
    calculated = list(calculated_names(script))
    names = [("score", key) for key in buckets] + [("variable", key) for key in calculated]
    picks = ["scores->%s"] * len(buckets) + ["results->%s"] * len(calculated)
    columns = [f"v{n}" for n in range(len(picks))] + ["added"]
    added, keys = _added(buckets, 4 if is_graded(script) else 2)
    sql = _PICKED.format(
        mark=division.mark if division else "NULL::jsonb",
        grouped_mark="mark" if division else "NULL::jsonb AS mark",
        picks=", ".join(f"{pick} AS {column}" for pick, column in zip((*picks, added), columns, strict=True)),
        columns=", ".join(columns[:-1]),
        grouping=", ".join(f"grouping({column})" for column in columns),
        sets=", ".join(f"(mark, {column})" if division else f"({column})" for column in columns),
        names=", ".join(f"({place}, %s, %s)" for place in range(1, len(columns) + 1)),
        where=f"{where} AND {_PARTIAL if is_partial else _COMPLETED}",
        segments=_SEGMENTS.format(division.in_mark) if division else "",
        people="sum(weight)" if weight else "count(*)",
        weight=", weight" if weight else "",
        weighed=f", {weight[0]} AS weight" if weight else "",
    )
    counted = _COUNTED.format(around=_around(_WEIGHTED if weight else _UNWEIGHTED))
    divided_by = [*(division.values if division else []), *(weight[1] if weight else [])]
    own = [*buckets, *calculated, *keys, *divided_by, *values, *chain(*names, ("total", ""))]
    return f"WITH {sql} {counted}", [*own, is_graded(script)]


def _added(buckets: Sequence[str], length: int) -> tuple[str, list[str]]:
    """Return SQL that adds up the first `length` score columns of several buckets, and the names of these
    columns.
    """
    if len(buckets) < 2:
        return "NULL::numeric[]", []
    sums = [" + ".join([f"coalesce((scores->%s->>{at})::numeric, 0)"] * len(buckets)) for at in range(length)]
    return f"CASE WHEN scores IS NOT NULL THEN ARRAY[{', '.join(sums)}] END", [*buckets] * length


def derives_anything(script: Script) -> bool:
    """Whether responses have scores or results of calculated blocks."""
    return bool((script.scoring_enabled and script.buckets) or calculated_names(script))


def max_entries(script: Script) -> int:
    """How many entries the distributions of scores and calculated results have together, at most."""
    buckets = len(script.bucket_keys) if script.scoring_enabled else 0
    totals = int(buckets > 1)
    return MAX_VALUES * (buckets + totals) + MAX_TEXTS * len(calculated_names(script))


def is_graded(script: Script) -> bool:
    """Whether any question has a correct answer."""
    return any(map(answers.is_graded, script.blocks))


def calculated_names(script: Script) -> dict[str, tuple[int, str | None]]:
    """The ids and names of the calculated blocks, by the key that a state uses for them."""
    return {str(block.id): (block.id or 0, block.name) for block in script.blocks if block.type == CALCULATED}
