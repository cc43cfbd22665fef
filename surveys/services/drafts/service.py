"""Drafts of scripts: changes that staff have typed in the admin's editor and not saved yet.

    get(actor=…, project=…)                      the actor's own draft; nobody else reads it
    keep(actor=…, project_id=…, blocks=…, …)     store it, whatever faults it has
    save(actor=…, project_id=…, version=…, …)    write it as the project's script, and drop it
    discard(actor=…, project_id=…, version=…)    drop it

A draft stores the revision from which it began, and the blocks of that revision. If the script has been
changed since, a save raises Collision with three scripts: the draft, the stored script, and the script from
which the draft began.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db.models import QuerySet

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, NotFound, refuse
from communities.ground.transactions import in_transaction
from communities.services.trail import audit, presence
from surveys.models import Project, ScriptDraft
from surveys.services.drafts import checking, collisions, keys
from surveys.services.drafts.collisions import Collision
from surveys.services.ground import access, lookup
from surveys.services.projects import script_writes
from surveys.services.representations import script as script_json
from surveys.services.scripts import cache as script_cache

Json = dict[str, Any]

KEPT_FOR = timedelta(days=90)
BATCH = 1_000
CHANGED_ELSEWHERE = "This draft was changed in another tab or browser of yours."
GONE_ELSEWHERE = "This draft was saved or discarded in another tab or browser of yours."


@dataclass(frozen=True, slots=True)
class UnsavedScript:
    """A stored draft. `blocks` are in the form that the editor sent, with their keys.

    `base` are the blocks of the script from which the draft began, at `revision`; None if they were unknown
    when the draft was stored.
    """

    blocks: list[Any]
    revision: int
    base: list[Json] | None
    version: int
    saved_at: datetime

    def as_json(self) -> Json:
        return {
            "blocks": self.blocks,
            "revision": self.revision,
            "version": self.version,
            "saved_at": self.saved_at,
        }


@dataclass(frozen=True, slots=True)
class SavedScript:
    """A script that was saved: `blocks` as JSON, outro included, with the keys of the draft."""

    project: Project
    blocks: list[Json]


class OtherTab(Conflict):
    """Another tab or device has stored the draft since.

    `draft` is the newer draft; None if it was deleted.
    """

    def __init__(self, draft: UnsavedScript | None) -> None:
        super().__init__(CHANGED_ELSEWHERE if draft else GONE_ELSEWHERE)
        self.draft = draft


def get(*, actor: Actor, project: Project) -> UnsavedScript | None:
    """The actor's draft of a project, or None. The caller has checked that they may read the project."""
    row = _own(actor, project.pk).first()
    return None if row is None else _draft(row)


@in_transaction
def keep(
    *,
    actor: Actor,
    project_id: int,
    blocks: Sequence[object],
    revision: int,
    version: int | None,
    fingerprint: str | None = None,
    at: datetime,
) -> UnsavedScript:
    """Store the actor's draft. Faulty blocks are kept as they are.

    `revision` is the revision of the script from which the draft began, and `fingerprint` identifies its
    blocks. `version` is the version of the draft as last stored; None if there was no draft. Raises OtherTab
    if another version is stored, and InvalidRequest for a revision that does not exist yet.
    """
    project = editable(actor=actor, project_id=project_id)
    if revision > project.revision:
        refuse("revision", "invalid", "`revision` must be one that the script has had.")
    row = _own(actor, project_id).select_for_update().first()
    if (row.version if row else None) != version:
        raise OtherTab(_draft(row) if row else None)
    text = orjson.dumps(blocks).decode()
    if row is None:
        base = _base(project, revision, fingerprint)
        return _draft(_first(actor, project, blocks=text, revision=revision, base=base, at=at))
    if row.revision != revision:
        row.revision, row.base = revision, _base(project, revision, fingerprint)
    row.blocks, row.version, row.saved_at = text, row.version + 1, at
    row.save(update_fields=["blocks", "revision", "base", "version", "saved_at"])
    return _draft(row)


def _first(
    actor: Actor, project: Project, *, blocks: str, revision: int, base: str, at: datetime
) -> ScriptDraft:
    presence.require(actor=actor)
    row = ScriptDraft(
        project=project,
        user_id=actor.user_id,
        blocks=blocks,
        revision=revision,
        base=base,
        saved_at=at,
    )
    # Another tab may store its own draft at this moment, and a failed insert would end the transaction.
    ScriptDraft.objects.bulk_create([row], ignore_conflicts=True)
    stored = _own(actor, project.pk).get()
    if stored.version != row.version:
        raise OtherTab(_draft(stored))
    return stored


@in_transaction
def discard(*, actor: Actor, project_id: int, version: int | None) -> None:
    """Delete the actor's draft.

    Discarding a draft that does not exist is harmless. Raises OtherTab if another version is stored.
    """
    editable(actor=actor, project_id=project_id)
    row = _own(actor, project_id).select_for_update().first()
    if row is None:
        return
    if row.version != version:
        raise OtherTab(_draft(row))
    row.delete()


