"""The script of a project: loaded once for a revision and kept, and written as a difference that keeps ids.

    load(project_id=…, revision=…)       the engine's Script
    catalogue(project_id=…, revision=…)  what every block and option is called, removed ones too

Writes leave the project's revision one higher, except where nothing changed. The first one while scoring is
on makes the scores count (interface 2.3, rule 1), which is a change too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from communities.actors import Actor
from communities.errors import Conflict, NotFound, refuse_all
from communities.transactions import in_transaction
from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.intake.ordering import OrderedBlocks, order_blocks, order_patch
from surveys.engine.intake.reader import ParsedBlocks, read_blocks, read_patch
from surveys.engine.rules import buckets
from surveys.engine.rules import revision as revisions
from surveys.engine.rules import script as script_rules
from surveys.engine.script import Block, Bucket, Script, Violation
from surveys.models import Answer, Project
from surveys.models import Bucket as BucketRow
from surveys.services import lookup
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import outro as outro_blocks
from surveys.services.scripts import outro_edits, storage
from surveys.services.scripts.cache import Catalogue
from xp.services import achievements

__all__ = [
    "Catalogue",
    "NewScript",
    "Written",
    "add",
    "add_buckets",
    "catalogue",
    "faults_of_new",
    "first_buckets",
    "load",
    "patch_block",
    "read_new",
    "replace_script",
    "reserve_achievements",
    "save_outro",
    "write_script",
]

_EMPTY = Script(blocks=())
_TOLD = ("blocks", "project_id", "revision", "warnings")  # what was read can be sent back


@dataclass(frozen=True)
class Written:
    """A script as it stands after a write. `ignored` are paths of fields that nobody knows."""

    project: Project
    script: Script
    ignored: tuple[str, ...] = ()


def load(*, project_id: int, revision: int) -> Script:
    """The script, from the cache if it is there. Raises NotFound if the project has been deleted."""
    return script_cache.get(project_id, revision).script


def catalogue(*, project_id: int, revision: int) -> Catalogue:
    """Names and labels of all blocks and options that answers may point to, removed ones too."""
    return script_cache.get(project_id, revision).catalogue


# --- Writing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewScript:
    """A script that was read and found right, for a project that does not exist yet."""

    script: Script
    bucket_names: tuple[str, ...]
    ignored: tuple[str, ...]


def read_new(
    raw: object, *, is_poll: bool, scoring_enabled: bool, bucket_names: Collection[str], chat: bool
) -> tuple[NewScript, list[Violation]]:
    """Read the `script` of a project to be created. No blocks at all make an empty script."""
    blocks: object = []
    if isinstance(raw, dict):
        blocks = raw.get("blocks")
        if "blocks" not in raw:
            return _unreadable("script.blocks", "required", "`blocks` is required.")
    elif raw is not None:
        return _unreadable("script", "invalid_type", "`script` must be an object with `blocks`.")
    ignored = [f"script.{key}" for key in (raw or {}) if key not in _TOLD]
    parsed = read_blocks(blocks, path="script.blocks", scoring=scoring_enabled)
    ordered = order_blocks(parsed)
    draft = Script(
        ordered.blocks if scoring_enabled else revisions.keep_stored_scores(_EMPTY, ordered.blocks),
        is_poll=is_poll,
        scoring_enabled=scoring_enabled,
        is_scored=scoring_enabled and bool(ordered.blocks),
    )
    script, names = _with_buckets(draft, bucket_names)
    violations = [*parsed.violations, *_foreign_ids(ordered, _EMPTY)]
    if ordered.blocks or parsed.violations:
        violations += _check(script, ordered, parsed, chat=chat, path="script.blocks")
    return NewScript(script, names, (*ignored, *parsed.ignored)), violations


def faults_of_new(raw: object, *, is_poll: bool) -> list[Violation]:
    """What is wrong with the script of a project whose other fields are wrong already."""
    _, violations = read_new(raw, is_poll=is_poll, scoring_enabled=False, bucket_names=(), chat=False)
    return violations


def _unreadable(field: str, code: str, message: str) -> tuple[NewScript, list[Violation]]:
    return NewScript(_EMPTY, (), ()), [Violation(field, code, message)]


def add(project_id: int, blocks: Iterable[Block], *, outro: Iterable[Block], like: Script) -> Script:
    """Write the script of a project that was just created; `like` gives the script's settings."""
    blocks, outro = tuple(blocks), tuple(outro)
    numbered = storage.with_ids((*blocks, *outro))
    script = _placed(replace(like, blocks=numbered[: len(blocks)], outro=numbered[len(blocks) :]))
    storage.save(project_id, before=_EMPTY, after=script)
    return script


