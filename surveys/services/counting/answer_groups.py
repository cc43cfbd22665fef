"""All answers of a project, grouped by block, option and point: counted from two indexes.

part(questions)             the part of a statement that counts them
by_block(rows)              its counts by block
with_spreads(groups, …)     the same, with the quartiles and bins of numbers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from communities.ground.statements import Part, fetch_rows
from surveys.engine import spread
from surveys.engine.script import NUMBERS, SCALES, Block, Option
from surveys.engine.spread import Spread
from surveys.engine.statistics import MAX_POINT, AnswerGroup


@dataclass(frozen=True, slots=True)
class ReportedBlock:
    """A block with figures: its position in the script, and its removed options."""

    block: Block
    position: int
    is_archived: bool
    removed: Sequence[Option]

    @property
    def id(self) -> int:
        assert self.block.id is not None
        return self.block.id


def part(questions: Sequence[Block]) -> Part:
    """The answer rows of each block, grouped by option and point.

    Rows are grouped by number first, then by point. So sums are exact in any order of rows, and a million
    different numbers of one point are one row.
    """
    ranked = [block.id for block in questions if block.type == "ranking"]
    by_point = [block.id for block in questions if block.type in SCALES or block.type == "ranking"]
    rows, more = _rows_of_all(questions)
    return (
        f"""
        SELECT json_agg(json_build_array(block_id, option_id, point,
            row_count, people, numbers, total::text, lowest, highest, squares::text, is_whole))
        FROM (
            SELECT block_id, option_id,
                CASE WHEN block_id = ANY(%s) AND {_is_point("number")} THEN number::int END AS point,
                sum(row_count) AS row_count,
                coalesce(sum(row_count) FILTER (WHERE ordinal = 0), 0) AS people,
                coalesce(sum(row_count) FILTER (WHERE number IS NOT NULL), 0) AS numbers,
                coalesce(sum(row_count * number::numeric), 0) AS total,
                min(number) AS lowest, max(number) AS highest,
                coalesce(sum(row_count * number::numeric * number::numeric), 0) AS squares,
                coalesce(bool_and(number = floor(number)), FALSE) AS is_whole
            FROM (
                SELECT block_id, option_id, ordinal, row_count,
                    CASE WHEN block_id = ANY(%s) THEN ordinal + 1 ELSE number END AS number
                FROM ({rows}) answer_rows
            ) numbered
            GROUP BY 1, 2, 3
        ) grouped
        """,
        [by_point, ranked, *more],
    )


def _rows_of_all(questions: Sequence[Block]) -> Part:
    """The rows of all answers, counted from two indexes alone, block by block, in the order of the index.

    CPU for 10 million rows: 0.7 s. All blocks at once over one index of blocks, options and numbers take 0.9
    s, 1.0 s if that index has the ordinal too, and 6.8 s if ordinals are read from the table.
    """
    numeric = [block.id for block in questions if block.type in NUMBERS]
    others = [block.id for block in questions if block.type not in NUMBERS]
    counted = "SELECT block.id AS block_id"
    of_options = f"""
        {counted}, option_id, NULL::float8 AS number, ordinal, row_count
        FROM unnest(%s::bigint[]) AS block(id), LATERAL (
            SELECT option_id, ordinal, count(*) AS row_count
            FROM surveys_answer WHERE block_id = block.id {{}}
            GROUP BY option_id, ordinal
        ) answer_rows
    """
    of_numbers = f"""
        {counted}, NULL, number, 0, row_count
        FROM unnest(%s::bigint[]) AS block(id), LATERAL (
            SELECT number, count(*) AS row_count
            FROM surveys_answer WHERE block_id = block.id AND option_id IS NULL
            GROUP BY number
        ) answer_rows
    """
    # A number block has options if it was a choice before.
    parts = [of_options.format(""), of_numbers, of_options.format("AND option_id IS NOT NULL")]
    return " UNION ALL ".join(parts), [others, numeric, numeric]


def _is_point(number: str) -> str:
    return f"{number} BETWEEN 0 AND {MAX_POINT} AND {number} = floor({number})"


def by_block(rows: Sequence[Sequence[Any]]) -> dict[int, list[AnswerGroup]]:
    groups: dict[int, list[AnswerGroup]] = {}
    for block_id, option_id, point, *counts, total, lowest, highest, squares, is_whole in rows:
        row_count, people, numbers = counts
        group = AnswerGroup(
            option_id,
            point,
            row_count,
            people,
            numbers,
            Decimal(total),
            lowest,
            highest,
            Decimal(squares),
            is_whole,
        )
        groups.setdefault(block_id, []).append(group)
    return groups


# The index has the numbers of a block in order, so a quartile costs a walk to its place. A million numbers
# take 0.2 s of CPU. Sorting and numbering them in a window would take 1 s.
_AROUND = """
    ARRAY(
        SELECT number FROM surveys_answer
        WHERE block_id = %s AND option_id IS NULL AND number IS NOT NULL
        ORDER BY number OFFSET %s LIMIT 2
    )
"""
_IN_BINS = """
    ARRAY(
        SELECT coalesce(people, 0) FROM generate_series(1, %s) place LEFT JOIN (
            SELECT width_bucket(number, %s::float8[]) AS place, count(*) AS people
            FROM surveys_answer WHERE block_id = %s AND option_id IS NULL AND number IS NOT NULL
            GROUP BY 1
        ) counted USING (place) ORDER BY place
    )
"""


def with_spreads(
    groups: Mapping[int, list[AnswerGroup]], questions: Sequence[Block]
) -> Mapping[int, list[AnswerGroup]]:
    """Add the quartiles and bins of numbers of open questions. Runs one statement, if there are any."""
    numbered = {
        block.id: group
        for block in questions
        if block.type == "open_numeric"
        for group in groups.get(block.id or 0, ())
        if group.numbers
    }
    if not numbered:
        return groups
    parts: list[str] = []
    values: list[Any] = []
    for block_id, group in numbered.items():
        for quartile in spread.QUARTILES:
            parts.append(_AROUND)
            values += [block_id, spread.indexes(group.numbers, quartile)[0]]
        lows = [float(low) for low in group.bins.lows]
        parts.append(_IN_BINS)
        values += [len(lows), lows, block_id]
    found = iter(fetch_rows(f"SELECT {', '.join(parts)}", values)[0])
    spreads = {}
    for block_id in numbered:
        around = [(numbers[0], numbers[-1]) for numbers in (next(found) for _ in spread.QUARTILES)]
        spreads[block_id] = Spread(around, next(found))
    return {
        block_id: [
            replace(group, spread=spreads[block_id]) if numbered.get(block_id) is group else group
            for group in own
        ]
        for block_id, own in groups.items()
    }