@in_transaction
def save(*, actor: Actor, project_id: int, version: int, at: datetime) -> SavedScript:
    """Write the actor's draft as the script of the project, as the API would, and delete the draft.

    Refuses a script that the API would refuse, and new pictures on the basic tier. Raises OtherTab if the
    draft has another version, and Collision if the script has been changed since the draft was begun.
    """
    if actor.is_member and not actor.edits_given_projects:  # they see no projects in the admin
        raise NotFound(access.NO_PROJECT)
    project = lookup.lock(actor=actor, project_id=project_id)
    row = _own(actor, project_id).select_for_update().first()
    if row is None or row.version != version:
        raise OtherTab(_draft(row) if row else None)
    draft = _draft(row)
    if draft.revision != project.revision:
        _require_unchanged(project, draft)
    checked = checking.dry_run(actor=actor, project=project, blocks=draft.blocks, at=at)
    checked.require_valid()
    written = script_writes.save_plan(actor=actor, project=project, plan=checked.plan, at=at)
    row.delete()
    blocks = script_json.all_blocks(project, written.script)
    return SavedScript(project, keys.with_keys(blocks, sent=draft.blocks, ordered=checked.plan.ordered))


def _require_unchanged(project: Project, draft: UnsavedScript) -> None:
    script = script_cache.script_of(project)
    theirs = script_json.all_blocks(project, script)
    if draft.base is not None and collisions.is_same(draft.base, theirs):
        return
    changed = audit.last_change(project_id=project.pk, action="script.")
    raise Collision(
        {
            "base": None if draft.base is None else {"blocks": draft.base},
            "theirs": {"blocks": theirs},
            "yours": {"blocks": draft.blocks},
            "revision": project.revision,
            "changed_by": changed and changed.name,
            "changed_at": changed and changed.at,
        }
    )


def forget_old(*, at: datetime) -> None:
    """Delete drafts that were not changed for 90 days."""
    old = ScriptDraft.objects.filter(saved_at__lt=at - KEPT_FOR)
    while ids := list(old.values_list("pk", flat=True)[:BATCH]):
        ScriptDraft.objects.filter(pk__in=ids, saved_at__lt=at - KEPT_FOR).delete()


# --- Personal data --------------------------------------------------------------------------------


def written_by(*, community_id: int, user_id: int) -> Iterator[Json]:
    """The drafts of a person in a community, one at a time, because each may be a megabyte."""
    rows = _of_person(community_id, user_id).select_related("project").order_by("project_id")
    for row in rows.iterator(chunk_size=1):
        yield {
            "project_id": str(row.project_id),
            "project_name": row.project.name,
            "saved_at": row.saved_at,
            "blocks": keys.as_sent(orjson.loads(row.blocks)),
        }


def erase(*, community_id: int, user_id: int) -> None:
    """Delete the drafts of a person in a community."""
    _of_person(community_id, user_id).delete()


def _of_person(community_id: int, user_id: int) -> QuerySet[ScriptDraft]:
    return ScriptDraft.objects.filter(user_id=user_id, project__community_id=community_id)


# --- Parts ------------------------------------------------------------------------------------------


def editable(*, actor: Actor, project_id: int) -> Project:
    """Return the project without locking it, so that answers do not wait while a person types.

    Raises NotFound, Forbidden.
    """
    project = lookup.in_community(community_id=actor.community_id, project_id=project_id)
    if not access.may_read_solutions(actor=actor, project=project):  # a member, who sees no scripts
        raise NotFound(access.NO_PROJECT)
    access.require_editor(actor=actor, project=project)
    return project


def _own(actor: Actor, project_id: int) -> QuerySet[ScriptDraft]:
    return ScriptDraft.objects.filter(user_id=actor.user_id, project_id=project_id)


def _draft(row: ScriptDraft) -> UnsavedScript:
    base = orjson.loads(row.base) if row.base else None
    return UnsavedScript(orjson.loads(row.blocks), row.revision, base, row.version, row.saved_at)


def _base(project: Project, revision: int, fingerprint: str | None) -> str:
    """Return the blocks at a revision as JSON; an empty text if they have changed and this process has not
    cached them.

    If only settings of the project have changed since, such as scoring, the stored blocks are the same.
    """
    cached = script_cache.get(project.pk, revision)
    blocks = script_json.all_blocks(project, cached.script)
    is_known = cached.stored.revision == revision
    if is_known or (fingerprint is not None and collisions.is_of(fingerprint, blocks)):
        return orjson.dumps(blocks).decode()
    return ""


def is_behind(draft: UnsavedScript, *, project: Project) -> bool:
    """Whether somebody else has changed the script since the draft was begun."""
    if draft.revision == project.revision:
        return False
    script = script_cache.script_of(project)
    return draft.base is None or not collisions.is_same(draft.base, script_json.all_blocks(project, script))
