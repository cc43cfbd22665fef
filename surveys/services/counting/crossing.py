"""Counts two divisions of the same responses at once: how many are in each row and each column.

count(project_id, stored, selection, rows, columns, …)     the counts of one moment
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from communities.ground.statements import Part
from surveys.engine.packing import MAX_POINT
from surveys.services.counting import divisions, large, sent_fields, weights
from surveys.services.counting.answer_groups import ReportedBlock
from surveys.services.counting.counts import (
    Selection,
    condition_of,
    one_moment,
    totals_of,
    values_of,
    weighting_of,
)
from surveys.services.counting.divisions import Division, Values, division, name_of
from surveys.services.ground import selecting
from surveys.services.scripts.storage import StoredScript

# Responses are grouped by what they have of both divisions first, so few groups are divided further. The
# limits only end the count of values that will be refused, because they are too many.
_CROSSED = """
    WITH picked AS MATERIALIZED (
        SELECT row_mark, column_mark, {people} AS people FROM (
            SELECT {row_mark} AS row_mark, {column_mark} AS column_mark{weight}
            FROM surveys_conversation c WHERE {where} AND c.is_listed OFFSET 0
        ) marks GROUP BY 1, 2
    ),
    in_rows AS MATERIALIZED (
        SELECT n, column_mark AS mark, people, row_of.name AS row_name
        FROM (SELECT row_number() OVER () AS n, row_mark AS mark, column_mark, people FROM picked) numbered,
            LATERAL {in_row} row_of(name)
        WHERE {is_row}
    ),
    pairs AS MATERIALIZED (
        SELECT n, people, row_name, column_of.name AS column_name
        FROM in_rows, LATERAL {in_column} column_of(name) WHERE {is_column}
    )
    SELECT json_build_object(
        'count', (SELECT coalesce(sum(people), 0) FROM (SELECT DISTINCT n, people FROM pairs) each),
        'rows', (SELECT json_agg(json_build_array(row_name, people)) FROM (
            SELECT row_name, sum(people) AS people FROM (SELECT DISTINCT n, people, row_name FROM pairs) each
            GROUP BY 1 LIMIT 100000) rows),
        'columns', (SELECT json_agg(json_build_array(column_name, people)) FROM (
            SELECT column_name, sum(people) AS people
            FROM (SELECT DISTINCT n, people, column_name FROM pairs) each GROUP BY 1 LIMIT 100000) columns),
        'cells', (SELECT json_agg(json_build_array(row_name, column_name, people)) FROM (
            SELECT row_name, column_name, sum(people) AS people FROM pairs GROUP BY 1, 2 LIMIT 100000
        ) cells)
    )
"""
BYTES_OF_A_CELL = 300
_SUM, _SQUARES = "sum(weight)", f"sum((weight::numeric / {weights.UNIT}) ^ 2)"


@dataclass(frozen=True, slots=True)
class Crossed:
    """Numbers of responses that are in some row and some column, by the names of both, and their sums.

    A response in several rows or columns is once in each, and once in `count`. `weighted` are the sums of
    their weights instead, with `effective`, their effective base; None without weights.
    """

    changes: int
    count: int
    rows: Mapping[str, int]
    columns: Mapping[str, int]
    cells: Mapping[tuple[str, str], int]
    weighted: Crossed | None = None
    effective: float = 0.0
    weighting: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        own = BYTES_OF_A_CELL * (1 + len(self.rows) + len(self.columns) + len(self.cells))
        return own + (self.weighted.size if self.weighted else 0)


def count(
    project_id: int,
    stored: StoredScript,
    selection: Selection,
    rows: ReportedBlock | Values,
    columns: ReportedBlock | Values,
    *,
    undeclared: Mapping[str, str],
    max_wait: float | None,
) -> Crossed:
    """Count the responses in each row and each column.

    Refuses what `counts.count_answers` refuses, and raises what it raises.
    """
    where, values = condition_of(project_id, selection, stored.script)
    condition = where or "c.project_id = %s", values or [project_id]
    crossed = _part(rows, columns, condition)
    by = tuple(each.id if isinstance(each, ReportedBlock) else each for each in (rows, columns))
    key = ("cross", project_id, stored.revision, selection, by, tuple(sorted(undeclared.items())))

    def counted(*, has_slot: bool) -> Crossed | None:
        """Return the counts; None if they need a slot."""
        ((listed, _, changes),) = values_of([totals_of(project_id)])
        is_large = listed >= large.LARGE or selecting.is_much(
            selection.where, responses=listed, script=stored.script
        )
        if is_large and (known := large.kept(key, Crossed, changes=changes)) is not None:
            return known
        if is_large and not has_slot:
            return None
        sent_fields.refuse_unknown(project_id=project_id, names=undeclared)
        weighting = weighting_of(project_id, selection, stored.script)
        (told,) = values_of([crossed])
        found = _crossed(changes, told)
        for each, names in ((rows, found.rows), (columns, found.columns)):
            if isinstance(each, Values) and each.is_open:
                divisions.refuse_too_many(each, len({*names, *map(name_of, each.entries)}))
        if selection.weight_by:
            weight = weights.expression(selection.weight_by)
            sums = [_part(rows, columns, condition, weight, people) for people in (_SUM, _SQUARES)]
            told, squares = values_of(sums)
            weighted = _crossed(changes, told)
            effective = weights.effective(weighted.count / weights.UNIT, float(squares["count"]))
            weighted = replace(weighted, effective=effective)
            found = replace(found, weighted=weighted, weighting=weighting)
        if is_large:
            large.keep(key, found)
        return found

    with one_moment(max_wait):
        found = counted(has_slot=False)
    if found is None:
        with large.counting_slot(max_wait=max_wait), one_moment(max_wait):
            found = counted(has_slot=True)
    assert found is not None
    return found


def _crossed(changes: int, told: Mapping[str, Any]) -> Crossed:
    return Crossed(
        changes,
        int(told["count"]),
        {name: int(people) for name, people in told["rows"] or ()},
        {name: int(people) for name, people in told["columns"] or ()},
        {(row, column): int(people) for row, column, people in told["cells"] or ()},
    )


def _part(
    rows: ReportedBlock | Values,
    columns: ReportedBlock | Values,
    condition: Part,
    weight: Part | None = None,
    people: str = "count(*)",
) -> Part:
    where, values = condition
    in_rows, in_columns = division(rows), division(columns)
    assert isinstance(in_rows, Division)
    assert isinstance(in_columns, Division)
    is_row, row_names = _known(rows, "row_of")
    is_column, column_names = _known(columns, "column_of")
    sql = _CROSSED.format(
        row_mark=in_rows.mark,
        column_mark=in_columns.mark,
        where=where,
        people=people,
        weight=f", {weight[0]} AS weight" if weight else "",
        in_row=in_rows.in_mark,
        in_column=in_columns.in_mark,
        is_row=is_row,
        is_column=is_column,
    )
    weighed = weight[1] if weight else []
    own = chain(in_rows.values, in_columns.values, weighed, values, row_names, column_names)
    return sql, list(own)


def _known(dividing: ReportedBlock | Values, table: str) -> Part:
    """The condition that a name is one of a segment, so that no response counts for what is not listed."""
    if isinstance(dividing, Values):
        if dividing.is_open:
            return "TRUE", []
        names = [name_of(each) for each in dividing.entries]
    elif divisions.is_scale(dividing):
        names = [str(point) for point in range(MAX_POINT + 1)]
    else:
        names = [str(each.id) for each in (*dividing.block.options, *dividing.removed)]
    return f"{table}.name = ANY(%s)", [names]
