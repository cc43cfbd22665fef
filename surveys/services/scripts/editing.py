"""Writes of a project's script. A write saves only the differences, so ids remain.

A write increases the project's revision by one, unless nothing changed. The first write while scoring is on
makes the scores count (rule 5.1), which is a change, too. `planning` decides what a write saves, and why a
write is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from communities.ground.actors import Actor
from communities.ground.errors import refuse_all
from communities.ground.transactions import in_transaction
from surveys.engine.rules import disclosure
from surveys.engine.script import Block, Script, Violation
from surveys.models import Bucket as BucketRow
from surveys.models import Project
from surveys.services.ground import access, history, lookup, script_settings
from surveys.services.scripts import outro_edits, planning, storage
from surveys.services.scripts.planning import Plan
from xp.services import achievements

_EMPTY = Script(blocks=())


@dataclass(frozen=True)
class Written:
    """A script after a write, and whether the write changed it.

    `ignored` are paths of unknown fields.
    """

    project: Project
    script: Script
    ignored: tuple[str, ...] = ()
    is_changed: bool = False


# --- Writing --------------------------------------------------------------------------------------


def add(project_id: int, blocks: Iterable[Block], *, outro: Iterable[Block], like: Script) -> Script:
    """Write the script of a project that was just created; the settings of the script are copied from
    `like`.
    """
    blocks, outro = tuple(blocks), tuple(outro)
    numbered = storage.numbered((*blocks, *outro), before=_EMPTY)
    script = _placed(replace(like, blocks=numbered[: len(blocks)], outro=numbered[len(blocks) :]))
    storage.save(project_id, before=_EMPTY, after=script)
    return script


@in_transaction
def replace_script(
    *,
    actor: Actor,
    project_id: int,
    body: Mapping[str, object],
    at: datetime,
) -> Written:
    """Replace the script by the submitted blocks; a block that is sent with its id keeps its identity.

    Refuses blocks that break a rule, and structural changes while the project is active.
    """
    project = lookup.lock(actor=actor, project_id=project_id)
    return write_script(actor=actor, project=project, body=body, at=at)


def write_script(
    *,
    actor: Actor | None,
    project: Project,
    body: Mapping[str, object],
    at: datetime,
) -> Written:
    """Replace the script of a project that the caller has locked. Refuses as `replace_script` does.

    Without an `actor` the service itself writes it.
    """
    limit = access.xp_limit(actor=actor)
    plan = planning.plan_script(project=project, body=body, xp_limit=limit, at=at)
    return save_plan(actor=actor, project=project, plan=plan, at=at)


@in_transaction
def patch_block(
    *,
    actor: Actor,
    project_id: int,
    block_id: int,
    body: Mapping[str, object],
    at: datetime,
) -> Written:
    """Change the submitted fields of one block. Refuses as `replace_script` does."""
    project = lookup.lock(actor=actor, project_id=project_id)
    limit = access.xp_limit(actor=actor)
    plan = planning.plan_patch(project=project, block_id=block_id, body=body, xp_limit=limit, at=at)
    return save_plan(actor=actor, project=project, plan=plan, at=at)


def save_plan(*, actor: Actor | None, project: Project, plan: Plan, at: datetime) -> Written:
    """Save a plan for a project that the caller has locked since. Raises the plan's refusal, and refuses
    changes that would reveal answers to an actor who may not read the answers (rule 1.90).
    """
    plan.require_valid()
    if faults := revealing_changes(actor=actor, project=project, plan=plan):
        refuse_all(faults)
    revision = project.revision
    script = _save(project, plan.before, plan.script, plan.new_buckets)
    is_changed = project.revision != revision
    if is_changed:
        history.record_script_write(
            project, plan.before, script, actor=actor, new_buckets=plan.new_buckets, at=at
        )
    return Written(project, script, plan.ignored, is_changed)


def revealing_changes(*, actor: Actor | None, project: Project, plan: Plan) -> Sequence[Violation]:
    """The changes of a plan by which an actor who may not read responses would learn answers (rule 1.90)."""
    if actor is None or access.may_read_people(actor=actor, project=project):
        return ()
    block_paths = (*plan.ordered.block_paths, *outro_edits.paths_of(plan.script, plan.ordered))
    return [
        *script_settings.changed_meanings(project, plan.before, plan.script),
        *disclosure.revealing_changes(
            plan.before,
            plan.script,
            block_paths=block_paths,
            dependence_before=script_settings.depending(project, plan.before),
            dependence=script_settings.depending(project, plan.script, before=plan.before),
        ),
    ]


def _save(project: Project, before: Script, script: Script, new_buckets: Collection[str]) -> Script:
    numbered = storage.numbered((*script.blocks, *script.outro), before=before)
    count = len(script.blocks)
    script = _placed(replace(script, blocks=numbered[:count], outro=numbered[count:]))
    if script == before and not new_buckets:
        return script
    storage.save(project.pk, before=before, after=script)
    add_buckets(project.pk, new_buckets)
    reserve_achievements(project.community_id, script)
    project.revision += 1
    project.block_count = count
    project.question_count = sum(block.asks for block in script.blocks)
    project.script_is_scored = script.is_scored
    quotas = project.quotas
    carried = script_settings.carry(project, before, script.blocks)
    script_settings.keep_counts(project, quotas, before, script)
    script_settings.carry_dashboard(project, before, script.blocks)
    project.save(update_fields=["revision", "block_count", "question_count", "script_is_scored", *carried])
    return script


def reserve_achievements(community_id: int, script: Script) -> None:
    """Reserve the achievement numbers that a script grants, so that no project gets them."""
    if script.achievements:
        achievements.reserve(community_id=community_id, numbers=script.achievements)


def save_outro(project: Project, before: Script, outro: Iterable[Block]) -> bool:
    """Save a new outro for an unchanged script. Returns whether anything changed."""
    numbered = storage.numbered(outro, before=before)
    script = _placed(replace(before, outro=numbered))
    if script.outro == before.outro:
        return False
    storage.save(project.pk, before=before, after=script)
    return True


def add_buckets(project_id: int, names: Collection[str]) -> None:
    """Write a project's first buckets, in this order."""
    if names:
        BucketRow.objects.bulk_create(
            [BucketRow(project_id=project_id, name=name, order=n) for n, name in enumerate(names)]
        )


def _placed(script: Script) -> Script:
    """Number the outro blocks after all other blocks."""
    count = len(script.blocks)
    outro = tuple(replace(block, position=count + n) for n, block in enumerate(script.outro))
    return replace(script, outro=outro)
