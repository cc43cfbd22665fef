"""Plans a write of a script: the rows that it would save, and all reasons to refuse it. Nothing here writes.

    plan = plan_script(project=…, body=…, at=…)      a whole script was sent
    plan = plan_patch(project=…, block_id=…, …)      fields of one block were sent
    plan.require_valid()                             raises the refusal that the write would be answered with
    plan.violations                                  all of them, for a check while somebody edits

`editing` writes the plan, so a check and a write always have the same result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from django.db import connection
from django.utils.functional import cached_property

from communities.ground.errors import Conflict, InvalidRequest, NotFound, Refusal, ViolationJson, refuse_all
from surveys.engine.intake.field_paths import BlockPath, is_invalid
from surveys.engine.intake.ordering import OrderedBlocks, order_blocks, order_patch
from surveys.engine.intake.reader import ParsedBlocks, read_blocks, read_patch
from surveys.engine.rules import block_words, buckets, carrying, xp
from surveys.engine.rules import revision as revisions
from surveys.engine.rules import script as script_rules
from surveys.engine.script import CALCULATED, Block, Bucket, Script, Violation
from surveys.models import Answer, Project
from surveys.services.ground import script_settings
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import outro as outro_blocks
from surveys.services.scripts import outro_edits, pictures

_EMPTY = Script(blocks=())
# Reads return these fields, and clients may send them back
_SCRIPT_FIELDS = ("blocks", "project_id", "revision", "warnings")


# --- The script of a new project --------------------------------------------------------------------


@dataclass(frozen=True)
class NewScript:
    """A script that was read and checked, for a project that does not exist yet."""

    script: Script
    bucket_names: tuple[str, ...]
    ignored: tuple[str, ...]


def read_new(
    raw: object,
    *,
    is_poll: bool,
    scoring_enabled: bool,
    bucket_names: Collection[str],
    chat: bool,
    xp_limit: int | None,
    is_anonymous: bool = False,
) -> tuple[NewScript, list[Violation]]:
    """Read the `script` of a project to be created. A script without blocks is valid and empty.

    `xp_limit` is the most XP that its blocks may give in a completion; None for no limit.
    """
    blocks: object = []
    if isinstance(raw, dict):
        blocks = raw.get("blocks")
        if "blocks" not in raw:
            return _unreadable("script.blocks", "required", "`blocks` is required.")
    elif raw is not None:
        return _unreadable("script", "invalid_type", "`script` must be an object with `blocks`.")
    ignored = [f"script.{key}" for key in (raw or {}) if key not in _SCRIPT_FIELDS]
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
    violations += pictures.faults(
        zip(ordered.blocks, ordered.block_paths, strict=True), _EMPTY, invalid_fields=parsed.invalid_fields
    )
    if ordered.blocks or parsed.violations:
        violations += _check(script, ordered, parsed, chat=chat, path="script.blocks")
        violations += _readable(xp.violations(script, ordered.block_paths, limit=xp_limit), parsed)
        if is_anonymous:
            violations += _readable(script_rules.check_anonymous(script, ordered.block_paths), parsed)
    return NewScript(script, names, (*ignored, *parsed.ignored)), violations


def faults_of_new(raw: object, *, is_poll: bool) -> list[Violation]:
    """The violations in the script of a project whose other fields are already invalid."""
    _, violations = read_new(
        raw, is_poll=is_poll, scoring_enabled=False, bucket_names=(), chat=False, xp_limit=None
    )
    return violations


def _unreadable(field: str, code: str, message: str) -> tuple[NewScript, list[Violation]]:
    return NewScript(_EMPTY, (), ()), [Violation(field, code, message)]


# --- The script of an existing project --------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """A script in the form that a write would save.

    `ordered` are the blocks with their paths in the request. `new_buckets` are created with the script.
    `ignored` are paths of unknown fields. `refusals` are empty if the script may be saved; a write raises the
    first refusal.
    """

    before: Script
    script: Script
    ordered: OrderedBlocks
    new_buckets: tuple[str, ...]
    ignored: tuple[str, ...]
    refusals: tuple[Refusal, ...]

    def require_valid(self) -> None:
        """Raise the refusal of the write, if there is one: InvalidRequest or Conflict."""
        if self.refusals:
            raise self.refusals[0]

    @cached_property
    def violations(self) -> list[ViolationJson]:
        """All violations of all refusals.

        A refusal without violations becomes one violation of the whole script.
        """
        violations: list[ViolationJson] = []
        for refusal in self.refusals:
            whole = {"field": "blocks", "code": "not_allowed", "message": refusal.message}
            violations += [each for each in refusal.violations or [whole] if each not in violations]
        return violations


def plan_script(*, project: Project, body: Mapping[str, object], xp_limit: int | None, at: datetime) -> Plan:
    """Plan to replace the script by the submitted blocks. Raises InvalidRequest if there is no `blocks`.

    `xp_limit` is the most XP that its blocks may give in a completion; None for no limit.
    """
    before = _stored(project)
    if "blocks" not in body:
        refuse_all([Violation("blocks", "required", "`blocks` is required.")])
    parsed = read_blocks(body["blocks"], path="blocks", scoring=project.scoring_enabled)
    parsed = replace(parsed, blocks=outro_edits.known_by_id(parsed.blocks, before))
    ordered = order_blocks(parsed, before=before)
    outro, faults = outro_edits.resubmitted(ordered, before, parsed.invalid_fields)
    ignored = [key for key in body if key not in _SCRIPT_FIELDS]
    return _plan(
        project,
        before,
        ordered,
        parsed,
        outro=outro,
        faults=faults,
        ignored=ignored,
        xp_limit=xp_limit,
        at=at,
    )


def plan_patch(
    *, project: Project, block_id: int, body: Mapping[str, object], xp_limit: int | None, at: datetime
) -> Plan:
    """Plan to change the submitted fields of one block. `xp_limit` is as for `plan_script`.

    Raises NotFound if the script has no such block, and InvalidRequest if the block would become an outro
    block.
    """
    before = _stored(project)
    stored = {block.id: block for block in (*before.blocks, *before.outro)}.get(block_id)
    if stored is None:
        raise NotFound("There is no such block in this script.")
    parsed = read_patch(body, block=stored, scoring=project.scoring_enabled)
    if stored.section == "outro":
        return _plan_patch_of_outro(project, before, stored, parsed, at=at)
    if parsed.blocks[0].section == "outro":
        message = "`section` of a block cannot become `outro`: the outro is made by the service."
        refuse_all(_once([*parsed.violations, Violation("section", "not_allowed", message)]))
    ordered = order_patch(parsed, before=before)
    return _plan(
        project,
        before,
        ordered,
        parsed,
        outro=before.outro,
        faults=[],
        ignored=[],
        xp_limit=xp_limit,
        at=at,
    )


def _plan_patch_of_outro(
    project: Project, before: Script, stored: Block, parsed: ParsedBlocks, *, at: datetime
) -> Plan:
    (sent,), (sent_keys,), (block_path,) = parsed.blocks, parsed.sent_keys, parsed.block_paths
    changed = revisions.with_presentation(stored, sent, sent_keys=sent_keys)
    faults = outro_edits.violations_of(changed, sent, block_path, parsed.invalid_fields)
    outro = tuple(changed if block is stored else block for block in before.outro)
    untouched = OrderedBlocks(
        blocks=before.blocks,
        block_paths=tuple(BlockPath(f"blocks[{n}]") for n in range(len(before.blocks))),
        sent_keys=(frozenset(),) * len(before.blocks),
    )
    return _plan(
        project,
        before,
        untouched,
        parsed,
        outro=outro,
        faults=faults,
        ignored=[],
        xp_limit=None,  # No block of the script changes.
        at=at,
    )


def _stored(project: Project) -> Script:
    return script_cache.script_of(project)


def _plan(
    project: Project,
    before: Script,
    ordered: OrderedBlocks,
    parsed: ParsedBlocks,
    *,
    outro: tuple[Block, ...],
    faults: list[Violation],
    ignored: list[str],
    xp_limit: int | None,
    at: datetime,
) -> Plan:
    """The part that all writes of an existing script share."""
    is_live = project.is_live_at(at)
    script, new_buckets = _merged(project, before, ordered, outro, is_live=is_live)
    unreadable = [*parsed.violations, *faults, *_foreign_ids(ordered, before)]
    broken = _broken_rules(project, before, script, ordered, parsed)
    excess = _excess_xp(before, script, ordered, parsed, limit=xp_limit)
    violations = _once([*unreadable, *broken, *excess])
    frozen = _frozen_changes(project, before, script, ordered, parsed) if is_live else None
    refusals: list[Refusal | None] = []
    if frozen and not unreadable:  # Other effects of a structural change do not matter in this case.
        refusals.append(frozen)
    if violations:
        refusals.append(InvalidRequest(violations[0].message, violations=violations))
    refusals += [
        frozen if unreadable else None,
        _empty_before_opening(project, script, at=at),
        _new_types(before, script, ordered),
    ]
    return Plan(
        before=before,
        script=script,
        ordered=ordered,
        new_buckets=new_buckets,
        ignored=(*ignored, *parsed.ignored),
        refusals=tuple(refusal for refusal in refusals if refusal is not None),
    )


def _merged(
    project: Project, before: Script, ordered: OrderedBlocks, outro: tuple[Block, ...], *, is_live: bool
) -> tuple[Script, tuple[str, ...]]:
    """The submitted blocks, with the values that are copied from the stored blocks; and names of buckets to
    create.
    """
    blocks = ordered.blocks
    if not is_live:
        carried = carrying.carry(before, (*blocks, *outro))
        blocks, outro = carried[: len(blocks)], carried[len(blocks) :]
    if not project.scoring_enabled:
        blocks = revisions.keep_stored_scores(before, blocks)
    blocks = revisions.carry_ignored_scores(before, blocks, sent_keys=ordered.sent_keys)
    merged = replace(
        before,
        blocks=blocks,
        outro=outro_blocks.updated(outro, project),
        # Scoring is structure, so scores cannot begin to count while the project is active.
        is_scored=before.is_scored or (project.scoring_enabled and any(ordered.sent_keys) and not is_live),
    )
    return _with_buckets(merged, [bucket.name for bucket in before.buckets])


def _broken_rules(
    project: Project, before: Script, script: Script, ordered: OrderedBlocks, parsed: ParsedBlocks
) -> list[Violation]:
    block_paths = (*ordered.block_paths, *outro_edits.paths_of(script, ordered))
    in_use = revisions.references_to_removed(before, script, block_paths=block_paths)
    chat = project.response_channel == Project.ResponseChannel.CHAT
    broken = _check(script, ordered, parsed, chat=chat, path="blocks")
    left_out = _formulas_left_out(before, ordered)
    broken = [violation for violation in broken if violation.field not in left_out]
    renamed = carrying.rename_violations(
        before, script, block_paths=block_paths, invalid_fields=parsed.invalid_fields
    )
    placed = zip((*script.blocks, *script.outro), block_paths, strict=True)
    hosts = pictures.faults(placed, before, invalid_fields=parsed.invalid_fields)
    anonymous: list[Violation] = []
    if project.is_anonymous:
        depending = script_settings.depending(project, script, before=before)
        own = outro_blocks.with_own_thanks(script, project)
        anonymous = [
            *script_rules.check_anonymous(script, block_paths),
            *script_rules.check_ends(own, depending, block_paths),
        ]
    return [
        *script_settings.missed(project, before, script),
        *renamed,
        *hosts,
        *_readable(anonymous, parsed),
        *in_use,
        *revisions.without_reported(broken, in_use),
    ]


def _excess_xp(
    before: Script, script: Script, ordered: OrderedBlocks, parsed: ParsedBlocks, *, limit: int | None
) -> list[Violation]:
    """Violations for more XP than the author of this write may give (rule 3.39).

    If an admin has written more, a creator may still change wording and pictures.
    """
    excess = _readable(xp.violations(script, ordered.block_paths, limit=limit), parsed)
    if excess and not revisions.changes_wording_alone(before, script, block_paths=ordered.block_paths):
        return excess
    return []


def _readable(violations: Iterable[Violation], parsed: ParsedBlocks) -> list[Violation]:
    """The violations of readable fields, because the other fields have violations already."""
    return [each for each in violations if not is_invalid(each.field, parsed.invalid_fields)]


def _formulas_left_out(before: Script, ordered: OrderedBlocks) -> set[str]:
    """The paths of formulas that a copy lacks, in blocks that are not changed by a write of another block.

    This allows clients to write the formulas of a copy one block at a time (rule 2.17).
    """
    lacking = {
        block.id for block in before.blocks if block.type == CALCULATED and not block.calculated_formula
    }
    return {
        block_path.field("calculated_formula")
        for block, block_path, keys in zip(
            ordered.blocks, ordered.block_paths, ordered.sent_keys, strict=True
        )
        if block.id in lacking and not keys
    }


# --- What depends on the project's state ------------------------------------------------------------


def _frozen_changes(
    project: Project, before: Script, script: Script, ordered: OrderedBlocks, parsed: ParsedBlocks
) -> Conflict | None:
    """Refuse structural changes while the project is active. Unreadable fields have violations already."""
    changes = revisions.frozen_changes(
        before,
        script,
        block_paths=(*ordered.block_paths, *outro_edits.paths_of(script, ordered)),
        reached=partial(_seen_blocks, project, before),
    )
    frozen = _once(each for each in changes if not is_invalid(each.field, parsed.invalid_fields))
    if not frozen:
        return None
    return Conflict(
        "While a project is active, its script can be reworded, and blocks and options can be added.",
        violations=frozen,
    )


_SEEN = """
    SELECT block.id FROM unnest(%s::bigint[], %s::integer[]) AS block (id, place) WHERE EXISTS (
        SELECT FROM surveys_conversation c WHERE c.project_id = %s
        AND (c.state->'path' @> to_jsonb(block.id)
            OR c.completed_at IS NULL AND c.state->'at' = to_jsonb(block.place)))