@in_transaction
def replace_script(
    *,
    actor: Actor,
    project_id: int,
    body: Mapping[str, object],
    revisions_allowed: Collection[int] | None,
    at: datetime,
) -> Written:
    """Replace the script by the blocks sent; a block sent with its id keeps its identity.

    Refuses a revision that is not allowed, blocks that break a rule, and structural changes while the
    project is active.
    """
    project = lookup.lock(actor=actor, project_id=project_id)
    return write_script(project=project, body=body, revisions_allowed=revisions_allowed, at=at)


def write_script(
    *,
    project: Project,
    body: Mapping[str, object],
    revisions_allowed: Collection[int] | None = None,
    at: datetime,
) -> Written:
    """Replace the script of a project that the caller has locked. Refuses as `replace_script` does."""
    before = _before(project, revisions_allowed)
    if "blocks" not in body:
        refuse_all([Violation("blocks", "required", "`blocks` is required.")])
    parsed = read_blocks(body["blocks"], path="blocks", scoring=project.scoring_enabled)
    parsed = replace(parsed, blocks=outro_edits.known_by_id(parsed.blocks, before))
    ordered = order_blocks(parsed, before=before)
    outro, faults = outro_edits.resubmitted(ordered, before, parsed.invalid_fields)
    ignored = [key for key in body if key not in _TOLD]
    return _write(project, before, ordered, parsed, outro=outro, faults=faults, ignored=ignored, at=at)


@in_transaction
def patch_block(
    *,
    actor: Actor,
    project_id: int,
    block_id: int,
    body: Mapping[str, object],
    revisions_allowed: Collection[int] | None,
    at: datetime,
) -> Written:
    """Change the fields sent of one block. Refuses as `replace_script` does."""
    project = lookup.lock(actor=actor, project_id=project_id)
    before = _before(project, revisions_allowed)
    stored = {block.id: block for block in (*before.blocks, *before.outro)}.get(block_id)
    if stored is None:
        raise NotFound("There is no such block in this script.")
    parsed = read_patch(body, block=stored, scoring=project.scoring_enabled)
    if stored.section == "outro":
        return _patch_outro(project, before, stored, parsed, at=at)
    if parsed.blocks[0].section == "outro":
        message = "`section` of a block cannot become `outro`: the outro is made by the service."
        refuse_all(_once([*parsed.violations, Violation("section", "not_allowed", message)]))
    ordered = order_patch(parsed, before=before)
    return _write(project, before, ordered, parsed, outro=before.outro, faults=[], ignored=[], at=at)


def _patch_outro(
    project: Project, before: Script, stored: Block, parsed: ParsedBlocks, *, at: datetime
) -> Written:
    (sent,), (sent_keys,), (block_path,) = parsed.blocks, parsed.sent_keys, parsed.block_paths
    changed = revisions.with_presentation(stored, sent, sent_keys=sent_keys)
    faults = outro_edits.violations_of(changed, sent, block_path, parsed.invalid_fields)
    outro = tuple(changed if block is stored else block for block in before.outro)
    untouched = OrderedBlocks(
        blocks=before.blocks,
        block_paths=tuple(BlockPath(f"blocks[{n}]") for n in range(len(before.blocks))),
        sent_keys=(frozenset(),) * len(before.blocks),
    )
    return _write(project, before, untouched, parsed, outro=outro, faults=faults, ignored=[], at=at)


def _before(project: Project, revisions_allowed: Collection[int] | None) -> Script:
    if revisions_allowed is not None and project.revision not in revisions_allowed:
        raise Conflict(
            f"The script is at revision {project.revision} now. Read it again and repeat your change."
        )
    return load(project_id=project.pk, revision=project.revision)


def _write(
    project: Project,
    before: Script,
    ordered: OrderedBlocks,
    parsed: ParsedBlocks,
    *,
    outro: tuple[Block, ...],
    faults: list[Violation],
    ignored: list[str],
    at: datetime,
) -> Written:
    """The part that all writes of an existing script share: rules, frozen structure, the difference."""
    is_live = project.is_live_at(at)
    blocks = ordered.blocks
    if not is_live:
        carried = revisions.carry_renames(before, (*blocks, *outro))
        blocks, outro = carried[: len(blocks)], carried[len(blocks) :]
    if not project.scoring_enabled:
        blocks = revisions.keep_stored_scores(before, blocks)
    blocks = revisions.carry_ignored_scores(before, blocks, sent_keys=ordered.sent_keys)
    draft = replace(
        before,
        blocks=blocks,
        outro=outro_blocks.updated(outro, project),
        # What scores is structure, so it cannot begin to count while the project is active.
        is_scored=before.is_scored or (project.scoring_enabled and any(ordered.sent_keys) and not is_live),
    )
    script, new_buckets = _with_buckets(draft, [bucket.name for bucket in before.buckets])
    violations = [*parsed.violations, *faults, *_foreign_ids(ordered, before)]
    if is_live and not violations:  # what else a change of structure would break does not matter then
        _refuse_frozen(before, script, ordered)
    block_paths = (*ordered.block_paths, *outro_edits.paths_of(script, ordered))
    in_use = revisions.references_to_removed(before, script, block_paths=block_paths)
    broken = _check(
        script,
        ordered,
        parsed,
        chat=project.response_channel == Project.ResponseChannel.CHAT,
        path="blocks",
    )
    violations += revisions.rename_violations(
        before, script, block_paths=block_paths, invalid_fields=parsed.invalid_fields
    )
    violations += [*in_use, *revisions.without_reported(broken, in_use)]
    if violations:
        refuse_all(_once(violations))
    if project.is_pending_at(at) and not any(block.asks for block in script.blocks):
        raise Conflict("A project that is about to open needs a question: close it first, to cancel that.")
    _refuse_new_types(before, script, ordered)
    script = _save(project, before, script, new_buckets)
    return Written(project, script, (*ignored, *parsed.ignored))


