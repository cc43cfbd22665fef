"""Converts a script between the engine's objects and its rows: few statements, written by hand.

Rows are sent as one JSON parameter that PostgreSQL unpacks. Measured for 20 blocks of 4 options, CPU of both
sides: 2.7 ms to write them this way, 5.4 ms by `bulk_create`. A read is one snapshot, so blocks and options
of two revisions are never mixed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, cast

import orjson
from django.db import connection, models

from communities.ground.errors import Conflict
from communities.ground.statements import prepared
from surveys.engine.script import ActionConfig, Block, Bucket, Continue, Option, Scale, Script
from surveys.models import Answer
from surveys.models import Block as BlockRow
from surveys.models import Option as OptionRow
from surveys.services.scripts import pictures

Row = dict[str, Any]

# Fields with the same name and value in the engine and in the row.
_PLAIN = (
    "name",
    "section",
    "type",
    "prompt",
    "description",
    "group",
    "answer_style",
    "color",
    "image_url",
    "image_alt",
    "thumbnail_url",
    "thumbnail_alt",
    "video_url",
    "min",
    "max",
    "whole",
    "format",
    "required",
    "precondition",
    "show_when",
    "hide_when",
    "action_kind",
    "when_correct",
    "when_incorrect",
    "randomize_options",
    "rank_top_n",
    "follow_ups",
    "calculated_formula",
    "scores_ignored",
    "last_code",
)
_OPTION_PLAIN = (
    "value",
    "label",
    "emoji",
    "anchor_position",
    "is_exclusive",
    "is_other",
    "image_url",
    "image_alt",
    "code",
)
_READ = """
    SELECT p.revision, p.type = 'poll', p.scoring_enabled, p.script_is_scored,
        (SELECT json_agg(b ORDER BY b.position, b.id)::text FROM surveys_block b WHERE b.project_id = p.id),
        (SELECT json_agg(o ORDER BY o.display_order, o.id)::text
            FROM surveys_option o JOIN surveys_block b ON b.id = o.block_id WHERE b.project_id = p.id),
        (SELECT json_agg(k.name ORDER BY k.order, k.id)::text FROM surveys_bucket k WHERE k.project_id = p.id)
    FROM surveys_project p WHERE p.id = %s
"""


MAX_REMOVED = 8_000_000  # In bytes: removed rows as JSON (rule 3.40). The largest script has less.
_REMOVED_SIZE = """
    SELECT coalesce(sum(size), 0) FROM (
        SELECT octet_length(row_to_json(b)::text) AS size FROM surveys_block b
        WHERE b.project_id = %(project)s AND b.is_archived
        UNION ALL
        SELECT octet_length(row_to_json(o)::text) FROM surveys_option o
        JOIN surveys_block b ON b.id = o.block_id WHERE b.project_id = %(project)s AND o.is_archived
    ) removed
