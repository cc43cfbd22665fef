"""The walks of an import: everything that needs only the script, and no transaction.

A walk may take milliseconds, and an import has a thousand of them. So nothing is locked during the walks, and
the project is compared with its locked row before anything is stored (`WalkedImport.fits`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from communities.ground.actors import Actor
from communities.ground.errors import ENOUGH_VIOLATIONS, Conflict, ViolationJson, refuse
from communities.ground.ids import MAX_ID
from communities.ground.slots import large_jobs, of_community
from surveys.engine.script import Block, Script, Violation
from surveys.engine.walk.replay import Replay, replay
from surveys.models import Block as StoredBlock
from surveys.models import Project
from surveys.services.ground import access, lookup, metadata
from surveys.services.imports.sent import MOST_VIOLATIONS, SentResponse
from surveys.services.scripts import cache as script_cache

# Of CPU, for all walks of an import. A thousand walks through 200 plain blocks take 4 s; one walk through 200
# blocks with the longest conditions takes 0.1 s, and with conditions on the scores of 20 buckets 1.5 s.
MOST_SECONDS = 10.0
SECONDS_TO_WAIT = 1.0  # for a slot; most imports take less
RETRY_AFTER = 5  # seconds
_slots = large_jobs


@contextmanager
def import_slot(*, community_id: int) -> Iterator[None]:
    """Let an import be read and walked as one of the LARGE_JOBS of this process, at most one for each
    community.

    Raises Unavailable for other imports.
    """
    owner, busy = (
        of_community(community_id),
        "Too many imports and downloads are running. Please retry shortly.",
    )
    with _slots.held(owner, timeout=SECONDS_TO_WAIT, busy=busy, retry_after=RETRY_AFTER):
        yield


@dataclass(frozen=True, slots=True)
class WalkedImport:
    """The responses of an import, each with its walk, and all violations that were found so far.

    `project` was read without a lock. `left_out` counts answers to questions that were removed from the
    original of which this project is a copy. `sent` leaves out partial responses that have no other answers.
    """

    project: Project
    script: Script
    complete_blocks: Mapping[int, Block]
    sent: Sequence[SentResponse]
    walks: Sequence[Replay]
    violations: Sequence[ViolationJson]
    left_out: int = 0

    def fits(self, project: Project) -> bool:
        """Whether the walks are valid for this project, which may have changed since it was read."""
        return _what_walks_depend_on(self.project) == _what_walks_depend_on(project)


def _what_walks_depend_on(project: Project) -> tuple[object, ...]:
    """The script, with its scoring, and the metadata that the project stores."""
    return project.revision, project.privacy_mode, project.hidden_fields


def walk(
    *,
    actor: Actor,
    project_id: int,
    sent: Sequence[SentResponse],
    violations: Sequence[ViolationJson] = (),
    at: datetime,
) -> WalkedImport:
    """Walk the script with the answers of each response. Call it outside of transactions.

    `violations` are those that the caller has found already. Refuses a project that the actor may not edit or
    that has no questions, and responses whose walks take more than `MOST_SECONDS`.
    """
    project = lookup.in_community(community_id=actor.community_id, project_id=project_id)
    access.require_owner(actor=actor, project=project)
    return walk_through(project=project, sent=sent, violations=violations, at=at)


def walk_through(
    *, project: Project, sent: Sequence[SentResponse], violations: Sequence[ViolationJson] = (), at: datetime
) -> WalkedImport:
    """The walks of `walk`, for callers who have authorised already."""
    stored = script_cache.of(project).stored
    script, complete_blocks = stored.script, stored.complete_blocks
    if not any(block.asks for block in script.blocks):
        raise Conflict("This project has no questions yet, so there are no answers to it.")
    if len(violations) >= ENOUGH_VIOLATIONS:  # a refusal lists no more than these
        return WalkedImport(project, script, complete_blocks, sent, (), violations)
    left_out = _removed_elsewhere(project, sent, complete_blocks)
    count = sum(answer.block_id in left_out for each in sent for answer in each.answers)
    sent = [each for each in sent if each.is_completed or not _has_only(each, left_out)]
    walks, own = _walks(project, script, complete_blocks, left_out, sent, at)
    return WalkedImport(project, script, complete_blocks, sent, walks, [*violations, *own], count)


def _removed_elsewhere(
    project: Project, sent: Sequence[SentResponse], complete_blocks: Mapping[int, Block]
) -> Set[int]:
    """The ids of blocks that have answers here, and that were removed from the original of this copy.

    A copy has no such questions, and must not assign their answers to questions of the same name.
    """
    named = {answer.block_id for each in sent for answer in each.answers if answer.block_id is not None}
    foreign = [each for each in named - complete_blocks.keys() if 0 < each <= MAX_ID]
    if not foreign:
        return frozenset()
    removed = StoredBlock.objects.filter(
        pk__in=foreign, is_archived=True, project__community_id=project.community_id
    )
    return frozenset(removed.filter(project__family=project.family).values_list("pk", flat=True))


def _has_only(sent: SentResponse, left_out: Set[int]) -> bool:
    return bool(sent.answers) and all(answer.block_id in left_out for answer in sent.answers)


def _walks(
    project: Project,
    script: Script,
    complete_blocks: Mapping[int, Block],
    left_out: Set[int],
    sent: Sequence[SentResponse],
    at: datetime,
) -> tuple[list[Replay], list[ViolationJson]]:
    walks, violations = list[Replay](), list[ViolationJson]()
    begun = time.thread_time()
    for each in sent:
        if len(violations) >= ENOUGH_VIOLATIONS:
            break
        if time.thread_time() - begun > MOST_SECONDS:
            _refuse_length(len(walks), len(sent))
        fields = metadata.allowed(project, each.metadata)
        done, wrong = replay(
            script,
            each.answers,
            is_completed=each.is_completed,
            fields=fields,
            complete_blocks=complete_blocks,
            left_out=left_out,
        )
        walks.append(done)
        wrong = [*_violations_of_times(each, at), *wrong]
        violations += [each.violation(violation) for violation in wrong[:MOST_VIOLATIONS]]
    return walks, violations


def _refuse_length(done: int, count: int) -> None:
    message = (
        f"The script of this project has so many or such long conditions that only {done:,} of {count:,} "
        f"responses could be checked within {MOST_SECONDS:g} seconds. Send fewer at once, or "
        "a file with fewer rows."
    )
    refuse("data", "too_many", message)


def _violations_of_times(sent: SentResponse, at: datetime) -> Iterator[Violation]:
    for name, moment in {"started_at": sent.started_at, "submitted_at": sent.submitted_at}.items():
        if moment is not None and moment > at:
            yield Violation(name, "too_large", f"`{name}` must not be in the future.")
    if sent.submitted_at is not None and sent.submitted_at < sent.started_at:
        message = "`submitted_at` must not be before `started_at`."
        yield Violation("submitted_at", "conflicting", message)
