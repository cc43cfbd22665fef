"""Figures of anonymous projects for people who may not read single responses; these figures change in steps.

    counts(project=…, now=…, types=…, at=…)             the counts to show, and since when
    texts(project=…, analysis_id=…, blocks=…)           what to show of an analysis of open texts
    totals(projects=…)                                  the counts to show beside each project

Each block's figures, and the counts of responses, stay as they were last shown until at least five responses
differ (rule 7.12, `anonymity.may_replace`). A block's figures must also differ from the few states before.
The shown figures are stored, so that every process shows the same figures, also after a restart. These
readers never get a selection or segments: `surveys.services.ground.access`.

Everything that shows counts uses one stored state. An analysis with counts of its own could differ from the
shared page by one answer, so only its readings of texts are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import orjson

from communities.ground.transactions import in_transaction
from surveys.engine.statistics import AnswerGroup
from surveys.models import Project, ShownFigures
from surveys.services.counting.counts import AnswerCounts
from surveys.services.ground import anonymity
from surveys.services.representations import analysis as analysis_json

BlockJson = Mapping[str, Any]
GroupJson = Sequence[Any]
EarlierJson = Sequence[Any]  # the type of a block, and its groups
# When responses are deleted or changed, figures may return close to the figures before the last step.
EARLIER_STATES = 3


@dataclass(frozen=True, slots=True)
class _Shown:
    """The figures that were last shown.

    `changes` and `analysis_id` show how new the state is, so that an older state never replaces it.
    """

    changes: int = -1
    counted_at: str = ""
    listed: int = 0
    completed: int = 0
    answered: int = 0  # answered blocks in all responses
    groups: Mapping[str, Sequence[GroupJson]] = field(default_factory=dict)  # by block id
    types: Mapping[str, str] = field(default_factory=dict)  # of the blocks when they were counted
    earlier: Mapping[str, Sequence[EarlierJson]] = field(default_factory=dict)  # latest first, by block id
    analysis_id: int = 0
    texts: Mapping[str, BlockJson] = field(default_factory=dict)  # of the analysis, by block id


def counts(
    *, project: Project, now: AnswerCounts, types: Mapping[int, str], at: datetime
) -> tuple[AnswerCounts, datetime]:
    """The counts to show instead of the current ones, and when they were counted.

    `types` are the types of the blocks in the current counts.
    """
    shown = _moved_on(project, _row(project), lambda shown: _with_counts(shown, now, types, at))
    stepped = replace(
        now,
        listed=shown.listed,
        completed=shown.completed,
        unlisted=0,
        unfinished={},
        groups={
            int(block_id): [_group(each) for each in groups] for block_id, groups in shown.groups.items()
        },
    )
    return stepped, datetime.fromisoformat(shown.counted_at)


def texts(*, project: Project, analysis_id: int, blocks: Iterable[BlockJson]) -> dict[int, Any]:
    """The `open_text` of each block to show instead of those of a finished analysis.

    Texts of fewer than five people are left out, whatever number the page shows now. No words of respondents
    are stored, because they must be deleted with their response.
    """
    now = {
        str(block["block_id"]): analysis_json.without_words(block) for block in blocks if block["open_text"]
    }
    shown = _moved_on(project, _row(project), lambda shown: _with_texts(shown, analysis_id, now))
    read = {block_id: shown.texts[block_id] for block_id in now if block_id in shown.texts}
    return {
        int(block_id): block["open_text"]
        for block_id, block in read.items()
        if anonymity.is_enough(block["response_count"], least=anonymity.LEAST_ANSWERS)
    }


def totals(*, projects: Sequence[Project]) -> dict[int, dict[str, int]]:
    """By project: the `completion_count` and `response_count` to show instead of the loaded ones."""
    rows = ShownFigures.objects.in_bulk([project.pk for project in projects])
    return {project.pk: _totals(project, rows.get(project.pk)) for project in projects}


def _totals(project: Project, row: ShownFigures | None) -> dict[str, int]:
    listed: int = getattr(project, "listed_count")  # noqa: B009 - an annotation
    now = (listed, project.completion_count, project.response_count)
    shown = _moved_on(project, row, lambda shown: _with_totals(shown, *now))
    return {"completion_count": shown.completed, "response_count": shown.answered}


def _with_totals(shown: _Shown, listed: int, completed: int, answered: int) -> _Shown:
    """The shown state with new counts of responses; the two counts change together."""
    was = {"listed": shown.listed, "completed": shown.completed}
    if not anonymity.may_replace(was, {"listed": listed, "completed": completed}):
        return shown
    return replace(shown, listed=listed, completed=completed, answered=answered)


def _with_counts(shown: _Shown, now: AnswerCounts, types: Mapping[int, str], at: datetime) -> _Shown:
    if now.changes <= shown.changes:  # counted before the state that another process has stored
        return shown
    groups, types_shown, earlier = dict(shown.groups), dict(shown.types), dict(shown.earlier)
    for block_id in {*groups, *map(str, now.groups)}:
        new = [_group_as_json(each) for each in now.groups.get(int(block_id), ())]
        type = types.get(int(block_id), "")
        before = [types_shown.get(block_id, type), groups.get(block_id, [])]
        others = earlier.get(block_id, [])
        if _differ(before, type, new) and all(
            _differ(each, type, new) or _same(each, type, new) for each in others
        ):
            groups[block_id], types_shown[block_id] = new, type
            earlier[block_id] = [before, *others][:EARLIER_STATES] if before[1] else others
    answered = sum(group.people for groups in now.groups.values() for group in groups)
    counted = _with_totals(shown, now.listed, now.completed, answered)
    if counted == shown and groups == shown.groups and shown.counted_at:
        return shown
    return replace(
        counted,
        changes=now.changes,
        counted_at=at.isoformat(),
        groups=groups,
        types=types_shown,
        earlier=earlier,
    )


def _with_texts(shown: _Shown, analysis_id: int, now: Mapping[str, BlockJson]) -> _Shown:
    if analysis_id <= shown.analysis_id:
        return shown
    kept = dict(shown.texts)
    for block_id, block in now.items():
        if block_id not in kept or anonymity.may_replace(_people(kept[block_id]), _people(block)):
            kept[block_id] = {name: block[name] for name in ("response_count", "open_text")}
    return replace(shown, analysis_id=analysis_id, texts=kept)


def _differ(earlier: EarlierJson, type: str, groups: Sequence[GroupJson]) -> bool:
    """Whether at least five responses differ between the earlier groups and these groups."""
    type_earlier, groups_earlier = earlier
    by_point = type_earlier == type
    return anonymity.may_replace(_rows(groups_earlier, by_point=by_point), _rows(groups, by_point=by_point))


def _same(earlier: EarlierJson, type: str, groups: Sequence[GroupJson]) -> bool:
    return bool(type == earlier[0] and sorted(earlier[1], key=repr) == sorted(groups, key=repr))


def _rows(groups: Iterable[GroupJson], *, by_point: bool) -> dict[object, int]:
    """Counts to which one response adds at most one: rows with the same option and point, and the responses
    themselves.

    Points are compared only within one type: other types count the same answers without points.
    """
    rows: dict[object, int] = {"people": 0}
    for option_id, point, row_count, people, *_ in groups:
        key = option_id, point if by_point else None
        rows[key] = rows.get(key, 0) + row_count
        rows["people"] += people
    return rows


def _people(block: BlockJson) -> dict[object, int]:
    """The counts of people who answered. Themes are left out: they may change without any new answer."""
    return {"people": block["response_count"]}


def _row(project: Project) -> ShownFigures | None:
    return ShownFigures.objects.filter(project=project).first()


def _moved_on(project: Project, row: ShownFigures | None, move: Callable[[_Shown], _Shown]) -> _Shown:
    """The state after a step, if `move` makes one. Two processes that make the same step store one state."""
    shown = _read(row)
    return shown if move(shown) == shown else _stored(project, move)


@in_transaction
def _stored(project: Project, move: Callable[[_Shown], _Shown]) -> _Shown:
    ShownFigures.objects.bulk_create(
        [ShownFigures(project=project, sealed=_sealed(project.pk, _Shown()))], ignore_conflicts=True
    )
    row = ShownFigures.objects.select_for_update().get(project=project)
    shown = move(_read(row))
    row.sealed = _sealed(project.pk, shown)
    row.save(update_fields=["sealed"])
    return shown


def _read(row: ShownFigures | None) -> _Shown:
    if row is None:
        return _Shown()
    stored = anonymity.unseal_figures(project_id=row.project_id, sealed=bytes(row.sealed))
    return _Shown(**orjson.loads(stored or b"{}"))


def _sealed(project_id: int, shown: _Shown) -> bytes:
    return anonymity.seal_figures(project_id=project_id, figures=orjson.dumps(shown))


def _group_as_json(group: AnswerGroup) -> GroupJson:
    return [
        group.option_id,
        group.point,
        group.rows,
        group.people,
        group.numbers,
        str(group.total),
        group.lowest,
        group.highest,
    ]


def _group(stored: GroupJson) -> AnswerGroup:
    option_id, point, rows, people, numbers, total, lowest, highest = stored
    return AnswerGroup(option_id, point, rows, people, numbers, Decimal(total), lowest, highest)
