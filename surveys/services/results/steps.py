"""Figures of anonymous projects for people who may not read single responses; these figures change in steps.

    counts(project=…, now=…, script=…, …)               the counts to show, and since when
    texts(project=…, analysis_id=…, blocks=…)           what to show of an analysis of open texts
    totals(projects=…, count=…)                         the counts to show beside each project

Figures of a block, readings of its texts and counts of responses change only when at least five responses
differ from what is shown (rule 7.12, `anonymity.may_replace`). They also differ by five from each of the few
states before (`_step`). Figures of a block change only together with the numbers of responses: a moment that
the answers of the block decided would reveal the answer that came last (rule 7.12). The shown figures are
stored, so that every process shows the same figures, also after a restart.
These readers never get a selection or segments: `surveys.services.ground.access`.

Everything that shows counts uses one stored state. An analysis with counts of its own could differ from the
shared page by one answer, so only its readings of texts are used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

import orjson

from communities.ground.transactions import in_transaction
from surveys.engine.language import references
from surveys.engine.script import Script
from surveys.engine.statistics import AnswerGroup
from surveys.models import Project, ShownFigures
from surveys.services.counting.counts import AnswerCounts
from surveys.services.ground import anonymity
from surveys.services.representations import analysis as analysis_json

SECONDS_FOR_TOTALS = 2.0
State = TypeVar("State")
BlockJson = Mapping[str, Any]
GroupJson = Sequence[Any]
GroupsJson = Sequence[Any]  # The type of a block, and the block's groups.
TotalsJson = Sequence[int]  # The numbers of listed and of completed responses.
# After deletions or changes of responses, figures may return close to the figures before the last step.
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
    answered: int = 0  # The number of answered blocks, of those whose figures are shown.
    groups: Mapping[str, Sequence[GroupJson]] = field(default_factory=dict)  # The groups by block id.
    # The types of the blocks at the time of the count.
    types: Mapping[str, str] = field(default_factory=dict)
    analysis_id: int = 0
    texts: Mapping[str, BlockJson] = field(default_factory=dict)  # The texts of the analysis by block id.
    # The earlier states, the latest first.
    # The earlier groups by block id.
    earlier: Mapping[str, Sequence[GroupsJson]] = field(default_factory=dict)
    # The earlier texts by block id.
    earlier_texts: Mapping[str, Sequence[BlockJson]] = field(default_factory=dict)
    earlier_totals: Sequence[TotalsJson] = ()


def counts(
    *, project: Project, now: AnswerCounts, script: Script, types: Mapping[int, str], at: datetime
) -> tuple[AnswerCounts, datetime]:
    """Return the counts to show instead of the current counts, and when they were counted.

    `types` are the types of the blocks in the current counts.
    """
    shown = _moved_on(project, _row(project), lambda shown: _with_counts(shown, now, script, types, at))
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
    """Return the `open_text` of each block that readers see instead of the texts of a finished analysis.

    Texts of fewer than five people are left out, whatever number the page shows now. Words of respondents are
    not stored, because they must be deleted with their response.
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


def totals(*, projects: Sequence[Project], count: Callable[[Project], None]) -> dict[int, dict[str, int]]:
    """Return, for each project, the `completion_count` and `response_count` to show instead of the loaded
    counts: those of its last step.

    A project whose counts would take a step now takes it by `count`, so that all its figures change at one
    moment. After SECONDS_FOR_TOTALS, the other projects show their last step until they are read again.
    """
    shown = _shown_of(projects)
    if due := [each for each in projects if _is_due(each, shown[each.pk])]:
        ends = time.monotonic() + SECONDS_FOR_TOTALS
        for project in due:
            count(project)
            if time.monotonic() > ends:
                break
        shown |= _shown_of(due)
    return {
        pk: {"completion_count": each.completed, "response_count": each.answered}
        for pk, each in shown.items()
    }


def _shown_of(projects: Sequence[Project]) -> dict[int, _Shown]:
    rows = ShownFigures.objects.in_bulk([project.pk for project in projects])
    return {project.pk: _read(rows.get(project.pk)) for project in projects}


def _is_due(project: Project, shown: _Shown) -> bool:
    listed: int = getattr(project, "listed_count")  # noqa: B009 - an annotation
    return _totals_step(shown, listed, project.completion_count) is not None


def _step(
    shown: State | None,
    earlier: Sequence[State],
    now: State,
    *,
    differ: Callable[[State | None, State], bool],
) -> tuple[State | None, list[State]]:
    """Return the state to show next, and the earlier states, the latest first.

    The current state takes the place of the shown one if at least five responses differ between both, and
    between the current one and each state before. One of these states may return, because it reveals nothing
    new.
    """
    if differ(shown, now) and all(differ(each, now) or each == now for each in earlier):
        return now, [*([] if shown is None else [shown]), *earlier][:EARLIER_STATES]
    return shown, list(earlier)


def _totals_step(shown: _Shown, listed: int, completed: int) -> tuple[int, int, list[TotalsJson]] | None:
    """The next numbers of responses, and the numbers before; None if too few responses differ."""
    before = [shown.listed, shown.completed]
    step, earlier = _step(
        before if any(before) else None,
        shown.earlier_totals,
        [listed, completed],
        differ=_totals_differ,
    )
    return None if step is None or step == before else (listed, completed, earlier)