def _refuse_frozen(before: Script, script: Script, ordered: OrderedBlocks) -> None:
    if frozen := revisions.frozen_changes(before, script, block_paths=ordered.block_paths):
        raise Conflict(
            "The structure of a script cannot change while the project is active: only wording and pictures.",
            violations=_once(frozen),
        )


def _refuse_new_types(before: Script, script: Script, ordered: OrderedBlocks) -> None:
    """Refuse another type for a block that has answers: they would mean nothing there (decisions 15.3)."""
    stored = {block.id: block.type for block in before.blocks}
    retyped = [
        (block, block_path)
        for block, block_path in zip(script.blocks, ordered.block_paths, strict=True)
        if block.id in stored and stored[block.id] != block.type
    ]
    if not retyped:
        return
    ids = [block.id or 0 for block, _ in retyped]
    answered = set(Answer.objects.filter(block_id__in=ids).values_list("block_id", flat=True).distinct())
    violations = [
        Violation(
            block_path.field("type"),
            "read_only",
            f"The block {block.name} has answers, so its type cannot change. Archive it by leaving it out of "
            "the script, and add another block.",
        )
        for block, block_path in retyped
        if block.id in answered
    ]
    if violations:
        raise Conflict(violations[0].message, violations=violations)


def _save(project: Project, before: Script, script: Script, new_buckets: Collection[str]) -> Script:
    numbered = storage.with_ids((*script.blocks, *script.outro))
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
    project.save(update_fields=["revision", "block_count", "question_count", "script_is_scored"])
    return script


def reserve_achievements(community_id: int, script: Script) -> None:
    """Keep the numbers that a script grants from being given to a project."""
    if script.achievements:
        achievements.reserve(community_id=community_id, numbers=script.achievements)


def save_outro(project: Project, before: Script, outro: Iterable[Block]) -> bool:
    """Save another outro for an unchanged script. Returns whether anything changed."""
    script = _placed(replace(before, outro=storage.with_ids(outro)))
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
    """Outro blocks are counted after the others, wherever those end."""
    count = len(script.blocks)
    outro = tuple(replace(block, position=count + n) for n, block in enumerate(script.outro))
    return replace(script, outro=outro)


# --- Rules that need the stored script ---------------------------------------------------------------


def _check(
    script: Script,
    ordered: OrderedBlocks,
    parsed: ParsedBlocks,
    *,
    chat: bool,
    path: str,
) -> list[Violation]:
    return script_rules.check(
        script,
        block_paths=ordered.block_paths,
        chat=chat,
        bucket_keys=script.bucket_keys or None,
        invalid_fields=parsed.invalid_fields,
        path=path,
    )


def _with_buckets(script: Script, declared: Collection[str]) -> tuple[Script, tuple[str, ...]]:
    """The script with its buckets, and the names of buckets that are to be made (decisions 7.1)."""
    names = () if declared else first_buckets(script)
    return replace(script, buckets=tuple(map(Bucket, declared or names))), names


def first_buckets(script: Script) -> tuple[str, ...]:
    """Names of the buckets that a script creates if none are declared.

    A script from before scoring was on makes none: they are made when it is written again (decisions 7.1).
    """
    if not script.scoring_enabled or not script.is_scored or not script.blocks:
        return ()
    return buckets.derive_names(script.blocks)


def _foreign_ids(ordered: OrderedBlocks, before: Script) -> list[Violation]:
    """Ids that belong to no block of this script, or to no option of that block (decisions 6.11)."""
    stored = {block.id: block for block in before.blocks}
    faults = []
    for block, block_path in zip(ordered.blocks, ordered.block_paths, strict=True):
        if block.id is not None and block.id not in stored:
            message = f"`id` {block.id} is no block of this script."
            faults.append(Violation(block_path.field("id"), "not_found", message))
            continue
        known = stored[block.id].option_by_id if block.id is not None else {}
        for n, option in enumerate(block.options):
            if option.id is not None and option.id not in known:
                message = f"`id` {option.id} is no option of this block."
                faults.append(Violation(block_path.option(n, "id"), "not_found", message))
    return faults


def _once(violations: Iterable[Violation]) -> list[Violation]:
    return list(dict.fromkeys(violations))