"""


def _seen_blocks(project: Project, before: Script, ids: Collection[int]) -> frozenset[int]:
    """Return which of these blocks a respondent has passed or sees now."""
    places = [before.index_by_id[block_id] for block_id in ids]
    with connection.cursor() as cursor:
        cursor.execute(_SEEN, [list(ids), places, project.pk])
        return frozenset(block_id for (block_id,) in cursor.fetchall())


def _empty_before_opening(project: Project, script: Script, *, at: datetime) -> Conflict | None:
    if not project.is_pending_at(at) or any(block.asks for block in script.blocks):
        return None
    return Conflict("A project that is about to open needs a question: close it first, to cancel that.")


def _new_types(before: Script, script: Script, ordered: OrderedBlocks) -> Conflict | None:
    """Refuse another type for a block that has answers, because the answers would be meaningless there
    (rule 2.14).
    """
    stored = {block.id: block.type for block in before.blocks}
    retyped = [
        (block, number, block_path)
        for number, (block, block_path) in enumerate(zip(script.blocks, ordered.block_paths, strict=True), 1)
        if block.id in stored and stored[block.id] != block.type
    ]
    if not retyped:
        return None
    ids = [block.id or 0 for block, *_ in retyped]
    answered = set(Answer.objects.filter(block_id__in=ids).values_list("block_id", flat=True).distinct())
    violations = [
        Violation(
            block_path.field("type"),
            "read_only",
            f"There are answers to {block_words.in_words(block, number)}. Its type cannot change: archive "
            "the block by leaving it out of the script, and add another one.",
        )
        for block, number, block_path in retyped
        if block.id in answered
    ]
    return Conflict(violations[0].message, violations=violations) if violations else None


# --- Rules that need the stored script ---------------------------------------------------------------


def _check(
    script: Script, ordered: OrderedBlocks, parsed: ParsedBlocks, *, chat: bool, path: str
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
    """The script with its buckets, and the names of buckets to create (rules 5.2 to 5.4)."""
    names = () if declared else first_buckets(script)
    return replace(script, buckets=tuple(map(Bucket, declared or names))), names


def first_buckets(script: Script) -> tuple[str, ...]:
    """Names of the buckets that a script creates if none are declared.

    A script from before scoring was on creates none: its buckets are created at the next write (rule 5.2).
    """
    if not script.scoring_enabled or not script.is_scored or not script.blocks:
        return ()
    return buckets.derive_names(script.blocks)


def _foreign_ids(ordered: OrderedBlocks, before: Script) -> list[Violation]:
    """Ids that belong to no block of this script, or to no option of that block (rules 3.14 and 3.15)."""
    stored = {block.id: block for block in before.blocks}
    faults = []
    for block, block_path in zip(ordered.blocks, ordered.block_paths, strict=True):
        if block.id is not None and block.id not in stored:
            message = f"`id` {block.id} is no block of this script. A new block has no `id`."
            faults.append(Violation(block_path.field("id"), "not_found", message))
            continue
        known = stored[block.id].option_by_id if block.id is not None else {}
        for n, option in enumerate(block.options):
            if option.id is not None and option.id not in known:
                message = f"`id` {option.id} is no option of this block. A new option has no `id`."
                faults.append(Violation(block_path.option(n, "id"), "not_found", message))
    return faults


def _once(violations: Iterable[Violation]) -> list[Violation]:
    return list(dict.fromkeys(violations))
