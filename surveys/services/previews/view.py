"""A preview for the respondent's page, and for the editor's panel beside the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.functional import cached_property

from surveys.engine.flow import vocabulary
from surveys.engine.language.values import number_text
from surveys.engine.script import CALCULATED, Block
from surveys.engine.walk import answers, runner
from surveys.models import Project
from surveys.services.conversations.tokens import TokenContext
from surveys.services.conversations.view import WalkView
from surveys.services.previews.samples import SampleContext
from surveys.services.previews.source import PreviewScript
from surveys.services.previews.walk import Walk

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PreviewView(WalkView):
    """A walk of a preview. A preview takes answers in any state of the project."""

    source: PreviewScript
    walk: Walk
    staff_name: str

    @cached_property
    def context(self) -> TokenContext:
        return SampleContext(self.project, None, self.at, self.state.fired, staff_name=self.staff_name)

    @property
    def is_completed(self) -> bool:
        return self.walk.is_completed

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of the block that is shown."""
        return tuple(self.source.faults.get(self.walk.current or 0, ()))


def of_walk(
    *,
    source: PreviewScript,
    walk: Walk,
    project: Project,
    staff_name: str,
    at: datetime,
    feedback: str | None = None,
) -> PreviewView:
    """The view of a walk; `feedback` is the feedback on the last answer, with unfilled tokens."""
    return PreviewView(
        project=project,
        script=source.script,
        state=walk.state,
        seed=walk.seed,
        unfilled_feedback=feedback,
        source=source,
        walk=walk,
        staff_name=staff_name,
        at=at,
    )


def as_json(view: PreviewView) -> Json:
    """The content of the editor's panel: the path with its answers, scores, and calculated results.

    Blocks are identified by the keys of the editor. `figures` and `variables` are those at this point of the
    walk.
    """
    script, state = view.script, view.state
    value_of = runner.values(script, state)
    calculated = [block for block in script.blocks if block.type == CALCULATED]
    return {
        "path": [view.source.keys.get(block_id, "") for block_id in state.path],
        "current": view.source.keys.get(view.walk.current or 0),
        "is_completed": view.is_completed,
        "is_forced": view.walk.forced is not None,
        "answers": {view.source.keys.get(block_id, ""): _answer(view, block_id) for block_id in state.path},
        "figures": _figures(view),
        "variables": {block.name or "": _text(value_of(block.name or "")) for block in calculated},
        "given": {view.source.keys.get(block_id, ""): xp for block_id, xp in state.fired.items()},
        "faults": len(view.source.faults),
    }


def _figures(view: PreviewView) -> list[Json]:
    """The scores in words, each with its highest possible value. Only a quiz has scores of correct answers.

    A single bucket has the same points as all buckets together, so they are listed once.
    """
    script = view.script
    if not script.scoring_enabled:
        return []
    is_quiz = any(answers.is_graded(block) for block in script.blocks)
    keys = script.bucket_keys
    endings = ["", *(f"_{key.replace('-', '_')}" for key in keys)] if len(keys) > 1 else [""] * len(keys)
    scores = ["score", "score_correct"] if is_quiz else ["score"]
    names = [f"{score}{ending}" for ending in endings for score in scores]
    names += ["correct_answers"] if is_quiz else []
    called = vocabulary.called_by_variable(script)
    values = {name: number_text(value) for name, value in runner.score_variables(script, view.state).items()}
    return [{"called": called[name], "value": values[name], "most": values[f"max_{name}"]} for name in names]


def _answer(view: PreviewView, block_id: int) -> str | None:
    """An answer in words: empty for a skip, None for a block that asks nothing."""
    block: Block = view.script.blocks[view.script.index_by_id[block_id]]
    return answers.text_as_read(block, view.state.replies.get(block_id)) if block.asks else None


def _text(value: object) -> str:
    return number_text(value) if isinstance(value, Decimal) else str(value if value is not None else "")