"""


@dataclass(frozen=True)
class StoredScript:
    """A script in its stored form.

    `archived` contains the removed blocks that have answers; each block's removed options are in
    `archived_options`, by block id. `size` is the number of bytes of its rows as JSON.
    """

    revision: int
    script: Script
    archived: tuple[Block, ...] = ()
    archived_options: Mapping[int, tuple[Option, ...]] | None = None
    size: int = 0

    def with_removed_options(self, block: Block) -> Block:
        """The block with its removed options that were chosen, at the end."""
        removed = (self.archived_options or {}).get(block.id or 0, ())
        return replace(block, options=(*block.options, *removed)) if removed else block

    @property
    def conditional_ids(self) -> frozenset[int]:
        """The ids of the blocks that have a condition, the removed ones included."""
        return frozenset(
            block.id or 0 for block in (*self.script.blocks, *self.archived) if block.precondition
        )

    @property
    def complete_blocks(self) -> dict[int, Block]:
        """Return all blocks that may have answers, by id. They include removed blocks, and each block has its
        removed options.
        """
        return {
            block.id: self.with_removed_options(block)
            for block in (*self.script.blocks, *self.archived)
            if block.id is not None
        }


def read(project_id: int) -> StoredScript | None:
    """The stored script of a project, or None if there is no such project."""
    with prepared() as cursor:
        cursor.execute(_READ, [project_id])
        found = cursor.fetchone()
    if found is None:
        return None
    revision, is_poll, scoring_enabled, is_scored, *texts = found
    block_rows, option_rows, bucket_names = (orjson.loads(text) if text else [] for text in texts)
    options: dict[int, list[Option]] = {}
    archived_options: dict[int, list[Option]] = {}
    for row in option_rows:
        kept = archived_options if row["is_archived"] else options
        of_block = kept.setdefault(row["block_id"], [])
        of_block.append(_option(row, len(of_block)))
    walked: list[Block] = []
    outro: list[Block] = []
    archived: list[Block] = []
    for row in block_rows:
        kind = archived if row["is_archived"] else outro if row["section"] == "outro" else walked
        kind.append(_block(row, tuple(options.get(row["id"], ())), len(kind)))
    script = Script(
        blocks=tuple(walked),
        outro=tuple(replace(block, position=len(walked) + n) for n, block in enumerate(outro)),
        is_poll=is_poll,
        scoring_enabled=scoring_enabled,
        is_scored=is_scored,
        buckets=tuple(map(Bucket, bucket_names)),
    )
    removed = {block_id: tuple(each) for block_id, each in archived_options.items()}
    return StoredScript(
        revision, script, tuple(archived), removed, size=sum(len((text or "").encode()) for text in texts)
    )


def _block(row: Row, options: tuple[Option, ...], position: int) -> Block:
    config, scale, advance, correct = (
        row[key] for key in ("action_config", "scale", "advance", "correct_answer_ids")
    )
    return Block(
        **{key: row[key] for key in _PLAIN},
        id=row["id"],
        options=options,
        position=position,
        action_config=ActionConfig(**config) if config else None,
        correct_answer_ids=tuple(correct) if correct else None,
        scale=Scale(**scale) if scale else None,
        continue_=Continue(**advance) if advance else None,
    )


def _option(row: Row, display_order: int) -> Option:
    scores = row["score_values"]
    return Option(
        **{key: row[key] for key in _OPTION_PLAIN},
        id=row["id"],
        display_order=display_order,
        score_values={key: Decimal(str(points)) for key, points in scores.items()}
        if scores is not None
        else None,
    )


def _block_row(block: Block, project_id: int) -> Row:
    row: Row = {key: getattr(block, key) for key in _PLAIN}
    return row | {
        "id": block.id,
        "project_id": project_id,
        "is_archived": False,
        "position": block.position,
        "action_config": asdict(block.action_config) if block.action_config else None,
        "correct_answer_ids": block.correct_answer_ids,
        "scale": asdict(block.scale) if block.scale else None,
        "advance": asdict(block.continue_) if block.continue_ else None,
    }


def _option_row(option: Option, block_id: int) -> Row:
    scores = option.score_values
    return {key: getattr(option, key) for key in _OPTION_PLAIN} | {
        "id": option.id,
        "block_id": block_id,
        "is_archived": False,
        "display_order": option.display_order,
        "score_values": {key: float(points) for key, points in scores.items()}
        if scores is not None
        else None,
    }


# --- Writing --------------------------------------------------------------------------------------


def numbered(blocks: Iterable[Block], *, before: Script) -> tuple[Block, ...]:
    """The blocks in their stored form: new blocks and options get ids, and correct answers refer to these.

    Options get their codes (rules 3.17 and 6.63). An option keeps its code from `before`, or in a clone from
    its original. New options get the next codes in order.
    """
    blocks = tuple(blocks)
    old_blocks = {block.id: block for block in (*before.blocks, *before.outro)}
    new_blocks = sum(block.id is None for block in blocks)
    new_options = sum(option.id is None for block in blocks for option in block.options)
    block_ids, option_ids = _reserve(new_blocks, new_options)
    stored = []
    for block in blocks:
        options, last_code = _numbered_options(block, old_blocks.get(block.id), option_ids)
        correct = block.correct_answer_ids
        if not correct:
            correct = tuple(cast(int, options[place].id) for place in block.correct_places)
        stored.append(
            replace(
                block,
                id=next(block_ids) if block.id is None else block.id,
                options=options,
                correct_answer_ids=correct or None,
                correct_answer_index=None,
                correct_answer_indexes=None,
                last_code=last_code,
            )
        )
    return tuple(stored)


def _numbered_options(
    block: Block, before: Block | None, option_ids: Iterator[int]
) -> tuple[tuple[Option, ...], int]:
    """The options of a block with their ids and codes, and the highest code that any option has had."""
    old = {option.id: option.code for option in before.options} if before else {}
    last = max(block.last_code, before.last_code if before else 0)
    options = []
    for option in block.options:
        code = old.get(option.id) or option.code
        if code is None:
            code = last = last + 1
        options.append(replace(option, id=next(option_ids) if option.id is None else option.id, code=code))
    return tuple(options), last


def _reserve(blocks: int, options: int) -> tuple[Any, Any]:
    """Reserve new ids for these numbers of blocks and options, in one statement."""
    if not blocks and not options:
        return iter(()), iter(())
    ids = "ARRAY(SELECT nextval(pg_get_serial_sequence('{}', 'id')) FROM generate_series(1, %s))"
    sql = f"SELECT {ids.format('surveys_block')}, {ids.format('surveys_option')}"
    with connection.cursor() as cursor:
        cursor.execute(sql, [blocks, options])
        block_ids, option_ids = cursor.fetchone()
    return iter(block_ids), iter(option_ids)


def save(project_id: int, *, before: Script, after: Script) -> None:
    """Write the difference between two scripts: new, changed and removed rows.

    Requests copies of new pictures. Every block and option of `after` has its id. Removed blocks and options
    that have answers are archived, not deleted.
    """
    old_blocks = {block.id: block for block in (*before.blocks, *before.outro)}
    old_options = {option.id: option for block in old_blocks.values() for option in block.options}
    new: tuple[list[Row], list[Row]] = [], []
    changed: tuple[list[Row], list[Row]] = [], []
    kept_blocks, kept_options = set(), set()
    for block in (*after.blocks, *after.outro):
        assert block.id is not None
        kept_blocks.add(block.id)
        was = old_blocks.get(block.id)
        if was is None:
            new[0].append(_block_row(block, project_id))
        elif _differs(was, block):
            changed[0].append(_block_row(block, project_id))
        for option in block.options:
            kept_options.add(option.id)
            if option.id not in old_options:
                new[1].append(_option_row(option, block.id))
            elif old_options[option.id] != option:
                changed[1].append(_option_row(option, block.id))
    for model, rows in zip((BlockRow, OptionRow), new, strict=True):
        _insert(model, rows)
    for model, rows in zip((BlockRow, OptionRow), changed, strict=True):
        _update(model, rows)
    pictures.want_new(project_id, before=before, after=after)
    _remove(
        project_id,
        blocks=[each for each in old_blocks if each not in kept_blocks and each is not None],
        options=[each for each in old_options if each not in kept_options and each is not None],
    )


def _differs(was: Block, block: Block) -> bool:
    """Whether the row of a block changes, apart from its options."""
    unplaced = replace(was, options=block.options, correct_answer_index=None, correct_answer_indexes=None)
    is_same = unplaced == block
    return not is_same or was.last_code != block.last_code


def _insert(model: type[models.Model], rows: list[Row]) -> None:
    if not rows:
        return
    table = model._meta.db_table
    columns = ", ".join(f'"{column}"' for column in rows[0])
    unfolded = f"json_populate_recordset(NULL::{table}, %s::json)"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {unfolded}", [orjson.dumps(rows).decode()]
        )


def _update(model: type[models.Model], rows: list[Row]) -> None:
    if not rows:
        return
    table = model._meta.db_table
    columns = ", ".join(f'"{column}" = new."{column}"' for column in rows[0] if column != "id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} old SET {columns} FROM json_populate_recordset(NULL::{table}, %s::json) new"
            " WHERE old.id = new.id",
            [orjson.dumps(rows).decode()],
        )


def _remove(project_id: int, *, blocks: Collection[int], options: Collection[int]) -> None:
    """Archive the rows that have answers, and delete the rest (rule 2.13). Options are treated like their
    block.

    Raises Conflict if the removed rows of the project would take more than MAX_REMOVED.
    """
    answered: set[int] = set()
    answered_blocks: set[int] = set()
    if options:
        answered = set(
            Answer.objects.filter(option_id__in=options).values_list("option_id", flat=True).distinct()
        )
        if blocks:
            of_blocks = Answer.objects.filter(block_id__in=blocks).values("block_id").distinct()
            kept_with_block = OptionRow.objects.filter(pk__in=options, block_id__in=of_blocks)
            answered |= set(kept_with_block.values_list("pk", flat=True))
        OptionRow.objects.filter(pk__in=answered).update(is_archived=True)
        _delete(OptionRow, [each for each in options if each not in answered])
    if blocks:
        answered_blocks = set(
            Answer.objects.filter(block_id__in=blocks).values_list("block_id", flat=True).distinct()
        )
        BlockRow.objects.filter(pk__in=answered_blocks).update(is_archived=True)
        gone = [each for each in blocks if each not in answered_blocks]
        OptionRow.objects.filter(block_id__in=gone).delete()
        _delete(BlockRow, gone)
    if answered or answered_blocks:
        _require_room(project_id)


def _require_room(project_id: int) -> None:
    """Refuse too many removed rows: every reader of the script reads them too, so their number must be
    limited.
    """
    with connection.cursor() as cursor:
        cursor.execute(_REMOVED_SIZE, {"project": project_id})
        (size,) = cursor.fetchone()
    if size > MAX_REMOVED:
        raise Conflict(
            "The questions and options that were removed from this script and have answers take too much "
            "room. No more can be removed: clone the project, and go on with the copy."
        )


def _delete(model: type[models.Model], ids: Collection[int]) -> None:
    """Delete rows that no other row refers to. Constraints enforce that; a cascade would delete answers."""
    if not ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE id = ANY(%s)", [list(ids)])
