"""Entries of the audit trail about projects, scripts and responses.

    project_fields(project, …)          the fields of a project that entries compare
    script_differences(before, after)   the blocks that a write added, removed and changed
    record(…)                           an entry about a project

On anonymous projects no entry names a response or stores an exact time that belongs to one (rule 7.5).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.services.trail import audit
from surveys.engine.intake.serialization import block_as_json
from surveys.engine.script import Script
from surveys.models import Project
from surveys.models.project import SETTINGS
from surveys.services.ground.anonymity import rounding_of

Json = dict[str, Any]

_SETTINGS = (*SETTINGS, "rounds_times_to_day")
_GROUPS = ("delivery", "rewards", "presentation")
# These fields follow from the order and from `correct_answer_ids`.
_DERIVED = frozenset({"position", "display_order", "correct_answer_index", "correct_answer_indexes"})
_NAMING = ("id", "name", "value")  # fields that identify a changed block or option


def subject_of(project: Project) -> audit.Subject:
    return audit.Subject(project.community_id, "project", project.pk, project.name, project.pk)


def project_fields(project: Project, *, bucket_names: Sequence[str] | None = None) -> Json:
    """The fields of a project that people set, by their names in the interface, and its state.

    The buckets are left out if `bucket_names` is None. The address of the shared results is left out, because
    it is a secret.
    """
    fields: Json = {
        "name": project.name,
        "status": project.status,
        "opens_at": project.opens_at,
        "closes_at": project.closes_at,
        "is_cloneable": project.is_cloneable,
        "settings": {name: getattr(project, name) for name in _SETTINGS},
        **{name: getattr(project, name) or {} for name in _GROUPS},
        "scoring": {"enabled": project.scoring_enabled},
    }
    if bucket_names is not None:
        fields["scoring"]["buckets"] = list(bucket_names)
    return fields


def record(
    action: Action,
    project: Project,
    *,
    actor: Actor | None,
    at: datetime,
    before: audit.Values | None = None,
    after: audit.Values | None = None,
) -> None:
    """Write an entry about a project, with the fields that differ between `before` and `after`."""
    was, now = audit.changes(before or {}, after or {})
    audit.record(actor=actor, action=action, on=subject_of(project), at=at, before=was, after=now)


def record_change(
    action: Action,
    project: Project,
    *,
    actor: Actor | None,
    at: datetime,
    before: audit.Values,
    after: audit.Values,
) -> None:
    """Write an entry about a project if anything differs between `before` and `after`."""
    audit.record_change(actor=actor, action=action, on=subject_of(project), at=at, before=before, after=after)


def record_creation(
    action: Action,
    project: Project,
    *,
    actor: Actor | None,
    bucket_names: Sequence[str],
    at: datetime,
    more: audit.Values | None = None,
) -> None:
    """Write an entry about a new project, with the fields that have a value.

    The values of `more` are added to the entry.
    """
    fields = project_fields(project, bucket_names=bucket_names)
    values = {"type": project.type, "block_count": project.block_count, **fields, **(more or {})}
    _, after = audit.changes({}, values)
    non_empty = {name: value for name, value in after.items() if value not in (None, [], False)}
    audit.record(actor=actor, action=action, on=subject_of(project), at=at, after=non_empty)


def record_deletion(action: Action, project: Project, *, actor: Actor | None, at: datetime) -> None:
    """Write an entry about a project that is being deleted, and about everything that is deleted with it."""
    was = {"type": project.type, "status": project.status, "block_count": project.block_count}
    audit.record(actor=actor, action=action, on=subject_of(project), at=at, before=was)


def record_response(
    action: Action, project: Project, response_id: UUID, *, actor: Actor, at: datetime
) -> None:
    """Write an entry about the deletion of a response; on anonymous projects without its id and minute."""
    on = audit.Subject(
        project.community_id,
        "response",
        None if project.is_anonymous else response_id,
        project.name,
        project.pk,
    )
    audit.record(actor=actor, action=action, on=on, at=at, rounded_to=rounding_of(project))


def record_analysis(project: Project, *, actor: Actor, covers: str, credits: int, at: datetime) -> None:
    """Write an entry about a requested analysis; on anonymous projects its exact time is not stored."""
    audit.record(
        actor=actor,
        action=Action.ANALYSIS_REQUESTED,
        on=subject_of(project),
        at=at,
        after={"status": covers, "credits_used": credits},
        rounded_to=rounding_of(project),
    )


def record_codebook(
    project: Project, *, block_id: int, actor: Actor, at: datetime, action: Action = Action.CODEBOOK_UPDATED
) -> None:
    """Write an entry about changed themes of a question, or about corrected readings of its answers."""
    audit.record(
        actor=actor,
        action=action,
        on=subject_of(project),
        at=at,
        after={"block_id": block_id},
        rounded_to=rounding_of(project),
    )


def record_export(project: Project, *, actor: Actor, format: str, at: datetime) -> None:
    """Write an entry about an export.

    The entry contains neither the filters, which may name a person, nor the number of responses.
    """
    audit.record(
        actor=actor,
        action=Action.RESPONSES_EXPORTED,
        on=subject_of(project),
        at=at,
        after={"format": format},
    )


def record_import(project: Project, *, actor: Actor, count: int, at: datetime) -> None:
    """Write an entry about an import; on anonymous projects its exact time is not stored."""
    audit.record(
        actor=actor,
        action=Action.RESPONSES_IMPORTED,
        on=subject_of(project),
        at=at,
        after={"imported": count},
        rounded_to=rounding_of(project),
    )


# --- Scripts ----------------------------------------------------------------------------------------


def record_script_write(
    project: Project,
    before: Script,
    after: Script,
    *,
    actor: Actor | None,
    new_buckets: Collection[str],
    at: datetime,
) -> None:
    """Write an entry about a changed script. `project` already has its new revision."""
    was, now = script_differences(before, after)
    if new_buckets:
        now["scoring.buckets"] = list(new_buckets)
    if before.is_scored != after.is_scored:
        was["is_scored"], now["is_scored"] = before.is_scored, after.is_scored
    now["revision"] = project.revision
    audit.record(
        actor=actor, action=Action.SCRIPT_UPDATED, on=subject_of(project), at=at, before=was, after=now
    )


def script_differences(before: Script, after: Script) -> tuple[Json, Json]:
    """The differences between two states of a script, as values before and after.

    `blocks` contains removed blocks on the first side, added blocks on the second, and changed fields of the
    other blocks on both. `order` contains all names if blocks were added, removed or moved; `options_order`
    of a block contains the ids of its options.
    """
    was, now = _differences(blocks_of(before), blocks_of(after), "blocks")
    if "order" in was:
        was["order"], now["order"] = _names(before), _names(after)
    return was, now


def is_moved(before: Sequence[object], after: Sequence[object]) -> bool:
    """Whether the elements of both sequences have a different order in them."""
    return [each for each in before if each in after] != [each for each in after if each in before]


def undone(blocks: Sequence[Json], *, before: Json | None, after: Json | None) -> list[Json]:
    """The blocks of a script as they were before a write with these differences (`script_differences`).

    Fields that were empty are missing, or null.
    """
    items = _undone(blocks, before or {}, after or {}, "blocks")
    return _ordered(items, (before or {}).get("order"), lambda block: block.get("name") or str(block["id"]))


def _undone(items: Sequence[Json], before: Json, after: Json, name: str) -> list[Json]:
    old, new = ({each["id"]: each for each in side.get(name) or ()} for side in (before, after))
    was = [
        _unchanged(item, old.get(item["id"], {}), new.get(item["id"], {}))
        for item in items
        if item["id"] not in new or item["id"] in old
    ]
    return [*was, *(each for id, each in old.items() if id not in new)]


def _unchanged(item: Json, old: Json, new: Json) -> Json:
    names = {*old, *new} - {"options", "options_order"}
    was = {**item, **{name: old.get(name) for name in names}}
    if not {"options", "options_order"} & {*old, *new}:
        return was
    options = _undone(item.get("options") or (), old, new, "options")
    return {**was, "options": _ordered(options, old.get("options_order"), itemgetter("id")) or None}


def _ordered(items: list[Json], order: Sequence[object] | None, key: Callable[[Json], object]) -> list[Json]:
    places = {each: place for place, each in enumerate(order or ())}
    return sorted(items, key=lambda item: places.get(key(item), len(places)))


def blocks_of(script: Script) -> list[Json]:
    """The blocks of a script and its outro, in the form whose differences the trail has."""
    return [block_as_json(block, scoring=True) for block in (*script.blocks, *script.outro)]


def _names(script: Script) -> list[str]:
    return [block.name or str(block.id) for block in script.blocks]


def _differences(before: Sequence[Json], after: Sequence[Json], name: str) -> tuple[Json, Json]:
    """The differences between two lists of objects with ids."""
    old, new = {each["id"]: each for each in before}, {each["id"]: each for each in after}
    was = [_set_fields(each) for id, each in old.items() if id not in new]
    now = [_set_fields(each) for id, each in new.items() if id not in old]
    for id in (id for id in new if id in old):
        old_part, new_part = _changed(old[id], new[id])
        if old_part or new_part:
            was.append({**_named(old[id]), **old_part})
            now.append({**_named(new[id]), **new_part})
    sides: tuple[Json, Json] = ({name: was} if was else {}, {name: now} if now else {})
    if list(old) != list(new):
        for side, ids in zip(sides, (old, new), strict=True):
            side["order"] = list(ids)
    return sides


def _changed(before: Json, after: Json) -> tuple[Json, Json]:
    """The fields that differ between two states of one block or option."""
    names = [name for name in after if name not in _DERIVED and name != "options"]
    differing = [name for name in names if before[name] != after[name]]
    was, now = ({name: each[name] for name in differing} for each in (before, after))
    if before.get("options") != after.get("options"):
        more = _differences(before["options"] or [], after["options"] or [], "options")
        was, now = was | _of_options(more[0]), now | _of_options(more[1])
    return was, now


def _of_options(side: Json) -> Json:
    return {("options_order" if name == "order" else name): value for name, value in side.items()}


def _named(each: Mapping[str, Any]) -> Json:
    return {name: each[name] for name in _NAMING if each.get(name) is not None}


def _set_fields(each: Mapping[str, Any]) -> Json:
    """An added or removed block or option, without its empty fields."""
    fields: Json = {}
    for name, value in each.items():
        if name in _DERIVED or value is None:
            continue
        fields[name] = _options(value) if name == "options" else value
    return fields


def _options(options: Iterable[Mapping[str, Any]]) -> list[Json]:
    return [_set_fields(option) for option in options]
