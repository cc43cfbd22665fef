"""A cross table: how many responses are in each row and each column, and whether that is more than chance.

count(project=…, rows=…, columns=…)     the table; both are texts of the module `dividing`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from communities.ground.errors import refuse
from communities.ground.words import plural
from surveys.engine import chance, statistics
from surveys.engine.chance import FEW_EXPECTED, ChanceTest
from surveys.engine.statistics import AnswerGroup, DistributionEntry, percentage
from surveys.models import Project
from surveys.services.counting import counts as counting
from surveys.services.counting import crossing, divisions
from surveys.services.counting.answer_groups import ReportedBlock
from surveys.services.counting.counts import ALL, Selection
from surveys.services.counting.crossing import Crossed
from surveys.services.counting.divisions import Values, name_of
from surveys.services.results import dividing, figures, weighing
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.storage import StoredScript

MOST_CELLS = 2_500
LEAST_OF_ROW = 10  # With fewer responses a share changes by 10 points or more with each of them.
MORE, LESS = "more", "less"
# Cramér's V in words, from the greatest.
_EFFECTS = ((0.5, "strong"), (0.3, "moderate"), (0.1, "weak"), (0.0, "very weak"))


@dataclass(frozen=True, slots=True)
class CrossTable:
    """A cross table as JSON. `count` are the responses in some row and some column.

    `test` compares all rows; None where responses can be in several, or nothing can be tested. `cells` are
    lists by row. `notes` are sentences for its readers. If the responses are weighted, cells and shares are,
    and `weighted_count` is the sum of the weights.
    """

    rows: dict[str, Any]
    columns: dict[str, Any]
    count: int
    cells: list[list[dict[str, Any]]]
    test: dict[str, Any] | None
    tested_cells: int
    notes: list[str]
    weighting: dict[str, Any] | None = None
    weighted_count: float | None = None


def count(
    *,
    project: Project,
    selection: Selection = ALL,
    rows: int | str,
    columns: int | str,
    derives: bool = True,
    max_wait: float | None = 0.0,
) -> CrossTable:
    """The cross table of the selected responses.

    Refuses rows and columns that `dividing` refuses, that are the same, or that have too many cells, and
    unknown fields. Raises Unavailable as `figures.count` does.
    """
    stored = script_cache.of(project).stored
    figures.refuse_fields(project, selection)
    both = _divided(project, stored, rows, columns, derives)
    names = figures.field_names(selection, rows=rows, columns=columns)
    crossed = crossing.count(
        project.pk,
        stored,
        selection,
        both[0],
        both[1],
        undeclared={by: name for by, name in names.items() if name not in project.hidden_fields},
        max_wait=max_wait,
    )
    return _table(both[0], both[1], crossed)


def refuse_unless_countable(
    *, project: Project, selection: Selection, rows: int | str, columns: int | str, derives: bool
) -> None:
    """Refuse, before a long count, what `count` would refuse, as far as the latest responses show."""
    stored = script_cache.of(project).stored
    figures.refuse_fields(project, selection)
    for each in _divided(project, stored, rows, columns, derives):
        if isinstance(each, Values) and each.is_open:
            counting.refuse_many_recent_values(project.pk, selection, stored.script, each)


def _divided(
    project: Project, stored: StoredScript, rows: int | str, columns: int | str, derives: bool
) -> list[ReportedBlock | Values]:
    reported = figures.reported_blocks(stored)
    both = list[ReportedBlock | Values]()
    for parameter, by in (("rows", rows), ("columns", columns)):
        found = dividing.dividing(
            by,
            project=project,
            script=stored.script,
            reported=reported,
            most=figures.MAX_FIELD_SEGMENTS,
            derives=derives,
            parameter=parameter,
        )
        assert found is not None
        both.append(found)
    if rows == columns or both[0] == both[1]:
        refuse("columns", "duplicate", "The columns divide responses by something else than the rows.")
    sizes = [_size(each) for each in both]
    if sizes[0] * sizes[1] > MOST_CELLS:
        refuse(
            "columns",
            "too_many",
            f"{sizes[0]:,} rows and {sizes[1]:,} columns make more than {MOST_CELLS:,} cells.",
        )
    return both


def _size(by: ReportedBlock | Values) -> int:
    if isinstance(by, Values):
        return max(len(by.entries), 1)
    return statistics.max_entries(by.block, by.removed)


# --- The table --------------------------------------------------------------------------------------------


def _table(rows: ReportedBlock | Values, columns: ReportedBlock | Values, crossed: Crossed) -> CrossTable:
    in_rows, in_columns = _segments(rows, crossed.rows), _segments(columns, crossed.columns)
    if len(in_rows) * len(in_columns) > MOST_CELLS:
        refuse("columns", "too_many", f"These rows and columns make more than {MOST_CELLS:,} cells.")
    whole = crossed.weighted or crossed
    heights = [whole.rows.get(name_of(row), 0) for row in in_rows]
    widths = [whole.columns.get(name_of(column), 0) for column in in_columns]
    counts = [
        [whole.cells.get((name_of(row), name_of(column)), 0) for column in in_columns] for row in in_rows
    ]
    scale = _scale(crossed)
    are_single = not (_is_multiple(rows) or _is_multiple(columns))
    tested_counts = counts if crossed.weighted is None else [[n * scale for n in row] for row in counts]
    test = chance.compared(tested_counts) if are_single else None
    differs, tested = _differences(
        counts,
        heights,
        widths,
        whole.count,
        scale=scale,
        single=(not _is_multiple(rows), not _is_multiple(columns)),
    )
    shown = (lambda people: people) if crossed.weighted is None else weighing.amount
    cells = [
        [
            {
                "count": shown(people),
                "row_percentage": percentage(people, of_row),
                "column_percentage": percentage(people, of_column),
                "percentage": percentage(people, whole.count),
                "differs": differs.get((n, m)),
            }
            for m, (people, of_column) in enumerate(zip(counts[n], widths, strict=True))
        ]
        for n, of_row in enumerate(heights)
    ]
    notes = _notes(
        tested_counts,
        in_rows,
        crossed.count,
        are_single=are_single,
        test=test,
        tested=tested,
        has_arrows=bool(differs),
    )
    return CrossTable(
        rows=_named(rows, in_rows, heights, crossed),
        columns=_named(columns, in_columns, widths, crossed),
        count=crossed.count,
        cells=cells,
        test=_test(test) if test else None,
        tested_cells=tested,
        notes=[*_of_weights(crossed), *notes],
        weighting=None if crossed.weighting is None else dict(crossed.weighting),
        weighted_count=None if crossed.weighted is None else weighing.amount(whole.count),
    )


def _scale(crossed: Crossed) -> float:
    """The factor from counts to tested counts; 1 without weights.

    Weighted counts are scaled to Kish's effective base of the table (`weights.effective`), so that unequal
    weights, which make shares less certain, make differences beyond chance rarer.
    """
    weighted = crossed.weighted
    return 1 if weighted is None or not weighted.count else weighted.effective / weighted.count


def _segments(by: ReportedBlock | Values, sums: Mapping[str, int]) -> dict[DistributionEntry, int]:
    """The rows or columns in order, each with its number of responses."""
    if isinstance(by, Values):
        return by.segments(sums)
    is_scale = divisions.is_scale(by)
    groups = [
        AnswerGroup(None if is_scale else int(name), int(name) if is_scale else None, people, people)
        for name, people in sums.items()
    ]
    entries = statistics.segment_entries(by.block, by.removed, groups)
    return {entry: sums.get(name_of(entry), 0) for entry in entries}


def _is_multiple(by: ReportedBlock | Values) -> bool:
    """Whether one response can be in several rows or columns."""
    return by.is_multiple if isinstance(by, Values) else by.block.type == "multi_punch"


def _named(
    by: ReportedBlock | Values,
    segments: Mapping[DistributionEntry, int],
    shares: Sequence[int],
    crossed: Crossed,
) -> dict[str, Any]:
    """The rows or columns. `shares` are their counts, or sums of weights."""
    whole = (crossed.weighted or crossed).count
    found = [
        {**entry.as_json(), "count": people, "percentage": percentage(share, whole)}
        for (entry, people), share in zip(segments.items(), shares, strict=True)
    ]
    if crossed.weighted is not None:
        found = [
            {**each, "weighted_count": weighing.amount(share)}
            for each, share in zip(found, shares, strict=True)
        ]
    return {**figures.named(by), "is_multiple": _is_multiple(by), "segments": found}


def _differences(
    counts: Sequence[Sequence[int]],
    rows: Sequence[int],
    columns: Sequence[int],
    whole: int,
    *,
    scale: float,
    single: tuple[bool, bool],
) -> tuple[dict[tuple[int, int], str], int]:
    """The cells with more or less than in all other rows, beyond chance; and the number of tests.

    Each cell is a table of two: responses in its row and others, in its column and others. If there are only
    two rows, each person being in one, the second row is the first one turned round, and not tested again.
    """
    heights = [n for n, people in enumerate(rows) if 0 < people < whole]
    widths = [n for n, people in enumerate(columns) if 0 < people < whole]
    tested_rows = heights[:1] if single[0] and len(heights) == 2 else heights
    tested_columns = widths[:1] if single[1] and len(widths) == 2 else widths
    places = [(n, m) for n in tested_rows for m in tested_columns]
    tests = [chance.compared(_two(counts[n][m], rows[n], columns[m], whole, scale)) for n, m in places]
    found = chance.beyond_chance([test.p if test else 1.0 for test in tests])
    significant = {place for place, is_found in zip(places, found, strict=True) if is_found}
    differs = {}
    for n in heights:
        for m in widths:
            place = (n if n in tested_rows else heights[0], m if m in tested_columns else widths[0])
            if place in significant:
                differs[n, m] = MORE if counts[n][m] * whole > rows[n] * columns[m] else LESS
    return differs, len(places)


def _two(cell: int, row: int, column: int, whole: int, scale: float) -> list[list[float]]:
    counts = [[cell, row - cell], [column - cell, whole - row - column + cell]]
    return [[each * scale for each in row] for row in counts]


# --- Words ------------------------------------------------------------------------------------------------


def _test(test: ChanceTest) -> dict[str, Any]:
    is_found = test.p < chance.LEVEL
    strength = next(word for least, word in _EFFECTS if test.effect >= least)
    freedom = "" if test.freedom is None else f", {plural(test.freedom, 'degree')} of freedom"
    said = "The rows differ beyond chance" if is_found else "No difference between the rows beyond chance"
    return {
        "name": test.name,
        "p": test.p,
        "statistic": test.statistic,
        "degrees_of_freedom": test.freedom,
        "effect": test.effect,
        "is_beyond_chance": is_found,
        "text": f"{said} ({test.name}{freedom}, {chance.in_words(test.p)}). "
        f"The association is {strength} (Cramér's V = {test.effect:.2f}).",
    }


def _of_weights(crossed: Crossed) -> list[str]:
    """Sentences about the effect of weights on a table, and the rule of its tests."""
    if crossed.weighted is None or crossed.weighting is None:
        return []
    return [
        f"Shares are weighted by {crossed.weighting['field']}. Tests take weighted counts scaled to Kish's "
        f"effective base of {crossed.weighted.effective:,.1f} responses: the square of the sum of the "
        f"weights by the sum of their squares. {chance.FISHER} takes them rounded."
    ]


def _notes(
    counts: chance.Table,
    rows: Mapping[DistributionEntry, int],
    whole: int,
    *,
    are_single: bool,
    test: ChanceTest | None,
    tested: int,
    has_arrows: bool,
) -> list[str]:
    notes = []
    small = [entry for entry, people in rows.items() if 0 < people < LEAST_OF_ROW]
    if small:
        names = ", ".join(f"“{entry.label or entry.value}”" for entry in small[:5])
        names += f" and {len(small) - 5} more" if len(small) > 5 else ""
        notes.append(
            f"Rows with fewer than {LEAST_OF_ROW} responses: {names}. Their shares say little, because each "
            "response changes them much."
        )
    if whole and not are_single:
        notes.append(
            "A response can be in several rows or columns, so the shares can exceed 100% together, and only "
            "single cells are tested."
        )
    elif whole and test is None:
        some = chance.without_empty(counts)
        is_one = len(some) < 2 or len(some[0]) < 2
        notes.append(
            "There is only one row or column with responses, so nothing is compared."
            if is_one
            else f"The rows are not tested together: in too many cells fewer than {FEW_EXPECTED} responses "
            "would be expected by chance. Fewer rows or columns may help."
        )
    if tested > 1 or (tested and not are_single):
        found = "Arrows mark cells that differ" if has_arrows else "No cell differs"
        notes.append(
            f"{found} from all other rows beyond chance: {plural(tested, 'test')} "
            f"({chance.YATES}, or {chance.FISHER} where fewer than {FEW_EXPECTED} are expected), corrected "
            f"for their number by Holm's rule, so that the chance of any false alarm is below "
            f"{chance.LEVEL}."
        )
    return notes
