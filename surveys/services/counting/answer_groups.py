"""All answers of a project, grouped by block, option and point: counted from two indexes.

part(questions)             the part of a statement that counts them
by_block(counted)           its counts by block, with the quartiles and bins of numbers
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

MOST_LISTED = 1_000  # different numbers


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
    different numbers of one point are one row. The different numbers of an open question are listed, if they
    are at most MOST_LISTED.
    """
    open_numeric = [block.id for block in questions if block.type == "open_numeric"]
    ranked = [block.id for block in questions if block.type == "ranking"]
    by_point = [block.id for block in questions if block.type in SCALES or block.type == "ranking"]
    rows, more = _rows_of_all(questions)
    return (
        f"""
        WITH open_numbers AS MATERIALIZED ({_OF_NUMBERS})
        SELECT json_build_object('numbers', (
            SELECT json_agg(json_build_array(block_id, numbers)) FROM (
                SELECT block_id, json_agg(json_build_array(number, row_count) ORDER BY number) AS numbers
                FROM open_numbers JOIN (
                    SELECT block_id FROM open_numbers GROUP BY 1 HAVING count(*) <= {MOST_LISTED}
                ) few USING (block_id) WHERE number IS NOT NULL GROUP BY 1
            ) listed
        ), 'groups', (SELECT json_agg(json_build_array(block_id, option_id, point,
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
        ) grouped))
        """,
        [open_numeric, by_point, ranked, *more],
    )


def _rows_of_all(questions: Sequence[Block]) -> Part:
    """The rows of all answers, counted from two indexes alone, block by block, in the order of the index.

    CPU for 10 million rows: 0.7 s. All blocks at once over one index of blocks, options and numbers take 0.9
    s, 1.0 s if that index has the ordinal too, and 6.8 s if ordinals are read from the table.
    """
    numeric = [block.id for block in questions if block.type in NUMBERS]
    scales = [block.id for block in questions if block.type in SCALES]
    others = [block.id for block in questions if block.type not in NUMBERS]
    of_options = """
        SELECT block.id, option_id, NULL::float8, ordinal, row_count
        FROM unnest(%s::bigint[]) AS block(id), LATERAL (
            SELECT option_id, ordinal, count(*) AS row_count
            FROM surveys_answer WHERE block_id = block.id {}
            GROUP BY option_id, ordinal
        ) answer_rows
    """
    # A number block has options if it was a choice before.
    parts = [
        "SELECT block_id, NULL::bigint AS option_id, number, 0 AS ordinal, row_count FROM open_numbers",
        f"SELECT block_id, NULL, number, 0, row_count FROM ({_OF_NUMBERS}) numbers",
        of_options.format(""),
        of_options.format("AND option_id IS NOT NULL"),
    ]
    return " UNION ALL ".join(parts), [scales, others, numeric]


_OF_NUMBERS = """
    SELECT block.id AS block_id, number, row_count
    FROM unnest(%s::bigint[]) AS block(id), LATERAL (
        SELECT number, count(*) AS row_count
        FROM surveys_answer WHERE block_id = block.id AND option_id IS NULL
        GROUP BY number
    ) answer_rows
"""


def _is_point(number: str) -> str:
    return f"{number} BETWEEN 0 AND {MAX_POINT} AND {number} = floor({number})"


def by_block(counted: Mapping[str, Any], questions: Sequence[Block]) -> Mapping[int, list[AnswerGroup]]:
    """The groups of each block. Runs a further statement if there are many different numbers."""
    groups: dict[int, list[AnswerGroup]] = {}
    listed = dict(counted["numbers"] or ())
    unlisted: dict[int, AnswerGroup] = {}
    open_numeric = {block.id for block in questions if block.type == "open_numeric"}
    for block_id, option_id, point, *counts, total, lowest, highest, squares, is_whole in (
        counted["groups"] or ()
    ):
        rows, people, count = counts
        sums = Decimal(total), lowest, highest, Decimal(squares), is_whole
        group = AnswerGroup(option_id, point, rows, people, count, *sums)
        own = groups.setdefault(block_id, [])
        if group.numbers and block_id in listed:
            numbers, frequencies = zip(*listed[block_id], strict=True)
            lows = [float(low) for low in group.bins.lows]
            group = replace(group, spread=spread.of_frequencies(numbers, frequencies, lows))
        elif group.numbers and block_id in open_numeric:
            unlisted[block_id] = group
        own.append(group)
    if unlisted:
        spreads = _spreads(unlisted)
        for block_id, group in unlisted.items():
            own = groups[block_id]
            own[own.index(group)] = replace(group, spread=spreads[block_id])
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


def _spreads(groups: Mapping[int, AnswerGroup]) -> Mapping[int, Spread]:
    """The quartiles and bins of the numbers of some blocks, in one statement."""
    parts: list[str] = []
    values: list[Any] = []
    for block_id, group in groups.items():
        for quartile in spread.QUARTILES:
            parts.append(_AROUND)
            values += [block_id, spread.indexes(group.numbers, quartile)[0]]
        lows = [float(low) for low in group.bins.lows]
        parts.append(_IN_BINS)
        values += [len(lows), lows, block_id]
    found = iter(fetch_rows(f"SELECT {', '.join(parts)}", values)[0])
    return {
        block_id: Spread(
            [(numbers[0], numbers[-1]) for numbers in (next(found) for _ in spread.QUARTILES)], next(found)
        )
        for block_id in groups
    }