def _with_counts(
    shown: _Shown, now: AnswerCounts, script: Script, types: Mapping[int, str], at: datetime
) -> _Shown:
    if now.changes <= shown.changes:  # This count is older than the state that another process has stored.
        return shown
    totals = _totals_step(shown, now.listed, now.completed)
    if totals is None:
        return shown if shown.counted_at else replace(shown, changes=now.changes, counted_at=at.isoformat())
    listed, completed, earlier_totals = totals
    groups, types_shown, earlier = dict(shown.groups), dict(shown.types), dict(shown.earlier)
    steps: dict[str, _BlockStep] = {}
    for block_id in {*groups, *map(str, now.groups)}:
        counted_groups = sorted(map(_group_as_json, now.groups.get(int(block_id), ())), key=repr)
        before = [types_shown.get(block_id, ""), groups[block_id]] if groups.get(block_id) else None
        new = [types.get(int(block_id), ""), counted_groups]
        steps[block_id] = _BlockStep(
            before, new, *_step(before, earlier.get(block_id, []), new, differ=_groups_differ)
        )
    for block_id in _agreeing(steps, script):
        step, earlier[block_id] = steps[block_id].step, steps[block_id].earlier
        if step is not None:
            types_shown[block_id], groups[block_id] = step
    people = [sum(people for _, _, _, people, *_ in each) for each in groups.values()]
    if max(people, default=0) > listed:  # A block still shows answers that are gone.
        return shown
    return replace(
        shown,
        changes=now.changes,
        counted_at=at.isoformat(),
        listed=listed,
        completed=completed,
        answered=sum(each for each in people if anonymity.is_enough(each, least=anonymity.LEAST_ANSWERS)),
        earlier_totals=earlier_totals,
        groups=groups,
        types=types_shown,
        earlier=earlier,
    )


@dataclass(frozen=True, slots=True)
class _BlockStep:
    """The shown groups of a block, the counted ones, and what `_step` makes of both."""

    before: GroupsJson | None
    now: GroupsJson
    step: GroupsJson | None
    earlier: Sequence[GroupsJson]

    @property
    def is_current(self) -> bool:
        """Whether the step shows all answers that were counted."""
        return list(self.step[1] if self.step else ()) == list(self.now[1])

    @property
    def has_shrunk(self) -> bool:
        before = _rows(self.before[1], by_point=False) if self.before else {}
        return before.get("people", 0) > _rows(self.now[1], by_point=False)["people"]


def _agreeing(steps: Mapping[str, _BlockStep], script: Script) -> set[str]:
    """The blocks that take their step, so that all figures on a page agree.

    A block behind a condition waits until the questions in the condition show all answers. These questions
    wait while it shows answers that are gone.
    """
    needs = {
        str(script.blocks[n].id): {str(script.blocks[other].id) for other in named} & steps.keys()
        for n, named in references.behind_conditions(script).items()
    }
    current = {block_id for block_id, each in steps.items() if each.is_current}
    while True:
        late = {block_id for block_id in current if needs.get(block_id, set()) - current}
        for block_id in (each for each in steps.keys() - current if steps[each].has_shrunk):
            late |= needs.get(block_id, set()) & current
        if not late:
            return current
        current -= late


def _with_texts(shown: _Shown, analysis_id: int, now: Mapping[str, BlockJson]) -> _Shown:
    if analysis_id <= shown.analysis_id:
        return shown
    texts, earlier = dict(shown.texts), dict(shown.earlier_texts)
    for block_id, block in now.items():
        new = {name: block[name] for name in ("response_count", "open_text")}
        step, earlier[block_id] = _step(
            texts.get(block_id), earlier.get(block_id, []), new, differ=_texts_differ
        )
        if step is not None:
            texts[block_id] = step
    return replace(shown, analysis_id=analysis_id, texts=texts, earlier_texts=earlier)


def _totals_differ(earlier: TotalsJson | None, now: TotalsJson) -> bool:
    """Return whether the numbers of listed or completed responses differ enough."""
    return anonymity.may_replace(dict(enumerate((earlier or [])[:2])), dict(enumerate(now)))


def _groups_differ(earlier: GroupsJson | None, now: GroupsJson) -> bool:
    type_earlier, groups_earlier = earlier or [now[0], []]
    by_point = type_earlier == now[0]
    return anonymity.may_replace(_rows(groups_earlier, by_point=by_point), _rows(now[1], by_point=by_point))


def _texts_differ(earlier: BlockJson | None, now: BlockJson) -> bool:
    """Return whether the numbers of people who answered differ enough. Themes may change without any new
    answer, so they are ignored.
    """
    people = {"people": earlier["response_count"] if earlier else 0}
    return anonymity.may_replace(people, {"people": now["response_count"]})


def _rows(groups: Iterable[GroupJson], *, by_point: bool) -> dict[object, int]:
    """Return counts to which one response adds at most one: rows with the same option and point, and the
    responses themselves.

    Points are compared only within one type: other types count the same answers without points.
    """
    rows: dict[object, int] = {"people": 0}
    for option_id, point, row_count, people, *_ in groups:
        key = option_id, point if by_point else None
        rows[key] = rows.get(key, 0) + row_count
        rows["people"] += people
    return rows


def _row(project: Project) -> ShownFigures | None:
    return ShownFigures.objects.filter(project=project).first()


def _moved_on(project: Project, row: ShownFigures | None, move: Callable[[_Shown], _Shown]) -> _Shown:
    """Return the state after a step, if `move` makes a step. Two processes that make the same step store one
    state.
    """
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
