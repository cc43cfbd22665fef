"""Copying a project: its script, settings and presentation, never its responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound, refuse_all
from communities.ground.transactions import in_transaction
from surveys.engine.intake.field_paths import stored_paths
from surveys.engine.intake.serialization import is_graded, without_solutions
from surveys.engine.rules import xp
from surveys.engine.script import Block, Script
from surveys.models import Dashboard, Project, buckets_in_order
from surveys.models.project import SETTINGS
from surveys.services import events
from surveys.services.ground import access, history, lookup
from surveys.services.projects import service as projects
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import editing as scripts
from surveys.services.scripts import outro
from webhooks.events import EventType

MAX_NAME = 200
_COPIED = (
    *SETTINGS,
    "type",
    "rounds_times_to_day",
    "presentation",
    "scoring_enabled",
    "script_is_scored",
)


def original(*, actor: Actor, project_id: int, at: datetime) -> Project:
    """A project that the actor may copy, of this or another community. Raises NotFound."""
    found = Project.objects.filter(pk=project_id).prefetch_related("buckets")
    project: Project | None = found.first()
    if project is None or not access.may_clone(actor=actor, project=project, at=at):
        raise NotFound(access.NO_PROJECT)
    return project


@in_transaction
def clone_project(*, actor: Actor, project_id: int, name: str | None = None, at: datetime) -> Project:
    """A copy of a project, inactive, in the actor's community (rule 2.15).

    The source may belong to another community, if that community shares it. Then the copy has no dashboard,
    and that of a quiz that is open there no correct answers, points, feedback or formulas. Rewards are not
    copied, so the outro of the copy contains only thanks. Raises NotFound, and refuses creators a script that
    gives more XP than they may write.
    """
    source = original(actor=actor, project_id=project_id, at=at)
    script = script_cache.script_of(source)
    if _keeps_solutions(source, script, actor=actor, at=at):
        script = without_solutions(script)
    paths = stored_paths(script)
    if excess := xp.violations(script, paths, limit=access.xp_limit(actor=actor)):
        refuse_all(excess)
    copy = Project(
        **{key: getattr(source, key) for key in _COPIED},
        community_id=actor.community_id,
        author_id=actor.user_id,
        name=name or f"Copy of {source.name}"[:MAX_NAME],
        created_at=at,
    )
    if source.community_id == actor.community_id:
        copy.family = source.family
    scripts.reserve_achievements(actor.community_id, script)
    copied = projects.insert(
        copy,
        _without_ids(script.blocks),
        _without_ids(outro.updated(script.outro, copy)),
        like=script,
        bucket_names=[bucket.name for bucket in buckets_in_order(source)],
    )
    if source.community_id == actor.community_id and access.may_read_people(actor=actor, project=source):
        _copy_dashboard(source, copy, dict(zip(_ids(script), _ids(copied), strict=True)))
    made = lookup.get(community_id=actor.community_id, project_id=copy.pk)
    history.record_creation(
        Action.PROJECT_CLONED,
        made,
        actor=actor,
        bucket_names=[bucket.name for bucket in buckets_in_order(made)],
        at=at,
        more={"cloned_from": str(source.pk)},
    )
    events.project_changed(EventType.PROJECT_CREATED, made, at=at)
    return made


def _copy_dashboard(source: Project, copy: Project, ids: Mapping[int | None, int | None]) -> None:
    """Give the copy the dashboard of its source, without charts of blocks that are not in the script."""
    board: Dashboard | None = getattr(source, "dashboard", None)
    if board is not None and (block_ids := [ids[each] for each in board.block_ids if each in ids]):
        board.project, board.block_ids = copy, block_ids
        board.save(force_insert=True)


def _ids(script: Script) -> list[int | None]:
    return [block.id for block in script.blocks]


def _keeps_solutions(source: Project, script: Script, *, actor: Actor, at: datetime) -> bool:
    """Whether a copy for another community would reveal the answers of a quiz that is open (rule 2.17).

    A quiz counts as open while another project of its family is open: an earlier version has the same answers
    as the version that was made from it. A project that waits for its opening counts as open.
    """
    if source.community_id == actor.community_id or not is_graded(script):
        return False
    family = Project.objects.in_community(source.community_id).filter(family=source.family)
    return any(each.is_live_at(at) or each.is_pending_at(at) for each in family)


def _without_ids(blocks: Iterable[Block]) -> list[Block]:
    """New blocks like these.

    Correct answers are identified by their positions until their options have ids again.
    """
    return [
        replace(
            block,
            id=None,
            options=tuple(replace(option, id=None) for option in block.options),
            correct_answer_ids=None,
            correct_answer_index=None,
            correct_answer_indexes=_correct_places(block),
        )
        for block in blocks
    ]


def _correct_places(block: Block) -> tuple[int, ...] | None:
    correct = block.correct_answer_ids or ()
    return tuple(n for n, option in enumerate(block.options) if option.id in correct) or None
