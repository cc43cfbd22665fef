"""Counts two divisions of the same responses at once: how many are in each row and each column.

count(project_id, stored, selection, rows, columns, …)     the counts of one moment
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from communities.ground.replica import from_replica
from communities.ground.statements import Part
from surveys.services.counting import divisions, large, sent_fields, weights
from surveys.services.counting.answer_groups import ReportedBlock
from surveys.services.counting.counts import (
    Selection,
    condition_of,
    is_large,
    one_moment,
    packed_batches,
    totals_of,
    values_of,
    weighting_of,
)
from surveys.services.counting.divisions import Values, memberships, name_of
from surveys.services.scripts.storage import StoredScript

BYTES_OF_A_CELL = 300


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


@from_replica
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

    Refuses and raises the same as `counts.count_answers`.
    """
    where, values = condition_of(project_id, selection, stored.script)
    condition = f"{where or 'c.project_id = %s'} AND c.is_listed", values or [project_id]
    by = tuple(each.id if isinstance(each, ReportedBlock) else each for each in (rows, columns))
    key = ("cross", project_id, stored.revision, selection, by, tuple(sorted(undeclared.items())))

    def counted(*, has_slot: bool) -> Crossed | None:
        """Return the counts; None if they need a slot."""
        ((listed, _, changes),) = values_of([totals_of(project_id)])
        needs_slot = is_large(listed, selection, stored.script, sum(map(memberships, (rows, columns))))
        if needs_slot and (known := large.kept(key, Crossed, changes=changes)) is not None:
            return known
        if needs_slot and not has_slot:
            large.refuse_stopped(key, "columns")
            return None
        sent_fields.refuse_unknown(project_id=project_id, names=undeclared)
        weighting = weighting_of(project_id, selection, stored.script)
        found = _crossed(changes, rows, columns, condition, selection.weight_by)
        found = replace(found, weighting=weighting)
        for each, names in ((rows, found.rows), (columns, found.columns)):
            if isinstance(each, Values) and each.is_open:
                divisions.refuse_too_many(each, len({*names, *map(name_of, each.entries)}))
        if needs_slot:
            large.keep(key, found)
        return found

    with one_moment(max_wait):
        found = counted(has_slot=False)
    if found is None:
        with (
            large.counting_slot(max_wait=max_wait),
            one_moment(max_wait),
            large.stopped(key, "columns", max_wait=max_wait),
        ):
            found = counted(has_slot=True)
    assert found is not None
    return found


def _crossed(
    changes: int,
    rows: ReportedBlock | Values,
    columns: ReportedBlock | Values,
    condition: Part,
    weight_by: str | None,
) -> Crossed:
    from surveys.services.counting.membership import Crossing  # noqa: PLC0415 - NumPy: 25 MB

    crossing = Crossing(rows, columns)
    marks = [each.mark if isinstance(each, Values) else None for each in (rows, columns)]
    weight = [weights.expression(weight_by)] if weight_by else []
    with closing(packed_batches(*condition, *marks, *weight)) as batches:
        for data, _, [of_rows, of_columns, *own] in batches:
            crossing.add(data, (of_rows, of_columns), own[0] if own else None)
    found = Crossed(changes, crossing.count, *crossing.counts())
    if not weight_by:
        return found
    effective = weights.effective(crossing.weight / weights.UNIT, crossing.squares)
    weighted = Crossed(changes, crossing.weight, *crossing.weights(), effective=effective)
    return replace(found, weighted=weighted)
