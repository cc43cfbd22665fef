"""Starting points for a draft: a template, another project's script, a file, or an earlier version.

Each function returns blocks as the editor takes them: with every field, null if empty. Nothing is stored: the
editor puts the blocks into its draft, where they can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import JSONField, QuerySet
from django.db.models.expressions import RawSQL

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound
from communities.ground.slots import large_jobs, of_community
from communities.models import AuditEntry
from surveys.ai.local.drafts import scoring
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.intake.serialization import block_as_json
from surveys.engine.rules import naming
from surveys.engine.script import Block, Option
from surveys.models import Project
from surveys.services.drafts import checking
from surveys.services.ground import access, history, lookup
from surveys.services.representations import script as script_json
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import templates

Json = dict[str, Any]

MAX_PROJECTS = 20
MOST_VERSIONS = 50
BUSY = "Other large jobs of your community are running. Please try again shortly."
RETRY_AFTER = 5  # seconds
_PLACES = ("position", "display_order")  # These fields follow from the order of the array.
_EMPTY = block_as_json(Block(type="open_text", options=(Option(""),)), scoring=True)
_EMPTY_OPTION: Json = _EMPTY.pop("options")[0]  # type: ignore[index]


def of_template(*, project: Project, template_id: str) -> list[Json]:
    """The blocks of a template of the library that suit the project.

    Points are left out while the project has scoring off; points for buckets that the project does not have
    are always left out. Raises InvalidRequest for an unknown template, and for a survey's template in a poll.
    """
    draft = templates.draft(template_id, type=project.type)
    blocks = [dict(block) for block in draft.blocks]
    buckets = script_cache.script_of(project).bucket_keys
    if not project.scoring_enabled:
        blocks = scoring.without_points(blocks)
    elif buckets:
        blocks = scoring.with_points_for(blocks, set(buckets))
    return complete(blocks)


def of_other_project(*, actor: Actor, project_id: int, at: datetime) -> list[Json]:
    """The blocks of another project of the actor's community, as new blocks, without its outro.

    Raises NotFound, also for members, who do not read scripts without access to the project.
    """
    other = lookup.seen(actor=actor, project_id=project_id, at=at)
    if not access.may_read_solutions(actor=actor, project=other):
        raise NotFound(access.NO_PROJECT)
    script = script_cache.script_of(other)
    return complete(_without_ids(script_json.serialize(other, script)["blocks"]))  # type: ignore[arg-type]


def of_version(*, project: Project, entry_id: UUID) -> list[Any]:
    """The blocks of the script as they were before a change, which an entry of the audit trail describes.

    Blocks that the script still has keep their ids, so their answers stay theirs. All other blocks are new.
    Raises NotFound for an entry that is not among `versions`, and Unavailable while the community has another
    large job.
    """
    with large_jobs.held(of_community(project.community_id), timeout=1.0, busy=BUSY, retry_after=RETRY_AFTER):
        script = script_cache.script_of(project)
        blocks = history.blocks_of(script)
        for entry in _changes(project)[:MOST_VERSIONS].iterator(chunk_size=1):
            blocks = history.undone(blocks, before=entry.before, after=entry.after)
            if entry.pk == entry_id:
                return of_file(project=project, blocks=[_by_indexes(block) for block in blocks])
    raise NotFound("There is no such version of this script.")


def versions(*, project: Project) -> Iterable[tuple[AuditEntry, dict[str, int]]]:
    """The latest MOST_VERSIONS changes of the script, newest first: each ended a version of it.

    Each has the numbers of blocks that it `added`, `removed` and `changed`. The blocks themselves stay in the
    database, because they may be megabytes.
    """
    ids = {
        side: RawSQL(f"jsonb_path_query_array({side}, '$.blocks[*].id')", [], output_field=JSONField())
        for side in ("before", "after")
    }
    changes = _changes(project).defer("before", "after", "words")
    for entry in changes.annotate(old_ids=ids["before"], new_ids=ids["after"])[:MOST_VERSIONS]:
        old, new = (set(found or ()) for found in (entry.old_ids, entry.new_ids))
        yield (
            entry,
            {"added": len(new - old), "removed": len(old - new), "changed": len(old & new)},
        )


def _changes(project: Project) -> QuerySet[AuditEntry]:
    changes = AuditEntry.objects.filter(project_id=project.pk, action=Action.SCRIPT_UPDATED)
    return changes.order_by("-happened_at", "-pk")


def _by_indexes(block: Json) -> Json:
    """A block that names its right answers by their places, too, because its options may be new."""
    ids = [option["id"] for option in block.get("options") or ()]
    right = [ids.index(each) for each in block.get("correct_answer_ids") or () if each in ids]
    return {**block, "correct_answer_indexes": sorted(right) or None}


def of_file(*, project: Project, blocks: Sequence[object]) -> list[Any]:
    """The blocks of a file.

    Ids that this project's script does not have are left out, because their blocks are new. Blocks of the
    outro are left out, because each project makes its own. Items that are no blocks are returned too, so that
    the check can name them.
    """
    script = script_cache.script_of(project)
    walk = [block for block in blocks if not (isinstance(block, dict) and block.get("section") == "outro")]
    by_id = {block.id: block for block in script.blocks}
    return complete(_with_known_ids(block, by_id) for block in walk[: MAX_BLOCKS + 1])


def described(*, actor: Actor, project: Project, blocks: Sequence[Any], at: datetime) -> Json:
    """The blocks, and the result of a check as if they replaced the whole script."""
    checked = checking.check(actor=actor, project=project, blocks=blocks, at=at)
    return {
        "blocks": list(blocks),
        "violations": checked["violations"],
        "warnings": checked["warnings"],
    }


def projects_to_copy(*, actor: Actor, project: Project, search: str, at: datetime) -> list[Json]:
    """Return other projects of the community that have a script, the newest first. Their names contain words
    with the beginnings in `search`.
    """
    projects = lookup.visible(actor=actor, at=at).exclude(pk=project.pk).filter(block_count__gt=0)
    if not access.may_read_solutions(actor=actor) and not actor.sees_all_projects:
        projects = projects.filter(pk__in=list(actor.grants))
    if search:
        projects = projects.named(search)
    rows = projects.order_by("-created_at", "-pk").values_list("pk", "name", "type", "block_count")[
        :MAX_PROJECTS
    ]
    return [{"id": pk, "name": name, "type": kind, "block_count": count} for pk, name, kind, count in rows]


def complete(blocks: Iterable[object]) -> list[Any]:
    """Return the blocks with all fields of a block, null for a missing field, and with unique names.

    A new block gets a name here, because an automatic name, such as q3, looks like a position.
    """
    return [_complete(block) if isinstance(block, dict) else block for block in naming.named(blocks)]


def _complete(block: Mapping[str, Any]) -> Json:
    fields = {name: value for name, value in block.items() if name not in _PLACES}
    completed: Json = {**_EMPTY, "options": None, "section": "main", **fields}
    del completed["position"]
    options = completed["options"]
    if isinstance(options, list):
        completed["options"] = [
            _complete_option(option) if isinstance(option, dict) else option for option in options
        ] or None
    return completed


def _complete_option(option: Mapping[str, Any]) -> Json:
    completed = {**_EMPTY_OPTION, **option}
    return {name: value for name, value in completed.items() if name not in _PLACES}


def _without_ids(blocks: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The blocks as new blocks, which identify correct answers by their indexes."""
    return [
        {
            **block,
            "id": None,
            "correct_answer_ids": None,
            "options": [{**option, "id": None} for option in block["options"] or ()] or None,
        }
        for block in blocks
    ]


def _with_known_ids(block: object, by_id: Mapping[int | None, Block]) -> object:
    if not isinstance(block, dict):
        return block
    block_id = block.get("id")
    stored = by_id.get(block_id) if isinstance(block_id, int) else None
    known = {option.id for option in stored.options} if stored else set()
    options, right = block.get("options"), block.get("correct_answer_ids")
    changed = {**block, "id": stored.id if stored else None}
    if isinstance(options, list):
        changed["options"] = [
            {**option, "id": option.get("id") if option.get("id") in known else None}
            if isinstance(option, dict)
            else option
            for option in options
        ]
    if isinstance(right, list) and not all(isinstance(each, int) and each in known for each in right):
        changed["correct_answer_ids"] = None
    return changed
